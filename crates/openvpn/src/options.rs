//! Options strings, by which both ends compare their configuration (OpenVPN `options.c`: `options_string`).

use core::fmt;

use crate::path::Transport;
use crate::suite::{Cipher, Digest, Suite, digest_from_name};

/// Kind of the tunnel's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// IP packets (`mode=ip`).
    Tun,
    /// Ethernet frames (`mode=ethernet`).
    Tap,
}

impl Device {
    const fn name(self) -> &'static str {
        match self {
            Self::Tun => "tun",
            Self::Tap => "tap",
        }
    }
}

/// Largest number of options that are read.
const MAX_OPTIONS: usize = 64;

/// Configuration of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Device.
    pub(crate) device: Device,
    /// Bytes of the largest packet in the tunnel.
    pub(crate) mtu: u16,
    /// Transport, and whether it is IPv6.
    pub(crate) transport: Transport,
    /// The transport is IPv6.
    pub(crate) is_ipv6: bool,
    /// Algorithms.
    pub(crate) suite: Suite,
    /// Packets carry the header of LZO without compression.
    pub(crate) has_stub: bool,
}

impl Options {
    /// Returns the options string of a client or a server.
    pub(crate) fn encode(&self, is_client: bool) -> String {
        let Suite { cipher, digest } = self.suite;
        let family = if self.is_ipv6 { "v6" } else { "v4" };
        let end = if is_client { "CLIENT" } else { "SERVER" };
        let protocol = match self.transport {
            Transport::Udp => format!("UDP{family}"),
            Transport::Tcp => format!("TCP{family}_{end}"),
        };
        // Names of OpenVPN's own strings: `UDPv4`, `TCPv4_CLIENT`, `[null-cipher]`.
        let cipher_name = match cipher {
            Cipher::None => "[null-cipher]",
            _ => cipher.name(),
        };
        let digest_name = match digest {
            _ if cipher.is_aead() => "[null-digest]".to_owned(),
            Digest::None => "[null-digest]".to_owned(),
            _ => digest.name().to_ascii_uppercase(),
        };
        let stub = if self.has_stub { "comp-lzo," } else { "" };
        format!(
            "V4,dev-type {},link-mtu {},tun-mtu {},proto {protocol},{stub}cipher {cipher_name},auth {digest_name},\
             keysize {},key-method 2,tls-{}",
            self.device.name(),
            self.link_mtu(),
            self.tun_mtu(),
            8 * cipher.key_len(),
            end.to_ascii_lowercase(),
        )
    }

    /// Bytes of a device's largest packet: Ethernet frames have a header.
    const fn tun_mtu(&self) -> u32 {
        let header = match self.device {
            Device::Tun => 0,
            Device::Tap => 32,
        };
        self.mtu as u32 + header
    }

    /// Bytes of the largest packet of the data channel by the formula of OpenVPN's options strings.
    const fn link_mtu(&self) -> u32 {
        let overhead = match self.suite.cipher {
            Cipher::AesGcm(_) | Cipher::ChaCha20Poly1305 => 49,
            // Opcode, packet id, initialization vector, and padding of at most a block.
            Cipher::AesCbc(_) => 1 + 4 + 16 + 16 + self.suite.digest.key_len() as u32,
            Cipher::None => 1 + 4 + self.suite.digest.key_len() as u32,
        };
        let stub = self.has_stub as u32;
        let framing = match self.transport {
            Transport::Udp => 0,
            Transport::Tcp => 2,
        };
        self.tun_mtu() + overhead + stub + framing
    }

    /// Compares the configuration with the options string of the other end. Options that the data channel's negotiation
    /// replaces are compared only if `negotiated` is false.
    pub(crate) fn compare(&self, remote: &RemoteOptions, negotiated: bool) -> Vec<Mismatch> {
        let mut all = Vec::new();
        let mut add = |name, local: String, remote: Option<String>| {
            if let Some(remote) = remote
                && !remote.eq_ignore_ascii_case(&local)
            {
                all.push(Mismatch {
                    name,
                    local: local.into(),
                    remote: remote.into(),
                });
            }
        };
        add(
            "dev-type",
            self.device.name().to_owned(),
            remote.device.clone(),
        );
        add("tun-mtu", self.tun_mtu().to_string(), remote.mtu.clone());
        if !negotiated {
            let cipher = remote.cipher.as_deref().map(canonical_cipher);
            add("cipher", self.suite.cipher.name().to_owned(), cipher);
            if !self.suite.cipher.is_aead() {
                let digest = remote.digest.as_deref().map(canonical_digest);
                add("auth", self.suite.digest.name().to_owned(), digest);
            }
        }
        all
    }
}

fn canonical_cipher(name: &str) -> String {
    Cipher::from_name(name).map_or_else(|| name.to_owned(), |cipher| cipher.name().to_owned())
}

fn canonical_digest(name: &str) -> String {
    digest_from_name(name).map_or_else(|| name.to_owned(), |digest| digest.name().to_owned())
}

/// An option that differs between the ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Name of the option in options strings.
    pub name: &'static str,
    /// Value of this end.
    pub local: Box<str>,
    /// Value of the other end.
    pub remote: Box<str>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {} here and {} on the other end",
            self.name, self.local, self.remote
        )
    }
}

/// Options of the other end's string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// Value of `dev-type`.
    pub device: Option<String>,
    /// Value of `tun-mtu`.
    pub mtu: Option<String>,
    /// Value of `cipher`.
    pub cipher: Option<String>,
    /// Value of `auth`.
    pub digest: Option<String>,
    /// The string has `comp-lzo`: packets have a header of one byte.
    pub has_stub: bool,
}

impl RemoteOptions {
    /// Reads an options string. Values are cut to 64 characters, and at most 64 options are read.
    pub fn parse(text: &str) -> Self {
        let mut options = Self::default();
        for option in text.split(',').take(MAX_OPTIONS) {
            let (name, value) = option.split_once(' ').unwrap_or((option, ""));
            let value = || Some(value.chars().take(64).collect());
            match name {
                "dev-type" => options.device = value(),
                "tun-mtu" => options.mtu = value(),
                "cipher" => options.cipher = value(),
                "auth" => options.digest = value(),
                "comp-lzo" => options.has_stub = true,
                _ => {}
            }
        }
        options
    }

    /// Returns the cipher, if it is known.
    pub(crate) fn cipher(&self) -> Option<Cipher> {
        Cipher::from_name(self.cipher.as_deref()?)
    }

    /// Returns the digest, if it is known.
    pub(crate) fn digest(&self) -> Option<Digest> {
        digest_from_name(self.digest.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Bits;

    fn options() -> Options {
        Options {
            device: Device::Tun,
            mtu: 1500,
            transport: Transport::Udp,
            is_ipv6: false,
            suite: Suite {
                cipher: Cipher::AesCbc(Bits::B256),
                digest: Digest::Sha1,
            },
            has_stub: false,
        }
    }

    #[test]
    fn the_string_is_that_of_openvpn() {
        assert_eq!(
            options().encode(true),
            "V4,dev-type tun,link-mtu 1557,tun-mtu 1500,proto UDPv4,cipher AES-256-CBC,auth SHA1,keysize 256,\
             key-method 2,tls-client"
        );
        let mut gcm = options();
        gcm.suite.cipher = Cipher::AesGcm(Bits::B128);
        gcm.transport = Transport::Tcp;
        assert_eq!(
            gcm.encode(false),
            "V4,dev-type tun,link-mtu 1551,tun-mtu 1500,proto TCPv4_SERVER,cipher AES-128-GCM,auth [null-digest],\
             keysize 128,key-method 2,tls-server"
        );
    }

    #[test]
    fn a_different_device_mtu_cipher_or_digest_is_reported() {
        let same = RemoteOptions::parse(&options().encode(false));
        assert_eq!(options().compare(&same, false), []);
        let other = RemoteOptions::parse(
            "V4,dev-type tap,tun-mtu 1532,cipher BF-CBC,auth MD5,comp-lzo,tls-server",
        );
        assert!(other.has_stub);
        let names = |negotiated| -> Vec<_> {
            let all = options().compare(&other, negotiated);
            all.iter().map(|mismatch| mismatch.name).collect()
        };
        assert_eq!(names(false), ["dev-type", "tun-mtu", "cipher", "auth"]);
        assert_eq!(names(true), ["dev-type", "tun-mtu"]);
        assert_eq!(
            options().compare(&other, true)[1].to_string(),
            "tun-mtu is 1500 here and 1532 on the other end"
        );
    }
}
