//! Names in address lists: who is asked for them, and what comes of it. The owner has the sockets: he
//! takes questions, and says what came of each.

use core::net::SocketAddr;

use machine::Instant;
use menu::{Changes, Store};
use service::resolver::{Ask, Heard};

use super::{Effects, Feature, View, concerns};
use crate::firewall::ADDRESSES;
use crate::firewall::hosts::{DNS, HostRow, Hosts, settings};

/// The names, and the servers that the machine underneath asks for names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    hosts: Hosts,
    machine: Vec<SocketAddr>,
}

impl Names {
    /// Tells which servers the machine underneath asks.
    pub(crate) fn set_machine(
        &mut self,
        (store, servers): (&Store, Vec<SocketAddr>),
        now: Instant,
        out: &mut Effects,
    ) {
        if servers != self.machine {
            self.machine = servers;
            self.configure(store, now, out);
        }
    }

    /// The questions that are to be put, each once.
    pub(crate) fn take_asks(&mut self) -> Vec<Ask> {
        self.hosts.take_asks()
    }

    /// Hears what came of a question.
    pub(crate) fn hear(&mut self, ticket: u64, heard: Heard, now: Instant, out: &mut Effects) {
        self.hosts.hear(ticket, heard, now, out);
    }

    /// The addresses of the names in a family's lists.
    pub(crate) fn rows_of(&self, ipv6: bool) -> impl Iterator<Item = HostRow<'_>> {
        self.hosts.rows(ipv6)
    }

    fn configure(&mut self, store: &Store, now: Instant, out: &mut Effects) {
        let config = settings(store, &self.machine);
        self.hosts.configure(config, now, out);
    }
}

impl Feature for Names {
    fn menus(&self) -> &'static [&'static str] {
        &[ADDRESSES[0], ADDRESSES[1], DNS]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        for (ipv6, path) in ADDRESSES.into_iter().enumerate() {
            match changes {
                None => self.hosts.load((view.store, path), ipv6, view.now, out),
                Some(changes) => {
                    for change in changes.of(path) {
                        self.hosts.follow(change, ipv6, view.now, out);
                    }
                }
            }
        }
        if concerns(&[DNS], changes) {
            self.configure(view.store, view.now, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.hosts.tick(now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.hosts.deadline()
    }
}
