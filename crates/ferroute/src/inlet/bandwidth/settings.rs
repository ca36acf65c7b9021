//! Configuration of the bandwidth test server.

use std::net::IpAddr;

use btest::server::{Authentication, Settings};
use menu::{Item, Store, Value};

use crate::services::config::admits;

const MENU: &str = "/tool/bandwidth-server";

/// Configuration of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) settings: Settings,
    /// Permitted networks of IPv4 and of IPv6; of a family without networks, all addresses.
    pub(super) allowed: [Vec<Value>; 2],
    /// Port before the first UDP port of tests.
    pub(super) ports_from: u16,
}

impl Terms {
    /// Returns true if a client may connect.
    pub(super) fn admits(&self, client: IpAddr) -> bool {
        admits(&self.allowed[usize::from(client.is_ipv6())], client)
    }
}

impl Terms {
    /// Reads the configuration; `None` if the server is disabled.
    pub(super) fn of(store: &Store) -> Option<Self> {
        let item = store.settings(MENU).filter(|item| item.is("enabled"))?;
        let number = |name: &str| item.get(name).and_then(Value::as_number);
        let networks = |name: &str| {
            let listed = item.get(name).map(Value::as_list).unwrap_or_default();
            listed.to_vec()
        };
        Some(Self {
            settings: Settings {
                authentication: authentication(item),
                max_sessions: number("max-sessions").and_then(|n| usize::try_from(n).ok())?,
            },
            allowed: [
                networks("allowed-addresses4"),
                networks("allowed-addresses6"),
            ],
            ports_from: number("allocate-udp-ports-from").and_then(|n| u16::try_from(n).ok())?,
        })
    }
}

fn authentication(item: &Item) -> Authentication {
    match item.is("authenticate") {
        true => Authentication::EcSrp5,
        false => Authentication::None,
    }
}

/// Returns true if passwords need a verifier for the server.
pub(crate) fn needs_verifiers(store: &Store) -> bool {
    let item = store.settings(MENU).filter(|item| item.is("enabled"));
    item.is_some_and(|item| authentication(item) == Authentication::EcSrp5)
}
