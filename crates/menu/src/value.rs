//! A value of a property, as the store keeps it.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::time;

/// A typed value. Its `Display` is the text of menus, export, API and REST, without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `yes` or `no`.
    Bool(bool),
    /// An integer.
    Number(i64),
    /// An integer that is shown in hexadecimal, such as a mask of bits.
    Hex(u64),
    /// A span of time in nanoseconds.
    Time(i64),
    /// Two spans of time in nanoseconds, the shorter first.
    Times(i64, i64),
    /// One of the words that the property's type lists.
    Word(&'static str),
    /// Text of the user.
    Text(Box<str>),
    /// The name of an item in another menu.
    Reference(Box<str>),
    /// An IPv4 or IPv6 address.
    Address(IpAddr),
    /// An address with the length of its network's prefix; host bits are kept as given.
    Prefix(IpNet),
    /// A hardware address.
    Mac([u8; 6]),
    /// Where a route leads.
    Gateway(Box<Gateway>),
    /// A number a second.
    Rate(i64),
    /// A number of KiB.
    Kib(i64),
    /// A number in thousandths.
    Thousandths(i64),
    /// Values that belong together, with what stands in between.
    Tuple(&'static str, Box<[Self]>),
    /// Everything but this value.
    Not(Box<Self>),
    /// Values that belong together, each with what stands before it.
    Parts(Box<[(&'static str, Self)]>),
    /// Several values.
    List(Vec<Self>),
}

/// Where a route leads: an address, an interface, or an address on an interface; `@` names the
/// routing table in which the address is resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gateway {
    /// The next router's address.
    pub address: Option<IpAddr>,
    /// The interface that leads there.
    pub interface: Option<Box<str>>,
    /// The routing table that resolves the address.
    pub table: Option<Box<str>>,
}

impl Value {
    /// Text of the user.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// The truth of a Boolean.
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer; also of a hexadecimal one that fits.
    pub fn as_number(&self) -> Option<i64> {
        match self {
            Self::Number(value) | Self::Rate(value) | Self::Kib(value) => Some(*value),
            Self::Hex(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(&self) -> Option<i64> {
        match self {
            Self::Time(nanos) => Some(*nanos),
            _ => None,
        }
    }

    /// The text, word or name.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Text(text) | Self::Reference(text) => Some(text),
            _ => None,
        }
    }

    /// The address; of a prefix too.
    pub fn as_address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Prefix(net) => Some(net.addr()),
            _ => None,
        }
    }

    /// The prefix; an address is a prefix of its full length.
    pub fn as_prefix(&self) -> Option<IpNet> {
        match self {
            Self::Prefix(net) => Some(*net),
            Self::Address(address) => Some(IpNet::from(*address)),
            _ => None,
        }
    }

    /// The hardware address.
    pub const fn as_mac(&self) -> Option<[u8; 6]> {
        match self {
            Self::Mac(mac) => Some(*mac),
            _ => None,
        }
    }

    /// Whether the value is one that must not be.
    pub const fn is_not(&self) -> bool {
        matches!(self, Self::Not(_))
    }

    /// The elements of a list, also of one that must not be; a single value is a list of itself.
    pub fn as_list(&self) -> &[Self] {
        match self {
            Self::List(values) => values,
            Self::Not(inner) => inner.as_list(),
            single => std::slice::from_ref(single),
        }
    }

    /// Whether the value stands for nothing: empty text or an empty list.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Reference(text) => text.is_empty(),
            Self::List(values) => values.is_empty(),
            _ => false,
        }
    }

    /// Whether tables align the value to the right.
    pub const fn is_numeric(&self) -> bool {
        matches!(
            self,
            Self::Number(_) | Self::Hex(_) | Self::Rate(_) | Self::Kib(_)
        )
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => f.write_str(if *value { "yes" } else { "no" }),
            Self::Number(value) => write!(f, "{value}"),
            Self::Hex(value) => write!(f, "0x{value:x}"),
            Self::Time(nanos) => f.write_str(&time::units(*nanos)),
            Self::Times(min, max) => write!(f, "{}-{}", time::units(*min), time::units(*max)),
            Self::Word(word) => f.write_str(word),
            Self::Text(text) | Self::Reference(text) => f.write_str(text),
            Self::Address(address) => write!(f, "{address}"),
            Self::Prefix(net) => write!(f, "{net}"),
            Self::Mac([a, b, c, d, e, g]) => {
                write!(f, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{g:02X}")
            }
            Self::Gateway(gateway) => write!(f, "{gateway}"),
            Self::Rate(number) | Self::Kib(number) if f.alternate() => write!(f, "{number}"),
            Self::Rate(rate) => match rate {
                0 => f.write_str("0"),
                rate if rate % 1_000_000_000 == 0 => write!(f, "{}G", rate / 1_000_000_000),
                rate if rate % 1_000_000 == 0 => write!(f, "{}M", rate / 1_000_000),
                rate if rate % 1_000 == 0 => write!(f, "{}k", rate / 1_000),
                rate => write!(f, "{rate}"),
            },
            Self::Thousandths(number) => {
                let decimals = format!("{:03}", number % 1_000);
                match decimals.trim_end_matches('0') {
                    "" => write!(f, "{}", number / 1_000),
                    decimals => write!(f, "{}.{decimals}", number / 1_000),
                }
            }
            Self::Kib(count) => write!(f, "{count}KiB"),
            Self::Not(value) => {
                f.write_str("!")?;
                fmt::Display::fmt(value, f)
            }
            Self::Parts(parts) => parts.iter().try_for_each(|(before, value)| {
                f.write_str(before)?;
                fmt::Display::fmt(value, f)
            }),
            Self::Tuple(between, values) => joined(f, between, values),
            Self::List(values) => joined(f, ",", values),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, between: &str, values: &[Value]) -> fmt::Result {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        fmt::Display::fmt(value, f)?;
    }
    Ok(())
}

impl fmt::Display for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(address) = self.address {
            write!(f, "{address}")?;
        }
        if let Some(interface) = &self.interface {
            write!(
                f,
                "{}{interface}",
                if self.address.is_some() { "%" } else { "" }
            )?;
        }
        match &self.table {
            Some(table) => write!(f, "@{table}"),
            None => Ok(()),
        }
    }
}
