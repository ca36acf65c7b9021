//! Tests of the RTSP helper.

use super::*;

pub(super) const SETUP: &str = "SETUP rtsp://192.0.2.9/film/video RTSP/1.0\r\nCSeq: 3\r\n\
     Transport: RTP/AVP;unicast;destination=10.0.0.2;client_port=5000-5001, \
     RTP/AVP/TCP;interleaved=0-1\r\n\r\n";

fn udp(source: u128, source_port: u16, destination: u128, destination_port: u16) -> Tuple {
    Tuple {
        protocol: protocol::UDP,
        ..tcp(source, source_port, destination, destination_port)
    }
}

#[test]
fn rtsp_expects_the_negotiated_streams_in_both_directions() {
    let (client, outside, server) = (0x0a00_0002, 0xc633_6401, 0xc000_0209);
    let table = KnownExpectations::default();
    let asks = view(Helper::Rtsp, protocol::TCP, 554, false);
    let answers = view(Helper::Rtsp, protocol::TCP, 554, true);

    let (text, expected) = run_with(&table, SETUP, &asks);

    assert_eq!(text, SETUP.replace("10.0.0.2", "198.51.100.1"));
    for (expected, port) in expected.iter().zip([5000, 5001]) {
        let comes = udp(server, 6256, outside, port);
        assert!(matches(expected, &comes));
        assert_eq!(expected.translated(&comes), udp(server, 6256, client, port));
    }
    assert_eq!(expected.len(), 2);

    let answer = "RTSP/1.0 200 OK\r\ntransport: RTP/AVP;unicast;source=192.0.2.9;\
                  client_port=5000-5001;server_port=6256-6257\r\n\r\n";
    let (text, expected) = run_with(&table, answer, &answers);

    assert_eq!(text, answer);
    assert!(matches(&expected[1], &udp(client, 5001, server, 6257)));

    // A second client with the same ports gets other ports, and its replies contain its own ports again.
    let moved = |view: View, own: u128| View {
        id: EntryId::from_bits(8),
        forth: Tuple {
            source: own,
            ..view.forth
        },
        ..view
    };
    let again = SETUP.replace("10.0.0.2", "10.0.0.3");
    let (text, expected) = run_with(&table, &again, &moved(asks, 0x0a00_0003));
    let port = expected[0].tuple.destination_port;
    assert!(port != 5000 && port % 2 == 0, "{port}");
    let told = format!("client_port={port}-{}", port + 1);
    assert!(
        text.contains(&told) && text.contains("=198.51.100.1;"),
        "{text}"
    );
    let answers = View {
        back: Tuple {
            destination: outside,
            ..answers.back
        },
        ..answers
    };
    let said =
        format!("RTSP/1.0 200 OK\r\nTransport: RTP/AVP;{told};server_port=7000-7001\r\n\r\n");
    let (text, _) = run_with(&table, &said, &answers);
    assert!(
        text.contains(";client_port=5000-5001;server_port=7000-7001\r\n"),
        "{text}"
    );
}

#[test]
fn rtsp_reads_complete_setup_lines_with_valid_ports() {
    let view = view(Helper::Rtsp, protocol::TCP, 554, false);
    let head = "SETUP rtsp://a RTSP/1.0\r\n";
    let play = "PLAY rtsp://a RTSP/1.0\r\n";
    let transport = "Transport: RTP/AVP;client_port=";
    for said in [
        format!("{head}{transport}5000-5001"),
        format!("{head}{transport}5000-5002\r\n"),
        format!("{head}{transport}65535-65536\r\n"),
        format!("{head}{transport}1000-1001\r\n"),
        format!("{head}{transport}\r\n"),
        format!("{play}{transport}5000-5001\r\n"),
        format!("{head}\r\n{transport}5000-5001\r\n"),
        format!("${head}{transport}5000-5001\r\n"),
    ] {
        let (text, expected) = run(&said, &view);
        assert_eq!((text, expected), (said, Vec::new()));
    }
    let single = format!("{play}\r\n{head}{transport}5000\r\n\r\n");
    assert_eq!(run(&single, &view).1.len(), 1, "behind another message");
}
