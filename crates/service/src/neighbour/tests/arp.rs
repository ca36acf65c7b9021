//! ARP, by the requirements of the RFCs.

use super::*;

type ArpFixture = Fixture<Arp>;

fn fixture() -> ArpFixture {
    fixture_with(config())
}

fn fixture_with(config: Config) -> ArpFixture {
    Fixture::new(config, OWN, 24)
}

/// ARP packets among actions, with their destinations.
fn sent(actions: &[Action<Ipv4Addr, u32>]) -> Vec<(Mac, Repr)> {
    let parse = |frame: &Frame| (frame.dst, Repr::parse(&frame.payload).unwrap());
    frames(actions).into_iter().map(parse).collect()
}

fn resolved(address: Ipv4Addr, mac: Mac) -> Action<Ipv4Addr, u32> {
    Action::Resolved { address, mac }
}

#[test]
fn an_unknown_neighbour_is_requested_by_broadcast_from_the_local_address_of_its_network() {
    let mut fixture = fixture();

    let sent = sent(&fixture.resolve(PEER, 1));

    assert_eq!(sent.len(), 1);
    let (dst, question) = sent[0];
    assert_eq!(dst, Mac::BROADCAST);
    assert_eq!(question.operation, Operation::REQUEST);
    assert_eq!((question.sender_mac, question.sender), (OWN_MAC, OWN));
    assert_eq!(question.target, PEER);
    assert_eq!(fixture.status(PEER), Some(Status::Incomplete));
}

#[test]
fn the_source_of_a_request_is_in_the_most_specific_network_of_the_target() {
    let mut fixture = fixture();
    let narrow = Ipv4Addr::new(10, 0, 0, 129);
    fixture.own(narrow, 25, DuplicateDetection::Skip);

    let high = sent(&fixture.resolve(Ipv4Addr::new(10, 0, 0, 200), 1));
    let low = sent(&fixture.resolve(Ipv4Addr::new(10, 0, 0, 100), 2));

    assert_eq!(high[0].1.sender, narrow);
    assert_eq!(low[0].1.sender, OWN);
}

#[test]
fn an_interface_without_address_uses_the_fallback_source() {
    let mut fixture = Fixture::<Arp>::new(config(), OWN, 24);
    fixture.on(Event::AddressRemoved { address: OWN });
    let router = Ipv4Addr::new(192, 0, 2, 1);
    fixture.on(Event::FallbackSource {
        address: Some(router),
    });

    assert_eq!(sent(&fixture.resolve(PEER, 1))[0].1.sender, router);
}

#[test]
fn a_reply_releases_queued_packets_in_order() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.resolve(PEER, 2);

    let out = fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);

    let mac = PEER_MAC;
    let release = |packet| Action::Release { packet, mac };
    assert_eq!(out, [resolved(PEER, mac), release(1), release(2)]);
    assert_eq!(fixture.status(PEER), Some(Status::Reachable));
    assert!(fixture.machine.row(PEER).unwrap().complete());
}

#[test]
fn a_request_is_repeated_every_second_and_fails_after_three() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);

    let out = fixture.pass(Duration::from_millis(2_999));
    assert_eq!(sent(&out).len(), 2);
    let out = fixture.pass(Duration::from_millis(1));

    let failed = Action::Failed { address: PEER };
    let unreachable = Action::Unreachable {
        packet: 1,
        address: PEER,
    };
    assert_eq!(out, [failed, unreachable]);
    assert_eq!(fixture.status(PEER), Some(Status::Failed));
}

#[test]
fn more_queued_packets_cause_no_more_requests() {
    // RFC 1122, 2.3.2.1: no more than one request per second and destination.
    let mut fixture = fixture();
    let out: Vec<_> = (0..100).flat_map(|n| fixture.resolve(PEER, n)).collect();

    assert_eq!(sent(&out).len(), 1);
    assert_eq!(fixture.machine.waiting(), config().queue_max);
    assert_eq!(fixture.machine.counters().queue_full, 84);
    let gone = Action::Dropped {
        packet: 0,
        why: DropReason::QueueFull,
    };
    assert!(out.contains(&gone), "the oldest goes");
}

#[test]
fn a_failed_neighbour_is_requested_again_by_the_next_packet_or_removed() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.pass(Duration::from_secs(3));

    assert_eq!(sent(&fixture.resolve(PEER, 2)).len(), 1);
    fixture.pass(Duration::from_secs(3));
    assert_eq!(fixture.status(PEER), Some(Status::Failed));
    fixture.pass(Duration::from_secs(60));
    assert_eq!(fixture.machine.row(PEER), None);
}

#[test]
fn a_request_for_a_local_address_is_answered_and_its_sender_learned() {
    // RFC 826: the pair is merged, then the reply is sent.
    let mut fixture = fixture();

    let out = fixture.hear(&request((PEER_MAC, PEER), OWN), PEER_MAC);

    let (dst, answer) = sent(&out)[0];
    assert_eq!(dst, PEER_MAC);
    assert_eq!(answer.operation, Operation::REPLY);
    assert_eq!((answer.sender_mac, answer.sender), (OWN_MAC, OWN));
    assert_eq!((answer.target_mac, answer.target), (PEER_MAC, PEER));
    assert_eq!(fixture.status(PEER), Some(Status::Stale));
}

#[test]
fn a_probe_for_a_local_address_is_answered_and_not_learned() {
    // RFC 5227, 2.1.1 and 2.4.
    let mut fixture = fixture();

    let out = fixture.hear(&request((PEER_MAC, Ipv4Addr::UNSPECIFIED), OWN), PEER_MAC);

    assert_eq!(sent(&out)[0].1.sender, OWN);
    assert!(fixture.machine.is_empty());
}

#[test]
fn a_sender_outside_of_local_networks_gets_a_reply_but_no_entry() {
    let mut fixture = fixture();
    let stranger = Ipv4Addr::new(172, 16, 0, 9);
    let broadcast = Ipv4Addr::new(10, 0, 0, 255);

    assert_eq!(
        sent(&fixture.hear(&request((PEER_MAC, stranger), OWN), PEER_MAC)).len(),
        1
    );
    fixture.hear(&request((PEER_MAC, broadcast), OWN), PEER_MAC);

    assert!(fixture.machine.is_empty());
}

#[test]
fn an_unsolicited_reply_creates_no_entry() {
    let mut fixture = fixture();

    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.hear(&request((PEER_MAC, PEER), PEER), PEER_MAC);

    assert!(fixture.machine.is_empty());
}

#[test]
fn a_gratuitous_announcement_updates_a_known_neighbour() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);

    let out = fixture.hear(&request((THIRD_MAC, PEER), PEER), THIRD_MAC);

    assert_eq!(out, [resolved(PEER, THIRD_MAC)]);
    assert_eq!(fixture.status(PEER), Some(Status::Stale));
}

#[test]
fn of_two_replies_within_a_second_the_first_wins() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);

    fixture.hear(&reply((THIRD_MAC, PEER)), THIRD_MAC);
    assert_eq!(fixture.machine.row(PEER).unwrap().mac, Some(PEER_MAC));

    fixture.pass(Duration::from_secs(1));
    fixture.hear(&reply((THIRD_MAC, PEER)), THIRD_MAC);
    assert_eq!(fixture.machine.row(PEER).unwrap().mac, Some(THIRD_MAC));
}

#[test]
fn a_reply_with_a_group_mac_is_ignored() {
    // RFC 1812, 3.3.2.
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);

    let out = fixture.hear(&reply((Mac::BROADCAST, PEER)), PEER_MAC);

    assert_eq!(out, []);
    assert_eq!(fixture.machine.counters().malformed, 1);
    assert_eq!(fixture.status(PEER), Some(Status::Incomplete));
}

#[test]
fn looped_back_frames_are_counted_and_ignored() {
    let mut fixture = fixture();

    assert_eq!(fixture.hear(&request((OWN_MAC, OWN), OWN), OWN_MAC), []);
    assert_eq!(fixture.machine.counters().looped, 1);
    assert_eq!(fixture.machine.counters().conflicts, 0);
}

#[test]
fn an_address_conflict_is_reported_and_defended_once_in_ten_seconds() {
    // RFC 5227, 2.4 (c).
    let mut fixture = fixture();
    let announcement = request((THIRD_MAC, OWN), OWN);
    let conflict = Action::Conflict {
        address: OWN,
        mac: THIRD_MAC,
    };

    let first = fixture.hear(&announcement, THIRD_MAC);
    let second = fixture.hear(&announcement, THIRD_MAC);
    fixture.pass(Duration::from_secs(10));
    let third = fixture.hear(&announcement, THIRD_MAC);

    assert_eq!(first[0], conflict);
    let (dst, defence) = sent(&first)[0];
    assert_eq!(
        (dst, defence.sender, defence.target),
        (Mac::BROADCAST, OWN, OWN)
    );
    assert_eq!(second, []);
    assert_eq!(third[0], conflict);
}

#[test]
fn a_new_address_is_announced_twice_two_seconds_apart() {
    // RFC 5227, 2.3: ANNOUNCE_NUM and ANNOUNCE_INTERVAL.
    let mut fixture = fixture();
    let address = Ipv4Addr::new(10, 0, 0, 9);
    let added = fixture.own(address, 24, DuplicateDetection::Skip);

    let first = sent(&fixture.pass(Duration::from_millis(1_999)));
    let second = sent(&fixture.pass(Duration::from_millis(1)));

    assert_eq!(added, [Action::DadDone { address }]);
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!((first[0].1.sender, first[0].1.target), (address, address));
    assert_eq!(sent(&fixture.pass(Duration::from_secs(60))), []);
}

#[test]
fn a_new_address_is_probed_three_times_before_use() {
    // RFC 5227, 2.1.1.
    let mut fixture = fixture();
    let address = Ipv4Addr::new(10, 0, 0, 9);
    fixture.own(address, 24, DuplicateDetection::Run);

    let probes = sent(&fixture.pass(Duration::from_millis(4_000)));

    assert_eq!(probes.len(), 3);
    let unspecified = Ipv4Addr::UNSPECIFIED;
    assert!(
        probes
            .iter()
            .all(|(_, p)| (p.sender, p.target) == (unspecified, address))
    );
    assert!(!fixture.machine.is_own(address));
    let out = fixture.pass(Duration::from_secs(2));
    assert!(out.contains(&Action::DadDone { address }));
    assert!(fixture.machine.is_own(address));
}

#[test]
fn a_simultaneous_probe_of_the_same_address_is_a_conflict() {
    let mut fixture = fixture();
    let address = Ipv4Addr::new(10, 0, 0, 9);
    fixture.own(address, 24, DuplicateDetection::Run);
    fixture.pass(Duration::from_millis(10));

    let out = fixture.hear(
        &request((THIRD_MAC, Ipv4Addr::UNSPECIFIED), address),
        THIRD_MAC,
    );

    let mac = THIRD_MAC;
    assert_eq!(out, [Action::DadFailed { address, mac }]);
    assert_eq!(
        fixture
            .hear(&request((PEER_MAC, PEER), address), PEER_MAC)
            .len(),
        1
    );
    assert!(!fixture.machine.is_own(address));
}

#[test]
fn requests_for_other_hosts_reach_the_owner_as_the_arp_mode_allows() {
    for (mode, proxy) in [
        (Mode::Enabled, Proxy::None),
        (Mode::ProxyArp, Proxy::OtherLinks),
        (Mode::LocalProxyArp, Proxy::AllLinks),
    ] {
        let mut fixture = fixture_with(Config { mode, ..config() });
        let target = Ipv4Addr::new(192, 0, 2, 7);

        let out = fixture.hear(&request((PEER_MAC, PEER), target), PEER_MAC);
        let [Action::Asked(question)] = out[..] else {
            panic!("{mode:?}: {out:?}");
        };
        assert_eq!(question.proxy, proxy, "{mode:?}");

        let (dst, answer) = sent(&fixture.on(Event::Answer(question)))[0];
        assert_eq!(dst, PEER_MAC);
        assert_eq!((answer.sender_mac, answer.sender), (OWN_MAC, target));
    }
}

#[test]
fn a_probe_is_never_answered_by_proxy() {
    let mut fixture = fixture_with(Config {
        mode: Mode::LocalProxyArp,
        ..config()
    });

    let out = fixture.hear(&request((PEER_MAC, Ipv4Addr::UNSPECIFIED), PEER), PEER_MAC);

    assert!(matches!(out[..], [Action::Asked(question)] if question.proxy == Proxy::None));
}

#[test]
fn reply_only_answers_and_neither_requests_nor_learns() {
    let mut fixture = fixture_with(Config {
        mode: Mode::ReplyOnly,
        ..config()
    });

    let unreachable = Action::Unreachable {
        packet: 1,
        address: PEER,
    };
    assert_eq!(fixture.resolve(PEER, 1), [unreachable]);
    assert_eq!(
        sent(&fixture.hear(&request((PEER_MAC, PEER), OWN), PEER_MAC)).len(),
        1
    );
    assert!(fixture.machine.is_empty());

    fixture.on(Event::StaticAdded {
        address: PEER,
        mac: Some(PEER_MAC),
        published: false,
    });
    let release = Action::Release {
        packet: 2,
        mac: PEER_MAC,
    };
    assert_eq!(
        fixture.resolve(PEER, 2),
        [resolved(PEER, PEER_MAC), release]
    );
}

#[test]
fn disabled_neither_requests_nor_answers() {
    let mut fixture = fixture_with(Config {
        mode: Mode::Disabled,
        ..config()
    });

    assert_eq!(fixture.hear(&request((PEER_MAC, PEER), OWN), PEER_MAC), []);
    assert!(matches!(
        fixture.resolve(PEER, 1)[..],
        [Action::Unreachable { .. }]
    ));
}

#[test]
fn a_static_entry_is_permanent_and_unchanged_by_packets() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);

    let out = fixture.on(Event::StaticAdded {
        address: PEER,
        mac: Some(PEER_MAC),
        published: false,
    });
    let release = Action::Release {
        packet: 1,
        mac: PEER_MAC,
    };
    assert_eq!(out, [resolved(PEER, PEER_MAC), release]);
    fixture.hear(&request((THIRD_MAC, PEER), PEER), THIRD_MAC);
    fixture.pass(Duration::from_secs(3_600));

    let row = fixture.machine.row(PEER).unwrap();
    assert_eq!(
        (row.status, row.mac),
        (Some(Status::Permanent), Some(PEER_MAC))
    );
    assert!(!row.dynamic);
    let lost = Action::Lost { address: PEER };
    assert_eq!(fixture.on(Event::StaticRemoved { address: PEER }), [lost]);
}

#[test]
fn a_published_entry_is_answered_with_the_local_mac() {
    let mut fixture = fixture();
    let published = Ipv4Addr::new(10, 0, 0, 50);
    fixture.on(Event::StaticAdded {
        address: published,
        mac: None,
        published: true,
    });

    let out = fixture.hear(&request((PEER_MAC, PEER), published), PEER_MAC);

    assert_eq!(sent(&out)[0].1.sender_mac, OWN_MAC);
    let row = fixture.machine.row(published).unwrap();
    assert!(row.published && !row.complete());
    assert_eq!(row.status, None);
}

#[test]
fn an_unused_neighbour_expires_after_asking_the_owner() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);

    let out = fixture.pass(Duration::from_secs(45));
    assert_eq!(out, [Action::InUse { address: PEER }]);
    assert_eq!(fixture.status(PEER), Some(Status::Stale));

    let out = fixture.pass(Duration::from_secs(61));
    assert_eq!(out.last(), Some(&Action::Lost { address: PEER }));
    assert_eq!(sent(&out), [], "who is not used is not asked");
    assert!(fixture.machine.is_empty());
}

#[test]
fn a_neighbour_in_use_is_probed_by_unicast_after_five_seconds() {
    // RFC 4861, 7.3.3, for ARP as well (RFC 1122, 2.3.2.1 (2)).
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.pass(Duration::from_secs(45));

    fixture.on(Event::Used { address: PEER });
    assert_eq!(fixture.status(PEER), Some(Status::Delay));
    let out = fixture.pass(Duration::from_secs(5));
    assert_eq!(sent(&out)[0].0, PEER_MAC);
    assert_eq!(fixture.status(PEER), Some(Status::Probe));

    assert_eq!(fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC), []);
    assert_eq!(fixture.status(PEER), Some(Status::Reachable));
}

#[test]
fn a_neighbour_without_probe_reply_fails_and_the_next_packet_requests_it() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.pass(Duration::from_secs(45));
    fixture.on(Event::Used { address: PEER });

    let out = fixture.pass(Duration::from_secs(8));
    assert_eq!(sent(&out).len(), 3);
    assert_eq!(out.last(), Some(&Action::Lost { address: PEER }));

    assert_eq!(sent(&fixture.resolve(PEER, 2))[0].0, Mac::BROADCAST);
}

#[test]
fn an_upper_layer_confirmation_avoids_the_probe() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.pass(Duration::from_secs(45));
    fixture.on(Event::Used { address: PEER });

    fixture.on(Event::Confirmed { address: PEER });

    assert_eq!(fixture.status(PEER), Some(Status::Reachable));
    assert_eq!(sent(&fixture.pass(Duration::from_secs(14))), []);
}

#[test]
fn an_owners_probe_is_sent_at_once_and_its_answer_reported() {
    let mut fixture = fixture();
    let answered = Action::Answered { address: PEER };

    assert_eq!(
        sent(&fixture.on(Event::Probe { address: PEER }))[0].0,
        Mac::BROADCAST
    );
    assert!(
        fixture
            .hear(&reply((PEER_MAC, PEER)), PEER_MAC)
            .contains(&answered)
    );
    assert_eq!(
        sent(&fixture.on(Event::Probe { address: PEER }))[0].0,
        PEER_MAC
    );
    assert_eq!(fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC), [answered]);
    assert_eq!(fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC), []);
}

#[test]
fn a_link_going_down_drops_learned_neighbours_and_queued_packets() {
    let mut fixture = fixture();
    let third = Ipv4Addr::new(10, 0, 0, 3);
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.resolve(third, 2);

    let out = fixture.link(Event::LinkDown);

    let why = DropReason::LinkDown;
    assert!(out.contains(&Action::Lost { address: PEER }));
    assert!(out.contains(&Action::Dropped { packet: 2, why }));
    assert!(fixture.machine.is_empty());
    assert_eq!(
        fixture.resolve(PEER, 3),
        [Action::Dropped { packet: 3, why }]
    );
    assert_eq!(fixture.machine.deadline(), None);

    fixture.link(Event::LinkUp);
    assert_eq!(
        sent(&fixture.pass(Duration::from_secs(4))).len(),
        2,
        "announced"
    );
}

#[test]
fn local_addresses_and_groups_are_no_neighbours() {
    let mut fixture = fixture();
    let why = DropReason::NoNeighbour;

    for address in [OWN, Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 1)] {
        assert_eq!(
            fixture.resolve(address, 1),
            [Action::Dropped { packet: 1, why }]
        );
    }
}

#[test]
fn a_new_mac_address_is_announced() {
    let mut fixture = fixture();

    fixture.on(Event::Configure(Config::new(THIRD_MAC)));

    let out = sent(&fixture.pass(Duration::from_secs(1)));
    assert_eq!(out[0].1.sender_mac, THIRD_MAC);
}

#[test]
fn rows_are_ordered_and_resumable() {
    let mut fixture = fixture();
    for last in [9, 3, 7] {
        fixture.resolve(Ipv4Addr::new(10, 0, 0, last), 0);
    }
    let lasts = |after: Option<Ipv4Addr>| -> Vec<u8> {
        let rows = fixture.machine.rows(after);
        rows.map(|row| row.address.octets()[3]).collect()
    };

    assert_eq!(lasts(None), [3, 7, 9]);
    assert_eq!(lasts(Some(Ipv4Addr::new(10, 0, 0, 3))), [7, 9]);
}

#[test]
fn a_request_of_a_static_neighbour_does_not_change_it() {
    let mut fixture = fixture();
    fixture.on(Event::StaticAdded {
        address: PEER,
        mac: Some(PEER_MAC),
        published: false,
    });
    fixture.pass(Duration::from_secs(9));

    fixture.hear(&request((THIRD_MAC, PEER), OWN), THIRD_MAC);

    let row = fixture.machine.row(PEER).unwrap();
    assert_eq!(
        (row.status, row.mac),
        (Some(Status::Permanent), Some(PEER_MAC))
    );
}

#[test]
fn an_own_packet_in_another_stations_frame_is_a_loop_and_no_conflict() {
    let mut fixture = fixture();

    assert_eq!(fixture.hear(&request((OWN_MAC, OWN), PEER), THIRD_MAC), []);
    assert_eq!(fixture.machine.counters().looped, 1);
}

#[test]
fn an_address_that_becomes_local_is_removed_from_neighbours() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);

    let out = fixture.own(PEER, 24, DuplicateDetection::Skip);

    let why = DropReason::NoNeighbour;
    assert!(out.contains(&Action::Dropped { packet: 1, why }));
    assert_eq!(fixture.machine.row(PEER), None);
}

#[test]
fn an_unused_neighbour_expires_in_time_even_with_rare_owner_queries() {
    let mut fixture = fixture_with(Config {
        stale_check: Duration::from_secs(59),
        ..config()
    });
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);

    fixture.pass(Duration::from_secs(45 + 61));

    assert!(fixture.machine.is_empty());
}

#[test]
fn a_packet_for_a_stale_neighbour_is_sent_and_starts_the_delay_state() {
    let mut fixture = fixture();
    fixture.hear(&request((PEER_MAC, PEER), OWN), PEER_MAC);

    let out = fixture.resolve(PEER, 1);

    let release = Action::Release {
        packet: 1,
        mac: PEER_MAC,
    };
    assert_eq!(out, [resolved(PEER, PEER_MAC), release]);
    assert_eq!(fixture.status(PEER), Some(Status::Delay));
}

#[test]
fn settings_with_an_unchanged_mac_address_announce_nothing() {
    let mut fixture = fixture();

    fixture.on(Event::Configure(Config {
        retransmit: Duration::from_secs(2),
        ..config()
    }));

    assert_eq!(fixture.pass(Duration::from_secs(9)), []);
}

#[test]
fn reachable_times_are_spread_between_half_and_one_and_a_half() {
    // RFC 4861, 6.3.2; RouterOS: arp-timeout.
    let mut fixture = fixture();
    for last in 2..=201 {
        let host = Ipv4Addr::new(10, 0, 0, last);
        fixture.resolve(host, 0);
        fixture.hear(&reply((PEER_MAC, host)), PEER_MAC);
    }
    let stale = |fixture: &mut ArpFixture, span| {
        let out = fixture.pass(span);
        let asked = |action: &&Action<_, _>| matches!(action, Action::InUse { .. });
        out.iter().filter(asked).count()
    };

    assert_eq!(stale(&mut fixture, Duration::from_millis(14_999)), 0);
    let early = stale(&mut fixture, Duration::from_secs(15));
    let late = stale(&mut fixture, Duration::from_millis(15_001));

    assert_eq!(early + late, 200);
    assert!(
        (70..=130).contains(&early),
        "{early} of 200 before the mean"
    );
}

#[test]
fn a_failed_probe_is_not_answered_by_a_later_resolution() {
    let mut fixture = fixture();
    fixture.on(Event::Probe { address: PEER });
    fixture.pass(Duration::from_secs(3));
    fixture.resolve(PEER, 1);

    let out = fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);

    assert!(!out.contains(&Action::Answered { address: PEER }));
}

#[test]
fn the_update_lock_starts_at_the_change_and_not_at_a_confirmation() {
    let mut fixture = fixture();
    fixture.resolve(PEER, 1);
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.pass(Duration::from_millis(600));
    fixture.hear(&reply((PEER_MAC, PEER)), PEER_MAC);
    fixture.pass(Duration::from_millis(600));

    fixture.hear(&reply((THIRD_MAC, PEER)), THIRD_MAC);

    assert_eq!(fixture.machine.row(PEER).unwrap().mac, Some(THIRD_MAC));
}

#[test]
fn a_reply_to_another_host_confirms_nothing() {
    let mut fixture = fixture();
    fixture.hear(&request((PEER_MAC, PEER), OWN), PEER_MAC);
    let third = (THIRD_MAC, Ipv4Addr::new(10, 0, 0, 3));

    fixture.hear(&arp(Operation::REPLY, (PEER_MAC, PEER), third), PEER_MAC);

    assert_eq!(fixture.status(PEER), Some(Status::Stale));
}

#[test]
fn both_addresses_of_a_31_are_hosts() {
    // RFC 3021.
    let own = Ipv4Addr::new(10, 0, 0, 1);
    let mut fixture = Fixture::<Arp>::new(config(), own, 31);
    let peer = Ipv4Addr::new(10, 0, 0, 0);

    fixture.hear(&request((PEER_MAC, peer), own), PEER_MAC);

    assert_eq!(fixture.status(peer), Some(Status::Stale));
}
