//! Sessions on byte streams of one router: their packets leave in batches, and batches become packets.

use std::sync::Arc;

use frame::InterfaceId;

use super::{Framing, Stream, is_data};
use crate::DropReason;
use crate::encap::plain::Plain;
use crate::encap::tests::add;
use crate::stream::{ChannelId, StreamRings};
use crate::testing::{Rig, Udp4};

const SESSION: InterfaceId = InterfaceId(10);
/// Host behind the session.
const INSIDE: u32 = 0x1400_0007;
const CHANNEL: ChannelId = ChannelId {
    protocol: ChannelId::SSTP,
    number: 7,
};

fn rig() -> (Rig, Arc<StreamRings>) {
    let mut rig = Rig::new();
    let session = Stream {
        channel: CHANNEL,
        framing: Framing::Sstp,
    };
    let plain = Plain {
        id: SESSION,
        carrier: session.into(),
    };
    let hop = add(&mut rig, SESSION, plain);
    rig.route4(INSIDE & 0xff00_0000, 8, hop);
    let rings = Arc::clone(&rig.remotes[0].streams);
    (rig, rings)
}

fn inside() -> Udp4 {
    Udp4 {
        destination: INSIDE,
        ..Udp4::default()
    }
}

#[test]
fn packets_leave_in_batches_with_the_framing_of_the_protocol() {
    let (mut rig, rings) = rig();
    assert_eq!(rig.pass(inside().frame()), Vec::<Vec<u8>>::new());
    let batch = rings.take().expect("a batch at the end of the step");
    assert_eq!((batch.channel, batch.packets), (CHANNEL, 1));
    let length = batch.bytes.len();
    assert_eq!(
        batch.bytes[..4],
        [0x10, 0, (length >> 8) as u8, length as u8]
    );
    assert_eq!(batch.bytes[4..8], [0xff, 3, 0, 0x21]);
    assert_eq!(batch.bytes[8 + 16..8 + 20], INSIDE.to_be_bytes());
    assert!(rings.take().is_none());
    assert_eq!(rig.traffic(SESSION).tx.packets, 1);
}

#[test]
fn received_packets_are_forwarded_and_those_of_no_session_are_counted() {
    let (mut rig, rings) = rig();
    let packet = [&[0xff, 3, 0, 0x21][..], &Udp4::default().packet()].concat();
    let pass = |rig: &mut Rig, channel| {
        let mut batch = rings.batch(channel);
        assert!((0..3).all(|_| batch.push(&packet)));
        rings.pass_to_worker(batch);
        rig.settle();
        rig.sent(1)
    };
    assert_eq!(pass(&mut rig, CHANNEL).len(), 3, "{:?}", rig.drops());
    assert_eq!(rig.traffic(SESSION).rx.packets, 3);
    let other = ChannelId {
        number: 8,
        ..CHANNEL
    };
    assert_eq!(pass(&mut rig, other).len(), 0);
    assert!(
        rig.drops().contains(&(DropReason::StreamUnknown, 3)),
        "{:?}",
        rig.drops()
    );
}

#[test]
fn a_full_ring_loses_batches_and_their_packets_are_counted() {
    let (mut rig, rings) = rig();
    let packet = [&[0, 0x21][..], &Udp4::default().packet()].concat();
    for _ in 0..1_030 {
        let mut batch = rings.batch(CHANNEL);
        assert!(batch.push(&packet) && batch.push(&packet));
        rings.pass_to_worker(batch);
    }
    rig.settle();
    assert!(
        rig.drops().contains(&(DropReason::StreamFull, 12)),
        "{:?}",
        rig.drops()
    );
}

#[test]
fn only_packets_for_the_data_plane_are_data() {
    for data in [
        &[0xff, 3, 0, 0x21, 0x45][..],
        &[0x21, 0x45],
        &[0, 0x57, 0x60],
        &[0, 0x31, 0, 1],
    ] {
        assert!(is_data(data), "{data:02x?}");
    }
    for control in [
        &[0xff, 3, 0xc0, 0x21, 1][..],
        &[0x80, 0x21],
        &[0xff, 3],
        &[],
    ] {
        assert!(!is_data(control), "{control:02x?}");
    }
}
