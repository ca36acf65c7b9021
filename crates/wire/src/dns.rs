//! Messages of the domain name system (RFC 1035, 4): a question, and the addresses in its answer.
//!
//! ```text
//! id(2) flags(2) questions(2) answers(2) authority(2) additional(2)
//! question: name type(2) class(2)
//! record:   name type(2) class(2) ttl(4) length(2) data
//! ```
//! A name is labels with their lengths, ended by an empty one, or by a pointer to labels before it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where servers are asked.
pub const PORT: u16 = 53;

/// Bytes of a message without extensions (RFC 1035, 2.3.4).
pub const MESSAGE_LEN_MAX: usize = 512;

const HEADER_LEN: usize = 12;
const NAME_LEN_MAX: usize = 255;
const LABEL_LEN_MAX: usize = 63;
const CLASS_IN: u16 = 1;
const TYPE_CNAME: u16 = 5;
/// The flag of an answer that was cut (RFC 1035, 4.1.1).
const TRUNCATED: u16 = 0x0200;

/// What is asked about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// IPv4 addresses.
    A = 1,
    /// IPv6 addresses (RFC 3596, 2.1).
    Aaaa = 28,
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than what it says is in it.
    Truncated,
    /// A label of a form that there is none of, or a name that is too long.
    Name,
    /// A pointer that leads nowhere before it.
    Pointer,
    /// It answers another question, or none.
    OtherQuestion,
}

/// What a server says about a question (RFC 1035, 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// There is an answer.
    NoError,
    /// There is no such name.
    NoName,
    /// The server cannot answer, or does not want to.
    Other(u8),
}

/// A name in its form on the wire, letters in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; NAME_LEN_MAX],
    len: usize,
}

impl Name {
    /// The name of a host, with or without a dot at its end; none of a text that is no name.
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

    /// Appends a label before the empty one; says whether there is room.
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

    /// The name on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A question, as a resolver that only asks puts it: the server is to find the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Tells the answer from others; to be chosen at random.
    pub id: u16,
    /// The name.
    pub name: Name,
    /// What is asked.
    pub kind: Kind,
}

impl Question {
    /// Writes the message; gives its bytes.
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

    /// Reads an answer to this question.
    ///
    /// # Errors
    /// It is no message, or answers something else.
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
                // Four bits.
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

/// What a server answers.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Whether there is an answer.
    pub code: Code,
    /// Whether it did not fit: all of it is to be had by TCP (RFC 7766, 5).
    pub truncated: bool,
    /// The addresses.
    pub addresses: Addresses<'a>,
}

/// An address of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The address.
    pub address: IpAddr,
    /// How many seconds it holds: no longer than the aliases on the way to it.
    pub ttl: u32,
}

/// The addresses of an answer: those of the name, and of what it is another name of. It ends where the
/// message does, or can no longer be read.
#[derive(Clone, Debug)]
pub struct Addresses<'a> {
    rest: Cursor<'a>,
    /// Records that are left.
    answers: u16,
    /// The name whose addresses are looked for. Servers put an alias before what it leads to
    /// (RFC 1034, 4.3.2).
    name: Name,
    kind: u16,
    /// How long the aliases hold that led here, in seconds.
    ttl: u32,
}

impl Addresses<'_> {
    /// The next record, if it is an address.
    fn record(&mut self) -> Result<Option<Found>, Malformed> {
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
        Ok(address.map(|address| Found { address, ttl }))
    }
}

impl Iterator for Addresses<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
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

/// A place in a message.
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

    /// A time in seconds; one with the first bit set is none (RFC 2181, 8).
    fn seconds(&mut self) -> Result<u32, Malformed> {
        let bytes = self.take(4)?.first_chunk().ok_or(Malformed::Truncated)?;
        let seconds = u32::from_be_bytes(*bytes);
        Ok(if seconds >> 31 == 0 { seconds } else { 0 })
    }

    /// The name here. A pointer leads to a place before the labels that it ends, so that no name goes
    /// in circles.
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

    /// An answer: the question, then `www` is an alias of `h` for 50 seconds, which has two addresses,
    /// for 60 seconds and for 40.
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
    fn a_question_is_what_a_resolver_sends() {
        let mut bytes = [0; MESSAGE_LEN_MAX];

        assert_eq!(
            question().emit(&mut bytes),
            b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03org\0\0\x01\0\x01"
        );
    }

    #[test]
    fn addresses_are_found_behind_an_alias_and_others_are_not() {
        let message = answer();
        let answer = question().answer(&message).expect("an answer");

        assert_eq!((answer.code, answer.truncated), (Code::NoError, false));
        let found: Vec<_> = answer.addresses.collect();
        let expected = [([192, 0, 2, 1], 50), ([192, 0, 2, 2], 40)];
        let expected = expected.map(|(address, ttl)| Found {
            address: address.into(),
            ttl,
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn an_answer_says_that_it_was_cut_and_a_time_below_zero_is_none() {
        let mut message = answer();
        message[2] |= 2;
        // The time of the alias, behind its owner, type and class.
        let alias = question().emit(&mut [0; MESSAGE_LEN_MAX]).len();
        message[alias + 6] = 0x80;

        let answer = question().answer(&message).expect("an answer");

        assert!(answer.truncated);
        let ttls: Vec<_> = answer.addresses.map(|found| found.ttl).collect();
        assert_eq!(ttls, [0, 0]);
    }

    #[test]
    fn an_answer_to_something_else_is_none() {
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
    fn pointers_that_lead_in_circles_or_forwards_are_refused() {
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
    fn what_is_no_name_is_none() {
        let long = "x".repeat(64);
        let many = "x.".repeat(128);
        for text in ["", ".", "a..b", &long, &many] {
            assert_eq!(Name::new(text), None, "{text}");
        }
        assert!(Name::new(&many[..252]).is_some());
    }
}
