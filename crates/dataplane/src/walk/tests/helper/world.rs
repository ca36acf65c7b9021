//! A masquerading test router with helpers, and the packets for it.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::super::firewall::{MASQUERADE, filtered, translated};
use crate::connection::{ExpectedConnection, Helper, Row};
use crate::drop::DropReason;
use crate::firewall::{Firewall, filter, nat};
use crate::nat::helper::Services;
use crate::out::OutId;
use crate::packet::{Tuple, protocol};
use crate::rule::{Action, Match, Rule, State};
use crate::table::Adjacency;
use crate::testing::{ETHER1, ETHER2, MAC, Rig, class_of, ethernet, gateway, seal, sum};
use crate::trace::{Question, Walked, trace};

pub(super) const CLIENT: u32 = 0x0a00_0002;
/// External address; its text is seven characters longer than that of the client's address.
pub(super) const OUTSIDE: u32 = 0xc633_6464;
pub(super) const SERVER: u32 = 0x0b00_0002;
/// The drop of a packet to the external address without a connection.
pub(super) const ASTRAY: [(DropReason, u64); 1] = [(DropReason::NoRoute, 1)];
pub(super) const ACK: u8 = 0x10;
pub(super) const SYN: u8 = 0x02;

/// The two ends of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) source: (u32, u16),
    pub(super) destination: (u32, u16),
}

impl Ends {
    pub(super) fn back(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
        }
    }
}

pub(super) const fn ends(source: (u32, u16), destination: (u32, u16)) -> Ends {
    Ends {
        source,
        destination,
    }
}

/// Returns the tuple of a TCP connection.
pub(super) fn tuple(ends: Ends) -> Tuple {
    Tuple {
        source: ends.source.0.into(),
        source_port: ends.source.1,
        destination: ends.destination.0.into(),
        destination_port: ends.destination.1,
        protocol: protocol::TCP,
        ipv6: false,
    }
}

pub(super) fn ipv4(ends: Ends, number: u8, upper: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((20 + upper.len() as u16).to_be_bytes());
    packet.extend([0x12, 0x34, 0, 0, 64, number, 0, 0]);
    packet.extend(ends.source.0.to_be_bytes());
    packet.extend(ends.destination.0.to_be_bytes());
    seal(&mut packet);
    packet.extend(upper);
    packet
}

/// Returns the sum over upper layer and pseudo header: all ones for a correct checksum.
pub(super) fn upper_sum(packet: &[u8]) -> u16 {
    let mut summed = packet[12..20].to_vec();
    summed.extend([0, packet[9]]);
    summed.extend((packet.len() as u16 - 20).to_be_bytes());
    summed.extend(&packet[20..]);
    sum(&summed)
}

/// Returns a segment with a correct checksum.
pub(super) fn tcp(
    ends: Ends,
    flags: u8,
    (number, acknowledged): (u32, u32),
    payload: &[u8],
) -> Vec<u8> {
    let mut upper = ends.source.1.to_be_bytes().to_vec();
    upper.extend(ends.destination.1.to_be_bytes());
    upper.extend(number.to_be_bytes());
    upper.extend(acknowledged.to_be_bytes());
    upper.extend([0x50, flags, 0x20, 0, 0, 0, 0, 0]);
    upper.extend(payload);
    let mut packet = ipv4(ends, protocol::TCP, &upper);
    let checksum = !upper_sum(&packet);
    packet[36..38].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Returns a datagram without a checksum.
pub(super) fn udp(ends: Ends, payload: &[u8]) -> Vec<u8> {
    let mut upper = ends.source.1.to_be_bytes().to_vec();
    upper.extend(ends.destination.1.to_be_bytes());
    upper.extend((8 + payload.len() as u16).to_be_bytes());
    upper.extend([0, 0]);
    upper.extend(payload);
    ipv4(ends, protocol::UDP, &upper)
}

/// Returns a packet of a PPTP tunnel (RFC 2637, 4.1).
pub(super) fn gre(source: u32, destination: u32, call: u16) -> Vec<u8> {
    let [high, low] = call.to_be_bytes();
    let upper = [0x30, 1, 0x88, 0x0b, 0, 2, high, low, 0, 0, 0, 1, 0xff, 3];
    ipv4(ends((source, 0), (destination, 0)), protocol::GRE, &upper)
}

/// A parsed frame that the router sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) ends: Ends,
    pub(super) numbers: (u32, u32),
    pub(super) payload: Vec<u8>,
}

pub(super) fn read(frame: &[u8]) -> Left {
    let packet = &frame[14..];
    assert_eq!(sum(&packet[..20]), 0xffff, "the header's checksum");
    let total = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    assert_eq!(total, packet.len());
    let word = |at: usize| u32::from_be_bytes(packet[at..at + 4].try_into().expect("four bytes"));
    let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let is_tcp = packet[9] == protocol::TCP;
    if is_tcp {
        assert_eq!(upper_sum(packet), 0xffff, "the segment's checksum");
    }
    Left {
        ends: ends((word(12), port(20)), (word(16), port(22))),
        numbers: if is_tcp { (word(24), word(28)) } else { (0, 0) },
        payload: packet[if is_tcp { 40 } else { 28 }..].to_vec(),
    }
}

/// A masquerading router with helpers that accepts only established and related packets from
/// outside.
pub(super) struct World {
    pub(super) rig: Rig,
}

impl World {
    pub(super) fn new(workers: usize) -> Self {
        let mut rig = Rig::with_workers(workers);
        super::super::gateway4(&mut rig);
        rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(OUTSIDE));
        let inside = Adjacency {
            egress: ETHER1,
            out: OutId::port(0),
            ..gateway()
        };
        let hop = rig.add_hop(&inside);
        for client in 0..4 {
            rig.route4(CLIENT + client, 32, hop);
        }
        let leaves = vec![Match::OutInterface(class_of(ETHER2)).into()];
        translated(&mut rig, nat::SRCNAT, leaves, MASQUERADE);
        let state =
            |states: &[State]| Match::ConnectionState(states.iter().copied().collect()).into();
        let known = state(&[State::Established, State::Related]);
        let related = state(&[State::Related]);
        let ftp = Match::ConnectionType(Helper::Ftp).into();
        let rules = vec![
            Rule::new(1, vec![related], Action::Passthrough),
            Rule::new(5, vec![ftp], Action::Passthrough),
            Rule::new(6, vec![known.clone()], Action::Fasttrack),
            Rule::new(2, vec![known], Action::Accept),
            Rule::new(
                3,
                vec![Match::InInterface(class_of(ETHER2)).into()],
                Action::Drop,
            ),
        ];
        filtered(&mut rig, filter::FORWARD, rules);
        let mut world = Self { rig };
        world.serve(|services| {
            services.enable(Helper::Ftp, &[21]);
            services.enable(Helper::Tftp, &[69]);
            services.enable(Helper::Sip, &[5060]);
            services.enable(Helper::Pptp, &[]);
        });
        world
    }

    pub(super) fn serve(&mut self, set: impl FnOnce(&mut Services)) {
        let mut firewall = Firewall::clone(&self.rig.snapshot.firewall);
        firewall.services = Services::default();
        set(&mut firewall.services);
        self.rig.snapshot.firewall = Arc::new(firewall);
        self.rig.publish();
    }

    /// Sends a packet from inside. Returns the packet that left.
    pub(super) fn out(&mut self, packet: &[u8]) -> Option<Left> {
        self.rig.arrive(ethernet(MAC, 0x0800, packet));
        self.rig.settle();
        self.rig.sent(1).first().map(|frame| read(frame))
    }

    /// Sends a packet from outside. Returns the packet that arrived inside.
    pub(super) fn back(&mut self, packet: &[u8]) -> Option<Left> {
        self.raw_back(packet).map(|frame| read(&frame))
    }

    /// Traces a packet from outside that matches this expectation.
    pub(super) fn traced(&self, packet: &[u8], awaited: &ExpectedConnection) -> Walked {
        let frame = ethernet([2, 0, 0, 0, 0, 2], 0x0800, packet);
        let question = Question {
            awaited: Some(awaited),
            ..Question::new(&frame, ETHER2)
        };
        trace(self.rig.tables(), &question)
    }

    pub(super) fn raw_back(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        let frame = ethernet([2, 0, 0, 0, 0, 2], 0x0800, packet);
        self.rig
            .arrive_unfinished(1, frame, frame::Offload::FINISHED);
        self.rig.settle();
        self.rig.sent(0).pop()
    }

    /// Returns the number of FTP messages that could not be processed because they were split.
    pub(super) fn cuts(&self) -> u64 {
        let workers = self.rig.workers.iter();
        workers
            .map(|worker| worker.counters().cuts(Helper::Ftp))
            .sum()
    }

    pub(super) fn row(&self, what: impl Fn(&Row) -> bool) -> Row {
        let mut rows = self.rig.connections.rows(false);
        rows.find(what).expect("a connection")
    }

    /// Opens a control connection to a port of the server. Returns its ends inside and outside.
    pub(super) fn connect(&mut self, port: u16) -> (Ends, Ends) {
        self.connect_from(5000, port)
    }

    pub(super) fn connect_from(&mut self, own: u16, port: u16) -> (Ends, Ends) {
        let inside = ends((CLIENT, own), (SERVER, port));
        let outside = ends((OUTSIDE, own), (SERVER, port));
        self.out(&tcp(inside, SYN, (99, 0), b"")).expect("out");
        self.back(&tcp(outside.back(), SYN | ACK, (499, 100), b""))
            .expect("back");
        self.out(&tcp(inside, ACK, (100, 500), b"")).expect("out");
        (inside, outside)
    }
}
