//! State machines against the scripts in `fuzz/corpus/machine-*`: unchanged, truncated at every byte, and with
//! seeded mutations. `fuzz::machines` describes scripts and invariants.
//!
//! `UPDATE=1 cargo test -p fuzz --test machines` writes the corpora from `scripts`.

mod corpora;

use std::fs;

use fuzz::machines::TARGETS;
use machine::{Duration, Instant, Machine, Rng};
use service::vrrp;

use corpora::{corpus, drive, folder, stored};

/// Mutations per corpus.
const MUTATIONS: u64 = 20_000;

/// A script of a corpus: target, name, events.
type Script = (&'static str, &'static str, Vec<(u8, Vec<u8>)>);

#[test]
fn the_corpora_hold_the_scripts() {
    for (target, name, events) in scripts() {
        let bytes: Vec<u8> = events.into_iter().flat_map(event).collect();
        let stored = stored(target, name, &bytes);
        assert_eq!(stored, bytes, "{target}/{name} (write it with UPDATE=1)");
    }
}

#[test]
fn script_parts_keep_all_invariants() {
    for (name, target) in TARGETS {
        for (script, bytes) in corpus(name) {
            for len in 0..=bytes.len() {
                drive(target, &bytes[..len], || {
                    format!("{name}/{script} cut to {len}")
                });
            }
        }
    }
}

#[test]
fn mutated_scripts_keep_all_invariants() {
    for (name, target) in TARGETS {
        let corpus: Vec<_> = corpus(name).into_iter().collect();
        for seed in 0..MUTATIONS {
            let mut rng = Rng::seeded(seed);
            let (script, bytes) = &corpus[rng.below(corpus.len() as u64) as usize];
            let mut mutated = bytes.clone();
            mutate(&mut mutated, &mut rng);
            drive(target, &mutated, || {
                format!("{name}/{script} with seed {seed}")
            });
        }
    }
}

fn ntp_answer() -> Vec<u8> {
    let answer = wire::ntp::Repr {
        mode: wire::ntp::Mode::SERVER,
        stratum: 2,
        precision: -20,
        receive: wire::ntp::Timestamp(0xec00_0000_8000_0000),
        transmit: wire::ntp::Timestamp(0xec00_0000_8000_1000),
        ..wire::ntp::Repr::question(0)
    };
    answer.to_bytes().to_vec()
}

/// Mutates a script in one to eight positions, like a fuzzer without coverage.
fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(8) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let odd = [0, 1, 0x7f, 0x80, 0xff, rng.next_u32() as u8][rng.below(6) as usize];
        match rng.below(5) {
            0 => bytes.truncate(at.max(bytes.len() / 2)),
            1 => bytes.insert(at, odd),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.extend_from_within(at..),
            _ => bytes.get_mut(at).into_iter().for_each(|byte| *byte = odd),
        }
        bytes.truncate(2_048);
    }
}

/// A client that gets offer, session and PADT, and a server that opens, repeats and closes sessions.
fn pppoe_sessions() -> Vec<(u8, Vec<u8>)> {
    use wire::pppoe::{Builder, code, tag};
    let packet = |code, session| Builder::new(code, session).tag(tag::SERVICE_NAME, b"isp");
    let bytes = |code, session| packet(code, session).finish();
    let max = |packet: Builder| packet.tag(tag::MAX_PAYLOAD, &1_500u16.to_be_bytes());
    let refusal = packet(code::PADS, 0).tag(tag::SYSTEM_ERROR, b"full");
    vec![
        (2, vec![0x95, 0, 0, 0x35, 200, 1]),
        (1, max(packet(code::PADI, 0)).finish()),
        (0x11, max(packet(code::PADR, 0)).finish()),
        (0x11, packet(code::PADR, 0).finish()),
        (4, vec![]),
        (1, bytes(code::PADI, 0)),
        (0x11, bytes(code::PADR, 0)),
        (1, bytes(code::PADT, 1)),
        (3, vec![]),
        (0x20, bytes(code::PADO, 0)),
        (0x20, refusal.finish()),
        (7, vec![0xf2]),
        (0x20, bytes(code::PADO, 0)),
        (7, vec![0xf2]),
        (0x20, max(packet(code::PADS, 7)).finish()),
        (0, bytes(code::PADT, 7)),
        (5, vec![0xf3]),
        (6, vec![]),
        (2, vec![]),
    ]
}

fn event((what, data): (u8, Vec<u8>)) -> Vec<u8> {
    let len = u8::try_from(data.len()).expect("an event has at most 255 bytes");
    [vec![what, len], data].concat()
}

/// A virtual router of each version that receives advertisements, becomes backup, and stops.
fn elections() -> Vec<(u8, Vec<u8>)> {
    let sent = |version, authentication, priority| {
        let config = vrrp::Config {
            version,
            authentication,
            priority,
            source: Some([10, 0, 0, 2].into()),
            ..vrrp::Config::new(7, false)
        };
        let (mut other, mut out) = (vrrp::VirtualRouter::new(config), Vec::new());
        let now = Instant::from_secs(1);
        other.handle(vrrp::Event::Up, now, &mut out);
        other.tick(now + Duration::from_secs(5), &mut out);
        let packets = out.into_iter().filter_map(|action| match action {
            vrrp::Action::Send(packet) => Some((4, packet)),
            _ => None,
        });
        packets.collect::<Vec<_>>()
    };
    let two = |authentication| sent(vrrp::Version::V2, authentication, 200);
    [
        vec![(0, vec![0xf2])],
        sent(vrrp::Version::V3, vrrp::Authentication::None, 200),
        two(vrrp::Authentication::None),
        vec![(2, vec![50, 1, 0])],
        two(vrrp::Authentication::simple("secret")),
        vec![(2, vec![50, 2, 0, 0xf1])],
        two(vrrp::Authentication::header("secret")),
        vec![(3, vec![1]), (3, vec![9]), (1, vec![])],
    ]
    .concat()
}

/// The seeds of the corpora.
fn scripts() -> Vec<Script> {
    let packets = |names: [&str; 3]| -> Vec<(u8, Vec<u8>)> {
        let read = |name: &&str| fs::read(folder(name)).expect("wire keeps this corpus");
        names.iter().map(read).map(|bytes| (13, bytes)).collect()
    };
    let arp = packets(["arp/request", "arp/reply", "arp/probe"]);
    let hear = |data: &[u8]| (13, data.to_vec());
    // Solicitation for this router, solicited and unsolicited advertisement of neighbour 2.
    let asked = hear(&[2, 0x25, 2, 0, 0, 0, 0, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0]);
    let target = |n: u8| [&[0xfe, 0x80][..], &[0; 13], &[n]].concat();
    let advert = |flags: u8| {
        let option = [2, 1, 2, 0, 0, 0, 0, 2];
        let head = [2, 0x45, 3, flags, 0, 0, 0];
        hear(&[&head[..], &target(2), &option].concat())
    };
    let up = || vec![(0, vec![]), (7, vec![33])];
    let minute = || (4, vec![2, 0xff]);
    let solicit = (5, vec![0, 0x15, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 2]);
    vec![
        (
            "machine-arp",
            "talk",
            [up(), vec![(2, vec![2])], arp].concat(),
        ),
        (
            "machine-arp",
            "statics",
            [
                up(),
                vec![
                    (9, vec![2]),
                    (2, vec![2]),
                    (9, vec![67]),
                    (2, vec![3]),
                    (10, vec![2]),
                ],
            ]
            .concat(),
        ),
        (
            "machine-arp",
            "give-up",
            [
                up(),
                (2..20).map(|n| (2, vec![n, 0xe5])).collect(),
                vec![minute()],
            ]
            .concat(),
        ),
        (
            "machine-discovery",
            "resolve",
            [
                up(),
                vec![
                    (2, vec![2]),
                    advert(0x60),
                    minute(),
                    (4, vec![2, 0xf2]),
                    advert(0x40),
                ],
            ]
            .concat(),
        ),
        (
            "machine-discovery",
            "duplicate",
            [up(), vec![(7, vec![2]), advert(0x20), asked, (8, vec![2])]].concat(),
        ),
        (
            "machine-dns",
            "answers",
            vec![
                (0, question(b"\x01a\0")),
                (
                    2,
                    b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01".to_vec(),
                ),
                (0, question(b"\x01a\0")),
                (8, question(b"\x01b\0")),
                (6, vec![0; 20]),
                (2, vec![0xff; 4]),
            ],
        ),
        ("machine-icmp", "udp", vec![(0x45, vec![0; 40])]),
        (
            "machine-lacp",
            "agree",
            vec![
                (0, vec![1]),
                (0, vec![2]),
                (2, vec![0x59]),
                (2, vec![0x5a]),
                (5, vec![1, 0x3d, 9, 5, 0, 0]),
                (5, vec![2, 0x3d, 9, 5, 0, 0xf1]),
                (5, vec![1, 0x3d, 9, 5, 0, 0xf1]),
                (4, vec![2, 1, 1, 1, 20]),
                (5, vec![2, 0x05, 8, 5, 3, 0xff]),
                (3, vec![0x18]),
                (2, vec![1]),
                (1, vec![2]),
            ],
        ),
        (
            "machine-dhcp-server",
            "lease",
            vec![
                (2, vec![24]),
                (6, vec![1, 0, 53, 1, 1, 12, 1, b'a', 255, 0xe6]),
                (
                    6,
                    [
                        vec![1, 0, 53, 1, 3, 50, 4, 10, 0, 0, 17],
                        vec![54, 4, 10, 0, 0, 1],
                    ]
                    .concat(),
                ),
                (1, vec![0x81, 2]),
                (6, vec![2, 0, 53, 1, 3, 50, 4, 10, 0, 0, 11]),
                (3, vec![6]),
                (6, vec![0x71, 0x10, 53, 1, 3, 82, 3, 1, 1, 7, 255, 0xf4]),
                (5, vec![2, 0x20]),
                (6, vec![0x71, 0x10, 53, 1, 7, 255, 0xff]),
                (0, vec![0]),
                (6, vec![3, 0, 53, 1, 1]),
                (6, vec![3, 0, 53, 1, 4, 50, 4, 10, 0, 0, 17, 255, 0xff]),
            ],
        ),
        (
            "machine-mld",
            "query",
            vec![
                (0, vec![]),
                (2, vec![1]),
                (2, vec![2, 0xf1]),
                (6, [vec![0, 0, 99], vec![0; 21], vec![0xf3]].concat()),
                (3, vec![1, 0xff]),
            ],
        ),
        (
            "machine-ra",
            "solicited",
            vec![(0, vec![0xff]), solicit, (3, vec![1, 2, 0xf5]), (1, vec![])],
        ),
        (
            "machine-snmp",
            "questions",
            vec![
                (0, vec![0x30, 0x80, 1]),
                (1, snmp_pdu(0xa0)),
                (2, snmp_pdu(0xa1)),
                (3, snmp_pdu(0xa5)),
                (1, snmp_pdu(0xa3)),
            ],
        ),
        (
            "machine-snooping",
            "reports",
            vec![
                (0, vec![0x0f, 0x22]),
                (1, vec![1, 2]),
                (1, vec![2, 3]),
                (5, vec![0x16, 239, 1, 2, 3, 0xf1]),
                (
                    5,
                    [vec![0x22, 0, 0, 0, 1], vec![4, 0, 0, 0, 239, 1, 2, 3]].concat(),
                ),
                (5, vec![0x17, 239, 1, 2, 3, 0xf4]),
                (5, vec![0x11, 0, 0, 0, 0, 0xff]),
                (4, [vec![1, 0, 99], vec![0; 20], vec![0xf3]].concat()),
                (3, vec![0xff]),
                (2, vec![1]),
            ],
        ),
        ("machine-l2tp", "server", l2tp_server()),
        ("machine-l2tp", "client", l2tp_client()),
        ("machine-l2tp-ethernet", "server", l2tp_ethernet_server()),
        ("machine-l2tp-ethernet", "client", l2tp_ethernet_client()),
        ("machine-openvpn", "session", openvpn_session()),
        ("machine-openvpn", "texts", openvpn_texts()),
        ("machine-pppoe", "sessions", pppoe_sessions()),
        (
            "machine-ntp",
            "ask",
            vec![
                (0, vec![24; 8]),
                (1, vec![8, 3, 4, 1, 3, 3]),
                (10, ntp_answer()),
                (0, vec![24, 24, 24, 24, 25, 0, 0, 0xf2]),
                (10, ntp_answer()),
                (2, wire::ntp::Repr::question(1).to_bytes().to_vec()),
            ],
        ),
        ("machine-ppp", "pap", subscriber()),
        ("machine-ppp", "chap", dialler()),
        ("machine-vrrp", "elect", elections()),
    ]
}

/// AVPs of a request or reply for a tunnel.
fn l2tp_tunnel(kind: u16) -> Vec<u8> {
    use l2tp::{Builder, attribute};
    Builder::new(kind)
        .mandatory(attribute::PROTOCOL_VERSION, &[1, 0])
        .mandatory(attribute::HOST_NAME, b"lac")
        .mandatory(attribute::ASSIGNED_TUNNEL, &[0, 7])
        .mandatory(attribute::RECEIVE_WINDOW, &[0, 4])
        .finish()
        .into()
}

/// AVPs of a message of a call.
fn l2tp_call(kind: u16) -> Vec<u8> {
    use l2tp::{Builder, attribute};
    let call = Builder::new(kind).mandatory(attribute::ASSIGNED_SESSION, &[0, 9]);
    let call = match kind {
        l2tp::kind::CDN => call.mandatory(attribute::RESULT_CODE, &[0, 3, 0, 0]),
        _ => call,
    };
    call.finish().into()
}

/// A server whose client opens two sessions, sends packets, and stops.
fn l2tp_server() -> Vec<(u8, Vec<u8>)> {
    use l2tp::{Builder, attribute, kind};
    let simple = |kind| Builder::new(kind).finish().to_vec();
    let hidden = [0xc0, 10, 0, 0, 0, 14, 0x7e, 0xfd, 0x2d, 0x9a];
    let vector = Builder::new(kind::ICRQ).mandatory(attribute::RANDOM_VECTOR, &[1; 16]);
    let stop = Builder::new(kind::STOP_CCN)
        .mandatory(attribute::ASSIGNED_TUNNEL, &[0, 7])
        .mandatory(attribute::RESULT_CODE, &[0, 1]);
    vec![
        (1, l2tp_tunnel(kind::SCCRQ)),
        (2, simple(kind::SCCCN)),
        (2, l2tp_call(kind::ICRQ)),
        (3, simple(kind::ICCN)),
        (4, vec![0xc0, 0x21, 1, 1, 0, 4]),
        (0x2c, vec![0xc0, 0x21, 1, 2, 0, 4]),
        (2, l2tp_call(kind::ICRQ)),
        (3, l2tp_call(kind::CDN)),
        (2, simple(kind::HELLO)),
        (2, vec![]),
        (4, vec![0, 0x21, 0xff]),
        (4, vec![0, 0x21, 0xff]),
        (2, [vector.finish().to_vec(), hidden.to_vec()].concat()),
        (1, l2tp_tunnel(kind::SCCRQ)),
        (6, vec![4]),
        (7, vec![]),
        (2, stop.finish().to_vec()),
        (6, vec![1]),
    ]
}

/// A client whose server opens its session and goes silent.
fn l2tp_client() -> Vec<(u8, Vec<u8>)> {
    use l2tp::kind;
    vec![
        (6, vec![1]),
        (5, vec![]),
        (2, l2tp_tunnel(kind::SCCRP)),
        (3, l2tp_call(kind::ICRP)),
        (4, vec![0xc0, 0x21, 1, 1, 0, 4]),
        (4, vec![0, 0x21, 0xff]),
        (4, vec![0, 0x21, 0xff]),
        (0, vec![0xff]),
        (5, vec![0xff]),
    ]
}

/// AVPs of a request or reply for a tunnel of version 3.
fn l2tp_ethernet_tunnel(kind: u16) -> Vec<u8> {
    use l2tp::{Builder, attribute};
    Builder::new(kind)
        .mandatory(attribute::HOST_NAME, b"lac")
        .mandatory(attribute::ROUTER_ID, &[192, 0, 2, 1])
        .mandatory(attribute::ASSIGNED_CONNECTION, &[1, 0, 0, 7])
        .mandatory(attribute::PSEUDOWIRES, &[0, 5])
        .mandatory(attribute::NONCE, &[7; 16])
        .finish()
        .into()
}

/// AVPs of a message of a call of version 3.
fn l2tp_ethernet_call(kind: u16) -> Vec<u8> {
    use l2tp::{Builder, attribute};
    Builder::new(kind)
        .mandatory(attribute::LOCAL_SESSION, &[1, 0, 0, 9])
        .mandatory(attribute::COOKIE, &[3; 8])
        .mandatory(attribute::REMOTE_END_ID, b"office")
        .mandatory(attribute::PSEUDOWIRE_TYPE, &[0, 5])
        .mandatory(attribute::SUBLAYER, &[0, 1])
        .mandatory(attribute::RESULT_CODE, &[0, 3, 0, 0])
        .finish()
        .into()
}

/// A server of version 3 whose client opens a session, and closes it.
fn l2tp_ethernet_server() -> Vec<(u8, Vec<u8>)> {
    use l2tp::{Builder, kind};
    let simple = |kind| Builder::new(kind).finish().to_vec();
    vec![
        (1, l2tp_ethernet_tunnel(kind::SCCRQ)),
        (2, simple(kind::ACK)),
        (2, simple(kind::SCCCN)),
        (2, l2tp_ethernet_call(kind::ICRQ)),
        (3, l2tp_ethernet_call(kind::ICCN)),
        (2, simple(kind::HELLO)),
        (2, simple(kind::ACK)),
        (3, l2tp_ethernet_call(kind::CDN)),
        (6, vec![6]),
        (2, simple(kind::HELLO)),
        (1, l2tp_ethernet_tunnel(kind::SCCRQ)),
        (6, vec![1]),
    ]
}

/// A client of version 3 whose server opens its session and goes silent.
fn l2tp_ethernet_client() -> Vec<(u8, Vec<u8>)> {
    use l2tp::kind;
    vec![
        (5, vec![]),
        (2, l2tp_ethernet_tunnel(kind::SCCRP)),
        (3, l2tp_ethernet_call(kind::ICRP)),
        (0, vec![0xff]),
        (5, vec![0xff]),
    ]
}

/// A session that opens, renews its keys, and closes.
fn openvpn_session() -> Vec<(u8, Vec<u8>)> {
    let deliver = || (2, vec![]);
    let mut events = vec![(6, vec![0])];
    events.extend((0..5).map(|_| deliver()));
    // The server accepts the client.
    events.push((0x0e, vec![]));
    events.extend((0..3).map(|_| deliver()));
    events.push((0x1e, vec![3, 0xf1]));
    events.push((0x1e, vec![3, 0xf1]));
    events.extend((0..6).map(|_| deliver()));
    events.push((3, vec![9, 1]));
    events.push((0x2e, vec![]));
    events.extend([deliver(), deliver(), (2, vec![0xff])]);
    events
}

/// Texts of the control channel.
fn openvpn_texts() -> Vec<(u8, Vec<u8>)> {
    let texts: [&[u8]; 4] = [
        b"V4,dev-type tun,tun-mtu 1500,cipher AES-256-CBC,auth SHA1,comp-lzo,tls-client",
        b"IV_PROTO=990\nIV_CIPHERS=AES-256-GCM:AES-128-CBC\nIV_NCP=2\nIV_MTU=1600\n",
        b",route 10.0.0.0 255.0.0.0,ifconfig 10.8.0.2 255.255.255.0,peer-id 5,protocol-flags tls-ekm",
        b",route-ipv6 fd00::/64,dhcp-option DNS 9.9.9.9,redirect-gateway def1,push-continuation 2",
    ];
    texts.iter().map(|text| (5, text.to_vec())).collect()
}

/// A subscriber that a server accepts by PAP: LCP, IPCP and IPv6CP open, fragments, echoes, and the end.
fn subscriber() -> Vec<(u8, Vec<u8>)> {
    vec![
        (0, vec![]),
        (2, vec![1, 1, 1, 4, 5, 0xd4, 5, 6, 1, 2, 3, 4, 17, 4, 6, 64]),
        // The server asks for CHAP and steps down.
        (2, vec![3, 1, 3, 4, 0xc0, 0x23]),
        (3, vec![0]),
        (4, b"\0\x01\x05\x04anna\x06secret".to_vec()),
        (6, vec![4]),
        (3, vec![1]),
        (5, vec![0, 1, 1, 3, 6, 10, 0, 0, 2, 129, 6, 0, 0, 0, 0]),
        (5, vec![0, 1, 2, 3, 6, 10, 0, 0, 2, 129, 6, 9, 9, 9, 9]),
        (5, vec![0, 1, 2, 3, 6, 10, 0, 0, 2, 129, 6, 9, 9, 9, 9]),
        (3, vec![2]),
        (5, vec![1, 1, 1, 1, 10, 0, 0, 0, 0, 0, 0, 0, 9]),
        (1, vec![0, 0x3d, 0x80, 0, 0, 1, 0, 0x21, 0x45]),
        (1, vec![0, 0x3d, 0x40, 0, 0, 2, 0, 0]),
        (2, vec![9, 3, 1, 2, 3, 4, 0xf3]),
        (7, vec![0xf3]),
        (6, vec![9]),
        (7, vec![0xff]),
        (2, vec![8, 1, 0x80, 0x57]),
        (2, vec![5, 9]),
    ]
}

/// A client that a server accepts by CHAP.
fn dialler() -> Vec<(u8, Vec<u8>)> {
    let challenge = [&[1, 1, 7, 16][..], &[5; 16], b"bras"].concat();
    vec![
        (0, vec![]),
        (2, vec![1, 1, 1, 4, 5, 0xd4, 3, 5, 0xc2, 0x23, 5]),
        (3, vec![0]),
        (4, challenge),
        (4, b"\x01\x03\x07ok".to_vec()),
        (5, vec![0, 1, 1, 3, 6, 10, 0, 0, 1]),
        (5, vec![0, 3, 1, 3, 6, 10, 0, 0, 2, 129, 6, 9, 9, 9, 9]),
        (3, vec![1]),
        (3, vec![2]),
        (5, vec![1, 1, 1, 1, 10, 0, 0, 0, 0, 0, 0, 0, 9]),
        (7, vec![0xff]),
        (7, vec![0xff]),
        (6, vec![1]),
        (2, vec![6, 9]),
    ]
}

/// An SNMP request for `sysName`: PDU type, then request number, two more numbers, and one binding.
fn snmp_pdu(kind: u8) -> Vec<u8> {
    let oid = [6, 8, 0x2b, 6, 1, 2, 1, 1, 5, 0];
    let binding = [&[0x30, 15][..], &oid, &[4, 3, b'n', b'e', b'w']].concat();
    let list = [&[0x30, binding.len() as u8][..], &binding].concat();
    let content = [&[2, 1, 7, 2, 1, 0, 2, 1, 9][..], &list].concat();
    [&[kind, content.len() as u8][..], &content].concat()
}

/// A DNS query for the address of a name.
fn question(name: &[u8]) -> Vec<u8> {
    let head = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    [&head[..], name, &[0, 1, 0, 1]].concat()
}
