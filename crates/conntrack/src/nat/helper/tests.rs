mod cut;
mod garbage;
mod rtsp;
mod tracked;

use std::cell::RefCell;

use super::*;
use crate::nat::tests::{Built, Checksum, shape};

/// The client 10.0.0.2:5000, translated to 198.51.100.1:6000, and the server 192.0.2.9.
pub(super) fn view(helper: Helper, protocol: u8, server_port: u16, reply: bool) -> View {
    let forth = Tuple {
        source: 0x0a00_0002,
        destination: 0xc000_0209,
        source_port: 5000,
        destination_port: server_port,
        protocol,
        ipv6: false,
    };
    let back = Tuple {
        source: 0xc000_0209,
        destination: 0xc633_6401,
        source_port: server_port,
        destination_port: 6000,
        ..forth
    };
    let (forth, back) = if reply { (back, forth) } else { (forth, back) };
    View {
        id: EntryId::from_bits(7),
        helper,
        forth,
        back,
        reply,
        direct_media: true,
        calls: Calls::default(),
    }
}

/// Expectations of all connections.
#[derive(Default)]
pub(super) struct KnownExpectations(RefCell<Vec<Expectation>>);

impl Expected for KnownExpectations {
    fn by_another(&self, expectation: &Expectation) -> bool {
        let same = |known: &&Expectation| known.tuple == expectation.tuple;
        self.0
            .borrow()
            .iter()
            .find(same)
            .is_some_and(|known| known.is_apart_from(expectation))
    }

    fn answers(&self, _: &Tuple) -> Option<Tuple> {
        None
    }

    fn leads_to(&self, tuple: &Tuple) -> Option<u16> {
        let known = self.0.borrow();
        let found = known.iter().find(|known| known.tuple == *tuple)?;
        found.destination.map(|(_, port)| port)
    }
}

impl KnownExpectations {
    fn read(&self, payload: &[u8], view: &View) -> Findings {
        self.read_behind(payload, 0, view)
    }

    fn read_behind(&self, text: &[u8], gone: usize, view: &View) -> Findings {
        let findings = read(text, gone, view, self);
        let mut known = self.0.borrow_mut();
        for new in findings.expectations() {
            known.retain(|one| one.tuple != new.tuple);
            known.push(*new);
        }
        drop(known);
        findings
    }
}

/// Returns true if a packet matches; 0 stands for any address and any port.
fn matches(expectation: &Expectation, tuple: &Tuple) -> bool {
    let wanted = &expectation.tuple;
    let source = if wanted.source == 0 {
        tuple.source
    } else {
        wanted.source
    };
    let source_port = match wanted.source_port {
        0 => tuple.source_port,
        port => port,
    };
    *tuple
        == Tuple {
            source,
            source_port,
            ..*wanted
        }
}

/// Returns the edited payload and the expectations.
fn run(payload: &str, view: &View) -> (String, Vec<Expectation>) {
    run_with(&KnownExpectations::default(), payload, view)
}

fn run_with(table: &KnownExpectations, payload: &str, view: &View) -> (String, Vec<Expectation>) {
    let findings = table.read(payload.as_bytes(), view);
    let text = edited(payload.as_bytes(), view, &findings);
    (
        String::from_utf8(text).unwrap(),
        findings.expectations().copied().collect(),
    )
}

/// Returns the edited payload of a packet.
fn edited(payload: &[u8], view: &View, findings: &Findings) -> Vec<u8> {
    let built = Built {
        tuple: view.forth,
        payload: payload.to_vec(),
        options: false,
        checksum: Checksum::Finished,
    };
    let mut room = built.packet();
    let shape = shape(&room);
    room.extend([0; 1400]);
    let len = edit(&mut room, shape, &findings.edits).expect("room");
    room.truncate(len as usize);
    let growth = findings.edits.growth(0) as isize;
    let header = room.len() - payload.len().wrapping_add_signed(growth);
    let text = room[header..].to_vec();
    let fresh = Built {
        payload: text.clone(),
        ..built
    };
    assert_eq!(room, fresh.packet());
    text
}

fn tcp(source: u128, source_port: u16, destination: u128, destination_port: u16) -> Tuple {
    Tuple {
        source,
        destination,
        source_port,
        destination_port,
        protocol: protocol::TCP,
        ipv6: false,
    }
}

#[test]
fn ftp_commands_get_the_outside_address_and_expect_the_data_connection() {
    let view = view(Helper::Ftp, protocol::TCP, 21, false);
    for (said, becomes) in [
        ("PORT 10,0,0,2,19,137\r\n", "PORT 198,51,100,1,19,137\r\n"),
        (
            "EPRT |1|10.0.0.2|5001|\r\n",
            "EPRT |1|198.51.100.1|5001|\r\n",
        ),
        ("port  10,0,0,2,19,137\n", "port  198,51,100,1,19,137\n"),
    ] {
        let (text, expected) = run(said, &view);

        assert_eq!(text, becomes);
        let [expected] = expected[..] else {
            panic!("{expected:?}")
        };
        let comes = tcp(0xc000_0209, 20, 0xc633_6401, 5001);
        assert!(matches(&expected, &comes));
        assert!(!matches(&expected, &Tuple { source: 1, ..comes }));
        assert!(!matches(
            &expected,
            &Tuple {
                destination_port: 5002,
                ..comes
            }
        ));
        let leaves = expected.translated(&comes);
        assert_eq!(leaves, tcp(0xc000_0209, 20, 0x0a00_0002, 5001));
        assert_eq!(expected.reply(&leaves), leaves.reversed());
    }
}

#[test]
fn a_server_behind_dstnat_gets_its_data_connection() {
    // The server 10.0.0.2 replies to a client that connected to 198.51.100.1.
    let mut view = view(Helper::Ftp, protocol::TCP, 4000, true);
    (view.forth, view.back) = (view.back, view.forth);
    for (said, becomes) in [
        (
            "227 Entering Passive Mode (10,0,0,2,19,137).\r\n",
            "227 Entering Passive Mode (198,51,100,1,19,137).\r\n",
        ),
        (
            "229 Entering Extended Passive Mode (|||5001|)\r\n",
            "229 Entering Extended Passive Mode (|||5001|)\r\n",
        ),
        // The server knows its external address.
        (
            "227 Entering Passive Mode (198,51,100,1,19,137).\r\n",
            "227 Entering Passive Mode (198,51,100,1,19,137).\r\n",
        ),
    ] {
        let (text, expected) = run(said, &view);

        assert_eq!(text, becomes);
        let comes = tcp(0xc000_0209, 4001, 0xc633_6401, 5001);
        assert!(matches(&expected[0], &comes));
        assert_eq!(
            expected[0].translated(&comes),
            tcp(0xc000_0209, 4001, 0x0a00_0002, 5001)
        );
    }
}

#[test]
fn an_expected_port_in_use_is_replaced_consistently() {
    let table = KnownExpectations::default();
    let first = view(Helper::Ftp, protocol::TCP, 21, false);
    let mut second = first;
    second.forth.source = 0x0a00_0003;
    run_with(&table, "EPRT |1|10.0.0.2|5001|\r\n", &first);

    let (text, expected) = run_with(&table, "EPRT |1|10.0.0.3|5001|\r\n", &second);
    let again = run_with(&table, "EPRT |1|10.0.0.3|5001|\r\n", &second);

    let port = expected[0].tuple.destination_port;
    assert!(port != 5001 && port >= 1024);
    assert_eq!(text, format!("EPRT |1|198.51.100.1|{port}|\r\n"));
    assert_eq!(expected[0].destination.unwrap().1, 5001);
    assert_eq!(again, (text, expected));
}

#[test]
fn expectations_for_other_hosts_or_service_ports_are_refused() {
    let view = view(Helper::Ftp, protocol::TCP, 21, false);
    for said in [
        "PORT 10,0,0,3,19,137\r\n",
        "PORT 10,0,0,2,0,22\r\n",
        "PORT 10,0,0,2,19,137",
        "PORT 10,0,0,2,19,1370\r\n",
        "PORT 10,0,0,256,19,137\r\n",
        "EPRT |2|10.0.0.2|5001|\r\n",
        "EPRT |1|10.0.0.2|5001\r\n",
        "227 Entering Passive Mode (10,0,0,2,19,137)\r\n",
        "STOR PORT 10,0,0,2,19,137\r\n",
    ] {
        assert_eq!(run(said, &view), (said.to_owned(), vec![]), "{said}");
    }
}

#[test]
fn ftp_over_ipv6_uses_extended_commands() {
    let mut view = view(Helper::Ftp, protocol::TCP, 21, false);
    for tuple in [&mut view.forth, &mut view.back] {
        tuple.ipv6 = true;
        tuple.source |= 0xfd00 << 112;
        tuple.destination |= 0xfd00 << 112;
    }

    let (text, expected) = run("EPRT |2|fd00::a00:2|5001|\r\n", &view);

    assert_eq!(text, "EPRT |2|fd00::c633:6401|5001|\r\n");
    assert_eq!(expected[0].tuple.destination, view.back.destination);
}

#[test]
fn tftp_is_answered_from_any_port() {
    let view = view(Helper::Tftp, protocol::UDP, 69, false);

    let (_, expected) = run("\0\x01file\0octet\0", &view);

    let comes = Tuple {
        protocol: protocol::UDP,
        ..tcp(0xc000_0209, 1069, 0xc633_6401, 6000)
    };
    assert!(matches(&expected[0], &comes));
    let leaves = Tuple {
        protocol: protocol::UDP,
        ..tcp(0xc000_0209, 1069, 0x0a00_0002, 5000)
    };
    assert_eq!(expected[0].translated(&comes), leaves);
    assert_eq!(run("\0\x03\0\x01data", &view).1, []);
}

#[test]
fn irc_offers_accept_any_peer() {
    let view = view(Helper::Irc, protocol::TCP, 6667, false);
    let offer = |host: u32| format!("PRIVMSG friend :\x01DCC SEND a.png {host} 5001 77\x01\r\n");

    let (text, expected) = run(&offer(0x0a00_0002), &view);

    assert_eq!(text, offer(0xc633_6401));
    let comes = tcp(0x0102_0304, 4444, 0xc633_6401, 5001);
    assert!(matches(&expected[0], &comes));
    assert_eq!(
        expected[0].translated(&comes),
        tcp(0x0102_0304, 4444, 0x0a00_0002, 5001)
    );
    assert_eq!(run(&offer(0x0a00_0003), &view).1, []);
}

#[test]
fn a_pptp_call_expects_its_tunnel_in_both_directions() {
    let view = view(Helper::Pptp, protocol::TCP, 1723, true);
    let mut reply = vec![
        0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 8, 0, 0, 0x11, 0x22, 0x33, 0x44, 1,
    ];
    reply.resize(32, 0);

    let findings = read(&reply, 0, &view, &KnownExpectations::default());

    let gre = |source, destination, call| Tuple {
        source,
        destination,
        source_port: 0,
        destination_port: call,
        protocol: protocol::GRE,
        ipv6: false,
    };
    let (client, outside, server) = (0x0a00_0002, 0xc633_6401, 0xc000_0209);
    let [to_server, to_client] = findings.expectations().collect::<Vec<_>>()[..] else {
        panic!("{findings:?}")
    };
    let leaves = to_server.translated(&gre(client, server, 0x1122));
    assert!(matches(to_server, &gre(client, server, 0x1122)));
    assert_eq!(leaves, gre(outside, server, 0x1122));
    assert_eq!(to_server.reply(&leaves), gre(server, outside, 0x3344));
    let leaves = to_client.translated(&gre(server, outside, 0x3344));
    assert!(matches(to_client, &gre(server, outside, 0x3344)));
    assert_eq!(leaves, gre(server, client, 0x3344));
    assert_eq!(to_client.reply(&leaves), gre(client, server, 0x1122));
}

const INVITE: &str = "INVITE sip:bob@192.0.2.9 SIP/2.0\r\n\
    Via: SIP/2.0/UDP 10.0.0.2:5000;branch=z9hG4bK776\r\n\
    From: \"A\" <sip:alice@10.0.0.2>;tag=19\r\n\
    To: <sip:bob@192.0.2.9>\r\n\
    Call-ID: 10.0.0.2-77@10.0.0.2\r\n\
    Contact: <sip:alice@10.0.0.2:5000;transport=udp>\r\n\
    Content-Type: application/sdp\r\n\
    Content-Length: 112\r\n\
    \r\n\
    v=0\r\n\
    o=alice 1 1 IN IP4 10.0.0.2\r\n\
    s=-\r\n\
    c=IN IP4 10.0.0.2\r\n\
    t=0 0\r\n\
    m=audio 49170 RTP/AVP 0\r\n\
    m=video 0 RTP/AVP 31\r\n";

#[test]
fn sip_messages_get_the_outside_endpoint_and_expect_the_media_streams() {
    let view = view(Helper::Sip, protocol::UDP, 5060, false);

    let (text, expected) = run(INVITE, &view);

    // The Call-ID is not an address and stays.
    let wanted = INVITE
        .replace("10.0.0.2:5000", "198.51.100.1:6000")
        .replace("alice@10.0.0.2>", "alice@198.51.100.1>")
        .replace("IP4 10.0.0.2", "IP4 198.51.100.1")
        .replace("Length: 112", "Length: 120");
    assert_eq!(text, wanted);
    let body = |text: &str| text.split_once("\r\n\r\n").unwrap().1.len();
    assert_eq!((body(INVITE), body(&text)), (112, 120));
    let ports: Vec<_> = expected
        .iter()
        .map(|one| one.tuple.destination_port)
        .collect();
    assert_eq!(ports, [49_170, 49_171]);
    let comes = Tuple {
        protocol: protocol::UDP,
        ..tcp(0xc000_0209, 7078, 0xc633_6401, 49_171)
    };
    assert!(matches(&expected[1], &comes));
    assert_eq!(expected[1].translated(&comes).destination_port, 49_171);
    assert!(!matches(&expected[1], &Tuple { source: 1, ..comes }));
}

#[test]
fn all_complete_messages_of_a_segment_are_read() {
    let stream = view(Helper::Sip, protocol::TCP, 5060, false);
    let datagram = view(Helper::Sip, protocol::UDP, 5060, false);
    let (alone, expected) = run(INVITE, &datagram);
    let ping = "\r\n\r\n";
    let answer = "SIP/2.0 200 OK\r\nVia: SIP/2.0/TCP 192.0.2.9\r\n\
        Contact: <sip:alice@10.0.0.2:5000>\r\nl:  0\r\n\r\n";
    let edited = answer.replace("10.0.0.2:5000", "198.51.100.1:6000");
    let cut = &INVITE[..INVITE.len() - 1];

    let (text, streams) = run(&format!("{ping}{answer}{INVITE}{cut}"), &stream);

    assert_eq!(text, format!("{ping}{edited}{alone}{cut}"));
    let tuples = |all: &[Expectation]| all.iter().map(|one| one.tuple).collect::<Vec<_>>();
    assert_eq!(tuples(&streams), tuples(&expected));
    // A message without a length is never complete.
    let endless = answer.replace("l:  0\r\n", "");
    for part in [&endless, cut, ping, &INVITE[..100], "Content-Length: 9"] {
        assert_eq!(run(part, &stream), (part.to_owned(), vec![]));
    }
    let huge = answer.replace("l:  0", "l: 4294967295");
    assert_eq!(run(&huge, &stream).0, huge);
}

#[test]
fn equal_media_ports_of_two_clients_are_replaced() {
    let table = KnownExpectations::default();
    let first = view(Helper::Sip, protocol::UDP, 5060, false);
    let mut second = first;
    second.forth.source = 0x0a00_0003;
    run_with(&table, INVITE, &first);
    let invite = INVITE.replace("10.0.0.2", "10.0.0.3");

    let (text, expected) = run_with(&table, &invite, &second);

    let ports: Vec<_> = expected
        .iter()
        .map(|one| one.tuple.destination_port)
        .collect();
    let [rtp, rtcp] = ports[..] else {
        panic!("{ports:?}")
    };
    assert!(rtp % 2 == 0 && rtcp == rtp + 1 && rtp != 49_170);
    assert!(text.contains(&format!("m=audio {rtp} RTP/AVP 0\r\n")));
    assert_eq!(expected[1].destination.unwrap().1, 49_171);
}

#[test]
fn server_replies_get_the_clients_inside_address() {
    let view = view(Helper::Sip, protocol::UDP, 5060, true);
    let request = "OPTIONS sip:alice@198.51.100.1:6000 SIP/2.0\r\n\
        Via: SIP/2.0/UDP 192.0.2.9\r\nTo: <sip:alice@198.51.100.10:6000>\r\n\r\n";

    let (text, expected) = run(request, &view);

    let wanted = request.replace("198.51.100.1:6000", "10.0.0.2:5000");
    assert_eq!((text, expected), (wanted, vec![]));
}

#[test]
fn without_direct_media_streams_are_accepted_from_any_peer() {
    let view = View {
        direct_media: false,
        ..view(Helper::Sip, protocol::UDP, 5060, false)
    };

    let (_, expected) = run(INVITE, &view);

    let comes = Tuple {
        protocol: protocol::UDP,
        ..tcp(1, 7078, 0xc633_6401, 49_170)
    };
    assert!(matches(&expected[0], &comes));
    assert_eq!(expected[0].translated(&comes).source, 1);
}
