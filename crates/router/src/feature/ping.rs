//! Echo requests of users: those under way, and what answers them. Control sends them (`drive/ping.rs`), as their
//! way is found there.

use std::task::Waker;

use dataplane::service::{Match, Rate, Service};
use machine::Instant;
use service::ping::{self, Pings};
use wire::arp::{self, Operation};
use wire::{icmpv4, icmpv6};

use super::echo::replies;
use super::hear::{Heard, Hearing};
use super::neighbours::{self, ARP};
use super::{Effects, Feature};
use crate::running::Running;

/// See the module.
#[derive(Debug)]
pub(crate) struct UserPings {
    /// Those that are under way, each with who waits for it.
    pub(crate) under_way: Pings<Waker>,
}

impl UserPings {
    /// None; all are to have this identifier.
    pub(crate) const fn new(id: u16) -> Self {
        Self {
            under_way: Pings::new(id),
        }
    }

    /// Takes what may answer a request; says whether it does.
    pub(crate) fn answer(&mut self, said: &ping::Response, now: Instant) -> bool {
        let owner = self.under_way.hear(said, now);
        owner.map(Waker::wake_by_ref).is_some()
    }

    /// Takes an ARP packet that may answer a question for a link address.
    fn answer_link(&mut self, heard: &Heard<'_>, now: Instant) {
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

/// The errors that may be about an echo request.
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

    fn hear(&mut self, heard: &Heard<'_>, running: &Running<'_>, _: &mut Effects) -> Hearing {
        if heard.service == ARP {
            // The table of neighbours takes it in any case.
            self.answer_link(heard, running.now);
            return Hearing::NotMine;
        }
        match ping::parse_response(heard.packet()) {
            Some(said) if self.answer(&said, running.now) => Hearing::Taken,
            _ => Hearing::NotMine,
        }
    }
}
