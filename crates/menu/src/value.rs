//! Typed property values.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::time;

/// A typed value. `Display` gives the text of menus, export, API and REST, without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// `yes` or `no`.
    Bool(bool),
    /// An integer.
    Number(i64),
    /// An integer shown in hexadecimal, such as a bit mask.
    Hex(u64),
    /// A duration in nanoseconds.
    Time(i64),
    /// Two durations in nanoseconds, the shorter first.
    Times(i64, i64),
    /// One of the words that the property's type lists.
    Word(&'static str),
    /// Text entered by the user.
    Text(Box<str>),
    /// The name of an item in another menu.
    Reference(Box<str>),
    /// An IPv4 or IPv6 address.
    Address(IpAddr),
    /// An IP address with a prefix length; host bits are kept.
    Prefix(IpNet),
    /// A MAC address.
    Mac([u8; 6]),
    /// The gateway of a route.
    Gateway(Box<Gateway>),
    /// A rate per second.
    Rate(i64),
    /// A size in KiB.
    Kib(i64),
    /// A number in thousandths.
    Thousandths(i64),
    /// A measured rate in bits per second. RouterOS: `446.6kbps` in the console, `446600` for API clients.
    BitRate(i64),
    /// A measured number in thousandths, and its unit with a leading space. RouterOS: `3.109 PPM` in the
    /// console, `3.109` for API clients.
    Measured(i64, &'static str),
    /// Several values with a separator.
    Tuple(&'static str, Box<[Self]>),
    /// The negation of a value.
    Not(Box<Self>),
    /// Several values, each with the separator before it.
    Parts(Box<[(&'static str, Self)]>),
    /// A list of values.
    List(Vec<Self>),
}

/// The gateway of a route: an address, an interface, or an address on an interface; `@` names the routing table
/// in which the address is resolved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gateway {
    /// The address of the next hop.
    pub address: Option<IpAddr>,
    /// The egress interface.
    pub interface: Option<Box<str>>,
    /// The routing table that resolves the address.
    pub table: Option<Box<str>>,
}

impl Value {
    /// Creates a text value.
    pub fn text(text: impl Into<Box<str>>) -> Self {
        Self::Text(text.into())
    }

    /// Returns `part` of `whole` as a percentage. RouterOS: at most one decimal.
    pub fn share(part: u64, whole: u64) -> Self {
        let tenths = u128::from(part) * 1_000;
        let tenths = tenths.checked_div(u128::from(whole)).unwrap_or(0);
        Self::Measured(i64::try_from(tenths * 100).unwrap_or(i64::MAX), "%")
    }

    /// Returns the value of a Boolean.
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns an integer value, also of a hexadecimal number within range.
    pub fn as_number(&self) -> Option<i64> {
        match self {
            Self::Number(value) | Self::Rate(value) | Self::Kib(value) | Self::BitRate(value) => {
                Some(*value)
            }
            Self::Hex(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// Returns a duration in nanoseconds.
    pub const fn as_nanos(&self) -> Option<i64> {
        match self {
            Self::Time(nanos) => Some(*nanos),
            _ => None,
        }
    }

    /// Returns a text, word or name.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Text(text) | Self::Reference(text) => Some(text),
            _ => None,
        }
    }

    /// Returns an IP address, or the address of a prefix.
    pub fn as_address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) => Some(*address),
            Self::Prefix(net) => Some(net.addr()),
            _ => None,
        }
    }

    /// Returns a prefix. An address counts as a prefix of full length.
    pub fn as_prefix(&self) -> Option<IpNet> {
        match self {
            Self::Prefix(net) => Some(*net),
            Self::Address(address) => Some(IpNet::from(*address)),
            _ => None,
        }
    }

    /// Returns a MAC address.
    pub const fn as_mac(&self) -> Option<[u8; 6]> {
        match self {
            Self::Mac(mac) => Some(*mac),
            _ => None,
        }
    }

    /// True for a negated value.
    pub const fn is_not(&self) -> bool {
        matches!(self, Self::Not(_))
    }

    /// Returns the elements of a list, also of a negated one. A single value counts as a list of one element.
    pub fn as_list(&self) -> &[Self] {
        match self {
            Self::List(values) => values,
            Self::Not(inner) => inner.as_list(),
            single => std::slice::from_ref(single),
        }
    }

    /// True for empty text and empty lists.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) | Self::Reference(text) => text.is_empty(),
            Self::List(values) => values.is_empty(),
            _ => false,
        }
    }

    /// True if tables align the value to the right.
    pub const fn is_numeric(&self) -> bool {
        matches!(
            self,
            Self::Number(_) | Self::Hex(_) | Self::Rate(_) | Self::Kib(_) | Self::BitRate(_)
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
            Self::Rate(number) | Self::Kib(number) | Self::BitRate(number) if f.alternate() => {
                write!(f, "{number}")
            }
            Self::BitRate(bits) => f.write_str(&bits_per_second(*bits)),
            Self::Rate(rate) => match rate {
                0 => f.write_str("0"),
                rate if rate % 1_000_000_000 == 0 => write!(f, "{}G", rate / 1_000_000_000),
                rate if rate % 1_000_000 == 0 => write!(f, "{}M", rate / 1_000_000),
                rate if rate % 1_000 == 0 => write!(f, "{}k", rate / 1_000),
                rate => write!(f, "{rate}"),
            },
            Self::Thousandths(number) => f.write_str(&thousandths(*number)),
            Self::Measured(number, _) if f.alternate() => f.write_str(&thousandths(*number)),
            Self::Measured(number, unit) => write!(f, "{}{unit}", thousandths(*number)),
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

/// Formats thousandths without trailing zeros: `-0.177`, `3.1`, `0`.
fn thousandths(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let (whole, rest) = (number.unsigned_abs() / 1_000, number.unsigned_abs() % 1_000);
    match format!("{rest:03}").trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        decimals => format!("{sign}{whole}.{decimals}"),
    }
}

/// Formats bits per second in the largest unit reached, with one decimal: `0bps`, `155.3kbps`, `5.1Mbps`.
fn bits_per_second(bits: i64) -> String {
    let units = [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)];
    let Some((unit, step)) = units.into_iter().find(|(_, step)| bits >= *step) else {
        return format!("{bits}bps");
    };
    format!("{}.{}{unit}bps", bits / step, bits % step / (step / 10))
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

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn measured_rates_have_a_unit_for_people_and_none_for_programs() {
        let shown = [
            0,
            999,
            1_000,
            155_399,
            446_600,
            5_100_000,
            2_000_000_000,
            i64::MAX,
        ]
        .map(|bits| Value::BitRate(bits).to_string());
        let expected = [
            "0bps",
            "999bps",
            "1.0kbps",
            "155.3kbps",
            "446.6kbps",
            "5.1Mbps",
            "2.0Gbps",
            "9223372036.8Gbps",
        ];
        assert_eq!(shown, expected);
        let pair = [Value::BitRate(446_600), Value::BitRate(0)];
        let pair = Value::Tuple("/", pair.into());
        assert_eq!(pair.to_string(), "446.6kbps/0bps");
        assert_eq!(format!("{pair:#}"), "446600/0");
    }

    #[test]
    fn measured_numbers_have_a_unit_for_people_and_none_for_programs() {
        let drifts = [0, 3_109, -41_723, -177, 33_300].map(|drift| Value::Measured(drift, " PPM"));
        let shown = drifts.clone().map(|drift| drift.to_string());
        assert_eq!(
            shown,
            [
                "0 PPM",
                "3.109 PPM",
                "-41.723 PPM",
                "-0.177 PPM",
                "33.3 PPM"
            ]
        );
        let told = drifts.map(|drift| format!("{drift:#}"));
        assert_eq!(told, ["0", "3.109", "-41.723", "-0.177", "33.3"]);
    }

    #[test]
    fn shares_have_one_decimal_at_most() {
        let shares = [(1, 3), (1, 2), (u64::MAX, u64::MAX), (0, 0)];
        let shares = shares.map(|(part, whole)| Value::share(part, whole));
        let shown = shares.clone().map(|share| share.to_string());
        assert_eq!(shown, ["33.3%", "50%", "100%", "0%"]);
        assert_eq!(
            shares.map(|share| format!("{share:#}")),
            ["33.3", "50", "100", "0"]
        );
    }
}
