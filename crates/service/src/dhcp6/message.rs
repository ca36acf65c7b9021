//! DHCPv6 messages with raw options (RFC 8415, 8 and 21).
//!
//! Options are parsed on access, so that one malformed option does not invalidate the others. `dhcproto` is not used
//! here, because its parser subtracts from unchecked lengths.

use core::net::Ipv6Addr;

use wire::{Protocol, ipv6, udp};

/// UDP port of clients.
pub const CLIENT_PORT: u16 = 546;
/// UDP port of servers and relay agents.
pub const SERVER_PORT: u16 = 547;
/// All-DHCP-relay-agents-and-servers multicast address.
pub const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// Maximum length of a received message in bytes.
const LONGEST: usize = 9_000;
/// Maximum number of options in a message, or nested in an option.
const MOST: usize = 128;

/// Numbers of the options that ferroute handles.
pub mod code {
    #![allow(missing_docs, reason = "the names of RFC 8415 and its companions")]
    pub const CLIENT_ID: u16 = 1;
    pub const SERVER_ID: u16 = 2;
    pub const IA_NA: u16 = 3;
    pub const ADDRESS: u16 = 5;
    pub const REQUEST: u16 = 6;
    pub const PREFERENCE: u16 = 7;
    pub const ELAPSED: u16 = 8;
    pub const RELAY_MESSAGE: u16 = 9;
    pub const STATUS: u16 = 13;
    pub const RAPID_COMMIT: u16 = 14;
    pub const INTERFACE_ID: u16 = 18;
    pub const DNS: u16 = 23;
    pub const DOMAINS: u16 = 24;
    pub const IA_PD: u16 = 25;
    pub const PREFIX: u16 = 26;
    pub const SNTP: u16 = 31;
    pub const REFRESH: u16 = 32;
    pub const NTP: u16 = 56;
    pub const SOL_MAX_RT: u16 = 82;
}

/// Message type (RFC 8415, 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Client searches for servers.
    Solicit,
    /// Server offers a binding.
    Advertise,
    /// Client requests a binding.
    Request,
    /// Client asks whether its addresses fit the link.
    Confirm,
    /// Client asks its server to extend lifetimes.
    Renew,
    /// Client asks any server to extend lifetimes.
    Rebind,
    /// Answer of a server.
    Reply,
    /// Client releases its binding.
    Release,
    /// Client reports addresses that other hosts use.
    Decline,
    /// Client requests options only.
    Information,
    /// Other type.
    Other(u8),
}

impl Kind {
    const ALL: [(Self, u8); 10] = [
        (Self::Solicit, 1),
        (Self::Advertise, 2),
        (Self::Request, 3),
        (Self::Confirm, 4),
        (Self::Renew, 5),
        (Self::Rebind, 6),
        (Self::Reply, 7),
        (Self::Release, 8),
        (Self::Decline, 9),
        (Self::Information, 11),
    ];

    fn of(number: u8) -> Self {
        let known = Self::ALL.iter().find(|(_, own)| *own == number);
        known.map_or(Self::Other(number), |(kind, _)| *kind)
    }

    fn number(self) -> u8 {
        if let Self::Other(number) = self {
            return number;
        }
        let known = Self::ALL.iter().find(|(kind, _)| *kind == self);
        known.map_or(0, |(_, number)| *number)
    }
}

/// Status code (RFC 8415, 21.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Success,
    /// Failure without a specific code.
    Failed,
    /// No address available.
    NoAddress,
    /// The server does not know the binding.
    NoBinding,
    /// The prefix does not fit the link.
    NotOnLink,
    /// The message must be sent by multicast.
    UseMulticast,
    /// No prefix available.
    NoPrefix,
    /// Other code.
    Other(u16),
}

impl Status {
    const ALL: [Self; 7] = [
        Self::Success,
        Self::Failed,
        Self::NoAddress,
        Self::NoBinding,
        Self::NotOnLink,
        Self::UseMulticast,
        Self::NoPrefix,
    ];

    fn of(number: u16) -> Self {
        let known = Self::ALL.get(usize::from(number));
        known.copied().unwrap_or(Self::Other(number))
    }

    fn number(self) -> u16 {
        match self {
            Self::Other(number) => number,
            known => Self::ALL.iter().position(|own| *own == known).unwrap_or(1) as u16,
        }
    }
}

/// Reason why a message cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than the header.
    Truncated,
    /// Longer than 9,000 bytes.
    TooLong,
    /// An option exceeds its field, or there are too many options.
    Options,
}

/// Message between client and server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Message type.
    pub kind: Kind,
    /// Transaction id, below 2^24.
    pub xid: u32,
    /// Options.
    pub options: Options,
}

impl Message {
    /// Creates a message without options.
    pub fn new(kind: Kind, xid: u32) -> Self {
        Self {
            kind,
            xid: xid & 0xff_ffff,
            options: Options::default(),
        }
    }

    /// Parses the payload of a UDP datagram.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the message is too short or too long, or if an option is invalid.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.len() > LONGEST {
            return Err(Malformed::TooLong);
        }
        let (head, options) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        let [kind, high, middle, low] = *head;
        Ok(Self {
            kind: Kind::of(kind),
            xid: u32::from_be_bytes([0, high, middle, low]),
            options: Options::decode(options).ok_or(Malformed::Options)?,
        })
    }

    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.xid.to_be_bytes().to_vec();
        bytes[0] = self.kind.number();
        self.options.encode(&mut bytes);
        bytes
    }
}

/// Options in the order of the message; an option may occur several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<(u16, Vec<u8>)>);

impl Options {
    /// Parses the options of a field; `None` if an option exceeds the field or the number of options exceeds 128.
    pub fn decode(mut field: &[u8]) -> Option<Self> {
        let mut options = Vec::new();
        while !field.is_empty() {
            let (head, rest) = field.split_first_chunk::<4>()?;
            let [code, len] = [[head[0], head[1]], [head[2], head[3]]].map(u16::from_be_bytes);
            let (value, rest) = rest.split_at_checked(len.into())?;
            if options.len() == MOST {
                return None;
            }
            options.push((code, value.to_vec()));
            field = rest;
        }
        Some(Self(options))
    }

    /// Appends the encoded options to `bytes`. Options above 65,535 bytes are left out.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        for (code, value) in &self.0 {
            if let Ok(len) = u16::try_from(value.len()) {
                bytes.extend(code.to_be_bytes());
                bytes.extend(len.to_be_bytes());
                bytes.extend(value);
            }
        }
    }

    /// Adds an option.
    pub fn add(&mut self, code: u16, value: impl Into<Vec<u8>>) {
        self.0.push((code, value.into()));
    }

    /// Adds an option whose value is `head` followed by nested options.
    pub fn add_with(&mut self, code: u16, head: &[u8], options: &Self) {
        let mut value = head.to_vec();
        options.encode(&mut value);
        self.add(code, value);
    }

    /// Returns the value of the first occurrence of an option.
    pub fn get(&self, code: u16) -> Option<&[u8]> {
        self.all(code).next()
    }

    /// True if the option is present.
    pub fn contains(&self, code: u16) -> bool {
        self.get(code).is_some()
    }

    /// Returns the values of all occurrences of an option.
    pub fn all(&self, code: u16) -> impl Iterator<Item = &[u8]> {
        let all = self.0.iter().filter(move |(own, _)| *own == code);
        all.map(|(_, value)| &value[..])
    }

    /// Iterates over all options.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.0.iter().map(|(code, value)| (*code, &value[..]))
    }

    /// Returns the addresses in a list option.
    pub fn addresses(&self, code: u16) -> Vec<Ipv6Addr> {
        let value = self.get(code).unwrap_or_default();
        let (addresses, _) = value.as_chunks::<16>();
        addresses.iter().copied().map(Ipv6Addr::from).collect()
    }

    /// NTP servers: addresses in option 56 (RFC 5908, 4.1), else in option 31.
    pub fn time_servers(&self) -> Vec<Ipv6Addr> {
        let listed = self.get(code::NTP).and_then(Self::decode);
        let own = listed.as_ref().map(|listed| listed.addresses_each(1));
        own.filter(|own| !own.is_empty())
            .unwrap_or_else(|| self.addresses(code::SNTP))
    }

    fn addresses_each(&self, code: u16) -> Vec<Ipv6Addr> {
        let each = self.all(code).filter_map(|value| value.try_into().ok());
        each.map(|sixteen: [u8; 16]| sixteen.into()).collect()
    }

    /// First domain of option 24 (RFC 3646, 4).
    pub fn domain(&self) -> Option<String> {
        let mut rest = self.get(code::DOMAINS)?;
        let mut name = String::new();
        while let Some((len, tail)) = rest.split_first() {
            let (label, tail) = tail.split_at_checked(usize::from(*len))?;
            if label.is_empty() {
                break;
            }
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
            if !label.iter().all(is_plain) || name.len() + label.len() > 253 {
                return None;
            }
            if !name.is_empty() {
                name.push('.');
            }
            name.extend(label.iter().map(|byte| char::from(*byte)));
            rest = tail;
        }
        (!name.is_empty()).then_some(name)
    }

    /// Status code; success if the option is missing.
    pub fn status(&self) -> Status {
        let number = self.get(code::STATUS).and_then(|value| value.first_chunk());
        number.map_or(Status::Success, |number| {
            Status::of(u16::from_be_bytes(*number))
        })
    }

    /// Adds a status code option.
    pub fn add_status(&mut self, status: Status, text: &str) {
        let value = [&status.number().to_be_bytes()[..], text.as_bytes()].concat();
        self.add(code::STATUS, value);
    }

    /// Returns the identity associations of type `code` (IA_NA or IA_PD).
    pub fn associations(&self, code: u16) -> impl Iterator<Item = Association> {
        self.all(code)
            .filter_map(move |value| Association::decode(code, value))
    }

    /// Adds an identity association.
    pub fn add_association(&mut self, association: &Association) {
        let head = [association.id, association.t1, association.t2].map(u32::to_be_bytes);
        let mut inner = Self::default();
        for leased in &association.leased {
            let times = [leased.preferred, leased.valid]
                .map(u32::to_be_bytes)
                .concat();
            let address = leased.address.octets();
            match association.is_prefixes {
                false => inner.add(code::ADDRESS, [&address[..], &times].concat()),
                true => inner.add(code::PREFIX, [&times[..], &[leased.len], &address].concat()),
            }
        }
        if association.status != Status::Success {
            inner.add_status(association.status, "");
        }
        let code = if association.is_prefixes {
            code::IA_PD
        } else {
            code::IA_NA
        };
        self.add_with(code, &head.concat(), &inner);
    }
}

/// Identity association: addresses or prefixes of a client under one IAID (RFC 8415, 21.4 and 21.21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association {
    /// True for prefixes (IA_PD), false for addresses (IA_NA).
    pub is_prefixes: bool,
    /// IAID.
    pub id: u32,
    /// T1 in seconds; 0 leaves the time to the client.
    pub t1: u32,
    /// T2 in seconds; 0 leaves the time to the client.
    pub t2: u32,
    /// Addresses or prefixes.
    pub leased: Vec<Leased>,
    /// Status code.
    pub status: Status,
}

/// An address or prefix with its lifetimes in seconds; 0xffffffff is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leased {
    /// Address, or first address of the prefix.
    pub address: Ipv6Addr,
    /// Prefix length; 128 for an address.
    pub len: u8,
    /// Preferred lifetime.
    pub preferred: u32,
    /// Valid lifetime.
    pub valid: u32,
}

impl Association {
    fn decode(code: u16, value: &[u8]) -> Option<Self> {
        let (head, rest) = value.split_first_chunk::<12>()?;
        let (head, _) = head.as_chunks::<4>();
        let [id, t1, t2] = [head[0], head[1], head[2]].map(u32::from_be_bytes);
        let inner = Options::decode(rest)?;
        let is_prefixes = code == code::IA_PD;
        let leased = match is_prefixes {
            false => inner
                .all(code::ADDRESS)
                .filter_map(leased_address)
                .collect(),
            true => inner.all(code::PREFIX).filter_map(leased_prefix).collect(),
        };
        Some(Self {
            is_prefixes,
            id,
            t1,
            t2,
            leased,
            status: inner.status(),
        })
    }
}

fn leased_address(value: &[u8]) -> Option<Leased> {
    let (address, rest) = value.split_first_chunk::<16>()?;
    let (times, rest) = rest.split_first_chunk::<8>()?;
    leased((*address).into(), 128, times, rest)
}

fn leased_prefix(value: &[u8]) -> Option<Leased> {
    let (times, rest) = value.split_first_chunk::<8>()?;
    let (len, rest) = rest.split_first()?;
    let (address, rest) = rest.split_first_chunk::<16>()?;
    leased((*address).into(), *len, times, rest)
}

/// Ignores an address or prefix whose own status code is an error.
fn leased(address: Ipv6Addr, len: u8, times: &[u8; 8], inner: &[u8]) -> Option<Leased> {
    let (times, _) = times.as_chunks::<4>();
    let [preferred, valid] = [times[0], times[1]].map(u32::from_be_bytes);
    let is_good = Options::decode(inner)?.status() == Status::Success;
    // RFC 8415, 21.6 and 21.22: ignores entries whose preferred lifetime exceeds the valid lifetime.
    (is_good && len <= 128 && preferred <= valid).then_some(Leased {
        address,
        len,
        preferred,
        valid,
    })
}

/// Builds an IPv6 packet with a UDP datagram.
pub fn packet(
    src: Ipv6Addr,
    src_port: u16,
    dst: Ipv6Addr,
    dst_port: u16,
    message: &[u8],
) -> Vec<u8> {
    let udp = udp::Repr { src_port, dst_port }.to_bytes_v6(message, src, dst);
    let header = ipv6::Repr::new(Protocol::UDP, src, dst);
    let len = udp.len() + message.len();
    [&header.to_bytes(len)[..], &udp, message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply() -> Message {
        let mut message = Message::new(Kind::Reply, 0x01_0203);
        message.options.add(code::CLIENT_ID, *b"client-id");
        message.options.add(code::DNS, [0xfd; 32]);
        message.options.add(code::DOMAINS, *b"\x03lan\x07example\0");
        message.options.add_association(&Association {
            is_prefixes: true,
            id: 7,
            t1: 100,
            t2: 160,
            leased: vec![Leased {
                address: "2001:db8:1::".parse().expect("an address"),
                len: 56,
                preferred: 200,
                valid: 300,
            }],
            status: Status::Success,
        });
        message.options.add_association(&Association {
            is_prefixes: false,
            id: 7,
            t1: 0,
            t2: 0,
            leased: Vec::new(),
            status: Status::NoAddress,
        });
        message
    }

    #[test]
    fn written_messages_parse_to_the_same_values() {
        let message = reply();
        let bytes = message.encode();
        assert_eq!(bytes[..4], [7, 1, 2, 3]);
        assert_eq!(Message::decode(&bytes), Ok(message.clone()));
        let options = &message.options;
        let prefix = options.associations(code::IA_PD).next().expect("one");
        assert_eq!((prefix.id, prefix.t1, prefix.leased[0].len), (7, 100, 56));
        let address = options.associations(code::IA_NA).next().expect("one");
        assert_eq!(
            (address.status, address.leased.len()),
            (Status::NoAddress, 0)
        );
        assert_eq!(options.domain().as_deref(), Some("lan.example"));
        assert_eq!(options.addresses(code::DNS).len(), 2);
        assert_eq!(options.status(), Status::Success);
    }

    #[test]
    fn prefixes_with_invalid_or_zero_lifetimes_are_ignored() {
        let bad = Association {
            is_prefixes: false,
            id: 1,
            t1: 0,
            t2: 0,
            leased: vec![Leased {
                address: Ipv6Addr::LOCALHOST,
                len: 128,
                preferred: 2,
                valid: 1,
            }],
            status: Status::Success,
        };
        let mut options = Options::default();
        options.add_association(&bad);
        let read = options.associations(code::IA_NA).next().expect("one");
        assert!(read.leased.is_empty());
    }

    #[test]
    fn every_truncation_and_bit_flip_parses_or_fails() {
        let bytes = reply().encode();
        let look = |bytes: &[u8]| {
            let Ok(read) = Message::decode(bytes) else {
                return;
            };
            for code in [code::IA_NA, code::IA_PD] {
                let _ = read.options.associations(code).count();
            }
            let _ = (
                read.options.domain(),
                read.options.time_servers(),
                read.options.status(),
            );
            assert_eq!(Message::decode(&read.encode()), Ok(read));
        };
        for len in 0..bytes.len() {
            look(&bytes[..len]);
        }
        for at in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[at / 8] ^= 1 << (at % 8);
            look(&other);
        }
        assert_eq!(Message::decode(&[0; LONGEST + 1]), Err(Malformed::TooLong));
        assert_eq!(Message::decode(&[1, 2, 3]), Err(Malformed::Truncated));
        assert_eq!(Message::decode(&[1; 4 + 4 * 200]), Err(Malformed::Options));
    }

    #[test]
    fn ntp_servers_are_taken_from_the_newer_option() {
        let mut options = Options::default();
        options.add(code::SNTP, [1; 16]);
        assert_eq!(options.time_servers(), [Ipv6Addr::from([1; 16])]);
        let mut inner = Options::default();
        inner.add(1, [2; 16]);
        inner.add(3, *b"name");
        options.add_with(code::NTP, &[], &inner);
        assert_eq!(options.time_servers(), [Ipv6Addr::from([2; 16])]);
    }
}
