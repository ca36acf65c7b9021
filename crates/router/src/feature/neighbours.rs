//! Reception of ARP and Neighbor Discovery. Control has the neighbour tables, since routes,
//! resolution and addresses use them at every step.

use dataplane::DropReason;
use dataplane::service::{FrameContent, Match, Rate, Service};
use service::neighbour::{Arp, Discovery, Family as _};
use wire::EtherType;

use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature};
use crate::running::Running;

/// Name of the service of ARP (RFC 826).
pub(crate) const ARP: &str = "arp";
/// Name of the service of neighbour and router discovery (RFC 4861).
pub(crate) const DISCOVERY: &str = "nd";
/// ICMPv6 types: solicitations, advertisements, redirects.
const TYPES: core::ops::RangeInclusive<u8> = 133..=137;
/// Allows 4,096 hosts to send a request at once and get answers within a second.
const RATE: Rate = Rate {
    per_second: 10_000,
    burst: 512,
};

/// Returns the service of ARP, for all features that receive it.
pub(crate) fn arp() -> Service {
    let arp = Match::Frame(FrameContent::EtherType(EtherType::ARP.0));
    Service::new(ARP, [arp], RATE)
}

/// Returns the service of Neighbor Discovery.
pub(crate) fn discovery() -> Service {
    let types = TYPES.map(|kind| Match::Icmp { ipv6: true, kind });
    Service::new(DISCOVERY, types.collect::<Vec<_>>(), RATE).by_link()
}

/// Receives ARP and Neighbor Discovery for control.
#[derive(Debug, Default)]
pub(crate) struct Neighbours;

impl Feature for Neighbours {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        vec![arp(), discovery()]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        _: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let (packet, from) = (heard.packet(), heard.source_mac());
        let ipv6 = heard.service == DISCOVERY;
        let malformed = match ipv6 {
            false => Arp::parse(packet, from)
                .err()
                .map(|_| DropReason::ArpMalformed),
            true => { Discovery::parse(packet, from).err() }.map(|_| DropReason::IcmpMalformed),
        };
        if let Some(reason) = malformed {
            return ReceiveOutcome::Bad(reason);
        }
        out.push(Effect::Neighbour {
            ipv6,
            interface: heard.interface,
            packet: packet.into(),
            from,
        });
        ReceiveOutcome::Taken
    }
}
