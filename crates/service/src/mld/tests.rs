//! MLD listener, by the requirements of the RFCs.

use wire::icmpv6::Type;
use wire::{Mac, Protocol, icmpv6, ipv6};

use super::*;

const OWN: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const QUERIER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 1);
const OTHER: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 2);
const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

/// A message as a switch reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    src: Ipv6Addr,
    dst: Ipv6Addr,
    kind: Type,
    /// Type and group of each record; type 0 for MLDv1.
    records: Vec<(u8, Ipv6Addr)>,
}

struct Fixture {
    machine: Listener,
    now: Instant,
}

impl Fixture {
    fn new(seed: u64) -> Self {
        let mut fixture = Self {
            machine: Listener::new(seed),
            now: Instant::from_secs(5),
        };
        fixture.on(Event::LinkUp);
        fixture.on(Event::Source { address: Some(OWN) });
        fixture
    }

    /// A fixture that has reported `GROUP` and `OTHER`.
    fn settled(seed: u64) -> Self {
        let mut fixture = Self::new(seed);
        fixture.on(Event::Join { group: GROUP });
        fixture.on(Event::Join { group: OTHER });
        fixture.pass(Duration::from_secs(5));
        fixture
    }

    fn on(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.machine.handle(event, self.now, &mut out);
        assert!(out.is_empty());
    }

    fn hear(&mut self, packet: &[u8]) {
        self.on(Event::Received { packet });
    }

    fn pass(&mut self, span: Duration) -> Vec<Said> {
        let end = self.now + span;
        let mut said = Vec::new();
        while let Some((due, _)) = self.machine.deadline().filter(|&(due, _)| due <= end) {
            self.now = self.now.max(due);
            let mut out = Vec::new();
            self.machine.tick(self.now, &mut out);
            said.extend(out.into_iter().map(read));
        }
        self.now = end;
        said
    }
}

fn read(Action::Send(frame): Action) -> Said {
    let ip = ipv6::Packet::new_checked(&frame.payload).unwrap();
    assert!(frame.payload.len() <= 1_280);
    assert_eq!(
        (ip.hop_limit(), frame.dst),
        (1, Mac::of_ipv6_group(ip.dst()))
    );
    let mut extensions = ip.extensions().map(Result::unwrap);
    let alert = extensions.next().unwrap();
    let option = alert.options().next().unwrap().unwrap();
    assert_eq!(
        (option.kind, option.data),
        (ipv6::IpOption::ROUTER_ALERT, &[0, 0][..])
    );
    let upper = ip.upper().unwrap().payload;
    let icmp = icmpv6::Packet::new_verified(upper, ip.src(), ip.dst()).unwrap();
    let group = |bytes: &[u8]| Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap());
    let records = match icmp.kind() {
        Type::LISTENER_REPORT_V2 => {
            let records = icmp.payload().chunks(20).map(|record| {
                assert_eq!(record[1..4], [0; 3]);
                (record[0], group(&record[4..]))
            });
            let records: Vec<_> = records.collect();
            let [_, _, high, low] = icmp.rest();
            assert_eq!(usize::from(u16::from_be_bytes([high, low])), records.len());
            records
        }
        _ => vec![(0, group(icmp.payload()))],
    };
    Said {
        src: ip.src(),
        dst: ip.dst(),
        kind: icmp.kind(),
        records,
    }
}

/// A query for a group, or a general query if it is unspecified.
fn query(group: Ipv6Addr, version: u8, response_ms: u16, hop_limit: u8) -> Vec<u8> {
    let mut data = group.octets().to_vec();
    if version == 2 {
        data.extend_from_slice(&[2, 125, 0, 0]);
    }
    let [high, low] = response_ms.to_be_bytes();
    let message = icmpv6::Message::Other {
        kind: Type::LISTENER_QUERY,
        code: 0,
        rest: [high, low, 0, 0],
        data: &data,
    };
    let dst = if group.is_unspecified() {
        ALL_NODES
    } else {
        group
    };
    let mut upper = vec![Protocol::ICMPV6.0, 0, 5, 2, 0, 0, 1, 0];
    message.emit(QUERIER, dst, &mut upper);
    let header = ipv6::Repr {
        hop_limit,
        ..ipv6::Repr::new(Protocol::HOP_BY_HOP, QUERIER, dst)
    };
    [&header.to_bytes(upper.len())[..], &upper].concat()
}

fn general(version: u8) -> Vec<u8> {
    query(Ipv6Addr::UNSPECIFIED, version, 10_000, 1)
}

fn report(records: &[(u8, Ipv6Addr)]) -> Said {
    Said {
        src: OWN,
        dst: ROUTERS,
        kind: Type::LISTENER_REPORT_V2,
        records: records.to_vec(),
    }
}

#[test]
fn a_join_and_a_leave_are_reported_at_once_and_again_within_a_second() {
    // RFC 3810, 6.1.
    for seed in 0..100 {
        let mut fixture = Fixture::new(seed);

        fixture.on(Event::Join { group: GROUP });
        assert_eq!(fixture.pass(Duration::ZERO), [report(&[(4, GROUP)])]);
        assert_eq!(
            fixture.pass(Duration::from_secs(1)),
            [report(&[(4, GROUP)])],
            "seed {seed}"
        );
        assert_eq!(fixture.pass(Duration::from_secs(60)), []);

        fixture.on(Event::Leave { group: GROUP });
        assert_eq!(
            fixture.pass(Duration::from_secs(1)),
            vec![report(&[(3, GROUP)]); 2]
        );
        assert_eq!(fixture.machine.deadline(), None);
    }
}

#[test]
fn a_leave_replaces_a_pending_join_report() {
    let mut fixture = Fixture::new(1);
    fixture.on(Event::Join { group: GROUP });
    fixture.pass(Duration::ZERO);
    fixture.on(Event::Leave { group: GROUP });

    assert_eq!(
        fixture.pass(Duration::from_secs(5)),
        vec![report(&[(3, GROUP)]); 2]
    );
}

#[test]
fn a_report_without_an_address_comes_from_the_unspecified_one() {
    // RFC 3810, 5.2.13.
    let mut fixture = Fixture::new(1);
    fixture.on(Event::Source { address: None });
    fixture.on(Event::Join { group: GROUP });

    assert_eq!(fixture.pass(Duration::ZERO)[0].src, Ipv6Addr::UNSPECIFIED);
}

#[test]
fn the_all_nodes_group_is_never_reported() {
    let mut fixture = Fixture::settled(1);
    fixture.on(Event::Join { group: ALL_NODES });

    assert_eq!(fixture.pass(Duration::from_secs(60)), []);
    fixture.hear(&query(ALL_NODES, 2, 10, 1));
    assert_eq!(fixture.pass(Duration::from_secs(60)), []);
    fixture.hear(&general(2));
    assert_eq!(
        fixture.pass(Duration::from_secs(10)),
        [report(&[(2, GROUP), (2, OTHER)])]
    );
}

#[test]
fn a_general_query_is_answered_once_for_all_groups_within_its_time() {
    for seed in 0..100 {
        let mut fixture = Fixture::settled(seed);
        fixture.hear(&general(2));
        fixture.hear(&general(2));

        let said = fixture.pass(Duration::from_secs(10));

        assert_eq!(said, [report(&[(2, GROUP), (2, OTHER)])], "seed {seed}");
        assert_eq!(fixture.machine.deadline(), None);
    }
}

#[test]
fn a_group_query_is_answered_for_a_joined_group() {
    let stranger = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 9);
    let mut fixture = Fixture::settled(1);

    fixture.hear(&query(stranger, 2, 1_000, 1));
    assert_eq!(fixture.pass(Duration::from_secs(1)), []);
    fixture.hear(&query(OTHER, 2, 1_000, 1));
    assert_eq!(
        fixture.pass(Duration::from_secs(1)),
        [report(&[(2, OTHER)])]
    );
}

#[test]
fn no_report_is_sent_for_a_group_left_before_the_answer() {
    let mut fixture = Fixture::settled(1);
    fixture.hear(&query(OTHER, 2, 10_000, 1));
    fixture.on(Event::Leave { group: OTHER });

    let said = fixture.pass(Duration::from_secs(20));

    assert_eq!(said, vec![report(&[(3, OTHER)]); 2]);
}

#[test]
fn an_older_querier_is_answered_in_its_version_while_present() {
    // RFC 3810, 8.2.1.
    let mut fixture = Fixture::settled(1);
    let version_1 = |kind, dst, group| Said {
        src: OWN,
        dst,
        kind,
        records: vec![(0, group)],
    };

    fixture.hear(&general(1));
    let kind = Type::LISTENER_REPORT;
    let reports = [version_1(kind, GROUP, GROUP), version_1(kind, OTHER, OTHER)];
    assert_eq!(fixture.pass(Duration::from_secs(10)), reports);

    fixture.on(Event::Leave { group: OTHER });
    let all_routers = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
    let done = version_1(Type::LISTENER_DONE, all_routers, OTHER);
    assert_eq!(fixture.pass(Duration::ZERO), [done]);

    fixture.pass(Duration::from_secs(260));
    fixture.hear(&general(2));
    assert_eq!(
        fixture.pass(Duration::from_secs(10)),
        [report(&[(2, GROUP)])]
    );
}

#[test]
fn invalid_queries_are_counted_and_not_answered() {
    // RFC 3810, 6.2.
    let mut global_source = general(2);
    global_source[8..24].copy_from_slice(&OTHER.octets());
    let mut corrupt = general(2);
    *corrupt.last_mut().unwrap() ^= 1;
    let with_alert = general(2);
    let mut without_alert = with_alert[..40].to_vec();
    without_alert[4..7].copy_from_slice(&[0, 28, Protocol::ICMPV6.0]);
    without_alert.extend_from_slice(&with_alert[48..]);
    let beyond = query(Ipv6Addr::UNSPECIFIED, 2, 10, 2);
    for (n, case) in [global_source, corrupt, without_alert, beyond]
        .iter()
        .enumerate()
    {
        let mut fixture = Fixture::settled(1);
        fixture.hear(case);

        assert_eq!(fixture.pass(Duration::from_secs(20)), [], "case {n}");
        assert_eq!(fixture.machine.counters().invalid, 1, "case {n}");
    }
}

#[test]
fn all_groups_are_reported_when_the_link_returns() {
    let mut fixture = Fixture::settled(1);
    fixture.on(Event::LinkDown);
    fixture.on(Event::Join {
        group: "ff0e::7".parse().unwrap(),
    });
    assert_eq!(fixture.pass(Duration::from_secs(9)), []);

    fixture.on(Event::LinkUp);

    assert_eq!(fixture.pass(Duration::ZERO)[0].records.len(), 3);
}

#[test]
fn many_groups_take_several_packets() {
    let mut fixture = Fixture::new(1);
    for n in 0..200 {
        let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff01, n);
        fixture.on(Event::Join { group });
    }

    let said = fixture.pass(Duration::ZERO);

    assert_eq!(said.len(), 4);
    assert_eq!(
        said.iter().map(|said| said.records.len()).sum::<usize>(),
        200
    );
}

#[test]
fn random_bytes_never_panic() {
    for seed in 0..3_000 {
        let mut rng = Rng::seeded(seed);
        let mut fixture = Fixture::settled(seed);
        for _ in 0..10 {
            let mut packet = general(1 + (seed % 2) as u8);
            for _ in 0..rng.below(3) {
                let at = rng.below(packet.len() as u64) as usize;
                packet[at] = rng.next_u32() as u8;
            }
            packet.truncate(rng.below(2 * packet.len() as u64) as usize);
            fixture.hear(&packet);
            fixture.pass(Duration::from_millis(rng.below(3_000)));
        }
    }
}

#[test]
fn repeated_queries_do_not_delay_the_answer() {
    for seed in 0..100 {
        let mut fixture = Fixture::settled(seed);
        let mut said = Vec::new();
        for _ in 0..1_000 {
            fixture.hear(&query(Ipv6Addr::UNSPECIFIED, 2, 1_000, 1));
            said.extend(fixture.pass(Duration::from_millis(1)));
        }

        assert!(!said.is_empty(), "seed {seed}");
    }
}
