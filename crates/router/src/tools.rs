//! Commands of tools that run until they are stopped.

use std::task::Waker;

use menu::{Reason, Row};
use tool::{
    BandwidthTests, Echoes, Fetches, Ping, Pong, Profiles, Router, Sniffs, TrafficGenerator,
};

use crate::drive::Control;

impl Router for Control {
    fn breathe(&mut self) {
        self.poll_meanwhile();
    }

    fn echoes(&mut self) -> Option<&mut dyn Echoes> {
        Some(self)
    }

    fn profiles(&mut self) -> Option<&mut dyn Profiles> {
        Some(self)
    }

    fn fetches(&mut self) -> Option<&mut dyn Fetches> {
        Some(self)
    }

    fn bandwidth_tests(&mut self) -> Option<&mut dyn BandwidthTests> {
        Some(self)
    }

    fn traffic_generator(&mut self) -> Option<&mut dyn TrafficGenerator> {
        Some(self)
    }

    fn sniffs(&mut self) -> Option<&mut dyn Sniffs> {
        Some(self)
    }

    fn rates(&self, interface: Option<&str>) -> Option<Row> {
        self.rate_row(interface)
    }
}

impl Echoes for Control {
    fn send(&mut self, ping: &Ping, news: &Waker) -> Result<u64, Reason> {
        self.send_ping(ping, news)
    }

    fn take(&mut self, ticket: u64) -> Option<Pong> {
        self.take_pong(ticket)
    }
}
