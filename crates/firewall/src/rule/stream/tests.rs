//! Stream matchers: layer-7 patterns and TLS server names.

use core::cell::Cell;

use super::super::action::Action;
use super::super::matcher::Match;
use super::super::table::{Rule, Table};
use super::super::{AddressTypes, Class, Helper, Hotspot, Matcher, Nothing};
use super::*;

/// A connection, tracked or untracked, and the patterns of the rules.
struct Connection {
    carrier: Cell<Carrier>,
    sought: StreamPatterns,
}

impl Facts for Connection {
    fn carrier(&self) -> Carrier {
        self.carrier.get()
    }

    fn keep(&self, kept: StreamState) {
        let Carrier::Known { reply, .. } = self.carrier.get() else {
            panic!("nothing is kept of what is not known");
        };
        self.carrier.set(Carrier::Known { kept, reply });
    }

    fn sought(&self) -> Option<&StreamPatterns> {
        Some(&self.sought)
    }

    fn bytes(&self) -> Option<u64> {
        Nothing.bytes()
    }

    fn rate_bps(&self) -> Option<u64> {
        Nothing.rate_bps()
    }

    fn helper(&self) -> Option<Helper> {
        Nothing.helper()
    }

    fn original(&self) -> Option<Tuple> {
        Nothing.original()
    }

    fn address_types(&self, address: u128, ipv6: bool) -> AddressTypes {
        Nothing.address_types(address, ipv6)
    }

    fn realm(&self) -> Option<u32> {
        Nothing.realm()
    }

    fn is_mapped(&self, _tuple: &Tuple) -> bool {
        false
    }

    fn hotspot(&self) -> Hotspot {
        Nothing.hotspot()
    }
}

const FRESH: Carrier = Carrier::Known {
    kept: StreamState(0),
    reply: false,
};

/// Compiles the patterns of rules with these matchers; patterns of `before` are reused.
fn sought(before: &StreamPatterns, matchers: &[Match]) -> StreamPatterns {
    made(before, matchers, CompileMode::Joined)
}

fn made(before: &StreamPatterns, matchers: &[Match], making: CompileMode) -> StreamPatterns {
    let rule = |what: &Match| {
        let matcher: Matcher = what.clone().into();
        Arc::new(Rule::new(1, vec![matcher], Action::Drop))
    };
    let rules = matchers.iter().map(rule).collect();
    let table = Table::compile(None, vec![("forward".into(), rules)]);
    before.follow([&table].into_iter(), making)
}

impl Connection {
    fn new(carrier: Carrier, matchers: &[Match]) -> Self {
        Self {
            carrier: Cell::new(carrier),
            sought: sought(&StreamPatterns::default(), matchers),
        }
    }

    /// Returns the next connection of the same router.
    fn next(&self) -> Self {
        Self {
            carrier: Cell::new(FRESH),
            sought: self.sought.clone(),
        }
    }

    fn turn(&self, reply: bool) {
        if let Carrier::Known { kept, .. } = self.carrier.get() {
            self.carrier.set(Carrier::Known { kept, reply });
        }
    }

    fn kept(&self) -> StreamState {
        match self.carrier.get() {
            Carrier::Known { kept, .. } => kept,
            _ => panic!("it is not known"),
        }
    }

    /// Returns the result of a matcher for a packet, for a dry run and for a real run, which must agree.
    fn asks(&self, streams: &mut Streams, packet: &[u8], what: &Match) -> Option<bool> {
        let fields = Fields::of(packet);
        let subject = Subject::new(&fields, packet, Class(1));
        let now = Instant::from_millis(1);
        let mut ask = |mut subject: Subject<'_>, commit| match what {
            Match::TlsHost(glob) => streams.tls_host(&mut subject, self, glob, now, commit),
            Match::Layer7(pattern) => streams.layer7(&mut subject, self, pattern, now, commit),
            _ => panic!("it reads no stream"),
        };
        let before = self.carrier.get();
        let told = ask(subject, false);
        assert_eq!(self.carrier.get(), before);
        let done = ask(subject, true);
        assert_eq!(told, done);
        done
    }
}

fn host(glob: &str) -> Match {
    Match::TlsHost(Glob::new(glob))
}

fn pattern(regexp: &str) -> Match {
    Match::Layer7(Layer7::new("x", regexp).expect("a pattern"))
}

fn segment(flags: u8, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![
        0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    packet.extend([0x13, 0x88, 0x01, 0xbb]);
    packet.extend(sequence.to_be_bytes());
    packet.extend([0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet
}

fn tcp(sequence: u32, payload: &[u8]) -> Vec<u8> {
    segment(ACK, sequence, payload)
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![
        0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    packet.extend([0x13, 0x88, 0x01, 0xbb, 0, 0, 0, 0]);
    packet.extend(payload);
    let len = packet.len() as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet
}

#[test]
fn a_client_hello_is_read_in_one_segment() {
    let hello = hello::tests::client_hello(b"www.example.com", 1800);
    let (below, exact) = (host("*.example.com"), host("example.com"));
    for carrier in [FRESH, Carrier::None, Carrier::Begins] {
        let connection = Connection::new(carrier, &[below.clone(), exact.clone()]);
        let mut streams = Streams::default();
        let mut asks = |packet: &[u8], what| connection.asks(&mut streams, packet, what);
        assert_eq!(asks(&tcp(1, &hello), &below), Some(true));
        assert_eq!(asks(&tcp(1, &hello), &exact), Some(false));
        assert_eq!(asks(&tcp(1, b""), &below), None);
        assert_eq!(asks(&tcp(1, b"GET / HTTP/1.1"), &below), None);
        assert_eq!(streams.slots.counts(), (0, 0));
    }
}

#[test]
fn a_client_hello_is_read_in_segments_of_any_order() {
    let hello = hello::tests::client_hello(b"www.example.com", 1800);
    let (first, rest) = hello.split_at(700);
    let (second, third) = rest.split_at(900);
    let pieces = [(5000_u32, first), (5700, second), (6600, third)];
    let what = host("WWW.*.com");
    for carrier in [FRESH, Carrier::None] {
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let connection = Connection::new(carrier, core::slice::from_ref(&what));
            let mut streams = Streams::default();
            let mut asks = |packet: &[u8]| connection.asks(&mut streams, packet, &what);
            assert_eq!(asks(&segment(SYN, 4999, b"")), None);
            let answers = order.map(|piece| asks(&tcp(pieces[piece].0, pieces[piece].1)));
            assert_eq!(answers, [None, None, Some(true)], "{order:?}");
            // The segments are retransmitted: only data of the ClientHello matches.
            for (sequence, piece) in pieces {
                assert_eq!(asks(&tcp(sequence, piece)), Some(true));
            }
            assert_eq!(asks(&tcp(5000 + hello.len() as u32, b"more")), None);
            assert_eq!(asks(&tcp(4998, b"x")), None);
        }
    }
}

#[test]
fn a_client_hello_is_read_without_the_tcp_handshake() {
    let hello = hello::tests::client_hello(b"www.example.com", 1800);
    let what = host("*");
    let connection = Connection::new(FRESH, core::slice::from_ref(&what));
    let mut streams = Streams::default();
    let mut asks = |packet: &[u8]| connection.asks(&mut streams, packet, &what);
    // A mail server's greeting before TLS begins.
    assert_eq!(asks(&tcp(1, b"STARTTLS\r\n")), None);
    assert_eq!(asks(&tcp(11, &hello[..700])), None);
    assert_eq!(asks(&tcp(1011, &hello[1000..])), None);
    // The sequence numbers of the reply direction are a separate stream.
    connection.turn(true);
    assert_eq!(asks(&tcp(711, &hello[700..1000])), None);
    connection.turn(false);
    assert_eq!(asks(&tcp(711, &hello[700..1000])), Some(true));
}

#[test]
fn streams_without_client_hello_are_not_collected() {
    let what = host("*");
    let connection = Connection::new(FRESH, core::slice::from_ref(&what));
    let mut streams = Streams::default();
    assert_eq!(
        connection.asks(&mut streams, &segment(SYN, 9, b""), &what),
        None
    );
    assert_eq!(streams.slots.counts(), (1, 0));
    assert_eq!(
        connection.asks(&mut streams, &tcp(10, b"SSH-2.0-x"), &what),
        None
    );
    assert_eq!(
        (streams.slots.counts(), connection.kept()),
        ((0, 0), StreamState(0))
    );
    // Data longer than a ClientHello is not kept either.
    let next = connection.next();
    next.asks(&mut streams, &segment(SYN, 9, b""), &what);
    next.asks(
        &mut streams,
        &tcp(10, &[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0]),
        &what,
    );
    assert_eq!(streams.slots.counts(), (1, 1));
    next.asks(&mut streams, &tcp(10_000, b"x"), &what);
    assert_eq!(
        (streams.slots.counts(), next.kept()),
        ((0, 0), StreamState(0))
    );
}

#[test]
fn quic_is_read_in_both_versions_and_in_several_packets() {
    let hello = hello::tests::client_hello(b"www.example.com", 1500);
    let hello = &hello[5..];
    let what = host("*.example.com");
    let (id, other) = (b"8 bytes.", b"other id");
    let packet = |version, ids: (&[u8], &[u8]), at: usize, len| {
        let mut frames = quic::tests::crypto_frame(at, &hello[at..hello.len().min(at + len)]);
        frames.resize(1162, 0);
        udp(&quic::Keys::seal(version, ids.0, ids.1, b"", 1, &frames))
    };
    for version in [0, 1] {
        let connection = Connection::new(FRESH, core::slice::from_ref(&what));
        let mut streams = Streams::default();
        let mut asks = |packet: &[u8]| connection.asks(&mut streams, packet, &what);
        assert_eq!(asks(&packet(version, (id, id), 1100, 1100)), None);
        assert_eq!(asks(&packet(version, (id, id), 0, 900)), None);
        // A packet with the server's connection ID and the same keys.
        let last = packet(version, (id, other), 800, 400);
        assert_eq!(asks(&last), Some(true));
        assert_eq!(asks(&last), Some(true));
        assert_eq!(asks(&udp(&[0x40; 1200])), None);

        // After a Retry packet there are new keys, and the ClientHello is sent again.
        let connection = connection.next();
        let mut asks = |packet: &[u8]| connection.asks(&mut streams, packet, &what);
        assert_eq!(asks(&packet(version, (id, id), 0, 1100)), None);
        assert_eq!(asks(&packet(version, (other, other), 1100, 1100)), None);
        assert_eq!(asks(&packet(version, (other, other), 0, 1100)), Some(true));
        connection.turn(true);
        let mut asks = |packet: &[u8]| connection.asks(&mut streams, packet, &what);
        assert_eq!(asks(&packet(version, (id, id), 0, 1100)), None);
    }
}

#[test]
fn the_number_of_decrypted_quic_packets_is_bounded() {
    let what = host("*");
    let mut streams = Streams::default();
    let wrong = udp(&[
        &[0xc0, 0, 0, 0, 1, 8],
        &[7; 8][..],
        &[0, 0, 0x44, 0x9e],
        &[9; 1182],
    ]
    .concat());
    let first = Connection::new(FRESH, core::slice::from_ref(&what));
    for _ in 0..100 {
        assert_eq!(first.asks(&mut streams, &wrong, &what), None);
    }
    assert_eq!(streams.opened.count, u32::from(TRIED_MAX));
    for _ in 0..OPENED_MAX / u32::from(TRIED_MAX) {
        let next = first.next();
        let fields = Fields::of(&wrong);
        for _ in 0..10 {
            let mut subject = Subject::new(&fields, &wrong, Class(1));
            let seen = streams.read_host(&mut subject, &next, Instant::from_millis(1), true);
            assert_eq!(seen, ReadResult::Lacks);
        }
    }
    assert!(!streams.opened.take(Instant::from_millis(999)));
    assert!(streams.opened.take(Instant::from_millis(1000)));
}

#[test]
fn both_directions_are_searched_until_ten_packets_or_two_kilobytes() {
    let what = pattern("^hello.*world$");
    let first = Connection::new(FRESH, core::slice::from_ref(&what));
    let mut streams = Streams::default();
    let mut carries = |connection: &Connection, payload: &[u8]| {
        connection.asks(&mut streams, &tcp(0, payload), &what)
    };
    assert_eq!(carries(&first, b"HEL\0LO"), Some(false));
    first.turn(true);
    assert_eq!(carries(&first, b" World"), Some(true));
    assert_eq!(carries(&first, b"more"), Some(true));
    let second = first.next();
    for _ in 0..10 {
        assert_eq!(carries(&second, b"hello "), Some(false));
        assert_eq!(carries(&second, b""), Some(false));
    }
    assert_eq!(carries(&second, b"world"), Some(false));
    let third = first.next();
    assert_eq!(carries(&third, &[b'h'; 3000]), Some(false));
    assert_eq!(carries(&third, b"hello world"), Some(false));
    // Data is still searched in the tenth packet and up to the byte limit.
    let fourth = first.next();
    assert_eq!(carries(&fourth, b"hello"), Some(false));
    assert_eq!(carries(&fourth, &[b'x'; 2038]), Some(false));
    assert_eq!(carries(&fourth, b"world and so on"), Some(true));
    for connection in [second, third] {
        let place = streams.slots.place(connection.kept());
        assert_eq!(place, DecodedState::Done(PatternSet::EMPTY));
    }
    // The other connections have found all patterns and need no slot.
    assert_eq!(streams.slots.counts(), (0, 0));
}

#[test]
fn layer7_patterns_do_not_match_without_tracking() {
    let what = pattern("x");
    let connection = Connection::new(Carrier::None, core::slice::from_ref(&what));
    let mut streams = Streams::default();
    assert_eq!(connection.asks(&mut streams, &tcp(0, b"x"), &what), None);
}

#[test]
fn a_change_of_patterns_keeps_results_and_applies_to_new_connections() {
    let (x, y) = (pattern("x"), pattern("y"));
    let mut first = Connection::new(FRESH, core::slice::from_ref(&x));
    let mut second = first.next();
    let mut streams = Streams::default();
    assert_eq!(first.asks(&mut streams, &tcp(0, b"x"), &x), Some(true));
    assert_eq!(second.asks(&mut streams, &tcp(0, b"z"), &x), Some(false));
    let both = sought(&first.sought, &[x.clone(), y.clone()]);
    (first.sought, second.sought) = (both.clone(), both.clone());
    for what in [&x, &y] {
        let found = first.asks(&mut streams, &tcp(1, b"xy"), what);
        assert_eq!(found, Some(core::ptr::eq(what, &x)));
        assert_eq!(second.asks(&mut streams, &tcp(1, b"xy"), what), Some(false));
    }
    let third = second.next();
    assert_eq!(third.asks(&mut streams, &tcp(0, b"xy"), &y), Some(true));
    let same = sought(&both, &[y, x]);
    assert!(Arc::ptr_eq(&same.patterns, &both.patterns));
}

#[test]
fn patterns_are_merged_later_and_open_connections_continue() {
    let (x, y) = (pattern("x"), pattern("yy"));
    let host = Match::TlsHost(Glob::new("a*b*"));
    let all = [x.clone(), y.clone(), host];
    let apart = made(&StreamPatterns::default(), &all, CompileMode::Apart);
    let joining = apart
        .to_join(&StreamPatterns::default())
        .expect("it is apart");
    assert!(apart.to_join(&apart).is_none(), "it is under way");
    let mut first = Connection {
        carrier: Cell::new(FRESH),
        sought: apart.clone(),
    };
    let mut streams = Streams::default();
    assert_eq!(first.asks(&mut streams, &tcp(0, b"xy"), &x), Some(true));
    assert_eq!(first.asks(&mut streams, &tcp(2, b"z"), &y), Some(false));

    let joined = joining.run();
    first.sought = apart.with(&joined).expect("it is what was joined");
    assert!(!first.sought.patterns.is_apart() && !first.sought.hosts.is_apart());
    assert!(first.sought.to_join(&apart).is_none());
    assert_eq!(first.asks(&mut streams, &tcp(3, b"yy"), &y), Some(true));
    let second = first.next();
    assert_eq!(second.asks(&mut streams, &tcp(0, b"yy"), &y), Some(true));
    assert_eq!(second.asks(&mut streams, &tcp(2, b"yy"), &x), Some(false));

    // The rules now have other patterns.
    let other = made(&apart, &[x, y], CompileMode::Apart);
    assert!(Arc::ptr_eq(&other.patterns, &apart.patterns));
    let with = other.with(&joined).expect("the patterns are the same");
    assert!(!with.patterns.is_apart());
    assert!(
        made(&other, &[], CompileMode::Apart)
            .with(&joined)
            .is_none()
    );
}

#[test]
fn one_packet_is_searched_once_for_all_rules() {
    let (x, xx) = (pattern("x"), pattern("xx"));
    let connection = Connection::new(FRESH, &[x.clone(), xx.clone()]);
    let mut streams = Streams::default();
    let packet = tcp(0, b"x");
    let fields = Fields::of(&packet);
    let mut subject = Subject::new(&fields, &packet, Class(1));
    for (what, fits) in [(&x, true), (&xx, false), (&x, true), (&xx, false)] {
        let Match::Layer7(pattern) = what else {
            panic!("it is one")
        };
        let now = Instant::from_millis(1);
        let found = streams.layer7(&mut subject, &connection, pattern, now, true);
        assert_eq!(found, Some(fits));
    }
}

#[test]
fn state_begun_by_a_dropped_packet_is_freed() {
    let what = pattern("x");
    let connection = Connection::new(Carrier::Begins, core::slice::from_ref(&what));
    let mut streams = Streams::default();
    for _ in 0..5 {
        assert_eq!(
            connection.asks(&mut streams, &udp(b"y"), &what),
            Some(false)
        );
    }
    assert_eq!(streams.slots.counts(), (1, 0));
    streams.begun();
    assert_eq!(
        connection.asks(&mut streams, &udp(b"y"), &what),
        Some(false)
    );
    assert_eq!(streams.slots.counts(), (2, 0));
}

#[test]
fn state_of_untracked_packets_is_bounded() {
    let mut untracked = Untracked::default();
    for key in 0..3 * UNTRACKED as u64 {
        untracked.put(key, StreamState(1));
        if key % 3 == 0 {
            untracked.put(key, StreamState(0));
        }
    }
    assert!(untracked.kept.len() <= UNTRACKED && untracked.order.len() <= UNTRACKED);
}

#[test]
fn rules_skipped_as_a_group_would_not_match() {
    use super::super::tests::{Quiet, worker};
    use super::super::{ChainId, run};

    let (a, b) = (host("a.example"), host("b.*"));
    let (x, y) = (pattern("^x"), pattern("y"));
    let not = |what: &Match| !Matcher::from(what.clone());
    let other = Match::Protocol(protocol::UDP);
    let all: [Matcher; 9] = [
        a.clone().into(),
        b.clone().into(),
        not(&b),
        x.clone().into(),
        y.clone().into(),
        other.clone().into(),
        not(&x),
        a.clone().into(),
        not(&other),
    ];
    let packets = [
        tcp(1, &hello::tests::client_hello(b"a.example", 9)),
        tcp(1, &hello::tests::client_hello(b"c.example", 9)),
        tcp(1, b"x y"),
        tcp(1, b"y"),
        tcp(1, b""),
        udp(b"x"),
    ];
    let connection = Connection::new(FRESH, &[a, b, x, y]);
    for packet in &packets {
        for first in 0..all.len() {
            let rules = all[first..].iter().zip(1..);
            let rules = rules
                .map(|(matcher, id)| Arc::new(Rule::new(id, vec![matcher.clone()], Action::Drop)));
            let table = Table::compile(None, vec![("forward".into(), rules.collect())]);
            let fields = Fields::of(packet);
            let subject = Subject::new(&fields, packet, Class(1));
            let (next, mut worker) = (connection.next(), worker());
            let (id, mut told, mut done) =
                (ChainId(0), Quiet::<false>::new(), Quiet::<true>::new());
            let told = run(&table, id, &mut { subject }, &next, &mut worker, &mut told);
            let done = run(&table, id, &mut { subject }, &next, &mut worker, &mut done);
            assert_eq!(told, done, "from {first} on");
        }
    }
}
