//! Tests of messages that are split over segments.

use super::super::firewall::hits;
use super::world::{ACK, ASTRAY, CLIENT, OUTSIDE, SERVER, SYN, World, ends, tcp, tuple};
use super::{PORT, TOLD};
use crate::connection::Helper;

#[test]
fn a_command_in_two_segments_is_rewritten_where_it_still_can_be() {
    for workers in [1, 3] {
        let mut world = World::new(workers);
        let (inside, outside) = world.connect(21);
        let (first, second) = PORT.split_at(5);
        let left = world.out(&tcp(inside, ACK, (100, 500), first));
        assert_eq!(left.expect("out").payload, first);

        // The segment is lost and retransmitted.
        for _ in 0..2 {
            let left = world.out(&tcp(inside, ACK, (105, 500), second));
            let left = left.expect("out");
            assert_eq!((&left.payload[..], left.numbers), (&TOLD[5..], (105, 500)));
        }
        // Both segments arrive merged.
        let left = world.out(&tcp(inside, ACK, (100, 500), PORT)).expect("out");
        assert_eq!((&left.payload[..], left.numbers), (TOLD, (100, 500)));

        let told = 100 + TOLD.len() as u32;
        let answer = tcp(outside.back(), ACK, (500, told), b"200 Okay.\r\n");
        let heard = world.back(&answer).expect("inside the window");
        assert_eq!(heard.numbers, (500, 100 + PORT.len() as u32));
        let data = ends((SERVER, 20), (OUTSIDE, 5001));
        let came = world.back(&tcp(data, SYN, (900, 0), b"")).expect("related");
        assert_eq!(came.ends, ends((SERVER, 20), (CLIENT, 5001)));
        assert_eq!(world.cuts(), 0);
    }
}

#[test]
fn a_command_whose_address_has_left_in_part_passes_and_is_counted() {
    let mut world = World::new(1);
    let (inside, _) = world.connect(21);
    let (first, second) = PORT.split_at(7);
    for (number, said) in [(100, first), (107, second)] {
        let left = world.out(&tcp(inside, ACK, (number, 500), said));
        let left = left.expect("out");
        assert_eq!((&left.payload[..], left.numbers), (said, (number, 500)));
    }

    assert_eq!(world.cuts(), 1);
    // Both arrive merged, and leave as they did the first time: the server counts the bytes it
    // received.
    let left = world.out(&tcp(inside, ACK, (100, 500), PORT)).expect("out");
    assert_eq!((&left.payload[..], left.numbers), (PORT, (100, 500)));
    assert_eq!(world.cuts(), 2);
    let data = ends((SERVER, 20), (OUTSIDE, 5001));
    assert_eq!(world.back(&tcp(data, SYN, (900, 0), b"")), None);
    assert_eq!(world.rig.drops(), ASTRAY);

    // The next message is parsed.
    let number = 100 + PORT.len() as u32;
    let left = world.out(&tcp(inside, ACK, (number, 500), PORT));
    assert_eq!(left.expect("out").payload, TOLD);
}

#[test]
fn an_answer_in_two_segments_is_understood_whoever_is_translated() {
    let mut world = World::new(1);
    let (inside, outside) = world.connect(21);
    let said = b"227 Entering Passive Mode (11,0,0,2,19,137).\r\n";
    for (number, part) in [(500, &said[..30]), (530, &said[30..])] {
        let heard = world.back(&tcp(outside.back(), ACK, (number, 100), part));
        let heard = heard.expect("in");
        assert_eq!((&heard.payload[..], heard.numbers), (part, (number, 100)));
    }

    let data = ends((CLIENT, 5002), (SERVER, 5001));
    world.out(&tcp(data, SYN, (900, 0), b"")).expect("out");

    let row = world.row(|row| row.expected);
    assert_eq!(row.helper, Helper::Ftp);
    assert_eq!((hits(&world.rig, 1).0, world.cuts()), (1, 0));
    assert_eq!(row.original.source_port, 5002);
    // The stored part is freed with its connection.
    let tracker = |world: &World, number| {
        let control = world.row(|row| !row.expected).id;
        let tracker = world.rig.workers[0].tracker();
        let way = tracker.lookup(&tuple(inside)).expect("it is there");
        assert_eq!(way.slot(), control.slot);
        tracker.remainder(way.reversed(), number).to_vec()
    };
    assert_eq!(tracker(&world, 530), &said[..30]);
    let control = world.row(|row| !row.expected).id;
    world.rig.command(crate::rings::Command::Forget(control));
    world.rig.settle();
    world.connect(21);
    assert_eq!(tracker(&world, 530), b"");
}
