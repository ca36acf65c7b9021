//! Tests of the lifetime of a connection.

use fib::NextHopId;
use frame::InterfaceId;
use packet::count::Traffic;
use packet::{Fields, protocol};

use super::support::{Bed, plain, tuple4, tuple6};
use crate::connection::*;

/// Counts a packet and returns true if FastTrack may forward it.
fn count_fast(bed: &Bed, way: FlowId) -> bool {
    let fast = bed.tracker.fast(way).expect("with FastTrack");
    fast.count(1_000, bed.now)
}

#[test]
fn an_id_is_never_used_twice() {
    let mut bed = Bed::new(&Settings::default());
    let tuple = tuple4(1, protocol::UDP);
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..100 {
        bed.show(&plain(&tuple, 0));
        let id = bed.row(&tuple).expect("entered").id;
        assert!(ids.insert(id));

        assert!(bed.tracker.remove(id));
        assert!(!bed.tracker.remove(id));
        assert_eq!(bed.table.row(id), None);
        bed.wait(1);
    }
}

#[test]
fn a_slot_is_not_reused_in_the_round_of_its_release() {
    let mut bed = Bed::new(&Settings::default());
    let (first, second) = (tuple4(1, protocol::UDP), tuple4(2, protocol::UDP));
    bed.show(&plain(&first, 0));
    let way = bed.tracker.lookup(&first).expect("entered");
    bed.tracker.remove(bed.tracker.id(way));

    bed.show(&plain(&second, 0));
    assert_ne!(
        bed.tracker.lookup(&second).expect("entered").slot(),
        way.slot()
    );

    bed.wait(1);
    bed.show(&plain(&first, 0));
    assert_eq!(
        bed.tracker.lookup(&first).expect("entered").slot(),
        way.slot()
    );
}

#[test]
fn a_pptp_call_has_a_longer_timeout_than_other_gre() {
    for (expected, helper, timeouts) in [
        (true, Helper::Pptp, [600, 18_000]),
        (false, Helper::None, [60, 60]),
    ] {
        let settings = Settings {
            generic: machine::Duration::from_secs(60),
            ..Settings::default()
        };
        let mut bed = Bed::new(&settings);
        let packet = plain(&tuple4(1, protocol::GRE), 0);
        let fields = Fields::of(&packet);
        let tuple = fields.tuple;
        let draft = Draft {
            expected,
            helper,
            ..bed.tracker.draft(&fields, &packet)
        };
        bed.tracker.confirm(&draft, bed.now).expect("room");
        let first = bed.row(&tuple).expect("entered").timeout_secs;

        bed.show(&plain(&tuple.reversed(), 0));
        bed.show(&plain(&tuple, 0));

        let stream = bed.row(&tuple).expect("still there").timeout_secs;
        assert_eq!([first, stream], timeouts);
    }
}

#[test]
fn a_row_contains_all_values_of_its_draft() {
    let mut bed = Bed::new(&Settings::default());
    let packet = plain(&tuple6(1, protocol::UDP), 100);
    let fields = Fields::of(&packet);
    let rewrites = [
        Rewrite6([7; 7]),
        Rewrite6(core::array::from_fn(|at| at as u64)),
    ];
    let reply = tuple6(9, protocol::UDP).reversed();
    let draft = Draft {
        reply,
        mark: 0xdead_beef,
        helper: Helper::Sip,
        nat: NatState::SRCNAT.with(NatState::EIN_DNAT),
        rewrites: Rewrites::Ipv6(rewrites),
        masquerade: true,
        egress: InterfaceId(77),
        next_hop: NextHop {
            id: NextHopId(0xf_0005),
            generation: 0x0fff_ffff,
        },
        ..bed.tracker.draft(&fields, &packet)
    };

    let way = bed.tracker.confirm(&draft, bed.now).expect("room");
    let row = bed.table.row(bed.tracker.id(way)).expect("entered");

    assert_eq!((row.original, row.reply), (fields.tuple, reply));
    assert_eq!(
        (row.mark, row.helper, row.nat),
        (0xdead_beef, Helper::Sip, draft.nat)
    );
    assert_eq!((row.masquerade, row.egress), (true, InterfaceId(77)));
    assert_eq!(row.directions[0].next_hop, draft.next_hop);
    assert_eq!(row.directions[1].next_hop, NextHop::default());
    assert_eq!(bed.tracker.rewrite6(way), rewrites[0]);
    assert_eq!(bed.tracker.rewrite6(way.reversed()), rewrites[1]);
    assert_eq!(bed.tracker.lookup(&reply), Some(way.reversed()));
    assert_eq!(bed.tracker.tuple(way.reversed()), reply);

    bed.tracker.set_mark(way, 3);
    bed.tracker.set_attachment(way, u32::MAX);
    bed.tracker.set_next_hop(
        way.reversed(),
        NextHop {
            id: NextHopId(0xa_0009),
            generation: 1,
        },
    );
    assert_eq!(
        (bed.tracker.mark(way), bed.tracker.helper(way)),
        (3, Helper::Sip)
    );
    let row = bed.table.row(bed.tracker.id(way)).expect("still there");
    assert_eq!(
        (row.mark, row.egress, row.attachment),
        (3, InterfaceId(77), u32::MAX)
    );
    assert_eq!(row.directions[1].next_hop.id, NextHopId(0xa_0009));
    bed.wait(31);
    assert_eq!(bed.table.totals(), (0, 0));
}

#[test]
fn an_ipv4_rewrite_is_stored_beside_the_rate() {
    let mut bed = Bed::new(&Settings::default());
    let packet = plain(&tuple4(1, protocol::UDP), 100);
    let rewrites = [
        Rewrite4([u64::MAX, 1, 0xffff]),
        Rewrite4([2, u64::MAX, 0x8001]),
    ];
    let draft = Draft {
        rewrites: Rewrites::Ipv4(rewrites),
        ..bed.tracker.draft(&Fields::of(&packet), &packet)
    };
    let way = bed.tracker.confirm(&draft, bed.now).expect("room");
    for _ in 0..3 {
        bed.wait(1);
        bed.show_times(&packet, 2);
    }

    assert_eq!(bed.tracker.rewrite4(way), rewrites[0]);
    assert_eq!(bed.tracker.rewrite4(way.reversed()), rewrites[1]);
    assert_eq!(bed.tracker.rate_bps(way, bed.now), 2 * 8 * 128);
}

#[test]
fn a_tuple_of_another_connection_is_refused() {
    let mut bed = Bed::new(&Settings::default());
    bed.show(&plain(&tuple4(1, protocol::UDP), 0));
    let packet = plain(&tuple4(2, protocol::UDP), 0);
    let draft = bed.tracker.draft(&Fields::of(&packet), &packet);
    let clash = Draft {
        reply: tuple4(1, protocol::UDP).reversed(),
        ..draft
    };

    assert_eq!(bed.tracker.confirm(&clash, bed.now), Err(Refused::Taken));
    assert!(bed.tracker.is_taken(
        &tuple4(1, protocol::UDP).reversed(),
        &tuple4(2, protocol::UDP)
    ));
    assert!(bed.tracker.confirm(&draft, bed.now).is_ok());
    assert_eq!(bed.tracker.confirm(&draft, bed.now), Err(Refused::Taken));
}

#[test]
fn fasttrack_counts_separately_and_sends_one_slow_packet_per_second() {
    let mut bed = Bed::new(&Settings::default());
    let tuple = tuple4(1, protocol::UDP);
    let there = plain(&tuple, 72);
    bed.show_times(&there, 3);
    bed.show(&plain(&tuple.reversed(), 0));
    let way = bed.tracker.lookup(&tuple).expect("entered");
    assert!(bed.tracker.fast(way).is_none());

    bed.tracker.fasttrack(way);
    bed.tracker.fasttrack(way);
    assert!(bed.tracker.fast(way).is_some() && bed.tracker.fast(way.reversed()).is_some());
    assert!(count_fast(&bed, way));
    bed.wait(1);
    assert!(!count_fast(&bed, way));
    assert!(bed.show(&there).fasttrack);
    assert!(count_fast(&bed, way));

    let row = bed.row(&tuple).expect("there");
    let [original, reply] = row.directions;
    assert!(row.fasttrack);
    assert_eq!(
        original.traffic,
        Traffic {
            packets: 6,
            bytes: 2_400
        }
    );
    assert_eq!(
        original.fasttrack,
        Traffic {
            packets: 2,
            bytes: 2_000
        }
    );
    assert_eq!(reply.fasttrack, Traffic::default());
    // Packets forwarded by FastTrack keep the connection alive.
    assert_eq!(row.timeout(bed.now), row.timeout_secs);
}

#[test]
fn a_rate_is_that_of_the_last_whole_second() {
    let mut bed = Bed::new(&Settings::default());
    let tuple = tuple4(1, protocol::UDP);
    bed.now = Tick(TICKS_PER_SECOND * 10);
    let packet = plain(&tuple, 972);
    bed.show_times(&packet, 5);
    let way = bed.tracker.lookup(&tuple).expect("entered");
    let rates = |bed: &Bed| {
        (
            bed.tracker.rate_bps(way, bed.now),
            bed.row(&tuple).expect("there").rates_bps(bed.now),
        )
    };

    assert_eq!(rates(&bed), (0, [0, 0]));
    bed.wait(1);
    assert_eq!(rates(&bed), (40_000, [40_000, 0]));
    bed.show(&packet);
    assert_eq!(rates(&bed), (40_000, [40_000, 0]));
    bed.wait(1);
    assert_eq!(rates(&bed), (8_000, [8_000, 0]));
    bed.wait(1);
    assert_eq!(rates(&bed), (0, [0, 0]));
}

#[test]
fn errors_are_related_to_the_quoted_connection() {
    for (tuple, kind) in [
        (tuple4(1, protocol::UDP), protocol::ICMP),
        (tuple6(1, protocol::TCP), protocol::ICMPV6),
    ] {
        let mut bed = Bed::new(&Settings::default());
        let first = match tuple.protocol {
            protocol::TCP => super::support::tcp(
                &tuple,
                &super::support::Tcp {
                    flags: super::support::SYN,
                    ..Default::default()
                },
            ),
            _ => plain(&tuple, 40),
        };
        let packet = first.clone();
        let draft = bed.tracker.draft(&Fields::of(&packet), &packet);
        // The source is translated, and the error quotes the translated packet.
        let outside = packet::Tuple {
            source: tuple.source + 99,
            source_port: 7,
            ..tuple
        };
        let draft = Draft {
            reply: outside.reversed(),
            nat: NatState::SRCNAT,
            ..draft
        };
        let way = bed.tracker.confirm(&draft, bed.now).expect("room");
        let seen = match outside.protocol {
            protocol::TCP => super::support::tcp(
                &outside,
                &super::support::Tcp {
                    flags: super::support::SYN,
                    ..Default::default()
                },
            ),
            _ => plain(&outside, 40),
        };
        let mut upper = vec![if tuple.ipv6 { 3 } else { 11 }, 0, 0, 0, 0, 0, 0, 0];
        upper.extend(&seen[..if tuple.ipv6 { 48 } else { 28 }]);
        let error = packet::Tuple {
            source: 5,
            destination: outside.source,
            protocol: kind,
            ..tuple
        };
        let error = |to| {
            super::support::packet(
                &packet::Tuple {
                    destination: to,
                    ..error
                },
                &upper,
            )
        };

        let track = bed.show(&error(outside.source));
        assert_eq!(
            (track.state, track.way, track.quoted),
            (State::Related, Some(way), true)
        );
        assert_eq!(track.nat, NatState::SRCNAT);
        // The error is not counted, and is invalid if sent to another destination.
        assert_eq!(bed.tracker.traffic(way).packets, 1);
        assert_eq!(bed.show(&error(outside.source + 1)).state, State::Invalid);
        bed.tracker.remove(bed.tracker.id(way));
        assert_eq!(bed.show(&error(outside.source)).state, State::Invalid);
    }
}

#[test]
fn an_expected_connection_is_related_to_its_parent() {
    let mut bed = Bed::new(&Settings::default());
    let control = tuple4(1, protocol::UDP);
    let first = plain(&control, 0);
    let draft = Draft {
        helper: Helper::Tftp,
        ..bed.tracker.draft(&Fields::of(&first), &first)
    };
    let parent = bed.tracker.confirm(&draft, bed.now).expect("room");
    bed.tracker.set_mark(parent, 42);
    let data = packet::Tuple {
        source: 0xc000_0201,
        source_port: 5_000,
        destination: 0x0a00_0000,
        destination_port: 10_001,
        ..control
    };
    let expectation = Expectation {
        parent: bed.tracker.id(parent),
        tuple: packet::Tuple {
            source_port: 0,
            ..data
        },
        helper: Helper::Tftp,
        destination: None,
        source: None,
        answer: None,
        timeout_secs: 5,
        held: false,
    };
    assert!(bed.tracker.expect(expectation, bed.now));
    bed.tracker.remove(
        bed.row(&data)
            .map_or(EntryId::from_bits(u64::MAX), |row| row.id),
    );

    assert_eq!(bed.tracker.expected(&data), Some(&expectation));
    // The expectation is fulfilled only when the packet leaves.
    let packet = plain(
        &packet::Tuple {
            source_port: 6_000,
            ..data
        },
        0,
    );
    assert_eq!(
        bed.tracker
            .classify(None, &Fields::of(&packet), &packet)
            .state,
        State::Related
    );
    assert_eq!(bed.show(&packet).state, State::Related);
    assert_eq!(bed.tracker.expected(&data), None);
    let row = bed
        .row(&packet::Tuple {
            source_port: 6_000,
            ..data
        })
        .expect("entered");
    assert_eq!(
        (row.expected, row.mark, row.helper),
        (true, 42, Helper::Tftp)
    );
    assert_eq!(bed.show(&packet).state, State::Related);

    // Expectations are removed with their parent, or when they expire.
    assert!(bed.tracker.expect(expectation, bed.now));
    bed.wait(6);
    assert_eq!(bed.tracker.expected(&data), None);
    assert!(bed.tracker.expect(expectation, bed.now));
    bed.tracker.remove(expectation.parent);
    assert_eq!(bed.tracker.expected(&data), None);
}

#[test]
fn an_expectation_of_one_parent_is_refused_to_others() {
    let mut bed = Bed::new(&Settings::default());
    let of = |parent, source, destination| Expectation {
        parent: EntryId::from_bits(parent),
        tuple: packet::Tuple {
            source,
            source_port: 0,
            ..tuple4(1, protocol::TCP)
        },
        helper: Helper::Irc,
        destination: Some((destination, 5_001)),
        source: None,
        answer: None,
        timeout_secs: 5,
        held: false,
    };
    let anybody = of(1, 0, 7);
    assert!(bed.tracker.expect(anybody, bed.now));

    // An expectation with a given source overlaps one with any source.
    assert!(bed.tracker.is_expected_by_another(&of(2, 9, 8)));
    assert!(bed.tracker.is_expected_by_another(&of(1, 0, 8)));
    assert!(!bed.tracker.is_expected_by_another(&anybody));
    assert!(!bed.tracker.expect(of(2, 0, 7), bed.now));
    let comes = tuple4(1, protocol::TCP);
    assert_eq!(bed.tracker.expected(&comes), Some(&anybody));

    // A held expectation reserves its tuple but relates no packet.
    let held = Expectation {
        held: true,
        ..anybody
    };
    assert!(bed.tracker.expect(held, bed.now));
    assert_eq!(bed.tracker.expected(&comes), None);
    assert!(bed.tracker.is_expected_by_another(&of(2, 9, 8)));
}

#[test]
fn a_lost_address_removes_its_masqueraded_connections() {
    let mut bed = Bed::new(&Settings::default());
    for number in 0..600 {
        let packet = plain(&tuple4(number, protocol::UDP), 0);
        let draft = Draft {
            masquerade: number % 2 == 0,
            egress: InterfaceId(number % 3),
            ..bed.tracker.draft(&Fields::of(&packet), &packet)
        };
        bed.tracker.confirm(&draft, bed.now).expect("room");
    }

    bed.tracker.purge(Purge::Masquerade(
        InterfaceId(1),
        Some(tuple4(1, protocol::UDP).source + 1),
    ));
    bed.wait(1);
    assert_eq!(bed.table.totals().0, 600);
    bed.tracker.purge(Purge::Masquerade(InterfaceId(1), None));
    bed.tracker.purge(Purge::Masquerade(
        InterfaceId(2),
        Some(tuple4(1, protocol::UDP).source),
    ));
    let ticks = (0..)
        .take_while(|_| bed.tracker.tick(bed.now, 100) > 0)
        .count();
    assert_eq!((bed.table.totals().0, ticks), (400, 6));
    assert!(
        bed.table
            .rows(false)
            .all(|row| !row.masquerade || row.egress == InterfaceId(0))
    );

    // The number of waiting purges does not matter.
    bed.tracker.purge(Purge::Everything);
    for number in 0..100 {
        bed.tracker
            .purge(Purge::Masquerade(InterfaceId(3), Some(number)));
    }
    bed.wait(1);
    assert_eq!(bed.table.totals(), (0, 0));
}

#[test]
fn connections_begun_after_a_purge_survive() {
    let mut bed = Bed::new(&Settings::default());
    let begin = |bed: &mut Bed, number: u32| {
        let packet = plain(&tuple4(number, protocol::UDP), 0);
        let draft = Draft {
            masquerade: true,
            egress: InterfaceId(1),
            ..bed.tracker.draft(&Fields::of(&packet), &packet)
        };
        bed.tracker.confirm(&draft, bed.now).expect("room");
    };
    let is_there =
        |bed: &Bed, number: u32| bed.tracker.lookup(&tuple4(number, protocol::UDP)).is_some();
    begin(&mut bed, 0);

    for (purge, gone, stays) in [
        (Purge::Everything, 0, 1),
        (Purge::Masquerade(InterfaceId(1), None), 1, 2),
    ] {
        bed.tracker.purge(purge);
        begin(&mut bed, stays);
        assert!(is_there(&bed, gone), "it goes with the next tick");
        bed.wait(1);
        assert!(!is_there(&bed, gone) && is_there(&bed, stays), "{purge:?}");
    }

    // The number of earlier purges does not matter.
    for round in 0..1_000 {
        let other = Purge::Masquerade(InterfaceId(2), Some(round));
        bed.tracker.purge(other);
        if round % 7 == 0 {
            bed.tracker.tick(bed.now, 1_000);
        }
    }
    bed.tracker.tick(bed.now, 1_000);
    assert!(is_there(&bed, 2));
    // Many purges of other addresses before the end of a pass do not matter either.
    for round in 0..1_000 {
        let other = Purge::Masquerade(InterfaceId(1), Some(round));
        bed.tracker.purge(other);
    }
    bed.tracker.purge(Purge::Masquerade(InterfaceId(3), None));
    bed.wait(1);
    assert!(is_there(&bed, 2));
    bed.tracker.purge(Purge::Masquerade(InterfaceId(1), None));
    bed.wait(1);
    assert!(!is_there(&bed, 2));
}

#[test]
fn links_going_down_together_remove_only_their_own_connections() {
    let mut bed = Bed::new(&Settings::default());
    for number in 0..1_000 {
        let packet = plain(&tuple4(number, protocol::UDP), 0);
        let draft = Draft {
            masquerade: true,
            egress: InterfaceId(1 + number),
            ..bed.tracker.draft(&Fields::of(&packet), &packet)
        };
        bed.tracker.confirm(&draft, bed.now).expect("room");
    }

    for number in 0..500 {
        let down = Purge::Masquerade(InterfaceId(1 + 2 * number), None);
        bed.tracker.purge(down);
    }
    bed.wait(1);

    assert_eq!(bed.table.totals().0, 500);
    let left = bed.table.rows(false);
    assert!({ left }.all(|row| row.egress.0 % 2 == 0));
}

#[test]
fn control_reads_the_table_in_pieces_and_sees_each_connection_once() {
    let mut bed = Bed::new(&Settings::default());
    let ways: Vec<_> = (0..100)
        .map(|number| {
            let packet = plain(&tuple4(number, protocol::UDP), 0);
            let draft = bed.tracker.draft(&Fields::of(&packet), &packet);
            bed.tracker.confirm(&draft, bed.now).expect("there is room")
        })
        .collect();
    let (mut from, mut seen) = (0, Vec::new());

    loop {
        let piece: Vec<_> = bed.table.places(false, from).take(7).collect();
        let Some((next, _)) = piece.last() else { break };
        from = *next;
        seen.extend(piece.into_iter().filter_map(|(_, row)| row));
        // Meanwhile, connections before and after the next position end.
        for gone in [seen.len() - 1, 60 + seen.len() / 7] {
            bed.tracker.remove(bed.tracker.id(ways[gone]));
        }
    }

    let mut ids: Vec<_> = seen.iter().map(|row| row.id).collect();
    let count = ids.len();
    ids.dedup();
    assert!(ids.len() == count && (80..100).contains(&count), "{count}");
}

#[test]
fn control_reads_whole_rows_while_a_worker_writes() {
    let mut bed = Bed::new(&Settings::default());
    let table = std::sync::Arc::clone(&bed.table);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for row in table.rows(false) {
                    assert_eq!(row.reply, row.original.reversed());
                    assert_eq!(row.mark, u32::from(row.original.source_port));
                }
            }
        });
        for number in 0..20_000_u32 {
            let packet = plain(&tuple4(number % 977, protocol::UDP), 0);
            let mut draft = bed.tracker.draft(&Fields::of(&packet), &packet);
            draft.mark = u32::from(draft.original.source_port);
            if let Ok(way) = bed.tracker.confirm(&draft, bed.now)
                && number % 2 == 0
            {
                bed.tracker.remove(bed.tracker.id(way));
            }
            bed.now = bed.now.after(1);
            bed.tracker.tick(bed.now, 8);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
