//! Tests of each action, and of the rules evaluated after it.

use core::time::Duration;

use machine::Instant;

use super::*;

fn all(actions: &[Action]) -> Table {
    let rules = actions.iter().map(|action| (Vec::new(), action.clone()));
    table(&[("forward", rules.collect())])
}

fn verdict(action: Action) -> Verdict {
    let fields = segment();
    run_first(&all(&[action]), &mut subject(&fields, &[]), &mut worker())
}

#[test]
fn terminating_actions_return_their_verdict() {
    assert_eq!(verdict(Action::Accept), Verdict::Accept);
    assert_eq!(verdict(Action::Drop), Verdict::Drop(1));
    let reset = Reject::TcpReset;
    assert_eq!(verdict(Action::Reject(reset)), Verdict::Reject(1, reset));
    assert_eq!(verdict(Action::Tarpit), Verdict::Tarpit(1));
    assert_eq!(verdict(Action::Translate(9)), Verdict::Translate(9));
    assert_eq!(verdict(Action::Return), Verdict::Accept);
    assert_eq!(verdict(Action::Passthrough), Verdict::Accept);
}

#[test]
fn marks_take_effect_for_the_next_rule() {
    let fields = segment();
    let mut packet = subject(&fields, &[]);
    let rules = vec![
        (vec![], Action::MarkConnection(3)),
        (vec![Match::ConnectionMark(3).into()], Action::MarkPacket(4)),
        (vec![Match::PacketMark(4).into()], Action::MarkRouting(5)),
        (vec![Match::RoutingMark(5).into()], Action::Drop),
    ];
    let table = table(&[("forward", rules)]);

    assert_eq!(
        run_first(&table, &mut packet, &mut worker()),
        Verdict::Drop(4)
    );
    let marks = packet.marks;
    assert_eq!((marks.connection, marks.packet, marks.routing), (3, 4, 5));
}

fn came_with(priority: u8) -> Option<Sender> {
    let mac = wire::Mac([2; 6]);
    Some(Sender { mac, priority })
}

#[test]
fn changes_are_seen_by_later_rules_and_add_up() {
    let fields = segment();
    let mut packet = subject(&fields, &[]);
    packet.sender = came_with(6);
    let prefix = Npt {
        from: 1 << 120,
        to: 2 << 120,
        len: 48,
    };
    let table = all(&[
        Action::ChangeTtl(Ttl::Set(200)),
        Action::ChangeTtl(Ttl::Increment(100)),
        Action::ChangeTtl(Ttl::Decrement(5)),
        Action::SetPriority(Priority::FromDscpHigh3),
        Action::ChangeDscp(Dscp::Set(46)),
        Action::ChangeMss(Mss::ClampToPmtu),
        Action::StripOptions,
        Action::ClearDf,
        Action::Route(7),
        Action::Fasttrack,
        Action::SourcePrefix(prefix),
        Action::DestinationPrefix(prefix),
    ]);
    run_first(&table, &mut packet, &mut worker());

    assert_eq!((packet.ttl(), packet.tos()), (250, 46 << 2));
    assert_eq!(packet.marks.priority, 1);
    let changes = packet.changes;
    assert_eq!(
        (changes.mss, changes.gateway),
        (Some(Mss::ClampToPmtu), Some(7))
    );
    assert!(changes.strip_options && changes.clear_df && changes.fasttrack);
    assert_eq!(
        (changes.source_prefix, changes.destination_prefix),
        (Some(prefix), Some(prefix))
    );
}

#[test]
fn a_lowered_mss_is_visible_to_later_rules() {
    let mut fields = segment();
    fields.tcp_flags = 2;
    fields.upper = 0;
    // A SYN with an MSS of 1,460.
    let mut syn = [0_u8; 24];
    syn[12] = 6 << 4;
    syn[20..24].copy_from_slice(&[2, 4, 0x05, 0xb4]);
    let is = |mss| vec![Match::TcpMss(mss, mss).into()];
    let rules = |new| {
        vec![
            (Vec::new(), Action::ChangeMss(Mss::Bytes(new))),
            (is(1_460), Action::Passthrough),
            (is(1_300), Action::Passthrough),
        ]
    };
    for (new, hits) in [(1_300, [0, 1]), (1_500, [1, 0])] {
        let table = table(&[("forward", rules(new))]);
        let mut worker = worker();
        run_first(&table, &mut subject(&fields, &syn), &mut worker);
        let counted = [2, 3].map(|rule| worker.counters.get(rule).0.packets);
        assert_eq!(counted, hits, "{new}");
    }
}

#[test]
fn a_segment_without_mss_option_matches_no_range() {
    let mut fields = segment();
    fields.upper = 0;
    let mut bare = [0_u8; 20];
    bare[12] = 5 << 4;
    let range = |negated| Matcher {
        negated,
        ..Match::TcpMss(0, 1_000).into()
    };
    for flags in [2, 16] {
        fields.tcp_flags = flags;
        let rules = [false, true].map(|not| (vec![range(not)], Action::Passthrough));
        let table = table(&[("forward", rules.into())]);
        let mut worker = worker();
        run_first(&table, &mut subject(&fields, &bare), &mut worker);
        let counted = [1, 2].map(|rule| worker.counters.get(rule).0.packets);
        assert_eq!(counted, [0, 1]);
    }
}

#[test]
fn priority_and_dscp_convert_into_each_other() {
    let fields = Fields {
        tos: 0xb9,
        ..segment()
    };
    let after = |actions: &[Action]| {
        let mut packet = subject(&fields, &[]);
        packet.sender = came_with(5);
        run_first(&all(actions), &mut packet, &mut worker());
        (packet.marks.priority, packet.tos())
    };

    assert_eq!(
        after(&[Action::SetPriority(Priority::FromDscp)]),
        (46, 0xb9)
    );
    assert_eq!(after(&[Action::SetPriority(Priority::Set(3))]), (3, 0xb9));
    let ingress = Action::SetPriority(Priority::FromIngress);
    let high = Action::ChangeDscp(Dscp::FromPriorityToHigh3);
    assert_eq!(after(&[ingress.clone(), high]), (5, 5 << 5 | 1));
    assert_eq!(
        after(&[ingress, Action::ChangeDscp(Dscp::FromPriority)]),
        (5, 5 << 2 | 1)
    );
}

#[test]
fn without_passthrough_a_change_ends_the_chain() {
    let fields = segment();
    let mut rule = Rule::new(1, Vec::new(), Action::MarkPacket(1));
    rule.passthrough = false;
    let drop = Rule::new(2, Vec::new(), Action::Drop);
    let rules = vec![Arc::new(rule), Arc::new(drop)];
    let table = Table::compile(None, vec![(Arc::from("forward"), rules)]);
    let mut packet = subject(&fields, &[]);

    assert_eq!(
        run_first(&table, &mut packet, &mut worker()),
        Verdict::Accept
    );
    assert_eq!(packet.marks.packet, 1);
}

#[test]
fn notrack_ends_the_chain() {
    let fields = segment();
    let mut packet = subject(&fields, &[]);
    let table = all(&[Action::Notrack, Action::Drop]);
    assert_eq!(
        run_first(&table, &mut packet, &mut worker()),
        Verdict::Accept
    );
    assert!(packet.changes.untracked);
}

#[test]
fn return_continues_after_the_jump() {
    let fields = segment();
    let tcp: Vec<Matcher> = vec![Match::Protocol(6).into()];
    let table = table(&[
        (
            "forward",
            vec![
                (vec![], Action::Jump(ChainId(1))),
                (vec![], Action::MarkPacket(1)),
                (vec![], Action::Jump(ChainId(2))),
                (vec![], Action::MarkPacket(9)),
            ],
        ),
        ("first", vec![(tcp, Action::Return), (vec![], Action::Drop)]),
        ("second", vec![(vec![], Action::Jump(ChainId(3)))]),
        (
            "third",
            vec![(vec![Match::PacketMark(1).into()], Action::Accept)],
        ),
    ]);
    let mut packet = subject(&fields, &[]);

    assert_eq!(
        run_first(&table, &mut packet, &mut worker()),
        Verdict::Accept
    );
    assert_eq!(packet.marks.packet, 1);
    assert!(table.refused().is_empty());
}

#[test]
fn cyclic_jumps_are_refused_and_reported() {
    let fields = segment();
    let table = table(&[
        (
            "forward",
            vec![(vec![], Action::Jump(ChainId(1))), (vec![], Action::Drop)],
        ),
        ("a", vec![(vec![], Action::Jump(ChainId(2)))]),
        (
            "b",
            vec![
                (vec![], Action::Jump(ChainId(1))),
                (vec![], Action::Jump(ChainId(2))),
            ],
        ),
    ]);
    assert_eq!(table.refused(), [4, 5]);
    let verdict = run_first(&table, &mut subject(&fields, &[]), &mut worker());
    assert_eq!(verdict, Verdict::Drop(2));

    let deep: Vec<_> = (1..=30)
        .map(|next| ("x", vec![(vec![], Action::Jump(ChainId(next)))]))
        .collect();
    assert!(!super::table(&deep).refused().is_empty());
}

#[test]
fn addresses_are_added_with_their_timeout() {
    let fields = segment();
    let list = Arc::new(List::new(1).expect("address space"));
    let add = |source, timeout| Action::AddToList {
        list: Arc::clone(&list),
        source,
        timeout,
    };
    let table = all(&[
        add(true, Timeout::After(Duration::from_secs(60))),
        add(false, Timeout::Static),
        Action::Accept,
    ]);
    let mut worker = worker();
    worker.clock.now = Instant::from_secs(100);
    let mut told = Quiet::<false>::new();
    run(
        &table,
        ChainId(0),
        &mut subject(&fields, &[]),
        &Nothing,
        &mut worker,
        &mut told,
    );
    assert_eq!(list.added(Instant::ZERO).count(), 0);

    let mut watch = Quiet::<true>::new();
    run(
        &table,
        ChainId(0),
        &mut subject(&fields, &[]),
        &Nothing,
        &mut worker,
        &mut watch,
    );

    assert!(list.has(0x0a00_0001, Instant::from_secs(159)));
    assert!(!list.has(0x0a00_0001, Instant::from_secs(160)));
    assert_eq!(watch.kept, [0xc000_0209]);
}

#[test]
fn rules_that_match_are_counted_logged_and_copied() {
    let fields = segment();
    let mut logging = Rule::new(7, Vec::new(), Action::Passthrough);
    logging.log = Some(Arc::from("seen"));
    let sniff = Sniff {
        target: 1,
        ipv6: false,
        port: 37008,
        id: None,
    };
    let rules = vec![
        Arc::new(logging),
        Arc::new(Rule::new(8, Vec::new(), Action::Sniff(sniff))),
        Arc::new(Rule::new(9, Vec::new(), Action::Log)),
    ];
    let table = Table::compile(None, vec![(Arc::from("forward"), rules)]);
    let (mut worker, mut watch) = (worker(), Quiet::<true>::new());
    worker.clock.now = Instant::from_secs(5);
    for _ in 0..2 {
        run(
            &table,
            ChainId(0),
            &mut subject(&fields, &[]),
            &Nothing,
            &mut worker,
            &mut watch,
        );
    }

    assert_eq!(watch.logged, [7, 9, 7, 9]);
    assert_eq!(watch.copies, 2);
    let (traffic, last) = worker.counters.get(7);
    assert_eq!((traffic.packets, traffic.bytes), (2, 120));
    assert_eq!(last, Some(Instant::from_secs(5)));
    assert_eq!(worker.counters.get(10).1, None);
}
