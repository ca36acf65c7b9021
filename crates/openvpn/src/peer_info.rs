//! Facts that an end announces about itself in its record: lines `IV_NAME=VALUE` (OpenVPN `ssl.c`: `push_peer_info`).

use core::fmt::Write as _;

use crate::suite::Cipher;

/// Bits of `IV_PROTO` that the machine knows (OpenVPN `ssl.h`).
pub(crate) mod proto {
    /// Data packets with peer id.
    pub(crate) const DATA_V2: u32 = 1 << 1;
    /// The client takes a push reply that it did not request.
    pub(crate) const REQUEST_PUSH: u32 = 1 << 2;
    /// Keys of the data channel by a TLS exporter.
    pub(crate) const KEY_EXPORT: u32 = 1 << 3;
    /// `AUTH_PENDING` with keywords.
    pub(crate) const AUTH_PENDING: u32 = 1 << 4;
    /// Exit by a control message, and `protocol-flags`.
    pub(crate) const CC_EXIT: u32 = 1 << 7;
    /// `AUTH_FAILED,TEMP`.
    pub(crate) const AUTH_FAILED_TEMP: u32 = 1 << 8;
    /// All bits that the client of this crate announces.
    pub(crate) const CLIENT: u32 =
        DATA_V2 | REQUEST_PUSH | KEY_EXPORT | AUTH_PENDING | CC_EXIT | AUTH_FAILED_TEMP;
}

/// Maximum number of ciphers that are read from a list.
const MAX_CIPHERS: usize = 32;

/// Announced facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerInfo {
    /// Version of the peer's program.
    pub version: Option<Box<str>>,
    /// Platform.
    pub platform: Option<Box<str>>,
    /// Bits of `IV_PROTO`.
    pub proto: u32,
    /// Ciphers that the peer supports, of those known; `None` without a list.
    pub ciphers: Option<Vec<Cipher>>,
    /// The peer negotiates AES-GCM (`IV_NCP=2`).
    pub negotiates: bool,
    /// Largest MTU that the server may push.
    pub mtu: Option<u16>,
}

impl PeerInfo {
    /// Reads the lines of a record. Unknown names are ignored; long values are cut to 64 characters.
    pub fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let cut = |value: &str| value.chars().take(64).collect::<String>().into_boxed_str();
        for line in text.lines() {
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            match name {
                "IV_VER" => info.version = Some(cut(value)),
                "IV_PLAT" => info.platform = Some(cut(value)),
                "IV_PROTO" => info.proto = value.parse().unwrap_or(0),
                "IV_CIPHERS" => {
                    let ciphers = value.split(':').take(MAX_CIPHERS);
                    info.ciphers = Some(ciphers.filter_map(Cipher::from_name).collect());
                }
                "IV_NCP" => info.negotiates = value == "2",
                "IV_MTU" => info.mtu = value.parse().ok(),
                _ => {}
            }
        }
        info
    }

    /// Returns the lines of a client.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &dyn core::fmt::Display| {
            let _ = writeln!(text, "{name}={value}");
        };
        if let Some(version) = &self.version {
            line("IV_VER", version);
        }
        if let Some(platform) = &self.platform {
            line("IV_PLAT", platform);
        }
        line("IV_TCPNL", &1);
        if let Some(mtu) = self.mtu {
            line("IV_MTU", &mtu);
        }
        if self.negotiates {
            line("IV_NCP", &2);
        }
        if let Some(ciphers) = &self.ciphers {
            let names: Vec<&str> = ciphers.iter().map(|cipher| cipher.name()).collect();
            line("IV_CIPHERS", &names.join(":"));
        }
        line("IV_PROTO", &self.proto);
        // Frames without compression, with and without a header.
        for name in ["IV_LZO_STUB", "IV_COMP_STUB", "IV_COMP_STUBv2"] {
            line(name, &1);
        }
        text
    }

    /// Returns true if the peer has announced a bit of `IV_PROTO`.
    pub(crate) const fn has(&self, bit: u32) -> bool {
        self.proto & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Bits;

    #[test]
    fn lines_are_read_as_they_were_written_and_unknown_ones_ignored() {
        let info = PeerInfo {
            version: Some("1.0".into()),
            platform: Some("linux".into()),
            proto: proto::CLIENT,
            ciphers: Some(vec![Cipher::AesGcm(Bits::B256), Cipher::ChaCha20Poly1305]),
            negotiates: true,
            mtu: Some(1600),
        };
        let text = info.encode() + "UV_ID=5\nnonsense\n";
        assert_eq!(PeerInfo::parse(&text), info);
        let foreign = PeerInfo::parse("IV_CIPHERS=BF-CBC:aes-128-cbc\nIV_PROTO=-1\n");
        assert_eq!(foreign.ciphers, Some(vec![Cipher::AesCbc(Bits::B128)]));
        assert_eq!(foreign.proto, 0);
    }
}
