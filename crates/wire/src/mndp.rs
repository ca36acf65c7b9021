//! MikroTik Neighbour Discovery Protocol: a counter and TLVs in a UDP broadcast.
//!
//! There is no standard; the layout follows the messages of RouterOS 7. A message without TLVs and with counter zero
//! is a request. Text is raw bytes.

use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::Mac;

/// Source and destination port.
pub const PORT: u16 = 5678;

const MAC: u16 = 1;
const IDENTITY: u16 = 5;
/// In requests only: empty, or a zero byte.
const REFRESH: u16 = 6;
const VERSION: u16 = 7;
const PLATFORM: u16 = 8;
const UPTIME: u16 = 10;
const SOFTWARE_ID: u16 = 11;
const BOARD: u16 = 12;
const UNPACK: u16 = 14;
const IPV6: u16 = 15;
const INTERFACE: u16 = 16;
const IPV4: u16 = 17;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its counter or a TLV.
    Truncated,
    /// A TLV of fixed length has another length.
    Length,
}

/// A message as a value. Missing fields are empty or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Number of messages that the interface sent before.
    pub counter: u32,
    /// MAC address of the sending interface.
    pub mac: Option<Mac>,
    /// Identity.
    pub identity: &'a [u8],
    /// Version.
    pub version: &'a [u8],
    /// Platform.
    pub platform: &'a [u8],
    /// Uptime in seconds.
    pub uptime: Option<u32>,
    /// Software id of the licence.
    pub software_id: &'a [u8],
    /// Board name.
    pub board: &'a [u8],
    /// Supported unpacking of packed packets; 1 is none.
    pub unpack: Option<u8>,
    /// IPv6 address of the interface.
    pub ipv6: Option<Ipv6Addr>,
    /// Interface name; `bridge/port` for a bridge port.
    pub interface: &'a [u8],
    /// IPv4 address of the interface.
    pub ipv4: Option<Ipv4Addr>,
}

impl<'a> Repr<'a> {
    /// Request to all neighbours.
    pub const REQUEST: [u8; 4] = [0; 4];

    /// Parses the payload of a datagram; `Ok(None)` for a request. Skips unknown TLVs; of repeated ones the last
    /// counts.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the message is truncated or a TLV has the wrong length.
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let (counter, mut rest) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        let mut message = Self {
            counter: u32::from_le_bytes(*counter),
            ..Self::default()
        };
        let mut tells = false;
        while !rest.is_empty() {
            // RouterOS: requests may have an extra byte after the empty TLV.
            if !tells && rest == [0] {
                break;
            }
            let ([a, b, c, d], behind) = rest.split_first_chunk().ok_or(Malformed::Truncated)?;
            let (kind, length) = (
                u16::from_be_bytes([*a, *b]),
                usize::from(u16::from_be_bytes([*c, *d])),
            );
            let value = behind.get(..length).ok_or(Malformed::Truncated)?;
            rest = behind.get(length..).unwrap_or_default();
            tells |= kind != REFRESH;
            message.take(kind, value)?;
        }
        Ok((tells || message.counter != 0).then_some(message))
    }

    fn take(&mut self, kind: u16, value: &'a [u8]) -> Result<(), Malformed> {
        match kind {
            MAC => self.mac = Some(Mac(fixed(value)?)),
            IDENTITY => self.identity = value,
            VERSION => self.version = value,
            PLATFORM => self.platform = value,
            UPTIME => self.uptime = Some(u32::from_le_bytes(fixed(value)?)),
            SOFTWARE_ID => self.software_id = value,
            BOARD => self.board = value,
            UNPACK => self.unpack = Some(u8::from_be_bytes(fixed(value)?)),
            IPV6 => self.ipv6 = Some(fixed::<16>(value)?.into()),
            INTERFACE => self.interface = value,
            IPV4 => self.ipv4 = Some(fixed::<4>(value)?.into()),
            _ => {}
        }
        Ok(())
    }

    /// Appends the payload of a datagram, with its TLVs in RouterOS's order. Text is truncated to 65,535 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.counter.to_le_bytes());
        let mut put = |kind: u16, value: &[u8]| {
            let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
            out.extend_from_slice(&kind.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
            out.extend(value.iter().take(usize::from(length)));
        };
        if let Some(mac) = self.mac {
            put(MAC, &mac.0);
        }
        for (kind, text) in [
            (IDENTITY, self.identity),
            (VERSION, self.version),
            (PLATFORM, self.platform),
        ] {
            if !text.is_empty() {
                put(kind, text);
            }
        }
        if let Some(uptime) = self.uptime {
            put(UPTIME, &uptime.to_le_bytes());
        }
        for (kind, text) in [(SOFTWARE_ID, self.software_id), (BOARD, self.board)] {
            if !text.is_empty() {
                put(kind, text);
            }
        }
        if let Some(unpack) = self.unpack {
            put(UNPACK, &[unpack]);
        }
        if let Some(ipv6) = self.ipv6 {
            put(IPV6, &ipv6.octets());
        }
        if !self.interface.is_empty() {
            put(INTERFACE, self.interface);
        }
        if let Some(ipv4) = self.ipv4 {
            put(IPV4, &ipv4.octets());
        }
    }
}

fn fixed<const N: usize>(value: &[u8]) -> Result<[u8; N], Malformed> {
    value.try_into().map_err(|_| Malformed::Length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from a router with RouterOS 7.18.2.
    fn captured() -> Vec<u8> {
        let mut bytes = alloc::vec![8, 0, 0, 0, 0, 1, 0, 6, 0xfe, 7, 0x56, 0xb2, 0xa6, 1];
        let mut put = |kind: u8, value: &[u8]| {
            bytes.extend([0, kind, 0, value.len() as u8]);
            bytes.extend(value);
        };
        put(5, b"MikroTik");
        put(7, b"7.18.2 (stable) 2025-03-11 11:59:04");
        put(8, b"MikroTik");
        put(10, &[0x6b, 1, 0, 0]);
        put(11, b"HyItztQuxqG");
        put(12, b"CHR");
        put(14, &[1]);
        let link_local = [
            0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xfc, 7, 0x56, 0xff, 0xfe, 0xb2, 0xa6, 1,
        ];
        put(15, &link_local);
        put(16, b"eoip-tunnel1");
        put(17, &[10, 255, 0, 2]);
        bytes
    }

    #[test]
    fn captured_routeros_messages_round_trip_byte_by_byte() {
        let bytes = captured();
        assert_eq!(bytes.len(), 156);

        let message = Repr::parse(&bytes).expect("well formed").expect("it tells");
        let mut written = Vec::new();
        message.emit(&mut written);

        assert_eq!(written, bytes);
        assert_eq!(message.counter, 8);
        assert_eq!(message.uptime, Some(0x16b));
        assert_eq!(message.identity, b"MikroTik");
        assert_eq!(message.ipv4, Some(Ipv4Addr::new(10, 255, 0, 2)));
        assert_eq!(message.interface, b"eoip-tunnel1");
    }

    #[test]
    fn requests_and_announcements_are_distinguished() {
        for request in [
            &[0, 0, 0, 0][..],
            &[0, 0, 0, 0, 0, 6, 0, 0],
            &[0, 0, 0, 0, 0, 6, 0, 0, 0],
        ] {
            assert_eq!(Repr::parse(request), Ok(None), "{request:?}");
        }
        let first = [0, 0, 0, 0, 0, 5, 0, 1, b'a'];
        let first = Repr::parse(&first).expect("well formed");
        assert_eq!(first.map(|first| first.identity), Some(&b"a"[..]));
        assert!(Repr::parse(&[1, 0, 0, 0]).expect("well formed").is_some());
    }

    #[test]
    fn each_fault_has_a_name() {
        let bytes = captured();
        for cut in 0..bytes.len() {
            // A message may end between TLVs.
            if let Err(flaw) = Repr::parse(&bytes[..cut]) {
                assert_eq!(flaw, Malformed::Truncated, "{cut}");
            }
        }
        assert_eq!(
            Repr::parse(&[1, 0, 0, 0, 0, 17, 0, 3, 1, 2, 3]),
            Err(Malformed::Length)
        );
    }
}
