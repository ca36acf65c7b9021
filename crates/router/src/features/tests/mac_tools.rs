//! Tests of MAC ping and Wake-on-LAN.

use wire::{Mac, Protocol, ipv4, mac_ping, udp};

use super::newcomer::Newcomer;
use super::rig::{MAC, Rig, STATION, frame};

/// Returns a broadcast datagram of a station.
fn datagram(payload: &[u8]) -> Vec<u8> {
    let (from, to) = ([10, 0, 0, 7].into(), [255; 4].into());
    let ports = udp::Repr {
        src_port: 5_555,
        dst_port: mac_ping::PORT,
    };
    let header = ports.to_bytes_v4(payload, from, to);
    let ip = ipv4::Repr::new(Protocol::UDP, from, to);
    let ip = ip.to_bytes(header.len() + payload.len());
    frame([0xff; 6], 0x0800, &[&ip[..], &header, payload].concat())
}

fn request(to: [u8; 6]) -> Vec<u8> {
    let message = mac_ping::Repr {
        is_reply: false,
        from: Mac(STATION),
        to: Mac(to),
        data: b"echo me",
    };
    datagram(&[&message.header()[..], message.data].concat())
}

#[test]
fn an_echo_by_link_address_comes_back_whatever_rules_of_ip_say() {
    let mut rig = Rig::new(Newcomer);
    rig.run("/ip/firewall/filter/add chain=input action=drop");

    let sent = rig.pass(request(MAC));
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0][..6], STATION);
    let packet = ipv4::Packet::new_verified(&sent[0][14..]).expect("IPv4");
    let said = udp::Datagram::new_checked(packet.payload()).expect("UDP");
    assert_eq!((said.src_port(), said.dst_port()), (mac_ping::PORT, 5_555));
    let reply = mac_ping::Repr::parse(said.payload())
        .expect("well formed")
        .expect("an echo");
    assert!(reply.is_reply);
    assert_eq!(
        (reply.from, reply.to, reply.data),
        (Mac(MAC), Mac(STATION), &b"echo me"[..])
    );

    assert!(
        rig.pass(request([2, 0, 0, 0, 0, 99])).is_empty(),
        "it is for somebody else"
    );
    rig.pass(datagram(&[9, 9, 9]));
    let drops = rig.run("/tool/drop/print without-paging");
    assert!(drops.contains("mac-ping-malformed"), "{drops}");
    rig.run("/tool/mac-server/ping/set enabled=no");
    assert!(rig.pass(request(MAC)).is_empty());
}

#[test]
fn a_machine_is_woken_up_by_its_address_sixteen_times() {
    let mut rig = Rig::new(Newcomer);
    let said = rig.run("/tool/wol interface=ether1 mac=02:00:00:00:00:55");
    assert_eq!(said, "");
    let sent = rig.sent();
    let wanted = [&[0xff; 6][..], &[2, 0, 0, 0, 0, 0x55].repeat(16)].concat();
    let has = |frame: &Vec<u8>| frame.ends_with(&wanted) && frame[..6] == [0xff; 6];
    assert_eq!(
        sent.iter().filter(|frame| has(frame)).count(),
        1,
        "{sent:?}"
    );
    let lost = ":do { /tool/wol interface=none mac=02:00:00:00:00:55 } on-error={ :put refused }";
    assert_eq!(rig.run(lost), "refused\n");
}
