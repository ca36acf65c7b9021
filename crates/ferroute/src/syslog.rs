//! Sends log entries to servers: by UDP, from sockets of the host plane.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use router::drive::log::Datagram;

use crate::host::HostPlane;

/// The address that a socket sends from; none is the kernel's choice.
type From = IpAddr;

/// The sockets that were opened.
#[derive(Default)]
pub(crate) struct Syslog {
    sockets: BTreeMap<From, UdpSocket>,
    /// What went wrong last, so that it is said once.
    trouble: Option<String>,
}

/// Most sockets that are kept.
const SOCKETS: usize = 16;

impl Syslog {
    /// Sends these; what cannot be sent is lost. Nothing is waited for.
    pub(crate) fn send(&mut self, host: Option<&HostPlane>, datagrams: &[Datagram]) {
        for datagram in datagrams {
            let sent = self.send_one(host, datagram);
            let trouble = sent.err().map(|error| {
                let Datagram { to, port, .. } = datagram;
                format!("log entries do not reach {to} port {port}: {error}")
            });
            if let Some(text) = trouble.as_ref().filter(|_| trouble != self.trouble) {
                tracing::warn!("{text}");
            }
            self.trouble = trouble;
        }
    }

    fn send_one(&mut self, host: Option<&HostPlane>, datagram: &Datagram) -> io::Result<()> {
        let any = match datagram.to {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let from = datagram.source.unwrap_or(any);
        if !self.sockets.contains_key(&from) {
            let host = host.ok_or_else(|| io::Error::other("there is no host plane"))?;
            if self.sockets.len() >= SOCKETS {
                self.sockets.clear();
            }
            let socket = host.inside(move || {
                let socket = UdpSocket::bind((from, 0))?;
                socket.set_nonblocking(true)?;
                Ok(socket)
            })?;
            self.sockets.insert(from, socket);
        }
        let sent = self.sockets[&from].send_to(&datagram.bytes, (datagram.to, datagram.port));
        if sent.is_err() {
            // The address may be another interface's by the next time.
            self.sockets.remove(&from);
        }
        sent.map(drop)
    }
}
