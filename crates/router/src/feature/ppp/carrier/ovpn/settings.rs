//! Reads the items of the menus of OpenVPN, and names what they ask for and this router does not do.

use core::net::Ipv4Addr;
use std::sync::Arc;

use menu::{Item, Value};
use openvpn::{Bits, Cipher, Digest, Route};
use ppp::{Method, Methods, Role};

use super::super::clients::{ClientSettings, Remote};
use crate::feature::ppp::dial::{Dial, unit};
use crate::intent::Name;
use crate::read;

/// Ciphers of this router with their words, the preferred ones first.
const CIPHERS: [(&str, Cipher); 7] = [
    ("aes256-gcm", Cipher::AesGcm(Bits::B256)),
    ("aes192-gcm", Cipher::AesGcm(Bits::B192)),
    ("aes128-gcm", Cipher::AesGcm(Bits::B128)),
    ("aes256-cbc", Cipher::AesCbc(Bits::B256)),
    ("aes192-cbc", Cipher::AesCbc(Bits::B192)),
    ("aes128-cbc", Cipher::AesCbc(Bits::B128)),
    ("null", Cipher::None),
];
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
    pub(super) port: u16,
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
        let missing = if item.text("protocol") != "udp" {
            Some("protocol=tcp is not implemented: set protocol=udp")
        } else if item.text("mode") != "ip" {
            Some("mode=ethernet is not implemented")
        } else if ciphers.is_empty() {
            Some("cipher=blowfish128 is not implemented: it is broken by its short blocks")
        } else {
            None
        };
        Self {
            port: unit(item, "port").unwrap_or(1194),
            mtu: unit(item, "max-mtu").unwrap_or(1500),
            certificate: certificate.into(),
            only_tls12: item.text("tls-version") == "only-1.2",
            ciphers,
            digests: digests.collect(),
            missing,
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
        Some(Self {
            common: Common::read(item),
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
    const NO_IPV6: Option<&'static str> = Some("OpenVPN over IPv6 is not implemented for clients");

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
    /// Flags of `redirect-gateway`; `None` if it is disabled.
    pub(super) redirect: Option<Vec<Box<str>>>,
    pub(super) methods: Methods,
}

impl Server {
    /// Reads an item; `None` for a disabled item.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") {
            return None;
        }
        let mut common = Common::read(item);
        let (routes, has_faults) = routes(item.text("push-routes"));
        let missing = if common.certificate.is_empty() {
            Some("a server needs a certificate: TLS without one is not implemented")
        } else if item.is("enable-tun-ipv6") {
            Some("enable-tun-ipv6=yes is not implemented")
        } else if !item.text("push-routes-ipv6").is_empty() {
            Some("push-routes-ipv6 is not implemented")
        } else if !matches!(item.text("vrf"), "" | "main") {
            Some("servers in a VRF are not implemented")
        } else if has_faults {
            Some("push-routes has no routes of the form \"network netmask [gateway [metric]]\"")
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
            routes,
            redirect: (!flags.is_empty()).then_some(flags),
            methods: Methods::NONE.with(method),
        })
    }
}

/// Reads `push-routes`: routes with netmasks, separated by commas. Returns true with faults.
fn routes(text: &str) -> (Vec<Route>, bool) {
    let parts = text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let mut has_faults = false;
    let routes = parts.filter_map(|part| {
        let route = route(part);
        has_faults |= route.is_none();
        route
    });
    (routes.collect(), has_faults)
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
