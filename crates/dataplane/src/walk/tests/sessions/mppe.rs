//! Tests of encrypted sessions.

use ppp::{
    Decryptor, ENCRYPTED, Encryption, Encryptor, Fragment, KeyLength, Mppe as Algorithm,
    Reassembly, StartKey, fragments,
};

use super::*;
use crate::encap::mppe::{Ciphers, Mppe};
use crate::encap::multilink::{Multilink, Sequence};

const MULTILINK: u16 = 0x003d;
const MTU: u16 = 1_492;
const MRRU: u16 = 1_600;

/// Returns the encryption of a session, as this end sees it.
fn encryption(is_stateless: bool) -> Encryption {
    let direction = |key| Algorithm {
        length: KeyLength::Bits128,
        is_stateless,
        key: StartKey::new(key),
    };
    Encryption {
        transmit: direction([1; 16]),
        receive: direction([2; 16]),
    }
}

/// A router whose first session is encrypted, and the other end of the session.
struct Encrypted {
    rig: Rig,
    ciphers: Ciphers,
    sealing: Encryptor,
    opening: Decryptor,
}

impl Encrypted {
    fn new(is_stateless: bool, mrru: Option<u16>) -> Self {
        let rig = with_sessions();
        let encryption = encryption(is_stateless);
        let ciphers = Ciphers::new(&encryption);
        let framing = mrru.map(|mrru| Multilink {
            id: FIRST,
            carrier: OutId::port(0).into(),
            mtu: MTU,
            mrru,
            sequence: Sequence::default(),
        });
        let mppe = Mppe {
            id: FIRST,
            carrier: OutId::port(0).into(),
            mtu: MTU,
            framing,
            ciphers: ciphers.clone(),
        };
        let details = Details {
            name: "<pppoe-user>".into(),
            tunnel: Some(mppe.into()),
            session: Some(session(PEER, 7)),
            ..Details::default()
        };
        rig.interfaces.set_details(FIRST, Arc::new(details));
        let line = rig.interfaces.get(FIRST).expect("the session");
        let encrypted = Interface {
            encrypted: true,
            ..line
        };
        rig.interfaces.set(FIRST, &encrypted);
        Self {
            rig,
            ciphers,
            sealing: Encryptor::new(&encryption.receive),
            opening: Decryptor::new(&encryption.transmit),
        }
    }

    /// Leads routed packets to the session.
    fn outwards(mut self) -> Self {
        leads_to_session(&mut self.rig, None, (MRRU - 4).into());
        let gateway = self.rig.gateway;
        let mut hop = self.rig.tables().fib.adjacencies.read(gateway);
        hop.out = OutId::tunnel(FIRST);
        self.rig.writer.set_next_hop(gateway, &hop);
        self
    }

    /// Leads routed packets to port 1.
    fn inwards(mut self) -> Self {
        let mut adjacency = gateway();
        adjacency.header[12..14].copy_from_slice(&[0x08, 0x00]);
        let gateway = self.rig.gateway;
        self.rig.writer.set_next_hop(gateway, &adjacency);
        self
    }

    /// Returns the information field of the next packet from the other end.
    fn seal(&mut self, protocol: u16, packet: &[u8]) -> Vec<u8> {
        let mut packet = [&protocol.to_be_bytes()[..], packet].concat();
        let header = self.sealing.encrypt(&mut packet);
        [&header[..], &packet].concat()
    }

    fn sealed_frame(&mut self, packet: &[u8]) -> Vec<u8> {
        encrypted_frame(&self.seal(IPV4, packet))
    }

    /// Passes a frame to `ether1`. Returns the frames that leave by the session.
    fn pass_out(&mut self, frame: Vec<u8>) -> Vec<Vec<u8>> {
        self.rig.arrive(frame);
        self.rig.settle();
        self.rig.sent(0)
    }

    /// Decrypts an information field that the router sent.
    fn open(&mut self, information: &[u8]) -> Vec<u8> {
        let mut information = information.to_vec();
        let packet = self.opening.decrypt(&mut information);
        packet.expect("a packet in order").to_vec()
    }
}

fn encrypted_frame(information: &[u8]) -> Vec<u8> {
    let fields = Fields {
        protocol: ENCRYPTED,
        packet: information.to_vec(),
        padding: 5,
        ..Fields::default()
    };
    fields.frame()
}

fn udp(bytes: usize) -> Udp4 {
    Udp4 {
        payload: bytes - 28,
        ..Udp4::default()
    }
}

/// Returns the information of session data, if it has this protocol.
fn information(frame: &[u8], protocol: u16) -> Option<&[u8]> {
    let (header, information) = frame[14..].split_at(8);
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    assert_eq!(length, information.len() + 2, "the length of {frame:02x?}");
    (header[6..] == protocol.to_be_bytes()).then_some(information)
}

#[test]
fn packets_leave_encrypted_in_order() {
    for is_stateless in [true, false] {
        let mut session = Encrypted::new(is_stateless, None).outwards();
        for bytes in (60..400).chain([usize::from(MTU) - 4]) {
            let sent = session.pass_out(udp(bytes).frame());
            assert_eq!(sent.len(), 1, "{bytes}");
            let sealed = information(&sent[0], ENCRYPTED)
                .expect("encrypted")
                .to_vec();
            let expected = &forwarded4(&udp(bytes).packet())[14..];
            let expected = [&IPV4.to_be_bytes()[..], expected].concat();
            assert_eq!(session.open(&sealed), expected);
        }
        assert_eq!(session.rig.drops(), []);
        session.ciphers.reset();
        let sent = session.pass_out(udp(100).frame());
        let sealed = information(&sent[0], ENCRYPTED).expect("encrypted");
        assert_eq!(sealed[0] & 0x80, 0x80, "the cipher began again");
    }
}

#[test]
fn long_packets_are_encrypted_as_a_whole_and_travel_in_fragments() {
    let mut session = Encrypted::new(true, Some(MRRU)).outwards();
    let mut reassembly = Reassembly::new(MRRU);
    for bytes in [
        100,
        usize::from(MTU) - 4,
        usize::from(MTU) - 3,
        usize::from(MRRU) - 4,
    ] {
        let sent = session.pass_out(udp(bytes.min(1_500)).frame());
        let mut whole = None;
        for frame in &sent {
            whole = match information(frame, MULTILINK) {
                Some(fragment) => {
                    let fragment = Fragment::parse(fragment).expect("a whole header");
                    let pushed = reassembly.push(fragment);
                    pushed.packet.map(|packet| packet[2..].to_vec())
                }
                None => information(frame, ENCRYPTED).map(<[u8]>::to_vec),
            };
        }
        assert_eq!(
            sent.len(),
            1 + usize::from(bytes > usize::from(MTU) - 4),
            "{bytes}"
        );
        let opened = session.open(&whole.expect("a packet"));
        assert_eq!(opened.len(), bytes.min(1_500) + 2);
    }
}

#[test]
fn encrypted_packets_are_routed_and_others_are_dropped_by_name() {
    for (is_stateless, mrru) in [(true, None), (false, None), (true, Some(MRRU))] {
        let mut session = Encrypted::new(is_stateless, mrru).inwards();
        for bytes in 60..400 {
            let packet = udp(bytes).packet();
            let frame = session.sealed_frame(&packet);
            assert_eq!(session.rig.pass(frame), [forwarded4(&packet)], "{bytes}");
        }
        assert_eq!(session.rig.drops(), []);
        let received = session.rig.traffic(FIRST).rx;
        assert_eq!(received.packets, 340);

        let plain = Fields::default().frame();
        assert!(session.rig.pass(plain).is_empty());
        let malformed = encrypted_frame(&[0x90]);
        assert!(session.rig.pass(malformed).is_empty());
        let unknown = session.seal(0x0031, &[1; 60]);
        assert!(session.rig.pass(encrypted_frame(&unknown)).is_empty());
        let mut drops = session.rig.drops();
        drops.sort_by_key(|(reason, _)| reason.name());
        let expected = [
            (DropReason::MppeMalformed, 1),
            (DropReason::MppePlain, 1),
            (DropReason::PppProtocol, 1),
        ];
        assert_eq!(drops, expected);
    }
}

#[test]
fn fragments_are_decrypted_when_their_packet_is_complete() {
    let mut session = Encrypted::new(true, Some(MRRU)).inwards();
    let mut sequence = 0;
    for bytes in [100, 1_400, 1_500] {
        let packet = udp(bytes).packet();
        let sealed = session.seal(IPV4, &packet);
        let sealed = [&ENCRYPTED.to_be_bytes()[..], &sealed].concat();
        let mut sent = Vec::new();
        for fragment in fragments(&sealed, 600, &mut sequence) {
            let fields = Fields {
                protocol: MULTILINK,
                packet: [&fragment.header()[2..], fragment.data].concat(),
                ..Fields::default()
            };
            sent = session.rig.pass(fields.frame());
        }
        assert_eq!(sent, [forwarded4(&packet)], "{bytes}");
    }
    assert_eq!(session.rig.drops(), []);
}

#[test]
fn a_loss_without_state_costs_the_lost_packets_only() {
    let mut session = Encrypted::new(true, None).inwards();
    let packet = udp(100).packet();
    let old = session.sealed_frame(&packet);
    for _ in 0..300 {
        session.sealed_frame(&packet);
    }
    let frame = session.sealed_frame(&packet);
    assert_eq!(session.rig.pass(frame).len(), 1);
    assert!(session.rig.pass(old).is_empty());
    let mut forged = session.sealed_frame(&packet);
    forged[14 + 8 + 4..].fill(0x55);
    assert!(session.rig.pass(forged).is_empty());
    let drops = session.rig.drops();
    assert!(drops.contains(&(DropReason::MppeLate, 1)), "{drops:?}");
    assert!(drops.contains(&(DropReason::MppeKey, 1)), "{drops:?}");
    assert_eq!(session.rig.punts(), []);
}

#[test]
fn a_loss_with_state_reaches_control_once_and_a_reset_ends_it() {
    let mut session = Encrypted::new(false, None).inwards();
    let data = Match::Frame(FrameContent::EtherType(0x8864));
    let mut services = (*session.rig.snapshot.services).clone();
    let id = ServiceId::new(5).expect("there are more");
    services
        .add(id, &Service::new("pppoe", [data], RATE))
        .expect("nobody has its matches");
    session.rig.snapshot.services = Arc::new(services);
    session.rig.publish();
    let packet = udp(100).packet();
    session.sealed_frame(&packet);
    let after_loss = session.sealed_frame(&packet);
    assert!(session.rig.pass(after_loss).is_empty());
    assert_eq!(session.rig.punts().len(), 1);
    let later = session.sealed_frame(&packet);
    assert!(session.rig.pass(later).is_empty());
    assert_eq!(session.rig.punts(), []);
    let drops = session.rig.drops();
    assert_eq!(
        drops,
        [(DropReason::MppeLost, 1), (DropReason::MppeReset, 1)]
    );
    session.sealing.flush();
    let frame = session.sealed_frame(&packet);
    assert_eq!(session.rig.pass(frame), [forwarded4(&packet)]);
}
