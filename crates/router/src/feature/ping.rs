//! Echo requests of users: open pings and their answers. Control sends the requests
//! (`drive/ping.rs`), since it looks up the routes.

use std::task::Waker;

use dataplane::service::{Match, Rate, Service};
use machine::Instant;
use service::ping::{self, Pings};
use wire::arp::{self, Operation};
use wire::{icmpv4, icmpv6};

use super::echo::replies;
use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::neighbours::{self, ARP};
use super::{Effects, Feature};
use crate::running::Running;

/// Pings of users.
#[derive(Debug)]
pub(crate) struct UserPings {
    /// Open pings, each with the waker of its user.
    pub(crate) under_way: Pings<Waker>,
}

impl UserPings {
    /// Returns an instance without pings; `id` is the identifier of all echo requests.
    pub(crate) const fn new(id: u16) -> Self {
        Self {
            under_way: Pings::new(id),
        }
    }

    /// Handles a possible answer. Returns whether it belongs to a ping.
    pub(crate) fn answer(&mut self, said: &ping::Response, now: Instant) -> bool {
        let owner = self.under_way.hear(said, now);
        owner.map(Waker::wake_by_ref).is_some()
    }

    /// Handles an ARP packet that may answer a ping by ARP.
    fn answer_link(&mut self, heard: &ReceivedPacket<'_>, now: Instant) {
        let Ok(said) = arp::Repr::parse(heard.packet()) else {
            return;
        };
        if said.operation == Operation::REPLY && said.sender_mac.is_unicast() {
            let (from, mac) = (said.sender.into(), said.sender_mac);
            let link = heard.interface.0;
            let owner = self.under_way.hear_link(from, link, mac, now);
            owner.map(Waker::wake_by_ref);
        }
    }
}

/// Returns the service of ICMP errors, which may concern echo requests.
fn errors() -> Service {
    let v4 = [
        icmpv4::Type::UNREACHABLE,
        icmpv4::Type::TIME_EXCEEDED,
        icmpv4::Type::PARAMETER_PROBLEM,
    ];
    let v6 = [
        icmpv6::Type::UNREACHABLE,
        icmpv6::Type::PACKET_TOO_BIG,
        icmpv6::Type::TIME_EXCEEDED,
        icmpv6::Type::PARAMETER_PROBLEM,
    ];
    let icmp = |ipv6, kind| Match::Icmp { ipv6, kind };
    let v4 = v4.into_iter().map(|kind| icmp(false, kind.0));
    let v6 = v6.into_iter().map(|kind| icmp(true, kind.0));
    let rate = Rate {
        per_second: 10_000,
        burst: 256,
    };
    Service::new("icmp-error", v4.chain(v6).collect::<Vec<_>>(), rate)
}

impl Feature for UserPings {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        vec![replies(), errors(), neighbours::arp()]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        _: &mut Effects,
    ) -> ReceiveOutcome {
        if heard.service == ARP {
            // The neighbour table needs the packet, too.
            self.answer_link(heard, running.now);
            return ReceiveOutcome::NotMine;
        }
        match ping::parse_response(heard.packet()) {
            Some(said) if self.answer(&said, running.now) => ReceiveOutcome::Taken,
            _ => ReceiveOutcome::NotMine,
        }
    }
}
