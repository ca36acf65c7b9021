//! Reads the items of the menus of SSTP.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use menu::{Item, Store, Value};
use ppp::Role;

use super::super::clients::{ClientSettings, Remote};
use super::super::units::Units;
use crate::feature::ppp::dial::{self, Dial};
use crate::feature::stream::{ClientTls, ServerTls, TlsLimits};
use crate::intent::Name;
use crate::read;

/// Menu of the services of the router; the SSTP server refuses a TCP port of theirs.
pub(super) const SERVICES: &str = "/ip/service";
/// The port of HTTPS, which a host name need not mention.
const HTTPS: u16 = 443;
/// The only cipher of RouterOS's list that rustls implements; `aes256-sha` is a CBC suite.
const CIPHER: &str = "aes256-gcm-sha384";
/// Reason for a list of ciphers without [`CIPHER`].
const NO_CIPHER: &str =
    "ciphers=aes256-sha is not supported: its CBC suites are broken, allow aes256-gcm-sha384";
/// Word of `trust-store` for server certificates.
const TRUST: &str = "sstp";

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) dial: Arc<Dial>,
    remote: Remote,
    pub(super) port: u16,
    pub(super) proxy: Option<SocketAddr>,
    pub(super) tls: Arc<ClientTls>,
    is_on_demand: bool,
    units: Units,
    /// A setting that this router does not support, as the log names it.
    missing: Option<&'static str>,
}

impl Client {
    /// Reads an item; `None` for a disabled or incomplete item.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") {
            return None;
        }
        let remote = Remote::read(item)?;
        let proxy = item.get("http-proxy");
        let proxy_address = proxy.and_then(Value::as_address);
        let missing = match () {
            () if !has_cipher(item) => Some(NO_CIPHER),
            () if proxy.is_some() && proxy_address.is_none() => {
                Some("http-proxy needs an address: its name is not resolved")
            }
            () => None,
        };
        let proxy = proxy_address.filter(|address| !address.is_unspecified());
        let host = match &remote {
            Remote::Address(address) => address.to_string(),
            Remote::Name(name) => name.to_string(),
        };
        Some(Self {
            dial: Arc::new(Dial {
                methods: dial::methods(item, "authentication"),
                ..Dial::read(item)?
            }),
            remote,
            port: port(item, "port"),
            proxy: proxy.map(|address| SocketAddr::new(address, port(item, "proxy-port"))),
            tls: Arc::new(ClientTls {
                certificate: certificate(item),
                host: host.into(),
                verifies: item.is("verify-server-certificate").then_some(TRUST),
                verifies_host: item.is("verify-server-address-from-certificate"),
                sends_name: item.is("add-sni"),
                limits: limits(item),
            }),
            is_on_demand: item.is("dial-on-demand"),
            units: Units::read(item),
            missing,
        })
    }

    /// Returns the server as the HTTP request names it: `vpn.example.com:8443`.
    pub(super) fn host(&self) -> String {
        let host = match &self.remote {
            Remote::Address(IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.tls.host.to_string(),
        };
        match self.port {
            HTTPS => host,
            port => format!("{host}:{port}"),
        }
    }

    /// Returns the PPP settings of a session.
    pub(super) fn of_ppp(&self) -> ppp::Settings {
        ppp::Settings {
            methods: self.dial.methods,
            ..within_tls(self.units, Role::Client)
        }
    }
}

impl ClientSettings for Client {
    const TOPICS: &'static str = "sstp,ppp";
    const NO_IPV6: Option<&'static str> = None;

    fn dial(&self) -> &Dial {
        &self.dial
    }

    fn remote(&self) -> &Remote {
        &self.remote
    }

    fn is_on_demand(&self) -> bool {
        self.is_on_demand
    }

    fn missing(&self) -> Option<&'static str> {
        self.missing
    }
}

/// Settings of the server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) tls: Arc<ServerTls>,
    /// The service `www-ssl` has the port, and passes on connections of SSTP.
    pub(super) is_shared: bool,
    pub(super) profile: Name,
    /// PPP settings that its sessions share.
    pub(super) of_ppp: Arc<ppp::Settings>,
}

impl Server {
    /// Reads the settings; `None` for a disabled server. `identity` is the name of this router.
    ///
    /// # Errors
    /// The server cannot run with these settings, for this reason.
    pub(super) fn read(item: &Item, identity: &str, store: &Store) -> Result<Option<Self>, String> {
        if !item.is("enabled") {
            return Ok(None);
        }
        let certificate = certificate(item).ok_or(
            "certificate=none needs anonymous Diffie-Hellman, which TLS of this router does not have: set certificate",
        )?;
        if !has_cipher(item) {
            return Err(NO_CIPHER.to_owned());
        }
        let port = port(item, "port");
        let services = store.items(SERVICES);
        let mut others = services
            .filter(|other| !other.is("disabled") && other.number("port") == Some(port.into()));
        let other = others.next();
        if let Some(other) = other {
            may_share(item, other).map_err(|why| {
                let name = other.text("name");
                format!("TCP port {port} belongs to the service {name} of {SERVICES}: {why}")
            })?;
        }
        let of_ppp = ppp::Settings {
            methods: dial::methods(item, "authentication"),
            local_name: identity.into(),
            ..within_tls(Units::read(item), Role::Server)
        };
        Ok(Some(Self {
            port,
            tls: Arc::new(ServerTls {
                certificate,
                verifies_client: item.is("verify-client-certificate"),
                limits: limits(item),
            }),
            is_shared: other.is_some(),
            profile: read::name(item, "default-profile").unwrap_or_else(|| "default".into()),
            of_ppp: Arc::new(of_ppp),
        }))
    }
}

/// Checks that the server may share the port of a service, which does the TLS handshake before a client asks for SSTP.
///
/// # Errors
/// Why it may not.
fn may_share(server: &Item, service: &Item) -> Result<(), &'static str> {
    let has_addresses = service
        .get("address")
        .is_some_and(|list| !list.as_list().is_empty());
    match () {
        () if service.text("name") != "www-ssl" => Err("SSTP shares a port with www-ssl alone"),
        () if server.is("verify-client-certificate") => Err(
            "verify-client-certificate=yes would ask the browsers of www-ssl for certificates: set another port",
        ),
        () if service.text("certificate") != server.text("certificate") => {
            Err("it shares the port with a server that has the same certificate")
        }
        () if service.text("tls-version") != server.text("tls-version") => {
            Err("it shares the port with a server that has the same tls-version")
        }
        () if has_addresses => {
            Err("its address list would refuse clients of SSTP: set another port")
        }
        () => Ok(()),
    }
}

/// Returns PPP settings of a session, which TLS encrypts.
fn within_tls(units: Units, role: Role) -> ppp::Settings {
    ppp::Settings {
        is_encrypted: true,
        reports_keys: true,
        ..units.of_ppp(role)
    }
}

fn certificate(item: &Item) -> Option<Box<str>> {
    let name = item.text("certificate");
    (!name.is_empty() && name != "none").then(|| name.into())
}

fn port(item: &Item, property: &str) -> u16 {
    dial::unit(item, property).unwrap_or(HTTPS)
}

fn has_cipher(item: &Item) -> bool {
    let all = item.get("ciphers").map(Value::as_list).unwrap_or_default();
    all.iter().any(|cipher| cipher.to_string() == CIPHER)
}

fn limits(item: &Item) -> TlsLimits {
    TlsLimits {
        only_tls12: item.text("tls-version") == "only-1.2",
        only_aes256: true,
    }
}
