//! Names: questions of the owner's, and those that he puts. The program has the sockets: it takes questions with
//! [`Control::take_asks`], and reports what came of them with [`Control::told_name`].

use core::net::SocketAddr;
use std::task::Waker;

use super::Control;
use crate::feature::Effects;

pub use service::dns::{Ask, Place, Secure, Server, Told, Way, is_about};

impl Control {
    pub(crate) fn set_machine_servers(&mut self, servers: Vec<SocketAddr>) {
        let mut out = Effects::default();
        self.features.dns.set_machine(servers, self.now, &mut out);
        self.features.lookups.retry(self.now);
        self.carry_out(out);
    }

    /// The questions that are to be put, each once.
    pub fn take_asks(&mut self) -> Vec<Ask> {
        self.features.dns.take_asks()
    }

    /// Hears what came of such a question.
    pub fn told_name(&mut self, ticket: u64, told: Told) {
        let mut out = Effects::default();
        self.features.dns.told(ticket, told, self.now, &mut out);
        self.carry_out(out);
        self.tell_resolved();
    }

    /// Takes a message with a question, as from a stream; `waker` wakes who waits for the answer. Gives a ticket; none
    /// if too many wait.
    pub fn ask_name(&mut self, message: &[u8], waker: Waker) -> Option<u64> {
        let mut out = Effects::default();
        let ticket = { &mut self.features.dns }.ask(message, waker, self.now, &mut out);
        self.carry_out(out);
        ticket
    }

    /// The answer to such a message, once it is there.
    pub fn take_answer(&mut self, ticket: u64, waker: &Waker) -> Option<Vec<u8>> {
        self.features.dns.take_answer(ticket, waker)
    }

    /// Nobody waits for it any more.
    pub fn forget_answer(&mut self, ticket: u64) {
        self.features.dns.forget(ticket);
    }

    /// Whether others may ask this router for names.
    pub fn answers_names(&self) -> bool {
        self.features.dns.is_open()
    }
}
