//! Connections that the router begins, such as to servers of logs: in the host plane, and each with an end to its waits:
//! a deadline for all of it, or somebody who stops it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Instant;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use script::Interrupt;

use crate::host::HostPlane;

/// The way to a server, for one exchange.
#[derive(Clone, Copy)]
pub(crate) struct Road<'a> {
    /// Where the sockets are; without one they are the machine's.
    pub(crate) host: Option<&'a HostPlane>,
    /// The address that it leaves from, if that is given.
    pub(crate) source: Option<IpAddr>,
    /// When it has to be over.
    pub(crate) until: Instant,
    /// Who stops it.
    pub(crate) interrupt: &'a Interrupt,
}

impl Road<'_> {
    /// Connects.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub(crate) fn connect(&self, to: SocketAddr) -> Result<TcpStream, String> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() || self.interrupt.is_on() {
            return Err("timeout".to_owned());
        }
        let source = self.source;
        let open = move || {
            let family = match to {
                SocketAddr::V4(_) => AddressFamily::INET,
                SocketAddr::V6(_) => AddressFamily::INET6,
            };
            let flags = SocketFlags::CLOEXEC;
            let socket = socket_with(family, SocketType::STREAM, flags, None)?;
            if let Some(source) = source {
                bind(&socket, &SocketAddr::new(source, 0))?;
            }
            Ok(socket)
        };
        let socket = match self.host {
            Some(host) => host.inside(open),
            None => open(),
        };
        let socket = socket.map_err(|error| error.to_string())?;
        let begun = set_socket_timeout(&socket, Timeout::Send, Some(left))
            .and_then(|()| connect(&socket, &to));
        match begun {
            Ok(()) => Ok(TcpStream::from(socket)),
            Err(rustix::io::Errno::INPROGRESS | rustix::io::Errno::AGAIN) => {
                Err("timeout".to_owned())
            }
            Err(error) => Err(io::Error::from(error).to_string()),
        }
    }
}
