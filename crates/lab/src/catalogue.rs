//! The labs that come with ferroute: layouts, further routers, daemons, and console commands that complete a
//! configuration.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::bridge_stories::{SHARED_LANE, SLOW_BRIDGING, TRANSPARENT_QUEUING};
use crate::daemons::{self, Daemon, LEASE, LEASE_SCRIPT};
use crate::everyday::{self, EVERYDAY};
use crate::firewall_stories::{BLIND_QUEUE, FASTTRACK, FASTTRACK_BLIND, LAYER7};
use crate::isp::{self, ISP};
use crate::layout::{HOME, JUMBO, Layout, PLAIN, PMTU, SEGMENTS, STATIC, TWO_QUEUES};
use crate::port_stories::{self, DHCP_ON_PORT, ONE_LANE};
use crate::site::Site;
use crate::subscribers::{self, SUBSCRIBERS};
use crate::vpn_stories::{self, NAT_BEFORE_IPSEC, VPN_WAN_CHANGE};

/// All layouts.
pub const LAYOUTS: &[Layout] = &[
    HOME,
    EVERYDAY,
    SUBSCRIBERS,
    ISP,
    STATIC,
    PLAIN,
    SEGMENTS,
    JUMBO,
    PMTU,
    TWO_QUEUES,
    ONE_LANE,
    SHARED_LANE,
    SLOW_BRIDGING,
    TRANSPARENT_QUEUING,
    LAYER7,
    FASTTRACK_BLIND,
    NAT_BEFORE_IPSEC,
    FASTTRACK,
    BLIND_QUEUE,
    VPN_WAN_CHANGE,
    DHCP_ON_PORT,
];

/// Returns the layout of [`LAYOUTS`] with this name.
pub fn layout(name: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.name == name)
}

/// Returns the daemons of a layout.
pub fn daemons(layout: &Layout) -> &'static [Daemon] {
    match layout.name {
        "home" => daemons::HOME,
        "everyday" => everyday::DAEMONS,
        "isp" => isp::DAEMONS,
        "subscribers" => subscribers::DAEMONS,
        "dhcp-on-port" => port_stories::DAEMONS,
        _ => &[],
    }
}

/// Writes the configuration files of a layout's daemons into an existing folder.
///
/// # Errors
/// A file cannot be written.
pub fn furnish(layout: &Layout, folder: &Path) -> io::Result<()> {
    let files = match layout.name {
        "everyday" => everyday::FILES,
        "isp" => isp::FILES,
        "subscribers" => subscribers::FILES,
        _ => &[],
    };
    for file in files {
        fs::write(folder.join(file.name), file.text)?;
    }
    let script = folder.join(LEASE);
    fs::write(&script, LEASE_SCRIPT)?;
    fs::set_permissions(script, fs::Permissions::from_mode(0o700))
}

/// Returns the further routers of a layout.
pub fn sites(layout: &Layout) -> &'static [Site] {
    match layout.name {
        "everyday" => everyday::SITES,
        "isp" => isp::SITES,
        "subscribers" => subscribers::SITES,
        "nat-before-ipsec" => vpn_stories::IPSEC_SITES,
        "vpn-wan-change" => vpn_stories::IPIP_SITES,
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
    use std::collections::HashSet;
    use std::net::IpAddr;

    use super::*;
    use crate::layout::{Host, ROUTER};

    #[test]
    fn every_layout_has_its_own_name_and_a_router_with_ports() {
        let names: HashSet<_> = LAYOUTS.iter().map(|layout| layout.name).collect();

        assert_eq!(names.len(), LAYOUTS.len());
        for layout in LAYOUTS {
            assert!(layout.host(ROUTER).is_some(), "{}", layout.name);
            let ports = &["ether1", "ether2", "ether3", "ether4"];
            let ports = match layout.name {
                "home" | "static" | "subscribers" => &ports[..3],
                "slow-bridging" => &ports[1..],
                "everyday" | "shared-lane" | "one-lane" => ports,
                "transparent-queuing" => &["ether1", "ether2", "ether4"],
                _ => &ports[..2],
            };
            assert_eq!(layout.ports(), ports, "{}", layout.name);
        }
    }

    #[test]
    fn every_link_end_has_a_host_and_a_unique_device() {
        for layout in LAYOUTS {
            let mut seen = HashSet::new();
            for end in layout.links.iter().flat_map(|link| &link.ends) {
                assert!(
                    layout.host(end.host).is_some(),
                    "{} {}",
                    layout.name,
                    end.host
                );
                assert!(
                    seen.insert((end.host, end.device)),
                    "{} {end:?}",
                    layout.name
                );
                assert!(end.device.len() <= 15, "IFNAMSIZ: {}", end.device);
            }
        }
    }

    #[test]
    fn every_gateway_is_on_a_link_of_its_host() {
        for layout in LAYOUTS {
            for host in layout.hosts {
                for route in host.routes {
                    let on_link = addresses_of(layout, host).any(|own| covers(own, route.via));
                    assert!(on_link, "{} {} {}", layout.name, host.name, route.via);
                }
            }
        }
    }

    fn addresses_of<'a>(layout: &'a Layout, host: &'a Host) -> impl Iterator<Item = &'static str> {
        let ends = layout.links.iter().flat_map(|link| &link.ends);
        ends.filter(|end| end.host == host.name)
            .flat_map(|end| end.addresses.iter().copied())
    }

    fn covers(own: &str, other: &str) -> bool {
        let (address, length) = own.split_once('/').expect("an address has a length");
        let length: u32 = length.parse().expect("a length is a number");
        let bits = |text: &str| match text.parse().expect("an address") {
            IpAddr::V4(v4) => (32, u128::from(v4.to_bits())),
            IpAddr::V6(v6) => (128, v6.to_bits()),
        };
        let ((width, own), (other_width, other)) = (bits(address), bits(other));
        width == other_width && own >> (width - length) == other >> (width - length)
    }

    #[test]
    fn daemons_run_on_existing_hosts() {
        for layout in LAYOUTS {
            for daemon in daemons(layout) {
                assert!(layout.host(daemon.host).is_some(), "{daemon:?}");
            }
        }
    }

    #[test]
    fn sites_are_hosts_with_ports_and_a_configuration() {
        assert_eq!(sites(&EVERYDAY).len(), 1);
        for layout in LAYOUTS {
            for site in sites(layout) {
                assert!(!layout.ports_of(site.host).is_empty(), "{site:?}");
                assert!(!site.config.is_empty(), "{site:?}");
            }
        }
    }
}
