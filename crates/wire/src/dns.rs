//! DNS messages (RFC 1035, 4): encodes a query, and parses the addresses in its answer.
//!
//! ```text
//! id(2) flags(2) questions(2) answers(2) authority(2) additional(2)
//! question: name type(2) class(2)
//! record:   name type(2) class(2) ttl(4) length(2) data
//! ```
//! A name is a sequence of labels with their lengths, terminated by an empty label or a pointer to earlier labels.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Port of DNS servers.
pub const PORT: u16 = 53;

/// Maximum length of a message without EDNS (RFC 1035, 2.3.4).
pub const MESSAGE_LEN_MAX: usize = 512;

const HEADER_LEN: usize = 12;
const NAME_LEN_MAX: usize = 255;
const LABEL_LEN_MAX: usize = 63;
const CLASS_IN: u16 = 1;
const TYPE_CNAME: u16 = 5;
/// TC flag of a truncated answer (RFC 1035, 4.1.1).
const TRUNCATED: u16 = 0x0200;

/// Query type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// IPv4 addresses.
    A = 1,
    /// IPv6 addresses (RFC 3596, 2.1).
    Aaaa = 28,
}

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its contents claim.
    Truncated,
    /// Unknown label type, or name too long.
    Name,
    /// A compression pointer that does not point backwards.
    Pointer,
    /// The question differs from the query.
    OtherQuestion,
}

/// Response code (RFC 1035, 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// No error.
    NoError,
    /// The name does not exist.
    NoName,
    /// The server cannot or will not answer.
    Other(u8),
}

/// A name in wire format and lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; NAME_LEN_MAX],
    len: usize,
}

impl Name {
    /// Encodes a host name, with or without trailing dot; `None` if the text is invalid.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let mut name = Self::ROOT;
        for label in text.split('.') {
            if label.is_empty() || !name.push(label.as_bytes()) {
                return None;
            }
        }
        Some(name)
    }

    const ROOT: Self = Self {
        bytes: [0; NAME_LEN_MAX],
        len: 1,
    };

    /// Inserts a label before the root label; returns false if the name would be too long.
    fn push(&mut self, label: &[u8]) -> bool {
        let at = self.len - 1;
        let end = at + 1 + label.len();
        let Ok(len @ 1..) = u8::try_from(label.len()) else {
            return false;
        };
        if label.len() > LABEL_LEN_MAX || end >= NAME_LEN_MAX {
            return false;
        }
        self.bytes[at] = len;
        self.bytes[at + 1..end].copy_from_slice(label);
        self.bytes[at + 1..end].make_ascii_lowercase();
        self.bytes[end] = 0;
        self.len = end + 1;
        true
    }

    /// Name in wire format.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Query with the recursion-desired flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Message id; must be random.
    pub id: u16,
    /// Name.
    pub name: Name,
    /// Type.
    pub kind: Kind,
}

impl Question {
    /// Encodes the message and returns its bytes.
    pub fn emit<'a>(&self, bytes: &'a mut [u8; MESSAGE_LEN_MAX]) -> &'a [u8] {
        const RECURSION_DESIRED: u16 = 0x0100;
        let name = self.name.as_bytes();
        let words = [self.id, RECURSION_DESIRED, 1, 0, 0, 0];
        for (place, word) in bytes.chunks_exact_mut(2).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        let end = HEADER_LEN + name.len();
        bytes[HEADER_LEN..end].copy_from_slice(name);
        bytes[end..end + 2].copy_from_slice(&(self.kind as u16).to_be_bytes());
        bytes[end + 2..end + 4].copy_from_slice(&CLASS_IN.to_be_bytes());
        &bytes[..end + 4]
    }

    /// Parses an answer to this query.
    ///
    /// # Errors
    /// Fails if the message is malformed or answers another query.
    pub fn answer<'a>(&self, bytes: &'a [u8]) -> Result<Answer<'a>, Malformed> {
        let mut at = Cursor { bytes, at: 0 };
        let (id, flags) = (at.word()?, at.word()?);
        let (questions, answers) = (at.word()?, at.word()?);
        at.at = HEADER_LEN;
        if id != self.id || flags & 0x8000 == 0 || questions != 1 {
            return Err(Malformed::OtherQuestion);
        }
        let asked = (at.name()?, at.word()?, at.word()?);
        if asked != (self.name, self.kind as u16, CLASS_IN) {
            return Err(Malformed::OtherQuestion);
        }
        Ok(Answer {
            truncated: flags & TRUNCATED != 0,
            code: match flags & 0xf {
                0 => Code::NoError,
                3 => Code::NoName,
                // The code has four bits.
                other => Code::Other(other as u8),
            },
            addresses: Addresses {
                rest: at,
                answers,
                name: self.name,
                kind: self.kind as u16,
                ttl: u32::MAX,
            },
        })
    }
}

/// Answer of a server.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Response code.
    pub code: Code,
    /// Truncated; the complete answer is available by TCP (RFC 7766, 5).
    pub truncated: bool,
    /// Addresses.
    pub addresses: Addresses<'a>,
}

/// Address of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedAddress {
    /// Address.
    pub address: IpAddr,
    /// TTL in seconds; the minimum along the alias chain.
    pub ttl: u32,
}

/// Iterator over the addresses of the name and its aliases. Ends at the end of the message or at a malformed record.
#[derive(Clone, Debug)]
pub struct Addresses<'a> {
    rest: Cursor<'a>,
    /// Number of records left.
    answers: u16,
    /// Current name of the alias chain. Servers send an alias before its target (RFC 1034, 4.3.2).
    name: Name,
    kind: u16,
    /// Minimum TTL of the aliases so far, in seconds.
    ttl: u32,
}

impl Addresses<'_> {
    /// Parses the next record; `None` if it is not an address.
    fn record(&mut self) -> Result<Option<ResolvedAddress>, Malformed> {
        let owner = self.rest.name()?;
        let (kind, class) = (self.rest.word()?, self.rest.word()?);
        let ttl = self.rest.seconds()?;
        let len = self.rest.word()?.into();
        let data = Cursor {
            bytes: self.rest.bytes,
            at: self.rest.at,
        };
        let bytes = self.rest.take(len)?;
        if class != CLASS_IN || owner != self.name {
            return Ok(None);
        }
        if kind == TYPE_CNAME {
            let mut data = data;
            self.name = data.name()?;
            self.ttl = self.ttl.min(ttl);
            return Ok(None);
        }
        if kind != self.kind {
            return Ok(None);
        }
        let v4 = <[u8; 4]>::try_from(bytes).map(Ipv4Addr::from);
        let v6 = <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from);
        let address = match kind == Kind::A as u16 {
            true => v4.ok().map(IpAddr::V4),
            false => v6.ok().map(IpAddr::V6),
        };
        let ttl = self.ttl.min(ttl);
        Ok(address.map(|address| ResolvedAddress { address, ttl }))
    }
}

impl Iterator for Addresses<'_> {
    type Item = ResolvedAddress;

    fn next(&mut self) -> Option<ResolvedAddress> {
        while self.answers > 0 {
            self.answers -= 1;
            match self.record() {
                Ok(Some(found)) => return Some(found),
                Ok(None) => {}
                Err(_) => self.answers = 0,
            }
        }
        None
    }
}

/// Position in a message.
#[derive(Clone, Debug)]
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest.get(..count).ok_or(Malformed::Truncated)?;
        self.at += count;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u16, Malformed> {
        let word = self.take(2)?.first_chunk().ok_or(Malformed::Truncated)?;
        Ok(u16::from_be_bytes(*word))
    }

    /// Parses a TTL; values with the highest bit set count as 0 (RFC 2181, 8).
    fn seconds(&mut self) -> Result<u32, Malformed> {
        let bytes = self.take(4)?.first_chunk().ok_or(Malformed::Truncated)?;
        let seconds = u32::from_be_bytes(*bytes);
        Ok(if seconds >> 31 == 0 { seconds } else { 0 })
    }

    /// Parses the name at this position. A pointer must point before the labels that it terminates, which prevents
    /// loops.
    fn name(&mut self) -> Result<Name, Malformed> {
        let mut name = Name::ROOT;
        let mut from = self.at;
        let mut after = None;
        loop {
            let len = usize::from(self.take(1)?[0]);
            match len {
                0 => break,
                1..=LABEL_LEN_MAX => {
                    let label = self.take(len)?;
                    if !name.push(label) {
                        return Err(Malformed::Name);
                    }
                }
                0xc0.. => {
                    let low = usize::from(self.take(1)?[0]);
                    let to = (len & 0x3f) << 8 | low;
                    if to >= from {
                        return Err(Malformed::Pointer);
                    }
                    after.get_or_insert(self.at);
                    (from, self.at) = (to, to);
                }
                _ => return Err(Malformed::Name),
            }
        }
        self.at = after.unwrap_or(self.at);
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn question() -> Question {
        Question {
            id: 0x1234,
            name: Name::new("WWW.example.org.").expect("a name"),
            kind: Kind::A,
        }
    }

    /// An answer: the question, then `www` is an alias of `h` for 50 seconds, which has two addresses, for 60 seconds
    /// and for 40.
    fn answer() -> Vec<u8> {
        let mut bytes = [0; MESSAGE_LEN_MAX];
        let mut message = question().emit(&mut bytes).to_vec();
        message[2..4].copy_from_slice(&[0x81, 0x80]);
        message[7] = 4;
        // The name of the question is at 12, `example.org` at 16.
        let record = |owner: &[u8], kind: u8, ttl: u8, data: &[u8]| {
            let head = [0, kind, 0, 1, 0, 0, 0, ttl, 0, data.len() as u8];
            [owner, &head, data].concat()
        };
        let alias = message.len() + 12;
        message.extend(record(&[0xc0, 12], 5, 50, &[1, b'h', 0xc0, 16]));
        let host = [0xc0, alias as u8];
        message.extend(record(&host, 1, 60, &[192, 0, 2, 1]));
        message.extend(record(&[0xc0, 16], 1, 60, &[192, 0, 2, 9]));
        message.extend(record(&host, 1, 40, &[192, 0, 2, 2]));
        message
    }

    #[test]
    fn a_query_equals_that_of_a_resolver() {
        let mut bytes = [0; MESSAGE_LEN_MAX];

        assert_eq!(
            question().emit(&mut bytes),
            b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03org\0\0\x01\0\x01"
        );
    }

    #[test]
    fn addresses_are_found_through_a_cname_chain_only() {
        let message = answer();
        let answer = question().answer(&message).expect("an answer");

        assert_eq!((answer.code, answer.truncated), (Code::NoError, false));
        let found: Vec<_> = answer.addresses.collect();
        let expected = [([192, 0, 2, 1], 50), ([192, 0, 2, 2], 40)];
        let expected = expected.map(|(address, ttl)| ResolvedAddress {
            address: address.into(),
            ttl,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn an_answer_has_the_truncation_bit_and_negative_ttls_are_zero() {
        let mut message = answer();
        message[2] |= 2;
        // TTL of the alias, after its owner, type and class.
        let alias = question().emit(&mut [0; MESSAGE_LEN_MAX]).len();
        message[alias + 6] = 0x80;

        let answer = question().answer(&message).expect("an answer");

        assert!(answer.truncated);
        let ttls: Vec<_> = answer.addresses.map(|found| found.ttl).collect();
        assert_eq!(ttls, [0, 0]);
    }

    #[test]
    fn an_answer_to_another_question_is_refused() {
        let message = answer();
        let others = [
            Question {
                id: 1,
                ..question()
            },
            Question {
                kind: Kind::Aaaa,
                ..question()
            },
            Question {
                name: Name::new("example.org").expect("a name"),
                ..question()
            },
        ];
        for other in others {
            let read = other.answer(&message).map(|answer| answer.code);
            assert_eq!(read, Err(Malformed::OtherQuestion));
        }
    }

    #[test]
    fn cyclic_and_forward_compression_pointers_are_refused() {
        let mut message = answer();
        for to in [12, 14, 200] {
            message[12..14].copy_from_slice(&[0xc0, to]);
            assert_eq!(
                question().answer(&message).map(|answer| answer.code),
                Err(Malformed::Pointer)
            );
        }
    }

    #[test]
    fn malformed_names_are_refused() {
        let long = "x".repeat(64);
        let many = "x.".repeat(128);
        for text in ["", ".", "a..b", &long, &many] {
            assert_eq!(Name::new(text), None, "{text}");
        }
        assert!(Name::new(&many[..252]).is_some());
    }
}
