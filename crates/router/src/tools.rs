//! Commands of tools that run until they are stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;

use menu::{Reason, Row};
use tool::{
    BandwidthTests, Echoes, Fetches, Ping, Pong, ProfileReading, ProfileSubject, Profiles, Router,
    Sniffs, TrafficGenerator,
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

impl Profiles for Control {
    fn begin(&mut self, subject: ProfileSubject) -> Result<(), Reason> {
        self.instruments
            .profile
            .begin(subject, self.workers.counters())
    }

    fn end(&mut self, subject: ProfileSubject) {
        self.instruments
            .profile
            .end(subject, self.workers.counters());
    }

    fn read(&self) -> ProfileReading {
        let profile = &self.instruments.profile;
        let names =
            { profile.subject() }.map(|subject| self.profiled_names(subject, &profile.keys()));
        let names = names.unwrap_or_default();
        ProfileReading {
            workers: self
                .instruments
                .profile
                .clocks(self.workers.counters(), &names),
            host: self.resources.time.clone(),
        }
    }
}

impl Control {
    /// Returns the names of these keys, which workers sampled by a subject.
    fn profiled_names(
        &self,
        subject: ProfileSubject,
        keys: &BTreeSet<u64>,
    ) -> BTreeMap<u64, String> {
        match subject {
            ProfileSubject::Facility => BTreeMap::new(),
            ProfileSubject::Rule => self.firewall.rule_names(keys),
            ProfileSubject::Queue => self.features.queues.node_names(keys),
            ProfileSubject::Tunnel | ProfileSubject::Interface => {
                let all = self.layout.interfaces.iter();
                all.filter(|(id, _)| keys.contains(&(id.slot() as u64)))
                    .map(|(id, entry)| (id.slot() as u64, entry.name.to_string()))
                    .collect()
            }
        }
    }
}
