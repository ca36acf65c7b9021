//! The running router, as commands see it that go on for a while.

use menu::{Live, Menu, Offline, Row};

use crate::{Echoes, Fetches, Sniffs, Tool};

/// The running router, with what tools need of it beside rows and actions.
///
/// What a router does not have, it does not give: a tool that needs it refuses.
pub trait Router: Live {
    /// The tool of a menu's command; `None` where the command ends by itself.
    fn tool(&self, menu: &Menu, command: &str) -> Option<&'static dyn Tool> {
        crate::of(menu, command)
    }

    /// Lets the router answer packets and do what is due, within a command that has it for long. The configuration
    /// that runs stays as it is. It is called often and does something every few milliseconds.
    fn breathe(&mut self) {}

    /// What sends echo requests.
    fn echoes(&mut self) -> Option<&mut dyn Echoes> {
        None
    }

    /// Clocks that workers have spent since they began, by what they were spent on.
    fn clocks(&self) -> Option<Vec<(&'static str, u64)>> {
        None
    }

    /// What fetches pages.
    fn fetches(&mut self) -> Option<&mut dyn Fetches> {
        None
    }

    /// What looks at frames.
    fn sniffs(&mut self) -> Option<&mut dyn Sniffs> {
        None
    }

    /// What an interface carries in a second, by the names that monitors have for it; of all interfaces together
    /// without a name. `None` where there is no such interface.
    fn rates(&self, interface: Option<&str>) -> Option<Row> {
        let _ = interface;
        None
    }
}

impl Router for Offline {}
