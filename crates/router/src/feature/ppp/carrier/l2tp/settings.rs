//! Reads the items of the menus of L2TP.

use core::net::IpAddr;
use std::sync::Arc;

use menu::{Item, Value};
use ppp::{Keepalive, Methods, Role};

use super::super::clients::{ClientSettings, Remote};
use crate::feature::ppp::dial::{self, Dial};
use crate::intent::Name;
use crate::read;

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) dial: Arc<Dial>,
    pub(super) remote: Remote,
    /// `src-address`.
    pub(super) source: Option<IpAddr>,
    pub(super) has_random_port: bool,
    pub(super) on_demand: bool,
    pub(super) is_fast: bool,
    /// `use-ipsec`: packets pass only while an IPsec policy protects them.
    pub(super) needs_ipsec: bool,
    /// A setting of the client that this router does not implement, as the log names it.
    pub(super) missing: Option<&'static str>,
    max_mtu: u16,
    max_mru: u16,
    mrru: Option<u16>,
    keepalive: Option<Keepalive>,
}

impl Client {
    /// Reads an item; `None` for a disabled or incomplete item.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") {
            return None;
        }
        let needs_ipsec = item.is("use-ipsec");
        let missing = if needs_ipsec && item.text("ipsec-secret").is_empty() {
            Some("use-ipsec=yes needs ipsec-secret")
        } else if item.text("l2tp-proto-version") != "l2tpv2" {
            Some("PPP over L2TP version 3 is not implemented")
        } else {
            None
        };
        let source = item.get("src-address").and_then(Value::as_address);
        Some(Self {
            dial: Arc::new(Dial::read(item)?),
            remote: Remote::read(item)?,
            source: source.filter(|source| !source.is_unspecified()),
            has_random_port: item.is("random-source-port"),
            on_demand: item.is("dial-on-demand"),
            is_fast: item.is("allow-fast-path"),
            needs_ipsec,
            missing,
            max_mtu: dial::tunnel_unit(item, "max-mtu"),
            max_mru: dial::tunnel_unit(item, "max-mru"),
            mrru: dial::unit(item, "mrru"),
            keepalive: dial::tunnel_keepalive(item),
        })
    }

    /// Returns the PPP settings of a session.
    pub(super) fn of_ppp(&self) -> ppp::Settings {
        ppp::Settings {
            max_mru: self.max_mru,
            max_mtu: self.max_mtu,
            methods: self.dial.methods,
            keepalive: self.keepalive,
            mrru: self.mrru,
            hdlc_options: true,
            ..ppp::Settings::pppoe(Role::Client)
        }
    }
}

impl ClientSettings for Client {
    const TOPICS: &'static str = "l2tp,ppp";
    const NO_IPV6: Option<&'static str> = Some("L2TP over IPv6 is not implemented");

    fn dial(&self) -> &Dial {
        &self.dial
    }

    fn remote(&self) -> &Remote {
        &self.remote
    }

    fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    fn missing(&self) -> Option<&'static str> {
        self.missing
    }
}

/// Settings of the server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// Whether tunnels of version 2 are accepted.
    pub(super) is_enabled: bool,
    pub(super) profile: Name,
    pub(super) max_sessions: Option<u32>,
    pub(super) one_session_per_host: bool,
    /// `caller-id-type=number`: the number of the caller, not its address.
    pub(super) shows_number: bool,
    pub(super) is_fast: bool,
    /// `use-ipsec=required`: only protected tunnels are accepted.
    pub(super) needs_ipsec: bool,
    /// PPP settings that its sessions share.
    pub(super) of_ppp: Arc<ppp::Settings>,
}

impl Server {
    /// Reads the settings. `identity` is the name of this router.
    pub(super) fn read(item: &Item, identity: &str) -> Self {
        let is_enabled = item.is("enabled")
            && item.text("accept-proto-version") != "l2tpv3"
            && item.text("accept-pseudowire-type") != "ether";
        // RouterOS: 0 is no limit.
        let max_sessions = item.number("max-sessions").filter(|max| *max > 0);
        let methods: Methods = dial::methods(item, "authentication");
        let of_ppp = ppp::Settings {
            max_mru: dial::tunnel_unit(item, "max-mru"),
            max_mtu: dial::tunnel_unit(item, "max-mtu"),
            methods,
            keepalive: dial::tunnel_keepalive(item),
            local_name: identity.into(),
            mrru: dial::unit(item, "mrru"),
            hdlc_options: true,
            ..ppp::Settings::pppoe(Role::Server)
        };
        Self {
            is_enabled,
            profile: read::name(item, "default-profile").unwrap_or_else(|| "default".into()),
            max_sessions: max_sessions.and_then(|max| u32::try_from(max).ok()),
            one_session_per_host: item.is("one-session-per-host"),
            shows_number: item.text("caller-id-type") == "number",
            is_fast: item.is("allow-fast-path"),
            needs_ipsec: item.text("use-ipsec") == "required",
            of_ppp: Arc::new(of_ppp),
        }
    }
}
