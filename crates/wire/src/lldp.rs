//! LLDP messages (IEEE 802.1AB-2016, 8 and annexes D; IEEE 802.3-2018, 79), after their EtherType.
//!
//! ```text
//! TLVs: type (7) | length (9) | value; chassis, port and hold time first, an empty one last
//! ```
//! Text is raw bytes.

use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::Mac;

/// Destination address: nearest bridge.
pub const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 0x0e]);
/// Maximum length of a TLV value.
const MOST: usize = 511;

const END: u8 = 0;
const CHASSIS: u8 = 1;
const PORT: u8 = 2;
const TTL: u8 = 3;
const PORT_DESCRIPTION: u8 = 4;
const SYSTEM_NAME: u8 = 5;
const SYSTEM_DESCRIPTION: u8 = 6;
const CAPABILITIES: u8 = 7;
const MANAGEMENT: u8 = 8;
const ORGANISATION: u8 = 127;

const IEEE_802_1: [u8; 3] = [0, 0x80, 0xc2];
const IEEE_802_3: [u8; 3] = [0, 0x12, 0x0f];
/// Organizationally unique identifier of LLDP-MED (ANSI/TIA-1057).
const MED: [u8; 3] = [0, 0x12, 0xbb];

/// Capability bit: bridge (8.5.8).
pub const BRIDGE: u16 = 1 << 2;
/// Capability bit: router.
pub const ROUTER: u16 = 1 << 4;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A TLV exceeds the message.
    Truncated,
    /// Chassis id, port id and TTL are not the first TLVs, in this order.
    Order,
    /// A value is shorter than its type requires.
    Length,
}

/// Chassis or port id: subtype (8.5.2.2, 8.5.3.2) and value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named<'a> {
    /// Subtype.
    pub subtype: u8,
    /// Value.
    pub id: &'a [u8],
}

impl Named<'_> {
    /// Chassis id subtype: MAC address.
    pub const CHASSIS_MAC: u8 = 4;
    /// Port id subtype: interface name.
    pub const PORT_INTERFACE: u8 = 5;
}

/// MAC/PHY configuration of a port (IEEE 802.3, 79.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// Auto-negotiation: bit 0 supported, bit 1 enabled.
    pub negotiation: u8,
    /// Advertised capabilities.
    pub offers: u16,
    /// Operational MAU type (`dot3MauType`).
    pub mau: u16,
}

/// LLDP-MED network policy (TIA-1057, 10.2.3): VLAN, priority and DSCP of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Application type; 1 is voice.
    pub application: u8,
    /// VLAN; `None` is untagged.
    pub vlan: Option<u16>,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// DSCP, 0 to 63.
    pub dscp: u8,
}

/// A message as a value. Missing fields are empty or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Chassis id.
    pub chassis: Named<'a>,
    /// Port id.
    pub port: Named<'a>,
    /// TTL in seconds; 0 withdraws earlier messages.
    pub ttl: u16,
    /// Port description.
    pub port_description: &'a [u8],
    /// System name.
    pub system_name: &'a [u8],
    /// System description.
    pub system_description: &'a [u8],
    /// Supported and enabled capabilities.
    pub capabilities: Option<(u16, u16)>,
    /// First IPv4 management address.
    pub ipv4: Option<Ipv4Addr>,
    /// First IPv6 management address.
    pub ipv6: Option<Ipv6Addr>,
    /// Interface number of the management addresses (`ifIndex`); that of the last one when parsed.
    pub interface: u32,
    /// MAC/PHY configuration.
    pub phy: Option<Phy>,
    /// Maximum frame size in bytes.
    pub max_frame: Option<u16>,
    /// VLAN of untagged frames.
    pub pvid: Option<u16>,
    /// LLDP-MED capabilities and device class; class 4 is a network connectivity device.
    pub med: Option<(u16, u8)>,
    /// LLDP-MED network policy.
    pub policy: Option<Policy>,
}

impl<'a> Repr<'a> {
    /// Parses the bytes after the EtherType; bytes after the end TLV are padding. Skips unknown TLVs.
    ///
    /// # Errors
    /// Returns [`Malformed`] if TLVs are truncated, too short or in the wrong order.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut message = Self::default();
        let mut rest = bytes;
        for place in 0.. {
            // RouterOS and others accept a message without end TLV.
            let Some((head, behind)) = rest.split_first_chunk() else {
                break;
            };
            let head = u16::from_be_bytes(*head);
            let (kind, length) = ((head >> 9) as u8, usize::from(head & 0x1ff));
            let value = behind.get(..length).ok_or(Malformed::Truncated)?;
            rest = behind.get(length..).unwrap_or_default();
            if (place < 3 || (CHASSIS..=TTL).contains(&kind)) && usize::from(kind) != place + 1 {
                return Err(Malformed::Order);
            }
            if kind == END {
                return Ok(message);
            }
            message.take(kind, value)?;
        }
        // Chassis id, port id and TTL are mandatory.
        match message.chassis.id.is_empty() || message.port.id.is_empty() {
            true => Err(Malformed::Truncated),
            false => Ok(message),
        }
    }

    fn take(&mut self, kind: u8, value: &'a [u8]) -> Result<(), Malformed> {
        match kind {
            CHASSIS | PORT => {
                let (subtype, id) = value.split_first().ok_or(Malformed::Length)?;
                let named = Named {
                    subtype: *subtype,
                    id,
                };
                if id.is_empty() {
                    return Err(Malformed::Length);
                }
                match kind {
                    CHASSIS => self.chassis = named,
                    _ => self.port = named,
                }
            }
            TTL => self.ttl = u16::from_be_bytes(head(value)?),
            PORT_DESCRIPTION => self.port_description = value,
            SYSTEM_NAME => self.system_name = value,
            SYSTEM_DESCRIPTION => self.system_description = value,
            CAPABILITIES => {
                let [a, b, c, d] = head(value)?;
                self.capabilities = Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])));
            }
            MANAGEMENT => self.take_address(value)?,
            ORGANISATION => self.take_own(value)?,
            _ => {}
        }
        Ok(())
    }

    /// Parses a management address, with its interface number (8.5.9).
    fn take_address(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let (length, rest) = value.split_first().ok_or(Malformed::Length)?;
        let address = rest.get(..usize::from(*length)).ok_or(Malformed::Length)?;
        match address {
            [1, octets @ ..] => {
                let octets = <[u8; 4]>::try_from(octets).map_err(|_| Malformed::Length)?;
                self.ipv4 = self.ipv4.or(Some(octets.into()));
            }
            [2, octets @ ..] => {
                let octets = <[u8; 16]>::try_from(octets).map_err(|_| Malformed::Length)?;
                self.ipv6 = self.ipv6.or(Some(octets.into()));
            }
            _ => {}
        }
        let number = rest.get(usize::from(*length) + 1..).unwrap_or_default();
        self.interface = u32::from_be_bytes(head(number)?);
        Ok(())
    }

    /// Parses an organizationally specific TLV.
    fn take_own(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let ([a, b, c, subtype], rest) = value.split_first_chunk().ok_or(Malformed::Length)?;
        match ([*a, *b, *c], subtype) {
            (IEEE_802_1, 1) => self.pvid = Some(u16::from_be_bytes(head(rest)?)),
            (IEEE_802_3, 1) => {
                let [negotiation, a, b, c, d] = head(rest)?;
                self.phy = Some(Phy {
                    negotiation,
                    offers: u16::from_be_bytes([a, b]),
                    mau: u16::from_be_bytes([c, d]),
                });
            }
            (IEEE_802_3, 4) => self.max_frame = Some(u16::from_be_bytes(head(rest)?)),
            (MED, 1) => {
                let [a, b, class] = head(rest)?;
                self.med = Some((u16::from_be_bytes([a, b]), class));
            }
            (MED, 2) => {
                let [application, a, b, c] = head(rest)?;
                let word = u32::from_be_bytes([0, a, b, c]);
                self.policy = Some(Policy {
                    application,
                    vlan: (word >> 22 & 1 == 1).then_some((word >> 9 & 0xfff) as u16),
                    priority: (word >> 6 & 7) as u8,
                    dscp: (word & 0x3f) as u8,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// Appends the message, with its TLVs in RouterOS's order. Text is truncated to 511 bytes, ids to 255.
    pub fn emit(&self, out: &mut Vec<u8>) {
        for (kind, named) in [(CHASSIS, self.chassis), (PORT, self.port)] {
            let id = named.id.get(..255).unwrap_or(named.id);
            put(out, kind, &[&[named.subtype], id]);
        }
        put(out, TTL, &[&self.ttl.to_be_bytes()]);
        // TTL 0 withdraws earlier messages and carries no other TLVs (9.1.2.2).
        if self.ttl > 0 {
            self.emit_system(out);
            self.emit_own(out);
        }
        put(out, END, &[]);
    }

    fn emit_system(&self, out: &mut Vec<u8>) {
        for (kind, text) in [
            (SYSTEM_NAME, self.system_name),
            (SYSTEM_DESCRIPTION, self.system_description),
        ] {
            if !text.is_empty() {
                put(out, kind, &[text]);
            }
        }
        let mut address = |family: u8, octets: &[u8]| {
            let length = octets.len() as u8 + 1;
            let interface = self.interface.to_be_bytes();
            put(
                out,
                MANAGEMENT,
                &[&[length, family], octets, &[2], &interface, &[0]],
            );
        };
        if let Some(ipv4) = self.ipv4 {
            address(1, &ipv4.octets());
        }
        if let Some(ipv6) = self.ipv6 {
            address(2, &ipv6.octets());
        }
        if let Some((can, does)) = self.capabilities {
            put(
                out,
                CAPABILITIES,
                &[&can.to_be_bytes(), &does.to_be_bytes()],
            );
        }
        if !self.port_description.is_empty() {
            put(out, PORT_DESCRIPTION, &[self.port_description]);
        }
    }

    fn emit_own(&self, out: &mut Vec<u8>) {
        let mut own = |organisation: [u8; 3], subtype: u8, value: &[u8]| {
            put(out, ORGANISATION, &[&organisation, &[subtype], value]);
        };
        if let Some(phy) = self.phy {
            let ([a, b], [c, d]) = (phy.offers.to_be_bytes(), phy.mau.to_be_bytes());
            own(IEEE_802_3, 1, &[phy.negotiation, a, b, c, d]);
        }
        if let Some(max_frame) = self.max_frame {
            own(IEEE_802_3, 4, &max_frame.to_be_bytes());
        }
        if let Some(pvid) = self.pvid {
            own(IEEE_802_1, 1, &pvid.to_be_bytes());
        }
        if let Some((can, class)) = self.med {
            let [a, b] = can.to_be_bytes();
            own(MED, 1, &[a, b, class]);
        }
        if let Some(policy) = self.policy {
            let tagged = u32::from(policy.vlan.is_some()) << 22;
            let vlan = u32::from(policy.vlan.unwrap_or(0) & 0xfff) << 9;
            let marks = u32::from(policy.priority & 7) << 6 | u32::from(policy.dscp & 0x3f);
            let [_, a, b, c] = (tagged | vlan | marks).to_be_bytes();
            own(MED, 2, &[policy.application, a, b, c]);
        }
    }
}

fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let length = parts.iter().map(|part| part.len()).sum::<usize>().min(MOST);
    out.extend_from_slice(&(u16::from(kind) << 9 | length as u16).to_be_bytes());
    out.extend({ parts.iter() }.copied().flatten().take(length));
}

/// Leading bytes of a value.
fn head<const N: usize>(value: &[u8]) -> Result<[u8; N], Malformed> {
    value.first_chunk().copied().ok_or(Malformed::Length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Repr<'static> {
        Repr {
            chassis: Named {
                subtype: Named::CHASSIS_MAC,
                id: &[2, 0, 0, 0, 0, 1],
            },
            port: Named {
                subtype: Named::PORT_INTERFACE,
                id: b"ether1",
            },
            ttl: 121,
            port_description: b"bridge/ether1",
            system_name: b"MikroTik",
            system_description: b"MikroTik RouterOS 7.18.2",
            capabilities: Some((BRIDGE | ROUTER, ROUTER)),
            ipv4: Some(Ipv4Addr::new(10, 255, 0, 2)),
            ipv6: Some(Ipv6Addr::LOCALHOST),
            interface: 7,
            phy: Some(Phy {
                negotiation: 3,
                offers: 0x6c01,
                mau: 30,
            }),
            max_frame: Some(1518),
            pvid: Some(5),
            med: Some((3, 4)),
            policy: Some(Policy {
                application: 1,
                vlan: Some(4_094),
                priority: 5,
                dscp: 46,
            }),
        }
    }

    #[test]
    fn written_messages_parse_to_the_same_values() {
        for message in [
            whole(),
            Repr {
                ipv6: None,
                capabilities: None,
                policy: None,
                ..whole()
            },
        ] {
            let mut bytes = Vec::new();
            message.emit(&mut bytes);
            assert_eq!(Repr::parse(&bytes), Ok(message));
        }
    }

    #[test]
    fn tlvs_are_encoded_as_in_the_standards() {
        let mut bytes = Vec::new();
        whole().emit(&mut bytes);
        let has = |tlv: &[u8]| bytes.windows(tlv.len()).any(|window| window == tlv);

        assert_eq!(bytes[..9], [2, 7, 4, 2, 0, 0, 0, 0, 1]);
        assert!(has(&[6, 2, 0, 121]));
        assert!(has(&[0x10, 12, 5, 1, 10, 255, 0, 2, 2, 0, 0, 0, 7, 0]));
        assert!(has(&[0x0e, 4, 0, 0x14, 0, 0x10]));
        assert!(has(&[0xfe, 9, 0, 0x12, 0x0f, 1, 3, 0x6c, 1, 0, 30]));
        assert!(has(&[0xfe, 7, 0, 0x12, 0xbb, 1, 0, 3, 4]));
        // Tagged, VLAN 4094, priority 5, DSCP 46.
        assert!(has(&[0xfe, 8, 0, 0x12, 0xbb, 2, 1, 0x5f, 0xfd, 0x6e]));
        assert!(bytes.ends_with(&[0, 0]));
    }

    #[test]
    fn a_shutdown_announcement_has_only_mandatory_tlvs() {
        let mut bytes = Vec::new();
        Repr { ttl: 0, ..whole() }.emit(&mut bytes);

        let read = Repr::parse(&bytes).expect("well formed");
        assert_eq!((read.ttl, read.system_name), (0, &b""[..]));
    }

    #[test]
    fn each_fault_has_a_name() {
        let mut bytes = Vec::new();
        whole().emit(&mut bytes);

        assert_eq!(Repr::parse(&bytes[..5]), Err(Malformed::Truncated));
        assert_eq!(Repr::parse(&bytes[9..]), Err(Malformed::Order));
        assert_eq!(Repr::parse(&[]), Err(Malformed::Truncated));
        assert_eq!(Repr::parse(&[0, 0]), Err(Malformed::Order));
        assert_eq!(Repr::parse(&[2, 1, 4]), Err(Malformed::Length));
        // Bytes after the end TLV are padding.
        bytes.extend([0xff; 20]);
        assert_eq!(Repr::parse(&bytes), Ok(whole()));
    }
}
