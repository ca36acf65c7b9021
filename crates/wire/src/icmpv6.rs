//! ICMPv6 (RFC 4443). Neighbour discovery, which it carries, is in [`crate::ndp`].

use core::net::Ipv6Addr;

use alloc::vec::Vec;

use crate::{Protocol, bytes_at, checksum, put_at, u16_at};

/// Bytes of the header that all messages have: type, code, checksum and four bytes of the type's.
pub const HEADER_LEN: usize = 8;

/// The longest error message's packet in bytes, IPv6 header included (RFC 4443, 2.4 (c)).
pub const ERROR_LEN_MAX: usize = 1280;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than 8 bytes; no message is (RFC 4443, 2.1).
    Truncated,
    /// The checksum is wrong.
    Checksum,
}

/// A type of message (IANA, "ICMPv6 Parameters").
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

    /// Whether such a message reports an error: none is ever sent about it (RFC 4443, 2.4 (e)).
    #[inline]
    pub const fn is_error(self) -> bool {
        self.0 < 128
    }

    /// Whether it belongs to neighbour discovery (RFC 4861).
    #[inline]
    pub const fn is_ndp(self) -> bool {
        matches!(self.0, 133..=137)
    }
}

/// Codes of destination unreachable (RFC 4443, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unreachable(pub u8);

impl Unreachable {
    /// No route.
    pub const NO_ROUTE: Self = Self(0);
    /// Communication is administratively prohibited.
    pub const PROHIBITED: Self = Self(1);
    /// Beyond the scope of the source address.
    pub const BEYOND_SCOPE: Self = Self(2);
    /// The address does not answer.
    pub const ADDRESS: Self = Self(3);
    /// Nobody listens on the port.
    pub const PORT: Self = Self(4);
    /// The source address failed the policy.
    pub const POLICY: Self = Self(5);
    /// The route rejects the destination.
    pub const REJECT: Self = Self(6);
}

/// A checked view of a message.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Views the upper part of an IPv6 packet as a message.
    ///
    /// # Errors
    /// `Truncated`; the checksum is not looked at.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Views the upper part of an IPv6 packet as a message and checks its checksum.
    ///
    /// # Errors
    /// `Truncated` or `Checksum`.
    pub fn new_verified(bytes: &'a [u8], src: Ipv6Addr, dst: Ipv6Addr) -> Result<Self, Malformed> {
        let packet = Self::new_checked(bytes)?;
        match checksum::combine(pseudo(src, dst, bytes.len()), checksum::sum(bytes)) {
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

    /// What follows the header: an echo's data, the packet that an error quotes, the rest of a
    /// neighbour discovery message.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The message as a value; neighbour discovery comes as `Other`.
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
    /// A packet could not be delivered.
    Unreachable {
        /// Why.
        code: Unreachable,
        /// As much of the packet as fits.
        quoted: &'a [u8],
    },
    /// A packet does not fit the next link.
    PacketTooBig {
        /// The next link's MTU in bytes.
        mtu: u32,
        /// As much of the packet as fits.
        quoted: &'a [u8],
    },
    /// A packet was on its way for too long.
    TimeExceeded {
        /// 0: the hop limit ran out; 1: a fragment did not come.
        code: u8,
        /// As much of the packet as fits.
        quoted: &'a [u8],
    },
    /// A header says something impossible.
    ParameterProblem {
        /// 0: wrong field; 1: unknown next header; 2: unknown option.
        code: u8,
        /// The byte of the packet.
        pointer: u32,
        /// As much of the packet as fits.
        quoted: &'a [u8],
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
    /// Answers an echo request.
    EchoReply {
        /// Identifier, as asked.
        id: u16,
        /// Sequence number, as asked.
        seq: u16,
        /// Data, as asked.
        data: &'a [u8],
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

/// The pseudo header's sum for a message of `len` bytes.
fn pseudo(src: Ipv6Addr, dst: Ipv6Addr, len: usize) -> u16 {
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    checksum::pseudo_v6(src, dst, Protocol::ICMPV6, len)
}
