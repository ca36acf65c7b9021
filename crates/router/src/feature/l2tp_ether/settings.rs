//! Reads the items of `/interface/l2tp-ether`, and the settings of the server for version 3.

use core::net::IpAddr;
use std::sync::Arc;

use l2tp::{Digest, Pseudowire};
use machine::Duration;
use menu::{Item, Value};

use super::super::ppp::{ClientSettings, Dial, Remote};
use crate::intent::Name;
use crate::read;

/// Silence of a server before a client sends HELLO.
const CLIENT_HELLO: Duration = Duration::from_secs(10);

/// Settings of an item with a control connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    dial: Arc<Dial>,
    remote: Remote,
    /// `local-address`.
    pub(super) source: Option<IpAddr>,
    /// `l2tp-proto-version`: packets are UDP datagrams; else IP packets of protocol 115.
    pub(super) in_udp: bool,
    pub(super) is_fast: bool,
    /// `use-ipsec`: packets pass only while an IPsec policy protects them.
    pub(super) needs_ipsec: bool,
    pub(super) pseudowire: Pseudowire,
    /// A setting that is missing, as the log names it.
    missing: Option<&'static str>,
}

impl Client {
    /// Reads an item; `None` for a disabled item, and for one with `unmanaged-mode=yes`.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") || item.is("unmanaged-mode") {
            return None;
        }
        let needs_ipsec = item.is("use-ipsec");
        let lacks_secret = needs_ipsec && item.text("ipsec-secret").is_empty();
        let source = item.get("local-address").and_then(Value::as_address);
        Some(Self {
            dial: Arc::new(Dial::read(item)?),
            remote: Remote::read(item)?,
            source: source.filter(|source| !source.is_unspecified()),
            in_udp: item.text("l2tp-proto-version") == "l2tpv3-udp",
            is_fast: item.is("allow-fast-path"),
            needs_ipsec,
            pseudowire: Pseudowire {
                has_sublayer: item.is("use-l2-specific-sublayer"),
                hello_interval: Some(CLIENT_HELLO),
                ..pseudowire(item, ["digest-hash", "cookie-length", "circuit-id"])
            },
            missing: lacks_secret.then_some("use-ipsec=yes needs ipsec-secret"),
        })
    }
}

impl ClientSettings for Client {
    const TOPICS: &'static str = "l2tp";
    const NO_IPV6: Option<&'static str> = Some("L2TP over IPv6 is not implemented");

    fn dial(&self) -> &Dial {
        &self.dial
    }

    fn remote(&self) -> &Remote {
        &self.remote
    }

    fn is_on_demand(&self) -> bool {
        false
    }

    fn missing(&self) -> Option<&'static str> {
        self.missing
    }
}

/// Settings of the server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// Whether tunnels of version 3 are accepted.
    pub(super) is_enabled: bool,
    pub(super) max_sessions: Option<u32>,
    pub(super) one_session_per_host: bool,
    pub(super) is_fast: bool,
    /// `use-ipsec=required`: only protected tunnels are accepted.
    pub(super) needs_ipsec: bool,
    pub(super) pseudowire: Pseudowire,
    /// `l2tpv3-ether-interface-list`: interface list of its interfaces.
    pub(super) list: Option<Name>,
}

impl Server {
    pub(super) fn read(item: &Item) -> Self {
        let is_enabled = item.is("enabled")
            && item.text("accept-proto-version") != "l2tpv2"
            && item.text("accept-pseudowire-type") != "ppp";
        let seconds = item.number("keepalive-timeout");
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let seconds = seconds.filter(|seconds| *seconds > 0);
        // RouterOS: 0 is no limit.
        let max_sessions = item.number("max-sessions").filter(|max| *max > 0);
        let list = read::name(item, "l2tpv3-ether-interface-list");
        Self {
            is_enabled,
            max_sessions: max_sessions.and_then(|max| u32::try_from(max).ok()),
            one_session_per_host: item.is("one-session-per-host"),
            is_fast: item.is("allow-fast-path"),
            needs_ipsec: item.text("use-ipsec") == "required",
            pseudowire: Pseudowire {
                hello_interval: seconds.map(Duration::from_secs),
                ..pseudowire(item, NAMES)
            },
            list: list.filter(|list| **list != *"none"),
        }
    }
}

/// Properties of the server's digest, cookie length and circuit.
const NAMES: [&str; 3] = [
    "l2tpv3-digest-hash",
    "l2tpv3-cookie-length",
    "l2tpv3-circuit-id",
];

/// Reads digest, cookie length and circuit of an item, by the names of their properties.
fn pseudowire(item: &Item, names: [&str; 3]) -> Pseudowire {
    let [digest, cookie, circuit] = names.map(|name| item.text(name));
    Pseudowire {
        digest: match digest {
            "md5" => Some(Digest::Md5),
            "sha1" => Some(Digest::Sha1),
            _ => None,
        },
        cookie_bytes: match cookie {
            "4-bytes" => 4,
            "8-bytes" => 8,
            _ => 0,
        },
        circuit_id: circuit.into(),
        has_sublayer: false,
        hello_interval: None,
    }
}
