//! IPv6 neighbour discovery as a [`Family`] (RFC 4861, 7; duplicate address detection: RFC 4862, 5.4).

use core::net::Ipv6Addr;

use machine::Duration;
use wire::icmpv6::{self, Type};
use wire::ndp::{HOP_LIMIT, Message, NdpOption, NeighbourFlags, Options};
use wire::{Mac, Protocol, ipv6};

use super::{Advert, Contents, Family, ParseError, Prefix, Question};
use crate::Frame;
use crate::outbound::ALL_NODES;

/// IPv6 neighbour discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discovery;

impl Family for Discovery {
    type Address = Ipv6Addr;

    // DupAddrDetectTransmits and RetransTimer (RFC 4862, 5.1; RFC 4861, 10).
    const PROBES: u8 = 1;
    const PROBE_GAP_MIN: Duration = Duration::from_secs(1);
    const PROBE_GAP_MAX: Duration = Duration::from_secs(1);
    const PROBE_WAIT: Duration = Duration::from_secs(1);
    // MAX_NEIGHBOR_ADVERTISEMENT (RFC 4861, 10; rationale: RFC 9131, 6.1.1).
    const ANNOUNCEMENTS: u8 = 3;
    const ANNOUNCE_GAP: Duration = Duration::from_secs(1);
    const LOCK_TIME: Duration = Duration::ZERO;
    // IPv6 has no defence of addresses in use (RFC 4862, 5.4.4).
    const DEFENDS: bool = false;
    const ASKS_FROM_LINK_LOCAL: bool = true;
    const PASSES_QUESTIONS: bool = false;

    fn parse(packet: &[u8], _own_mac: Mac) -> Result<Contents<Ipv6Addr>, ParseError> {
        let ip = ipv6::Packet::new_checked(packet).map_err(|_| ParseError::Malformed)?;
        let upper = ip.upper().map_err(|_| ParseError::Malformed)?;
        // Fragmented neighbour discovery messages are ignored (RFC 6980, 5).
        if upper.protocol != Protocol::ICMPV6 || upper.fragment.is_some() {
            return Err(ParseError::Malformed);
        }
        // Hop limit 255 proves that the sender is on the link (RFC 4861, 7.1.1).
        if ip.hop_limit() != HOP_LIMIT {
            return Err(ParseError::Invalid);
        }
        let icmp = icmpv6::Packet::new_verified(upper.payload, ip.src(), ip.dst())
            .map_err(|_| ParseError::Malformed)?;
        if icmp.kind() == Type::REDIRECT {
            // A router ignores redirects (RFC 4861, 8.2).
            return Ok(Contents::Nothing);
        }
        let message = Message::parse(&icmp).map_err(|_| ParseError::Malformed)?;
        convert(&message, ip.src(), ip.dst())
    }

    fn solicit(
        own_mac: Mac,
        source: Option<Ipv6Addr>,
        target: Ipv6Addr,
        to: Option<Mac>,
    ) -> Option<Frame> {
        // A solicitation without source address would be a probe (RFC 4861, 7.2.2).
        let source = source?;
        let mut options = Vec::new();
        NdpOption::Source(own_mac).emit(&mut options);
        let dst = match to {
            Some(_) => target,
            None => ipv6::solicited_node(target),
        };
        let message = Message::NeighbourSolicitation {
            target,
            options: Options::new_checked(&options).unwrap_or_default(),
        };
        let mac = to.unwrap_or(Mac::of_ipv6_group(dst));
        Some(Frame::discovery(mac, source, dst, &message))
    }

    fn probe(_own_mac: Mac, target: Ipv6Addr) -> Frame {
        let dst = ipv6::solicited_node(target);
        let message = Message::NeighbourSolicitation {
            target,
            options: Options::NONE,
        };
        Frame::discovery(
            Mac::of_ipv6_group(dst),
            Ipv6Addr::UNSPECIFIED,
            dst,
            &message,
        )
    }

    fn announce(own_mac: Mac, address: Ipv6Addr, router: bool) -> Frame {
        let said = Said::alone(own_mac, address, router);
        advertise(&said, ALL_NODES, None)
    }

    fn answer(own_mac: Mac, question: &Question<Ipv6Addr>, router: bool) -> Frame {
        reply(&Said::alone(own_mac, question.target, router), question)
    }

    fn answer_shared(
        own_mac: Mac,
        source: Ipv6Addr,
        question: &Question<Ipv6Addr>,
        router: bool,
    ) -> Frame {
        // RFC 4861, 7.2.4 and 7.2.7: the first answer is kept, so override is clear. The recommended random delay is
        // omitted, because it would delay the first packet.
        let said = Said {
            source,
            overrides: false,
            ..Said::alone(own_mac, question.target, router)
        };
        reply(&said, question)
    }

    // Subnet-router anycast (RFC 4291, 2.6.1); not on point-to-point links (RFC 6164, 5.1 and 5.2).
    fn anycast(address: Ipv6Addr, len: u8) -> Option<Ipv6Addr> {
        (len < 127).then(|| Self::mask(address, len))
    }

    fn group(address: Ipv6Addr) -> Option<Ipv6Addr> {
        Some(ipv6::solicited_node(address))
    }

    fn is_unicast(address: Ipv6Addr) -> bool {
        !(address.is_multicast() || address.is_unspecified() || address.is_loopback())
    }

    fn is_link_local(address: Ipv6Addr) -> bool {
        address.is_unicast_link_local()
    }

    fn mask(address: Ipv6Addr, len: u8) -> Ipv6Addr {
        let drop = 128 - u32::from(len.min(128));
        Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(drop).unwrap_or(0))
    }

    fn is_host(address: Ipv6Addr, prefix: Prefix<Ipv6Addr>) -> bool {
        Self::mask(address, prefix.len) == prefix.network
    }
}

/// Converts a message after the validation rules that need its addresses (RFC 4861, 6.1 and 7.1).
fn convert(
    message: &Message<'_>,
    src: Ipv6Addr,
    dst: Ipv6Addr,
) -> Result<Contents<Ipv6Addr>, ParseError> {
    let asker = (!src.is_unspecified()).then_some(src);
    if asker.is_some_and(|asker| !Discovery::is_unicast(asker)) {
        return Err(ParseError::Invalid);
    }
    let believable = |mac: Option<Mac>| mac.filter(|mac| mac.is_unicast());
    match message {
        Message::NeighbourSolicitation { target, options } => {
            let mac = options.source();
            let to_group = dst == ipv6::solicited_node(*target);
            // RFC 4861, 7.1.1: a probe goes to the solicited-node group and has no link-layer address.
            if asker.is_none() && (mac.is_some() || !to_group) {
                return Err(ParseError::Invalid);
            }
            Ok(Contents::Asks {
                target: *target,
                asker,
                mac: believable(mac),
            })
        }
        Message::NeighbourAdvertisement {
            flags,
            target,
            options,
        } => {
            // RFC 4861, 7.1.2: a multicast advertisement must not be solicited.
            if asker.is_none() || (dst.is_multicast() && flags.solicited) {
                return Err(ParseError::Invalid);
            }
            Ok(Contents::Says {
                address: *target,
                mac: believable(options.target()),
                advert: Advert {
                    solicited: flags.solicited,
                    overrides: flags.overrides,
                    gratuitous: dst.is_multicast(),
                    router: Some(flags.router),
                },
            })
        }
        Message::RouterSolicitation { options } => {
            let mac = options.source();
            // RFC 4861, 6.1.1.
            if asker.is_none() && mac.is_some() {
                return Err(ParseError::Invalid);
            }
            Ok(names(asker, believable(mac), false))
        }
        Message::RouterAdvertisement { options, .. } => {
            // RFC 4861, 6.1.2.
            if !src.is_unicast_link_local() {
                return Err(ParseError::Invalid);
            }
            Ok(names(asker, believable(options.source()), true))
        }
        Message::Redirect { .. } => Ok(Contents::Nothing),
    }
}

fn names(asker: Option<Ipv6Addr>, mac: Option<Mac>, router: bool) -> Contents<Ipv6Addr> {
    match (asker, mac) {
        (Some(address), Some(mac)) => Contents::Names {
            address,
            mac,
            router,
        },
        _ => Contents::Nothing,
    }
}

/// Contents of a neighbour advertisement.
struct Said {
    own_mac: Mac,
    target: Ipv6Addr,
    source: Ipv6Addr,
    router: bool,
    overrides: bool,
}

impl Said {
    /// Advertisement for a unicast address of this router.
    fn alone(own_mac: Mac, target: Ipv6Addr, router: bool) -> Self {
        Self {
            own_mac,
            target,
            source: target,
            router,
            overrides: true,
        }
    }
}

/// Builds the answer to a solicitation; a probe is answered to all nodes, because it has no source (RFC 4861, 7.2.4).
fn reply(said: &Said, question: &Question<Ipv6Addr>) -> Frame {
    match question.asker {
        Some(asker) => advertise(said, asker, Some(question.asker_mac)),
        None => advertise(said, ALL_NODES, None),
    }
}

/// Builds an advertisement; it is solicited if it goes to one host `to`.
fn advertise(said: &Said, dst: Ipv6Addr, to: Option<Mac>) -> Frame {
    let mut options = Vec::new();
    NdpOption::Target(said.own_mac).emit(&mut options);
    let message = Message::NeighbourAdvertisement {
        flags: NeighbourFlags {
            router: said.router,
            solicited: to.is_some(),
            overrides: said.overrides,
        },
        target: said.target,
        options: Options::new_checked(&options).unwrap_or_default(),
    };
    let mac = to.unwrap_or(Mac::of_ipv6_group(dst));
    Frame::discovery(mac, said.source, dst, &message)
}
