//! Types of property values.

use crate::{Absent, Part, time};

/// A text format such as a date, an offset or a host name. Values are stored as text in canonical spelling.
#[derive(Clone, Copy, Debug)]
pub struct Spelling {
    /// Description of the format for reference and help; also identifies the format.
    pub describe: &'static str,
    /// Returns the canonical spelling of a text; `None` if the text does not have the format.
    pub canonical: fn(&str) -> Option<String>,
}

impl PartialEq for Spelling {
    fn eq(&self, other: &Self) -> bool {
        self.describe == other.describe
    }
}

/// The IP version of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
    /// Either.
    Any,
}

/// The type of a property: defines the accepted texts and the resulting values.
///
/// A constant that completion, reference and API descriptions are derived from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `yes` or `no`.
    Bool,
    /// A flag: set by the bare name, unset by `!name`, without a value.
    Presence,
    /// An integer between two inclusive bounds.
    Number {
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// An integer shown in hexadecimal, up to `max`.
    Hex {
        /// Maximum.
        max: u64,
    },
    /// A duration between two inclusive bounds in nanoseconds.
    Time {
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// Two durations in nanoseconds, the shorter first: `3m20s-10m`.
    Times {
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// Any text.
    Text,
    /// Text with a minimum and maximum length.
    Sized {
        /// Minimum length in bytes.
        min: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// Non-empty text of at most [`Kind::LONGEST_NAME`] bytes.
    Name,
    /// Non-empty text of any length: a key, a pattern.
    Filled,
    /// Text in a specific format.
    Spelled(&'static Spelling),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or a value of the given type.
    Or(&'static [&'static str], &'static Self),
    /// A comma-separated list of values, possibly empty.
    List(&'static Self),
    /// HTTP header lines, `Name: value`, separated by commas. The values may contain commas and semicolons.
    Fields,
    /// A set of these words; a word with `!` is excluded.
    Marked(&'static [&'static str]),
    /// An IP address.
    Address(Family),
    /// An IP prefix; host bits are cleared.
    Prefix(Family),
    /// A local IP address with a prefix length; host bits are kept.
    Local(Family),
    /// A MAC address.
    Mac,
    /// The name of an item in the menus of this name space.
    Reference(&'static str),
    /// A value of the first of two types that accepts the text.
    Either(&'static Self, &'static Self),
    /// A rate in bits or packets per second: `512k`, `10M`.
    Rate,
    /// A size in KiB, with or without the unit: `50KiB`.
    Kib,
    /// A non-negative number with up to three decimals: `0.1`.
    Thousandths,
    /// Two values separated by `/`; a single value stands for both.
    Pair(&'static Self),
    /// A single value, or a range with this separator: `10-20`.
    Range(&'static str, &'static Self),
    /// Values of these types in order, with this separator.
    Tuple(&'static str, &'static [Self]),
    /// A value, or `!` and an excluded value.
    Not(&'static Self),
    /// Several parts, some of them optional: `10/1m,5:packet`.
    Parts(&'static [Part]),
    /// An address, a prefix, or an address range: `10.0.0.1-10.0.0.9`.
    Addresses(Family),
    /// A subset of these words in this order, possibly empty.
    Set(&'static [&'static str]),
    /// A host name.
    Host,
    /// Bytes in hexadecimal digits.
    Digits,
    /// The gateway of a route: `10.0.0.1`, `ether1`, `fe80::1%ether1`, `10.0.0.1@main`.
    Gateway(Family),
}

impl Kind {
    /// Maximum length of a name in bytes.
    pub const LONGEST_NAME: usize = 255;
    /// A comment on an item.
    pub const COMMENT: Self = Self::Sized { min: 0, max: 4_096 };
    /// Any non-negative duration.
    pub const SPAN: Self = Self::Time {
        min: 0,
        max: i64::MAX,
    };
    /// A counter.
    pub const COUNTER: Self = Self::Number {
        min: 0,
        max: i64::MAX,
    };

    /// The words that completion offers; empty if there are none.
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

    /// The first name space that a value refers to, directly, in a list or in a gateway.
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

    /// All name spaces that a value may refer to, in the order of lookup.
    pub fn spaces(&self) -> Vec<&'static str> {
        match self {
            Self::Either(first, second) => [first.spaces(), second.spaces()].concat(),
            Self::Or(_, kind) | Self::List(kind) | Self::Not(kind) | Self::Pair(kind) => {
                kind.spaces()
            }
            kind => kind.space().into_iter().collect(),
        }
    }

    /// True if a value may refer to another item.
    pub const fn refers(&self) -> bool {
        self.space().is_some()
    }

    /// Describes the type for reference and help.
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
            Self::Rate => "0..    (rate per second, such as 512k or 10M)".to_owned(),
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
            Self::Host => "host name".to_owned(),
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

/// Describes a part: `,(0..255)`, in brackets if optional.
fn describe_part(part: &Part) -> String {
    let text = format!("{}({})", part.before, part.kind.describe());
    match part.absent {
        Absent::Refused => text,
        _ => format!("[{text}]"),
    }
}
