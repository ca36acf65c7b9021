//! Tests of TCP state tracking with scripts.
//!
//! Each line is a segment: direction, flags, sequence and acknowledgement number relative to the initial
//! numbers, and optionally payload bytes (`d`), window (`w`) and window scale (`s`). After the arrow follow
//! the packet's state, the connection's TCP state and its timeout.

use machine::Duration;
use packet::{Tuple, protocol};

use super::support::{ACK, Bed, FIN, PSH, RST, SYN, Tcp, tcp, tuple4};
use crate::connection::*;

/// Initial sequence numbers of both sides, close to wraparound.
const FIRST: [u32; 2] = [0xffff_fff0, 0x7fff_fff0];

fn settings() -> Settings {
    Settings {
        tcp_max_retrans: Duration::from_secs(100),
        ..Settings::default()
    }
}

/// Parses a segment and its direction.
fn segment(words: &mut dyn Iterator<Item = &str>) -> (bool, Tcp) {
    let reply = words.next() == Some("<");
    let flags = words.next().unwrap_or_default().chars();
    let bit = |letter| match letter {
        'F' => FIN,
        'S' => SYN,
        'R' => RST,
        'P' => PSH,
        'A' => ACK,
        _ => 0,
    };
    let mut number = |side: usize| {
        let word = words.next().unwrap_or_default();
        FIRST[side].wrapping_add_signed(word.parse().expect("a number"))
    };
    let (seq, ack) = (number(usize::from(reply)), number(usize::from(!reply)));
    let flags = flags.fold(0, |flags, letter| flags | bit(letter));
    let mut segment = Tcp {
        flags,
        seq,
        ack: if flags & ACK == 0 { 0 } else { ack },
        window: 10_000,
        ..Tcp::default()
    };
    for word in words {
        let number = word[1..].parse().expect("a number");
        match &word[..1] {
            "d" => segment.data = number,
            "w" => segment.window = number as u16,
            _ => segment.scale = Some(number as u8),
        }
    }
    (reply, segment)
}

fn play_with(settings: &Settings, tuple: &Tuple, script: &str) {
    let mut bed = Bed::new(settings);
    let lines = script.lines().filter(|line| !line.trim().is_empty());
    for line in lines {
        let (sent, expected) = line.split_once("->").expect("an arrow");
        let (reply, segment) = segment(&mut sent.split_whitespace());
        let tuple = if reply { tuple.reversed() } else { *tuple };

        let state = bed.show(&tcp(&tuple, &segment)).state;

        let row = bed.row(&tuple);
        let shown = format!(
            "{state:?} {} {}",
            row.map_or("-", |row| row.tcp_state.name()),
            row.map_or(0, |row| row.timeout_secs)
        );
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(shown.to_lowercase(), expected.join(" "), "{line}");
    }
}

fn play(script: &str) {
    play_with(&settings(), &tuple4(1, protocol::TCP), script);
    play_with(
        &settings(),
        &super::support::tuple6(1, protocol::TCP),
        script,
    );
}

const OPEN: &str = "
    > S   0   0        -> new syn-sent 5
    < SA  0   1        -> established syn-received 5
    > A   1   1        -> established established 86400
";

fn opened(script: &str) -> String {
    format!("{OPEN}{script}")
}

#[test]
fn a_connection_opens_carries_data_half_closes_and_closes() {
    play(&opened(
        "
        > PA  1   1  d100  -> established established 300
        < A   1 101        -> established established 86400
        > FA 101  1        -> established fin-wait 10
        < A   1 102        -> established close-wait 10
        < PA  1 102 d500   -> established close-wait 10
        > A 102 501        -> established close-wait 10
        < FA 501 102       -> established last-ack 10
        > A 102 502        -> established time-wait 10
        < FA 501 102       -> established time-wait 10
    ",
    ));
}

#[test]
fn the_server_or_both_ends_may_close_first() {
    play(&opened(
        "
        < FA  1   1        -> established fin-wait 10
        > FA  1   1        -> established last-ack 10
        < A   2   2        -> established last-ack 10
        > A   2   2        -> established time-wait 10
        < S 70000 0        -> new syn-sent 5
        > SA 90000 70001   -> established syn-received 5
    ",
    ));
}

#[test]
fn a_retransmitted_fin_does_not_count_for_the_other_side() {
    play(&opened(
        "
        > FA  1   1        -> established fin-wait 10
        > FA  1   1        -> established fin-wait 10
        < PA  1   1 d100   -> established fin-wait 10
        < A 101   2        -> established close-wait 10
        > FA  1   1        -> established close-wait 10
        > A   2 101        -> established close-wait 10
        < FA 101  2        -> established last-ack 10
        < FA 101  2        -> established last-ack 10
        > A   2 102        -> established time-wait 10
    ",
    ));
}

#[test]
fn ports_of_a_closed_connection_are_reusable() {
    play(&opened(
        "
        > FA  1   1        -> established fin-wait 10
        < FA  1   2        -> established last-ack 10
        > A   2   2        -> established time-wait 10
        > S 70000 0        -> new syn-sent 5
        < SA 90000 70001   -> established syn-received 5
        > A 70001 90001    -> established established 86400
        > R 70001 0        -> established close 10
        > S  5    0        -> new syn-sent 5
    ",
    ));
}

#[test]
fn both_sides_open_at_once() {
    play(
        "
        > S   0   0        -> new syn-sent 5
        < S   0   0        -> established listen 5
        > SA  0   1        -> established syn-received 5
        < SA  0   1        -> established syn-received 5
        > PA  1   1  d10   -> established established 300
        < PA  1  11  d10   -> established established 300
        > A  11  11        -> established established 86400
    ",
    );
}

#[test]
fn lost_duplicated_and_reordered_segments_stay_in_the_connection() {
    play(&opened(
        "
        > PA 1001 1 d1000  -> established established 300
        > PA  1   1 d1000  -> established established 300
        < A   1   1        -> established established 300
        < A   1 2001       -> established established 86400
        > PA  1   1 d1000  -> established established 86400
        > PA 1001 1 d1000  -> established established 86400
        < A   1 1001       -> established established 86400
        > A 2000  1        -> established established 86400
        > A 2000  1  d1    -> established established 86400
    ",
    ));
}

#[test]
fn lost_handshake_segments_are_retransmitted() {
    play(
        "
        > S   0   0        -> new syn-sent 5
        > S   0   0        -> new syn-sent 5
        < SA  0   1        -> established syn-received 5
        < SA  0   1        -> established syn-received 5
        > S   0   0        -> established syn-received 5
        < SA  0   1        -> established syn-received 5
        > A   1   1        -> established established 86400
        < SA  0   1        -> established established 86400
        > A   1   1        -> established established 86400
    ",
    );
    play(
        "
        > S   0   0        -> new syn-sent 5
        > S 99999 0        -> new syn-sent 5
        < SA  0 100000     -> established syn-received 5
    ",
    );
}

#[test]
fn retransmissions_and_a_zero_window_shorten_the_timeout() {
    play(&opened(
        "
        > PA  1   1  d100  -> established established 300
        > PA  1   1  d100  -> established established 300
        > PA  1   1  d100  -> established established 300
        > PA  1   1  d100  -> established established 100
        < A   1 101        -> established established 86400
        < A   1 101   w0   -> established established 100
        > A 101   1   d1   -> established established 300
        < A   1 101   w0   -> established established 100
        < A   1 102        -> established established 86400
    ",
    ));
}

#[test]
fn a_reset_outside_the_window_is_invalid_and_an_inexact_one_shortens_nothing() {
    play(&opened(
        "
        > PA  1   1  d100  -> established established 300
        < A   1 101        -> established established 86400
        < R 20000 0        -> invalid established 86400
        < RA 2000000000 101 -> invalid established 86400
        > R 20000 0        -> invalid established 86400
        > R  50   0        -> invalid established 86400
        < RA  1  999       -> invalid established 86400
        > R 200   0        -> established established 86400
        < A   1 101        -> established established 86400
        > R 101   0        -> established close 10
    ",
    ));
}

#[test]
fn a_reset_after_the_last_segment_closes_the_connection() {
    play(&opened(
        "
        > PA  1   1  d100  -> established established 300
        > RA 101  1        -> established close 10
    ",
    ));
}

#[test]
fn only_a_reset_that_acknowledges_the_syn_refuses_it() {
    play(
        "
        > S   0   0        -> new syn-sent 5
        < RA  0   9        -> invalid syn-sent 5
        < R   0   0        -> invalid syn-sent 5
        < RA  0   1        -> established close 10
    ",
    );
}

#[test]
fn numbers_outside_the_window_are_invalid() {
    play(&opened(
        "
        > PA 10001 1 d100  -> established established 300
        > PA 10002 1 d100  -> invalid established 300
        > PA 30000 1 d100  -> invalid established 300
        < A   1 99999      -> invalid established 300
        < A  -20000 1      -> invalid established 300
        < A   1 -70000     -> invalid established 300
        < A   1 10101      -> established established 86400
    ",
    ));
}

#[test]
fn a_late_duplicate_passes_without_changing_the_state() {
    play(&opened(
        "
        > PA  1   1  d1000 -> established established 300
        < A   1 1001       -> established established 86400
        > PA 11001 1 d1    -> established established 300
        > PA  1   1  d1000 -> established established 300
        > PA -99999 1 d100 -> invalid established 300
        > PA  1 99 d1000   -> invalid established 300
        > A   1   1        -> invalid established 300
    ",
    ));
}

#[test]
fn window_scaling_requires_both_ends() {
    play(
        "
        > S   0   0   s7   -> new syn-sent 5
        < SA  0   1   s3   -> established syn-received 5
        > A   1   1 w1000  -> established established 86400
        < PA 120000 1 d10 w1000 -> established established 300
        > PA 79000 1 d10   -> invalid established 300
        < A   1   1 w10000 -> established established 300
        > PA 79000 1 d10   -> established established 300
    ",
    );
    play(
        "
        > S   0   0   s7   -> new syn-sent 5
        < SA  0   1        -> established syn-received 5
        > A   1   1 w1000  -> established established 86400
        < PA 12001 1 d10   -> invalid established 86400
        < PA 9000 1  d10   -> established established 300
    ",
    );
}

#[test]
fn established_connections_are_picked_up_only_with_loose_tracking() {
    play(
        "
        > PA 77   5   d9   -> new established 300
        < A   5  86        -> established established 86400
        < PA 900000 86 d9  -> established established 300
        > A  86 900009     -> established established 86400
    ",
    );
    play(
        "
        > SA 77   5        -> new established 300
        < A   5  78        -> established established 86400
    ",
    );
    let strict = Settings {
        loose: false,
        ..settings()
    };
    play_with(
        &strict,
        &tuple4(1, protocol::TCP),
        "
        > PA 77   5   d9   -> invalid - 0
        > SA 77   5        -> invalid - 0
        > S   0   0        -> new syn-sent 5
    ",
    );
}

#[test]
fn liberal_tracking_accepts_all_segments_but_resets() {
    let liberal = Settings {
        liberal: true,
        ..settings()
    };
    play_with(
        &liberal,
        &tuple4(1, protocol::TCP),
        &opened(
            "
        > PA 900000 1 d10  -> established established 300
        < A   1 950000     -> established established 300
        < R 20000000 0     -> invalid established 300
    ",
        ),
    );
}

#[test]
fn flags_that_no_tcp_sends_are_invalid() {
    for flags in [".", "F", "SF", "SR", "FR", "SFA", "FRA", "FP", "SRA"] {
        let (first, middle) = (
            format!("> {flags} 0 0 -> invalid - 0"),
            format!("> {flags} 1 1 -> invalid established 86400"),
        );
        play(&first);
        play(&opened(&middle));
    }
    play("> FA 1 1 -> invalid - 0");
    play("> RA 1 1 -> invalid - 0");
}

#[test]
fn a_syn_in_the_middle_changes_nothing_unless_the_other_side_agrees() {
    play(&opened(
        "
        > S 500000 0       -> established established 86400
        < A   1   1        -> established established 86400
        > R   1   0        -> established close 10
    ",
    ));
    play(&opened(
        "
        > S 500000 0       -> established established 86400
        < SA 60000 9       -> established established 86400
        > S 500000 0       -> established established 86400
        < SA 60000 500001  -> established syn-received 5
        > A 500001 60001   -> established established 86400
        < PA 60001 500001 d9 -> established established 300
    ",
    ));
    play(&opened("< S 500000 0     -> invalid established 86400"));
}

#[test]
fn a_half_open_old_connection_is_reset_and_a_new_one_opens() {
    play(
        "
        > S   0   0        -> new syn-sent 5
        < A 700 88888      -> established syn-sent 5
        > R 88888 0        -> established syn-sent 5
        > S   0   0        -> established syn-sent 5
        < SA  0   1        -> established syn-received 5
        > A   1   1        -> established established 86400
    ",
    );
}

#[test]
fn connection_limit_does_not_count_closed_connections() {
    let opening = ["> S 0 0", "< SA 0 1", "> A 1 1"];
    let ends = [&["> FA 1 1", "< FA 1 2", "> A 2 2"][..], &["< R 1 1"]];
    let tuple = tuple4(1, protocol::TCP);
    for (end, fasttrack) in ends.iter().flat_map(|end| [(end, false), (end, true)]) {
        let mut bed = Bed::new(&settings());
        let say = |bed: &mut Bed, line: &&str| {
            let (reply, segment) = segment(&mut line.split_whitespace());
            let tuple = if reply { tuple.reversed() } else { tuple };
            bed.show(&tcp(&tuple, &segment));
        };
        opening.iter().for_each(|line| say(&mut bed, line));
        let way = bed.tracker.lookup(&tuple).expect("established");
        bed.tracker.set_counted(way);
        if fasttrack {
            bed.tracker.fasttrack(way);
        }
        assert_eq!(bed.tracker.take_counted(), None);

        end.iter().for_each(|line| say(&mut bed, line));
        let ended = (!fasttrack).then_some(tuple);
        assert_eq!(bed.tracker.take_counted(), ended, "{end:?}");
        assert!(bed.row(&tuple).is_some(), "it is remembered");

        bed.wait(20);
        assert!(bed.row(&tuple).is_none());
        assert_eq!(bed.tracker.take_counted(), fasttrack.then_some(tuple));
    }
}
