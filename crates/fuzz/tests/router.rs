//! Targets above `wire` against their corpora in `fuzz/corpus/`: unchanged, truncated, with flipped bits, and
//! with seeded mutations.
//!
//! `UPDATE=1 cargo test -p fuzz --test router` writes the corpora.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made for a test fails the test"
)]

mod corpora;

use std::fs;

use fuzz::router::TARGETS;
use sim::odd;
use wire::ipv4::{self, Fragment};
use wire::{Protocol, ipv6};

use corpora::{cut_and_mutated, folder, stored};

/// Mutations per corpus.
const MUTATIONS: u64 = 5_000;

/// Returns the seeds by target and name.
fn seeds() -> Vec<(&'static str, String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let hosts = odd::Hosts::example();
    for case in odd::cases() {
        for (index, frame) in (case.frames)(&hosts).into_iter().enumerate() {
            let name = format!("{}-{index}", case.name);
            seeds.push(("walk", name.clone(), frame.clone()));
            if case.name.ends_with("plain") {
                seeds.push(("pppoe", name.clone(), session_data(&frame)));
            }
            // Every offload of a frame; its packet begins at byte 14.
            if case.name.ends_with("plain") || case.name.ends_with("record-route") {
                for kind in 0..8 {
                    let head = [kind, 8, 34, 6, 14, 72];
                    seeds.push((
                        "finish",
                        format!("{name}-{kind}"),
                        [&head[..], &frame].concat(),
                    ));
                }
            }
        }
    }
    seeds.extend(
        pieces()
            .into_iter()
            .map(|(name, bytes)| ("reassembly", name.to_owned(), bytes)),
    );
    for (name, kind, text) in MESSAGES {
        let bytes = [&[*kind], text.as_bytes()].concat();
        seeds.push(("helper", (*name).to_owned(), bytes));
    }
    seeds.extend(translated());
    seeds.extend(carried().map(|(name, bytes)| ("streams", name.to_owned(), bytes)));
    for (name, acts) in CONVERSATIONS {
        seeds.push(("tracker", (*name).to_owned(), acts.concat()));
    }
    for (name, text) in SCRIPTS {
        seeds.push(("script", (*name).to_owned(), text.as_bytes().to_vec()));
    }
    seeds
}

/// Returns a frame's packet as PPPoE session data, from the version on, and padded.
fn session_data(frame: &[u8]) -> Vec<u8> {
    let (link, packet) = frame.split_at(14);
    let protocol = if link[12] == 0x08 { 0x21 } else { 0x57 };
    let len = (packet.len() as u16 + 2).to_be_bytes();
    [&[0x11, 0, 0, 7], &len[..], &[0, protocol], packet, &[0; 4]].concat()
}

/// Messages of the helpers. The number modulo 6 selects the helper; its highest bit marks a reply.
const MESSAGES: &[(&str, u8, &str)] = &[
    ("port", 0, "PORT 10,0,0,2,19,137\r\n"),
    ("eprt", 0, "EPRT |1|10.0.0.2|5001|\r\n"),
    (
        "pasv",
        132,
        "227 Entering Passive Mode (192,0,2,9,19,137)\r\n",
    ),
    (
        "epsv",
        132,
        "229 Entering Extended Passive Mode (|||5001|)\r\n",
    ),
    (
        "dcc",
        1,
        "PRIVMSG a :\u{1}DCC SEND b 167772162 5001 7\u{1}\r\n",
    ),
    (
        "call",
        134,
        "\0\u{20}\0\u{1}\u{1a}+<M\0\u{8}\0\0\u{11}\u{22}\u{33}\u{44}\u{1}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    ),
    (
        "invite",
        3,
        "INVITE sip:b@192.0.2.9 SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.2:5000\r\n\
         Contact: <sip:a@10.0.0.2:5000>\r\nContent-Length: 78\r\n\r\n\
         v=0\r\no=a 1 1 IN IP4 10.0.0.2\r\nc=IN IP4 10.0.0.2\r\nm=audio 49170 RTP/AVP 0\r\n",
    ),
    ("read", 4, "\0\u{1}file\0octet\0"),
    (
        "setup",
        5,
        "SETUP rtsp://192.0.2.9/a RTSP/1.0\r\nTransport: RTP/AVP;unicast;destination=10.0.0.2;\
         client_port=5000-5001,RTP/AVP/TCP;interleaved=0-1\r\n\r\n",
    ),
    (
        "set-up",
        137,
        "RTSP/1.0 200 OK\r\nTransport: RTP/AVP;client_port=5000-5001;source=192.0.2.9;\
         server_port=6256-6257\r\n\r\n",
    ),
];

/// Steps of conversations, eight bytes each: kind, host, flags, sequence number, acknowledgement, window, data,
/// time. 16 is a reply, 32 an error, 192 a delay.
const CONVERSATIONS: &[(&str, &[[u8; 8]])] = &[
    (
        "opened-and-closed",
        &[
            [0, 1, 2, 10, 0, 100, 0, 0],
            [16, 1, 18, 50, 11, 100, 0, 0],
            [0, 1, 16, 11, 51, 100, 0, 0],
            [0, 1, 24, 11, 51, 100, 20, 0],
            [16, 1, 16, 51, 31, 100, 9, 0],
            [0, 1, 17, 31, 60, 100, 0, 0],
            [16, 1, 17, 60, 32, 100, 0, 0],
            [0, 1, 16, 32, 61, 100, 0, 0],
            [192, 1, 0, 0, 0, 0, 0, 31],
        ],
    ),
    (
        "opened-from-both-sides",
        &[
            [0, 1, 2, 10, 0, 100, 0, 0],
            [16, 1, 2, 50, 0, 100, 0, 0],
            [0, 1, 18, 10, 51, 100, 0, 0],
            [16, 1, 18, 50, 11, 100, 0, 0],
            [16, 1, 4, 199, 0, 0, 0, 0],
            [0, 1, 4, 11, 0, 0, 0, 0],
        ],
    ),
    (
        "datagrams-errors-and-time",
        &[
            [2, 3, 0, 0, 0, 0, 40, 0],
            [18, 3, 0, 0, 0, 0, 40, 0],
            [50, 3, 0, 0, 0, 0, 0, 0],
            [34, 3, 0, 0, 0, 0, 0, 0],
            [3, 4, 0, 0, 0, 0, 8, 0],
            [19, 4, 0, 0, 0, 0, 8, 0],
            [10, 64, 0, 0, 0, 0, 1, 0],
            [15, 5, 0, 0, 0, 0, 1, 0],
            [192, 3, 1, 0, 0, 0, 0, 2],
            [4, 9, 0, 0, 0, 0, 1, 0],
        ],
    ),
];

/// A ClientHello, whole and in segments, and text for patterns.
fn carried() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let long = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let name = long(&[&[0], long(b"www.example.com").as_slice()].concat());
    let extensions = [&[0, 51][..], &long(&[7; 60]), &[0, 0], &long(&name)].concat();
    let fixed = [&[3, 3][..], &[9; 32], &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    let body = [fixed, long(&extensions)].concat();
    let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    let hello = [&[22, 3, 1][..], &long(&message)].concat();
    let segment = |kind: u8, flags: u8, at: usize, bytes: &[u8]| {
        [&[kind, flags, 5 + at as u8, bytes.len() as u8], bytes].concat()
    };
    let (front, back) = hello.split_at(70);
    let (syn, first, last) = (
        segment(0, 2, 0, b""),
        segment(0, 16, 1, front),
        segment(0, 16, 71, back),
    );
    let crypto = [
        &[6, 0x40, 0, 0x40, message.len() as u8][..],
        &message,
        &[0, 1],
    ]
    .concat();
    let text = |kind, text: &[u8]| segment(kind, 24, 0, text);
    let texts = [
        text(1, b"GET / HTTP/1.1"),
        text(5, b"Host: example"),
        text(1, b".com"),
    ];
    [
        ("hello", [&[0][..], &hello].concat()),
        ("crypto-frame", [&[1][..], &crypto].concat()),
        ("hello-in-order", [&[3][..], &syn, &first, &last].concat()),
        ("hello-backwards", [&[3][..], &syn, &last, &first].concat()),
        ("patterns", [&[3][..], &texts.concat()].concat()),
    ]
    .into_iter()
}

/// Packets of the walk's corpus without link header, and errors that quote them.
fn translated() -> Vec<(&'static str, String, Vec<u8>)> {
    let hosts = odd::Hosts::example();
    let mut seeds = Vec::new();
    for case in odd::cases() {
        for (index, frame) in (case.frames)(&hosts).into_iter().enumerate() {
            let packet = frame.get(14..).unwrap_or_default();
            let name = format!("{}-{index}", case.name);
            if packet.first().is_some_and(|first| first >> 4 == 4) {
                let repr = ipv4::Repr::new(Protocol::ICMP, hosts.client, hosts.router);
                let mut error = Vec::new();
                repr.emit(&[], packet.len() + 8, &mut error);
                error.extend([11, 0, 0, 0, 0, 0, 0, 0]);
                error.extend(packet);
                seeds.push(("translate", format!("{name}-quoted"), error));
            }
            seeds.push(("translate", name, packet.to_vec()));
        }
    }
    seeds
}

/// Lists of fragments in the format of the target.
fn pieces() -> Vec<(&'static str, Vec<u8>)> {
    let hosts = odd::Hosts::example();
    let v4 = |offset, more, len: usize| {
        let fragment = Fragment::piece(offset, more);
        let repr = ipv4::Repr {
            id: 7,
            fragment,
            ..ipv4::Repr::new(Protocol::UDP, hosts.client, hosts.router)
        };
        let mut packet = Vec::new();
        repr.emit(&[], len, &mut packet);
        packet.extend(vec![offset as u8; len]);
        packet
    };
    let v6 = |offset, more, len: usize| {
        let fragment = ipv6::Fragment {
            next_header: Protocol::UDP,
            offset,
            more,
            id: 7,
        };
        let repr = ipv6::Repr::new(Protocol::FRAGMENT, hosts.client6, hosts.router6);
        [
            &repr.to_bytes(len + 8)[..],
            &fragment.to_bytes(),
            &vec![offset as u8; len],
        ]
        .concat()
    };
    let events = |packets: &[Vec<u8>]| {
        let event = |packet: &Vec<u8>| [&[packet.len() as u8, 0][..], packet].concat();
        packets.iter().map(event).collect::<Vec<_>>().concat()
    };
    vec![
        (
            "v4-in-order",
            events(&[v4(0, true, 32), v4(32, true, 32), v4(64, false, 9)]),
        ),
        (
            "v4-backwards",
            events(&[v4(64, false, 9), v4(32, true, 32), v4(0, true, 32)]),
        ),
        (
            "v4-overlap",
            events(&[v4(0, true, 32), v4(24, true, 32), v4(56, false, 9)]),
        ),
        (
            "v4-beyond-the-end",
            events(&[v4(0, true, 32), v4(65_528, false, 32)]),
        ),
        (
            "v6-in-order",
            events(&[v6(0, true, 32), v6(32, true, 32), v6(64, false, 9)]),
        ),
        (
            "v6-twice",
            events(&[v6(0, true, 32), v6(0, true, 32), v6(32, false, 9)]),
        ),
        (
            "v6-odd-length",
            events(&[v6(0, true, 31), v6(32, false, 9)]),
        ),
    ]
}

const SCRIPTS: &[(&str, &str)] = &[
    (
        "address",
        "/ip address\nadd address=10.0.0.1/24 interface=ether1 comment=\"a \\\"b\\\" \\41\"\n",
    ),
    (
        "route",
        "/ip/route add dst-address=0.0.0.0/0 gateway=10.0.0.2,10.0.0.3 distance=5\n",
    ),
    (
        "find",
        "/interface/vlan set [find where name=\"v10\" and !disabled] vlan-id=10\n",
    ),
    (
        "language",
        ":local a {1;2;\"x\"=3}\n:foreach k,v in=$a do={:put ($k . \"=\" . ($v + 1) * 2)}\n",
    ),
    (
        "if",
        ":if ([:len [/ip address find]] > 0 && true) do={:put yes} else={:put no}\n",
    ),
    (
        "continued",
        "/ip firewall filter add chain=input \\\n    action=drop \\\n    log=yes\n# end\n",
    ),
    (
        "function",
        ":global f do={:return ($1 ~ \"^a.*\\\\\\$\")}\n:put [$f abc]\n",
    ),
];

#[test]
fn the_corpora_hold_what_the_builders_build() {
    for (target, name, bytes) in seeds() {
        let stored = stored(target, &name, &bytes);
        assert_eq!(stored, bytes, "{target}/{name} (write it with UPDATE=1)");
    }
}

#[test]
fn no_seed_no_truncation_and_no_mutation_panics() {
    for (name, target) in TARGETS {
        cut_and_mutated(name, target, 256, MUTATIONS);
    }
}

#[test]
fn each_parser_is_called_by_the_fuzz_target_of_its_name() {
    let folder = folder("../fuzz_targets");
    for (name, _) in TARGETS {
        let text = fs::read_to_string(folder.join(format!("{name}.rs")));
        let text = text.expect("each has a target");
        assert!(
            text.contains(&format!("fuzz::router::{name}(bytes)")),
            "{name}: {text}"
        );
    }
}
