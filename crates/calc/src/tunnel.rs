//! Overhead of nested tunnels, and the remaining MTU.
//!
//! Sources: GRE RFC 2784, IPIP RFC 2003, 6to4 RFC 4213, EoIP's headers as RouterOS sends them, VXLAN RFC 7348,
//! PPPoE RFC 2516, L2TP RFC 2661, PPTP RFC 2637, ESP RFC 4303 with CBC (RFC 3602), GCM (RFC 4106),
//! ChaCha20-Poly1305 (RFC 7634) and truncated HMACs (RFC 2404, RFC 4868), UDP around ESP RFC 3948, WireGuard's
//! white paper, 5.4.6, MPPE RFC 3078, SSTP \[MS-SSTP\] 2.2.3 with records of TLS 1.3 (RFC 8446, 5.2) or 1.2 with
//! AES-GCM (RFC 5288), OpenVPN's data channel with peer ids (its manual, `--data-ciphers`).

use crate::units::as_share;
use crate::units::length;
use crate::{ArgumentValues, Calculator, Rows, argument, row};

const IP4: u32 = 20;
const IP6: u32 = 40;
const UDP: u32 = 8;
const ETHERNET: u32 = 14;
/// IPv4 and TCP with timestamps (RFC 7323, 3).
const TCP: u32 = IP4 + 32;
/// MTU of a tunnel through a byte stream, which carries packets of any length: RouterOS's default.
const STREAM_MTU: u32 = 1_500;
/// Maximum number of nested tunnels.
const DEPTH: usize = 6;

pub(crate) const TUNNEL: Calculator = Calculator {
    name: "tunnel",
    help: "Overhead of nested tunnels, and the MTU that remains inside",
    arguments: &[
        argument(
            "layers",
            "from the inside out: eoip, eoipv6, gre, gre6, ipip, ipipv6, 6to4, vxlan, pppoe, l2tp, pptp, wireguard, \
             wireguard6, mppe, sstp with optional :tls1.2, ovpn and ovpn-tcp with :CIPHER:HASH and optional \
             :ethernet, esp-tunnel, esp-transport, esp with :CIPHER:HASH and optional :nat-t",
            "eoip,esp-transport:aes-cbc-128:sha1",
        ),
        argument("mtu", "MTU of the outermost link, in bytes", "1500"),
    ],
    run: tunnel,
};

/// The overhead of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layer {
    /// Header and trailer bytes, independent of the packet length.
    fixed: u32,
    /// The packet after its first `clear` bytes, plus `padded` bytes, is padded to a multiple of `block`.
    block: u32,
    padded: u32,
    clear: u32,
    /// The packets are written into a TCP connection, one record each.
    stream: bool,
}

impl Layer {
    const fn plain(fixed: u32) -> Self {
        Self {
            fixed,
            block: 1,
            padded: 0,
            clear: 0,
            stream: false,
        }
    }

    /// Returns the length of an encapsulated packet on a link with this MTU. A packet in a byte stream takes its share
    /// of full segments.
    fn wrap(self, len: u32, mtu: u32) -> u32 {
        let filled = len.saturating_sub(self.clear) + self.padded;
        let record = self.fixed + self.clear + filled.next_multiple_of(self.block);
        match self.stream {
            true => (record * mtu).div_ceil(mtu.saturating_sub(TCP).max(1)),
            false => record,
        }
    }

    /// Returns the maximum length of an inner packet.
    fn inside(self, mtu: u32) -> Option<u32> {
        if self.stream {
            return (mtu > TCP).then_some(STREAM_MTU);
        }
        let room = mtu.checked_sub(self.fixed + self.clear)?;
        let filled = room / self.block * self.block;
        Some(filled.checked_sub(self.padded)? + self.clear)
    }
}

fn tunnel(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let layers = given.read("layers", layers)?;
    let mtu = given.read("mtu", length)?;
    let mut left = mtu;
    for (name, layer) in layers.iter().rev() {
        let inside = layer.inside(left).filter(|left| *left >= 28);
        left = inside.ok_or_else(|| format!("mtu={mtu}: too small for {name}"))?;
    }
    let mut rows = vec![
        row("MTU inside", left.to_string()),
        row("MSS of TCP over IPv4", left.saturating_sub(40).to_string()),
        row("MSS of TCP over IPv6", left.saturating_sub(60).to_string()),
    ];
    for len in [64, 512, 1_400] {
        let outer = outside(&layers, len, mtu);
        let is_stream = layers.iter().any(|(_, layer)| layer.stream);
        let share = as_share(f64::from(len) / f64::from(outer));
        let more = outer - len;
        let pieces = match (is_stream, outer > mtu) {
            (true, _) => ", in full segments of a stream",
            (false, true) => ", in fragments",
            (false, false) => "",
        };
        rows.push(row(
            format!("packet of {len}"),
            format!("{outer} outside, {more} more, {share}{pieces}"),
        ));
    }
    Ok(rows)
}

/// Returns the length of a packet behind nested tunnels.
pub(crate) fn encapsulated_length(text: &str, length: u32, mtu: u32) -> Result<u32, String> {
    Ok(outside(&layers(text)?, length, mtu))
}

fn outside(layers: &[(String, Layer)], length: u32, mtu: u32) -> u32 {
    { layers.iter() }.fold(length, |length, (_, layer)| layer.wrap(length, mtu))
}

/// Parses `eoip,esp-tunnel:aes-gcm-128`: tunnels from the innermost to the outermost.
fn layers(text: &str) -> Result<Vec<(String, Layer)>, String> {
    let all: Result<Vec<_>, String> = text
        .split(',')
        .map(|name| Ok((name.to_owned(), layer(name)?)))
        .collect();
    let all = all?;
    match all.len() <= DEPTH {
        true => Ok(all),
        false => Err(format!("at most {DEPTH} nested tunnels")),
    }
}

fn layer(text: &str) -> Result<Layer, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let parts: Vec<_> = parts.collect();
    match name {
        "esp-tunnel" | "esp-transport" => return esp(name == "esp-tunnel", &parts),
        "ovpn" | "ovpn-tcp" => return ovpn(name == "ovpn-tcp", &parts),
        "sstp" => return sstp(&parts),
        _ => {}
    }
    if !parts.is_empty() {
        return Err(format!("{name} takes no cipher"));
    }
    Ok(match name {
        // GRE with a key: 8 bytes, and an Ethernet frame without FCS.
        "eoip" => Layer::plain(IP4 + 8 + ETHERNET),
        // EtherIP: 2 bytes (RFC 3378).
        "eoipv6" => Layer::plain(IP6 + 2 + ETHERNET),
        "gre" => Layer::plain(IP4 + 4),
        "gre6" => Layer::plain(IP6 + 4),
        "ipip" | "6to4" => Layer::plain(IP4),
        "ipipv6" => Layer::plain(IP6),
        "vxlan" => Layer::plain(IP4 + UDP + 8 + ETHERNET),
        // PPPoE header and PPP protocol field.
        "pppoe" => Layer::plain(6 + 2),
        // Data message with flags, tunnel id and session id, and PPP with address, control and protocol fields.
        "l2tp" => Layer::plain(IP4 + UDP + 6 + 4),
        // GRE with key, sequence and acknowledgement numbers, PPP protocol field, and MPPE header.
        "pptp" => Layer::plain(IP4 + 16 + 4 + 2),
        "wireguard" | "wireguard6" => Layer {
            fixed: if name == "wireguard" { IP4 } else { IP6 } + UDP + 16 + 16,
            block: 16,
            ..Layer::plain(0)
        },
        // MPPE header, and the protocol field that it encrypts.
        "mppe" => Layer::plain(2 + 2),
        _ => {
            return Err(format!(
                "no tunnel `{name}`: eoip, eoipv6, gre, gre6, ipip, ipipv6, 6to4, vxlan, pppoe, l2tp, pptp, \
                 wireguard, wireguard6, mppe, sstp, ovpn, ovpn-tcp, esp-tunnel, esp-transport"
            ));
        }
    })
}

/// ESP: SPI and sequence number, IV, padding with pad length and next header, and ICV.
fn esp(tunnel: bool, parts: &[&str]) -> Result<Layer, String> {
    let (mut vector, mut block, mut check, mut outer) = (16, 16, None, 0);
    let mut aead = false;
    for part in parts {
        match *part {
            "nat-t" => outer = UDP,
            "3des" | "des" => (vector, block) = (8, 8),
            "null" => (vector, block) = (0, 4),
            "aes-ctr-128" | "aes-ctr-192" | "aes-ctr-256" => (vector, block) = (8, 4),
            "aes-gcm-128" | "aes-gcm-192" | "aes-gcm-256" | "chacha20-poly1305" => {
                (vector, block, check, aead) = (8, 4, Some(16), true);
            }
            "aes-cbc-128" | "aes-cbc-192" | "aes-cbc-256" | "camellia-128" | "camellia-192"
            | "camellia-256" | "aes-cbc" => {}
            "md5" | "sha1" => check = Some(12),
            "sha256" => check = Some(16),
            "sha512" => check = Some(32),
            other => {
                return Err(format!(
                    "no cipher or hash `{other}`: aes-cbc-128, aes-ctr-128, aes-gcm-128, chacha20-poly1305, 3des, \
                     null, camellia-128; md5, sha1, sha256, sha512; nat-t"
                ));
            }
        }
    }
    let check = check.ok_or_else(|| "expected a hash, such as sha1 or sha256".to_owned())?;
    if aead
        && parts
            .iter()
            .any(|part| part.starts_with("sha") || *part == "md5")
    {
        return Err("this cipher needs no hash".to_owned());
    }
    Ok(Layer {
        // Transport mode keeps the IP header in front of ESP: it adds no overhead and is not padded.
        clear: if tunnel { 0 } else { IP4 },
        fixed: if tunnel { IP4 } else { 0 } + outer + 8 + vector + check,
        block,
        padded: 2,
        stream: false,
    })
}

/// SSTP: a record of TLS for each data packet, with SSTP's header and PPP with address, control and protocol fields.
fn sstp(parts: &[&str]) -> Result<Layer, String> {
    let record = match parts {
        // Header, content type and tag.
        [] | ["tls1.3"] => 5 + 1 + 16,
        // Header, explicit nonce and tag.
        ["tls1.2"] => 5 + 8 + 16,
        _ => return Err("sstp takes tls1.3 or tls1.2".to_owned()),
    };
    Ok(Layer {
        stream: true,
        ..Layer::plain(record + 4 + 4)
    })
}

/// OpenVPN: opcode and peer id, packet number, and tag, or IV and HMAC; a length in front of each packet by TCP.
fn ovpn(tcp: bool, parts: &[&str]) -> Result<Layer, String> {
    let (mut aead, mut hash, mut frame) = (true, None, 0);
    for part in parts {
        match *part {
            "aes-gcm-128" | "aes-gcm-192" | "aes-gcm-256" | "chacha20-poly1305" => {}
            "aes-cbc-128" | "aes-cbc-192" | "aes-cbc-256" => aead = false,
            "md5" => hash = Some(16),
            "sha1" => hash = Some(20),
            "sha256" => hash = Some(32),
            "sha512" => hash = Some(64),
            "ethernet" => frame = ETHERNET,
            other => {
                return Err(format!(
                    "no cipher or hash `{other}`: aes-gcm-128, chacha20-poly1305, aes-cbc-128; md5, sha1, sha256, \
                     sha512; ethernet"
                ));
            }
        }
    }
    let around = if tcp { 2 } else { IP4 + UDP } + 4 + frame;
    let layer = match (aead, hash) {
        (true, None) => Layer::plain(around + 4 + 16),
        (true, Some(_)) => return Err("this cipher needs no hash".to_owned()),
        (false, None) => return Err("expected a hash, such as sha1 or sha256".to_owned()),
        // The packet number is encrypted, and the padding has at least one byte.
        (false, Some(hash)) => Layer {
            block: 16,
            padded: 4 + 1,
            ..Layer::plain(around + hash + 16)
        },
    };
    Ok(Layer {
        stream: tcp,
        ..layer
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(layers: &str) -> String {
        let rows = TUNNEL.run(&[("layers", layers)]);
        rows.map_or_else(|why| why, |rows| rows[0].1.clone())
    }

    #[test]
    fn tunnel_mtus_equal_those_of_routeros() {
        assert_eq!(inside("eoip"), "1458");
        assert_eq!(
            (inside("gre"), inside("ipip")),
            ("1476".into(), "1480".into())
        );
        assert_eq!(
            (inside("gre6"), inside("vxlan")),
            ("1456".into(), "1450".into())
        );
        assert_eq!(inside("pppoe"), "1492");
        assert_eq!(inside("eoip,pppoe"), "1450");
        assert_eq!(inside("wireguard"), "1440");
        assert_eq!(inside("eoip,gre"), "1434");
    }

    #[test]
    fn esp_pads_to_its_block_size() {
        // 1500 - 20 - 8 - 16 - 12 = 1444, rounded down to 1440 in whole blocks, 2 bytes of which are the
        // trailer.
        assert_eq!(inside("esp-tunnel:aes-cbc-128:sha1"), "1438");
        assert_eq!(inside("esp-tunnel:aes-gcm-128"), "1446");
        assert_eq!(inside("esp-tunnel:aes-gcm-128:nat-t"), "1438");
        // 1500 - 20 - 8 - 16 - 12 = 1444 after the IP header: 1440 including the trailer, plus the IP header.
        assert_eq!(inside("esp-transport:aes-cbc-128:sha1"), "1458");
        let both = [
            "esp-tunnel:aes-cbc-256:sha256",
            "esp-transport:aes-cbc-256:sha256",
        ];
        for (len, name) in (28..1_500).flat_map(|len| both.map(|name| (len, name))) {
            let layer = layer(name).expect("it");
            let outer = layer.wrap(len, 1_500);
            let most = layer.inside(outer).expect("it fits");
            assert!(most >= len && layer.wrap(most, 1_500) == outer, "{len}");
        }
    }

    #[test]
    fn openvpn_and_sstp_take_what_their_headers_say() {
        // 20 + 8 + 4 + 4 + 16.
        assert_eq!(inside("ovpn"), "1448");
        // 1500 - 28 - 4 - 20 - 16 = 1432: 1424 in whole blocks, 5 of them for the number and the padding.
        assert_eq!(inside("ovpn:aes-cbc-128:sha1"), "1419");
        assert_eq!(inside("mppe,l2tp"), "1458");
        assert_eq!(
            (inside("sstp"), inside("eoip,sstp")),
            ("1500".into(), "1458".into())
        );
        let outside = |layers: &str| {
            let rows = TUNNEL.run(&[("layers", layers)]).expect("it calculates");
            rows[5].1.clone()
        };
        // (1400 + 30) * 1500 / 1448, and (1400 + 26) * 1500 / 1448.
        assert!(outside("sstp").starts_with("1482 outside, 82 more"));
        assert!(outside("ovpn-tcp").starts_with("1478 outside, 78 more"));
        assert!(outside("sstp").ends_with("in full segments of a stream"));
    }

    #[test]
    fn unknown_tunnels_are_refused() {
        assert!(inside("tunnel").contains("no tunnel `tunnel`: eoip"));
        assert!(inside("esp-tunnel:aes-cbc-128").contains("expected a hash"));
        assert!(inside("esp-tunnel:aes-gcm-128:sha1").contains("needs no hash"));
        assert!(inside("gre,gre,gre,gre,gre,gre,gre").contains("at most"));
        assert!(inside("ovpn:aes-cbc-128").contains("expected a hash"));
        assert!(inside("ovpn:aes-gcm-128:sha1").contains("needs no hash"));
        assert!(inside("sstp:ssl3").contains("tls1.3 or tls1.2"));
        let small = TUNNEL
            .run(&[("layers", "eoip"), ("mtu", "60")])
            .expect_err("too small");
        assert!(small.contains("too small for eoip"), "{small}");
    }
}
