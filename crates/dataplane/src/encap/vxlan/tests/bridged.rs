//! Tests of a VXLAN network as a bridge port.

use std::sync::Arc;

use super::{FAR, OTHER, STATION, VXLAN, arriving, between, network, rig};
use crate::bridge::{Bridge, BridgePort};
use crate::interface::{Above, Interface};
use crate::out::OutId;
use crate::testing::{ETHER2, Rig, arp};
use frame::InterfaceId;
use wire::Mac;

const BRIDGE: InterfaceId = InterfaceId(22);

/// Returns a bridge of the network and `ether2`; remote ends are behind `ether1`.
fn bridged() -> Rig {
    let mut rig = rig(network());
    rig.lead_back();
    let line = rig.interfaces.get(VXLAN).expect("it is there");
    let port = Interface {
        above: Above::Bridge,
        ..line
    };
    rig.interfaces.set(VXLAN, &port);
    rig.interface(ETHER2).above = Above::Bridge;
    for id in [VXLAN, ETHER2] {
        rig.interfaces.set_above(id, BRIDGE);
    }
    let own = Interface {
        mac: Mac([2, 0, 0, 0, 0, 22]),
        out: OutId::bridge(BRIDGE),
        under: BRIDGE,
        ..line
    };
    rig.interfaces.set(BRIDGE, &own);
    let ports = [VXLAN, ETHER2].map(|interface| BridgePort {
        interface,
        ..BridgePort::default()
    });
    let bridge = Bridge::new(BRIDGE, ports);
    rig.interfaces.bridges().set(BRIDGE, Some(Arc::new(bridge)));
    rig.publish();
    rig
}

#[test]
fn frames_are_bridged_into_a_network_and_out_of_it() {
    let mut rig = bridged();
    rig.arrive_unfinished(1, between(OTHER, STATION), frame::Offload::FINISHED);
    rig.settle();
    let sent = rig.sent(0);
    assert_eq!(sent.len(), 1, "{:?}", rig.drops());
    assert_eq!(sent[0][50..], between(OTHER, STATION));

    let answer = between(STATION, OTHER);
    assert_eq!(rig.pass(arriving(FAR[0], &answer)), [answer]);
    // A broadcast without an IP packet.
    assert_eq!(rig.pass(arriving(FAR[0], &arp())), [arp()]);
    assert_eq!(rig.traffic(VXLAN).rx.packets, 2);
    assert_eq!(rig.traffic(VXLAN).tx.packets, 1);
    let bridges = rig.interfaces.bridges();
    assert_eq!(bridges.hosts().learned(BRIDGE), 3);
    assert_eq!(
        rig.interfaces
            .peers()
            .hosts()
            .map(|hosts| hosts.learned(VXLAN)),
        Some(2)
    );
}
