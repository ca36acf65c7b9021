//! Further routers of a lab, and console commands that complete a configuration.

use crate::everyday;
use crate::layout::Layout;

/// A ferroute router on another host than `router`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Name of the host. Its devices are the router's ports, under the same names.
    pub host: &'static str,
    /// Configuration as RouterOS commands.
    pub config: &'static str,
}

/// Returns the further routers of a layout.
pub fn sites(layout: &Layout) -> &'static [Site] {
    match layout.name {
        "everyday" => everyday::SITES,
        _ => &[],
    }
}

/// Returns the console commands that complete the router in `host` once it runs, in order.
///
/// RouterOS: an export holds no certificates, and an import finds only those that are there.
pub fn setup(layout: &Layout, host: &str) -> Vec<String> {
    match layout.name {
        "everyday" => everyday::setup(host),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_hosts_with_ports_and_a_configuration() {
        let everyday = crate::layout("everyday").expect("built in");

        assert_eq!(sites(everyday).len(), 1);
        for layout in crate::LAYOUTS {
            for site in sites(layout) {
                assert!(!layout.ports_of(site.host).is_empty(), "{site:?}");
                assert!(!site.config.is_empty(), "{site:?}");
            }
        }
    }
}
