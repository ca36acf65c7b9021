//! Tests of OpenVPN sessions between two routers, which have opposite directions of one key.

use core::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use frame::InterfaceId;
use machine::Rng;
use openvpn::data::{EXIT, Outgoing, PING, Receiving, Sending, seal_all};
use openvpn::stream::Deframer;
use openvpn::{Bits, Cipher, DataKeys, Digest, DirectionKeys, Framing, Keys, Suite};
use zeroize::Zeroizing;

use super::{Notices, Ovpn, Session, Transport};
use crate::DropReason;
use crate::encap::Encapsulation;
use crate::interface::{Details, Interface};
use crate::out::OutId;
use crate::stream::{ChannelId, StreamRings, Window};
use crate::table::{Adjacency, Kind};
use crate::testing::{ETHER2, MAC, Rig, Udp4, ethernet};

/// Both routers' address on `ether1`, and the remote end behind the gateway.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 9);
const HOST: u32 = 0x1400_0005;
const PORT: u16 = 1194;
const OVPN: InterfaceId = InterfaceId(10);

/// The key material of both ends, which use one key in both directions.
fn keys(cipher: Cipher, peer_id: Option<u32>) -> DataKeys {
    let direction = || DirectionKeys {
        cipher: Zeroizing::new([1; 64]),
        hmac: Zeroizing::new([2; 64]),
    };
    DataKeys {
        session: 5,
        key_id: 0,
        suite: Suite {
            cipher,
            digest: Digest::Sha1,
        },
        peer_id,
        framing: Framing::None,
        keys: Keys {
            send: direction(),
            receive: direction(),
        },
    }
}

/// Returns a router with an OpenVPN interface to the remote end.
fn rig(keys: Option<&DataKeys>, peer_id: Option<u32>) -> (Rig, Arc<Session>) {
    rig_over(Transport::Datagrams, keys, peer_id)
}

fn interface() -> Interface {
    Interface {
        running: true,
        ipv4: true,
        ipv6: true,
        mtu: 1500,
        out: OutId::tunnel(OVPN),
        under: OVPN,
        ..Interface::default()
    }
}

/// Returns a router with an OpenVPN interface over a transport.
fn rig_over(
    transport: Transport,
    keys: Option<&DataKeys>,
    peer_id: Option<u32>,
) -> (Rig, Arc<Session>) {
    let mut rig = Rig::new();
    let local = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
    let ends = [local, SocketAddr::from((FAR, PORT))];
    let notices = Arc::new(Notices::new(4));
    let session = Session::new(ends, peer_id, transport, 1, notices);
    let session = Arc::new(session);
    if let Some(keys) = keys {
        let sending = Sending::new(keys, &mut Rng::seeded(1)).expect("a key");
        session.set_sending(Some(Arc::new(sending)));
        let receiving = Receiving::new(keys).expect("a key");
        session.set_receiving(keys.key_id, Some(Arc::new(receiving)));
    }
    let tunnel = Encapsulation::from(Ovpn {
        id: OVPN,
        session: Arc::clone(&session),
        has_frames: false,
    });
    for ends in tunnel.ends() {
        rig.interfaces.set_tunnel(ends, Some(OVPN));
    }
    let details = Details {
        name: "ovpn1".into(),
        tunnel: Some(tunnel),
        ..Details::default()
    };
    rig.interfaces.set(OVPN, &interface());
    rig.interfaces.set_details(OVPN, Arc::new(details));
    rig.details(ETHER2).address4 = Some(HERE);
    let hop = rig.add_hop(&Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        mtu: 1500,
        egress: OVPN,
        out: OutId::tunnel(OVPN),
        ..Adjacency::default()
    });
    rig.route4(0x1400_0000, 8, hop);
    rig.publish();
    (rig, session)
}

fn to_host(payload: usize) -> Udp4 {
    Udp4 {
        destination: HOST,
        payload,
        ..Udp4::default()
    }
}

/// Exchanges source and destination of an outer packet, for the other router.
fn turned(frame: &[u8]) -> Vec<u8> {
    let mut packet = frame[14..].to_vec();
    packet[12..16].copy_from_slice(&FAR.octets());
    packet[16..20].copy_from_slice(&HERE.octets());
    crate::testing::seal(&mut packet);
    ethernet(MAC, 0x0800, &packet)
}

/// Returns a datagram of the remote end with this data packet.
fn datagram(data: &[u8], from: u16) -> Vec<u8> {
    let packet = Udp4 {
        source: FAR.to_bits(),
        destination: HERE.to_bits(),
        source_port: from,
        destination_port: PORT,
        payload: data.len(),
        ..Udp4::default()
    };
    let mut packet = packet.packet();
    packet[28..].copy_from_slice(data);
    packet[26..28].fill(0);
    ethernet(MAC, 0x0800, &packet)
}

/// Encrypts a payload.
fn seal(keys: &DataKeys, payload: &[u8]) -> Vec<u8> {
    let sending = Sending::new(keys, &mut Rng::seeded(9)).expect("a key");
    let layout = sending.layout(payload);
    let mut bytes = [&vec![0; layout.front], payload, &vec![0; layout.back]].concat();
    let mut packets = [Outgoing::new(&sending, layout, &mut bytes)];
    seal_all(&mut packets);
    assert_eq!(packets[0].result, Ok(()));
    bytes
}

#[test]
fn a_packet_goes_in_comes_out_and_is_the_same() {
    for cipher in [Cipher::AesGcm(Bits::B256), Cipher::AesCbc(Bits::B128)] {
        for peer_id in [None, Some(7)] {
            let keys = keys(cipher, peer_id);
            let (mut from, _) = rig(Some(&keys), peer_id);
            let (mut to, session) = rig(Some(&keys), peer_id);
            let hop = to.gateway;
            to.route4(HOST, 32, hop);
            to.publish();
            for payload in [0, 5, 22, 1372] {
                let frame = to_host(payload);
                let sealed = from.pass(frame.frame());
                let [one] = &sealed[..] else {
                    panic!("{} packets left: {:?}", sealed.len(), from.drops());
                };
                assert_eq!((one[23], &one[30..34]), (17, &FAR.octets()[..]));
                let head = match peer_id {
                    Some(_) => vec![0x48, 0, 0, 7],
                    None => vec![0x30],
                };
                assert_eq!(one[42..42 + head.len()], head);
                let opened = to.pass(turned(one));
                let [inner] = &opened[..] else {
                    panic!("{} packets came out: {:?}", opened.len(), to.drops());
                };
                // Both routers decrement the TTL; nothing else changes.
                let mut expected = frame.frame()[14..].to_vec();
                expected[8] -= 2;
                crate::testing::seal(&mut expected);
                assert_eq!(inner[14..], expected);
            }
            assert!(session.received.bytes() > 1400);
            assert_eq!(session.take_moved(), None);
        }
    }
}

#[test]
fn without_a_key_nothing_passes() {
    let (mut rig, _) = rig(None, Some(7));
    assert!(rig.pass(to_host(5).frame()).is_empty());
    let keys = keys(Cipher::AesGcm(Bits::B256), Some(7));
    assert!(rig.pass(datagram(&seal(&keys, &PING), PORT)).is_empty());
    assert_eq!(rig.drops(), [(DropReason::OvpnKey, 2)]);
}

#[test]
fn copies_and_alterations_are_refused_by_name() {
    let keys = keys(Cipher::AesGcm(Bits::B256), Some(7));
    let (mut rig, _) = rig(Some(&keys), Some(7));
    let packet = to_host(5).packet();
    let sealed = seal(&keys, &packet);
    let mut altered = sealed.clone();
    altered[30] ^= 1;
    rig.pass(datagram(&altered, PORT));
    rig.pass(datagram(&sealed[..10], PORT));
    rig.pass(datagram(&sealed, PORT));
    rig.pass(datagram(&sealed, PORT));
    for reason in [
        DropReason::OvpnIntegrity,
        DropReason::OvpnMalformed,
        DropReason::OvpnReplayed,
    ] {
        assert!(rig.drops().contains(&(reason, 1)), "{:?}", rig.drops());
    }
}

#[test]
fn pings_and_exits_reach_control_and_a_peer_may_move() {
    let keys = keys(Cipher::AesGcm(Bits::B256), Some(7));
    for (payload, has_exit) in [(&PING[..], false), (&EXIT, true)] {
        let (mut rig, session) = rig(Some(&keys), Some(7));
        assert!(rig.pass(datagram(&seal(&keys, payload), 40_000)).is_empty());
        assert_eq!(rig.drops(), []);
        assert_eq!(session.has_exit(), has_exit);
        let [any, data] = session.received.times();
        assert!(any.is_some() && data.is_none());
        let moved = session.take_moved().expect("another port");
        assert_eq!(moved, SocketAddr::from((FAR, 40_000)));
    }
}

const CHANNEL: ChannelId = ChannelId {
    protocol: ChannelId::OVPN,
    number: 3,
};

/// Returns a router with an OpenVPN interface over a stream, and the rings of its worker.
fn stream_rig(keys: &DataKeys) -> (Rig, Arc<Session>, Arc<StreamRings>) {
    let (rig, session) = rig_over(Transport::Stream(CHANNEL), Some(keys), keys.peer_id);
    let rings = Arc::clone(&rig.remotes[0].streams);
    (rig, session, rings)
}

/// Takes the data packets out of batches for the connection.
fn packets(rings: &StreamRings) -> Vec<Vec<u8>> {
    let mut stream = Deframer::new(2000);
    while let Some(batch) = rings.take() {
        assert_eq!(batch.channel, CHANNEL);
        stream.push(&batch.bytes);
        rings.recycle(batch);
    }
    let mut all = Vec::new();
    while let Some(packet) = stream.next_packet().expect("lengths are valid") {
        all.push(packet.to_vec());
    }
    all
}

/// Passes packets of the connection, or signals of control, to the worker.
fn pass_to_worker(rig: &mut Rig, rings: &StreamRings, packets: &[Vec<u8>]) {
    let mut batch = rings.batch(CHANNEL);
    packets
        .iter()
        .for_each(|packet| assert!(batch.push(packet)));
    rings.pass_to_worker(batch);
    rig.settle();
}

#[test]
fn packets_on_a_stream_follow_their_lengths_and_come_out_as_they_went_in() {
    for cipher in [Cipher::AesGcm(Bits::B128), Cipher::AesCbc(Bits::B256)] {
        let keys = keys(cipher, Some(7));
        let (mut from, _, sent) = stream_rig(&keys);
        let (mut to, session, received) = stream_rig(&keys);
        let hop = to.gateway;
        to.route4(HOST, 32, hop);
        to.publish();
        for payload in [0, 5, 22, 1400] {
            assert!(from.pass(to_host(payload).frame()).is_empty());
        }
        let sealed = packets(&sent);
        assert_eq!(sealed.len(), 4, "{:?}", from.drops());
        pass_to_worker(&mut to, &received, &sealed);
        let opened = to.sent(1);
        assert_eq!(opened.len(), 4, "{:?}", to.drops());
        for (payload, inner) in [0, 5, 22, 1400].into_iter().zip(opened) {
            let mut expected = to_host(payload).frame()[14..].to_vec();
            expected[8] -= 2;
            crate::testing::seal(&mut expected);
            assert_eq!(inner[14..], expected);
        }
        assert!(session.received.bytes() > 1400);
    }
}

#[test]
fn a_slow_connection_loses_packets_before_they_have_a_number() {
    let keys = keys(Cipher::AesGcm(Bits::B256), Some(7));
    let (mut rig, _, rings) = stream_rig(&keys);
    for _ in 0..Window::PACKETS + 8 {
        rig.pass(to_host(5).frame());
    }
    assert_eq!(rig.drops(), [(DropReason::StreamFull, 8)]);
    let sealed = packets(&rings);
    assert_eq!(sealed.len(), Window::PACKETS as usize);
    rig.pass(to_host(5).frame());
    let next = packets(&rings);
    let number = |packet: &[u8]| u32::from_be_bytes(packet[4..8].try_into().expect("4 bytes"));
    assert_eq!(number(&next[0]), Window::PACKETS + 1);
}

#[test]
fn the_worker_of_a_stream_sends_signals_in_order() {
    let keys = keys(Cipher::AesGcm(Bits::B256), Some(7));
    let (mut rig, session, rings) = stream_rig(&keys);
    rig.pass(to_host(5).frame());
    for signal in [&PING[..], &EXIT] {
        pass_to_worker(&mut rig, &rings, &[signal.to_vec()]);
    }
    let sealed = packets(&rings);
    assert_eq!(sealed.len(), 3, "{:?}", rig.drops());
    assert!(session.sent.times()[0].is_some());
    let (mut to, session, received) = stream_rig(&keys);
    pass_to_worker(&mut to, &received, &sealed[1..]);
    assert_eq!(to.drops(), []);
    assert!(session.has_exit());
}

#[test]
fn a_session_of_ethernet_carries_frames_in_datagrams_and_streams() {
    let keys = keys(Cipher::AesGcm(Bits::B256), Some(7));
    let frame = to_host(5).frame();
    for transport in [Transport::Datagrams, Transport::Stream(CHANNEL)] {
        let (mut rig, session) = rig_over(transport, Some(&keys), Some(7));
        let rings = Arc::clone(&rig.remotes[0].streams);
        let tunnel = Encapsulation::from(Ovpn {
            id: OVPN,
            session,
            has_frames: true,
        });
        let details = Details {
            name: "ovpn1".into(),
            tunnel: Some(tunnel),
            ..Details::default()
        };
        rig.interfaces.set_details(OVPN, Arc::new(details));
        let line = Interface {
            ethernet: true,
            ..interface()
        };
        rig.interfaces.set(OVPN, &line);
        let hop = rig.gateway;
        rig.route4(HOST, 32, hop);
        rig.publish();
        let mut to_router = frame.clone();
        to_router[..6].fill(0);
        let sealed = seal(&keys, &to_router);
        match transport {
            Transport::Datagrams => rig.arrive(datagram(&sealed, PORT)),
            Transport::Stream(_) => pass_to_worker(&mut rig, &rings, &[sealed]),
        }
        rig.settle();
        let out = rig.sent(1);
        assert_eq!(out.len(), 1, "{transport:?}: {:?}", rig.drops());
        assert_eq!(out[0][30..34], HOST.to_be_bytes());
    }
}
