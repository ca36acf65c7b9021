//! Names: questions of the owner's, and those that he puts. The program has the sockets: it takes questions with
//! [`Control::take_asks`], and reports what came of them with [`Control::told_name`].

use core::net::SocketAddr;
use std::task::Waker;

use menu::Files as _;

use super::Control;
use crate::feature::Effects;

pub use crate::feature::dns::adlist::{AdList, AdSource};
pub use service::dns::{
    Ask, List, NetworkStack, QueryResult, Reader, Secure, Server, Transport, is_about,
};

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
    pub fn told_name(&mut self, ticket: u64, told: QueryResult) {
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

    /// The lists of unwanted names that are to be read, each once.
    pub fn take_lists(&mut self) -> Vec<AdList> {
        self.features.dns.take_lists()
    }

    /// Takes such a list, or why it could not be read.
    pub fn told_list(&mut self, id: u64, round: u64, list: Result<List, String>) {
        let mut out = Effects::default();
        let told = (id, round);
        { &mut self.features.dns }.told_list(told, list, self.now, &mut out);
        self.carry_out(out);
    }

    /// The contents of one of the router's files.
    ///
    /// # Errors
    /// There is none of this name, or it cannot be read.
    pub fn read_file(&self, name: &str) -> Result<Vec<u8>, String> {
        let file = self.manage.files.read(name);
        file.map_err(|error| error.to_string())
    }
}
