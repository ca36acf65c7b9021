//! Slow protocols of link aggregation: LACP and the marker protocol (IEEE 802.1AX-2014, 6.4.2.3 and 6.5.3).
//!
//! PDUs begin after the EtherType of a frame to [`GROUP`], with the subtype.

use crate::{Mac, bytes_at, put_at, u16_at, u32_at};

/// Destination address of slow protocols (annex 57A of IEEE 802.3).
pub const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 2]);
/// Length of a LACPDU and of a marker PDU.
pub const LEN: usize = 110;

/// Subtypes of LACP and the marker protocol.
const LACP: u8 = 1;
const MARKER: u8 = 2;
/// TLV types and lengths of the PDUs.
const ACTOR: [u8; 2] = [1, 20];
const PARTNER: [u8; 2] = [2, 20];
const COLLECTOR: [u8; 2] = [3, 16];
const MARKER_INFORMATION: [u8; 2] = [1, 16];
const MARKER_RESPONSE: [u8; 2] = [2, 16];
/// Offsets of the TLVs in a LACPDU.
const ACTOR_AT: usize = 2;
const PARTNER_AT: usize = 22;
const COLLECTOR_AT: usize = 42;

/// State of a port in a LACPDU (6.4.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(pub u8);

impl State {
    /// LACP_Activity: active mode.
    pub const ACTIVITY: Self = Self(1);
    /// LACP_Timeout: short timeout.
    pub const SHORT_TIMEOUT: Self = Self(1 << 1);
    /// Aggregation: the link may be aggregated.
    pub const AGGREGATION: Self = Self(1 << 2);
    /// Synchronization: the port is in the right aggregator.
    pub const SYNCHRONIZATION: Self = Self(1 << 3);
    /// Collecting: accepts frames.
    pub const COLLECTING: Self = Self(1 << 4);
    /// Distributing: sends frames.
    pub const DISTRIBUTING: Self = Self(1 << 5);
    /// Defaulted: uses configured data of the partner.
    pub const DEFAULTED: Self = Self(1 << 6);
    /// Expired: the partner's data has expired.
    pub const EXPIRED: Self = Self(1 << 7);

    /// True if all of `flags` are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Sets or clears `flags`.
    #[must_use]
    pub const fn with(self, flags: Self, set: bool) -> Self {
        Self(if set {
            self.0 | flags.0
        } else {
            self.0 & !flags.0
        })
    }

    /// Keeps only `flags`.
    #[must_use]
    pub const fn only(self, flags: Self) -> Self {
        Self(self.0 & flags.0)
    }

    /// Sets the flags of both.
    #[must_use]
    pub const fn and(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }
}

/// Data of a port in a LACPDU: actor or partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Information {
    /// System priority; lower is better.
    pub system_priority: u16,
    /// System id.
    pub system: Mac,
    /// Key: ports of a system with the same key may be aggregated.
    pub key: u16,
    /// Port priority.
    pub port_priority: u16,
    /// Port number.
    pub port: u16,
    /// State.
    pub state: State,
}

impl Information {
    fn parse(bytes: &[u8; LEN], at: usize) -> Self {
        let word = |offset| u16::from_be_bytes(bytes_at(bytes, at + offset));
        let [state] = bytes_at(bytes, at + 16);
        Self {
            system_priority: word(2),
            system: Mac(bytes_at(bytes, at + 4)),
            key: word(10),
            port_priority: word(12),
            port: word(14),
            state: State(state),
        }
    }

    fn put(&self, bytes: &mut [u8; LEN], at: usize) {
        put_at(bytes, at + 2, self.system_priority.to_be_bytes());
        put_at(bytes, at + 4, self.system.0);
        put_at(bytes, at + 10, self.key.to_be_bytes());
        put_at(bytes, at + 12, self.port_priority.to_be_bytes());
        put_at(bytes, at + 14, self.port.to_be_bytes());
        put_at(bytes, at + 16, [self.state.0]);
    }
}

/// Reason why a PDU is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its type requires.
    Truncated,
    /// Another slow protocol.
    Subtype,
    /// A TLV has the wrong type or length (6.4.12).
    Fields,
}

/// A slow-protocols PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// LACPDU.
    Lacp {
        /// Data of the sender.
        actor: Information,
        /// The sender's view of the receiver.
        partner: Information,
        /// Collector delay in tens of microseconds.
        collector_delay: u16,
    },
    /// Marker: no earlier frame is in transit when it arrives.
    Marker {
        /// True for a marker response.
        response: bool,
        /// Sender of the marker.
        marker: Marker,
    },
}

/// Identification of a marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// Port of the sender.
    pub port: u16,
    /// System id of the sender.
    pub system: Mac,
    /// Transaction id.
    pub transaction: u32,
}

impl Pdu {
    /// Parses a PDU; following bytes are padding. Accepts any version, because later versions extend the first
    /// (6.4.2.1).
    ///
    /// # Errors
    /// Returns [`Malformed`] if the PDU is truncated, of another protocol, or has invalid TLVs.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let subtype = *bytes.first().ok_or(Malformed::Truncated)?;
        if !matches!(subtype, LACP | MARKER) {
            return Err(Malformed::Subtype);
        }
        let bytes: &[u8; LEN] = bytes.first_chunk().ok_or(Malformed::Truncated)?;
        if subtype == MARKER {
            return Self::parse_marker(bytes);
        }
        let heads = [ACTOR_AT, PARTNER_AT, COLLECTOR_AT].map(|at| bytes_at(bytes, at));
        if heads != [ACTOR, PARTNER, COLLECTOR] {
            return Err(Malformed::Fields);
        }
        Ok(Self::Lacp {
            actor: Information::parse(bytes, ACTOR_AT),
            partner: Information::parse(bytes, PARTNER_AT),
            collector_delay: u16_at(bytes, COLLECTOR_AT + 2),
        })
    }

    fn parse_marker(bytes: &[u8; LEN]) -> Result<Self, Malformed> {
        let response = match bytes_at(bytes, 2) {
            MARKER_INFORMATION => false,
            MARKER_RESPONSE => true,
            _ => return Err(Malformed::Fields),
        };
        let marker = Marker {
            port: u16_at(bytes, 4),
            system: Mac(bytes_at(bytes, 6)),
            transaction: u32_at(bytes, 12),
        };
        Ok(Self::Marker { response, marker })
    }

    /// Encodes the PDU, from the subtype on.
    pub fn to_bytes(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        match self {
            Self::Lacp {
                actor,
                partner,
                collector_delay,
            } => {
                put_at(&mut bytes, 0, [LACP, 1]);
                put_at(&mut bytes, ACTOR_AT, ACTOR);
                actor.put(&mut bytes, ACTOR_AT);
                put_at(&mut bytes, PARTNER_AT, PARTNER);
                partner.put(&mut bytes, PARTNER_AT);
                put_at(&mut bytes, COLLECTOR_AT, COLLECTOR);
                put_at(&mut bytes, COLLECTOR_AT + 2, collector_delay.to_be_bytes());
            }
            Self::Marker { response, marker } => {
                let head = match response {
                    false => MARKER_INFORMATION,
                    true => MARKER_RESPONSE,
                };
                put_at(&mut bytes, 0, [MARKER, 1]);
                put_at(&mut bytes, 2, head);
                put_at(&mut bytes, 4, marker.port.to_be_bytes());
                put_at(&mut bytes, 6, marker.system.0);
                put_at(&mut bytes, 12, marker.transaction.to_be_bytes());
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacp() -> Pdu {
        let actor = Information {
            system_priority: 0xffff,
            system: Mac([2, 0, 0, 0, 0, 1]),
            key: 15,
            port_priority: 255,
            port: 2,
            state: State::ACTIVITY.and(State::AGGREGATION),
        };
        let partner = Information {
            system: Mac([2, 0, 0, 0, 0, 2]),
            port: 7,
            ..actor
        };
        Pdu::Lacp {
            actor,
            partner,
            collector_delay: 0,
        }
    }

    fn marker(response: bool) -> Pdu {
        let marker = Marker {
            port: 3,
            system: Mac([2, 0, 0, 0, 0, 9]),
            transaction: 0x1234_5678,
        };
        Pdu::Marker { response, marker }
    }

    #[test]
    fn lacpdus_round_trip_and_truncated_ones_are_refused() {
        for pdu in [lacp(), marker(false), marker(true)] {
            let bytes = pdu.to_bytes();
            assert_eq!(Pdu::parse(&bytes), Ok(pdu));
            for len in 0..LEN {
                assert_eq!(Pdu::parse(&bytes[..len]), Err(Malformed::Truncated));
            }
        }
    }

    #[test]
    fn fields_have_the_standards_offsets() {
        let bytes = lacp().to_bytes();
        // Figure 6-7: subtype, version, actor, partner, collector, terminator.
        assert_eq!(bytes[..6], [1, 1, 1, 20, 0xff, 0xff]);
        assert_eq!(bytes[6..12], [2, 0, 0, 0, 0, 1]);
        assert_eq!(bytes[12..19], [0, 15, 0, 255, 0, 2, 5]);
        assert_eq!(bytes[22..24], [2, 20]);
        assert_eq!(bytes[42..44], [3, 16]);
        assert_eq!(bytes[58..60], [0, 0]);
    }

    #[test]
    fn pdus_with_other_subtypes_or_fields_are_refused() {
        let mut bytes = lacp().to_bytes();
        bytes[0] = 3;
        assert_eq!(Pdu::parse(&bytes), Err(Malformed::Subtype));
        for at in [2, 3, 22, 23, 42, 43] {
            let mut bytes = lacp().to_bytes();
            bytes[at] ^= 0x40;
            assert_eq!(Pdu::parse(&bytes), Err(Malformed::Fields), "byte {at}");
        }
    }
}
