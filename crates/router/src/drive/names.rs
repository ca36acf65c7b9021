//! DNS traffic of the program: queries that the router sends, and queries that clients send over streams. The program
//! owns the sockets: it takes queries with [`Control::take_asks`], and reports results with [`Control::told_name`].

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

    /// Returns the DNS queries to send; each is returned once.
    pub fn take_asks(&mut self) -> Vec<Ask> {
        self.features.dns.take_asks()
    }

    /// Records the result of a query.
    pub fn told_name(&mut self, ticket: u64, told: QueryResult) {
        let mut out = Effects::default();
        self.features.dns.told(ticket, told, self.now, &mut out);
        self.carry_out(out);
        self.tell_resolved();
    }

    /// Accepts a DNS message from a stream; `waker` is called when the answer is ready. Returns a ticket; `None` if too
    /// many queries wait.
    pub fn ask_name(&mut self, message: &[u8], waker: Waker) -> Option<u64> {
        let mut out = Effects::default();
        let ticket = { &mut self.features.dns }.ask(message, waker, self.now, &mut out);
        self.carry_out(out);
        ticket
    }

    /// Returns the answer to a query that [`Self::ask_name`] accepted, once it is ready.
    pub fn take_answer(&mut self, ticket: u64, waker: &Waker) -> Option<Vec<u8>> {
        self.features.dns.take_answer(ticket, waker)
    }

    /// Discards a query that no client waits for any more.
    pub fn forget_answer(&mut self, ticket: u64) {
        self.features.dns.forget(ticket);
    }

    /// Whether clients may use this router as DNS server.
    pub fn answers_names(&self) -> bool {
        self.features.dns.is_open()
    }

    /// Returns the block lists to download; each is returned once.
    pub fn take_lists(&mut self) -> Vec<AdList> {
        self.features.dns.take_lists()
    }

    /// Records a downloaded block list, or the reason of the failure.
    pub fn told_list(&mut self, id: u64, round: u64, list: Result<List, String>) {
        let mut out = Effects::default();
        { &mut self.features.dns }.told_list(id, round, list, self.now, &mut out);
        self.carry_out(out);
    }

    /// Returns the contents of a file of the router.
    ///
    /// # Errors
    /// No file has this name, or it cannot be read.
    pub fn read_file(&self, name: &str) -> Result<Vec<u8>, String> {
        let file = self.manage.files.read(name);
        file.map_err(|error| error.to_string())
    }
}
