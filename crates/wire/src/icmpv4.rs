//! ICMP for IPv4 (RFC 792; what a router sends: RFC 1812, 4.3; path MTU: RFC 1191).

use core::net::Ipv4Addr;

use alloc::vec::Vec;

use crate::{bytes_at, checksum, put_at, u16_at};

/// Bytes of the header that all messages have.
pub const HEADER_LEN: usize = 8;

/// The longest error message's packet in bytes, IPv4 header included (RFC 1812, 4.3.2.3).
pub const ERROR_LEN_MAX: usize = 576;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 8 bytes.
    Truncated,
    /// The checksum is wrong.
    Checksum,
}

/// A type of message (IANA, "ICMP Type Numbers").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type(pub u8);

impl Type {
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(0);
    /// Destination unreachable.
    pub const UNREACHABLE: Self = Self(3);
    /// Source quench (deprecated by RFC 6633).
    pub const SOURCE_QUENCH: Self = Self(4);
    /// Redirect.
    pub const REDIRECT: Self = Self(5);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(8);
    /// Time exceeded.
    pub const TIME_EXCEEDED: Self = Self(11);
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: Self = Self(12);
    /// Timestamp request.
    pub const TIMESTAMP: Self = Self(13);
    /// Timestamp reply.
    pub const TIMESTAMP_REPLY: Self = Self(14);

    /// Whether such a message reports an error: none is ever sent about it (RFC 1812, 4.3.2.7).
    #[inline]
    pub const fn is_error(self) -> bool {
        matches!(
            self,
            Self::UNREACHABLE
                | Self::SOURCE_QUENCH
                | Self::REDIRECT
                | Self::TIME_EXCEEDED
                | Self::PARAMETER_PROBLEM
        )
    }
}

/// Codes of destination unreachable (RFC 792; RFC 1812, 5.2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unreachable(pub u8);

impl Unreachable {
    /// No route to the network.
    pub const NETWORK: Self = Self(0);
    /// The host does not answer.
    pub const HOST: Self = Self(1);
    /// The host does not speak the protocol.
    pub const PROTOCOL: Self = Self(2);
    /// Nobody listens on the port.
    pub const PORT: Self = Self(3);
    /// Too large, and may not be fragmented.
    pub const FRAGMENTATION_NEEDED: Self = Self(4);
    /// A source route failed.
    pub const SOURCE_ROUTE_FAILED: Self = Self(5);
    /// Communication with the network is administratively prohibited.
    pub const NETWORK_PROHIBITED: Self = Self(9);
    /// Communication with the host is administratively prohibited.
    pub const HOST_PROHIBITED: Self = Self(10);
    /// Communication is administratively prohibited.
    pub const PROHIBITED: Self = Self(13);
}

/// A checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Views the payload of an IPv4 packet as a message.
    ///
    /// # Errors
    /// `Truncated`; the checksum is not looked at.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Views the payload of an IPv4 packet as a message and checks its checksum.
    ///
    /// # Errors
    /// `Truncated` or `Checksum`.
    pub fn new_verified(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let packet = Self::new_checked(bytes)?;
        match checksum::sum(bytes) {
            checksum::INTACT => Ok(packet),
            _ => Err(Malformed::Checksum),
        }
    }

    /// The type.
    #[inline]
    pub fn kind(&self) -> Type {
        Type(self.header[0])
    }

    /// The code, which refines the type.
    #[inline]
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// The checksum as it stands there.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.header, 2)
    }

    /// The identifier of an echo.
    #[inline]
    pub fn echo_id(&self) -> u16 {
        u16_at(self.header, 4)
    }

    /// The sequence number of an echo.
    #[inline]
    pub fn echo_seq(&self) -> u16 {
        u16_at(self.header, 6)
    }

    /// The four bytes that each type uses in its own way.
    #[inline]
    pub fn rest(&self) -> [u8; 4] {
        bytes_at(self.header, 4)
    }

    /// What follows the header: an echo's data, or the packet that an error quotes.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The message as a value.
    pub fn message(&self) -> Message<'a> {
        let data = self.payload;
        let [_, _, c, d] = self.rest();
        let (id, seq) = (self.echo_id(), self.echo_seq());
        match (self.kind(), self.code()) {
            (Type::ECHO_REPLY, 0) => Message::EchoReply { id, seq, data },
            (Type::ECHO_REQUEST, 0) => Message::EchoRequest { id, seq, data },
            (Type::UNREACHABLE, code) => Message::Unreachable {
                code: Unreachable(code),
                mtu: u16::from_be_bytes([c, d]),
                quoted: data,
            },
            (Type::REDIRECT, code) => Message::Redirect {
                code,
                gateway: self.rest().into(),
                quoted: data,
            },
            (Type::TIME_EXCEEDED, code) => Message::TimeExceeded { code, quoted: data },
            (Type::PARAMETER_PROBLEM, code) => Message::ParameterProblem {
                code,
                pointer: self.rest()[0],
                quoted: data,
            },
            (kind, code) => Message::Other {
                kind,
                code,
                rest: self.rest(),
                data,
            },
        }
    }
}

/// A message as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Answers an echo request.
    EchoReply {
        /// Identifier, as asked.
        id: u16,
        /// Sequence number, as asked.
        seq: u16,
        /// Data, as asked.
        data: &'a [u8],
    },
    /// Wants an echo.
    EchoRequest {
        /// Identifier.
        id: u16,
        /// Sequence number.
        seq: u16,
        /// Data.
        data: &'a [u8],
    },
    /// A packet could not be delivered.
    Unreachable {
        /// Why.
        code: Unreachable,
        /// The next link's MTU where fragmentation was needed (RFC 1191), else 0.
        mtu: u16,
        /// The packet's beginning.
        quoted: &'a [u8],
    },
    /// There is a better gateway on the sender's own link.
    Redirect {
        /// 0 for the network, 1 for the host.
        code: u8,
        /// The better gateway.
        gateway: Ipv4Addr,
        /// The packet's beginning.
        quoted: &'a [u8],
    },
    /// A packet was on its way for too long.
    TimeExceeded {
        /// 0: the TTL ran out; 1: a fragment did not come.
        code: u8,
        /// The packet's beginning.
        quoted: &'a [u8],
    },
    /// A header says something impossible.
    ParameterProblem {
        /// 0: the pointer says where; 1: an option is missing.
        code: u8,
        /// The byte of the header.
        pointer: u8,
        /// The packet's beginning.
        quoted: &'a [u8],
    },
    /// Any other.
    Other {
        /// The type.
        kind: Type,
        /// The code.
        code: u8,
        /// The four bytes behind the checksum.
        rest: [u8; 4],
        /// What follows.
        data: &'a [u8],
    },
}

impl<'a> Message<'a> {
    /// Appends the message, checksum included.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let (kind, code, rest, data) = self.parts();
        let mut header = [0; HEADER_LEN];
        put_at(&mut header, 0, [kind.0, code]);
        put_at(&mut header, 4, rest);
        let sum = checksum::combine(checksum::sum(&header), checksum::sum(data));
        put_at(&mut header, 2, (!sum).to_be_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(data);
    }

    /// Bytes of the message.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.parts().3.len()
    }

    /// Never: every message has a header.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn parts(&self) -> (Type, u8, [u8; 4], &'a [u8]) {
        let words = |a: u16, b: u16| (u32::from(a) << 16 | u32::from(b)).to_be_bytes();
        match *self {
            Self::EchoReply { id, seq, data } => (Type::ECHO_REPLY, 0, words(id, seq), data),
            Self::EchoRequest { id, seq, data } => (Type::ECHO_REQUEST, 0, words(id, seq), data),
            Self::Unreachable { code, mtu, quoted } => {
                (Type::UNREACHABLE, code.0, words(0, mtu), quoted)
            }
            Self::Redirect {
                code,
                gateway,
                quoted,
            } => (Type::REDIRECT, code, gateway.octets(), quoted),
            Self::TimeExceeded { code, quoted } => (Type::TIME_EXCEEDED, code, [0; 4], quoted),
            Self::ParameterProblem {
                code,
                pointer,
                quoted,
            } => (Type::PARAMETER_PROBLEM, code, [pointer, 0, 0, 0], quoted),
            Self::Other {
                kind,
                code,
                rest,
                data,
            } => (kind, code, rest, data),
        }
    }
}
