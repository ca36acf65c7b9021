//! Benchmark rows of bridges: frames between two ports with half of the hosts behind each, every
//! frame between two random hosts.

use std::sync::Arc;

use frame::InterfaceId;
use machine::Rng;

use super::measure::Bench;
use super::packets::{Templates, packet};
use super::rig::{CLIENT_MAC, EGRESS, INGRESS, Rig, class_of};
use super::rules::{Build, of_bridges};
use super::{Family, Invalid, Options, Row};
use dataplane::bridge::{Bridge, BridgePort, Member, VlanTable};
use dataplane::firewall::Firewall;
use dataplane::interface::{Above, Interface};
use dataplane::out::OutId;
use dataplane::table::HostKey;

/// The names of these rows: a bridge without VLANs; one with VLAN filtering, whose frames arrive
/// tagged and leave untagged; the first with 25 rules of `/interface/bridge/filter`, which all
/// frames pass.
pub const BRIDGED: &[&str] = &["bridging-fast-path", "bridge-vlan", "bridge-filter-25"];

/// Numbers of hosts for `bridging-fast-path`. `bridge-vlan` uses the second number, in as many
/// VLANs.
const HOSTS: [u32; 3] = [1, 1_000, 64_000];
const VLANS: [u16; 2] = [1, 1_000];
/// Room for the hosts of all bridges, as control allocates it.
const ROOM: u32 = 131_072;
/// The bridge, and its MAC address.
pub(super) const BRIDGE: InterfaceId = InterfaceId(EGRESS.0 + 1);
pub(super) const BRIDGE_MAC: [u8; 6] = [2, 0, 0, 0, 0, 3];
/// EtherType of the tags.
const TAG: u16 = 0x8100;

/// The size of a bridge.
#[derive(Clone, Copy)]
struct Size {
    hosts: u32,
    /// Number of VLANs; 0 without filtering.
    vlans: u16,
    /// Number of filter rules.
    rules: u32,
}

/// Measures the rows of these names.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn bridged(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let sizes: Vec<_> = match name {
            "bridge-vlan" => { VLANS.iter() }
                .map(|vlans| Size {
                    hosts: HOSTS[1],
                    vlans: *vlans,
                    rules: 0,
                })
                .collect(),
            _ => { HOSTS.iter() }
                .map(|hosts| Size {
                    hosts: *hosts,
                    vlans: 0,
                    rules: if name == "bridge-filter-25" { 25 } else { 0 },
                })
                .collect(),
        };
        for size in sizes {
            let mut bench = Bench::new(options, |workers| rig(workers, size, options.seed))?;
            for &frame in &options.frames {
                bench.load(|rig, seed| {
                    rig.load_these(|_, worker| templates(frame, size, seed + worker));
                });
                emit(Row {
                    row: name,
                    family: Family::Ipv4.name(),
                    frame,
                    flows: size.hosts,
                    hosts: size.hosts,
                    vlans: size.vlans,
                    ..bench.measure()?
                });
            }
        }
    }
    Ok(())
}

/// Builds a router with a bridge of two ports, which knows the hosts behind the second.
fn rig(workers: u16, size: Size, seed: u64) -> Result<Rig, Invalid> {
    let firewall = match size.rules {
        0 => Firewall::default(),
        count => Build::new(Family::Ipv4)
            .bridge_filter(of_bridges(count, seed))
            .done(),
    };
    let mut rig = Rig::new(Family::Ipv4, 1, workers, firewall, seed)?;
    let ports = [INGRESS, EGRESS];
    let vlans = (size.vlans > 0).then(|| {
        let mut vlans = VlanTable::new(ports.len());
        for vid in 1..=size.vlans {
            vlans.set(vid, 0, Member::Tagged);
            vlans.set(vid, 1, Member::Untagged);
        }
        Arc::new(vlans)
    });
    attach(&mut rig, &ports, vlans, seed)?;
    for number in 0..half(size) {
        let host = (vid(size, number), mac_number(1, number));
        learn(&rig, host, EGRESS);
    }
    Ok(rig)
}

/// Creates a bridge of these ports.
pub(super) fn attach(
    rig: &mut Rig,
    ports: &[InterfaceId],
    vlans: Option<Arc<VlanTable>>,
    seed: u64,
) -> Result<(), Invalid> {
    let members = ports.iter().map(|interface| BridgePort {
        interface: *interface,
        ..BridgePort::default()
    });
    let mut bridge = Bridge::new(BRIDGE, members);
    bridge.vlans = vlans;
    let interfaces = rig.interfaces();
    let bridges = interfaces.bridges();
    let memory = |error: std::io::Error| Invalid::Memory(error.to_string());
    bridges.make_room(ROOM, seed).map_err(memory)?;
    let port = interfaces.get(INGRESS).ok_or(Invalid::TableFull)?;
    let line = Interface {
        mac: wire::Mac(BRIDGE_MAC),
        out: OutId::bridge(BRIDGE),
        under: BRIDGE,
        ..port
    };
    interfaces.set(BRIDGE, &line);
    bridges.set(BRIDGE, Some(Arc::new(bridge)));
    for id in ports {
        let line = interfaces.get(*id).ok_or(Invalid::TableFull)?;
        interfaces.set_above(*id, BRIDGE);
        let above = Above::Bridge;
        interfaces.set(*id, &Interface { above, ..line });
    }
    rig.make_room(BRIDGE);
    Ok(())
}

/// Makes the near port a bridge port, with the clients behind the bridge's interface.
pub(super) fn attach_lan(rig: &mut Rig, seed: u64) -> Result<(), Invalid> {
    attach(rig, &[INGRESS], None, seed)?;
    rig.interfaces().set_class(BRIDGE, class_of(BRIDGE), 0);
    rig.interfaces().set_details(BRIDGE, Arc::default());
    let [a, b, c, d, e, f] = CLIENT_MAC;
    let clients = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    learn(rig, (0, clients), INGRESS);
    Ok(())
}

/// Adds a host of the bridge, by VLAN and MAC address, behind a port.
pub(super) fn learn(rig: &Rig, host: (u16, u64), port: InterfaceId) {
    let (vid, mac) = host;
    let key = HostKey {
        bridge: BRIDGE,
        vid,
        mac,
    };
    let hosts = rig.interfaces().bridges().hosts();
    hosts.learn(&key, port, 0, ROOM);
}

/// Returns the number of hosts behind each port.
fn half(size: Size) -> u32 {
    (size.hosts / 2).max(1)
}

/// Returns the VLAN of a host. The frames' source and destination hosts are in one VLAN.
fn vid(size: Size, number: u32) -> u16 {
    match size.vlans {
        0 => 0,
        vlans => (number % u32::from(vlans)) as u16 + 1,
    }
}

/// Returns the MAC address of a host behind the first or second port. As in reality the addresses
/// have few vendors and are scattered.
fn mac_number(side: u64, number: u32) -> u64 {
    const VENDORS: [u64; 4] = [0x001122, 0x28d244, 0x3c5282, 0xd8bbc1];
    let vendor = VENDORS[number as usize % VENDORS.len()];
    let own = u64::from(number).wrapping_mul(0x9e_3779) & 0x7f_ffff;
    vendor << 24 | side << 23 | own
}

/// Returns at least one frame per host, in random order.
fn templates(frame: u16, size: Size, seed: u64) -> Templates {
    let mut rng = Rng::seeded(seed ^ 0xb21d);
    let half = half(size);
    let tags = if size.vlans > 0 { 4 } else { 0 };
    let frames = (0..size.hosts.max(1)).map(|number| {
        let from = number % half;
        // The destination is in the VLAN of the source.
        let step = u32::from(size.vlans.max(1));
        let many = half / step;
        let to = match many {
            0 => from,
            many => from % step + step * rng.below(many.into()) as u32,
        };
        let mut bytes = packet(
            Family::Ipv4,
            frame - tags,
            u128::from(0x0b00_0001 + to),
            &mut rng,
        );
        bytes[..6].copy_from_slice(&mac_number(1, to).to_be_bytes()[2..]);
        bytes[6..12].copy_from_slice(&mac_number(0, from).to_be_bytes()[2..]);
        if tags > 0 {
            let [a, b] = TAG.to_be_bytes();
            let [c, d] = vid(size, to).to_be_bytes();
            bytes.splice(12..12, [a, b, c, d]);
        }
        bytes
    });
    let frames: Vec<_> = frames.collect();
    let len = frames.iter().map(Vec::len).min().unwrap_or(0);
    Templates::of(frames, len, seed)
}
