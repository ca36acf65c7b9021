//! Tests of PPPoE session data: reception by sessions, and transmission with session headers.

mod mppe;
mod multilink;

use std::sync::Arc;

use frame::{InterfaceId, Offload, Offloads, Segmentation};
use machine::Rng;
use wire::Mac;

use super::{forwarded4, rig};
use crate::drop::DropReason;
use crate::interface::{Details, Interface, Session};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::rings::Command;
use crate::service::{FrameContent, Match, Service, ServiceId};
use crate::table::Adjacency;
use crate::tap::{Direction, TapOrigin};
use crate::testing::{ETHER1, MAC, RATE, Rig, Udp4, Udp6, VLAN10, ethernet, gateway, heard};
use crate::trace::trace_packet;
use crate::walk::Stage;

const FIRST: InterfaceId = InterfaceId(20);
const ON_VLAN: InterfaceId = InterfaceId(21);
const DOWN: InterfaceId = InterfaceId(22);
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 9];
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 10];
const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;
const LCP: u16 = 0xc021;

fn session(peer: [u8; 6], number: u16) -> Session {
    Session {
        peer: Mac(peer),
        number,
    }
}

/// Returns a router with sessions of a peer: 7 on `ether1`, 8 on `vlan10`, and 9 on `ether1`, which
/// is down.
fn with_sessions() -> Rig {
    let mut rig = rig();
    rig.use_vlan10();
    rig.publish();
    for (id, on, number) in [(FIRST, ETHER1, 7), (ON_VLAN, VLAN10, 8), (DOWN, ETHER1, 9)] {
        let line = Interface {
            running: id != DOWN,
            ipv4: true,
            ipv6: true,
            mac: Mac(MAC),
            mtu: 1492,
            out: OutId::port(0),
            under: ETHER1,
            ..Interface::default()
        };
        rig.interfaces.set(id, &line);
        let details = Details {
            name: "<pppoe-user>".into(),
            tags: rig
                .interfaces
                .details(on, |of| of.tags.clone())
                .unwrap_or_default(),
            session: Some(session(PEER, number)),
            ..Details::default()
        };
        rig.interfaces.set_details(id, Arc::new(details));
        let set = rig.interfaces.set_session(id, on, session(PEER, number));
        assert!(set);
    }
    rig
}

/// The fields of a session data frame.
#[derive(Clone, Debug)]
struct Fields {
    to: [u8; 6],
    peer: [u8; 6],
    vlan: Option<u16>,
    kind: [u8; 2],
    number: u16,
    /// Excess of the stated length over the correct length.
    longer: i16,
    protocol: u16,
    packet: Vec<u8>,
    padding: usize,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            to: MAC,
            peer: PEER,
            vlan: None,
            kind: [0x11, 0],
            number: 7,
            longer: 0,
            protocol: IPV4,
            packet: Udp4::default().packet(),
            padding: 0,
        }
    }
}

impl Fields {
    fn frame(&self) -> Vec<u8> {
        let len = (self.packet.len() as u16 + 2).wrapping_add_signed(self.longer);
        let mut frame = [self.to, self.peer].concat();
        if let Some(vlan) = self.vlan {
            frame.extend([0x81, 0]);
            frame.extend(vlan.to_be_bytes());
        }
        frame.extend([0x88, 0x64]);
        frame.extend(self.kind);
        for field in [self.number, len, self.protocol] {
            frame.extend(field.to_be_bytes());
        }
        frame.extend(&self.packet);
        frame.resize(frame.len() + self.padding, 0);
        frame
    }
}

#[test]
fn session_data_is_forwarded_as_its_sessions() {
    let mut rig = with_sessions();
    let packet = Udp4::default().packet();
    let on_vlan = Fields {
        vlan: Some(10),
        number: 8,
        ..Fields::default()
    };
    let padded = Fields {
        padding: 9,
        ..Fields::default()
    };
    let plain = ethernet(MAC, 0x0800, &packet);
    let frames = [Fields::default(), on_vlan, padded].map(|fields| fields.frame());
    let bytes = frames.each_ref().map(|frame| frame.len() as u64);
    for frame in frames.into_iter().chain([plain.clone()]) {
        rig.arrive(frame);
    }
    rig.settle();

    assert_eq!(rig.sent(1), vec![forwarded4(&packet); 4]);
    let received = |id| {
        let traffic = rig.traffic(id);
        (traffic.rx.bytes, traffic.fp_rx.bytes)
    };
    let first = bytes[0] + bytes[2];
    assert_eq!(received(FIRST), (first, first));
    assert_eq!(received(ON_VLAN), (bytes[1], bytes[1]));
    let all = first + bytes[1] + plain.len() as u64;
    assert_eq!(received(ETHER1), (all, all));
}

#[test]
fn packets_of_ipv6_are_forwarded_and_those_of_the_router_punted_as_the_sessions() {
    let mut rig = with_sessions();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    let hop = rig.add_hop(&adjacency);
    rig.route6(0x2001_0db8_0000_000b << 64, 64, hop);
    let ipv6 = Fields {
        protocol: IPV6,
        packet: Udp6::default().packet(),
        ..Fields::default()
    };
    let sent = rig.pass(ipv6.frame());
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0][12..14], [0x86, 0xdd]);
    let ttl = Udp4 {
        ttl: 1,
        ..Udp4::default()
    };
    let late = Fields {
        packet: ttl.packet(),
        ..Fields::default()
    };
    assert!(rig.pass(late.frame()).is_empty());
    let [(why, bytes)] = &rig.punts()[..] else {
        panic!("one packet was to be punted");
    };
    assert_eq!(*why, PuntReason::TtlExceeded);
    assert_eq!(bytes[14..], ttl.packet());
}

/// Returns malformed session data, with the drop reasons.
fn refused() -> [(DropReason, Fields); 12] {
    let of = |change: fn(&mut Fields)| {
        let mut fields = Fields::default();
        change(&mut fields);
        fields
    };
    [
        (DropReason::PppoeMalformed, of(|is| is.kind = [0x21, 0])),
        (DropReason::PppoeMalformed, of(|is| is.kind = [0x11, 0xa7])),
        (DropReason::PppoeMalformed, of(|is| is.to = [0xff; 6])),
        (DropReason::PppoeLength, of(|is| is.longer = 1)),
        (
            DropReason::PppoeLength,
            of(|is| is.longer = 1 - is.packet.len() as i16 - 2),
        ),
        (DropReason::PppoeSession, of(|is| is.number = 10)),
        (DropReason::PppoeSession, of(|is| is.peer = OTHER)),
        (DropReason::PppoeSession, of(|is| is.vlan = Some(10))),
        (DropReason::PppoeProtocol, of(|is| is.protocol = LCP)),
        (DropReason::InterfaceDown, of(|is| is.number = 9)),
        // The packet reaches into padding.
        (DropReason::Ipv4Length, of(|is| is.longer = -1)),
        (
            DropReason::EthernetOther,
            of(|is| is.to = [2, 9, 9, 9, 9, 9]),
        ),
    ]
}

#[test]
fn what_is_wrong_with_session_data_is_counted_under_its_name() {
    for (reason, fields) in refused() {
        let mut rig = with_sessions();
        assert!(rig.pass(fields.frame()).is_empty(), "{}", reason.name());
        assert_eq!(rig.drops(), [(reason, 1)], "{fields:x?}");
    }
    let mut rig = with_sessions();
    let frame = Fields::default().frame();
    for len in 0..frame.len() {
        assert!(rig.pass(frame[..len].to_vec()).is_empty());
    }
    let names: Vec<_> = rig.drops().iter().map(|(reason, _)| *reason).collect();
    let expected = [
        DropReason::EthernetLength,
        DropReason::PppoeMalformed,
        DropReason::PppoeLength,
    ];
    assert_eq!(names, expected);
}

#[test]
fn services_receive_discovery_and_other_protocols_of_ppp_also_of_unknown_sessions() {
    let mut rig = with_sessions();
    let ethertypes = [0x8863, 0x8864].map(|kind| Match::Frame(FrameContent::EtherType(kind)));
    let mut services = (*rig.snapshot.services).clone();
    let id = ServiceId::new(5).expect("there are more");
    services
        .add(id, &Service::new("pppoe", ethertypes, RATE))
        .expect("nobody has its matches");
    rig.snapshot.services = Arc::new(services);
    rig.publish();
    let lcp = Fields {
        protocol: LCP,
        ..Fields::default()
    };
    let padi = ethernet([0xff; 6], 0x8863, &[0x11, 9, 0, 0, 0, 4, 1, 1, 0, 0]);
    let unknown = Fields {
        number: 99,
        ..lcp.clone()
    };
    let frames = [
        lcp.frame(),
        padi,
        unknown.frame(),
        Fields::default().frame(),
    ];
    for frame in &frames {
        rig.arrive(frame.clone());
    }
    rig.settle();

    let punts = rig.punts();
    let expected = frames[..3]
        .iter()
        .map(|frame| (heard(5, false), frame.clone()));
    assert_eq!(punts, expected.collect::<Vec<_>>());
    assert_eq!(rig.sent(1).len(), 1);
}

#[test]
fn a_trace_names_the_session_and_says_why_others_end() {
    let rig = with_sessions();
    let first = |fields: &Fields| {
        let walked = trace_packet(rig.tables(), &fields.frame(), ETHER1);
        walked
            .lines
            .first()
            .expect("ingress decided")
            .decision
            .clone()
    };
    assert_eq!(first(&Fields::default()), "arrived on <pppoe-user>");
    for (reason, fields) in refused() {
        if !matches!(reason, DropReason::Ipv4Length) {
            assert_eq!(first(&fields), format!("drop: {}", reason.name()));
        }
    }
}

/// Returns the link header of a session, without its length.
fn header(protocol: u16, vlan: Option<u16>) -> Vec<u8> {
    let fields = Fields {
        to: PEER,
        peer: MAC,
        vlan,
        protocol,
        longer: -2,
        packet: Vec::new(),
        ..Fields::default()
    };
    fields.frame()
}

fn leads_to_session(rig: &mut Rig, vlan: Option<u16>, mtu: u32) {
    let header = header(IPV4, vlan);
    let mut adjacency = Adjacency {
        header_len: header.len() as u8,
        egress: FIRST,
        out: OutId::port(0),
        mtu,
        ..gateway()
    };
    adjacency.header[..header.len()].copy_from_slice(&header);
    let hop = rig.gateway;
    rig.writer.set_next_hop(hop, &adjacency);
}

#[test]
fn own_packets_to_groups_and_link_local_addresses_leave_by_the_session_that_is_named() {
    let link_local = 0xfe80 << 112;
    let cases = [
        (
            IPV4,
            Udp4 {
                destination: 0xe000_0005,
                ..Udp4::default()
            }
            .packet(),
        ),
        (
            IPV6,
            Udp6 {
                destination: link_local | 7,
                source: link_local | 1,
                ..Udp6::default()
            }
            .packet(),
        ),
        (
            IPV6,
            Udp6 {
                destination: 0xff02 << 112 | 1,
                source: link_local | 1,
                ..Udp6::default()
            }
            .packet(),
        ),
    ];
    for (egress, number, vlan) in [(FIRST, 7, None), (ON_VLAN, 8, Some(10))] {
        for (protocol, packet) in &cases {
            let mut rig = with_sessions();
            let mut frame = rig.pool.alloc_from(packet).expect("a slot");
            frame.egress = egress;
            rig.command(Command::Output(frame));
            rig.settle();
            let fields = Fields {
                to: PEER,
                peer: MAC,
                vlan,
                number,
                protocol: *protocol,
                packet: packet.clone(),
                ..Fields::default()
            };
            assert_eq!(rig.sent(0), [fields.frame()]);
        }
    }
}

/// Checks the headers of frames that left by the session. Returns their packets.
fn packets(frames: &[Vec<u8>], vlan: Option<u16>) -> Vec<Vec<u8>> {
    let template = header(IPV4, vlan);
    let at = template.len() - 4;
    let packet = |frame: &Vec<u8>| {
        let len = (frame.len() - template.len() + 2) as u16;
        assert_eq!(frame[..at], template[..at]);
        assert_eq!(frame[at..at + 2], len.to_be_bytes());
        assert_eq!(frame[at + 2..at + 4], IPV4.to_be_bytes());
        frame[at + 4..].to_vec()
    };
    frames.iter().map(packet).collect()
}

#[test]
fn what_leaves_by_a_session_has_its_header_and_the_length_of_each_packet() {
    for vlan in [None, Some(10)] {
        let mut rig = with_sessions();
        leads_to_session(&mut rig, vlan, 1492);
        let udp = |payload| Udp4 {
            payload,
            ..Udp4::default()
        };
        let sizes = [1, 30, 400, 1464];
        for payload in sizes {
            let mut frame = udp(payload).frame();
            frame.resize(frame.len().max(60), 0);
            rig.arrive(frame);
        }
        rig.settle();
        let sent = packets(&rig.sent(0), vlan);
        let expected = sizes.map(|payload| forwarded4(&udp(payload).packet())[14..].to_vec());
        assert_eq!(sent, expected);
        assert_eq!(rig.traffic(FIRST).tx.packets, 4);

        // One byte more than the link carries: two fragments, each with its own length.
        rig.arrive(udp(1465).frame());
        rig.settle();
        assert_eq!(packets(&rig.sent(0), vlan).len(), 2);
    }
}

#[test]
fn segments_that_came_merged_leave_by_a_session_with_a_header_each() {
    let mut rig = with_sessions();
    leads_to_session(&mut rig, None, 1492);
    // A port that takes merged segments gets none for a session.
    rig.snapshot.ports[0].offloads = Offloads {
        checksum: true,
        tcp4: true,
        ..Offloads::default()
    };
    rig.publish();
    let mut packet = Udp4 {
        protocol: 6,
        payload: 12 + 3000,
        ..Udp4::default()
    }
    .packet();
    packet[32] = 0x50;
    packet[33] = 0x10;
    let offload = Offload {
        needs_checksum: true,
        checksum_start: 34,
        checksum_offset: 16,
        segmentation: Segmentation::Tcp4,
        segment_bytes: 1000,
        ..Offload::FINISHED
    };
    rig.arrive_unfinished(0, ethernet(MAC, 0x0800, &packet), offload);
    rig.settle();
    let sent = packets(&rig.sent(0), None);
    assert_eq!(rig.drops(), []);
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [1040; 3]);
}

/// Decides about a frame by one check after the other: returns the forwarded packet, or the drop
/// reason.
fn reference(fields: &Fields) -> Result<Vec<u8>, DropReason> {
    let session = match (fields.vlan, fields.number) {
        (None, 7 | 9) | (Some(10), 8) if fields.peer == PEER => Some(fields.number),
        _ => None,
    };
    let is_group = fields.to[0] & 1 != 0;
    let said = (fields.packet.len() + 2) as i64 + i64::from(fields.longer);
    let came = fields.packet.len() + fields.padding;
    let total = match fields.protocol {
        IPV4 => usize::from(fields.packet[2]) << 8 | usize::from(fields.packet[3]),
        _ => 40 + (usize::from(fields.packet[4]) << 8 | usize::from(fields.packet[5])),
    };
    if fields.vlan.is_some_and(|vlan| vlan != 10) {
        return Err(DropReason::VlanUnknown);
    }
    if !is_group && fields.to != MAC {
        return Err(DropReason::EthernetOther);
    }
    if is_group || fields.kind != [0x11, 0] {
        return Err(DropReason::PppoeMalformed);
    }
    if said < 2 || said as usize - 2 > came {
        return Err(DropReason::PppoeLength);
    }
    let session = session.ok_or(DropReason::PppoeSession)?;
    if !matches!(fields.protocol, IPV4 | IPV6) {
        return Err(DropReason::PppoeProtocol);
    }
    if session == 9 {
        return Err(DropReason::InterfaceDown);
    }
    // The length that the session header states.
    let room = said as usize - 2;
    match (fields.protocol, fields.packet[0] >> 4) {
        (IPV4, _) if room < 20 => Err(DropReason::Ipv4Length),
        (IPV6, _) if room < 40 => Err(DropReason::Ipv6Length),
        (IPV4, 4) if total > room => Err(DropReason::Ipv4Length),
        (IPV6, 6) if total > room => Err(DropReason::Ipv6Length),
        (IPV4, 6) => Err(DropReason::Ipv4Version),
        (IPV6, 4) => Err(DropReason::Ipv6Version),
        _ => Ok(fields.packet.clone()),
    }
}

fn random(rng: &mut Rng) -> Fields {
    let mut fields = Fields::default();
    if rng.percent(40) {
        fields.protocol = IPV6;
        fields.packet = Udp6 {
            payload: 8 + rng.below(30) as usize,
            ..Udp6::default()
        }
        .packet();
    } else {
        let payload = 8 + rng.below(30) as usize;
        fields.packet = Udp4 {
            payload,
            ..Udp4::default()
        }
        .packet();
    }
    if rng.percent(30) {
        (fields.vlan, fields.number) = (Some(10), 8);
    }
    if rng.percent(30) {
        fields.padding = rng.below(20) as usize;
    }
    for _ in 0..rng.below(3) {
        match rng.below(12) {
            0 => fields.to = [2, 9, 9, 9, 9, 9],
            1 => fields.to = [0xff; 6],
            2 => fields.peer = OTHER,
            3 => fields.kind = [0x11, rng.next_u32() as u8],
            4 => fields.kind = [rng.next_u32() as u8, 0],
            5 => fields.number = 6 + rng.below(5) as u16,
            6 => fields.longer = rng.below(60) as i16 - 30,
            7 => fields.protocol = [LCP, IPV4, IPV6, 0x8021][rng.below(4) as usize],
            8 => fields.vlan = [None, Some(10), Some(11)][rng.below(3) as usize],
            _ => {}
        }
    }
    fields
}

#[test]
fn random_frames_of_a_vector_end_as_the_reference_says() {
    for seed in 0..40 {
        let mut rng = Rng::seeded(seed);
        let mut rig = with_sessions();
        let mut adjacency = gateway();
        adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
        let hop = rig.add_hop(&adjacency);
        rig.route6(0x2001_0db8_0000_000b << 64, 64, hop);
        let (mut packets, mut drops) = (Vec::new(), std::collections::BTreeMap::new());
        for _ in 0..200 {
            let fields = match rng.percent(60) {
                true => Fields::default(),
                false => random(&mut rng),
            };
            rig.arrive(fields.frame());
            match reference(&fields) {
                Ok(packet) => packets.push(packet),
                Err(reason) => *drops.entry(reason).or_insert(0) += 1,
            }
        }
        rig.settle();
        let sent: Vec<_> = rig
            .sent(1)
            .into_iter()
            .map(|frame| frame[14..].to_vec())
            .collect();
        let lens = |packets: &[Vec<u8>]| packets.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lens(&sent), lens(&packets), "seed {seed}");
        // Only TTL and header checksum change.
        let upper = |packet: &Vec<u8>| packet[if packet[0] >> 4 == 4 { 12 } else { 8 }..].to_vec();
        assert!(sent.iter().map(upper).eq(packets.iter().map(upper)));
        assert_eq!(
            rig.drops(),
            drops.into_iter().collect::<Vec<_>>(),
            "seed {seed}"
        );
    }
}

#[test]
fn a_tapped_session_shows_its_packets_behind_an_ethernet_header() {
    for vlan in [None, Some(10)] {
        let mut rig = with_sessions();
        let (id, number) = if vlan.is_none() {
            (FIRST, 7)
        } else {
            (ON_VLAN, 8)
        };
        rig.interfaces.set_tap(id, true);
        let fields = Fields {
            vlan,
            number,
            ..Fields::default()
        };
        rig.pass(fields.frame());
        let plain = ethernet(MAC, 0x0800, &fields.packet);
        let mut copies = Vec::new();
        while let Ok(tapped) = rig.remotes[0].taps.pop() {
            copies.push((tapped.by, tapped.frame.bytes().to_vec()));
            rig.pool.free(tapped.frame);
        }
        let received = TapOrigin::Interface {
            id,
            direction: Direction::Received,
            stage: Stage::Ingress,
        };
        let [(by, bytes)] = &copies[..] else {
            panic!("{vlan:?}: {copies:02x?}");
        };
        assert_eq!(*by, received, "{vlan:?}");
        assert_eq!(
            (&bytes[..6], &bytes[12..]),
            (&MAC[..], &plain[12..]),
            "{vlan:?}"
        );
    }
}
