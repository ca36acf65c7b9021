//! Fuzz targets above `wire`: the walk, NAT and its helpers, software offloads, reassembly, and the
//! configuration language.

pub use crate::sessions::pppoe;
pub use crate::streams::streams;
pub use crate::tracker::tracker;

use dataplane::connection::{Calls, EntryId, Expectation, Helper};
use dataplane::nat::helper::{Expected, Shifts, View, payload as payload_of, read, rest, treat};
use dataplane::nat::{PacketLayout, Rewrite};
use dataplane::packet::{Fields, Tuple, protocol};
use dataplane::trace::End;
use frame::reassembly::{Config, Reassembly};
use frame::{Class, Frame, InterfaceId, Offload, Pool, Segmentation, Sizes};
use machine::{Duration, Instant};
use wire::{ipv4, ipv6};

use sim::{Rig, WAN};

use super::Target;

/// Fuzz targets with their names, which are the names of their corpora.
pub const TARGETS: [(&str, Target); 9] = [
    ("finish", finish),
    ("helper", helper),
    ("pppoe", pppoe),
    ("reassembly", reassembly),
    ("script", script),
    ("streams", streams),
    ("tracker", tracker),
    ("translate", translate),
    ("walk", walk),
];

thread_local! {
    static RIG: Rig = Rig::example();
}

/// Traces a frame. `wire`, which parses headers by itself, must accept every packet that the walk forwards.
pub fn walk(bytes: &[u8]) {
    let walked = RIG.with(|rig| rig.trace(bytes));
    let End::Sent(egress) = walked.end else {
        return;
    };
    assert_eq!(egress, WAN);
    let packet = bytes.get(LINK_LEN..).unwrap_or_default();
    if let Ok(packet) = ipv4::Packet::new_verified(packet) {
        assert!(packet.ttl() > 1);
        assert!(
            packet
                .options_iter()
                .all(|option| option.is_ok_and(|o| !o.is_source_route()))
        );
    } else {
        assert!(ipv6::Packet::new_checked(packet).is_ok_and(|packet| packet.hop_limit() > 1));
    }
}

/// Translates a packet there and back, as traffic and as an ICMP error about it: repeated translations in one
/// direction give equal bytes.
pub fn translate(bytes: &[u8]) {
    let fields = Fields::of(bytes);
    let after = Tuple {
        source: fields.tuple.source ^ 0x0102_0304,
        source_port: fields.tuple.source_port ^ 0x55aa,
        ..fields.tuple
    };
    match fields.tuple.ipv6 {
        true => there_and_back::<16>(bytes, &fields, &after),
        false => there_and_back::<4>(bytes, &fields, &after),
    }
}

fn there_and_back<const BYTES: usize>(bytes: &[u8], fields: &Fields, after: &Tuple) {
    let shape = PacketLayout::of(fields, &Offload::FINISHED, 0);
    let there = Rewrite::<BYTES>::of(&fields.tuple, after);
    let back = Rewrite::<BYTES>::of(after, &fields.tuple);
    for apply in [Rewrite::<BYTES>::apply, Rewrite::<BYTES>::apply_error] {
        let mut packet = bytes.to_vec();
        if apply(&there, &mut packet, shape).is_err() {
            assert_eq!(packet, bytes);
            continue;
        }
        let translated = packet.clone();
        assert!(apply(&back, &mut packet, shape).is_ok());
        assert!(apply(&there, &mut packet, shape).is_ok());
        assert_eq!(packet, translated);
    }
}

/// No expected connections.
struct Nobody;

impl Expected for Nobody {
    fn by_another(&self, _: &Expectation) -> bool {
        false
    }

    fn answers(&self, _: &Tuple) -> Option<Tuple> {
        None
    }

    fn leads_to(&self, tuple: &Tuple) -> Option<u16> {
        Some(tuple.destination_port ^ 1)
    }
}

/// Helpers under test.
const HELPERS: [Helper; 6] = [
    Helper::Ftp,
    Helper::Irc,
    Helper::Pptp,
    Helper::Sip,
    Helper::Tftp,
    Helper::Rtsp,
];

/// Runs a helper on a payload; the first byte selects helper and direction. Its edits must be applicable and
/// give the announced length.
pub fn helper(bytes: &[u8]) {
    let Some((&kind, payload)) = bytes.split_first() else {
        return;
    };
    let helper = HELPERS[usize::from(kind) % HELPERS.len()];
    let udp = matches!(helper, Helper::Sip | Helper::Tftp);
    let forth = Tuple {
        source: 0x0a00_0002,
        destination: 0xc000_0209,
        source_port: 5000,
        destination_port: 5060,
        protocol: if udp { protocol::UDP } else { protocol::TCP },
        ipv6: false,
    };
    let back = Tuple {
        destination: 0xc633_6401,
        ..forth.reversed()
    };
    let reply = kind & 0x80 != 0;
    let (forth, back) = if reply { (back, forth) } else { (forth, back) };
    let view = View {
        id: EntryId::from_bits(1),
        helper,
        forth,
        back,
        reply,
        direct_media: kind & 0x40 == 0,
        calls: Calls::default(),
    };
    // Part of a message may have left with the previous segment, for helpers of streams.
    let eighths = match helper {
        Helper::Ftp | Helper::Irc | Helper::Rtsp => usize::from(kind >> 3 & 7),
        _ => 0,
    };
    let gone = eighths * payload.len() / 8;
    let text = &payload[..payload.len().min(gone + 1400)];
    let header = if udp { 28 } else { 40 };
    let len = header + text.len() - gone;
    let mut room = vec![0; len + 600];
    room[0] = 0x45;
    room[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    room[9] = forth.protocol;
    room[32] = if udp { 0 } else { 0x50 };
    room[header..len].copy_from_slice(&text[gone..]);
    let shape = PacketLayout::of(&Fields::of(&room), &Offload::FINISHED, 0);
    let mut shifts = Shifts::default();

    assert_eq!(payload_of(&room, shape), Some(&text[gone..]));

    let found = read(text, gone, &view, &Nobody);
    assert!(rest(text, &view).concat().len() <= 4096);
    let treated = treat(&mut room, shape, &found.edits, reply, &mut shifts);

    let new_len = treated.expect("there is room");
    assert_eq!(
        new_len as usize,
        len.wrapping_add_signed(found.edits.growth(0) as isize)
    );
    assert_eq!(u32::from(u16::from_be_bytes([room[2], room[3]])), new_len);
}

/// Completes the offloads of a frame in software. The first bytes tell which are pending, the rest is the
/// frame.
pub fn finish(bytes: &[u8]) {
    let Some((&[kind, size, start, offset, l3, mtu], frame)) = bytes.split_first_chunk() else {
        return;
    };
    let segmentation = match kind & 3 {
        0 => Segmentation::None,
        1 => Segmentation::Tcp4,
        2 => Segmentation::Tcp6,
        _ => Segmentation::Udp,
    };
    let offload = Offload {
        needs_checksum: kind & 4 != 0,
        segmentation,
        segment_bytes: size.into(),
        checksum_start: start.into(),
        checksum_offset: offset.into(),
        ecn: false,
    };
    let sizes = Sizes {
        small: 256,
        medium: 1,
        large: 0,
    };
    let Ok(mut pool) = Pool::new(sizes) else {
        return;
    };
    let Some(mut frame) = pool.alloc_from(frame) else {
        return;
    };
    frame.l3 = l3.into();
    frame.offload = offload;
    let mut out = Vec::new();
    let segments = frame::segment(&mut pool, &frame, &mut out);
    take_back(&mut pool, &mut out, segments.unwrap_or(0));
    let _ = frame::finish_checksum(frame.bytes_mut(), &offload);
    frame.offload = Offload::FINISHED;
    let fragments = frame::fragment(&mut pool, &frame, usize::from(mtu) * 8, &mut out);
    take_back(&mut pool, &mut out, fragments.unwrap_or(0));
    pool.free(frame);
}

/// Checks the number of segments and their checksums, and frees them.
fn take_back(pool: &mut Pool, out: &mut Vec<Frame>, promised: usize) {
    assert_eq!(out.len(), promised);
    for piece in out.drain(..) {
        assert!(piece.offload.is_finished());
        pool.free(piece);
    }
}

/// Feeds fragments to reassembly: each has a length byte, an optional second of delay, and its bytes. Results
/// are valid packets that survive fragmentation and reassembly.
pub fn reassembly(bytes: &[u8]) {
    let config = Config {
        timeout: Duration::from_secs(30),
        memory_max_bytes: 16_384,
        packets_max: 8,
    };
    let sizes = Sizes {
        small: 64,
        medium: 2,
        large: 2,
    };
    let Ok(mut pool) = Pool::new(sizes) else {
        return;
    };
    let mut held = Reassembly::new(config);
    let mut now = Instant::ZERO;
    let mut rest = bytes;
    while let &[len, wait, ref tail @ ..] = rest {
        let (packet, after) = tail.split_at(tail.len().min(len.into()));
        rest = after;
        now += Duration::from_secs((wait & 1).into());
        held.expire(now);
        let Some(mut frame) = pool.alloc_from(packet) else {
            return;
        };
        frame.ingress = InterfaceId(u32::from(wait >> 1));
        let whole = held.collect(&mut pool, frame, (), now);
        assert!(held.used_bytes() <= config.memory_max_bytes);
        assert!(held.len() <= config.packets_max);
        if let Some((frame, ())) = whole {
            whole_again(&mut pool, frame, now);
        }
        while let Some((frame, ..)) = held.take_lost() {
            pool.free(frame);
        }
    }
    held.clear();
    while let Some((frame, ..)) = held.take_lost() {
        pool.free(frame);
    }
    assert_eq!(pool.available(Class::Small), 64);
}

/// Checks a reassembled packet: fragmenting and reassembling it again gives the same bytes.
fn whole_again(pool: &mut Pool, mut frame: Frame, now: Instant) {
    let packet = frame.bytes();
    let ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
    let is_whole = match ipv6 {
        true => ipv6::Packet::new_checked(packet).is_ok(),
        // An unfragmented packet comes back unchanged, and the walk checked its checksum.
        false => {
            ipv4::Packet::new_checked(packet).is_ok_and(|packet| !packet.fragment().is_piece())
        }
    };
    assert!(is_whole);
    let made = core::mem::take(&mut frame.offload);
    let mut pieces = Vec::new();
    if made.segmentation == Segmentation::Fragments {
        let size = usize::from(made.segment_bytes);
        let cut = match ipv6 {
            true => frame::fragment6(pool, &frame, size.max(1280), 7, &mut pieces),
            false => frame::fragment(pool, &frame, size.max(frame::MTU_MIN), &mut pieces),
        };
        let mut held = Reassembly::new(Config::V6);
        let joined = pieces
            .drain(..)
            .filter_map(|piece| held.collect(pool, piece, (), now));
        let joined: Vec<_> = joined.collect();
        // The pool may be empty, and options may be malformed.
        if let (Ok(1..), [(again, ())]) = (cut, &joined[..]) {
            assert_eq!(again.bytes(), frame.bytes());
        }
        held.clear();
        while let Some((lost, ..)) = held.take_lost() {
            pool.free(lost);
        }
        joined.into_iter().for_each(|(frame, ())| pool.free(frame));
    }
    pool.free(frame);
}

/// Parses a configuration, prints it as code, and highlights it like the console.
pub fn script(bytes: &[u8]) {
    let text = menu::bytes::from_bytes(bytes);
    let report = script::check(&mut schema::store(), &text);
    assert_eq!(report.accepted, report.applied + report.no_effect.len());
    assert_eq!(report.commands, report.accepted + report.refused.len());

    let store = schema::store();
    let _ = script::parse_text(store.menus(), &text);
    let mut last = 0;
    for (from, to, _) in script::highlight(&store, "/", &text) {
        assert!(last <= from && from <= to && text.get(from..to).is_some());
        last = to;
    }
}

/// Length of an Ethernet header without tags: the rig's links have no VLANs.
const LINK_LEN: usize = 14;
