//! Interface of running tools to the router.

use menu::{Live, Menu, Offline, Row};

use crate::{BandwidthTests, Echoes, Fetches, Profiles, Sniffs, Tool, TrafficGenerator};

/// The running router with the functions that tools need besides rows and actions.
///
/// A router may lack a function; a tool that needs it then fails.
pub trait Router: Live {
    /// Returns a tool that replaces the one of the command.
    fn tool(&self, menu: &Menu, command: &str) -> Option<&'static dyn Tool> {
        let _ = (menu, command);
        None
    }

    /// Lets the router answer packets and handle timers while a command holds it for long. The running configuration
    /// stays unchanged. Called often; does work every few milliseconds only.
    fn breathe(&mut self) {}

    /// Echo requests.
    fn echoes(&mut self) -> Option<&mut dyn Echoes> {
        None
    }

    /// Profiles of the time of workers and threads.
    fn profiles(&mut self) -> Option<&mut dyn Profiles> {
        None
    }

    /// Downloads.
    fn fetches(&mut self) -> Option<&mut dyn Fetches> {
        None
    }

    /// Bandwidth tests.
    fn bandwidth_tests(&mut self) -> Option<&mut dyn BandwidthTests> {
        None
    }

    /// The traffic generator.
    fn traffic_generator(&mut self) -> Option<&mut dyn TrafficGenerator> {
        None
    }

    /// Captures of frames.
    fn sniffs(&mut self) -> Option<&mut dyn Sniffs> {
        None
    }

    /// Rates of an interface per second, under the names of monitor columns; the sum of all interfaces without a
    /// name. `None` if the interface does not exist.
    fn rates(&self, interface: Option<&str>) -> Option<Row> {
        let _ = interface;
        None
    }
}

impl Router for Offline {}
