//! DNS names in address lists: questions and answers. The program has the sockets: it takes questions with
//! [`Control::take_asks`] and reports answers with [`Control::hear_name`].

use core::net::SocketAddr;

use menu::{Changes, Store};

use super::Control;
use super::half::TimerKey;
use crate::firewall::hosts::{DNS, settings};

pub use crate::firewall::hosts::name_servers;
pub use service::resolver::{Ask, Heard, Place};

impl Control {
    pub(crate) fn set_machine_servers(&mut self, store: &Store, servers: Vec<SocketAddr>) {
        if servers != self.machine_servers {
            self.machine_servers = servers;
            self.follow_dns(store);
        }
    }

    /// The questions for names that are to be put, each once.
    pub fn take_asks(&mut self) -> Vec<Ask> {
        self.firewall.take_asks()
    }

    /// Hears what came of a question.
    pub fn hear_name(&mut self, ticket: u64, heard: Heard) {
        self.firewall.hear_of_host(ticket, heard, self.now);
        self.watch_names();
    }

    pub(super) fn follow_dns(&mut self, store: &Store) {
        let config = settings(store, &self.machine_servers);
        self.firewall.configure_hosts(config, self.now);
        self.watch_names();
    }

    /// Takes over what a transaction changed of names, or of who is asked.
    pub(super) fn follow_names(&mut self, store: &Store, changes: &Changes) {
        if changes.of(DNS).next().is_some() {
            self.follow_dns(store);
        }
        self.watch_names();
    }

    pub(super) fn tick_names(&mut self) {
        self.firewall.tick_hosts(self.now);
        self.watch_names();
    }

    fn watch_names(&mut self) {
        let at = self.firewall.hosts_deadline();
        self.timers.set(TimerKey::Names, at);
    }
}
