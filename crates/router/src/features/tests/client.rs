//! Tests of a service like a DHCP client's: offers arrive by a UDP port on interfaces without an
//! address, regardless of the firewall, and without a mirror.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use dataplane::service::{Addressed, Match, Rate, Scope, Service};
use frame::InterfaceId;
use wire::{Protocol, ipv4};

use super::rig::{Rig, frame};
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::{Effect, Effects, Feature};
use crate::running::Running;

const CLIENT: &str = "dhcp-client";

/// A received offer: interface, port interface, and data.
type Offered = (String, String, Vec<u8>);

/// Records what it receives on interfaces without an address.
#[derive(Clone, Debug, Default)]
struct Client(Arc<Mutex<Vec<Offered>>>);

impl Client {
    fn heard(&self) -> Vec<Offered> {
        core::mem::take(&mut self.0.lock().expect("no test panics while it holds it"))
    }
}

impl Feature for Client {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        let port = Match::Udp {
            ipv6: false,
            port: 68,
        };
        let rate = Rate {
            per_second: 100,
            burst: 20,
        };
        vec![Service {
            addressed: Addressed::Many,
            meets_rules: false,
            scope: Scope::Asked,
            ..Service::new(CLIENT, [port], rate)
        }]
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        for id in others {
            out.push(Effect::Hear {
                service: CLIENT,
                interface: *id,
                on: running.first4(*id).is_none(),
            });
        }
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        _: &mut Effects,
    ) -> ReceiveOutcome {
        let packet = ipv4::Packet::new_checked(heard.packet()).expect("it is whole");
        let datagram = packet.payload()[8..].to_vec();
        let name = |id| running.layout.name(id).to_string();
        let of = (name(heard.interface), name(heard.port), datagram);
        self.0.lock().expect("nobody panics").push(of);
        ReceiveOutcome::Taken
    }
}

/// Returns a broadcast offer with this fragment field.
fn offer(payload: &[u8], fragment: ipv4::Fragment) -> Vec<u8> {
    let header = ipv4::Repr {
        id: 77,
        fragment,
        ..ipv4::Repr::new(Protocol::UDP, [10, 0, 0, 1].into(), [255; 4].into())
    };
    let packet = [&header.to_bytes(payload.len())[..], payload].concat();
    frame([0xff; 6], 0x0800, &packet)
}

fn datagram(data: &[u8]) -> Vec<u8> {
    let len = 8 + data.len() as u16;
    let [high, low] = len.to_be_bytes();
    [&[0, 67, 0, 68, high, low, 0, 0][..], data].concat()
}

fn offered(at: &str, data: &[u8]) -> Offered {
    (at.to_owned(), "ether1".to_owned(), data.to_vec())
}

#[test]
fn a_client_receives_offers_on_an_interface_without_an_address() {
    let client = Client::default();
    let mut rig = Rig::new(client.clone());
    rig.run("/ip/firewall/filter/add chain=input action=drop");
    let whole = offer(&datagram(b"offer"), ipv4::Fragment::WHOLE);

    rig.pass(whole.clone());
    assert_eq!(client.heard(), [offered("ether1", b"offer")]);
    assert_eq!(rig.control().mirrors.len(), 0, "nobody asked for a mirror");

    // Adds an address and removes it again.
    rig.run("/ip/address/add address=10.0.0.2/24 interface=ether1");
    rig.pass(whole.clone());
    assert_eq!(client.heard(), []);
    rig.run("/ip/address/remove 0");
    rig.pass(whole);
    assert_eq!(client.heard().len(), 1);
}

#[test]
fn a_client_receives_offers_on_a_vlan_without_an_address() {
    let client = Client::default();
    let mut rig = Rig::new(client.clone());
    rig.run("/interface/vlan/add name=seven interface=ether1 vlan-id=7");
    let mut tagged = offer(&datagram(b"seven"), ipv4::Fragment::WHOLE);
    tagged.splice(12..12, [0x81, 0, 0, 7]);

    rig.pass(tagged);
    assert_eq!(client.heard(), [offered("seven", b"seven")]);
}

#[test]
fn an_offer_in_fragments_is_heard_whole() {
    let client = Client::default();
    let mut rig = Rig::new(client.clone());
    let data: Vec<u8> = (0..100).collect();
    let datagram = datagram(&data);
    let (first, last) = datagram.split_at(64);
    rig.pass(offer(last, ipv4::Fragment::piece(64, false)));
    assert_eq!(client.heard(), []);
    rig.pass(offer(first, ipv4::Fragment::piece(0, true)));

    assert_eq!(client.heard(), [offered("ether1", &data)]);
}
