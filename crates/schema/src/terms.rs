//! Short words for the properties that most menus are made of, so that one is one line.

use menu::{Family, Kind, Property};

pub(crate) use crate::brief::{named, no, read as shown, text, yes};

/// The words of a certificate that is not named.
const CERTIFICATE: Kind = Kind::Or(&["none"], &Kind::Name);

/// `yes`, `no`, or nothing said.
pub(crate) const fn maybe(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Bool, help).optional()
}

/// A number between two bounds.
pub(crate) const fn number(name: &'static str, min: i64, max: i64, help: &'static str) -> Property {
    Property::new(name, Kind::Number { min, max }, help)
}

/// One of some words.
pub(crate) const fn words(
    name: &'static str,
    words: &'static [&'static str],
    help: &'static str,
) -> Property {
    Property::new(name, Kind::Words(words), help)
}

/// Several values of a type.
pub(crate) const fn list(name: &'static str, kind: &'static Kind, help: &'static str) -> Property {
    Property::new(name, Kind::List(kind), help)
}

/// Free text that may be absent.
pub(crate) const fn note(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help).optional()
}

/// Text that exports hide.
pub(crate) const fn secret(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Text, help)
        .default("")
        .sensitive()
}

/// Any span of time.
pub(crate) const fn span(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::SPAN, help)
}

/// A span of time between two bounds in milliseconds.
pub(crate) const fn within(
    name: &'static str,
    min_ms: i64,
    max_ms: i64,
    help: &'static str,
) -> Property {
    let kind = Kind::Time {
        min: min_ms * 1_000_000,
        max: max_ms * 1_000_000,
    };
    Property::new(name, kind, help)
}

/// The name of an item of a space of names.
pub(crate) const fn refer(name: &'static str, space: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Reference(space), help)
}

/// A hardware address.
pub(crate) const fn mac(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Mac, help)
}

/// An IPv4 address.
pub(crate) const fn ipv4(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Address(Family::V4), help)
}

/// An address of either family.
pub(crate) const fn address(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Address(Family::Any), help)
}

/// A certificate by its name, or none.
pub(crate) const fn certificate(name: &'static str, help: &'static str) -> Property {
    Property::new(name, CERTIFICATE, help).default("none")
}

/// A host by address or by name.
pub(crate) const HOST: Kind = Kind::Either(&Kind::Address(Family::Any), &Kind::Host);

/// Ways of authentication of PPP.
pub(crate) const PPP_AUTHENTICATION: Kind = Kind::Words(&["chap", "mschap1", "mschap2", "pap"]);

/// The routing tables and interfaces of a customer.
pub(crate) const VRF: Kind = Kind::Or(&["main"], &Kind::Reference("routing-table"));

/// The same where it may be made later than who is in it, as of interfaces.
pub(crate) const LATER_VRF: Kind = Kind::Or(&["main"], &Kind::Name);

/// The VRF that something is in.
pub(crate) const IN_VRF: Property =
    Property::new("vrf", VRF, "The VRF that it is in").default("main");

/// The name of a pool of IPv6 prefixes.
pub(crate) const POOL6: Kind = Kind::Reference("ipv6-pool");

/// The name of a pool of addresses.
pub(crate) const POOL: Kind = Kind::Reference("pool");

/// From one time of the day to another, on some days: `8h-17h,mon,tue`.
pub(crate) const TIME_OF_WEEK: Kind = crate::firewall::TIME;

/// A number of hosts or events, or no such limit.
pub(crate) const HOST_LIMIT: Kind = Kind::Or(
    &["disabled"],
    &Kind::Number {
        min: 0,
        max: 65_535,
    },
);
