//! Tests of a full table and of several workers.

use kernels::Baseline;
use machine::Rng;
use packet::{Fields, Tuple, protocol};

use super::support::{Bed, SYN, Tcp, plain, tcp, tuple4, tuple6};
use crate::connection::*;

fn full(assured: u32, max: u32) -> Bed {
    let mut bed = Bed::new(&Settings {
        entries_max: max,
        ..Settings::default()
    });
    for number in 0..assured {
        let tuple = tuple4(number, protocol::UDP);
        bed.show(&plain(&tuple, 0));
        bed.show(&plain(&tuple.reversed(), 0));
        bed.show(&plain(&tuple, 0));
    }
    bed
}

fn flood(bed: &mut Bed, number: u32) -> Result<FlowId, Refused> {
    let tuple = tuple4(1_000_000 + number, protocol::TCP);
    let syn = tcp(
        &tuple,
        &Tcp {
            flags: SYN,
            seq: number,
            window: 1_024,
            ..Tcp::default()
        },
    );
    bed.offer(&syn).1.expect("a SYN begins a connection")
}

#[test]
fn a_syn_flood_evicts_its_own_entries_and_no_assured_connection() {
    let mut bed = full(900, 1_000);
    for number in 0..20_000 {
        assert!(flood(&mut bed, number).is_ok());
        if number % 64 == 0 {
            bed.now = bed.now.after(1);
            bed.tracker.tick(bed.now, 16);
        }
    }

    assert_eq!(bed.table.totals(), (1_000, 0));
    assert!((0..900).all(|number| {
        bed.row(&tuple4(number, protocol::UDP))
            .is_some_and(|row| row.assured)
    }));
    // The newest connections of the flood remain.
    assert!(
        bed.row(&tuple4(1_000_000 + 19_999, protocol::TCP))
            .is_some()
    );
    assert!(
        bed.row(&tuple4(1_000_000 + 10_000, protocol::TCP))
            .is_none()
    );
}

#[test]
fn the_longest_idle_connection_is_evicted_first() {
    let mut bed = Bed::new(&Settings {
        entries_max: 3,
        ..Settings::default()
    });
    for number in 0..3 {
        bed.show(&plain(&tuple4(number, protocol::UDP), 0));
        bed.wait(2);
    }
    // The oldest connection receives a packet and gets a second chance.
    bed.show(&plain(&tuple4(0, protocol::UDP), 0));
    bed.wait(1);
    bed.show(&plain(&tuple6(9, protocol::UDP), 0));

    assert!(bed.row(&tuple4(0, protocol::UDP)).is_some());
    assert!(bed.row(&tuple4(1, protocol::UDP)).is_none());
    assert!(bed.row(&tuple6(9, protocol::UDP)).is_some());
    assert_eq!(bed.table.totals(), (2, 1));
}

#[test]
fn a_table_full_of_assured_connections_drops_with_connections_full() {
    let mut bed = full(100, 100);

    assert_eq!(flood(&mut bed, 1), Err(Refused::Full));
    assert_eq!(Refused::Full.drop().name(), "connections-full");
    assert_eq!(bed.table.totals(), (100, 0));
    let ours = bed.row(&tuple4(0, protocol::UDP)).expect("assured").id;
    bed.tracker.remove(ours);
    assert!(flood(&mut bed, 1).is_ok());
}

#[test]
fn a_udp_flood_does_not_evict_handshakes() {
    let mut bed = full(0, 100);
    for number in 0..10 {
        assert!(flood(&mut bed, number).is_ok());
    }
    for number in 0..5_000 {
        bed.show(&plain(&tuple4(number, protocol::UDP), 0));
        if number % 64 == 0 {
            bed.tracker.tick(bed.now, 16);
        }
    }

    let handshakes = (0..10).map(|number| tuple4(1_000_000 + number, protocol::TCP));
    assert!(
        handshakes
            .into_iter()
            .all(|tuple| bed.row(&tuple).is_some())
    );
    assert_eq!(bed.table.totals(), (100, 0));
}

#[test]
fn a_stale_lookup_result_is_harmless() {
    for protocol in [protocol::UDP, protocol::TCP] {
        let mut bed = Bed::new(&Settings {
            entries_max: 2,
            ..Settings::default()
        });
        let tuple = tuple4(1, protocol);
        let segment = |flags, seq, ack| Tcp {
            flags,
            seq,
            ack,
            window: 1_024,
            ..Tcp::default()
        };
        let (there, back) = match protocol {
            protocol::UDP => (plain(&tuple, 0), plain(&tuple.reversed(), 0)),
            _ => (
                tcp(&tuple, &segment(SYN, 0, 0)),
                tcp(&tuple.reversed(), &segment(SYN | super::support::ACK, 0, 1)),
            ),
        };
        bed.show(&there);
        bed.show(&back);
        let hash = bed.tracker.hash(&tuple);
        let mut ways = BatchLookup::default();
        bed.tracker.ask::<false>(&mut ways, 0..1, |_| tuple);
        bed.tracker
            .candidates::<_, false>(Baseline, &mut ways, 0..1);
        let way = ways.get(0).expect("entered");

        bed.tracker.remove(bed.tracker.id(way));
        assert!(flood(&mut bed, 1).is_ok() && flood(&mut bed, 2).is_ok());
        bed.tracker.verify::<false>(&mut ways, 0..1, |_| tuple);
        assert_eq!(ways.get(0), None);
        assert_eq!(bed.tracker.find(hash, &tuple), None);
        for packet in [&there, &back, &there] {
            let fields = Fields::of(packet);
            let reply = fields.tuple != tuple;
            let way = if reply { way.reversed() } else { way };
            bed.tracker.track(Some(way), &fields, packet, bed.now);
        }
        assert_eq!(bed.table.totals(), (2, 0));
        bed.wait(10);
        assert_eq!(bed.table.totals(), (0, 0));
        for number in 0..9 {
            assert!(flood(&mut bed, number).is_ok());
            bed.wait(1);
        }
    }
}

#[test]
fn expiry_checks_at_most_its_budget() {
    let mut bed = Bed::new(&Settings::default());
    for number in 0..1_000 {
        bed.show(&plain(&tuple4(number, protocol::UDP), 0));
    }
    bed.now = bed.now.after(TICKS_PER_SECOND * 40);

    let ended: Vec<usize> = (0..12).map(|_| bed.tracker.tick(bed.now, 100)).collect();

    assert_eq!(
        ended,
        [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 0, 0]
    );
    assert_eq!(bed.table.totals(), (0, 0));
}

#[test]
fn a_flood_does_not_delay_the_expiry_of_other_connections() {
    let mut bed = Bed::new(&Settings::default());
    for number in 0..1_000 {
        assert!(flood(&mut bed, number).is_ok());
    }
    for number in 0..10 {
        bed.show(&plain(&tuple4(number, protocol::UDP), 0));
    }
    bed.now = bed.now.after(TICKS_PER_SECOND * 40);

    // Every class of connections is swept in turn.
    let ended: usize = (0..5).map(|_| bed.tracker.tick(bed.now, 100)).sum();

    assert_eq!(ended, 500);
    assert!((0..10).all(|number| bed.row(&tuple4(number, protocol::UDP)).is_none()));
}

#[test]
fn a_worker_knows_the_worker_that_receives_the_replies() {
    let settings = Settings::default();
    let table = Table::new(2, 1_000).expect("address space");
    let tuple_claims = TupleClaims::new(1_000, &mut Rng::seeded(3)).expect("address space");
    let mut workers = [0, 1].map(|worker| {
        let setup = Setup {
            table: std::sync::Arc::clone(&table),
            worker,
            tuple_claims: Some(std::sync::Arc::clone(&tuple_claims)),
            settings: &settings,
        };
        Tracker::new(setup, &mut Rng::seeded(worker.into()), Tick(0))
    });
    let outside = Tuple {
        source_port: 9,
        ..tuple4(7, protocol::UDP)
    };
    let draft = |tracker: &Tracker, number| {
        let packet = plain(&tuple4(number, protocol::UDP), 0);
        let draft = tracker.draft(&Fields::of(&packet), &packet);
        Draft {
            reply: outside.reversed(),
            claims: Claims::Reply,
            ..draft
        }
    };

    let first = draft(&workers[0], 1);
    let way = workers[0].confirm(&first, Tick(0)).expect("room");
    assert_eq!(workers[1].owner(&outside.reversed()), Some(0));
    assert_eq!(workers[0].owner(&outside.reversed()), None);
    assert!(workers[1].is_taken(&outside.reversed(), &outside));
    // A translated port is never shared between connections.
    let second = draft(&workers[1], 2);
    assert_eq!(workers[1].confirm(&second, Tick(0)), Err(Refused::Taken));
    assert_eq!(table.totals(), (1, 0));

    assert!(!workers[1].remove(workers[0].id(way)));
    assert!(workers[0].remove(workers[0].id(way)));
    assert_eq!(workers[1].owner(&outside.reversed()), None);
    assert!(workers[1].confirm(&second, Tick(0)).is_ok());

    // An ICMP error is handed to the worker that owns the quoted connection.
    let error = super::support::error(&outside);
    assert_eq!(workers[0].home(&Fields::of(&error), &error), Some(1));
    assert_eq!(workers[1].home(&Fields::of(&error), &error), None);

    let expectation = Expectation {
        parent: EntryId::from_bits(1),
        tuple: Tuple {
            source: 0,
            source_port: 0,
            ..tuple4(3, protocol::TCP)
        },
        helper: Helper::Ftp,
        destination: None,
        source: None,
        answer: None,
        timeout_secs: 1,
        held: false,
    };
    assert!(workers[0].expect(expectation, Tick(0)));
    assert!(workers[0].expect(expectation, Tick(0)));
    assert!(!workers[1].expect(expectation, Tick(0)));
    assert_eq!(workers[1].owner(&tuple4(3, protocol::TCP)), Some(0));
    workers[0].tick(Tick(TICKS_PER_SECOND * 2), 16);
    assert_eq!(workers[1].owner(&tuple4(3, protocol::TCP)), None);
}
