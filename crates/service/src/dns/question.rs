//! Parses client queries without allocation (RFC 1035, 4.1; RFC 6891, 6.1), and the cache key: lower-case name, type
//! and DNSSEC flag.

use core::fmt;

/// Length of the message header in bytes.
pub(super) const HEAD: usize = 12;
/// Maximum length of a name in wire format.
pub(super) const NAME_MAX: usize = 255;
/// Maximum length of a label.
const LABEL_MAX: usize = 63;
/// Maximum number of additional records searched for OPT.
const ADDITIONAL_MAX: u16 = 4;
/// Class IN.
pub(super) const CLASS_IN: u16 = 1;
/// Type OPT (RFC 6891, 6.1.2).
pub(super) const TYPE_OPT: u16 = 41;

/// Cache key of an answer.
#[derive(Clone, Copy)]
pub struct Key {
    /// Name in wire format and lower case, type, and a byte that is 1 for queries with the DO bit.
    bytes: [u8; NAME_MAX + 3],
    /// Length of the name.
    len: usize,
}

impl Key {
    /// Builds the key for a name in wire format; `None` if the name is invalid.
    pub fn new(name: &[u8], kind: u16, signed: bool) -> Option<Self> {
        let mut bytes = [0; NAME_MAX + 3];
        let len = name_len(name)?;
        bytes[..len].copy_from_slice(&name[..len]);
        // Label lengths are below the ASCII letters and stay unchanged.
        bytes[..len].make_ascii_lowercase();
        bytes[len..len + 2].copy_from_slice(&kind.to_be_bytes());
        bytes[len + 2] = u8::from(signed);
        Some(Self { bytes, len })
    }

    /// Name in wire format and lower case.
    pub fn name(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Query type.
    pub fn kind(&self) -> u16 {
        u16::from_be_bytes([self.bytes[self.len], self.bytes[self.len + 1]])
    }

    /// True if the client set the DO bit (RFC 3225).
    pub fn is_signed(&self) -> bool {
        self.bytes[self.len + 2] != 0
    }

    /// All bytes of the key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len + 3]
    }

    /// Returns the key of another name with this type and DO bit.
    pub fn of(&self, name: &[u8]) -> Option<Self> {
        Self::new(name, self.kind(), self.is_signed())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", text_of(self.name()), self.kind())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Key {}

/// Length of the uncompressed name at the start of `bytes`.
pub(super) fn name_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let label = usize::from(*bytes.get(at)?);
        at += 1 + label;
        if label > LABEL_MAX || at > NAME_MAX {
            return None;
        }
        if label == 0 {
            return Some(at);
        }
    }
}

/// Formats a wire-format name without trailing dot; other bytes than letters and digits are escaped (RFC 1035, 5.1).
pub fn text_of(name: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = name;
    while let Some((len, more)) = rest.split_first()
        && *len != 0
    {
        let (label, after) = more.split_at(usize::from(*len).min(more.len()));
        if !text.is_empty() {
            text.push('.');
        }
        for byte in label {
            match byte {
                b'.' | b'\\' => text.extend(['\\', char::from(*byte)]),
                0x21..=0x7e => text.push(char::from(*byte)),
                _ => text.push_str(&format!("\\{byte:03}")),
            }
        }
        rest = after;
    }
    text
}

/// EDNS options of a client (RFC 6891, 6.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum UDP payload size in bytes.
    pub size: u16,
    /// DO bit: the client requests signatures.
    pub signed: bool,
}

/// A parsed query.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// Header and question, as received.
    pub(super) head: &'a [u8],
    /// Cache key.
    pub(super) key: Key,
    /// EDNS options of the client.
    pub(super) options: Option<Options>,
}

/// Reason why a message cannot be answered as a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// A response, or shorter than a header; gets no answer.
    NoQuestion,
    /// Malformed.
    Malformed,
    /// Unsupported opcode or query type.
    NotImplemented,
    /// Other class, or a zone transfer.
    Refused,
    /// Unsupported EDNS version (RFC 6891, 6.1.3).
    Version,
}

impl QueryError {
    /// Response code (RFC 1035, 4.1.1); `None` if the message gets no answer.
    pub(super) const fn code(self) -> Option<u16> {
        match self {
            Self::NoQuestion => None,
            Self::Malformed => Some(1),
            Self::NotImplemented => Some(4),
            Self::Refused => Some(5),
            Self::Version => Some(16),
        }
    }
}

impl<'a> Query<'a> {
    /// Parses a message.
    ///
    /// # Errors
    /// Returns why the message cannot be answered.
    pub fn read(bytes: &'a [u8]) -> Result<Self, QueryError> {
        let head = bytes.first_chunk::<HEAD>().ok_or(QueryError::NoQuestion)?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        if head[2] & 0x80 != 0 {
            return Err(QueryError::NoQuestion);
        }
        if head[2] >> 3 & 0xf != 0 {
            return Err(QueryError::NotImplemented);
        }
        if word(4) != 1 || word(6) != 0 || word(8) != 0 {
            return Err(QueryError::Malformed);
        }
        let name = &bytes[HEAD..];
        let len = name_len(name).ok_or(QueryError::Malformed)?;
        let fixed = name.get(len..).and_then(|rest| rest.first_chunk::<4>());
        let [a, b, c, d] = fixed.copied().ok_or(QueryError::Malformed)?;
        let (kind, class) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let end = HEAD + len + 4;
        let options = read_options(&bytes[end..], word(10))?;
        match (class, kind) {
            // Zone transfers and obsolete mailbox queries.
            (CLASS_IN, 251..=254) => return Err(QueryError::Refused),
            // ANY queries mostly serve amplification attacks (RFC 8482, 4).
            (CLASS_IN, 255 | 0 | TYPE_OPT) => return Err(QueryError::NotImplemented),
            (CLASS_IN, _) => {}
            _ => return Err(QueryError::Refused),
        }
        let signed = options.is_some_and(|options| options.signed);
        Ok(Self {
            head: &bytes[..end],
            key: Key::new(name, kind, signed).ok_or(QueryError::Malformed)?,
            options,
        })
    }

    /// Cache key of the query.
    pub fn key(&self) -> &Key {
        &self.key
    }
}

/// Searches `count` additional records for OPT.
fn read_options(mut rest: &[u8], count: u16) -> Result<Option<Options>, QueryError> {
    let mut options = None;
    for _ in 0..count.min(ADDITIONAL_MAX) {
        // Additional records of a query have the root name, or an uncompressed name (TSIG).
        let len = name_len(rest).ok_or(QueryError::Malformed)?;
        let fixed = rest[len..]
            .first_chunk::<10>()
            .ok_or(QueryError::Malformed)?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let after = len + 10 + usize::from(word(8));
        if word(0) == TYPE_OPT {
            if options.is_some() || len != 1 {
                return Err(QueryError::Malformed);
            }
            if fixed[5] != 0 {
                return Err(QueryError::Version);
            }
            options = Some(Options {
                size: word(2),
                signed: fixed[6] & 0x80 != 0,
            });
        }
        rest = rest.get(after..).ok_or(QueryError::Malformed)?;
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(kind: u16, options: &[u8]) -> Vec<u8> {
        let count = u8::from(!options.is_empty());
        let head = [0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, count];
        let name = b"\x03WwW\x07example\x03org\0";
        let [a, b] = kind.to_be_bytes();
        [&head[..], name, &[a, b, 0, 1], options].concat()
    }

    const OPTIONS: [u8; 11] = [0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 0];

    #[test]
    fn names_of_questions_are_case_insensitive() {
        let message = question(1, &[]);
        let query = Query::read(&message).expect("a question");

        assert_eq!(query.key.name(), b"\x03www\x07example\x03org\0");
        assert_eq!((query.key.kind(), query.key.is_signed()), (1, false));
        assert_eq!((query.head.len(), query.options), (message.len(), None));
        assert_eq!(text_of(query.key.name()), "www.example.org");
    }

    #[test]
    fn edns_options_give_the_udp_size_and_the_dnssec_bit() {
        let message = question(1, &OPTIONS);
        let query = Query::read(&message).expect("a question");

        let options = Options {
            size: 1232,
            signed: true,
        };
        assert_eq!(query.options, Some(options));
        assert!(query.key.is_signed());
        let mut later = OPTIONS;
        later[6] = 1;
        assert_eq!(
            Query::read(&question(1, &later)).err(),
            Some(QueryError::Version)
        );
    }

    #[test]
    fn messages_that_are_no_queries_are_not_answered() {
        let unfit = |at: usize, value: u8| {
            let mut message = question(1, &[]);
            message[at] = value;
            Query::read(&message).err()
        };

        assert_eq!(unfit(2, 0x80), Some(QueryError::NoQuestion));
        assert_eq!(unfit(2, 0x28), Some(QueryError::NotImplemented));
        assert_eq!(unfit(5, 2), Some(QueryError::Malformed));
        assert_eq!(unfit(12, 0xc0), Some(QueryError::Malformed));
        assert_eq!(
            Query::read(&question(252, &[])).err(),
            Some(QueryError::Refused)
        );
        assert_eq!(
            Query::read(&question(255, &[])).err(),
            Some(QueryError::NotImplemented)
        );
        let message = question(1, &OPTIONS);
        for len in 0..message.len() {
            assert!(Query::read(&message[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn special_characters_in_names_are_escaped() {
        assert_eq!(text_of(b"\x03a.b\x01\x07\0"), "a\\.b.\\007");
        assert_eq!(text_of(b"\0"), "");
    }
}
