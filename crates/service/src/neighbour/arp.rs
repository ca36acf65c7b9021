//! ARP as a [`Family`] (RFC 826; probes, announcements and defence: RFC 5227).

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::Duration;
use wire::arp::{Operation, Repr};
use wire::{EtherType, Mac};

use super::{Advert, Contents, Family, ParseError, Prefix, Question};
use crate::Frame;

/// ARP for IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp;

impl Family for Arp {
    type Address = Ipv4Addr;

    // RFC 5227, 1.1.
    const PROBES: u8 = 3;
    const PROBE_GAP_MIN: Duration = Duration::from_secs(1);
    const PROBE_GAP_MAX: Duration = Duration::from_secs(2);
    const PROBE_WAIT: Duration = Duration::from_secs(2);
    const ANNOUNCEMENTS: u8 = 2;
    const ANNOUNCE_GAP: Duration = Duration::from_secs(2);
    const LOCK_TIME: Duration = Duration::from_secs(1);
    const DEFENDS: bool = true;
    const ASKS_FROM_LINK_LOCAL: bool = false;
    const PASSES_QUESTIONS: bool = true;

    fn parse(packet: &[u8], own_mac: Mac) -> Result<Contents<Ipv4Addr>, ParseError> {
        let arp = Repr::parse(packet).map_err(|_| ParseError::Malformed)?;
        // Multicast sender addresses are ignored (RFC 1812, 3.3.2).
        if !arp.sender_mac.is_unicast() {
            return Err(ParseError::Invalid);
        }
        let asker = (!arp.sender.is_unspecified()).then_some(arp.sender);
        match arp.operation {
            Operation::REQUEST if asker == Some(arp.target) => Ok(says(&arp, own_mac)),
            Operation::REQUEST => Ok(Contents::Asks {
                target: arp.target,
                asker,
                mac: Some(arp.sender_mac),
            }),
            Operation::REPLY if asker.is_some() => Ok(says(&arp, own_mac)),
            _ => Err(ParseError::Invalid),
        }
    }

    fn solicit(
        own_mac: Mac,
        source: Option<Ipv4Addr>,
        target: Ipv4Addr,
        to: Option<Mac>,
    ) -> Option<Frame> {
        let source = source.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let request = request(own_mac, source, target);
        Some(frame(to.unwrap_or(Mac::BROADCAST), &request))
    }

    fn probe(own_mac: Mac, target: Ipv4Addr) -> Frame {
        let request = request(own_mac, Ipv4Addr::UNSPECIFIED, target);
        frame(Mac::BROADCAST, &request)
    }

    fn announce(own_mac: Mac, address: Ipv4Addr, _router: bool) -> Frame {
        frame(Mac::BROADCAST, &request(own_mac, address, address))
    }

    fn answer(own_mac: Mac, question: &Question<Ipv4Addr>, _router: bool) -> Frame {
        let reply = Repr {
            operation: Operation::REPLY,
            sender_mac: own_mac,
            sender: question.target,
            target_mac: question.asker_mac,
            target: question.asker.unwrap_or(Ipv4Addr::UNSPECIFIED),
        };
        frame(question.asker_mac, &reply)
    }

    fn answer_shared(
        own_mac: Mac,
        _source: Ipv4Addr,
        question: &Question<Ipv4Addr>,
        router: bool,
    ) -> Frame {
        Self::answer(own_mac, question, router)
    }

    fn anycast(_address: Ipv4Addr, _len: u8) -> Option<Ipv4Addr> {
        None
    }

    fn group(_address: Ipv4Addr) -> Option<Ipv6Addr> {
        None
    }

    fn is_unicast(address: Ipv4Addr) -> bool {
        // Class E counts as unicast, as in Linux and RouterOS; 0/8 and loopback do not.
        let nobody = address.octets()[0] == 0 || address.is_loopback();
        !(nobody || address.is_multicast() || address.is_broadcast())
    }

    fn is_link_local(address: Ipv4Addr) -> bool {
        address.is_link_local()
    }

    fn mask(address: Ipv4Addr, len: u8) -> Ipv4Addr {
        let drop = 32 - u32::from(len.min(32));
        Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(drop).unwrap_or(0))
    }

    fn is_host(address: Ipv4Addr, prefix: Prefix<Ipv4Addr>) -> bool {
        if Self::mask(address, prefix.len) != prefix.network {
            return false;
        }
        // First and last address of a network are not host addresses, except in a /31 or /32 (RFC 3021).
        let hosts = u32::MAX.checked_shr(u32::from(prefix.len)).unwrap_or(0);
        let host = address.to_bits() & hosts;
        prefix.len >= 31 || (host != 0 && host != hosts)
    }
}

/// Converts a reply or announcement. It is solicited if it was sent to this router's MAC address.
fn says(arp: &Repr, own_mac: Mac) -> Contents<Ipv4Addr> {
    let gratuitous = arp.sender == arp.target;
    let reply = arp.operation == Operation::REPLY;
    Contents::Says {
        address: arp.sender,
        mac: Some(arp.sender_mac),
        advert: Advert {
            solicited: reply && !gratuitous && arp.target_mac == own_mac,
            overrides: true,
            gratuitous,
            router: None,
        },
    }
}

fn request(own_mac: Mac, sender: Ipv4Addr, target: Ipv4Addr) -> Repr {
    Repr {
        operation: Operation::REQUEST,
        sender_mac: own_mac,
        sender,
        target_mac: Mac::ZERO,
        target,
    }
}

fn frame(dst: Mac, packet: &Repr) -> Frame {
    Frame {
        dst,
        ether_type: EtherType::ARP,
        payload: packet.to_bytes().to_vec(),
    }
}
