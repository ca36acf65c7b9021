//! Header contents that rules read beyond the parsed fields: IPv4 and TCP options, IPv6 extension headers,
//! payload. All functions stop at the packet's end.

use packet::{Fields, protocol};

use super::matcher::Ipv4Option;

/// The IPv4 options that matchers distinguish, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options(u8);

const LOOSE: u8 = 1;
const STRICT: u8 = 2;
const RECORD: u8 = 4;
const TIMESTAMP: u8 = 8;
const ALERT: u8 = 16;
/// Any other option, or padding.
const OTHER: u8 = 32;

impl Options {
    /// Returns true if the options satisfy a matcher.
    pub(super) fn fit(self, option: Ipv4Option) -> bool {
        let has = |bits: u8| self.0 & bits != 0;
        match option {
            // RouterOS: an option that was stripped still counts.
            Ipv4Option::Any => self.0 != 0,
            Ipv4Option::None => self.0 == 0,
            Ipv4Option::LooseSourceRouting => has(LOOSE),
            Ipv4Option::StrictSourceRouting => has(STRICT),
            Ipv4Option::NoSourceRouting => !has(LOOSE | STRICT),
            Ipv4Option::RecordRoute => has(RECORD),
            Ipv4Option::NoRecordRoute => !has(RECORD),
            Ipv4Option::Timestamp => has(TIMESTAMP),
            Ipv4Option::NoTimestamp => !has(TIMESTAMP),
            Ipv4Option::RouterAlert => has(ALERT),
            Ipv4Option::NoRouterAlert => !has(ALERT),
        }
    }
}

/// Returns the options of an IPv4 packet (RFC 791, 3.1).
pub(super) fn ipv4_options(packet: &[u8]) -> Options {
    let words = packet.first().map_or(0, |first| usize::from(first & 0xf));
    let mut rest = packet.get(20..words * 4).unwrap_or_default();
    let mut found = 0;
    while let Some((kind, behind)) = rest.split_first() {
        found |= match kind {
            131 => LOOSE,
            137 => STRICT,
            7 => RECORD,
            68 => TIMESTAMP,
            148 => ALERT,
            _ => OTHER,
        };
        let len = match (kind, behind.first()) {
            // End of option list.
            (0, _) => break,
            (1, _) => 1,
            (_, Some(len)) => usize::from(*len).max(2),
            (_, None) => break,
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    Options(found)
}

/// Returns the extension headers of an IPv6 packet, as bits of [`super::Headers`].
pub(super) fn ipv6_headers(packet: &[u8]) -> u8 {
    let (mut kind, mut at, mut found) = (packet.get(6).copied(), 40, 0);
    for _ in 0..8 {
        let (Some(number), field) = (kind, packet.get(at..at + 2)) else {
            return found;
        };
        let (bit, unit, extra) = match number {
            0 => (1, 8, 8),
            60 => (2, 8, 8),
            43 => (4, 8, 8),
            // A fragment header has eight bytes; the rest of the header chain is in the first fragment.
            44 => (8, 0, 8),
            51 => (16, 4, 8),
            50 => return found | 32,
            59 => return found | 64,
            _ => return found | 128,
        };
        found |= bit;
        let Some(field) = field else { return found };
        kind = Some(field[0]);
        at += extra + unit * usize::from(field[1]);
    }
    found
}

/// Returns the maximum segment size option of a SYN (RFC 9293, 3.7.1); `None` if it has none.
pub(super) fn mss(fields: &Fields, packet: &[u8]) -> Option<u16> {
    const SYN: u8 = 2;
    if fields.tuple.protocol != protocol::TCP || fields.tcp_flags & SYN == 0 {
        return None;
    }
    let segment = packet.get(usize::from(fields.upper)..)?;
    let len = usize::from(*segment.get(12)? >> 4) * 4;
    let mut rest = segment.get(20..len)?;
    loop {
        match *rest {
            [2, 4, high, low, ..] => return Some(u16::from_be_bytes([high, low])),
            [1, ref behind @ ..] => rest = behind,
            [kind, len, ..] if kind != 0 && len >= 2 => rest = rest.get(usize::from(len)..)?,
            _ => return None,
        }
    }
}

/// Returns true if the packet contains the bytes; an empty pattern always matches.
pub(super) fn contains(packet: &[u8], wanted: &[u8]) -> bool {
    let Some(first) = wanted.first() else {
        return true;
    };
    let mut rest = packet;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = &rest[at..];
        if rest.starts_with(wanted) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_options(options: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = 0x45 + (options.len() / 4) as u8;
        packet.extend(options);
        packet
    }

    #[test]
    fn options_are_found_wherever_they_stand() {
        let none = ipv4_options(&with_options(&[]));
        let some = ipv4_options(&with_options(&[1, 148, 4, 0, 0, 7, 3, 4]));

        assert!(none.fit(Ipv4Option::None) && none.fit(Ipv4Option::NoRouterAlert));
        assert!(some.fit(Ipv4Option::Any) && some.fit(Ipv4Option::RouterAlert));
        assert!(some.fit(Ipv4Option::RecordRoute) && some.fit(Ipv4Option::NoTimestamp));
        assert!(!some.fit(Ipv4Option::None) && some.fit(Ipv4Option::NoSourceRouting));
        // Options after the end of the list, and a truncated header.
        assert_eq!(ipv4_options(&with_options(&[0, 7, 3, 4])), Options(OTHER));
        assert_eq!(ipv4_options(&[0x46; 22]), Options(0));
        let stripped = ipv4_options(&with_options(&[1, 1, 1, 1]));
        assert!(stripped.fit(Ipv4Option::Any));
    }

    #[test]
    fn ipv6_headers_are_found_to_the_end_of_their_chain() {
        let mut packet = vec![0; 40];
        packet[6] = 0;
        packet.extend([44, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend([6, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(ipv6_headers(&packet), 1 | 8 | 128);
        assert_eq!(ipv6_headers(&packet[..44]), 1 | 8);
        assert_eq!(ipv6_headers(&[]), 0);
    }

    #[test]
    fn the_mss_is_read_from_a_syn() {
        let mut packet = vec![0x45, 0, 0, 52, 0, 0, 0, 0, 64, 6, 0, 0];
        packet.extend([
            10, 0, 0, 1, 10, 0, 0, 2, 0, 80, 0, 81, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
        packet.extend([
            0x80, 2, 0, 0, 0, 0, 0, 0, 1, 3, 3, 7, 2, 4, 5, 0xb4, 0, 0, 0, 0,
        ]);
        let fields = Fields::of(&packet);

        assert_eq!(mss(&fields, &packet), Some(1460));
        for len in 0..packet.len() {
            let cut = Fields::of(&packet[..len]);
            let _ = mss(&cut, &packet[..len]);
        }
        packet[33] = 0x10;
        assert_eq!(mss(&Fields::of(&packet), &packet), None);
    }

    #[test]
    fn contents_are_found_at_every_place() {
        assert!(contains(b"aab", b"ab") && contains(b"aab", b"") && contains(b"aab", b"b"));
        assert!(!contains(b"aab", b"aba") && !contains(b"", b"a"));
    }
}
