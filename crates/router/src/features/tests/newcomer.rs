//! A layer 2 protocol that only this file and one line of the feature list know: it registers its
//! EtherType and answers each frame.

use dataplane::service::{FrameContent, Match, Rate, Service};
use dataplane::trace::WorkerTables;
use frame::InterfaceId;
use wire::{EtherType, Mac};

use super::rig::{MAC, Rig, STATION, frame};
use crate::feature::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use crate::feature::{Effects, Feature};
use crate::running::Running;

/// EtherType for experiments (IEEE 802).
const LOCAL_EXPERIMENT: u16 = 0x88b5;
const RATE: Rate = Rate {
    per_second: 100,
    burst: 10,
};

/// Returns each frame as many times as its first byte says.
#[derive(Debug)]
pub(super) struct Newcomer;

impl Feature for Newcomer {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        let its = Match::Frame(FrameContent::EtherType(LOCAL_EXPERIMENT));
        vec![Service::new("newcomer", [its], RATE)]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        _: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        assert_ne!(heard.interface, InterfaceId::NONE);
        let times = heard.packet().first().copied().unwrap_or_default();
        for _ in 0..times {
            out.send(Outgoing {
                interface: heard.interface,
                bytes: heard.packet().to_vec(),
                how: How::Frame(heard.source_mac(), EtherType(LOCAL_EXPERIMENT)),
            });
        }
        ReceiveOutcome::Taken
    }
}

/// Returns the expected answer with these tags.
fn answer(tags: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bytes = [&STATION[..], &MAC, tags].concat();
    bytes.extend(LOCAL_EXPERIMENT.to_be_bytes());
    bytes.extend(payload);
    bytes
}

#[test]
fn a_new_feature_receives_its_frames_and_answers_them() {
    let mut rig = Rig::new(Newcomer);
    let said = [1, 7, 8, 9];
    for to in [MAC, [0xff; 6], [1, 0x80, 0xc2, 0, 0, 3]] {
        let sent = rig.pass(frame(to, LOCAL_EXPERIMENT, &said));
        assert_eq!(sent, [answer(&[], &said)]);
    }
    let other_host = [2, 0, 0, 0, 0, 8];
    assert!(
        rig.pass(frame(other_host, LOCAL_EXPERIMENT, &said))
            .is_empty()
    );
    assert!(rig.pass(frame(MAC, 0x88b6, &said)).is_empty());
}

#[test]
fn a_new_feature_also_receives_frames_of_vlan_interfaces() {
    let mut rig = Rig::new(Newcomer);
    rig.run("/interface/vlan/add name=seven interface=ether1 vlan-id=7");
    let tag = [0x81, 0, 0, 7];
    let mut tagged = frame(MAC, LOCAL_EXPERIMENT, &[1]);
    tagged.splice(12..12, tag);

    assert_eq!(rig.pass(tagged), [answer(&tag, &[1])]);
}

#[test]
fn frames_to_and_from_a_new_feature_are_limited() {
    let mut rig = Rig::new(Newcomer);
    assert_eq!(rig.pass(frame(MAC, LOCAL_EXPERIMENT, &[200])).len(), 64);
    // Each sender may use half of the receiver's limit.
    for sender in 1..=30 {
        for _ in 0..10 {
            let mut frame = frame(MAC, LOCAL_EXPERIMENT, &[0]);
            frame[11] = sender;
            rig.pass(frame);
        }
    }
    let drops = rig.run("/tool/drop/print detail without-paging");
    let has = |words: &str| drops.contains(words);
    assert!(has(r#"reason="feature-sends" packets=136"#), "{drops}");
    let limited = r#"reason="service-limit" service="newcomer" packets="#;
    assert!(has(limited), "{drops}");
    assert!(has(r#"reason="service-sender-limit""#), "{drops}");
}

#[test]
fn the_trace_names_it() {
    let mut rig = Rig::new(Newcomer);
    let id = rig.control().layout.named("ether1").expect("it is there").0;
    let control = rig.control();
    let tables = WorkerTables {
        snapshot: &control.snapshot(),
        interfaces: control.interfaces(),
        fib: control.fib(),
    };
    let walked = dataplane::trace_packet(tables, &frame(MAC, LOCAL_EXPERIMENT, &[1]), id);
    let said = walked.lines.last().map(|line| line.decision.as_str());
    assert_eq!(said, Some("the service newcomer takes it"));
}

/// A second feature that registers for ARP frames.
#[derive(Debug)]
struct Rival;

impl Feature for Rival {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        let arp = Match::Frame(FrameContent::EtherType(EtherType::ARP.0));
        vec![Service::new("rival", [arp], RATE)]
    }

    fn hear(&mut self, _: &ReceivedPacket<'_>, _: &Running<'_>, _: &mut Effects) -> ReceiveOutcome {
        panic!("it has no frames");
    }
}

#[test]
fn a_second_receiver_of_an_ethertype_gets_no_frames_and_is_logged() {
    let mut rig = Rig::new(Rival);
    rig.run("/ip/address/add address=10.0.0.1/24 interface=ether1");
    let question = wire::arp::Repr {
        operation: wire::arp::Operation::REQUEST,
        sender_mac: Mac(STATION),
        sender: [10, 0, 0, 2].into(),
        target_mac: Mac::ZERO,
        target: [10, 0, 0, 1].into(),
    };
    let sent = rig.pass(frame([0xff; 6], EtherType::ARP.0, &question.to_bytes()));
    let answers = sent
        .iter()
        .filter(|frame| frame[20..22] == [0, 2] && frame[..6] == STATION);
    assert_eq!(answers.count(), 1, "ARP answers: {sent:?}");
    let log = rig.run("/log/print without-paging");
    assert!(
        log.contains("rival: EtherType 0x0806 is already received by arp"),
        "{log}"
    );
}
