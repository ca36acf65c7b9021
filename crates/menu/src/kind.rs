//! The types that a property's values can have.

use crate::{Absent, Part, time};

/// A small format of text: a date, an offset, a host. Its values are kept as text, spelled in one
/// way.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    /// The format in words, for reference and help; what tells one spelling from another.
    pub describe: &'static str,
    /// The one spelling of a text that has the format; `None` if it has not.
    pub canonical: fn(&str) -> Option<String>,
}

impl PartialEq for Spelling {
    fn eq(&self, other: &Self) -> bool {
        self.describe == other.describe
    }
}

/// Which Internet protocol an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
    /// Either.
    Any,
}

/// The type of a property: which texts it takes, and which value they make.
///
/// A constant that can be walked: completion, reference and API descriptions come from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `yes` or `no`.
    Bool,
    /// Set by its bare name, unset by `!name`; it has no other value.
    Presence,
    /// An integer between two bounds, both included.
    Number {
        /// The least value.
        min: i64,
        /// The greatest value.
        max: i64,
    },
    /// An integer shown in hexadecimal, up to `max`.
    Hex {
        /// The greatest value.
        max: u64,
    },
    /// A span of time between two bounds in nanoseconds, both included.
    Time {
        /// The shortest span.
        min: i64,
        /// The longest span.
        max: i64,
    },
    /// Two spans of time, the shorter first: `3m20s-10m`.
    Times {
        /// The shortest span.
        min: i64,
        /// The longest span.
        max: i64,
    },
    /// Any text.
    Text,
    /// Text of at least and at most so many bytes.
    Sized {
        /// The least length in bytes.
        min: usize,
        /// The greatest length in bytes.
        max: usize,
    },
    /// Text that is not empty, of [`Kind::LONGEST_NAME`] bytes at most.
    Name,
    /// Text that is not empty, and as long as it likes: a key, a pattern.
    Filled,
    /// Text of a small format.
    Spelled(&'static Spelling),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or a value of another type.
    Or(&'static [&'static str], &'static Self),
    /// Values of a type, separated by commas; may be empty.
    List(&'static Self),
    /// Lines of a header, `Name: value`, separated by commas. Commas and semicolons may stand in the values.
    Fields,
    /// Some of these words, each of which is in or, with `!`, out.
    Marked(&'static [&'static str]),
    /// An address.
    Address(Family),
    /// A network: host bits are cleared.
    Prefix(Family),
    /// An address of this router with the length of its network's prefix: host bits are kept.
    Local(Family),
    /// A hardware address.
    Mac,
    /// The name of an item in the menus that share this space of names.
    Reference(&'static str),
    /// A value of the first of two types that takes the text.
    Either(&'static Self, &'static Self),
    /// A number of bits or packets a second: `512k`, `10M`.
    Rate,
    /// A number of KiB, with or without the unit: `50KiB`.
    Kib,
    /// A number that is not negative, with up to three decimals: `0.1`.
    Thousandths,
    /// Two values of a type with `/` in between; one text alone stands for both.
    Pair(&'static Self),
    /// A value, or a first and a last one with this separator in between: `10-20`.
    Range(&'static str, &'static Self),
    /// Values of these types, one after the other, with this separator in between.
    Tuple(&'static str, &'static [Self]),
    /// A value, or `!` and the value that must not be.
    Not(&'static Self),
    /// Parts of which some may be left out: `10/1m,5:packet`.
    Parts(&'static [Part]),
    /// An address, a network, or a first and a last address: `10.0.0.1-10.0.0.9`.
    Addresses(Family),
    /// Some of these words, in this order and each once; may be empty.
    Set(&'static [&'static str]),
    /// The name of a host.
    Host,
    /// Bytes in hexadecimal digits.
    Digits,
    /// Where a route leads: `10.0.0.1`, `ether1`, `fe80::1%ether1`, `10.0.0.1@main`.
    Gateway(Family),
}

impl Kind {
    /// The most bytes that a name has.
    pub const LONGEST_NAME: usize = 255;
    /// What somebody notes about an item.
    pub const COMMENT: Self = Self::Sized { min: 0, max: 4_096 };
    /// Any span of time that is not negative.
    pub const SPAN: Self = Self::Time {
        min: 0,
        max: i64::MAX,
    };
    /// A counter.
    pub const COUNTER: Self = Self::Number {
        min: 0,
        max: i64::MAX,
    };

    /// The words that a value may be, for completion; empty where any text goes.
    pub const fn words(&self) -> &'static [&'static str] {
        match self {
            Self::Bool => &["yes", "no"],
            Self::Words(words) | Self::Or(words, _) | Self::Set(words) | Self::Marked(words) => {
                words
            }
            Self::List(kind) | Self::Pair(kind) | Self::Not(kind) => kind.words(),
            Self::Either(first, second) => match first.words() {
                [] => second.words(),
                words => words,
            },
            _ => &[],
        }
    }

    /// The space of names that a value refers to, directly, in a list or in a gateway; the first
    /// of several.
    pub const fn space(&self) -> Option<&'static str> {
        match self {
            Self::Reference(space) => Some(space),
            Self::Or(_, kind) | Self::List(kind) | Self::Not(kind) | Self::Pair(kind) => {
                kind.space()
            }
            Self::Either(first, second) => match first.space() {
                None => second.space(),
                space => space,
            },
            Self::Gateway(_) => Some("interface"),
            _ => None,
        }
    }

    /// All spaces of names that a value can refer to; a name is looked for in this order.
    pub fn spaces(&self) -> Vec<&'static str> {
        match self {
            Self::Either(first, second) => [first.spaces(), second.spaces()].concat(),
            Self::Or(_, kind) | Self::List(kind) | Self::Not(kind) | Self::Pair(kind) => {
                kind.spaces()
            }
            kind => kind.space().into_iter().collect(),
        }
    }

    /// Whether a value can hold a name of another item.
    pub const fn refers(&self) -> bool {
        self.space().is_some()
    }

    /// The type in words, for reference and help.
    pub fn describe(&self) -> String {
        match self {
            Self::Bool => "yes | no".to_owned(),
            Self::Presence => "present or absent".to_owned(),
            Self::Number { min, max } if *max == i64::MAX => format!("{min}..    (integer number)"),
            Self::Number { min, max } => format!("{min}..{max}    (integer number)"),
            Self::Hex { max } => format!("0..0x{max:x}    (hexadecimal number)"),
            Self::Time {
                min: 0,
                max: i64::MAX,
            } => "time interval".to_owned(),
            Self::Time { min, max } => format!(
                "{}..{}    (time interval)",
                time::units(*min),
                if *max == i64::MAX {
                    String::new()
                } else {
                    time::units(*max)
                }
            ),
            Self::Times { min, max } => {
                format!(
                    "{}..{}    (time interval range)",
                    time::units(*min),
                    time::units(*max)
                )
            }
            Self::Text => "string value".to_owned(),
            Self::Name => format!(
                "string value, min length 1, max length {}",
                Self::LONGEST_NAME
            ),
            Self::Filled => "string value, min length 1".to_owned(),
            Self::Spelled(spelling) => spelling.describe.to_owned(),
            Self::Sized { min: 0, max } => format!("string value, max length {max}"),
            Self::Sized { min, max } => {
                format!("string value, min length {min}, max length {max}")
            }
            Self::Either(first, second) => {
                format!("{} | {}", first.describe(), second.describe())
            }
            Self::Rate => "0..    (number a second, such as 512k or 10M)".to_owned(),
            Self::Kib => "0..    (number of KiB)".to_owned(),
            Self::Thousandths => "0..    (decimal number)".to_owned(),
            Self::Pair(kind) => format!("{}[/...]", kind.describe()),
            Self::Range(between, kind) => format!("{}[{between}...]", kind.describe()),
            Self::Tuple(between, kinds) => {
                let kinds: Vec<_> = kinds.iter().map(Self::describe).collect();
                kinds.join(&format!(" {between} "))
            }
            Self::Not(kind) => format!("[!]{}", kind.describe()),
            Self::Parts(parts) => parts.iter().map(describe_part).collect(),
            Self::Addresses(Family::V4) => {
                "A.B.C.D[-A.B.C.D | /0..32]    (IP address range)".to_owned()
            }
            Self::Addresses(_) => "address, prefix or range of addresses".to_owned(),
            Self::Set(words) => format!("list of: {}", words.join(" | ")),
            Self::Host => "name of a host".to_owned(),
            Self::Digits => "hexadecimal string value".to_owned(),
            Self::Words(words) => words.join(" | "),
            Self::Or(words, kind) => format!("{} | {}", words.join(" | "), kind.describe()),
            Self::List(kind) => format!("list of: {}", kind.describe()),
            Self::Fields => "list of: name: value".to_owned(),
            Self::Marked(words) => format!("list of: [!]{}", words.join(" | [!]")),
            Self::Address(Family::V4) => "A.B.C.D    (IP address)".to_owned(),
            Self::Address(Family::V6) => "IPv6 address".to_owned(),
            Self::Address(Family::Any) => "IP or IPv6 address".to_owned(),
            Self::Prefix(Family::V4) => "A.B.C.D/0..32    (IP prefix)".to_owned(),
            Self::Prefix(Family::V6) => "IPv6/0..128    (IPv6 prefix)".to_owned(),
            Self::Prefix(Family::Any) => "IP or IPv6 prefix".to_owned(),
            Self::Local(_) => "address with prefix length".to_owned(),
            Self::Mac => {
                "AB[:|-|.]CD[:|-|.]EF[:|-|.]GH[:|-|.]IJ[:|-|.]KL    (MAC address)".to_owned()
            }
            Self::Reference(space) => format!("name of {space}"),
            Self::Gateway(_) => "address, interface, or address%interface".to_owned(),
        }
    }
}

/// `,(0..255)`, in brackets if the part may be left out.
fn describe_part(part: &Part) -> String {
    let text = format!("{}({})", part.before, part.kind.describe());
    match part.absent {
        Absent::Refused => text,
        _ => format!("[{text}]"),
    }
}
