//! Tests of neighbour resolution while all packet holders are full.

use wire::{Protocol, ipv4};

use super::rig::{MAC, Rig, STATION, frame};

const FROM: [u8; 4] = [10, 0, 0, 9];
const TO: [u8; 4] = [10, 1, 0, 7];

/// Returns a packet to an unresolved neighbour.
fn packet() -> Vec<u8> {
    let datagram = [0, 53, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4];
    let header = ipv4::Repr::new(Protocol::UDP, FROM.into(), TO.into());
    let packet = [&header.to_bytes(datagram.len())[..], &datagram].concat();
    frame(MAC, 0x0800, &packet)
}

/// Returns the neighbour's answer to a request.
fn reply(asked: &[u8]) -> Vec<u8> {
    let sender = &asked[22..32];
    let head = [0, 1, 8, 0, 6, 4, 0, 2];
    let arp = [&head[..], &STATION, &TO, sender].concat();
    frame(MAC, 0x0806, &arp)
}

#[test]
fn neighbours_are_resolved_even_without_room_for_waiting_packets() {
    let mut rig = Rig::new(super::newcomer::Newcomer);
    rig.run("/ip/address/add address=10.0.0.1/24 interface=ether1");
    rig.run("/ip/address/add address=10.1.0.1/24 interface=ether1");
    rig.pass(frame(MAC, 0x88b5, &[0]));
    let held = rig.fill_holders();

    let sent = rig.pass(packet());
    let asked = sent
        .iter()
        .find(|bytes| bytes[12..14] == [8, 6] && bytes[38..42] == TO);
    let asked = asked.expect("a question").clone();
    rig.pass(reply(&asked));

    let sent = rig.pass(packet());
    assert_eq!(sent.len(), 1, "{sent:x?}");
    assert_eq!((&sent[0][..6], &sent[0][30..34]), (&STATION[..], &TO[..]));
    rig.free(held);
}
