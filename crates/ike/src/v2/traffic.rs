//! Traffic selectors (RFC 7296, 2.9): policies as ranges, and narrowing of ranges by policies.

use core::net::IpAddr;

use ipnet::{IpNet, Ipv4Subnets, Ipv6Subnets};

use crate::config::{GeneratePolicy, Policy, Selector};
use crate::message::Range;

/// Returns the range of a selector.
pub(super) fn range(selector: &Selector, protocol: u8) -> Range {
    let ports = if selector.port == 0 {
        (0, u16::MAX)
    } else {
        (selector.port, selector.port)
    };
    Range {
        protocol,
        ports,
        addresses: (selector.prefix.network(), selector.prefix.broadcast()),
    }
}

/// Returns the first prefix of a range.
fn first_prefix(first: IpAddr, last: IpAddr) -> Option<IpNet> {
    match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            Ipv4Subnets::new(first, last, 0).next().map(IpNet::V4)
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            Ipv6Subnets::new(first, last, 0).next().map(IpNet::V6)
        }
        _ => None,
    }
}

/// Returns the common part of range and selector: the whole selector if the range contains it.
fn meet(range: &Range, selector: &Selector) -> Option<Selector> {
    let (first, last) = (selector.prefix.network(), selector.prefix.broadcast());
    if first.is_ipv4() != range.addresses.0.is_ipv4() {
        return None;
    }
    let within = range.addresses.0 <= first && last <= range.addresses.1;
    let prefix = if within {
        selector.prefix.trunc()
    } else {
        let common = (range.addresses.0.max(first), range.addresses.1.min(last));
        first_prefix(common.0, common.1).filter(|_| common.0 <= common.1)?
    };
    let port = match (range.ports, selector.port) {
        ((0, u16::MAX), port) => port,
        ((first, last), 0) if first == last => first,
        ((first, last), port) if port != 0 && (first..=last).contains(&port) => port,
        _ => return None,
    };
    Some(Selector { prefix, port })
}

/// Local selector, remote selector and protocol.
pub(super) type Traffic = (Selector, Selector, u8);

/// Returns the common part of a policy and the peer's ranges (local, then remote).
pub(super) fn narrow(policy: &Policy, own: &[Range], theirs: &[Range]) -> Option<Traffic> {
    own.iter().find_map(|own| {
        theirs.iter().find_map(|theirs| {
            let fits = [own.protocol, theirs.protocol]
                .iter()
                .all(|one| [0, policy.protocol].contains(one));
            let source = meet(own, &policy.source).filter(|_| fits)?;
            Some((source, meet(theirs, &policy.destination)?, policy.protocol))
        })
    })
}

/// Returns the part of the peer's ranges that a template permits.
pub(super) fn generate(
    template: &Policy,
    generate: GeneratePolicy,
    own: &[Range],
    theirs: &[Range],
) -> Option<Traffic> {
    // RouterOS: a template for all IPv6 addresses covers all IPv4 addresses as well (default template).
    let widened = |selector: &Selector, range: &Range| {
        let all = selector.prefix.prefix_len() == 0 && range.addresses.0.is_ipv4();
        let prefix = if all {
            IpNet::V4(ipnet::Ipv4Net::default())
        } else {
            selector.prefix
        };
        let port = if generate == GeneratePolicy::PortOverride {
            0
        } else {
            selector.port
        };
        Selector { prefix, port }
    };
    let opened = |range: &Range| match generate {
        GeneratePolicy::PortOverride => Range {
            ports: (0, u16::MAX),
            ..*range
        },
        _ => *range,
    };
    own.iter().find_map(|own| {
        theirs.iter().find_map(|theirs| {
            let (own, theirs) = (opened(own), opened(theirs));
            let asked = own.protocol.max(theirs.protocol);
            let fits = [0, asked].contains(&template.protocol) || asked == 0;
            let source = meet(&own, &widened(&template.source, &own)).filter(|_| fits)?;
            let destination = meet(&theirs, &widened(&template.destination, &theirs))?;
            Some((source, destination, asked.max(template.protocol)))
        })
    })
}

/// Returns true if one range contains the other.
pub(super) fn is_within(inner: &Range, outer: &Range) -> bool {
    let protocol = outer.protocol == 0 || outer.protocol == inner.protocol;
    let ports = outer.ports.0 <= inner.ports.0 && inner.ports.1 <= outer.ports.1;
    let family = outer.addresses.0.is_ipv4() == inner.addresses.0.is_ipv4();
    let addresses =
        outer.addresses.0 <= inner.addresses.0 && inner.addresses.1 <= outer.addresses.1;
    protocol && ports && family && addresses
}

/// Returns the first prefix of a range as a selector.
pub(super) fn selector(range: &Range) -> Option<Selector> {
    let port = if range.ports.0 == range.ports.1 {
        range.ports.0
    } else {
        0
    };
    let prefix = first_prefix(range.addresses.0, range.addresses.1)?;
    Some(Selector { prefix, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(prefix: &str, port: u16) -> Selector {
        let prefix = prefix.parse().expect("a prefix");
        Selector { prefix, port }
    }

    #[test]
    fn the_intersection_of_a_range_and_a_selector_is_one_prefix() {
        let all = range(&of("0.0.0.0/0", 0), 0);
        assert_eq!(
            meet(&all, &of("10.1.0.0/16", 80)),
            Some(of("10.1.0.0/16", 80))
        );
        let host = range(&of("10.1.2.3/32", 80), 6);
        assert_eq!(
            meet(&host, &of("10.1.0.0/16", 0)),
            Some(of("10.1.2.3/32", 80))
        );
        assert_eq!(meet(&host, &of("10.1.0.0/16", 81)), None);
        assert_eq!(meet(&host, &of("10.2.0.0/16", 0)), None);
        assert_eq!(meet(&host, &of("::/0", 0)), None);
        let odd = Range {
            addresses: (
                "10.1.0.4".parse().expect("one"),
                "10.1.0.13".parse().expect("one"),
            ),
            ..all
        };
        assert_eq!(meet(&odd, &of("10.0.0.0/8", 0)), Some(of("10.1.0.4/30", 0)));
    }
}
