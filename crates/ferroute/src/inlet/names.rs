//! DNS queries of the forwarder that need sockets, one thread each, so that a silent server delays no other.
//! Control bounds their number.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netio::Waker;
use router::Instance;
use router::drive::names::{Ask, QueryResult, Transport};

use crate::host::HostPlane;
use crate::inlet::doh::Doh;
use crate::inlet::resolve::exchange;
use crate::run::shared::Shared;

/// File with the machine's DNS servers (resolv.conf(5)), and interval of reading it.
const RESOLVERS: &str = "/etc/resolv.conf";
const READ_INTERVAL: Duration = Duration::from_secs(5);

/// Stack size: waiting for a datagram needs little.
const STACK_BYTES: usize = 256 << 10;

/// Running queries.
pub(crate) struct Names {
    host: Option<Arc<HostPlane>>,
    sender: Sender<(u64, QueryResult)>,
    results: Receiver<(u64, QueryResult)>,
    /// Wakes the control thread.
    wake: Waker,
    due: Instant,
    /// Last error of reading the machine's servers.
    unread: Option<io::ErrorKind>,
    /// DNS over HTTPS client, once needed.
    doh: Option<Arc<Doh>>,
}

impl Names {
    /// Creates the set of queries, which use the host plane, or without one the machine's namespace.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (sender, results) = channel();
        Self {
            host,
            sender,
            results,
            wake,
            due: Instant::now(),
            unread: None,
            doh: None,
        }
    }

    /// Reads the machine's servers if it is time. On errors the known servers stay, and the log tells the
    /// reason.
    pub(crate) fn look(&mut self) -> Option<Vec<SocketAddr>> {
        if Instant::now() < self.due {
            return None;
        }
        self.due = Instant::now() + READ_INTERVAL;
        let read = servers_in(Path::new(RESOLVERS));
        let unread = read.as_ref().err().map(io::Error::kind);
        if let Err(error) = &read
            && self.unread != unread
        {
            tracing::warn!("{RESOLVERS}: {error}; the machine's name servers remain unchanged");
        }
        self.unread = unread;
        read.ok()
    }

    /// Reports results to control, and returns the queries to send.
    pub(crate) fn follow(
        &mut self,
        instance: &mut Instance,
        servers: Option<Vec<SocketAddr>>,
    ) -> Vec<Ask> {
        if let Some(servers) = servers {
            instance.set_machine_servers(servers);
        }
        for (ticket, answer) in self.results.try_iter() {
            instance.control().told_name(ticket, answer);
        }
        instance.control().take_asks()
    }

    /// Sends queries without waiting for their results.
    pub(crate) fn put(&mut self, asks: Vec<Ask>, shared: &Arc<Shared>) {
        for ask in asks {
            if let Transport::Secure(_) = &ask.way {
                self.put_secure(ask, shared);
                continue;
            }
            let (sender, wake) = (self.sender.clone(), self.wake.clone());
            let (host, ticket) = (self.host.clone(), ask.ticket);
            let thread = thread::Builder::new().name("name".to_owned());
            let begun = thread.stack_size(STACK_BYTES).spawn(move || {
                let _ = sender.send((ticket, exchange(host.as_deref(), &ask)));
                wake.wake();
            });
            if begun.is_err() {
                let _ = self.sender.send((ticket, QueryResult::Silent));
                self.wake.wake();
            }
        }
    }
}

impl Names {
    /// Returns the DNS over HTTPS client, creating it if necessary.
    fn doh(&mut self) -> Option<Arc<Doh>> {
        if self.doh.is_none() {
            match Doh::new(self.host.clone()) {
                Ok(doh) => self.doh = Some(Arc::new(doh)),
                Err(error) => tracing::error!("{error}"),
            }
        }
        self.doh.clone()
    }

    fn put_secure(&mut self, ask: Ask, shared: &Arc<Shared>) {
        let (sender, wake) = (self.sender.clone(), self.wake.clone());
        let (ticket, shared) = (ask.ticket, Arc::clone(shared));
        let report = move |answer| {
            let _ = sender.send((ticket, answer));
            wake.wake();
        };
        match (self.doh(), &ask.way) {
            (Some(doh), Transport::Secure(secure)) => {
                doh.put(secure, ask.message, ask.patience, shared, report)
            }
            _ => report(QueryResult::Refused),
        }
    }
}

/// Reads the servers of a file (resolv.conf(5)). A missing file has none.
fn servers_in(path: &Path) -> io::Result<Vec<SocketAddr>> {
    match fs::read(path) {
        Ok(bytes) => Ok(servers(&String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Parses the servers of resolv.conf(5), in order.
fn servers(text: &str) -> Vec<SocketAddr> {
    let servers = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let server = words.next().filter(|word| *word == "nameserver");
        let address = server.and_then(|_| words.next())?;
        let address: IpAddr = address.parse().ok()?;
        Some(SocketAddr::new(address, wire::dns::PORT))
    });
    servers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_name_servers_are_read_from_its_file() {
        let text = "# one\nsearch example\nnameserver 192.0.2.1\n nameserver\t2001:db8::1\n\
                    nameserver fe80::1%eth0\noptions nameserver\nnameserver\n";

        let expected = ["192.0.2.1:53", "[2001:db8::1]:53"];
        assert_eq!(servers(text), expected.map(|one| one.parse().expect("one")));
    }
    #[test]
    fn an_unreadable_file_is_an_error_and_not_an_empty_list() {
        let missing = servers_in(Path::new("/dev/null/resolv.conf"));
        let folder = servers_in(Path::new("/"));
        let none = servers_in(Path::new("/proc/self/no-such-file"));

        assert!(
            missing.is_err() && folder.is_err(),
            "{missing:?} {folder:?}"
        );
        assert!(none.expect("the machine has none").is_empty());
    }
}
