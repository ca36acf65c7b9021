//! Fuzz target of stream inspection: TLS and QUIC host names, payload patterns.

use std::cell::RefCell;
use std::sync::Arc;

use dataplane::packet::{Fields, Tuple};
use dataplane::rule::stream_readers::{self as readers, Keys, Pieces, Read, Streams};
use dataplane::rule::{
    Action, AddressTypes, Carrier, Class, CompileMode, Facts, Glob, Helper, Hotspot, Layer7, Match,
    Nothing, Rule, StreamPatterns, StreamState, Subject, Table,
};
use machine::Instant;

/// Number of connections.
const CONNECTIONS: usize = 4;

/// Stored state of the connections, and matchers of the rules.
struct World {
    kept: RefCell<[StreamState; CONNECTIONS]>,
    at: usize,
    reply: bool,
    sought: StreamPatterns,
}

impl Facts for World {
    fn carrier(&self) -> Carrier {
        match self.at {
            // The last one is untracked.
            at if at + 1 == CONNECTIONS => Carrier::None,
            at => Carrier::Known {
                kept: self.kept.borrow()[at],
                reply: self.reply,
            },
        }
    }

    fn keep(&self, kept: StreamState) {
        self.kept.borrow_mut()[self.at] = kept;
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

thread_local! {
    static SOUGHT: (StreamPatterns, Vec<Match>) = sought();
}

fn sought() -> (StreamPatterns, Vec<Match>) {
    let globs = ["*", "*.example.com", "example.org", "*[a-m]?x*", "www.*"];
    let mut all: Vec<Match> = globs.map(|glob| Match::TlsHost(Glob::new(glob))).into();
    let patterns = [
        "^\x16.+\x01",
        "example\\.(com|org)",
        "^.?.?[a-z]+$",
        "q.................q",
    ];
    all.extend(
        patterns
            .iter()
            .filter_map(|text| Layer7::new("x", text).ok())
            .map(Match::Layer7),
    );
    let rule = |what: &Match| Arc::new(Rule::new(1, vec![what.clone().into()], Action::Drop));
    let table = Table::compile(
        None,
        vec![("forward".into(), all.iter().map(rule).collect())],
    );
    (
        StreamPatterns::default().follow([&table].into_iter(), CompileMode::Joined),
        all,
    )
}

/// Parses a ClientHello, QUIC frames and packets, or streams of several connections. The first byte selects;
/// each packet of a stream has four bytes of attributes.
pub fn streams(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else {
        return;
    };
    match kind & 3 {
        0 => hellos(rest),
        1 => {
            let mut pieces = Pieces::default();
            readers::gather(rest, &mut pieces);
            let _ = readers::message(pieces.beginning());
        }
        2 => {
            let mut room = Vec::new();
            for initial in readers::initials(rest) {
                let keys = Keys::new(&initial);
                let inside = keys.and_then(|keys| keys.open(&initial, &mut room));
                assert!(inside.is_none_or(|inside| inside.end <= room.len()));
            }
        }
        _ => conversations(rest),
    }
}

/// Knowledge about a ClientHello is stable under more bytes and any segmentation.
fn hellos(bytes: &[u8]) {
    let whole = readers::records(bytes);
    let mut known = None;
    for len in 0..=bytes.len().min(2048) {
        let read = readers::records(&bytes[..len]);
        if let Some(before) = &known {
            assert_eq!(read, *before);
        } else if read != Read::More {
            known = Some(read);
        }
    }
    let (front, back) = bytes.split_at(bytes.len() / 3);
    let mut pieces = Pieces::default();
    if pieces.put(front.len(), back) && pieces.put(0, front) {
        assert_eq!(readers::records(pieces.beginning()), whole);
    }
}

fn conversations(mut bytes: &[u8]) {
    let (sought, matchers) = SOUGHT.with(Clone::clone);
    let mut world = World {
        kept: RefCell::default(),
        at: 0,
        reply: false,
        sought,
    };
    let mut streams = Streams::default();
    let mut packets = 0;
    while let Some((&[kind, flags, sequence, len], rest)) = bytes.split_first_chunk() {
        // The minimum length of QUIC's first datagrams, and shorter ones.
        let len = if kind & 0x20 != 0 {
            1200
        } else {
            usize::from(len)
        };
        let (payload, rest) = rest.split_at(rest.len().min(len));
        bytes = rest;
        packets += 1;
        if packets > 64 {
            return;
        }
        (world.at, world.reply) = (usize::from(kind & 3), kind & 4 != 0);
        let packet = packet(kind & 8 != 0, flags, sequence, payload);
        ask(&mut streams, &world, &matchers, &packet);
    }
}

/// Registers all matchers, then evaluates them.
fn ask(streams: &mut Streams, world: &World, matchers: &[Match], packet: &[u8]) {
    let fields = Fields::of(packet);
    let now = Instant::from_millis(1);
    let mut answers = [Vec::new(), Vec::new()];
    for (commit, answers) in [false, true].into_iter().zip(&mut answers) {
        let mut subject = Subject::new(&fields, packet, Class(1));
        for what in matchers {
            let subject = &mut subject;
            answers.push(match what {
                Match::TlsHost(glob) => streams.tls_host(subject, world, glob, now, commit),
                Match::Layer7(pattern) => streams.layer7(subject, world, pattern, now, commit),
                _ => None,
            });
        }
    }
    assert_eq!(answers[0], answers[1]);
}

fn packet(udp: bool, flags: u8, sequence: u8, payload: &[u8]) -> Vec<u8> {
    let (number, header) = if udp { (17, 8) } else { (6, 20) };
    let len = (20 + header + payload.len()) as u16;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, number, 0, 0];
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    packet.extend([10, 0, 0, 1, 192, 0, 2, 9, 0x13, 0x88, 0x01, 0xbb]);
    packet.resize(20 + header, 0);
    if !udp {
        packet[27] = sequence;
        (packet[32], packet[33]) = (0x50, flags);
    }
    packet.extend(payload);
    packet
}
