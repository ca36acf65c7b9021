//! Destinations that questions distinguish.

/// Part of the walk that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Packets for the router: chain `input`.
    Router,
    /// Packets through the router: chain `forward`.
    Beyond,
}
