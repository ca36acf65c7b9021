//! Compares the classifier with a plain evaluation that tries every rule, as the packet tracer does.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

/// Few different values, so that rules match some packets.
fn address() -> impl Strategy<Value = u128> {
    prop_oneof![
        (0_u128..6, 0_u128..4).prop_map(|(net, host)| 0x0a00_0000 + (net << 8) + host),
        Just(0),
        Just(u128::from(u32::MAX)),
        Just(u128::from(u32::MAX) - 1),
        (0_u128..3, 0_u128..4).prop_map(|(net, host)| (0x2001 << 112) + (net << 64) + host),
        Just(u128::MAX),
    ]
}

fn range() -> impl Strategy<Value = AddressRange> {
    prop_oneof![
        (address(), 16_u8..=32).prop_map(|(bits, len)| AddressRange::prefix(bits, len, 32)),
        (address(), 0_u8..=128).prop_map(|(bits, len)| AddressRange::prefix(bits, len, 128)),
        (address(), address()).prop_map(|(first, last)| AddressRange { first, last }),
    ]
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0_u16..8, Just(443), Just(65535)]
}

fn number() -> impl Strategy<Value = u8> {
    prop_oneof![
        Just(protocol::TCP),
        Just(protocol::UDP),
        Just(protocol::ICMP),
        Just(protocol::ICMPV6),
        Just(protocol::GRE),
        Just(protocol::SCTP),
    ]
}

fn ports() -> impl Strategy<Value = Box<[(u16, u16)]>> {
    vec((port(), port()), 1..4).prop_map(Into::into)
}

fn set() -> impl Strategy<Value = Arc<ClassSet>> {
    vec(0_u16..6, 0..4).prop_map(|all| Arc::new(all.into_iter().map(Class).collect()))
}

fn what() -> impl Strategy<Value = Match> {
    prop_oneof![
        4 => range().prop_map(Match::Source),
        4 => range().prop_map(Match::Destination),
        4 => number().prop_map(Match::Protocol),
        3 => ports().prop_map(Match::DestinationPort),
        1 => ports().prop_map(Match::SourcePort),
        1 => ports().prop_map(Match::Port),
        1 => (0_u8..4, 0_u8..4, 0_u8..4)
            .prop_map(|(kind, first, last)| Match::Icmp(Icmp { kind, first, last })),
        1 => (0_u16..6).prop_map(|class| Match::InInterface(Class(class))),
        1 => (0_u16..6).prop_map(|class| Match::OutInterface(Class(class))),
        1 => set().prop_map(Match::InInterfaceList),
        1 => set().prop_map(Match::OutInterfaceList),
        1 => (0_u8..32).prop_map(|bits| Match::ConnectionState(States(bits))),
        1 => (0_u8..16).prop_map(|bits| Match::ConnectionNatState(NatState(bits))),
        1 => (0_u8..8, 0_u8..8).prop_map(|(set, clear)| Match::TcpFlags { set, clear }),
        2 => (0_u32..3).prop_map(Match::PacketMark),
        1 => (0_u32..3).prop_map(Match::RoutingMark),
        1 => (0_u32..3).prop_map(Match::ConnectionMark),
        1 => (60_u8..66).prop_map(|ttl| Match::Ttl(Compare::Less(ttl))),
        1 => (0_u16..70).prop_map(|size| Match::PacketSize(size, 100)),
        1 => any::<bool>().prop_map(Match::Fragment),
    ]
}

fn matcher() -> impl Strategy<Value = Matcher> {
    (what(), prop::bool::weighted(0.25)).prop_map(|(what, negated)| Matcher { negated, what })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => Just(Action::Drop),
        2 => Just(Action::Accept),
        1 => Just(Action::Return),
        1 => Just(Action::Passthrough),
        2 => (0_u16..5).prop_map(|to| Action::Jump(ChainId(to))),
        1 => (0_u32..3).prop_map(Action::MarkPacket),
        1 => (0_u32..3).prop_map(Action::MarkConnection),
        1 => (60_u8..66).prop_map(|ttl| Action::ChangeTtl(Ttl::Set(ttl))),
    ]
}

fn rules(most: usize) -> impl Strategy<Value = Vec<Written>> {
    vec((vec(matcher(), 0..4), action()), 0..most)
}

fn fields() -> impl Strategy<Value = Fields> {
    let ends = (address(), address(), port(), port(), number());
    let rest = (0_u8..8, 60_u8..66, 0_u32..120, 0_u8..3, any::<bool>());
    (ends, rest).prop_map(
        |(ends, (tcp_flags, ttl, len, fragment, truncated))| Fields {
            tuple: Tuple {
                source: ends.0,
                destination: ends.1,
                source_port: ends.2,
                destination_port: ends.3,
                protocol: ends.4,
                ipv6: ends.0 > u128::from(u32::MAX),
            },
            tcp_flags,
            ttl,
            len,
            fragment: [Fragment::Whole, Fragment::First, Fragment::Later][usize::from(fragment)],
            truncated,
            ..Fields::default()
        },
    )
}

type Packet = (Fields, (u16, u16), (u8, u8), [u32; 3]);

fn packet() -> impl Strategy<Value = Packet> {
    let marks = [0_u32..3, 0_u32..3, 0_u32..3];
    (fields(), (0_u16..6, 0_u16..6), (0_u8..5, 0_u8..16), marks)
}

fn subject_of(packet: &Packet) -> Subject<'_> {
    let (fields, (ingress, egress), (state, nat), [mark, routing, connection]) = packet;
    let states = [
        State::New,
        State::Established,
        State::Related,
        State::Invalid,
        State::Untracked,
    ];
    Subject {
        egress: Class(*egress),
        state: states[usize::from(*state)],
        nat: NatState(*nat),
        marks: Marks {
            packet: *mark,
            routing: *routing,
            connection: *connection,
            ..Marks::default()
        },
        ..Subject::new(fields, &[], Class(*ingress))
    }
}

/// Checks that the first candidate alone predicts the result of the evaluation of all rules.
fn followed(
    chain: &Chain,
    first: &First,
    right: Verdict,
    tried: &[(u32, bool)],
) -> Result<(), TestCaseError> {
    if chain.reads_packet_marks {
        return Ok(());
    }
    let mut passed = Vec::new();
    let end = chain.follow(first, |rule| passed.push(rule));
    match end {
        Quick::Accept(rule) => {
            prop_assert_eq!(right, Verdict::Accept);
            passed.push(rule);
        }
        Quick::Drop(rule) => {
            prop_assert_eq!(right, Verdict::Drop(rule));
            passed.push(rule);
        }
        Quick::Notrack(rule) => passed.push(rule),
        _ => {
            prop_assert_eq!(end, Quick::Ask);
            return Ok(());
        }
    }
    // The first rule of the test has the number `NOBODY`.
    let matched = tried
        .iter()
        .filter(|(rule, matched)| *matched && *rule != NOBODY);
    let matched: Vec<u32> = matched.map(|(rule, _)| *rule).collect();
    passed.retain(|rule| *rule != NOBODY);
    prop_assert!(matched.starts_with(&passed));
    if !matches!(end, Quick::Notrack(_)) {
        prop_assert_eq!(matched, passed);
    }
    Ok(())
}

/// Checks that compiled evaluation, plain evaluation and prefetched evaluation give the same verdict and
/// changes.
fn agree(table: &Table, packets: &[Packet]) -> Result<(), TestCaseError> {
    let subjects: Vec<Subject<'_>> = packets.iter().map(subject_of).collect();
    agree_on(table, &subjects)
}

/// Checks packets in any form.
pub(super) fn agree_on(table: &Table, subjects: &[Subject<'_>]) -> Result<(), TestCaseError> {
    let mut firsts = vec![First::NOBODY; subjects.len()];
    table.ahead(ChainId(0), &Vector(subjects), &mut firsts);
    for (subject, first) in subjects.iter().zip(firsts) {
        let mut results = Vec::new();
        let (mut one, mut two, mut three) = (*subject, *subject, *subject);
        let mut plain = Quiet::<false>::new();
        let right = run(
            table,
            ChainId(0),
            &mut one,
            &Nothing,
            &mut worker(),
            &mut plain,
        );
        results.push((right, one.marks, one.changes));
        let (mut watch, mut counting) = (Quiet::<true>::new(), worker());
        let verdict = run(
            table,
            ChainId(0),
            &mut two,
            &Nothing,
            &mut counting,
            &mut watch,
        );
        results.push((verdict, two.marks, two.changes));
        followed(&table.chains[0], &first, right, &plain.tried)?;
        let ahead = Ahead::of(first);
        let verdict = ahead.run(
            table,
            ChainId(0),
            &mut three,
            &Nothing,
            &mut worker(),
            &mut watch,
        );
        results.push((verdict, three.marks, three.changes));
        prop_assert_eq!(results[1], results[0]);
        prop_assert_eq!(results[2], results[0]);
        for rule in table.chains.iter().flat_map(|chain| chain.rules()) {
            let matched = plain
                .tried
                .iter()
                .filter(|one| **one == (rule.id, true))
                .count();
            prop_assert_eq!(counting.counters.get(rule.id).0.packets, matched as u64);
        }
    }
    Ok(())
}

struct Vector<'a, 'p>(&'a [Subject<'p>]);

impl Packets for Vector<'_, '_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn fields(&self, at: usize) -> &Fields {
        self.0[at].fields
    }

    #[inline(always)]
    fn classes(&self, at: usize) -> (Class, Class) {
        (self.0[at].ingress, self.0[at].egress)
    }

    #[inline(always)]
    fn state(&self, at: usize) -> (State, NatState) {
        (self.0[at].state, self.0[at].nat)
    }

    #[inline(always)]
    fn ipsec(&self, at: usize) -> Ipsec {
        self.0[at].ipsec
    }

    #[inline(always)]
    fn marks(&self, at: usize) -> Marks {
        self.0[at].marks
    }

    #[inline(always)]
    fn link(&self, at: usize) -> Option<&packet::link::Link> {
        self.0[at].link(0)
    }

    #[inline(always)]
    fn bridges(&self, at: usize) -> (Class, Class) {
        self.0[at].bridges(0)
    }
}

fn compiled(rules: &[Written], from: u32) -> Vec<Arc<Rule>> {
    let rules = rules.iter().zip(from..);
    rules
        .map(|((matchers, action), id)| Arc::new(Rule::new(id, matchers.clone(), action.clone())))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_classifier_agrees_with_a_plain_walk(
        chains in (rules(90), rules(9), rules(9), rules(9), rules(9)),
        packets in vec(packet(), 1..40),
    ) {
        let (first, second, third, fourth, fifth) = chains;
        let chains = [first, second, third, fourth, fifth];
        let chains = chains.iter().zip(0..).map(|(rules, number)| {
            (Arc::from(format!("c{number}")), compiled(rules, number * 100))
        });
        agree(&Table::compile(None, chains.collect()), &packets)?;
    }
}

/// A change of a chain: index of a rule, and whether it is replaced, preceded by a new rule, or removed.
type Edit = (usize, u8);

fn many_agree(
    drawn: &[Written],
    edits: Vec<Edit>,
    packets: &[Packet],
) -> Result<(), TestCaseError> {
    let many: Vec<Written> = drawn.iter().cycle().take(2500).cloned().collect();
    let mut rules = compiled(&many, 0);
    let name: Arc<str> = Arc::from("forward");
    let mut table = Table::compile(None, vec![(Arc::clone(&name), rules.clone())]);
    agree(&table, packets)?;
    for (at, how) in edits {
        let at = at % rules.len();
        let other = Arc::new(Rule::new(
            3999,
            vec![Match::Protocol(6).into()],
            Action::Drop,
        ));
        match how {
            0 => rules[at] = other,
            1 => rules.insert(at, other),
            _ => drop(rules.remove(at)),
        }
        let spliced = match how {
            0 => table.splice(ChainId(0), at, 1, &rules[at..=at]),
            1 => table.splice(ChainId(0), at, 0, &rules[at..=at]),
            _ => table.splice(ChainId(0), at, 1, &[]),
        };
        let chain = &spliced.chains[0];
        prop_assert!(
            chain
                .rules()
                .zip(&rules)
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
        prop_assert_eq!(chain.len(), rules.len());
        agree(&spliced, packets)?;
        table = Table::compile(Some(&table), vec![(Arc::clone(&name), rules.clone())]);
        let kept: usize = table.chains[0]
            .blocks
            .iter()
            .map(|block| block.rules.len())
            .sum();
        prop_assert_eq!(kept, rules.len());
        agree(&table, packets)?;
    }
    Ok(())
}

/// One case takes as long as twenty cases of other properties, so the number of cases is divided by twenty.
/// The `proptest!` macro cannot be used, because `PROPTEST_CASES` overrides the number of cases of a test.
#[test]
fn blocks_of_many_rules_agree_before_and_after_each_change() {
    let drawn = vec((vec(matcher(), 1..4), action()), 100..200);
    let edits = vec((0_usize..3000, 0_u8..3), 1..6);
    let config = ProptestConfig::with_source_file(file!());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: (config.cases / 20).max(1),
        ..config
    });

    let result = runner.run(
        &(drawn, edits, vec(packet(), 1..20)),
        |(drawn, edits, packets)| many_agree(&drawn, edits, &packets),
    );

    if let Err(error) = result {
        panic!("{error}\n{runner}");
    }
}

/// A few packets whose source is in a late span, after many rules that are in no list. The next part has
/// fewer spans, and must be looked up for the actual number of packets only.
#[test]
fn dimensions_with_few_and_many_ranges_are_stored_separately() {
    let source = |at: u128| Match::Source(AddressRange::prefix(0x0a00_0000 + at, 32, 32));
    let mut rules: Vec<Written> = (0..70)
        .map(|at| (vec![source(at * 2).into()], Action::Drop))
        .collect();
    rules.push((vec![Match::Protocol(protocol::UDP).into()], Action::Accept));
    rules.extend((0..20).map(|_| (Vec::new(), Action::Passthrough)));
    let name: Arc<str> = Arc::from("forward");
    let table = Table::compile(None, vec![(name, compiled(&rules, 1))]);
    assert!(!table.chains[0].is_sparse());
    let packets: Vec<Packet> = [
        protocol::TCP,
        protocol::UDP,
        protocol::TCP,
        protocol::UDP,
        1,
    ]
    .map(|protocol| {
        let mut fields = Fields::default();
        fields.tuple.source = 0x0aff_0000;
        fields.tuple.protocol = protocol;
        (fields, (0, 0), (0, 0), [0; 3])
    })
    .into();

    agree(&table, &packets).expect("as a plain walk");
}

#[test]
fn a_change_of_one_rule_compiles_one_block() {
    let rules: Vec<Written> = (0..10_000_u128)
        .map(|at| {
            (
                vec![
                    Match::Source(AddressRange {
                        first: at,
                        last: at,
                    })
                    .into(),
                ],
                Action::Drop,
            )
        })
        .collect();
    let mut rules = compiled(&rules, 0);
    let name: Arc<str> = Arc::from("forward");
    let before = Table::compile(None, vec![(Arc::clone(&name), rules.clone())]);
    rules[5000] = Arc::new(Rule::new(5000, Vec::new(), Action::Accept));
    let after = Table::compile(Some(&before), vec![(name, rules)]);

    let (old, new) = (&before.chains[0].blocks, &after.chains[0].blocks);
    assert_eq!(old.len(), new.len());
    let same = old
        .iter()
        .zip(new)
        .filter(|(one, other)| Arc::ptr_eq(one, other));
    assert_eq!(same.count(), old.len() - 1);
}

#[test]
fn rules_added_one_by_one_fill_blocks() {
    let (mut table, mut rules) = (Table::default(), Vec::new());
    for id in 0..2100 {
        rules.push(Arc::new(Rule::new(id, Vec::new(), Action::Passthrough)));
        table = Table::compile(Some(&table), vec![(Arc::from("forward"), rules.clone())]);
    }
    assert!(
        table.chains[0].blocks.len() <= 4,
        "{}",
        table.chains[0].blocks.len()
    );
    rules.drain(100..2000);
    table = Table::compile(Some(&table), vec![(Arc::from("forward"), rules)]);
    assert!(table.chains[0].blocks.len() <= 2);
}

/// A rule with distinct addresses or services.
fn apart() -> impl Strategy<Value = Written> {
    let network = |first: u8, len: u8| {
        (0_u128..64).prop_map(move |number| {
            let bits = u128::from(first) << 24 | number << 8;
            AddressRange::prefix(bits, len, 32)
        })
    };
    let service = (
        prop_oneof![Just(protocol::TCP), Just(protocol::UDP)],
        0_u16..64,
    );
    let service = service.prop_map(|(number, port)| {
        let ports = [(port, port), (port + 100, port + 101)].into();
        [Match::Protocol(number), Match::DestinationPort(ports)].map(Matcher::from)
    });
    let matchers = prop_oneof![
        network(10, 24).prop_map(|range| vec![Match::Source(range).into()]),
        network(11, 32).prop_map(|range| vec![Match::Destination(range).into()]),
        service.clone().prop_map(Vec::from),
        (network(10, 24), network(11, 26), service).prop_map(|(from, to, service)| {
            let addresses = [Match::Source(from), Match::Destination(to)].map(Matcher::from);
            addresses.into_iter().chain(service).collect()
        }),
    ];
    (
        matchers,
        prop_oneof![Just(Action::Accept), Just(Action::Drop)],
    )
}

/// A packet that matches some of these rules.
fn meant() -> impl Strategy<Value = Packet> {
    let ends = (0_u128..64, 0_u128..64, 0_u128..3, 0_u16..170);
    let tuple = (ends, prop_oneof![Just(protocol::TCP), Just(protocol::UDP)]);
    (packet(), tuple).prop_map(|(mut packet, ((from, to, host, port), number))| {
        packet.0.tuple = Tuple {
            source: 0x0a00_0000 | from << 8 | host,
            destination: 0x0b00_0000 | to << 8 | host,
            destination_port: port,
            protocol: number,
            ipv6: false,
            ..packet.0.tuple
        };
        packet
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rules_with_rare_matchers_match_as_in_a_plain_walk(
        rules in vec(apart(), 100..160),
        packets in vec(meant(), 1..100),
    ) {
        let last = (Vec::new(), Action::Accept);
        let rules: Vec<Written> = rules.into_iter().chain([last]).collect();
        let table = Table::compile(None, vec![(Arc::from("forward"), compiled(&rules, 1))]);
        prop_assume!(table.chains().iter().all(|chain| chain.is_sparse()));
        agree(&table, &packets)?;
    }
}
