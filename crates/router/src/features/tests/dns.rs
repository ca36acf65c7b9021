//! Tests of the DNS forwarder by frames on the wire.

use core::net::Ipv4Addr;

use wire::{Protocol, ipv4, udp};

use super::rig::{MAC, Rig, frame};
use crate::feature::Feature;

/// An empty feature: the test uses the router's own features.
#[derive(Debug)]
struct Nothing;

impl Feature for Nothing {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }
}

const CLIENT: [u8; 4] = [10, 0, 0, 9];
const SERVER: [u8; 4] = [10, 0, 0, 53];
const ROUTER: [u8; 4] = [10, 0, 0, 1];

fn rig() -> Rig {
    let mut rig = Rig::new(Nothing);
    for command in [
        "/ip/address/add address=10.0.0.1/24 interface=ether1",
        "/ip/arp/add address=10.0.0.9 mac-address=02:00:00:00:00:09 interface=ether1",
        "/ip/arp/add address=10.0.0.53 mac-address=02:00:00:00:00:09 interface=ether1",
        "/ip/dns/set allow-remote-requests=yes servers=10.0.0.53",
        "/ip/dns/static/add name=a.lan address=10.0.0.7",
    ] {
        rig.run(command);
    }
    rig.go_on_until(2);
    rig
}

/// Returns a datagram in a frame to the router.
fn datagram(from: ([u8; 4], u16), to: ([u8; 4], u16), data: &[u8]) -> Vec<u8> {
    let (src, dst) = (Ipv4Addr::from(from.0), Ipv4Addr::from(to.0));
    let ports = udp::Repr {
        src_port: from.1,
        dst_port: to.1,
    };
    let udp = ports.to_bytes_v4(data, src, dst);
    let header = ipv4::Repr::new(Protocol::UDP, src, dst).to_bytes(8 + data.len());
    frame(MAC, 0x0800, &[&header[..], &udp, data].concat())
}

/// Returns the destination, the ports and the payload of a sent datagram.
fn read(frame: &[u8]) -> (Ipv4Addr, [u16; 2], Vec<u8>) {
    let packet = ipv4::Packet::new_verified(&frame[14..]).expect("a good header");
    let datagram = udp::Datagram::new_checked(packet.payload()).expect("a datagram");
    let sound = datagram.verify_v4(packet.src(), packet.dst());
    sound.expect("a good checksum");
    assert_eq!(packet.src(), Ipv4Addr::from(ROUTER));
    let ports = [datagram.src_port(), datagram.dst_port()];
    (packet.dst(), ports, datagram.payload().to_vec())
}

fn question(name: &str) -> Vec<u8> {
    let question = wire::dns::Question {
        id: 0x1234,
        name: wire::dns::Name::new(name).expect("a name"),
        kind: wire::dns::Kind::A,
    };
    question.emit(&mut [0; 512]).to_vec()
}

/// Returns the answer to a query, with or without options: this address with a TTL of a minute.
pub(super) fn answer(question: &[u8], address: [u8; 4]) -> Vec<u8> {
    let end = 12
        + question[12..]
            .iter()
            .position(|byte| *byte == 0)
            .expect("a name")
        + 5;
    let mut message = question[..end].to_vec();
    message[2..4].copy_from_slice(&[0x81, 0x80]);
    message[6..12].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
    message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
    message.extend(address);
    message
}

#[test]
fn clients_are_answered_from_static_entries_servers_and_the_cache() {
    let mut rig = rig();
    let asks = |name: &str| datagram((CLIENT, 4000), (ROUTER, 53), &question(name));

    let sent = rig.pass(asks("A.lan"));
    let (to, ports, message) = read(&sent[0]);
    assert_eq!((sent.len(), to, ports), (1, CLIENT.into(), [53, 4000]));
    assert!(message.starts_with(&[0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1]));
    assert!(message.ends_with(&[10, 0, 0, 7]));

    let sent = rig.pass(asks("www.example"));
    let (to, [port, 53], message) = read(&sent[0]) else {
        panic!("{sent:?}")
    };
    assert_eq!((sent.len(), to), (1, SERVER.into()));
    let said = answer(&message, [192, 0, 2, 1]);
    let sent = rig.pass(datagram((SERVER, 53), (ROUTER, port), &said));
    let (to, ports, message) = read(&sent[0]);
    assert_eq!((to, ports), (CLIENT.into(), [53, 4000]));
    assert!(message.ends_with(&[192, 0, 2, 1]));

    let sent = rig.pass(asks("WWW.example"));
    assert!(read(&sent[0]).2.ends_with(&[192, 0, 2, 1]));
    let cache = rig.run("/ip/dns/cache/print");
    for part in ["a.lan", "www.example", "192.0.2.1", "1d", "1m"] {
        assert!(cache.contains(part), "{part}: {cache}");
    }
    rig.run("/ip/dns/cache/flush");
    let sent = rig.pass(asks("www.example"));
    assert_eq!(read(&sent[0]).0, Ipv4Addr::from(SERVER), "it is asked anew");
}

#[test]
fn nobody_is_answered_unless_he_may_be() {
    let mut rig = rig();
    let asks = datagram((CLIENT, 4000), (ROUTER, 53), &question("a.lan"));
    rig.run("/ip/firewall/filter/add chain=input action=drop");
    assert_eq!(rig.pass(asks.clone()), [[0; 0]; 0]);
    rig.run("/ip/firewall/filter/remove 0");
    assert_eq!(rig.pass(asks.clone()).len(), 1);

    rig.run("/ip/dns/set allow-remote-requests=no");
    let sent = rig.pass(asks);
    // The router refuses it by an ICMP message, like any unclaimed packet.
    assert!(sent.iter().all(|frame| frame[14 + 9] == 1), "{sent:?}");
    let garbage = datagram((CLIENT, 4000), (ROUTER, 53), &[0xff; 40]);
    rig.run("/ip/dns/set allow-remote-requests=yes");
    assert_eq!(rig.pass(garbage), [[0; 0]; 0], "an answer to nothing");
}

#[test]
fn addresses_of_static_entries_stay_in_their_list_for_the_ttl() {
    let mut rig = rig();
    rig.run("/ip/dns/static/add name=b.lan address=10.0.0.8 address-list=seen ttl=30s");
    rig.pass(datagram((CLIENT, 4000), (ROUTER, 53), &question("b.lan")));

    let count = "/ip/firewall/address-list/print count-only where list=seen address=10.0.0.8";
    assert_eq!(rig.run(count), "1\n");
    rig.go_on_until(40);
    rig.pass(frame([0xff; 6], 0x9999, &[0; 46]));
    assert_eq!(rig.run(count), "0\n");
}
