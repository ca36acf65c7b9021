//! Reads `/interface/wireguard` and its peers.

use core::net::IpAddr;
use std::sync::Arc;

use dataplane::encap::wireguard::Allowed;
use dataplane::snapshot::Prefix;
use machine::Duration;
use menu::{Item, Value};
use wireguard::{Preshared, Private, Public};

use crate::intent::{Interface, ItemId, Name};
use crate::kind::{self, wireguard::Wireguard};
use crate::read;

/// Port range for interfaces without `listen-port` (RFC 6335, 6).
const DYNAMIC: core::ops::Range<u64> = 49_152..65_536;

/// A configured interface.
#[derive(Clone, Debug)]
pub(super) struct Network {
    pub(super) interface: Interface,
    pub(super) port: u16,
    pub(super) private: Option<Private>,
}

impl Network {
    pub(super) fn of(id: ItemId, item: &Item) -> Option<Self> {
        let port = match item.number("listen-port") {
            // An item always gets the same port.
            Some(0) | None => (DYNAMIC.start + id % (DYNAMIC.end - DYNAMIC.start)) as u16,
            Some(port) => u16::try_from(port).ok()?,
        };
        Some(Self {
            interface: kind::wireguard::read(item)?,
            port,
            private: Private::from_base64(item.text("private-key")),
        })
    }

    /// Returns the interface for the layout, with the networks of its peers.
    pub(super) fn with(&self, allowed: Allowed) -> Interface {
        Interface {
            kind: Wireguard {
                port: self.port,
                allowed: Arc::new(allowed),
            }
            .into(),
            ..self.interface.clone()
        }
    }

    /// Returns the interface without port and peers.
    pub(super) fn idle(&self) -> Interface {
        self.interface.clone()
    }
}

/// Host part of a peer's endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Address(IpAddr),
    Name(Arc<str>),
}

/// A peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) interface: Name,
    pub(super) public: Public,
    pub(super) preshared: Option<Preshared>,
    pub(super) endpoint: Option<(Host, u16)>,
    pub(super) keepalive: Option<Duration>,
    pub(super) responder: bool,
    pub(super) allowed: Vec<Prefix>,
}

impl Peer {
    /// Reads a peer. Returns `None` if it is disabled or has no key.
    pub(super) fn of(item: &Item) -> Option<Self> {
        let public = public_of(item)?;
        let networks = item.get("allowed-address").map(Value::as_list);
        let keepalive = item.get("persistent-keepalive").and_then(Value::as_nanos);
        let keepalive = keepalive.and_then(|nanos| u64::try_from(nanos).ok());
        (!item.is("disabled")).then_some(())?;
        Some(Self {
            interface: read::name(item, "interface")?,
            public,
            preshared: Preshared::from_base64(item.text("preshared-key")),
            endpoint: endpoint(item),
            keepalive: keepalive
                .filter(|nanos| *nanos > 0)
                .map(Duration::from_nanos),
            responder: item.is("responder"),
            allowed: networks
                .unwrap_or_default()
                .iter()
                .filter_map(Value::as_prefix)
                .map(read::prefix)
                .collect(),
        })
    }
}

/// Returns the configured public key of a peer, or derives the public key from the configured
/// private key.
pub(super) fn public_of(item: &Item) -> Option<Public> {
    let given = Public::from_base64(item.text("public-key"));
    given.or_else(|| Private::from_base64(item.text("private-key")).map(|private| private.public()))
}

/// Derives a public key from a private key, both in base64; `None` if the text is no private key.
pub fn public_key(private: &str) -> Option<String> {
    let private = Private::from_base64(private)?;
    Some(private.public().to_string())
}

fn endpoint(item: &Item) -> Option<(Host, u16)> {
    let port = u16::try_from(item.number("endpoint-port")?).ok();
    let port = port.filter(|port| *port != 0)?;
    let value = item.get("endpoint-address")?;
    let host = match value.as_address() {
        Some(address) => Host::Address(address),
        None => Host::Name(Arc::from(value.as_str().filter(|name| !name.is_empty())?)),
    };
    Some((host, port))
}
