//! ICMPv6 messages (RFC 4443). Neighbour discovery messages are in [`crate::ndp`].

use core::net::Ipv6Addr;

use alloc::vec::Vec;

use crate::{Protocol, bytes_at, checksum, put_at, u16_at};

/// Length of the common header: type, code, checksum and four type-specific bytes.
pub const HEADER_LEN: usize = 8;

/// Maximum length of a packet with an error message, including the IPv6 header (RFC 4443, 2.4 (c)).
pub const ERROR_LEN_MAX: usize = 1280;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 8 bytes, the minimum (RFC 4443, 2.1).
    Truncated,
    /// The checksum is wrong.
    Checksum,
}

/// Message type (IANA, "ICMPv6 Parameters").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type(pub u8);

impl Type {
    /// Destination unreachable.
    pub const UNREACHABLE: Self = Self(1);
    /// Packet too big.
    pub const PACKET_TOO_BIG: Self = Self(2);
    /// Time exceeded.
    pub const TIME_EXCEEDED: Self = Self(3);
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: Self = Self(4);
    /// Echo request.
    pub const ECHO_REQUEST: Self = Self(128);
    /// Echo reply.
    pub const ECHO_REPLY: Self = Self(129);
    /// Multicast listener query (RFC 2710).
    pub const LISTENER_QUERY: Self = Self(130);
    /// Multicast listener report (RFC 2710).
    pub const LISTENER_REPORT: Self = Self(131);
    /// Multicast listener done (RFC 2710).
    pub const LISTENER_DONE: Self = Self(132);
    /// Router solicitation (RFC 4861).
    pub const ROUTER_SOLICITATION: Self = Self(133);
    /// Router advertisement (RFC 4861).
    pub const ROUTER_ADVERTISEMENT: Self = Self(134);
    /// Neighbour solicitation (RFC 4861).
    pub const NEIGHBOUR_SOLICITATION: Self = Self(135);
    /// Neighbour advertisement (RFC 4861).
    pub const NEIGHBOUR_ADVERTISEMENT: Self = Self(136);
    /// Redirect (RFC 4861).
    pub const REDIRECT: Self = Self(137);
    /// Multicast listener report, version 2 (RFC 3810).
    pub const LISTENER_REPORT_V2: Self = Self(143);

    /// True for error messages, which never cause another error (RFC 4443, 2.4 (e)).
    #[inline]
    pub const fn is_error(self) -> bool {
        self.0 < 128
    }

    /// True for neighbour discovery messages (RFC 4861).
    #[inline]
    pub const fn is_ndp(self) -> bool {
        matches!(self.0, 133..=137)
    }
}

/// Code of destination unreachable (RFC 4443, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unreachable(pub u8);

impl Unreachable {
    /// No route to the destination.
    pub const NO_ROUTE: Self = Self(0);
    /// Communication is administratively prohibited.
    pub const PROHIBITED: Self = Self(1);
    /// Beyond the scope of the source address.
    pub const BEYOND_SCOPE: Self = Self(2);
    /// Address unreachable.
    pub const ADDRESS: Self = Self(3);
    /// Port unreachable.
    pub const PORT: Self = Self(4);
    /// Source address failed policy.
    pub const POLICY: Self = Self(5);
    /// Reject route to the destination.
    pub const REJECT: Self = Self(6);
}

/// Checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Views the upper-layer part of an IPv6 packet as a message.
    ///
    /// # Errors
    /// Returns `Truncated`; the checksum is not verified.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Views the upper-layer part of an IPv6 packet as a message and verifies its checksum.
    ///
    /// # Errors
    /// Returns `Truncated` or `Checksum`.
    pub fn new_verified(bytes: &'a [u8], src: Ipv6Addr, dst: Ipv6Addr) -> Result<Self, Malformed> {
        let packet = Self::new_checked(bytes)?;
        match checksum::combine(pseudo(src, dst, bytes.len()), checksum::sum(bytes)) {
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

    /// Bytes after the header: data of an echo message, quoted packet of an error, or body of a neighbour discovery
    /// message.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Converts the message to a value; neighbour discovery messages become `Other`.
    pub fn message(&self) -> Message<'a> {
        let data = self.payload;
        let number = u32::from_be_bytes(self.rest());
        let (id, seq) = (self.echo_id(), self.echo_seq());
        match (self.kind(), self.code()) {
            (Type::UNREACHABLE, code) => Message::Unreachable {
                code: Unreachable(code),
                quoted: data,
            },
            (Type::PACKET_TOO_BIG, _) => Message::PacketTooBig {
                mtu: number,
                quoted: data,
            },
            (Type::TIME_EXCEEDED, code) => Message::TimeExceeded { code, quoted: data },
            (Type::PARAMETER_PROBLEM, code) => Message::ParameterProblem {
                code,
                pointer: number,
                quoted: data,
            },
            (Type::ECHO_REQUEST, 0) => Message::EchoRequest { id, seq, data },
            (Type::ECHO_REPLY, 0) => Message::EchoReply { id, seq, data },
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
    /// Destination unreachable.
    Unreachable {
        /// Code.
        code: Unreachable,
        /// Beginning of the packet, as much as fits.
        quoted: &'a [u8],
    },
    /// Packet too big.
    PacketTooBig {
        /// MTU of the next link in bytes.
        mtu: u32,
        /// Beginning of the packet, as much as fits.
        quoted: &'a [u8],
    },
    /// Time exceeded.
    TimeExceeded {
        /// 0: hop limit exceeded; 1: reassembly timed out.
        code: u8,
        /// Beginning of the packet, as much as fits.
        quoted: &'a [u8],
    },
    /// Parameter problem.
    ParameterProblem {
        /// 0: erroneous field; 1: unknown next header; 2: unknown option.
        code: u8,
        /// Offset in the packet.
        pointer: u32,
        /// Beginning of the packet, as much as fits.
        quoted: &'a [u8],
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
    /// Echo reply.
    EchoReply {
        /// Identifier of the request.
        id: u16,
        /// Sequence number of the request.
        seq: u16,
        /// Data of the request.
        data: &'a [u8],
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
    pub fn emit(&self, src: Ipv6Addr, dst: Ipv6Addr, out: &mut Vec<u8>) {
        let (kind, code, rest, data) = self.parts();
        let mut header = [0; HEADER_LEN];
        put_at(&mut header, 0, [kind.0, code]);
        put_at(&mut header, 4, rest);
        let sum = checksum::combine(checksum::sum(&header), checksum::sum(data));
        let sum = checksum::combine(pseudo(src, dst, self.len()), sum);
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
            Self::Unreachable { code, quoted } => (Type::UNREACHABLE, code.0, [0; 4], quoted),
            Self::PacketTooBig { mtu, quoted } => {
                (Type::PACKET_TOO_BIG, 0, mtu.to_be_bytes(), quoted)
            }
            Self::TimeExceeded { code, quoted } => (Type::TIME_EXCEEDED, code, [0; 4], quoted),
            Self::ParameterProblem {
                code,
                pointer,
                quoted,
            } => (Type::PARAMETER_PROBLEM, code, pointer.to_be_bytes(), quoted),
            Self::EchoRequest { id, seq, data } => (Type::ECHO_REQUEST, 0, words(id, seq), data),
            Self::EchoReply { id, seq, data } => (Type::ECHO_REPLY, 0, words(id, seq), data),
            Self::Other {
                kind,
                code,
                rest,
                data,
            } => (kind, code, rest, data),
        }
    }
}

/// Sum of the pseudo header for a message of `len` bytes.
fn pseudo(src: Ipv6Addr, dst: Ipv6Addr, len: usize) -> u16 {
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    checksum::pseudo_v6(src, dst, Protocol::ICMPV6, len)
}
