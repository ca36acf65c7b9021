//! The running router, as commands see it that go on for a while.

use menu::{Live, Offline};

use crate::Echoes;

/// The running router, with what tools need of it beside rows and actions.
///
/// What a router does not have, it does not give: a tool that needs it refuses.
pub trait Router: Live {
    /// What sends echo requests.
    fn echoes(&mut self) -> Option<&mut dyn Echoes> {
        None
    }
}

impl Router for Offline {}
