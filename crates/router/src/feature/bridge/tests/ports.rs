//! Changing ports one by one gives the bridges that a load gives.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use machine::Rng;

use super::*;
use crate::intent::Name;
use board::{Reason, SwitchPosition};

const PORT: &str = "/interface/bridge/port";
const START: &str = "/interface/bridge/add name=b protocol-mode=stp
/interface/bridge/add name=c protocol-mode=none
/interface/vlan/add name=v1 interface=ether1 vlan-id=1
/interface/vlan/add name=v2 interface=ether1 vlan-id=2 mtu=1400
/interface/vlan/add name=v3 interface=ether1 vlan-id=3
/interface/list/add name=many
/interface/list/member/add list=many interface=ether4
";

/// Returns a random change of one of `count` ports; the router refuses some of them.
fn command(rng: &mut Rng, count: usize) -> String {
    let which = rng.next_u32() as usize % count.max(1);
    let bridge = ["b", "c"][rng.next_u32() as usize % 2];
    let vlan = rng.next_u32() % 3 + 1;
    let interface = ["v1", "v2", "v3", "v3", "ether2", "ether3", "many"];
    let interface = interface[rng.next_u32() as usize % interface.len()];
    match rng.next_u32() % 14 {
        0..=3 => format!("{PORT}/add bridge={bridge} interface={interface}"),
        4 => format!("{PORT}/remove {which}"),
        5 => format!("{PORT}/disable {which}"),
        6 => format!("{PORT}/enable {which}"),
        7 => format!("{PORT}/set {which} bridge={bridge}"),
        8 => format!("{PORT}/set {which} interface={interface}"),
        9 => format!(
            "{PORT}/set {which} pvid={} hw={}",
            which + 2,
            ["yes", "no"][which % 2]
        ),
        10 => format!(
            "/interface/vlan/set [find vlan-id={vlan}] name=v{}",
            vlan + 4 * (vlan % 2)
        ),
        11 => format!("/interface/vlan/set [find vlan-id={vlan}] disabled=yes"),
        12 => format!("/interface/vlan/set [find vlan-id={vlan}] disabled=no"),
        _ => format!("/ip/address/add address=10.0.{vlan}.1/24 interface=v{vlan}"),
    }
}

/// A published port: its name, the trees in which it learns and forwards, and its VLAN.
type PortShape = (String, u32, u32, u16);

/// The parts of a router that the test compares.
#[derive(Debug, PartialEq)]
struct Shape {
    bridges: Vec<(Vec<PortShape>, String, Vec<Ipv4Addr>)>,
    switched: BTreeMap<Name, Result<SwitchPosition, Reason>>,
}

fn shape(desk: &mut Desk) -> Shape {
    let bridges = ["b", "c"].map(|name| {
        let id = desk.id(name);
        let bridge = desk.bridge(name);
        let control = desk.router.control();
        let ports = bridge.iter().flat_map(|bridge| bridge.ports());
        let ports = ports.map(|port| {
            let name = control.layout.name(port.interface).to_string();
            (name, port.learning, port.forwarding, port.pvid)
        });
        let ports = ports.collect();
        let addresses = { control.addresses.of4(id) }.map(|(address, _)| address);
        let addresses = addresses.collect();
        let mtu = desk.value(&format!("/interface/get {name} actual-mtu"));
        let mac = desk.value(&format!("/interface/bridge/get {name} mac-address"));
        (ports, format!("{mtu} {mac}"), addresses)
    });
    Shape {
        bridges: bridges.into(),
        switched: desk.router.control().features.bridges.switched.clone(),
    }
}

#[test]
fn ports_that_change_one_by_one_give_the_same_bridges_as_a_load() {
    for seed in 0..12 {
        let mut rng = Rng::seeded(seed);
        let mut desk = Desk::new(START);
        let mut done = String::new();
        for _ in 0..15 {
            let count = desk.value(&format!("{PORT}/find")).split(';').count();
            let said = command(&mut rng, count);
            if desk.try_run(&said).is_ok() {
                done += &format!("{said}\n");
            }
            desk.wait(35);
            let mut loaded = Desk::new("");
            loaded.run(&desk.run("/export"));
            loaded.wait(35);
            assert_eq!(shape(&mut desk), shape(&mut loaded), "seed {seed}:\n{done}");
        }
    }
}
