//! Overhead of nested tunnels, and the remaining MTU.
//!
//! Sources: GRE RFC 2784, IPIP RFC 2003, 6to4 RFC 4213, EoIP's headers as RouterOS sends them, VXLAN RFC 7348,
//! PPPoE RFC 2516, L2TP RFC 2661, PPTP RFC 2637, ESP RFC 4303 with CBC (RFC 3602), GCM (RFC 4106),
//! ChaCha20-Poly1305 (RFC 7634) and truncated HMACs (RFC 2404, RFC 4868), UDP around ESP RFC 3948, WireGuard's
//! white paper, 5.4.6.

use crate::units::as_share;
use crate::units::length;
use crate::{ArgumentValues, Calculator, Rows, argument, row};

const IP4: u32 = 20;
const IP6: u32 = 40;
const UDP: u32 = 8;
const ETHERNET: u32 = 14;
/// Maximum number of nested tunnels.
const DEPTH: usize = 6;

pub(crate) const TUNNEL: Calculator = Calculator {
    name: "tunnel",
    help: "Overhead of nested tunnels, and the MTU that remains inside",
    arguments: &[
        argument(
            "layers",
            "from the inside out: eoip, eoipv6, gre, gre6, ipip, ipipv6, 6to4, vxlan, pppoe, l2tp, pptp, wireguard, \
             wireguard6, esp-tunnel, esp-transport, esp with :CIPHER:HASH and optional :nat-t",
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
}

impl Layer {
    const fn plain(fixed: u32) -> Self {
        Self {
            fixed,
            block: 1,
            padded: 0,
            clear: 0,
        }
    }

    /// Returns the length of an encapsulated packet.
    fn wrap(self, len: u32) -> u32 {
        let filled = len.saturating_sub(self.clear) + self.padded;
        self.fixed + self.clear + filled.next_multiple_of(self.block)
    }

    /// Returns the maximum length of an inner packet.
    fn inside(self, mtu: u32) -> Option<u32> {
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
        let outer = layers.iter().fold(len, |len, (_, layer)| layer.wrap(len));
        let share = as_share(f64::from(len) / f64::from(outer));
        let more = outer - len;
        let pieces = if outer > mtu { ", in fragments" } else { "" };
        rows.push(row(
            format!("packet of {len}"),
            format!("{outer} outside, {more} more, {share}{pieces}"),
        ));
    }
    Ok(rows)
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
    if let "esp-tunnel" | "esp-transport" = name {
        return esp(name == "esp-tunnel", &parts);
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
            padded: 0,
            clear: 0,
        },
        "sstp" | "ovpn" => {
            return Err(format!(
                "{name} is a stream: its overhead per packet depends on the records"
            ));
        }
        _ => {
            return Err(format!(
                "no tunnel `{name}`: eoip, eoipv6, gre, gre6, ipip, ipipv6, 6to4, vxlan, pppoe, l2tp, pptp, \
                 wireguard, wireguard6, esp-tunnel, esp-transport"
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
            let most = layer.inside(layer.wrap(len)).expect("it fits");
            assert!(most >= len && layer.wrap(most) == layer.wrap(len), "{len}");
        }
    }

    #[test]
    fn unknown_tunnels_are_refused() {
        assert!(inside("tunnel").contains("no tunnel `tunnel`: eoip"));
        assert!(inside("esp-tunnel:aes-cbc-128").contains("expected a hash"));
        assert!(inside("esp-tunnel:aes-gcm-128:sha1").contains("needs no hash"));
        assert!(inside("gre,gre,gre,gre,gre,gre,gre").contains("at most"));
        assert!(inside("sstp").contains("a stream"));
        let small = TUNNEL
            .run(&[("layers", "eoip"), ("mtu", "60")])
            .expect_err("too small");
        assert!(small.contains("too small for eoip"), "{small}");
    }
}
