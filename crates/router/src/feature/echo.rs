//! Answers to ICMP echo requests (RFC 1122, 3.2.2.6; RFC 4443, 4.2).

use core::net::Ipv6Addr;

use dataplane::service::{Match, Rate, Service};
use service::icmp::{v4, v6};
use wire::{icmpv4, icmpv6};

use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effects, Feature};
use crate::running::{Running, source_of6};

/// Responder to echo requests.
#[derive(Debug, Default)]
pub(crate) struct Echo;

/// Returns the service of echo replies, for features that send requests.
pub(crate) fn replies() -> Service {
    let icmp = |ipv6, kind| Match::Icmp { ipv6, kind };
    let replies = [
        icmp(false, icmpv4::Type::ECHO_REPLY.0),
        icmp(true, icmpv6::Type::ECHO_REPLY.0),
    ];
    Service::new("echo-reply", replies, RATE)
}

const REQUESTS: [Match; 2] = [
    Match::Icmp {
        ipv6: false,
        kind: icmpv4::Type::ECHO_REQUEST.0,
    },
    Match::Icmp {
        ipv6: true,
        kind: icmpv6::Type::ECHO_REQUEST.0,
    },
];
/// RouterOS does not limit its answers. This limit keeps echo requests from taking all of control's
/// time.
const RATE: Rate = Rate {
    per_second: 20_000,
    burst: 512,
};

impl Feature for Echo {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        vec![Service::new("echo", REQUESTS, RATE)]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let offender = running.offender(heard.packet(), heard.is_to_group());
        let reply = match heard.packet().first().map(|first| first >> 4) {
            Some(6) => {
                let asker = source_of6(heard.packet());
                let own = asker.and_then(|to| running.source6(to, heard.interface));
                let addresses = running.addresses;
                let is_own = |to: Ipv6Addr| !to.is_multicast() && !addresses.is_shared6(to);
                own.and_then(|own| v6::echo_reply(&offender, own, is_own).ok())
            }
            _ => v4::echo_reply(&offender, 0).ok(),
        };
        if let Some(reply) = reply {
            out.send(Outgoing::packet(heard.interface, reply));
        }
        ReceiveOutcome::Taken
    }
}
