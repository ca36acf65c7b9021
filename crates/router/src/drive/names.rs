//! DNS names in address lists and of other features: questions and answers. The program has the sockets: it takes
//! questions with [`Control::take_asks`] and reports answers with [`Control::hear_name`].

use core::net::SocketAddr;

use menu::Store;

use super::Control;
use crate::feature::Effects;
use crate::feature::lookups::Lookups;

pub use crate::firewall::hosts::name_servers;
pub use service::resolver::{Ask, Heard, Place};

impl Control {
    pub(crate) fn set_machine_servers(&mut self, store: &Store, servers: Vec<SocketAddr>) {
        let mut out = Effects::default();
        { &mut self.features.lookups }.set_machine((store, &servers), self.now);
        let given = (store, servers);
        { &mut self.features.names }.set_machine(given, self.now, &mut out);
        self.carry_out(out);
    }

    /// The questions for names that are to be put, each once.
    pub fn take_asks(&mut self) -> Vec<Ask> {
        let mut asks = self.features.names.take_asks();
        asks.extend(self.features.lookups.take_asks());
        asks
    }

    /// Hears what came of a question.
    pub fn hear_name(&mut self, ticket: u64, heard: Heard) {
        if Lookups::is_its(ticket) {
            self.features.lookups.hear(ticket, heard, self.now);
            return self.tell_resolved();
        }
        let mut out = Effects::default();
        { &mut self.features.names }.hear(ticket, heard, self.now, &mut out);
        self.carry_out(out);
    }
}
