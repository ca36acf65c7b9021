use std::net::Ipv4Addr;

use super::*;
use crate::wire::{Direction, Fill};

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn at(millis: u64) -> Instant {
    Instant::from_millis(1_000_000 + millis)
}

fn data(end: End, protocol: Protocol, direction: Direction) -> Data {
    let command = Command {
        protocol,
        direction,
        fill: Fill::Zeros,
        count: 0,
        server_size: 1500,
        client_size: 1500,
        server_speed_bps: 0,
        client_speed_bps: 0,
    };
    let mut data = Data::new(end, &command, 0, PEER, 0, at(0));
    data.open(at(0));
    data
}

fn ticked(data: &mut Data, now: Instant) -> Vec<Message> {
    let mut out = Vec::new();
    data.tick(now, &mut out);
    out
}

fn status(second: u32, bytes: u32) -> Status {
    Status {
        cpu_percent: Some(0),
        second,
        bytes,
    }
}

#[test]
fn a_tcp_receiver_reports_received_bytes_per_connection() {
    let mut data = data(End::Server, Protocol::Tcp, Direction::Transmit);
    data.add(7);
    data.receive(0, &[0; 1000]).expect("data");
    data.receive(7, &[0; 500]).expect("data");

    assert_eq!(ticked(&mut data, at(999)), []);
    let messages = ticked(&mut data, at(1000));
    let told = [(0, 1000), (7, 500)].map(|(line, bytes)| (line, status(1, bytes).to_bytes()));
    assert_eq!(messages, told);
    assert_eq!(data.figures(at(1000)).rx.current_bps, 12_000);
    let told = [0, 7].map(|line| (line, status(2, 0).to_bytes()));
    assert_eq!(ticked(&mut data, at(2000)), told);
}

#[test]
fn a_tcp_sender_reports_nothing_and_gets_reports_of_all_connections() {
    let mut data = data(End::Client, Protocol::Tcp, Direction::Transmit);
    data.add(7);
    assert_eq!(ticked(&mut data, at(1000)), []);
    for (line, bytes) in [(0, 100), (7, 50)] {
        data.receive(line, &status(1, bytes).to_bytes())
            .expect("a message");
    }
    data.receive(0, &status(2, 300).to_bytes())
        .expect("a message");
    let tx = data.figures(at(1000)).tx;
    assert_eq!((tx.current_bps, tx.total_bytes), (1200, 150));

    // The second line's message is late, and counts with the next second.
    data.receive(0, &status(3, 300).to_bytes())
        .expect("a message");
    data.receive(7, &status(2, 50).to_bytes())
        .expect("a message");
    let tx = data.figures(at(3000)).tx;
    assert_eq!(tx.total_bytes, 150 + 300 + 350);
}

#[test]
fn both_ends_of_a_udp_test_send_reports() {
    for direction in [Direction::Transmit, Direction::Receive, Direction::Both] {
        for end in [End::Client, End::Server] {
            let mut data = data(end, Protocol::Udp, direction);
            data.receive_datagram(5, &[0; 72]);
            let told = [(0, status(1, 100).to_bytes())];
            assert_eq!(ticked(&mut data, at(1000)), told, "{direction:?} {end:?}");
        }
    }
}

#[test]
fn the_control_connection_of_a_udp_test_has_messages_only() {
    let mut data = data(End::Client, Protocol::Udp, Direction::Both);
    let bytes = [status(1, 5).to_bytes(), status(2, 6).to_bytes()];
    for piece in bytes.as_flattened().chunks(5) {
        data.receive(0, piece).expect("messages in pieces");
    }
    assert_eq!(data.figures(at(0)).tx.total_bytes, 11);
    assert_eq!(data.receive(0, &[0; 12]), Err(Reason::BadStatus));
}

#[test]
fn an_empty_datagram_reveals_a_port_without_data() {
    let mut data = data(End::Server, Protocol::Udp, Direction::Receive);
    data.receive_datagram(9, &[]);
    assert_eq!(data.losses().ports().collect::<Vec<_>>(), [9]);
    assert_eq!(ticked(&mut data, at(1000)), [(0, status(1, 0).to_bytes())]);
}

#[test]
fn a_closed_connection_carries_nothing() {
    let mut data = data(End::Server, Protocol::Tcp, Direction::Both);
    data.add(7);
    data.remove(7);
    data.receive(7, &[0; 10]).expect("it is forgotten");
    assert_eq!(ticked(&mut data, at(1000)).len(), 1);
    assert_eq!(data.figures(at(1000)).rx.total_bytes, 0);
}
