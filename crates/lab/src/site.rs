//! Further routers of a lab.

/// A ferroute router on another host than `router`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Name of the host. Its devices are the router's ports, under the same names.
    pub host: &'static str,
    /// Configuration as RouterOS commands.
    pub config: &'static str,
}
