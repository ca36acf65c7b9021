//! Puts the questions for names that need sockets: each in a thread for as long as it is under way, so that a server
//! that does not answer holds nobody up. How many there are, control decides.

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
use router::drive::names::{Ask, Told, Way};

use crate::core::Shared;
use crate::host::HostPlane;
use crate::resolve::exchange;
use crate::secure::Doh;

/// Where the machine keeps whom it asks (resolv.conf(5)), and how often that is read.
const RESOLVERS: &str = "/etc/resolv.conf";
const EVERY: Duration = Duration::from_secs(5);

/// A thread that waits for a datagram needs little.
const STACK: usize = 256 << 10;

/// See the module.
pub(crate) struct Names {
    host: Option<Arc<HostPlane>>,
    tell: Sender<(u64, Told)>,
    told: Receiver<(u64, Told)>,
    /// Wakes the control thread.
    wake: Waker,
    due: Instant,
    /// Why the machine's servers could not be read the last time.
    unread: Option<io::ErrorKind>,
    /// Who asks by HTTPS, once somebody is to be asked so.
    doh: Option<Arc<Doh>>,
}

impl Names {
    /// Asks from the host plane, or where there is none from the machine.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            host,
            tell,
            told,
            wake,
            due: Instant::now(),
            unread: None,
            doh: None,
        }
    }

    /// Reads the machine's servers if that is due. Where they cannot be read, those that are known stay, and the log
    /// says why.
    pub(crate) fn look(&mut self) -> Option<Vec<SocketAddr>> {
        if Instant::now() < self.due {
            return None;
        }
        self.due = Instant::now() + EVERY;
        let read = servers_in(Path::new(RESOLVERS));
        let unread = read.as_ref().err().map(io::Error::kind);
        if let Err(error) = &read
            && self.unread != unread
        {
            tracing::warn!("{RESOLVERS}: {error}; the machine's name servers stay as they were");
        }
        self.unread = unread;
        read.ok()
    }

    /// Tells control what came of questions; gives those that are to be put.
    pub(crate) fn follow(
        &mut self,
        instance: &mut Instance,
        servers: Option<Vec<SocketAddr>>,
    ) -> Vec<Ask> {
        if let Some(servers) = servers {
            instance.set_machine_servers(servers);
        }
        for (ticket, told) in self.told.try_iter() {
            instance.control().told_name(ticket, told);
        }
        instance.control().take_asks()
    }

    /// Puts questions, and does not wait for what comes of them.
    pub(crate) fn put(&mut self, asks: Vec<Ask>, shared: &Arc<Shared>) {
        for ask in asks {
            if let Way::Secure(_) = &ask.way {
                self.put_secure(ask, shared);
                continue;
            }
            let (tell, wake) = (self.tell.clone(), self.wake.clone());
            let (host, ticket) = (self.host.clone(), ask.ticket);
            let thread = thread::Builder::new().name("name".to_owned());
            let begun = thread.stack_size(STACK).spawn(move || {
                let _ = tell.send((ticket, exchange(host.as_deref(), &ask)));
                wake.wake();
            });
            if begun.is_err() {
                let _ = self.tell.send((ticket, Told::Silent));
                self.wake.wake();
            }
        }
    }
}

impl Names {
    /// Who asks by HTTPS.
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
        let (tell, wake) = (self.tell.clone(), self.wake.clone());
        let (ticket, shared) = (ask.ticket, Arc::clone(shared));
        let tell = move |told| {
            let _ = tell.send((ticket, told));
            wake.wake();
        };
        match (self.doh(), &ask.way) {
            (Some(doh), Way::Secure(secure)) => {
                doh.put(secure, (ask.message, ask.patience), shared, tell)
            }
            _ => tell(Told::Refused),
        }
    }
}

/// Reads the servers of a file (resolv.conf(5)). A machine without the file has none.
fn servers_in(path: &Path) -> io::Result<Vec<SocketAddr>> {
    match fs::read(path) {
        Ok(bytes) => Ok(servers(&String::from_utf8_lossy(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// The servers of a text (resolv.conf(5)), in order.
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
    fn the_machines_servers_are_those_of_its_file() {
        let text = "# one\nsearch example\nnameserver 192.0.2.1\n nameserver\t2001:db8::1\n\
                    nameserver fe80::1%eth0\noptions nameserver\nnameserver\n";

        let expected = ["192.0.2.1:53", "[2001:db8::1]:53"];
        assert_eq!(servers(text), expected.map(|one| one.parse().expect("one")));
    }
    #[test]
    fn a_file_that_cannot_be_read_is_not_one_without_servers() {
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
