//! Tests of services of control, and of their rate limits.

use std::sync::Arc;

use machine::Duration;
use wire::Mac;

use super::firewall::filtered;
use super::rig;
use crate::drop::DropReason;
use crate::firewall::filter;
use crate::gate::PerSender;
use crate::rule::{Action, Rule};
use crate::service::{
    Addressed, DuplicateMatch, FrameContent, Match, Rate, Scope, Service, ServiceId, ServiceSet,
    Services,
};
use crate::testing::{ETHER1, ETHER2, MAC, MIRROR, RATE, Rig, Udp4, VLAN10, arp, ethernet, heard};
use crate::trace::trace_packet;

/// The first service index that the rig leaves free.
const FREE: usize = 2;
const BRIDGES: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 0];
const SLOW_PROTOCOLS: [u8; 6] = [1, 0x80, 0xc2, 0, 0, 2];
const CISCO: [u8; 6] = [1, 0, 0x0c, 0xcc, 0xcc, 0xcc];

fn register(rig: &mut Rig, services: &[Service]) {
    let mut all = Services::clone(&rig.snapshot.services);
    for (place, service) in services.iter().enumerate() {
        let id = ServiceId::new(FREE + place).expect("there are few");
        assert_eq!(all.add(id, service), Ok(()));
    }
    rig.snapshot.services = Arc::new(all);
    rig.publish();
}

/// Returns an 802.3 frame with a length in place of an EtherType.
fn with_llc(to: [u8; 6], llc: &[u8]) -> Vec<u8> {
    let mut frame = ethernet(to, llc.len() as u16, llc);
    frame.resize(60, 0);
    frame
}

fn bpdu() -> Vec<u8> {
    with_llc(BRIDGES, &[0x42, 0x42, 3, 0, 0, 2, 2])
}

fn cdp() -> Vec<u8> {
    with_llc(CISCO, &[0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0, 2, 180])
}

fn lacp(to: [u8; 6]) -> Vec<u8> {
    ethernet(to, 0x8809, &[1, 1, 0, 0])
}

#[test]
fn frames_are_heard_by_type_by_llc_by_snap_and_by_group() {
    let mut rig = rig();
    let frames = [bpdu(), cdp(), lacp(SLOW_PROTOCOLS), lacp(BRIDGES)];
    for frame in frames.clone() {
        rig.pass(frame);
    }
    assert_eq!(rig.drops(), [(DropReason::EthernetType, 4)]);

    register(
        &mut rig,
        &[
            Service::new("stp", [Match::Frame(FrameContent::Llc(0x42))], RATE),
            Service::new(
                "cdp",
                [Match::Frame(FrameContent::Snap([0, 0, 0x0c], 0x2000))],
                RATE,
            ),
            Service::new(
                "lacp",
                [Match::FrameTo(
                    Mac(SLOW_PROTOCOLS),
                    FrameContent::EtherType(0x8809),
                )],
                RATE,
            ),
        ],
    );
    for frame in frames.clone() {
        rig.pass(frame);
    }

    let [bpdu, cdp, lacp, _] = frames;
    let expected = [(0, bpdu), (1, cdp), (2, lacp)];
    let expected = expected.map(|(place, frame)| (heard(FREE + place, false), frame));
    assert_eq!(rig.punts(), expected);
    assert_eq!(rig.drops(), [(DropReason::EthernetType, 5)]);
}

#[test]
fn a_frame_cut_short_within_its_llc_header_is_of_nobody() {
    let mut rig = rig();
    register(
        &mut rig,
        &[Service::new(
            "stp",
            [Match::Frame(FrameContent::Llc(0x42))],
            RATE,
        )],
    );
    for length in [0, 1, 2, 1500, 1535] {
        let mut frame = bpdu();
        frame[12..14].copy_from_slice(&u16::to_be_bytes(length));
        rig.pass(frame);
    }
    assert_eq!(
        (rig.punts(), rig.drops()),
        (vec![], vec![(DropReason::EthernetType, 5)])
    );
}

#[test]
fn a_vlan_interface_hears_its_frames_without_their_tag() {
    let mut rig = rig();
    rig.use_vlan10();
    rig.publish();
    let mut tagged = arp();
    tagged.splice(12..12, [0x81, 0, 0, 10]);

    rig.arrive(tagged);
    rig.settle();

    let punt = rig.remotes[0].punts.pop().expect("it is ARP");
    assert_eq!((punt.frame.ingress, punt.frame.l3), (VLAN10, 14));
    assert_eq!(punt.frame.bytes(), arp());
    rig.pool.free(punt.frame);
}

#[test]
fn only_interfaces_that_were_asked_for_are_heard() {
    let mut rig = rig();
    let discovery = Service {
        scope: Scope::Asked,
        ..Service::new(
            "pppoe",
            [Match::Frame(FrameContent::EtherType(0x8863))],
            RATE,
        )
    };
    register(&mut rig, &[discovery]);
    let padi = ethernet([0xff; 6], 0x8863, &[0x11, 9, 0, 0, 0, 0]);
    let id = ServiceId::new(FREE).expect("a place");
    let asked = ServiceSet::default().with(id, true);

    rig.interfaces.set_services(ETHER2, asked);
    rig.pass(padi.clone());
    assert_eq!(rig.punts(), []);
    rig.interfaces.set_services(ETHER1, asked);
    rig.pass(padi.clone());
    assert_eq!(rig.punts(), [(heard(FREE, false), padi.clone())]);

    // The next interface in the slot has no services.
    let line = rig.interfaces.get(ETHER1).expect("it is there");
    rig.interfaces.remove(ETHER1);
    rig.interfaces.set(ETHER1, &line);
    rig.pass(padi);
    assert_eq!(rig.punts(), []);
}

fn to_port(port: u16, source: u32, destination: u32) -> Udp4 {
    Udp4 {
        to: [0xff; 6],
        source,
        destination,
        destination_port: port,
        ..Udp4::default()
    }
}

#[test]
fn datagrams_are_heard_by_port_and_by_how_they_are_addressed() {
    let mut rig = rig();
    rig.interface(ETHER1).mirror = Some(MIRROR);
    let port = |port| Match::Udp { ipv6: false, port };
    let server = Service::new("dhcp-server", [port(67)], RATE);
    let client = Service {
        addressed: Addressed::Many,
        ..Service::new("dhcp-client", [port(68)], RATE)
    };
    register(&mut rig, &[server, client]);
    let to_router = |port| Udp4 {
        to: MAC,
        ..to_port(port, 0x0a00_0002, 0x0a00_0001)
    };
    let discover = to_port(67, 0, u32::MAX);
    let offer = to_port(68, 0x0a00_0002, u32::MAX);

    for datagram in [discover, to_router(67), offer, to_router(68), to_router(53)] {
        rig.pass(datagram.frame());
    }

    let server = heard(FREE, true);
    let expected = [
        (server, discover.frame()),
        (server, to_router(67).frame()),
        (heard(FREE + 1, true), offer.frame()),
    ];
    assert_eq!(rig.punts(), expected);
    let to_sockets = [to_router(68).packet(), to_router(53).packet()];
    assert_eq!(rig.sent(MIRROR), to_sockets);
    assert_eq!(rig.drops(), []);
}

#[test]
fn a_span_of_ports_is_heard_but_for_those_that_another_has() {
    let mut rig = rig();
    rig.interface(ETHER1).mirror = Some(MIRROR);
    let span = |first, last| Match::UdpPorts {
        ipv6: false,
        first,
        last,
    };
    let alone = Match::Udp {
        ipv6: false,
        port: 45_000,
    };
    let answers = Service::new("answers", [span(40_000, 49_999)], RATE);
    let others = Service::new("others", [span(50_000, 50_009), alone], RATE);
    register(&mut rig, &[answers, others]);

    let ports = [
        39_999, 40_000, 44_999, 45_000, 49_999, 50_000, 50_009, 50_010,
    ];
    for port in ports {
        let datagram = to_port(port, 0x0a00_0002, 0x0a00_0001);
        rig.pass(
            Udp4 {
                to: MAC,
                ..datagram
            }
            .frame(),
        );
    }

    let whys: Vec<_> = rig.punts().into_iter().map(|(why, _)| why).collect();
    let [first, second] = [heard(FREE, true), heard(FREE + 1, true)];
    assert_eq!(whys, [first, first, second, first, second, second]);
    assert_eq!(rig.sent(MIRROR).len(), 2);
}

#[test]
fn fragments_of_what_may_be_a_services_go_to_control_which_makes_them_whole() {
    let mut rig = rig();
    rig.interface(ETHER1).mirror = Some(MIRROR);
    rig.publish();
    let piece = Udp4 {
        fragment: 0x2000,
        destination: 0x0a00_0001,
        ..Udp4::default()
    };
    rig.pass(piece.frame());
    assert_eq!((rig.punts(), rig.sent(MIRROR).len()), (vec![], 1));

    let port = Match::Udp {
        ipv6: false,
        port: 67,
    };
    register(&mut rig, &[Service::new("dhcp-server", [port], RATE)]);
    rig.pass(piece.frame());
    assert_eq!(rig.punts(), [(crate::PuntReason::Local, piece.frame())]);
}

#[test]
fn rules_of_input_are_met_or_passed_as_the_service_wants() {
    let mut rig = rig();
    let vrrp = Match::Protocol {
        ipv6: false,
        protocol: 112,
    };
    let port = Match::Udp {
        ipv6: false,
        port: 68,
    };
    let client = Service {
        meets_rules: false,
        ..Service::new("dhcp-client", [port], RATE)
    };
    register(&mut rig, &[Service::new("vrrp", [vrrp], RATE), client]);
    let hello = Udp4 {
        to: [1, 0, 0x5e, 0, 0, 18],
        protocol: 112,
        destination: 0xe000_0012,
        ..Udp4::default()
    };
    let offer = to_port(68, 0x0a00_0002, u32::MAX);
    rig.pass(hello.frame());
    assert_eq!(rig.punts(), [(heard(FREE, true), hello.frame())]);

    let all = Rule::new(1, Vec::new(), Action::Drop);
    filtered(&mut rig, filter::INPUT, vec![all]);
    rig.pass(hello.frame());
    rig.pass(offer.frame());

    assert_eq!(rig.drops(), [(DropReason::FirewallFilter, 1)]);
    assert_eq!(rig.punts(), [(heard(FREE + 1, false), offer.frame())]);
}

#[test]
fn each_service_has_its_own_rate() {
    let mut rig = rig();
    let rate = Rate {
        per_second: 10,
        burst: 3,
    };
    let type_ = |number| [Match::Frame(FrameContent::EtherType(number))];
    register(
        &mut rig,
        &[
            // One sender may use the whole rate.
            Service {
                per_sender: PerSender::Link(RATE),
                ..Service::new("loud", type_(0x88b5), rate)
            },
            Service::new("calm", type_(0x88b6), rate),
        ],
    );
    let loud = ethernet(MAC, 0x88b5, &[0; 46]);
    for _ in 0..10 {
        rig.pass(loud.clone());
    }
    rig.pass(ethernet(MAC, 0x88b6, &[0; 46]));

    assert_eq!(rig.punts().len(), 3 + 1);
    assert_eq!(rig.drops(), [(DropReason::ServiceLimit, 7)]);
    let [loud_id, calm_id] = [FREE, FREE + 1].map(|at| ServiceId::new(at).expect("a place"));
    let counted = |id| {
        let service = rig.counters[0].service(id);
        (service.heard.get(), service.lost.get())
    };
    assert_eq!((counted(loud_id), counted(calm_id)), ((3, 7), (1, 0)));

    rig.now += Duration::from_millis(200);
    for _ in 0..10 {
        rig.pass(loud.clone());
    }
    assert_eq!(rig.punts().len(), 2, "a fifth of a second's");
}

#[test]
fn the_trace_names_the_service() {
    let mut rig = rig();
    register(
        &mut rig,
        &[Service::new(
            "stp",
            [Match::Frame(FrameContent::Llc(0x42))],
            RATE,
        )],
    );
    let echo = Udp4 {
        protocol: 1,
        destination: 0x0a00_0001,
        ..Udp4::default()
    };
    let last = |frame: &[u8]| {
        let walked = trace_packet(rig.tables(), frame, ETHER1);
        let line = walked.lines.last().expect("a stage decided");
        format!("{}: {}", line.stage.name(), line.decision)
    };
    assert_eq!(last(&bpdu()), "ingress: the service stp takes it");
    assert_eq!(last(&echo.frame()), "routing: the service icmp takes it");
    assert_eq!(last(&cdp()), "ingress: drop: ethernet-type");
}

#[test]
fn a_match_is_of_one_service() {
    let mut services = Services::default();
    let what = Match::Frame(FrameContent::EtherType(0x88cc));
    let [first, second] = [0, 1].map(|place| ServiceId::new(place).expect("a place"));
    let add =
        |services: &mut Services, id, name| services.add(id, &Service::new(name, [what], RATE));
    assert_eq!(add(&mut services, first, "lldp"), Ok(()));
    assert_eq!(add(&mut services, first, "lldp"), Ok(()));
    let by = "lldp";
    assert_eq!(
        add(&mut services, second, "x"),
        Err(DuplicateMatch { what, by })
    );
    assert_eq!(services.name(second), "x");
}
