//! Data of PPPoE sessions on each kind of interface that carries them: packets enter by their session's key and leave
//! with the link header of the interface below.

use core::net::Ipv4Addr;

use dataplane::interface::Session;
use service::neighbour::Mode;
use wire::{Mac, Protocol, checksum, ipv4};

use super::rig::{MAC, Rig, STATION};
use super::tunnels::Nothing;
use crate::feature::Effects;
use crate::intent::{Address4, Class, Interface};
use crate::kind::pppoe::Pppoe;
use crate::object::{Made, Owner};

const MENU: &str = "/interface/pppoe-server";
const SESSION: Session = Session {
    peer: Mac(STATION),
    number: 7,
};
const NAME: &str = "<pppoe-anna>";
const OWNER: Owner = Owner {
    feature: "test",
    number: 1,
};
/// The router's address of the session, and the client's.
const HERE: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 7);

/// Makes the interface of a session on another interface, with an address.
fn open(rig: &mut Rig, on: &str) {
    let interface = Interface {
        name: NAME.into(),
        disabled: false,
        mtu: 1492,
        arp: Mode::Enabled,
        arp_timeout: None,
        kind: Pppoe {
            on: on.into(),
            session: SESSION,
        }
        .into(),
        class: Class::Ppp,
    };
    let address = Address4 {
        addr: HERE,
        len: 32,
        network: CLIENT,
        interface: NAME.into(),
        disabled: false,
    };
    let mut out = Effects::default();
    out.object(OWNER, Made::Interface(MENU, interface));
    out.object(OWNER, Made::Address4(address));
    rig.control().carry_out(out);
}

/// Returns an echo request from the client, with `bytes` of data, or the router's reply to it.
fn echo(bytes: usize, is_reply: bool) -> Vec<u8> {
    let mut icmp = vec![if is_reply { 0 } else { 8 }, 0, 0, 0, 0, 5, 0, 1];
    icmp.resize(8 + bytes, 0xa5);
    let sum = checksum::checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let (from, to) = if is_reply {
        (HERE, CLIENT)
    } else {
        (CLIENT, HERE)
    };
    let header = ipv4::Repr::new(Protocol::ICMP, from, to).to_bytes(icmp.len());
    [&header[..], &icmp].concat()
}

/// Returns a frame of the session with this packet behind these tags.
fn of_session(to: [u8; 6], from: [u8; 6], tags: &[u8], packet: &[u8]) -> Vec<u8> {
    let mut frame = [&to[..], &from, tags, &[0x88, 0x64, 0x11, 0, 0, 7]].concat();
    frame.extend((packet.len() as u16 + 2).to_be_bytes());
    frame.extend([0, 0x21]);
    frame.extend(packet);
    frame
}

/// Returns the ICMP message of a session frame; checks the lengths of both headers.
fn message(frame: &[u8], tags: usize) -> Vec<u8> {
    let behind = &frame[14 + tags..];
    let stated = usize::from(u16::from_be_bytes([behind[4], behind[5]]));
    assert_eq!(stated + 6, behind.len(), "{frame:x?}");
    let packet = ipv4::Packet::new_verified(&behind[8..]).expect("an IPv4 packet");
    packet.payload().to_vec()
}

/// Checks that a ping over the session is answered, without loss of a byte, also where Ethernet pads.
fn answers(rig: &mut Rig, link: [u8; 6], tags: &[u8]) {
    for bytes in [0, 1, 18, 56, 1464] {
        let mut request = of_session(link, STATION, tags, &echo(bytes, false));
        request.resize(request.len().max(60), 0);
        let sent = rig.pass(request);
        let [reply] = &sent[..] else {
            panic!("{bytes} bytes: {} frames", sent.len());
        };
        let expected = [&STATION[..], &link, tags, &[0x88, 0x64, 0x11, 0, 0, 7]].concat();
        assert_eq!(reply[..expected.len()], expected);
        assert_eq!(message(reply, tags.len()), echo(bytes, true)[20..]);
    }
}

fn rig(commands: &[&str]) -> Rig {
    let mut rig = Rig::new(Nothing);
    for command in commands {
        rig.run(command);
    }
    rig.go_on_until(2);
    rig
}

fn mac_of(rig: &mut Rig, name: &str) -> [u8; 6] {
    let (_, laid) = rig.control().layout.named(name).expect("it is laid out");
    laid.link.mac.0
}

#[test]
fn a_session_on_ethernet_and_on_vlans_carries_packets() {
    let mut plain = rig(&[]);
    open(&mut plain, "ether1");
    answers(&mut plain, MAC, &[]);

    let mut tagged = rig(&[
        "/interface/vlan/add name=seven interface=ether1 vlan-id=7",
        "/interface/vlan/add name=inner interface=seven vlan-id=9",
        "/interface/vlan/add name=deep interface=inner vlan-id=10",
    ]);
    open(&mut tagged, "seven");
    answers(&mut tagged, MAC, &[0x81, 0, 0, 7]);
    let mut double = rig(&[
        "/interface/vlan/add name=seven interface=ether1 vlan-id=7 use-service-tag=yes",
        "/interface/vlan/add name=inner interface=seven vlan-id=9",
        "/interface/vlan/add name=deep interface=inner vlan-id=10",
    ]);
    open(&mut double, "inner");
    answers(&mut double, MAC, &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9]);

    // A third tag does not fit into the header of a next hop.
    let mut deep = double;
    open_on(&mut deep, "deep");
    assert!(is_invalid(&mut deep));
}

/// Returns whether the interface of the session cannot work.
fn is_invalid(rig: &mut Rig) -> bool {
    let (_, laid) = rig.control().layout.named(NAME).expect("it is laid out");
    laid.invalid
}

/// Moves the session to another interface.
fn open_on(rig: &mut Rig, on: &str) {
    let mut out = Effects::default();
    out.push(crate::feature::Effect::Gone(OWNER));
    rig.control().carry_out(out);
    open(rig, on);
}

#[test]
fn a_session_on_a_bridge_and_on_a_bond_carries_packets() {
    let mut bridged = rig(&[
        "/interface/bridge/add name=lan protocol-mode=none",
        "/interface/bridge/port/add bridge=lan interface=ether1",
    ]);
    let link = mac_of(&mut bridged, "lan");
    open(&mut bridged, "lan");
    answers(&mut bridged, link, &[]);

    let mut bonded = rig(&["/interface/bonding/add name=uplink slaves=ether1 mode=active-backup"]);
    let link = mac_of(&mut bonded, "uplink");
    open(&mut bonded, "uplink");
    answers(&mut bonded, link, &[]);

    let mut vlan = rig(&[
        "/interface/bridge/add name=lan protocol-mode=none vlan-filtering=yes",
        "/interface/bridge/port/add bridge=lan interface=ether1",
        "/interface/bridge/vlan/add bridge=lan tagged=lan,ether1 vlan-ids=20",
        "/interface/vlan/add name=twenty interface=lan vlan-id=20",
    ]);
    let link = mac_of(&mut vlan, "twenty");
    open(&mut vlan, "twenty");
    answers(&mut vlan, link, &[0x81, 0, 0, 20]);
}

/// Returns the frame in a packet of EoIP or VXLAN, which begins `at` bytes into its frame.
fn inner(sent: &[Vec<u8>], at: usize) -> Vec<u8> {
    let [outer] = sent else {
        panic!("{} frames", sent.len());
    };
    outer[at..].to_vec()
}

/// Returns a packet from the far end of a tunnel to this router.
fn outer(protocol: Protocol, headers: &[u8], frame: &[u8]) -> Vec<u8> {
    let (far, here) = (Ipv4Addr::new(192, 0, 2, 2), Ipv4Addr::new(192, 0, 2, 1));
    let ip = ipv4::Repr::new(protocol, far, here).to_bytes(headers.len() + frame.len());
    [&MAC[..], &STATION, &[8, 0], &ip, headers, frame].concat()
}

#[test]
fn a_session_on_eoip_and_on_vxlan_carries_packets() {
    let far = "/ip/address/add address=192.0.2.1/24 interface=ether1;
        /ip/arp/add address=192.0.2.2 interface=ether1 mac-address=02:00:00:00:00:09;";
    let mut eoip = rig(&[
        far,
        "/interface/eoip/add name=far remote-address=192.0.2.2 local-address=192.0.2.1 tunnel-id=3",
    ]);
    let link = mac_of(&mut eoip, "far");
    open(&mut eoip, "far");
    let request = of_session(link, STATION, &[], &echo(40, false));
    let [high, low] = (request.len() as u16).to_be_bytes();
    let gre = [0x20, 1, 0x64, 0, high, low, 3, 0];
    let sent = eoip.pass(outer(Protocol(47), &gre, &request));
    let reply = inner(&sent, 14 + 20 + 8);
    assert_eq!(reply[..12], [&STATION[..], &link].concat());
    assert_eq!(message(&reply, 0), echo(40, true)[20..]);

    let mut vxlan = rig(&[
        far,
        "/interface/vxlan/add name=far vni=5 port=8472 local-address=192.0.2.1",
        "/interface/vxlan/vteps/add interface=far remote-ip=192.0.2.2 port=8472",
    ]);
    let link = mac_of(&mut vxlan, "far");
    open(&mut vxlan, "far");
    let request = of_session(link, STATION, &[], &echo(40, false));
    let [high, low] = (request.len() as u16 + 16).to_be_bytes();
    let udp = [0xc0, 0, 0x21, 0x18, high, low, 0, 0, 8, 0, 0, 0, 0, 0, 5, 0];
    let sent = vxlan.pass(outer(Protocol::UDP, &udp, &request));
    let reply = inner(&sent, 14 + 20 + 16);
    assert_eq!(message(&reply, 0), echo(40, true)[20..]);
}

#[test]
fn the_key_of_a_session_follows_the_interface_below_and_goes_with_it() {
    let mut rig = rig(&["/interface/vlan/add name=seven interface=ether1 vlan-id=7"]);
    open(&mut rig, "seven");
    let tag = |id: u8| [0x81, 0, 0, id];
    answers(&mut rig, MAC, &tag(7));

    rig.run("/interface/vlan/set seven vlan-id=8");
    answers(&mut rig, MAC, &tag(8));
    let old = of_session(MAC, STATION, &tag(7), &echo(8, false));
    assert!(rig.pass(old).is_empty());

    rig.run("/interface/vlan/disable seven");
    let down = of_session(MAC, STATION, &tag(8), &echo(8, false));
    assert!(rig.pass(down).is_empty());
    rig.run("/interface/vlan/enable seven");
    answers(&mut rig, MAC, &tag(8));

    // The interface below gets another name: the session stands on a name that no interface has.
    rig.run("/interface/vlan/set seven name=eight");
    assert!(is_invalid(&mut rig));
    rig.run("/interface/vlan/set eight name=seven");
    answers(&mut rig, MAC, &tag(8));

    rig.run("/interface/vlan/remove seven");
    let interfaces = rig.control().interfaces();
    let id = frame::InterfaceId(1);
    assert!(interfaces.get(id).is_none_or(|line| !line.sessions));
}

#[test]
fn the_mtu_of_a_session_is_that_of_the_interface_below_without_the_header() {
    let mut rig = rig(&["/interface/vlan/add name=seven interface=ether1 vlan-id=7"]);
    open(&mut rig, "seven");
    let (_, laid) = rig.control().layout.named(NAME).expect("it is laid out");
    assert_eq!(laid.link.mtu, 1492);
    let wishes = &rig.control().layout.wishes;
    assert!(wishes.values().all(|wish| wish.mtu.is_none()), "{wishes:?}");

    // A packet that is too long for the link leaves in fragments, each with its own length.
    let request = of_session(MAC, STATION, &[0x81, 0, 0, 7], &echo(1465, false));
    let sent = rig.pass(request);
    assert_eq!(sent.len(), 2);
    let payloads: Vec<_> = sent.iter().map(|frame| message(frame, 4)).collect();
    assert_eq!(payloads.concat(), echo(1465, true)[20..]);
}
