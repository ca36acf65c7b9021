//! Tests of the DHCP server in a router: received and sent frames, rows and commands.

use std::net::Ipv4Addr;

use service::dhcp::{CLIENT_PORT, Message, MessageType, SERVER_PORT, code, packet};
use wire::ipv4;

use super::rig::{Rig, STATION, frame};
use crate::feature::Feature;

/// An empty feature, since the rig needs a feature of the test.
#[derive(Debug)]
struct Nothing;

impl Feature for Nothing {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }
}

const ALL: [u8; 6] = [0xff; 6];
const NONE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 20);

fn rig(server: &str) -> Rig {
    let mut rig = Rig::new(Nothing);
    rig.run(&format!(
        "/ip/address/add address=10.0.0.1/24 interface=ether1\n\
         /ip/pool/add name=lan ranges=10.0.0.10-10.0.0.20\n\
         /ip/dhcp-server/add name=lan interface=ether1 address-pool=lan {server}\n\
         /ip/dhcp-server/network/add address=10.0.0.0/24 gateway=10.0.0.1"
    ));
    rig
}

fn message(kind: MessageType) -> Message {
    let mut message = Message {
        xid: 7,
        ..Message::default()
    };
    message.chaddr[..6].copy_from_slice(&STATION);
    message.options.set(code::MESSAGE_TYPE, [kind.into()]);
    message
}

fn request(address: Ipv4Addr) -> Message {
    let mut request = message(MessageType::Request);
    request.options.set(code::REQUESTED, address.octets());
    request.options.set(code::SERVER_ID, [10, 0, 0, 1]);
    request
}

fn sent(message: &Message) -> Vec<u8> {
    let packet = packet(
        NONE,
        CLIENT_PORT,
        Ipv4Addr::BROADCAST,
        SERVER_PORT,
        &message.encode(0),
    );
    frame(ALL, 0x0800, &packet)
}

/// Returns the DHCP answers among frames, with their destination addresses.
fn answers(frames: &[Vec<u8>]) -> Vec<(Vec<u8>, Message)> {
    let ipv4 = frames.iter().filter(|frame| frame[12..14] == [8, 0]);
    ipv4.filter_map(|frame| {
        let packet = ipv4::Packet::new_verified(&frame[14..]).ok()?;
        let message = Message::decode(&packet.payload()[8..]).ok()?;
        Some((frame[..6].to_vec(), message))
    })
    .collect()
}

/// Returns the only answer to a message.
fn ask(rig: &mut Rig, message: &Message) -> (Vec<u8>, Message) {
    let frames = rig.pass(sent(message));
    let mut answers = answers(&frames);
    assert_eq!(answers.len(), 1, "{message:?}");
    answers.remove(0)
}

#[test]
fn a_client_gets_its_address_whatever_the_firewall_lets_in() {
    let mut rig = rig("conflict-detection=no");
    rig.run("/ip/firewall/filter/add chain=input action=drop");
    let (to, offer) = ask(&mut rig, &message(MessageType::Discover));
    assert_eq!((to, offer.yiaddr), (STATION.to_vec(), FIRST));
    let (_, ack) = ask(&mut rig, &request(FIRST));

    assert_eq!(ack.kind(), Some(MessageType::Ack));
    let leases = rig.run("/ip/dhcp-server/lease/print detail without-paging");
    assert!(
        leases.contains("address=10.0.0.20") && leases.contains("status=bound"),
        "{leases}"
    );
    rig.run("/ip/dhcp-server/lease/remove [find]");
    let gone = rig.run("/ip/dhcp-server/lease/print count-only");
    assert_eq!(gone.trim(), "0");
}

#[test]
fn an_address_that_is_in_use_is_not_offered() {
    let mut rig = rig("");
    let frames = rig.pass(sent(&message(MessageType::Discover)));
    assert!(answers(&frames).is_empty());
    let is_probe = |frame: &&Vec<u8>| frame[12..14] == [8, 6] && frame[38..42] == FIRST.octets();
    let probe = frames.iter().find(is_probe);
    let probe = probe.expect("somebody is asked for");
    assert_eq!(&probe[..6], &ALL);

    let mut reply = vec![0, 1, 8, 0, 6, 4, 0, 2];
    reply.extend([2, 0, 0, 0, 0, 0x77]);
    reply.extend(FIRST.octets());
    reply.extend(&probe[22..28]);
    reply.extend([0, 0, 0, 0]);
    rig.pass(frame(super::rig::MAC, 0x0806, &reply));
    let offers = answers(&rig.go_on_until(3));
    assert_eq!(offers.len(), 1);
    assert_eq!(offers[0].1.yiaddr, Ipv4Addr::new(10, 0, 0, 19));
    let leases = rig.run("/ip/dhcp-server/lease/print terse without-paging");
    assert!(
        leases.contains("status=conflict") && leases.contains("10.0.0.20"),
        "{leases}"
    );
}

#[test]
fn a_server_that_cannot_serve_is_invalid_and_says_why() {
    let mut rig = rig("");
    let print = "/ip/dhcp-server/print without-paging";
    assert!(!rig.run(print).contains("no IP address"));
    rig.run("/ip/address/remove [find]");
    let shown = rig.run(print);
    assert!(
        shown.contains(";;; interface has no IP address") && shown.contains(" I "),
        "{shown}"
    );
    assert!(answers(&rig.pass(sent(&message(MessageType::Discover)))).is_empty());
    rig.run("/interface/bridge/add name=b; /interface/bridge/port/add bridge=b interface=ether1");
    let shown = rig.run(print);
    assert!(shown.contains("can not run on slave interface"), "{shown}");
}

#[test]
fn entries_that_a_lease_added_are_removed_with_it() {
    let mut rig = rig("conflict-detection=no add-arp=yes address-lists=guests");
    ask(&mut rig, &message(MessageType::Discover));
    ask(&mut rig, &request(FIRST));
    let count = |rig: &mut Rig, menu: &str| {
        let print = format!("{menu}/print count-only where address=10.0.0.20");
        rig.run(&print).trim().to_owned()
    };

    assert_eq!(count(&mut rig, "/ip/arp"), "1");
    assert_eq!(count(&mut rig, "/ip/firewall/address-list"), "1");
    rig.run("/ip/dhcp-server/lease/make-static [find]");
    rig.run("/ip/dhcp-server/lease/set 0 address-lists=known");
    let lists = rig.run("/ip/firewall/address-list/print terse without-paging");
    assert!(
        lists.contains("list=known") && !lists.contains("guests"),
        "{lists}"
    );
    let mut release = request(FIRST);
    release.options.set(code::MESSAGE_TYPE, [7]);
    release.ciaddr = FIRST;
    rig.pass(sent(&release));
    assert_eq!(count(&mut rig, "/ip/arp"), "0");
    assert_eq!(count(&mut rig, "/ip/firewall/address-list"), "0");
    let leases = rig.run("/ip/dhcp-server/lease/print terse without-paging");
    assert!(leases.contains("status=waiting"), "{leases}");
}

#[test]
fn whoever_may_not_is_discarded_under_a_name() {
    let mut rig = rig("client-mac-limit=1 conflict-detection=no");
    let mut discover = message(MessageType::Discover);
    ask(&mut rig, &discover);
    discover.options.set(code::CLIENT_ID, [9, 9]);
    rig.pass(sent(&discover));
    let mut bytes = sent(&discover);
    bytes.truncate(100);
    rig.pass(bytes);
    let drops = rig.run("/tool/drop/print without-paging");
    assert!(drops.contains("dhcp-mac-limit"), "{drops}");
}
