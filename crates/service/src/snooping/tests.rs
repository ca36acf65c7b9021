//! Scenarios of RFC 4541 and of RouterOS's settings.

use wire::Mac;

use super::message::read;
use super::*;

const PORTS: [u32; 3] = [1, 2, 3];
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);
const GROUP6: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 7);
const ROUTER6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

/// A bridge with three ports, and virtual time.
struct Rig {
    snooping: Snooping,
    now: Instant,
    out: Vec<Action>,
}

impl Rig {
    fn new(config: Config) -> Self {
        let mut rig = Self {
            snooping: Snooping::default(),
            now: Instant::ZERO,
            out: Vec::new(),
        };
        for port in PORTS {
            let config = PortConfig {
                fast_leave: port == 3,
                learns_routers: true,
            };
            rig.handle(Event::Port(port, config));
        }
        rig.handle(Event::Configure(config));
        rig.pass(0);
        rig
    }

    fn handle(&mut self, event: Event<'_>) -> Vec<Action> {
        self.snooping.handle(event, self.now, &mut self.out);
        core::mem::take(&mut self.out)
    }

    /// Advances the time; returns the actions.
    fn pass(&mut self, seconds: u64) -> Vec<Action> {
        let end = self.now + Duration::from_secs(seconds);
        while let Some((at, _)) = self.snooping.deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.snooping.tick(self.now, &mut self.out);
        }
        self.now = end;
        core::mem::take(&mut self.out)
    }

    fn hear(&mut self, port: u32, packet: &[u8]) -> Vec<Action> {
        self.handle(Event::Received {
            port,
            vlan: 0,
            packet,
        })
    }

    fn listeners(&self, group: impl Into<IpAddr>) -> Vec<u32> {
        let group = group.into();
        let all = self.snooping.members();
        let of_group = all.filter(|(_, of, _)| *of == group);
        of_group.map(|(_, _, port)| port).collect()
    }
}

fn igmp(source: [u8; 4], kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, 0, 0, 0];
    message.extend(rest);
    let sum = wire::checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = wire::ipv4::Repr::new(wire::Protocol::IGMP, source.into(), GROUP);
    let mut packet = header.to_bytes(message.len()).to_vec();
    packet.extend(message);
    packet
}

fn report() -> Vec<u8> {
    igmp([10, 0, 0, 9], 0x16, &GROUP.octets())
}

fn leave() -> Vec<u8> {
    igmp([10, 0, 0, 9], 0x17, &GROUP.octets())
}

/// An IGMPv3 report with one record of this type, with these sources.
fn record(kind: u8, sources: &[[u8; 4]]) -> Vec<u8> {
    let mut rest = vec![0, 0, 0, 1, kind, 0, 0, sources.len() as u8];
    rest.extend(GROUP.octets());
    rest.extend(sources.concat());
    igmp([10, 0, 0, 9], 0x22, &rest)
}

fn query_of(source: impl Into<IpAddr>, group: Option<IpAddr>) -> Vec<u8> {
    let query = Query {
        source: source.into(),
        group,
        response: Duration::from_secs(10),
        newest: false,
        interval: Duration::from_secs(125),
    };
    query.frame().payload
}

fn mld(kind: u8, group: Ipv6Addr) -> Vec<u8> {
    let mut packet = query_of(ROUTER6, Some(group.into()));
    // A version 1 query and a report differ only in their type.
    let (at, sum) = (48, 50);
    let before = packet[at];
    packet[at] = kind;
    let old = u16::from_be_bytes([packet[sum], packet[sum + 1]]);
    let difference =
        u32::from(!old) + (u32::from(kind) << 8) + u32::from(!(u16::from(before) << 8));
    let folded = (difference & 0xffff) + (difference >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[sum..sum + 2].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    packet
}

fn asks(actions: &[Action]) -> Vec<(Option<u32>, Option<IpAddr>)> {
    let queries = actions.iter().filter_map(|action| match action {
        Action::Query { port, frame, .. } => Some((*port, frame)),
        _ => None,
    });
    let read = queries.map(|(port, frame)| match read(&frame.payload) {
        Ok(Some(MulticastMessage::Query { group, .. })) => (port, group),
        other => panic!("{other:?} is no query"),
    });
    read.collect()
}

#[test]
fn a_port_is_a_listener_from_its_report_until_the_timeout() {
    let mut rig = Rig::new(Config::default());
    let member = |listens| Action::Member {
        vlan: 0,
        group: GROUP.into(),
        port: 2,
        listens,
    };
    assert_eq!(rig.hear(2, &report()), [member(true)]);
    rig.pass(200);
    assert_eq!(rig.hear(2, &report()), []);
    assert_eq!(rig.pass(259), []);
    assert_eq!(rig.pass(1), [member(false)]);
    assert_eq!(rig.snooping.deadline(), None);
}

#[test]
fn multicast_is_flooded_until_a_querier_appears() {
    let mut rig = Rig::new(Config::default());
    assert!(!rig.snooping.is_asked(0, false));
    let heard = rig.hear(1, &query_of([10, 0, 0, 1].map(u8::from), None));
    let router = |is_there| Action::Router {
        vlan: 0,
        ipv6: false,
        port: 1,
        is_there,
    };
    let asked = |asked| Action::Asked {
        vlan: 0,
        ipv6: false,
        asked,
    };
    assert_eq!(heard, [router(true), asked(true)]);
    assert_eq!(rig.pass(254), []);
    let gone = rig.pass(1);
    assert!(gone.contains(&router(false)) && gone.contains(&asked(false)));
}

#[test]
fn a_querier_sends_startup_queries_and_then_periodic_ones() {
    let config = Config {
        querier: true,
        source4: Ipv4Addr::new(10, 0, 0, 5),
        ..Config::default()
    };
    let mut rig = Rig::new(config);
    assert!(rig.snooping.is_asked(0, false));
    assert!(!rig.snooping.is_asked(0, true), "it has no address for MLD");
    assert_eq!(rig.pass(31), []);
    assert_eq!(asks(&rig.pass(1)), [(None, None)]);
    assert_eq!(asks(&rig.pass(250)).len(), 2);

    // A querier with a lower address takes over until it disappears.
    rig.hear(1, &query_of([10, 0, 0, 4].map(u8::from), None));
    assert_eq!(asks(&rig.pass(254)), []);
    assert_eq!(asks(&rig.pass(1)), [(None, None)]);
    // A querier with a higher address does not.
    rig.hear(1, &query_of([10, 0, 0, 6].map(u8::from), None));
    assert_eq!(asks(&rig.pass(160)).len(), 2);
}

#[test]
fn a_leave_is_followed_by_group_queries() {
    let config = Config {
        querier: true,
        ..Config::default()
    };
    let mut rig = Rig::new(config);
    rig.hear(2, &report());
    rig.hear(3, &report());
    rig.hear(2, &leave());
    let last = (Some(2), Some(IpAddr::from(GROUP)));
    assert_eq!(asks(&rig.pass(0)), [last]);
    assert_eq!(asks(&rig.pass(1)), [last]);
    rig.hear(2, &report());
    rig.pass(5);
    assert_eq!(rig.listeners(GROUP), [2, 3], "another one still listens");

    rig.hear(2, &leave());
    rig.pass(2);
    assert_eq!(rig.listeners(GROUP), [3]);
    rig.hear(3, &leave());
    assert_eq!(rig.listeners(GROUP), [], "fast-leave asks nobody");
}

#[test]
fn with_another_querier_members_leave_after_its_group_query() {
    let mut rig = Rig::new(Config::default());
    let querier = [10, 0, 0, 1].map(u8::from);
    rig.hear(1, &query_of(querier, None));
    rig.hear(2, &report());
    rig.hear(2, &leave());
    rig.pass(30);
    assert_eq!(rig.listeners(GROUP), [2]);
    rig.hear(1, &query_of(querier, Some(GROUP.into())));
    rig.pass(2);
    assert_eq!(rig.listeners(GROUP), []);
}

#[test]
fn records_of_version_3_join_and_leave() {
    let mut rig = Rig::new(Config::default());
    let source = [10, 9, 9, 9];
    for (kind, sources, listens) in [
        (2, &[][..], true),
        (3, &[][..], false),
        (4, &[][..], true),
        (3, &[][..], false),
        (5, &[source][..], true),
        (6, &[source][..], true),
        (3, &[source][..], true),
        (3, &[][..], false),
        (1, &[source][..], true),
    ] {
        rig.hear(3, &record(kind, sources));
        assert_eq!(!rig.listeners(GROUP).is_empty(), listens, "{kind}");
    }
}

#[test]
fn mld_snooping_matches_igmp_snooping() {
    let config = Config {
        querier: true,
        source6: Some(ROUTER6),
        mld_v2: true,
        ..Config::default()
    };
    let mut rig = Rig::new(config);
    assert!(rig.snooping.is_asked(0, true));
    rig.hear(3, &mld(131, GROUP6));
    assert_eq!(rig.listeners(GROUP6), [3]);
    rig.hear(3, &mld(132, GROUP6));
    assert_eq!(rig.listeners(GROUP6), []);
    assert_eq!(rig.snooping.counters().invalid, 0);
}

#[test]
fn a_topology_change_triggers_a_general_query() {
    let config = Config {
        querier: true,
        ..Config::default()
    };
    let mut rig = Rig::new(config);
    rig.pass(60);
    rig.handle(Event::TopologyChanged);
    assert_eq!(asks(&rig.pass(0)), [(None, None)]);
}

#[test]
fn malformed_messages_are_counted_and_the_table_is_bounded() {
    let config = Config {
        members_max: 100,
        ..Config::default()
    };
    let mut rig = Rig::new(config);
    let good = report();
    for cut in 21..good.len() {
        assert_eq!(rig.hear(1, &good[..cut]), []);
    }
    let mut damaged = good.clone();
    damaged[22] ^= 1;
    rig.hear(1, &damaged);
    rig.hear(1, &record(2, &[[1, 2, 3, 4]])[..36]);
    rig.hear(1, &igmp([10, 0, 0, 9], 0x16, &[10, 0, 0, 1]));
    assert!(rig.snooping.counters().invalid >= 3);
    assert_eq!(rig.snooping.counters().reports, 0);

    for group in 0..1000_u32 {
        let group = Ipv4Addr::from_bits(GROUP.to_bits() + group);
        rig.hear(1, &igmp([10, 0, 0, 9], 0x16, &group.octets()));
    }
    assert_eq!(rig.snooping.members().count(), 100);
    assert_eq!(rig.snooping.counters().full, 900);
    // A removed port takes its members with it.
    assert_eq!(rig.handle(Event::PortGone(1)).len(), 100);
    assert_eq!(rig.snooping.deadline(), None);
}

#[test]
fn link_local_multicast_is_no_group() {
    let mut rig = Rig::new(Config::default());
    rig.hear(1, &igmp([10, 0, 0, 9], 0x16, &[224, 0, 0, 251]));
    assert_eq!(rig.snooping.members().count(), 0);
}

#[test]
fn queries_are_frames_to_the_group() {
    let query = Query {
        source: Ipv4Addr::UNSPECIFIED.into(),
        group: Some(GROUP.into()),
        response: Duration::from_secs(1),
        newest: true,
        interval: Duration::from_secs(125),
    };
    let frame = query.frame();
    assert_eq!(frame.dst, Mac([1, 0, 0x5e, 1, 2, 3]));
    // RFC 3376, 4.1: type, response time in tenths, group, robustness, interval in seconds.
    assert_eq!(frame.payload[24..26], [0x11, 10]);
    assert_eq!(frame.payload[28..], [239, 1, 2, 3, 2, 125, 0, 0]);
}
