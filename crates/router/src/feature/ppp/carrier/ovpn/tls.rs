//! TLS of OpenVPN's control channel, with certificates of `/certificate`. Names in certificates are not compared: an
//! OpenVPN server is trusted by its authority alone.

use std::sync::Arc;

use certificate::Trust;
use menu::Store;
use openvpn::TlsConfig;
use rustls::pki_types::ServerName;

use crate::feature::stream::TlsLimits;
use crate::tls::{self, PrivateServer};

/// Use for which an authority must be trusted.
const USE: &str = "ovpn";
/// Name of a server: it is neither sent nor compared.
const SERVER_NAME: &str = "openvpn";

/// Returns the TLS configuration of a server.
///
/// # Errors
/// The certificate is missing, not signed, or has no private key, or no authority is trusted.
pub(super) fn server(
    store: &Store,
    trust: &Trust,
    certificate: &str,
    requires_client: bool,
    only_tls12: bool,
) -> Result<TlsConfig, String> {
    let identity = tls::identity(store, certificate)?;
    let clients = requires_client.then_some((trust, USE));
    let config = tls::server(identity, clients, limits(only_tls12))?;
    Ok(TlsConfig::Server(Arc::new(config)))
}

/// Returns the TLS configuration of a client. `certificate` is its own; empty without one.
///
/// # Errors
/// The certificate is missing, not signed, or has no private key, or no authority is trusted.
pub(super) fn client(
    store: &Store,
    trust: &Trust,
    certificate: &str,
    verifies: bool,
    only_tls12: bool,
) -> Result<TlsConfig, String> {
    if verifies && trust.own(USE).next().is_none() {
        return Err(format!("no certificate is trusted for {USE}"));
    }
    let identity = (!certificate.is_empty()).then(|| tls::identity(store, certificate));
    let server = PrivateServer {
        trusted_for: verifies.then_some(USE),
        by_name: false,
        limits: limits(only_tls12),
    };
    let mut config = tls::private(trust, identity.transpose()?, &server)?;
    config.enable_sni = false;
    let name = ServerName::try_from(SERVER_NAME).map_err(|error| error.to_string())?;
    Ok(TlsConfig::Client(Arc::new(config), name))
}

const fn limits(only_tls12: bool) -> TlsLimits {
    TlsLimits {
        only_tls12,
        only_aes256: false,
    }
}
