//! Listening sockets of services: in the host plane, and on the machine's side by `--listen`.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::str::FromStr;

use dataplane::zone;

use crate::host::HostPlane;

/// `--listen ADDRESS[:BASEPORT]`: additional address of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    address: IpAddr,
    /// Offset added to the port of each service.
    base: u16,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.trim_matches(['[', ']']).parse() {
            return Ok(Self { address, base: 0 });
        }
        let whole: SocketAddr = text
            .parse()
            .map_err(|_| String::from("expected an address or address:port"))?;
        Ok(Self {
            address: whole.ip(),
            base: whole.port(),
        })
    }
}

/// Side of the router on which a service listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// Host plane: the router's own addresses.
    Router,
    /// Machine's namespace.
    Machine,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Router => "the router's addresses",
            Self::Machine => "the machine's address",
        })
    }
}

/// Listens in the host plane, for both families if the kernel supports both.
pub(crate) fn in_host(host: &HostPlane, port: u16) -> io::Result<TcpListener> {
    host.inside(move || {
        ready(TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)))
            .or_else(|_| ready(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))))
    })
}

/// Returns a peer's address as seen on its link: in the host plane link-local addresses may encode an
/// interface.
pub(crate) fn peer(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V6(ip) => IpAddr::V6(zone::strip(ip)),
        ip @ IpAddr::V4(_) => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Listens on the machine's side.
pub(crate) fn on_machine(listen: Listen, port: u16) -> io::Result<TcpListener> {
    let port = listen
        .base
        .checked_add(port)
        .ok_or_else(|| io::Error::other("the base port is too high for it"))?;
    ready(TcpListener::bind((listen.address, port)))
}

fn ready(listener: io::Result<TcpListener>) -> io::Result<TcpListener> {
    let listener = listener?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peers_address_is_reported_without_the_interface() {
        let peer = |text: &str| peer(text.parse().expect("an address")).to_string();

        assert_eq!(peer("[fe80:0:30:5::2%7]:1000"), "[fe80::2]:1000");
        for other in [
            "[2001:db8:30:5::2]:1000",
            "10.0.0.1:1000",
            "[::ffff:10.0.0.1]:1000",
        ] {
            assert_eq!(peer(other), other);
        }
    }

    #[test]
    fn the_base_port_is_added_to_each_services_port() {
        let listen: Listen = "127.0.0.1:20000".parse().expect("address and port");

        assert_eq!(listen.base + 8728, 28728);
        assert_eq!("127.0.0.1".parse::<Listen>().map(|l| l.base), Ok(0));
        assert_eq!("[::1]:20000".parse::<Listen>().map(|l| l.base), Ok(20000));
        assert!("localhost".parse::<Listen>().is_err());
        let high: Listen = "127.0.0.1:65000".parse().expect("address and port");
        assert!(on_machine(high, 8728).is_err());
    }
}
