//! Tests of each matcher: packets that match, packets that do not, and packets without the field, which fail
//! even negated matchers.

use core::time::Duration;

use wire::Mac;

use super::*;

fn both(what: Match, subject: &Subject<'_>) -> (bool, bool) {
    let matcher = Matcher::from(what);
    (
        matches(matcher.clone(), subject),
        matches(!matcher, subject),
    )
}

const HOLDS: (bool, bool) = (true, false);
const FAILS: (bool, bool) = (false, true);
const LACKS: (bool, bool) = (false, false);

fn range(first: u128, last: u128) -> AddressRange {
    AddressRange { first, last }
}

#[test]
fn addresses_and_protocols_are_compared() {
    let fields = segment();
    let packet = subject(&fields, &[]);
    let ten = AddressRange::prefix(0x0a00_0000, 8, 32);

    assert_eq!(both(Match::Source(ten), &packet), HOLDS);
    assert_eq!(both(Match::Destination(ten), &packet), FAILS);
    assert_eq!(
        both(Match::Source(range(0x0a00_0001, 0x0a00_0001)), &packet),
        HOLDS
    );
    assert_eq!(both(Match::Source(range(2, 1)), &packet), FAILS);
    assert_eq!(
        both(Match::Source(range(0, u32::MAX.into())), &packet),
        HOLDS
    );
    assert_eq!(both(Match::Protocol(6), &packet), HOLDS);
    assert_eq!(both(Match::Protocol(17), &packet), FAILS);
    assert_eq!(both(Match::Never, &packet), LACKS);
}

#[test]
fn the_last_ipv6_address_differs_from_the_whole_range() {
    let last = Match::Destination(range(u32::MAX.into(), u32::MAX.into()));
    let mut fields = segment();
    fields.tuple.destination = u32::MAX.into();
    assert_eq!(both(last.clone(), &subject(&fields, &[])), HOLDS);
    fields.tuple.destination = 0x2001 << 112;
    fields.tuple.ipv6 = true;
    assert_eq!(both(last, &subject(&fields, &[])), FAILS);
}

#[test]
fn port_matchers_fail_without_ports() {
    let web: Box<[(u16, u16)]> = [(80, 80), (440, 450)].into();
    let mut fields = segment();
    assert_eq!(
        both(Match::DestinationPort(web.clone()), &subject(&fields, &[])),
        HOLDS
    );
    assert_eq!(
        both(Match::SourcePort(web.clone()), &subject(&fields, &[])),
        FAILS
    );
    assert_eq!(
        both(Match::Port(web.clone()), &subject(&fields, &[])),
        HOLDS
    );

    fields.fragment = Fragment::Later;
    assert_eq!(
        both(Match::DestinationPort(web.clone()), &subject(&fields, &[])),
        LACKS
    );
    assert_eq!(both(Match::Fragment(true), &subject(&fields, &[])), HOLDS);
    assert_eq!(
        both(Match::TcpFlags { set: 2, clear: 0 }, &subject(&fields, &[])),
        LACKS
    );
    fields = segment();
    fields.tuple.protocol = protocol::ICMP;
    let zero: Box<[(u16, u16)]> = [(0, 65535)].into();
    assert_eq!(both(Match::SourcePort(zero), &subject(&fields, &[])), LACKS);
    assert_eq!(both(Match::Port(web), &subject(&fields, &[])), LACKS);
}

#[test]
fn flags_must_be_set_and_clear() {
    let fields = segment();
    let packet = subject(&fields, &[]);
    assert_eq!(
        both(
            Match::TcpFlags {
                set: 0x02,
                clear: 0x10
            },
            &packet
        ),
        HOLDS
    );
    assert_eq!(
        both(
            Match::TcpFlags {
                set: 0x12,
                clear: 0
            },
            &packet
        ),
        FAILS
    );
    let mut udp = segment();
    udp.tuple.protocol = protocol::UDP;
    assert_eq!(
        both(Match::TcpFlags { set: 0, clear: 0 }, &subject(&udp, &[])),
        LACKS
    );
}

#[test]
fn icmp_is_matched_by_type_and_code() {
    let mut fields = segment();
    fields.tuple.protocol = protocol::ICMP;
    fields.tuple.destination_port = 0x0304;
    let icmp = |kind, first, last| Match::Icmp(Icmp { kind, first, last });

    assert_eq!(both(icmp(3, 0, 255), &subject(&fields, &[])), HOLDS);
    assert_eq!(both(icmp(3, 5, 255), &subject(&fields, &[])), FAILS);
    assert_eq!(both(icmp(8, 0, 255), &subject(&fields, &[])), FAILS);
    fields.tuple.protocol = protocol::UDP;
    assert_eq!(both(icmp(3, 0, 255), &subject(&fields, &[])), LACKS);
}

#[test]
fn interfaces_are_compared_one_by_one_and_in_lists() {
    let fields = segment();
    let mut packet = subject(&fields, &[]);
    packet.bridge_ingress = Class(7);
    let list = |ids: &[u16]| Arc::new(ids.iter().map(|id| Class(*id)).collect());

    assert_eq!(both(Match::InInterface(Class(1)), &packet), HOLDS);
    assert_eq!(both(Match::OutInterface(Class(1)), &packet), FAILS);
    assert_eq!(both(Match::InInterfaceList(list(&[1, 9])), &packet), HOLDS);
    assert_eq!(both(Match::OutInterfaceList(list(&[1, 9])), &packet), FAILS);
    assert_eq!(both(Match::InBridgePort(Class(7)), &packet), HOLDS);
    assert_eq!(both(Match::OutBridgePort(Class(7)), &packet), FAILS);
    assert_eq!(both(Match::InBridgePortList(list(&[7])), &packet), HOLDS);
    assert_eq!(both(Match::OutBridgePortList(list(&[7])), &packet), FAILS);
}

#[test]
fn marks_states_and_priorities_are_compared() {
    let fields = segment();
    let mut packet = subject(&fields, &[]);
    packet.marks = Marks {
        packet: 4,
        routing: 5,
        connection: 6,
        priority: 7,
    };
    packet.sender = Some(Sender {
        mac: Mac([2; 6]),
        priority: 6,
    });
    packet.state = State::Related;
    packet.nat = NatState::DSTNAT;
    let states = States(1 << State::Related as u8 | 1 << State::Established as u8);

    assert_eq!(both(Match::PacketMark(4), &packet), HOLDS);
    assert_eq!(both(Match::PacketMark(0), &packet), FAILS);
    assert_eq!(both(Match::RoutingMark(5), &packet), HOLDS);
    assert_eq!(both(Match::ConnectionMark(6), &packet), HOLDS);
    assert_eq!(both(Match::Priority(7), &packet), HOLDS);
    assert_eq!(both(Match::IngressPriority(7), &packet), FAILS);
    assert_eq!(both(Match::IngressPriority(6), &packet), HOLDS);
    assert_eq!(both(Match::ConnectionState(states), &packet), HOLDS);
    let new = States(1 << State::New as u8);
    assert_eq!(both(Match::ConnectionState(new), &packet), FAILS);
    assert_eq!(both(Match::ConnectionNatState(NatState(3)), &packet), HOLDS);
    assert_eq!(
        both(Match::ConnectionNatState(NatState::SRCNAT), &packet),
        FAILS
    );
}

#[test]
fn header_fields_are_compared() {
    let fields = segment();
    let mut packet = subject(&fields, b"GET / HTTP");
    packet.sender = Some(Sender {
        mac: Mac([2, 0, 0, 0, 0, 1]),
        priority: 0,
    });

    assert_eq!(both(Match::Ttl(Compare::Equal(63)), &packet), HOLDS);
    assert_eq!(both(Match::Ttl(Compare::NotEqual(63)), &packet), FAILS);
    assert_eq!(both(Match::Ttl(Compare::Less(64)), &packet), HOLDS);
    assert_eq!(both(Match::Ttl(Compare::Greater(63)), &packet), FAILS);
    assert_eq!(both(Match::Dscp(10), &packet), HOLDS);
    let tos = |value| Match::Tos(Tos { value, mask: 0xf0 });
    assert_eq!(both(tos(0x20), &packet), HOLDS);
    assert_eq!(both(tos(0x28), &packet), FAILS);
    assert_eq!(both(Match::PacketSize(60, 100), &packet), HOLDS);
    assert_eq!(both(Match::PacketSize(0, 59), &packet), FAILS);
    assert_eq!(
        both(Match::Content(b"HTTP".to_vec().into()), &packet),
        HOLDS
    );
    assert_eq!(
        both(Match::Content(b"http".to_vec().into()), &packet),
        FAILS
    );
    assert_eq!(
        both(Match::SourceMac(Mac([2, 0, 0, 0, 0, 1])), &packet),
        HOLDS
    );
    packet.sender = None;
    assert_eq!(
        both(Match::SourceMac(Mac([2, 0, 0, 0, 0, 1])), &packet),
        LACKS
    );
    assert_eq!(both(Match::Ipv4Options(Ipv4Option::None), &packet), HOLDS);
}

/// A connection with all properties known.
struct KnownConnection;

impl Facts for KnownConnection {
    fn bytes(&self) -> Option<u64> {
        Some(2_000_000)
    }

    fn rate_bps(&self) -> Option<u64> {
        Some(64_000)
    }

    fn helper(&self) -> Option<Helper> {
        Some(Helper::Ftp)
    }

    fn is_mapped(&self, tuple: &Tuple) -> bool {
        *tuple == segment().tuple
    }

    fn original(&self) -> Option<Tuple> {
        Some(segment().tuple)
    }

    fn address_types(&self, address: u128, _ipv6: bool) -> AddressTypes {
        match address {
            0x0a00_0001 => AddressTypes::LOCAL,
            _ => AddressTypes::UNICAST,
        }
    }

    fn realm(&self) -> Option<u32> {
        Some(3)
    }

    fn hotspot(&self) -> Hotspot {
        Hotspot(Hotspot::AUTH.0 | Hotspot::HTTP.0)
    }
}

#[test]
fn connection_matchers_fail_without_a_connection() {
    let fields = segment();
    let packet = subject(&fields, &[]);
    let ask = |what: Match| {
        let matcher = Matcher::from(what);
        let (plain, negated) = (matcher.clone(), !matcher);
        (
            matches_with(plain, &packet, &KnownConnection),
            matches_with(negated, &packet, &KnownConnection),
        )
    };
    let bytes = |first, last| Match::ConnectionBytes { first, last };
    let rate = |first, last| Match::ConnectionRate { first, last };

    assert_eq!(ask(bytes(2_000_000, 0)), HOLDS);
    assert_eq!(ask(bytes(0, 1_999_999)), FAILS);
    assert_eq!(both(bytes(0, 0), &packet), LACKS);
    assert_eq!(ask(rate(64_000, 128_000)), HOLDS);
    assert_eq!(ask(rate(0, 63_999)), FAILS);
    assert_eq!(both(rate(0, 1), &packet), LACKS);
    assert_eq!(ask(Match::ConnectionType(Helper::Ftp)), HOLDS);
    assert_eq!(ask(Match::ConnectionType(Helper::Sip)), FAILS);
    assert_eq!(ask(Match::SourceType(AddressTypes::LOCAL)), HOLDS);
    assert_eq!(ask(Match::DestinationType(AddressTypes::LOCAL)), FAILS);
    assert_eq!(ask(Match::Mapped), HOLDS);
    assert_eq!(both(Match::Mapped, &packet), FAILS);
    assert_eq!(ask(Match::Realm(3)), HOLDS);
    let hotspot = |set, clear| Match::Hotspot { set, clear };
    assert_eq!(ask(hotspot(Hotspot::AUTH, Hotspot::TO_CLIENT)), HOLDS);
    assert_eq!(ask(hotspot(Hotspot::AUTH, Hotspot::HTTP)), FAILS);
}

#[test]
fn a_time_range_may_pass_midnight() {
    let fields = segment();
    let at = |hour: u32, weekday: u8, when: When| {
        let table = table(&[(
            "input",
            vec![(vec![Match::Time(when).into()], Action::Drop)],
        )]);
        let mut worker = worker();
        worker.clock.second_of_day = hour * 3600;
        worker.clock.weekday = weekday;
        run_first(&table, &mut subject(&fields, &[]), &mut worker) == Verdict::Drop(1)
    };
    let span = |first: u32, last: u32, days| When {
        first: first * 3600,
        last: last * 3600,
        days,
    };

    assert!(at(9, 1, span(8, 17, 0x3e)) && !at(18, 1, span(8, 17, 0x3e)));
    assert!(!at(9, 0, span(8, 17, 0x3e)));
    assert!(at(23, 0, span(22, 6, 0x7f)) && at(5, 0, span(22, 6, 0x7f)));
    assert!(!at(12, 0, span(22, 6, 0x7f)));
}

#[test]
fn address_lists_contain_configured_and_dynamic_entries() {
    let list = Arc::new(List::new(1).expect("address space"));
    let fields = segment();
    let packet = subject(&fields, &[]);
    let source = || Match::SourceList(Arc::clone(&list));
    assert_eq!(both(source(), &packet), FAILS);

    list.set_fixed(vec![AddressRange::prefix(0x0a00_0000, 8, 32)]);
    assert_eq!(both(source(), &packet), HOLDS);
    assert_eq!(
        both(Match::DestinationList(Arc::clone(&list)), &packet),
        FAILS
    );
    list.set_fixed(Vec::new());
    list.add(0x0a00_0001, None, machine::Instant::ZERO);
    assert_eq!(both(source(), &packet), HOLDS);
}

#[test]
fn connection_classes_are_evenly_distributed() {
    let mut counts = [0_u32; 3];
    for source in 0..3000_u128 {
        let mut fields = segment();
        fields.tuple.source = 0x0a00_0000 + source;
        let packet = subject(&fields, &[]);
        let class = |remainder| Match::PerConnection {
            key: FlowKey(15),
            denominator: 3,
            remainder,
        };
        let fits: Vec<usize> = (0..3)
            .filter(|one| matches(class(*one as u32), &packet))
            .collect();
        assert_eq!(fits.len(), 1);
        counts[fits[0]] += 1;
    }
    assert!(
        counts.iter().all(|count| (900..1100).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn stateful_matchers_run_last_and_consume_only_on_a_match() {
    let rate = Rate {
        count: 1,
        per: Duration::from_secs(1),
        burst: 1,
        unit: Unit::Packets,
    };
    let limit = Arc::new(Limit::new(rate));
    let matchers = vec![
        Match::Limit(Arc::clone(&limit)).into(),
        Match::Content(b"yes".to_vec().into()).into(),
    ];
    let table = table(&[("input", vec![(matchers, Action::Drop)])]);
    let (fields, mut worker) = (segment(), worker());

    for _ in 0..5 {
        let other = run_first(&table, &mut subject(&fields, b"no"), &mut worker);
        assert_eq!(other, Verdict::Accept);
    }
    let mut told = Quiet::<false>::new();
    for _ in 0..5 {
        let mut packet = subject(&fields, b"yes");
        run(
            &table,
            ChainId(0),
            &mut packet,
            &Nothing,
            &mut worker,
            &mut told,
        );
    }
    assert_eq!(told.tried, [(1, true); 5]);
    let yes = |worker: &mut Worker| run_first(&table, &mut subject(&fields, b"yes"), worker);
    assert_eq!(yes(&mut worker), Verdict::Drop(1));
    assert_eq!(yes(&mut worker), Verdict::Accept);
    assert_eq!(worker.counters.get(1).0.packets, 1);
}

/// A packet that begins a connection.
struct Begun(Tuple);

impl Facts for Begun {
    fn bytes(&self) -> Option<u64> {
        None
    }

    fn rate_bps(&self) -> Option<u64> {
        None
    }

    fn helper(&self) -> Option<Helper> {
        None
    }

    fn is_mapped(&self, _tuple: &Tuple) -> bool {
        false
    }

    fn address_types(&self, _address: u128, _ipv6: bool) -> AddressTypes {
        AddressTypes::UNICAST
    }

    fn realm(&self) -> Option<u32> {
        None
    }

    fn hotspot(&self) -> Hotspot {
        Hotspot::default()
    }

    fn original(&self) -> Option<Tuple> {
        Some(self.0)
    }
}

#[test]
fn a_connection_leaves_the_limit_count_when_it_ends() {
    let limit = Arc::new(ConnectionLimit::new(1, 32).expect("address space"));
    let matcher = Match::ConnectionLimit(limit).into();
    let table = table(&[("input", vec![(vec![matcher], Action::Drop)])]);
    let mut worker = worker();
    let mut from = |port: u16| {
        let mut fields = segment();
        fields.tuple.source_port = port;
        let mut packet = subject(&fields, &[]);
        // Packets without a connection are not counted.
        run_first(&table, &mut packet, &mut worker);
        assert!(!packet.changes.counted);
        let (facts, mut told) = (Begun(fields.tuple), Quiet::<true>::new());
        let verdict = run(
            &table,
            ChainId(0),
            &mut packet,
            &facts,
            &mut worker,
            &mut told,
        );
        assert!(packet.changes.counted);
        (verdict, fields.tuple)
    };

    let (first, tuple) = from(1);
    assert_eq!(first, Verdict::Accept);
    let (second, other) = from(2);
    assert_eq!(second, Verdict::Drop(1));
    table.leave(&other);
    assert_eq!(from(1).0, Verdict::Accept);
    table.leave(&tuple);
    assert_eq!(from(3).0, Verdict::Accept);
}
