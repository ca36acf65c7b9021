//! Property tests: frames of a vector give the same results as frames walked one by one.

use std::sync::Arc;

use machine::Rng;

use super::firewall::{MASQUERADE, client, filtered, hits, table, tracked, translated};
use super::{hop_by_hop, rig};
use crate::firewall::{Firewall, filter, mangle, nat, raw};
use crate::out::OutId;
use crate::rule::{Action, AddressRange, Compare, Match, Rule, State};
use crate::table::{Adjacency, NextHopId};
use crate::testing::{
    ETHER1, ETHER2, MAC, Rig, Udp4, Udp6, VLAN10, arp, class_of, ethernet, gateway, seal,
};
use crate::{DropReason, PuntReason};

/// The chains with rules.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Nothing,
    Filter,
    Connections,
    Translation,
    /// Filter rules, and rules of raw and prerouting.
    Early,
}

/// The results for frames.
#[derive(Debug, PartialEq)]
struct Ended {
    sent: [Vec<Vec<u8>>; 2],
    drops: Vec<(DropReason, u64)>,
    punts: Vec<(PuntReason, Vec<u8>)>,
    hits: [(u64, u64); 12],
    came: [u64; 3],
}

/// A generator of frames of one family.
struct Writer {
    /// To `ether2`; otherwise to `ether1`.
    back: bool,
    ipv6: bool,
    /// One frame in this many is not plain.
    odd: u64,
    /// Half of the frames to `ether1` have a tag, mostly that of `vlan10`.
    tagged: bool,
}

impl Writer {
    fn frame(&self, rng: &mut Rng) -> Vec<u8> {
        let number = rng.below(40) as u16;
        let ports = if self.back {
            [53, number]
        } else {
            [number, 53]
        };
        let protocol = if rng.percent(30) { 6 } else { 17 };
        let payload = 12 + rng.below(30) as usize;
        let server = rng.below(4) as u32;
        let is_odd = rng.below(self.odd) == 0;
        let mut frame = match self.ipv6 {
            true => self.frame6(server.into(), ports, protocol, payload),
            false => self.frame4(server, ports, protocol, payload).frame(),
        };
        let upper = if self.ipv6 { 54 } else { 34 };
        if protocol == 6 && frame.len() > upper + 13 {
            // Mostly acknowledgements.
            frame[upper + 12] = 0x50;
            frame[upper + 13] = match rng.percent(80) {
                true => 0x10,
                false => rng.next_u32() as u8,
            };
        }
        if rng.percent(30) {
            frame.extend([0; 9]);
        }
        match (is_odd, self.ipv6) {
            (false, _) => {}
            (true, true) => spoil6(&mut frame, rng),
            (true, false) => {
                let udp = self.frame4(server, ports, protocol, payload);
                spoil4(&mut frame, udp, rng);
            }
        }
        if self.tagged && !self.back && frame.len() >= 14 && rng.percent(50) {
            let vlan_id = [10, 10, 10, 10, 0, 11][rng.below(6) as usize];
            let priority = (rng.below(8) as u8) << 5;
            frame.splice(12..12, [0x81, 0, priority, vlan_id]);
        }
        frame
    }

    fn frame4(&self, server: u32, ports: [u16; 2], protocol: u8, payload: usize) -> Udp4 {
        let (client, server) = (0x0a00_0002, 0x0b00_0000 + server);
        let (source, destination) = match self.back {
            true => (server, client),
            false => (client, server),
        };
        Udp4 {
            to: self.mac(),
            source,
            destination,
            source_port: ports[0],
            destination_port: ports[1],
            protocol,
            payload,
            ..Udp4::default()
        }
    }

    fn frame6(&self, server: u128, ports: [u16; 2], protocol: u8, payload: usize) -> Vec<u8> {
        let (client, server) = (Udp6::default().source, Udp6::default().destination + server);
        let (source, destination) = match self.back {
            true => (server, client),
            false => (client, server),
        };
        let udp = Udp6 {
            source,
            destination,
            next_header: protocol,
            payload: 8 + payload,
            ..Udp6::default()
        };
        let mut packet = udp.packet();
        packet[40..42].copy_from_slice(&ports[0].to_be_bytes());
        packet[42..44].copy_from_slice(&ports[1].to_be_bytes());
        ethernet(self.mac(), 0x86dd, &packet)
    }

    fn mac(&self) -> [u8; 6] {
        if self.back { [2, 0, 0, 0, 0, 2] } else { MAC }
    }
}

/// Makes a plain IPv6 frame unusual in a random way.
fn spoil6(frame: &mut Vec<u8>, rng: &mut Rng) {
    let address = |frame: &mut [u8], at: usize, address: u128| {
        frame[at..at + 16].copy_from_slice(&address.to_be_bytes());
    };
    match rng.below(18) {
        0 => frame[14] = 0x50,
        1 => frame[5] ^= 4,
        2 => address(frame, 22, 0x2001_0db8_0000_000a << 64 | 1),
        3 => address(frame, 22, 1),
        4 => address(frame, 22, 0xfe80 << 112 | 2),
        5 => address(frame, 38, 0xff02 << 112 | 1),
        6 => address(frame, 38, 0xfe80 << 112 | 9),
        7 => address(frame, 38, 0x2001_0db8_0000_000a << 64 | 1),
        8 => frame[21] = 1,
        9 => frame[21] = 0,
        10 => frame[20] = 0,
        11 => frame[20] = 44,
        12 => frame[20] = 58,
        13 => frame[18..20].copy_from_slice(&(rng.below(90) as u16).to_be_bytes()),
        14 => frame.truncate(rng.below(80) as usize),
        15 => address(frame, 22, 0),
        16 if frame.len() >= 54 => {
            let kind = [1, 5, 0x1e, 0x5e, 0x9e, 0xde][rng.below(6) as usize];
            let packet = hop_by_hop(frame[14..].to_vec(), &[kind, 2, 0, 0, 1, 0]);
            frame.splice(14.., packet);
        }
        _ => *frame = Udp4::default().frame(),
    }
}

/// Makes a plain IPv4 frame unusual in a random way.
fn spoil4(frame: &mut Vec<u8>, udp: Udp4, rng: &mut Rng) {
    let other = |change: &dyn Fn(&mut Udp4)| {
        let mut udp = udp;
        change(&mut udp);
        udp.frame()
    };
    match rng.below(18) {
        0 => frame[24] ^= 1,
        1 => frame[5] ^= 4,
        2 => *frame = other(&|udp| udp.source = 0x0a00_0001),
        3 => *frame = other(&|udp| udp.source = 0x7f00_0001),
        4 => *frame = other(&|udp| udp.destination = 0x7f00_0001),
        5 => *frame = other(&|udp| udp.destination = 0xe000_0005),
        6 => *frame = other(&|udp| udp.ttl = 1),
        7 => *frame = other(&|udp| udp.ttl = 0),
        8 => *frame = other(&|udp| udp.destination = 0x0a00_0001),
        9 => *frame = other(&|udp| udp.protocol = 1),
        10 => *frame = other(&|udp| udp.payload = 1),
        11 => *frame = other(&|udp| udp.payload = 1472),
        12 => {
            frame[14] = if rng.percent(50) { 0x46 } else { 0x55 };
            seal(&mut frame[14..]);
        }
        13 => {
            frame[16..18].copy_from_slice(&(rng.below(80) as u16).to_be_bytes());
            seal(&mut frame[14..]);
        }
        14 => frame.truncate(rng.below(60) as usize),
        15 => *frame = Udp6::default().frame(),
        16 => *frame = arp(),
        _ => *frame = ethernet(udp.to, 0x8100, &frame[12..]),
    }
}

fn router(asked: Asked) -> Rig {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(core::net::Ipv4Addr::new(10, 1, 0, 1));
    client(&mut rig);
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    let hop = rig.add_hop(&adjacency);
    rig.route6(0x2001_0db8_0000_000b << 64, 64, hop);
    (adjacency.egress, adjacency.out) = (ETHER1, OutId::port(0));
    let hop = rig.add_hop(&adjacency);
    rig.route6(0x2001_0db8_0000_000a << 64 | 2, 128, hop);
    match asked {
        Asked::Nothing => return rig,
        Asked::Filter => {}
        Asked::Connections => tracked(&mut rig),
        Asked::Translation | Asked::Early => {
            translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
        }
    }
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let few = Match::DestinationPort([(1, 9)].into());
    let rules = vec![
        Rule::new(1, vec![established.into()], Action::Accept),
        Rule::new(2, vec![few.into()], Action::Drop),
        Rule::new(
            3,
            vec![Match::InInterface(class_of(ETHER1)).into()],
            Action::Passthrough,
        ),
    ];
    filtered(&mut rig, filter::FORWARD, rules.clone());
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.tracks6 = firewall.tracks4;
    firewall.ipv6.filter = table(filter::CHAINS, filter::FORWARD, rules);
    if let Asked::Early = asked {
        for (tables, first) in [(&mut firewall.ipv4, 5), (&mut firewall.ipv6, 7)] {
            tables.raw = table(raw::CHAINS, raw::PREROUTING, before());
            tables.mangle = table(mangle::CHAINS, mangle::PREROUTING, early(first));
        }
    }
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    rig
}

/// Sends packets to the clients with the tag of `vlan10`.
fn answer_by_vlan(rig: &mut Rig) {
    let mut hop = |ethertype: [u8; 2]| -> NextHopId {
        let mut adjacency = Adjacency {
            egress: VLAN10,
            out: OutId::port(0),
            header_len: 18,
            ..gateway()
        };
        adjacency.header[12..16].copy_from_slice(&[0x81, 0, 0, 10]);
        adjacency.header[16..18].copy_from_slice(&ethertype);
        rig.add_hop(&adjacency)
    };
    let hops = [hop([0x08, 0x00]), hop([0x86, 0xdd])];
    rig.route4(0x0a00_0002, 32, hops[0]);
    rig.route6(0x2001_0db8_0000_000a << 64 | 2, 128, hops[1]);
}

/// Returns rules of `raw` that accept packets, exempt some from tracking and drop some.
fn before() -> Vec<Rule> {
    let to = |first, last| Match::DestinationPort([(first, last)].into()).into();
    let lives = || Match::Ttl(Compare::Greater(0));
    vec![
        Rule::new(9, vec![to(10, 14)], Action::Notrack),
        Rule::new(10, vec![to(15, 16)], Action::Drop),
        // A rule that must be evaluated.
        Rule::new(11, vec![to(17, 18), lives().into()], Action::Drop),
        Rule::new(12, vec![to(19, 22), lives().into()], Action::Notrack),
    ]
}

/// Returns rules of prerouting, numbered from `first`, one of which must be evaluated.
fn early(first: u32) -> Vec<Rule> {
    let outside = Match::Destination(AddressRange::prefix(0x0a01_0001, 32, 32));
    let from = Match::SourcePort([(20, 24)].into());
    let lives = Match::Ttl(Compare::Greater(0));
    vec![
        Rule::new(first, vec![outside.into()], Action::Passthrough),
        Rule::new(
            first + 1,
            vec![from.into(), lives.into()],
            Action::MarkPacket(3),
        ),
    ]
}

/// Passes vectors in both directions, each frame `alone` or all frames of a vector together.
fn pass(seed: u64, asked: Asked, alone: bool) -> Ended {
    let mut rng = Rng::seeded(seed);
    let mut rig = router(asked);
    let mut writer = Writer {
        back: false,
        ipv6: seed % 2 == 1,
        odd: 8 << (seed % 5),
        tagged: seed % 4 == 1,
    };
    if writer.tagged {
        rig.use_vlan10();
        answer_by_vlan(&mut rig);
    }
    for round in 0..6 {
        writer.back = round % 2 == 1;
        for _ in 0..rng.below(150) {
            let finished = frame::Offload::FINISHED;
            rig.arrive_unfinished(writer.back.into(), writer.frame(&mut rng), finished);
            writer.ipv6 ^= seed % 3 == 2 && rng.percent(5);
            if alone {
                rig.settle();
            }
        }
        rig.settle();
    }
    Ended {
        sent: [rig.sent(0), rig.sent(1)],
        drops: rig.drops(),
        punts: rig.punts(),
        hits: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(|rule| hits(&rig, rule)),
        came: [ETHER1, ETHER2, VLAN10].map(|id| rig.traffic(id).rx.bytes),
    }
}

#[test]
fn frames_of_one_vector_end_as_they_do_one_by_one() {
    for asked in [
        Asked::Nothing,
        Asked::Filter,
        Asked::Connections,
        Asked::Translation,
        Asked::Early,
    ] {
        for seed in 0..60 {
            let together = pass(seed, asked, false);
            let alone = pass(seed, asked, true);
            assert_eq!(together, alone, "{asked:?}, seed {seed}");
            assert!(together.sent[1].len() > 10 || seed > 0);
        }
    }
}
