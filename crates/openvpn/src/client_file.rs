//! Client configuration files (`.ovpn`), as OpenVPN reads them: one option a line, blocks for certificates and keys.
//!
//! The parser refuses options that change packets on the wire and that the client of this crate lacks, with the number
//! of their line. It leaves out options that concern the program `openvpn` alone.

mod read;
mod write;

use core::fmt;

use zeroize::Zeroizing;

use crate::options::Device;
use crate::path::Transport;
use crate::suite::{Cipher, Digest};
use crate::wrap::Protection;

/// Longest file in bytes.
pub const MAX_FILE_BYTES: usize = 256 * 1024;

/// A client configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientFile {
    /// Device of the tunnel.
    pub device: Device,
    /// Transport.
    pub transport: Transport,
    /// Address or name of the server.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// Ciphers, the preferred cipher first; empty for OpenVPN's defaults.
    pub ciphers: Vec<Cipher>,
    /// HMAC of CBC ciphers, and of tls-auth; `None` for OpenVPN's default, SHA1.
    pub digest: Option<Digest>,
    /// MTU of the tunnel in bytes.
    pub mtu: Option<u16>,
    /// The server's certificate must be one of a server (`remote-cert-tls server`).
    pub verifies_use: bool,
    /// TLS 1.2 alone.
    pub only_tls12: bool,
    /// User and password are needed (`auth-user-pass`).
    pub needs_user: bool,
    /// User and password, if the file has them.
    pub user: Option<(String, Zeroizing<String>)>,
    /// All packets take the tunnel (`redirect-gateway`).
    pub redirects: bool,
    /// Routes of the server are ignored (`route-nopull`).
    pub ignores_routes: bool,
    /// The server is notified of the end (`explicit-exit-notify`).
    pub notifies_exit: bool,
    /// Certificates of authorities in PEM.
    pub authorities: Option<String>,
    /// The client's certificate in PEM.
    pub certificate: Option<String>,
    /// The client's private key in PEM, perhaps encrypted.
    pub key: Option<Zeroizing<String>>,
    /// Protection of control packets, as text for [`protection_from_text`].
    pub control_key: Option<Zeroizing<String>>,
    /// Options that were left out, with their lines.
    pub left_out: Vec<LeftOut>,
}

impl ClientFile {
    /// Returns a file for a server, with OpenVPN's defaults.
    pub fn new(host: &str, port: u16) -> Self {
        Self {
            device: Device::Tun,
            transport: Transport::Udp,
            host: host.to_owned(),
            port,
            ciphers: Vec::new(),
            digest: None,
            mtu: None,
            verifies_use: false,
            only_tls12: false,
            needs_user: false,
            user: None,
            redirects: false,
            ignores_routes: false,
            notifies_exit: false,
            authorities: None,
            certificate: None,
            key: None,
            control_key: None,
            left_out: Vec::new(),
        }
    }
}

/// An option that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of the line, from 1 on.
    pub line: usize,
    /// The option with its parameters.
    pub option: String,
}

/// Reason why a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// Number of the line, from 1 on; 0 for a fault of the whole file.
    pub line: usize,
    /// The fault, and what would be right.
    pub text: String,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.text),
            line => write!(f, "line {line}: {}", self.text),
        }
    }
}

/// Reads the protection of control packets: a first line `tls-crypt`, `tls-auth`, `tls-auth 0` or `tls-auth 1`, and a
/// static key. `digest` is that of tls-auth. Returns `None` for another text.
pub fn protection_from_text(text: &str, digest: Digest) -> Option<Protection> {
    let (first, key) = text.split_once('\n')?;
    let key = crate::static_key::StaticKey::parse(key)?;
    Some(match first {
        "tls-crypt" => Protection::TlsCrypt { key },
        _ => Protection::TlsAuth {
            key,
            digest,
            direction: match first.strip_prefix("tls-auth")? {
                "" => None,
                " 0" => Some(0),
                " 1" => Some(1),
                _ => return None,
            },
        },
    })
}

#[cfg(test)]
mod tests;
