//! Tests of flow offload without firewall: ports learn the flows that the fast path forwards, and
//! no others.

use frame::shortcut::{AddressPair, Handler, Rules, Shortcut, ShortcutPath};

use super::{ip4, rig, with_options};
use crate::out::OutId;
use crate::snapshot::SlowReason;
use crate::table::Adjacency;
use crate::testing::{ETHER1, ETHER2, GATEWAY, MAC, Rig, Udp4, Udp6, gateway};

const FIRST: u32 = 31;
const SECOND: u32 = 32;

/// Returns a router with a device behind each port.
fn learning() -> Rig {
    let rig = rig();
    for (port, device) in [(0, FIRST), (1, SECOND)] {
        rig.ports[port].line().device = Some(device);
    }
    rig
}

fn learned(rig: &mut Rig) -> Vec<Shortcut> {
    assert_eq!(rig.ports[1].line().learned, []);
    core::mem::take(&mut rig.ports[0].line().learned)
}

#[test]
fn a_port_learns_what_went_straight() {
    let mut rig = learning();
    let lane = ShortcutPath {
        ingress: ETHER1,
        to: MAC,
        egress: ETHER2,
        device: SECOND,
        link: GATEWAY,
        mtu: 1500,
        handler: Handler::FastPath,
        rules: Rules::default(),
    };
    let (udp4, udp6) = (Udp4::default(), Udp6::default());

    rig.arrive(udp4.frame());
    rig.arrive(udp6.frame());
    rig.arrive(udp4.frame());
    rig.settle();

    let between = |source, destination, ipv6| Shortcut {
        between: AddressPair {
            source,
            destination,
            ipv6,
        },
        connection: None,
        lane,
    };
    let ipv4 = between(udp4.source.into(), udp4.destination.into(), false);
    let ipv6 = between(udp6.source, udp6.destination, true);
    assert_eq!(learned(&mut rig), [ipv4, ipv6, ipv4]);
}

#[test]
fn a_port_learns_nothing_of_packets_about_which_more_was_decided() {
    let mut rig = learning();
    let members = [rig.gateway, rig.add_hop(&gateway())];
    let group = rig.add_hop(&Adjacency::group(&members));
    rig.route4(0x0e00_0000, 8, group);
    let back = Adjacency {
        egress: ETHER1,
        out: OutId::port(0),
        ..gateway()
    };
    let back = rig.add_hop(&back);
    rig.route4(0x0f00_0000, 8, back);
    rig.snapshot.send_redirects = true;
    rig.publish();
    let udp = Udp4::default();
    let to = |destination| Udp4 {
        destination,
        ..Udp4::default()
    };
    let frames = [
        // Expiring TTL; options; larger than the MTU; one of several gateways; back to the ingress
        // interface.
        Udp4 { ttl: 1, ..udp }.frame(),
        ip4(&with_options(&[1; 4])),
        Udp4 {
            payload: 1500,
            ..udp
        }
        .frame(),
        to(0x0e00_0001).frame(),
        to(0x0f00_0001).frame(),
        to(0x0a00_0001).frame(),
        to(0x0c01_0001).frame(),
    ];
    for frame in frames {
        rig.arrive(frame);
    }
    rig.settle();

    assert_eq!(learned(&mut rig), []);
}

#[test]
fn a_port_learns_nothing_without_fast_path_or_a_device_to_lead_to() {
    let mut rig = learning();
    rig.ports[1].line().device = None;
    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    assert_eq!(learned(&mut rig), []);

    rig.ports[1].line().device = Some(SECOND);
    rig.snapshot.ipv6.slow = [SlowReason::NotAllowed].into_iter().collect();
    rig.publish();
    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    assert_eq!(learned(&mut rig), []);
}
