//! ICMPv4 messages (RFC 792; messages of routers: RFC 1812, 4.3; path MTU: RFC 1191).

use core::net::Ipv4Addr;

use alloc::vec::Vec;

use crate::{bytes_at, checksum, put_at, u16_at};

/// Length of the common header.
pub const HEADER_LEN: usize = 8;

/// Maximum length of a packet with an error message, including the IPv4 header (RFC 1812, 4.3.2.3).
pub const ERROR_LEN_MAX: usize = 576;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 8 bytes.
    Truncated,
    /// The checksum is wrong.
    Checksum,
}

/// Message type (IANA, "ICMP Type Numbers").
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

    /// True for error messages, which never cause another error (RFC 1812, 4.3.2.7).
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

/// Code of destination unreachable (RFC 792; RFC 1812, 5.2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unreachable(pub u8);

impl Unreachable {
    /// Network unreachable.
    pub const NETWORK: Self = Self(0);
    /// Host unreachable.
    pub const HOST: Self = Self(1);
    /// Protocol unreachable.
    pub const PROTOCOL: Self = Self(2);
    /// Port unreachable.
    pub const PORT: Self = Self(3);
    /// Fragmentation needed and DF set.
    pub const FRAGMENTATION_NEEDED: Self = Self(4);
    /// Source route failed.
    pub const SOURCE_ROUTE_FAILED: Self = Self(5);
    /// Communication with the network is administratively prohibited.
    pub const NETWORK_PROHIBITED: Self = Self(9);
    /// Communication with the host is administratively prohibited.
    pub const HOST_PROHIBITED: Self = Self(10);
    /// Communication is administratively prohibited.
    pub const PROHIBITED: Self = Self(13);
}

/// Checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Views the payload of an IPv4 packet as a message.
    ///
    /// # Errors
    /// Returns `Truncated`; the checksum is not verified.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Views the payload of an IPv4 packet as a message and verifies its checksum.
    ///
    /// # Errors
    /// Returns `Truncated` or `Checksum`.
    pub fn new_verified(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let packet = Self::new_checked(bytes)?;
        match checksum::sum(bytes) {
            checksum::INTACT => Ok(packet),
            _ => Err(Malformed::Checksum),
        }
    }

    /// Type.
    #[inline]
    pub fn kind(&self) -> Type {
        Type(self.header[0])
    }

    /// Code.
    #[inline]
    pub fn code(&self) -> u8 {
        self.header[1]
    }

    /// Checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.header, 2)
    }

    /// Identifier of an echo message.
    #[inline]
    pub fn echo_id(&self) -> u16 {
        u16_at(self.header, 4)
    }

    /// Sequence number of an echo message.
    #[inline]
    pub fn echo_seq(&self) -> u16 {
        u16_at(self.header, 6)
    }

    /// The four type-specific bytes of the header.
    #[inline]
    pub fn rest(&self) -> [u8; 4] {
        bytes_at(self.header, 4)
    }

    /// Bytes after the header: data of an echo message, or quoted packet of an error.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Converts the message to a value.
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
    /// Echo reply.
    EchoReply {
        /// Identifier of the request.
        id: u16,
        /// Sequence number of the request.
        seq: u16,
        /// Data of the request.
        data: &'a [u8],
    },
    /// Echo request.
    EchoRequest {
        /// Identifier.
        id: u16,
        /// Sequence number.
        seq: u16,
        /// Data.
        data: &'a [u8],
    },
    /// Destination unreachable.
    Unreachable {
        /// Code.
        code: Unreachable,
        /// MTU of the next link if fragmentation was needed (RFC 1191), else 0.
        mtu: u16,
        /// Beginning of the packet.
        quoted: &'a [u8],
    },
    /// Redirect.
    Redirect {
        /// 0 for the network, 1 for the host.
        code: u8,
        /// Better gateway.
        gateway: Ipv4Addr,
        /// Beginning of the packet.
        quoted: &'a [u8],
    },
    /// Time exceeded.
    TimeExceeded {
        /// 0: TTL expired; 1: reassembly timed out.
        code: u8,
        /// Beginning of the packet.
        quoted: &'a [u8],
    },
    /// Parameter problem.
    ParameterProblem {
        /// 0: at the pointer; 1: a required option is missing.
        code: u8,
        /// Offset in the header.
        pointer: u8,
        /// Beginning of the packet.
        quoted: &'a [u8],
    },
    /// Other message.
    Other {
        /// Type.
        kind: Type,
        /// Code.
        code: u8,
        /// The four bytes after the checksum.
        rest: [u8; 4],
        /// Bytes after the header.
        data: &'a [u8],
    },
}

impl<'a> Message<'a> {
    /// Appends the message, including the checksum.
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

    /// Length of the message in bytes.
    pub fn len(&self) -> usize {
        HEADER_LEN + self.parts().3.len()
    }

    /// Always false: every message has a header.
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
