//! The types that a property's values can have.

use crate::time;

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
    /// Text that is not empty.
    Name,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, or a value of another type.
    Or(&'static [&'static str], &'static Self),
    /// Values of a type, separated by commas; may be empty.
    List(&'static Self),
    /// Some of these words, each of which is in or, with `!`, out.
    Set(&'static [&'static str]),
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
    /// Where a route leads: `10.0.0.1`, `ether1`, `fe80::1%ether1`, `10.0.0.1@main`.
    Gateway(Family),
}

impl Kind {
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
            Self::Words(words) | Self::Or(words, _) | Self::Set(words) => words,
            Self::List(kind) => kind.words(),
            _ => &[],
        }
    }

    /// The space of names that a value refers to, directly, in a list or in a gateway.
    pub const fn space(&self) -> Option<&'static str> {
        match self {
            Self::Reference(space) => Some(space),
            Self::Or(_, kind) | Self::List(kind) => kind.space(),
            Self::Gateway(_) => Some("interface"),
            _ => None,
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
            Self::Name => "string value, min length 1".to_owned(),
            Self::Words(words) => words.join(" | "),
            Self::Or(words, kind) => format!("{} | {}", words.join(" | "), kind.describe()),
            Self::List(kind) => format!("list of: {}", kind.describe()),
            Self::Set(words) => format!("list of: [!]{}", words.join(" | [!]")),
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
