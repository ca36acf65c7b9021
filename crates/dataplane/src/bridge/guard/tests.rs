use frame::{Pool, Sizes};
use wire::ipv4::Repr;

use super::*;

const ALL: Guards = Guards {
    dhcp: true,
    dhcp6: true,
    advertisements: true,
};

fn datagram(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let ports = [
        from.to_be_bytes(),
        to.to_be_bytes(),
        len.to_be_bytes(),
        [0, 0],
    ];
    [ports.as_flattened(), payload].concat()
}

fn packet4(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let header = Repr::new(Protocol::UDP, [0; 4].into(), [255; 4].into());
    let mut datagram = datagram(from, to, payload);
    let len = datagram.len() as u16;
    let pseudo = checksum::pseudo_v4([0; 4].into(), [255; 4].into(), Protocol::UDP, len);
    let sum = checksum::combine(pseudo, checksum::sum(&datagram));
    datagram[6..8].copy_from_slice(&checksum::udp(!sum).to_be_bytes());
    [&header.to_bytes(datagram.len())[..], &datagram].concat()
}

fn message(op: u8, giaddr: [u8; 4], options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; dhcp::HEADER_LEN];
    bytes[0] = op;
    bytes[24..28].copy_from_slice(&giaddr);
    bytes[236..].copy_from_slice(&[99, 130, 83, 99]);
    bytes.extend(options);
    bytes
}

fn request(options: &[u8]) -> Vec<u8> {
    packet4(68, 67, &message(1, [0; 4], options))
}

fn packet6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 255];
    packet.extend([0xfe; 32]);
    packet.extend(payload);
    packet
}

#[test]
fn what_servers_and_routers_say_is_told_from_the_rest() {
    let reply = packet4(67, 68, &message(2, [0; 4], &[255]));
    let to_relay = packet4(67, 67, &message(2, [10, 0, 0, 1], &[255]));
    let mut fragment = reply.clone();
    fragment[6..8].copy_from_slice(&[0x20, 9]);
    let mut first = reply.clone();
    first[6] = 0x20;
    let advertisement = packet6(58, &[134, 0, 0, 0]);
    let behind_options = packet6(60, &[58, 0, 1, 4, 0, 0, 0, 0, 134, 0, 0, 0]);
    let behind_fragment = packet6(44, &[58, 0, 0, 1, 0, 0, 0, 7, 134, 0, 0, 0]);
    let later = packet6(44, &[58, 0, 0, 9, 0, 0, 0, 7, 134, 0, 0, 0]);
    let cut = packet6(44, &[60, 0, 0, 1, 0, 0, 0, 7, 58, 1, 1, 4, 0, 0, 0, 0]);
    let endless = packet6(60, &[60, 0].repeat(400));
    for (packet, is) in [
        (&request(&[255]), Kind::Client),
        (&reply, Kind::Server),
        (&to_relay, Kind::Server),
        (&first, Kind::Server),
        (&fragment, Kind::Other),
        (&packet4(53, 4000, &[2; 20]), Kind::Other),
    ] {
        assert_eq!(kind(0x0800, packet), is, "{packet:?}");
    }
    for (packet, is) in [
        (&advertisement, Kind::Advertisement),
        (&behind_options, Kind::Advertisement),
        (&behind_fragment, Kind::Advertisement),
        (&later, Kind::Other),
        (&cut, Kind::Hidden6),
        (&endless, Kind::Hidden6),
        (&packet6(58, &[135, 0, 0, 0]), Kind::Other),
        (
            &packet6(17, &datagram(547, 546, &[7, 0, 0, 1])),
            Kind::Server6,
        ),
        (
            &packet6(17, &datagram(546, 547, &[1, 0, 0, 1])),
            Kind::Client6,
        ),
        (&packet6(6, &[0; 20]), Kind::Other),
    ] {
        assert_eq!(kind(0x86dd, packet), is, "{packet:?}");
        for len in 0..packet.len() {
            kind(0x86dd, &packet[..len]);
        }
    }
    assert_eq!(kind(0x0806, &reply), Kind::Other);
}

#[test]
fn ports_are_trusted_with_each_by_itself() {
    let trusted = Trust {
        dhcp: true,
        ..Trust::default()
    };
    let nothing = Trust::default();
    assert_eq!(
        admit(ALL, &nothing, Kind::Server),
        Err(DropReason::BridgeDhcpServer)
    );
    assert_eq!(admit(ALL, &trusted, Kind::Server), Ok(()));
    assert_eq!(
        admit(ALL, &trusted, Kind::Server6),
        Err(DropReason::BridgeDhcpServer)
    );
    for kind in [Kind::Advertisement, Kind::Hidden6] {
        let said = admit(ALL, &trusted, kind);
        assert_eq!(said, Err(DropReason::BridgeAdvertisement));
    }
    for kind in [Kind::Server, Kind::Server6, Kind::Advertisement] {
        assert_eq!(admit(Guards::default(), &nothing, kind), Ok(()));
    }
    for kind in [Kind::Other, Kind::Client, Kind::Client6] {
        assert_eq!(admit(ALL, &nothing, kind), Ok(()));
    }

    assert!(leaves(ALL, &trusted, Kind::Client) && !leaves(ALL, &nothing, Kind::Client));
    assert!(!leaves(ALL, &trusted, Kind::Client6) && leaves(ALL, &nothing, Kind::Server));
    assert!(leaves(Guards::default(), &nothing, Kind::Client));
}

/// Runs [`edit`] on a packet in a frame with padding. Returns the edited packet.
fn edited(packet: &[u8], trust: &Trust) -> Result<Vec<u8>, DropReason> {
    let mut pool = Pool::new(Sizes::LEAST).expect("memory");
    let bytes = [&[7; 14][..], packet, &[0; 5]].concat();
    let mut frame = pool.alloc_from(&bytes).expect("a slot");
    let kind = kind(0x0800, packet);

    let done = edit(&mut frame, 14, trust, kind);

    let bytes = frame.bytes().to_vec();
    pool.free(frame);
    assert_eq!(bytes[..14], [7; 14]);
    done.map(|()| bytes[14..].to_vec())
}

/// Checks all lengths and checksums of a packet. Returns the options of its DHCP message.
fn options(packet: &[u8]) -> &[u8] {
    let packet = ipv4::Packet::new_checked(packet).expect("a packet");
    let datagram = udp::Datagram::new_checked(packet.payload()).expect("a datagram");
    let verified = datagram.verify_v4(packet.src(), packet.dst());
    assert_eq!(verified, Ok(()));
    &datagram.payload()[dhcp::HEADER_LEN..]
}

#[test]
fn a_request_gets_the_information_of_its_port_and_the_answer_loses_it() {
    let agent = dhcp::agent_information(b"ether1", b"ap").expect("it is short");
    let untrusted = Trust {
        agent: Some(agent.clone().into()),
        ..Trust::default()
    };
    let asked = [53, 1, 1, 255];
    let with = [&[53, 1, 1][..], &agent, &[255]].concat();
    let got = edited(&request(&asked), &untrusted).expect("it goes on");
    assert_eq!(options(&got), with);
    let padded = [&asked[..], &[0; 60]].concat();
    let got = edited(&request(&padded), &untrusted).expect("it goes on");
    assert_eq!(options(&got).len(), padded.len(), "padding makes room");
    assert_eq!(options(&got)[..with.len()], with);

    let reply = packet4(67, 68, &message(2, [0; 4], &with));
    let got = edited(
        &reply,
        &Trust {
            dhcp: true,
            ..Trust::default()
        },
    )
    .expect("it goes on");
    assert!(
        options(&got)[3..3 + agent.len()]
            .iter()
            .all(|byte| *byte == 0)
    );
}

#[test]
fn who_forges_the_information_is_not_forwarded_but_relays_are() {
    let forged = [53, 1, 1, 82, 3, 1, 1, 7, 255];
    let nothing = Trust::default();
    let said = edited(&request(&forged), &nothing);
    assert_eq!(said, Err(DropReason::BridgeDhcpOption));

    let relayed = packet4(67, 67, &message(1, [10, 0, 0, 1], &forged));
    let got = edited(&relayed, &nothing).expect("a relay may");
    assert_eq!(options(&got), forged);
    let trusted = Trust {
        dhcp: true,
        ..nothing
    };
    let got = edited(&request(&forged), &trusted).expect("it is trusted");
    assert_eq!(options(&got), forged);
}

#[test]
fn a_request_without_room_for_the_information_goes_without_it() {
    let untrusted = Trust {
        agent: dhcp::agent_information(&[1; 100], &[2; 100]).map(Into::into),
        ..Trust::default()
    };
    let mut long = vec![53, 1, 1];
    long.extend([&[60, 240][..], &[9; 240]].concat().repeat(5));
    long.push(255);
    let packet = request(&long);
    let got = edited(&packet, &untrusted).expect("it goes on");
    assert_eq!(options(&got), long);
}

#[test]
fn a_datagram_without_a_checksum_stays_without_one() {
    let untrusted = Trust {
        agent: dhcp::agent_information(b"ether1", b"").map(Into::into),
        ..Trust::default()
    };
    let mut packet = request(&[53, 1, 1, 255]);
    packet[26..28].fill(0);
    let got = edited(&packet, &untrusted).expect("it goes on");
    assert_eq!(got[26..28], [0, 0]);
    assert_eq!(options(&got).len(), 4 + 10);
}
