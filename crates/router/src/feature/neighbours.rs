//! What ARP and neighbour discovery hear. The tables of neighbours are control's: routes, resolution and addresses
//! reach into them at every step.

use dataplane::DropReason;
use dataplane::service::{Carried, Match, Rate, Service};
use service::neighbour::{Arp, Discovery, Family as _};
use wire::EtherType;

use super::hear::{Heard, Hearing};
use super::{Effect, Effects, Feature};
use crate::running::Running;

/// The service of ARP (RFC 826), for who else hears it.
pub(crate) const ARP: &str = "arp";
/// The service of neighbour and router discovery (RFC 4861).
pub(crate) const DISCOVERY: &str = "nd";
/// The types of discovery: solicitations, advertisements, redirects.
const TYPES: core::ops::RangeInclusive<u8> = 133..=137;
/// A network of 4,096 hosts that all ask at once is answered within a second.
const RATE: Rate = Rate {
    per_second: 10_000,
    burst: 512,
};

/// The service of ARP.
pub(crate) fn arp() -> Service {
    let arp = Match::Frame(Carried::EtherType(EtherType::ARP.0));
    Service::new(ARP, [arp], RATE)
}

/// The service of discovery.
pub(crate) fn discovery() -> Service {
    let types = TYPES.map(|kind| Match::Icmp { ipv6: true, kind });
    Service::new(DISCOVERY, types.collect::<Vec<_>>(), RATE).by_link()
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Neighbours;

impl Feature for Neighbours {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        vec![arp(), discovery()]
    }

    fn hear(&mut self, heard: &Heard<'_>, _: &Running<'_>, out: &mut Effects) -> Hearing {
        let (packet, from) = (heard.packet(), heard.source_mac());
        let ipv6 = heard.service == DISCOVERY;
        let malformed = match ipv6 {
            false => Arp::parse(packet, from)
                .err()
                .map(|_| DropReason::ArpMalformed),
            true => { Discovery::parse(packet, from).err() }.map(|_| DropReason::IcmpMalformed),
        };
        if let Some(reason) = malformed {
            return Hearing::Bad(reason);
        }
        out.push(Effect::Neighbour {
            ipv6,
            interface: heard.interface,
            packet: packet.into(),
            from,
        });
        Hearing::Taken
    }
}
