//! The slow protocols of link aggregation: LACP and the marker protocol (IEEE 802.1AX-2014, 6.4.2.3 and 6.5.3).
//!
//! What is read and written here begins behind the EtherType of a frame to [`GROUP`], with the subtype.

use crate::{Mac, bytes_at, put_at, u16_at, u32_at};

/// Whom the slow protocols are for (annex 57A of IEEE 802.3).
pub const GROUP: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 2]);
/// Bytes of a LACPDU and of a marker PDU.
pub const LEN: usize = 110;

/// The subtypes of the slow protocols that are read here.
const LACP: u8 = 1;
const MARKER: u8 = 2;
/// The types and lengths of what LACPDUs carry.
const ACTOR: [u8; 2] = [1, 20];
const PARTNER: [u8; 2] = [2, 20];
const COLLECTOR: [u8; 2] = [3, 16];
const MARKER_INFORMATION: [u8; 2] = [1, 16];
const MARKER_RESPONSE: [u8; 2] = [2, 16];
/// Where each of them begins.
const ACTOR_AT: usize = 2;
const PARTNER_AT: usize = 22;
const COLLECTOR_AT: usize = 42;

/// The state of a port, as it tells its partner (6.4.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State(pub u8);

impl State {
    /// It speaks without being spoken to.
    pub const ACTIVITY: Self = Self(1);
    /// It wants to hear something each second.
    pub const SHORT_TIMEOUT: Self = Self(1 << 1);
    /// It may be one of several.
    pub const AGGREGATION: Self = Self(1 << 2);
    /// It is in the right aggregator.
    pub const SYNCHRONIZATION: Self = Self(1 << 3);
    /// It takes frames.
    pub const COLLECTING: Self = Self(1 << 4);
    /// It sends frames.
    pub const DISTRIBUTING: Self = Self(1 << 5);
    /// What it knows of its partner was configured and not heard.
    pub const DEFAULTED: Self = Self(1 << 6);
    /// What it knows of its partner is too old.
    pub const EXPIRED: Self = Self(1 << 7);

    /// Whether all of these are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// With these set, or not set.
    #[must_use]
    pub const fn with(self, flags: Self, set: bool) -> Self {
        Self(if set {
            self.0 | flags.0
        } else {
            self.0 & !flags.0
        })
    }

    /// Only these of them.
    #[must_use]
    pub const fn only(self, flags: Self) -> Self {
        Self(self.0 & flags.0)
    }

    /// All of both.
    #[must_use]
    pub const fn and(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }
}

/// What a port tells of itself, or of its partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Information {
    /// The priority of its system: the lower is the better.
    pub system_priority: u16,
    /// Its system.
    pub system: Mac,
    /// Ports of a system with the same key may be one.
    pub key: u16,
    /// Its priority.
    pub port_priority: u16,
    /// Its number.
    pub port: u16,
    /// Its state.
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

/// What is wrong with a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its kind is.
    Truncated,
    /// Of another slow protocol.
    Subtype,
    /// What it carries has another type or length than belongs there (6.4.12).
    Fields,
}

/// A PDU of the slow protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pdu {
    /// What a port and its partner are.
    Lacp {
        /// The sender.
        actor: Information,
        /// Whom the sender takes the receiver for.
        partner: Information,
        /// How long the sender may keep a frame, in tens of microseconds.
        collector_delay: u16,
    },
    /// A frame that says that no earlier one is on its way any more.
    Marker {
        /// It is the answer to one.
        response: bool,
        /// Who wants to know.
        marker: Marker,
    },
}

/// Who sent a marker, and which of its markers it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// The port that sent it.
    pub port: u16,
    /// The system that sent it.
    pub system: Mac,
    /// Its number there.
    pub transaction: u32,
}

impl Pdu {
    /// Reads a PDU; what follows it is padding.
    ///
    /// # Errors
    /// What is none. The version is not looked at: a later one begins as the first does (6.4.2.1).
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

    /// Its bytes, from the subtype on.
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
    fn a_pdu_is_read_as_it_was_written_and_none_is_read_short() {
        for pdu in [lacp(), marker(false), marker(true)] {
            let bytes = pdu.to_bytes();
            assert_eq!(Pdu::parse(&bytes), Ok(pdu));
            for len in 0..LEN {
                assert_eq!(Pdu::parse(&bytes[..len]), Err(Malformed::Truncated));
            }
        }
    }

    #[test]
    fn fields_stand_where_the_standard_has_them() {
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
    fn what_belongs_elsewhere_is_refused() {
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
