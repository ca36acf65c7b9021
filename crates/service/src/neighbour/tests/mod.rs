//! Tests of both families: requirements of the RFCs, two machines on a line, floods and noise.

mod arp;
mod discovery;
mod flood;
mod line;

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::{Duration, Instant, Machine};
use wire::Mac;
use wire::arp::{Operation, Repr};

use super::*;

const OWN_MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const PEER_MAC: Mac = Mac([2, 0, 0, 0, 0, 2]);
const THIRD_MAC: Mac = Mac([2, 0, 0, 0, 0, 3]);

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

const OWN6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const PEER6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);

type Acts<F, P = u32> = Vec<Action<<F as Family>::Address, P>>;

/// One machine with virtual time.
struct Fixture<F: Family> {
    machine: Neighbours<F, u32>,
    now: Instant,
}

impl<F: Family> Fixture<F> {
    /// A machine with its link up and this address valid and announced.
    fn new(config: Config, address: F::Address, prefix_len: u8) -> Self {
        let mut fixture = Self {
            machine: Neighbours::new(config, 7),
            now: Instant::from_secs(100),
        };
        fixture.link(Event::LinkUp);
        fixture.own(address, prefix_len, DuplicateDetection::Skip);
        fixture.pass(Duration::from_secs(10));
        fixture
    }

    fn link(&mut self, event: Event<'_, F::Address, u32>) -> Acts<F> {
        self.on(event)
    }

    fn on(&mut self, event: Event<'_, F::Address, u32>) -> Acts<F> {
        let mut out = Vec::new();
        self.machine.handle(event, self.now, &mut out);
        out
    }

    fn own(&mut self, address: F::Address, prefix_len: u8, detect: DuplicateDetection) -> Acts<F> {
        self.on(Event::AddressAdded {
            address,
            prefix_len,
            detect,
        })
    }

    fn resolve(&mut self, address: F::Address, packet: u32) -> Acts<F> {
        self.on(Event::Resolve {
            address,
            packet: Some(packet),
        })
    }

    fn hear(&mut self, packet: &[u8], from: Mac) -> Acts<F> {
        self.on(Event::Received { packet, from })
    }

    /// Advances the time, with a tick at each deadline; the owner answers no question.
    fn pass(&mut self, span: Duration) -> Acts<F> {
        let end = self.now + span;
        let mut out = Vec::new();
        while let Some((due, _)) = self.machine.deadline().filter(|&(due, _)| due <= end) {
            self.now = self.now.max(due);
            self.machine.tick(self.now, &mut out);
        }
        self.now = end;
        out
    }

    fn status(&self, address: F::Address) -> Option<Status> {
        self.machine.row(address).and_then(|row| row.status)
    }
}

/// Frames among actions.
fn frames<'a, A, P>(actions: &'a [Action<A, P>]) -> Vec<&'a Frame> {
    let frame = |action: &'a Action<A, P>| match action {
        Action::Send(frame) => Some(frame),
        _ => None,
    };
    actions.iter().filter_map(frame).collect()
}

/// An ARP packet.
fn arp(operation: Operation, sender: (Mac, Ipv4Addr), target: (Mac, Ipv4Addr)) -> Vec<u8> {
    let repr = Repr {
        operation,
        sender_mac: sender.0,
        sender: sender.1,
        target_mac: target.0,
        target: target.1,
    };
    repr.to_bytes().to_vec()
}

fn request(sender: (Mac, Ipv4Addr), target: Ipv4Addr) -> Vec<u8> {
    arp(Operation::REQUEST, sender, (Mac::ZERO, target))
}

fn reply(sender: (Mac, Ipv4Addr)) -> Vec<u8> {
    arp(Operation::REPLY, sender, (OWN_MAC, OWN))
}

fn config() -> Config {
    Config::new(OWN_MAC)
}
