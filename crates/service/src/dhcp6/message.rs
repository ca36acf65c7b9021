//! Messages of DHCPv6 with their options as bytes (RFC 8415, 8 and 21).
//!
//! Options stay bytes until somebody asks for one, so that one that is malformed does not take the others with it. The
//! reader of `dhcproto` subtracts from lengths that it has not checked; this one does not.

use core::net::Ipv6Addr;

use wire::{Protocol, ipv6, udp};

/// The port of clients.
pub const CLIENT_PORT: u16 = 546;
/// The port of servers and relay agents.
pub const SERVER_PORT: u16 = 547;
/// All servers and relay agents of a link.
pub const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

/// Bytes of the longest message that is read.
const LONGEST: usize = 9_000;
/// The most options of a message, or of an option.
const MOST: usize = 128;

/// The numbers of options that this program makes something of.
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

/// What a message is for (RFC 8415, 7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Who serves?
    Solicit,
    /// I do.
    Advertise,
    /// Give me that.
    Request,
    /// Is this still right on this link?
    Confirm,
    /// Leave it to me longer.
    Renew,
    /// The same, to any server.
    Rebind,
    /// The answer of a server.
    Reply,
    /// I do not need it any more.
    Release,
    /// Another has it.
    Decline,
    /// What else is there to know?
    Information,
    /// Another.
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

/// What became of a request (RFC 8415, 21.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was done.
    Success,
    /// It was not, for a reason that has no number.
    Failed,
    /// There is no address.
    NoAddress,
    /// The server knows no such binding.
    NoBinding,
    /// It is not right on this link.
    NotOnLink,
    /// It must be sent to all.
    UseMulticast,
    /// There is no prefix.
    NoPrefix,
    /// Another.
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

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header.
    Truncated,
    /// Longer than any that may be.
    TooLong,
    /// An option goes beyond its field, or there are too many.
    Options,
}

/// A message between a client and a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is for.
    pub kind: Kind,
    /// The transaction, below 2^24.
    pub xid: u32,
    /// Its options.
    pub options: Options,
}

impl Message {
    /// A message without options.
    pub fn new(kind: Kind, xid: u32) -> Self {
        Self {
            kind,
            xid: xid & 0xff_ffff,
            options: Options::default(),
        }
    }

    /// Reads a message, the payload of a UDP datagram.
    ///
    /// # Errors
    /// See [`Malformed`].
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

    /// Writes it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.xid.to_be_bytes().to_vec();
        bytes[0] = self.kind.number();
        self.options.encode(&mut bytes);
        bytes
    }
}

/// Options in the order in which they stand; an option may be there several times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<(u16, Vec<u8>)>);

impl Options {
    /// Reads the options of a field; none if one goes beyond it, or if there are too many.
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

    /// Writes them behind what is there. What is longer than an option can be is left out.
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

    /// Adds an option with options in it, behind what stands before them.
    pub fn add_with(&mut self, code: u16, head: &[u8], options: &Self) {
        let mut value = head.to_vec();
        options.encode(&mut value);
        self.add(code, value);
    }

    /// The value of the first such option.
    pub fn get(&self, code: u16) -> Option<&[u8]> {
        self.all(code).next()
    }

    /// Whether there is such an option.
    pub fn contains(&self, code: u16) -> bool {
        self.get(code).is_some()
    }

    /// The values of all such options.
    pub fn all(&self, code: u16) -> impl Iterator<Item = &[u8]> {
        let all = self.0.iter().filter(move |(own, _)| *own == code);
        all.map(|(_, value)| &value[..])
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.0.iter().map(|(code, value)| (*code, &value[..]))
    }

    /// The addresses of an option, one behind the other.
    pub fn addresses(&self, code: u16) -> Vec<Ipv6Addr> {
        let value = self.get(code).unwrap_or_default();
        let (addresses, _) = value.as_chunks::<16>();
        addresses.iter().copied().map(Ipv6Addr::from).collect()
    }

    /// The servers of time: those of option 56 that are addresses (RFC 5908, 4.1), else those of option 31.
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

    /// The first domain of option 24 (RFC 3646, 4).
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

    /// What became of a request; success if nothing is said.
    pub fn status(&self) -> Status {
        let number = self.get(code::STATUS).and_then(|value| value.first_chunk());
        number.map_or(Status::Success, |number| {
            Status::of(u16::from_be_bytes(*number))
        })
    }

    /// Says what became of a request.
    pub fn add_status(&mut self, status: Status, text: &str) {
        let value = [&status.number().to_be_bytes()[..], text.as_bytes()].concat();
        self.add(code::STATUS, value);
    }

    /// The associations of addresses, or those of prefixes.
    pub fn associations(&self, code: u16) -> impl Iterator<Item = Association> {
        self.all(code)
            .filter_map(move |value| Association::decode(code, value))
    }

    /// Adds an association.
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

/// Addresses or prefixes that a client has under one number (RFC 8415, 21.4 and 21.21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Association {
    /// Whether it is of prefixes.
    pub is_prefixes: bool,
    /// Its number.
    pub id: u32,
    /// Seconds until the server is asked again; 0 leaves it to the client.
    pub t1: u32,
    /// Seconds until any server is.
    pub t2: u32,
    /// What is in it.
    pub leased: Vec<Leased>,
    /// What became of the request.
    pub status: Status,
}

/// An address or a prefix, with its times in seconds; all ones are for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leased {
    /// The address, or the first one of the prefix.
    pub address: Ipv6Addr,
    /// The length of the prefix, 128 of an address.
    pub len: u8,
    /// How long it should be used.
    pub preferred: u32,
    /// How long it may be.
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

/// One that its own status takes back is none.
fn leased(address: Ipv6Addr, len: u8, times: &[u8; 8], inner: &[u8]) -> Option<Leased> {
    let (times, _) = times.as_chunks::<4>();
    let [preferred, valid] = [times[0], times[1]].map(u32::from_be_bytes);
    let is_good = Options::decode(inner)?.status() == Status::Success;
    // RFC 8415, 21.6 and 21.22: who prefers it longer than it is valid is not heard.
    (is_good && len <= 128 && preferred <= valid).then_some(Leased {
        address,
        len,
        preferred,
        valid,
    })
}

/// An IPv6 packet with a message.
pub fn packet(
    (from, from_port): (Ipv6Addr, u16),
    (to, to_port): (Ipv6Addr, u16),
    message: &[u8],
) -> Vec<u8> {
    let ports = udp::Repr {
        src_port: from_port,
        dst_port: to_port,
    };
    let udp = ports.to_bytes_v6(message, from, to);
    let header = ipv6::Repr::new(Protocol::UDP, from, to);
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
    fn what_is_written_reads_the_same() {
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
    fn what_is_preferred_longer_than_valid_or_taken_back_is_none() {
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
    fn every_truncation_and_every_bit_is_read_or_refused() {
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
    fn time_servers_are_those_of_the_newer_option() {
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
