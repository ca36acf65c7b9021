//! Reads the items of the menus of OpenVPN, and names what they ask for and this router does not do.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;
use std::sync::Arc;

use menu::{Item, Value};
use openvpn::{
    Address6, Cipher, Device, Digest, Protection, Route, Route6, Transport, protection_from_text,
};
use ppp::{Method, Methods, Role};
use wire::Mac;

use super::super::clients::{ClientSettings, Remote};
use crate::feature::ppp::dial::{Dial, unit};
use crate::intent::Name;
use crate::kind::ovpn::{CIPHERS, CONTROL_KEY};
use crate::read;

/// HMACs, the preferred ones first.
const DIGESTS: [Digest; 6] = [
    Digest::Sha512,
    Digest::Sha384,
    Digest::Sha256,
    Digest::Sha1,
    Digest::Md5,
    Digest::None,
];

/// Settings that clients and servers share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) transport: Transport,
    pub(super) device: Device,
    pub(super) port: u16,
    /// Link address of interfaces with `mode=ethernet`; `None` generates one.
    pub(super) mac: Option<Mac>,
    pub(super) mtu: u16,
    pub(super) certificate: Box<str>,
    pub(super) only_tls12: bool,
    pub(super) ciphers: Vec<Cipher>,
    pub(super) digests: Vec<Digest>,
    /// A setting that this router does not implement, as the log names it.
    pub(super) missing: Option<&'static str>,
}

impl Common {
    fn read(item: &Item) -> Self {
        let has = |property: &str, word: &str| match item.get(property) {
            Some(Value::List(all)) => all.iter().any(|one| one.to_string() == word),
            Some(one) => one.to_string() == word,
            None => false,
        };
        let ciphers = CIPHERS.into_iter().filter(|(word, _)| has("cipher", word));
        let ciphers: Vec<Cipher> = ciphers.map(|(_, cipher)| cipher).collect();
        let digests = DIGESTS
            .into_iter()
            .filter(|digest| has("auth", digest.name()));
        let certificate = match item.text("certificate") {
            "none" => "",
            name => name,
        };
        let blowfish = "cipher=blowfish128 is not implemented: it is broken by its short blocks";
        let mac = item.get("mac-address").and_then(Value::as_mac).map(Mac);
        Self {
            transport: match item.text("protocol") {
                "udp" => Transport::Udp,
                _ => Transport::Tcp,
            },
            device: match item.text("mode") {
                "ethernet" => Device::Tap,
                _ => Device::Tun,
            },
            mac: mac.filter(|mac| *mac != Mac([0; 6])),
            missing: ciphers.is_empty().then_some(blowfish),
            port: unit(item, "port").unwrap_or(1194),
            mtu: unit(item, "max-mtu").unwrap_or(1500),
            certificate: certificate.into(),
            only_tls12: item.text("tls-version") == "only-1.2",
            ciphers,
            digests: digests.collect(),
        }
    }

    /// Returns the settings of the PPP sessions that hand over users and addresses.
    pub(super) fn of_ppp(&self, role: Role, methods: Methods) -> ppp::Settings {
        ppp::Settings {
            max_mru: self.mtu,
            max_mtu: self.mtu,
            methods,
            keepalive: None,
            can_encrypt: false,
            // By the data channel.
            is_encrypted: true,
            can_bridge: false,
            carries_frames: self.device == Device::Tap,
            ..ppp::Settings::pppoe(role)
        }
    }
}

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) common: Common,
    pub(super) dial: Arc<Dial>,
    pub(super) remote: Remote,
    pub(super) verifies: bool,
    /// Routes of the server are added (`route-nopull=no`).
    pub(super) takes_routes: bool,
    /// `disconnect-notify`.
    pub(super) notifies: bool,
    /// Protection of control packets by the key of an imported file.
    pub(super) protection: Protection,
}

impl Client {
    /// Reads an item; `None` for a disabled or incomplete item.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") {
            return None;
        }
        // The session between the two ends of this router needs a method of authentication.
        let dial = Dial {
            methods: Methods::NONE.with(Method::Pap),
            ..Dial::read(item)?
        };
        let common = Common::read(item);
        let digest = common.digests.first().copied().unwrap_or(Digest::None);
        let protection = protection_from_text(item.text(CONTROL_KEY), digest);
        Some(Self {
            common,
            protection: protection.unwrap_or(Protection::None),
            dial: Arc::new(dial),
            remote: Remote::read(item)?,
            verifies: item.is("verify-server-certificate"),
            takes_routes: !item.is("route-nopull"),
            notifies: item.is("disconnect-notify"),
        })
    }
}

impl ClientSettings for Client {
    const TOPICS: &'static str = "ovpn,ppp";
    const NO_IPV6: Option<&'static str> = None;

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
        self.common.missing
    }
}

/// Settings of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) name: Name,
    pub(super) common: Common,
    pub(super) profile: Name,
    pub(super) requires_certificate: bool,
    /// Netmask of clients' addresses.
    pub(super) netmask: Ipv4Addr,
    /// Seconds without packets until a ping; twice as many end a session.
    pub(super) keepalive: Option<u32>,
    /// Lifetime of keys in seconds.
    pub(super) renegotiation: Option<u64>,
    pub(super) routes: Vec<Route>,
    pub(super) routes6: Vec<Route6>,
    /// IPv6 in the tunnels, if it is enabled.
    pub(super) ipv6: Option<TunnelIpv6>,
    /// Flags of `redirect-gateway`; `None` if it is disabled.
    pub(super) redirect: Option<Vec<Box<str>>>,
    pub(super) methods: Methods,
}

impl Server {
    /// Returns the transport and port where it listens.
    pub(super) const fn place(&self) -> (Transport, u16) {
        (self.common.transport, self.common.port)
    }

    /// Reads an item; `None` for a disabled item.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") {
            return None;
        }
        let mut common = Common::read(item);
        let routes = routes(item.text("push-routes"), route);
        let routes6 = self::routes(item.text("push-routes-ipv6"), route6);
        let ipv6 = TunnelIpv6::read(item);
        let is_lacking_ipv6 = item.is("enable-tun-ipv6") && ipv6.is_none();
        let missing = if common.certificate.is_empty() {
            Some("a server needs a certificate: TLS without one is not implemented")
        } else if is_lacking_ipv6 {
            Some("enable-tun-ipv6=yes needs tun-server-ipv6 and an ipv6-prefix-len of at most 112")
        } else if !matches!(item.text("vrf"), "" | "main") {
            Some("servers in a VRF are not implemented")
        } else if routes.is_none() {
            Some("push-routes has no routes of the form \"network netmask [gateway [metric]]\"")
        } else if routes6.is_none() {
            Some("push-routes-ipv6 has no routes of the form \"network/length [gateway]\"")
        } else {
            None
        };
        common.missing = common.missing.or(missing);
        let len = item.number("netmask").unwrap_or(24).clamp(0, 32) as u32;
        let bits = u32::MAX.checked_shl(32 - len).unwrap_or(0);
        let words = item.get("redirect-gateway").map(Value::as_list);
        let words: Vec<String> = { words.unwrap_or_default().iter() }
            .map(ToString::to_string)
            .collect();
        let flags = words.iter().filter(|word| *word != "disabled");
        let flags: Vec<Box<str>> = flags.map(|word| word.as_str().into()).collect();
        let seconds = item.number("reneg-sec").unwrap_or(3600);
        let method = match item.text("user-auth-method") {
            "mschap2" => Method::MsChap2,
            _ => Method::Pap,
        };
        Some(Self {
            name: item.name()?.into(),
            common,
            profile: read::name(item, "default-profile").unwrap_or_else(|| "default".into()),
            requires_certificate: item.is("require-client-certificate"),
            netmask: bits.into(),
            keepalive: unit(item, "keepalive-timeout").map(u32::from),
            renegotiation: u64::try_from(seconds).ok().filter(|seconds| *seconds > 0),
            routes: routes.unwrap_or_default(),
            routes6: routes6.unwrap_or_default(),
            ipv6,
            redirect: (!flags.is_empty()).then_some(flags),
            methods: Methods::NONE.with(method),
        })
    }
}

/// IPv6 of a server's tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TunnelIpv6 {
    server: Ipv6Addr,
    len: u8,
}

impl TunnelIpv6 {
    /// First of the clients' numbers in the network, as OpenVPN has it.
    const FIRST: u128 = 0x1000;
    /// Longest prefix that leaves room for the clients.
    const MAX_LEN: u8 = 112;

    fn read(item: &Item) -> Option<Self> {
        let server = match item.get("tun-server-ipv6").and_then(Value::as_address) {
            Some(IpAddr::V6(server)) if !server.is_unspecified() => server,
            _ => return None,
        };
        let len = u8::try_from(item.number("ipv6-prefix-len").unwrap_or(64)).ok()?;
        let fits = item.is("enable-tun-ipv6") && len <= Self::MAX_LEN;
        fits.then_some(Self { server, len })
    }

    /// Returns the address of the client with this session number, and the server's.
    pub(super) fn client(self, session: u32) -> Address6 {
        let hosts = u128::MAX >> self.len;
        let number = (Self::FIRST + u128::from(session)) & hosts;
        Address6 {
            address: Ipv6Addr::from_bits(self.server.to_bits() & !hosts | number),
            len: self.len,
            remote: self.server,
        }
    }
}

/// Reads routes that are separated by commas; `None` with faults.
fn routes<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    let parts = text.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(read).collect()
}

fn route6(text: &str) -> Option<Route6> {
    let mut words = text.split_ascii_whitespace();
    let (network, len) = words.next()?.split_once('/')?;
    let gateway = words.next().map(FromStr::from_str).transpose().ok()?;
    let len = len.parse().ok().filter(|len| *len <= 128)?;
    words.next().is_none().then_some(Route6 {
        network: network.parse().ok()?,
        len,
        gateway,
    })
}

fn route(text: &str) -> Option<Route> {
    let mut words = text.split_ascii_whitespace();
    let network = words.next()?.parse().ok()?;
    let mask = words.next()?.parse().ok()?;
    let gateway = words.next().map(str::parse).transpose().ok()?;
    let metric = words.next().map(str::parse).transpose().ok()?;
    words.next().is_none().then_some(Route {
        network,
        mask,
        gateway,
        metric,
    })
}
