//! Property test: bridges with random ports, VLANs, trees and frames against a simple model.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::Rng;

use super::rig::{BRIDGE, OWN, Switch, frame};
use crate::bridge::{Bridge, BridgePort, FrameTypes, Member, PortSet, VlanTable};
use crate::drop::DropReason;
use crate::table::{Host, HostKey, HostKind};

const ALL: [u8; 6] = [0xff; 6];
const GROUP: [u8; 6] = [1, 0, 0x5e, 1, 2, 3];
const VIDS: [u16; 4] = [1, 10, 20, 30];
const ETHERTYPES: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The model: settings of a bridge, and its hosts.
struct Model {
    bridge: Bridge,
    members: BTreeMap<(u16, usize), Member>,
    trees: BTreeMap<u16, u8>,
    /// Hosts by VLAN and address: the port, and whether the host is static. The router's own
    /// addresses have no port.
    hosts: BTreeMap<(u16, [u8; 6]), (Option<usize>, bool)>,
}

/// The result of a frame.
#[derive(Default, Debug, PartialEq)]
struct Fate {
    sent: Vec<(usize, Vec<u8>)>,
    up: Option<Vec<u8>>,
    dropped: Option<DropReason>,
}

impl Fate {
    fn dropped(reason: DropReason) -> Self {
        Self {
            dropped: Some(reason),
            ..Self::default()
        }
    }
}

/// An untagged frame in its VLAN, with the priority of its former tag.
struct Inside {
    vid: u16,
    tree: u8,
    plain: Vec<u8>,
    priority: Option<u8>,
}

impl Model {
    fn filters(&self) -> bool {
        self.bridge.vlans.is_some()
    }

    /// Admits a frame to the bridge. `from` is the number of a port; the router's number follows
    /// that of the last port.
    fn admit(&self, from: usize, bytes: &[u8]) -> Result<Inside, DropReason> {
        if bytes[6] & 1 != 0 || bytes[6..12] == [0; 6] {
            return Err(DropReason::BridgeSource);
        }
        let mut inside = Inside {
            vid: 0,
            tree: 0,
            plain: bytes.to_vec(),
            priority: None,
        };
        let port = self.bridge.ports().get(from);
        if self.filters() {
            let (pvid, types, filtering, stacking) = match port {
                Some(port) => (
                    port.pvid,
                    port.frame_types,
                    port.ingress_filtering,
                    port.tag_stacking,
                ),
                None => (
                    self.bridge.pvid,
                    self.bridge.frame_types,
                    self.bridge.ingress_filtering,
                    false,
                ),
            };
            let mut named = 0;
            if bytes[12..14] == self.bridge.ethertype.to_be_bytes() && !stacking {
                named = u16::from_be_bytes([bytes[14] & 0xf, bytes[15]]);
                inside.priority = Some(bytes[14] >> 4);
                inside.plain.drain(12..16);
            }
            let refused = match types {
                FrameTypes::All => false,
                FrameTypes::Tagged => named == 0,
                FrameTypes::UntaggedAndPriority => named != 0,
            };
            if refused {
                return Err(DropReason::BridgeFrameTypes);
            }
            inside.vid = if named == 0 { pvid } else { named };
            if filtering && self.member(inside.vid, from) == Member::No {
                return Err(DropReason::BridgeIngressVlan);
            }
            inside.tree = self.trees.get(&inside.vid).copied().unwrap_or_default();
        }
        let open = port.is_none_or(|port| {
            let learns = port.learn && port.learning >> inside.tree & 1 != 0;
            learns || port.forwarding >> inside.tree & 1 != 0
        });
        match open {
            true => Ok(inside),
            false => Err(DropReason::BridgePortState),
        }
    }

    fn member(&self, vid: u16, port: usize) -> Member {
        self.members.get(&(vid, port)).copied().unwrap_or_default()
    }

    /// Returns the frame as it leaves by a port, or goes up.
    fn outside(&self, inside: &Inside, to: usize) -> Result<Vec<u8>, DropReason> {
        let mut frame = inside.plain.clone();
        if !self.filters() {
            return Ok(frame);
        }
        match self.member(inside.vid, to) {
            Member::No => Err(DropReason::BridgeEgressVlan),
            Member::Untagged | Member::AsTheyCame => Ok(frame),
            Member::Tagged => {
                let [a, b] = self.bridge.ethertype.to_be_bytes();
                let [c, d] = inside.vid.to_be_bytes();
                let c = c | inside.priority.unwrap_or(0) << 4;
                frame.splice(12..12, [a, b, c, d]);
                Ok(frame)
            }
        }
    }

    fn leave(&self, inside: &Inside, from: usize, to: usize) -> Result<Vec<u8>, DropReason> {
        let port = &self.bridge.ports()[to];
        if from == to {
            return Err(DropReason::BridgeSamePort);
        }
        if let Some(source) = self.bridge.ports().get(from)
            && (source.horizon.is_some() && source.horizon == port.horizon
                || source.isolated && port.isolated
                || source.only_to.as_ref().is_some_and(|only| !only.has(to)))
        {
            return Err(DropReason::BridgeApart);
        }
        if port.forwarding >> inside.tree & 1 == 0 {
            return Err(DropReason::BridgePortState);
        }
        self.outside(inside, to)
    }

    fn bridge(&mut self, from: usize, bytes: &[u8]) -> Fate {
        let router = self.bridge.ports().len();
        let to: [u8; 6] = bytes[..6].try_into().expect("six");
        let sender: [u8; 6] = bytes[6..12].try_into().expect("six");
        if to[..5] == [1, 0x80, 0xc2, 0, 0]
            && from != router
            && (!self.bridge.forward_reserved || to[5] == 1)
        {
            return Fate::dropped(DropReason::BridgeReserved);
        }
        let inside = match self.admit(from, bytes) {
            Ok(inside) => inside,
            Err(reason) => return Fate::dropped(reason),
        };
        if let Some(port) = self.bridge.ports().get(from) {
            let is_fixed = |host: &(Option<usize>, bool)| host.1;
            let known = self.hosts.get(&(inside.vid, sender));
            let learns = port.learn && port.learning >> inside.tree & 1 != 0 && sender != OWN;
            if learns && !known.is_some_and(is_fixed) {
                self.hosts.insert((inside.vid, sender), (Some(from), false));
            }
            if port.forwarding >> inside.tree & 1 == 0 {
                return Fate::dropped(DropReason::BridgePortState);
            }
        }
        if to[0] & 1 != 0 {
            return self.to_many(&inside, from, &to, from != router);
        }
        let known = self.hosts.get(&(inside.vid, to));
        let own_everywhere = self.hosts.get(&(0, to)).filter(|host| host.0.is_none());
        match known.or(own_everywhere) {
            _ if to == OWN && from != router => self.up(&inside),
            Some((None, _)) if from == router => Fate::dropped(DropReason::BridgeSamePort),
            Some((None, _)) => self.up(&inside),
            Some((Some(port), _)) => match self.leave(&inside, from, *port) {
                Ok(frame) => Fate {
                    sent: vec![(*port, frame)],
                    ..Fate::default()
                },
                Err(reason) => Fate::dropped(reason),
            },
            None => self.to_many(&inside, from, &to, false),
        }
    }

    fn up(&self, inside: &Inside) -> Fate {
        match self.outside(inside, self.bridge.ports().len()) {
            Ok(frame) => Fate {
                up: Some(frame),
                ..Fate::default()
            },
            Err(reason) => Fate::dropped(reason),
        }
    }

    fn to_many(&self, inside: &Inside, from: usize, to: &[u8; 6], rises: bool) -> Fate {
        let mut fate = Fate::default();
        for (number, port) in self.bridge.ports().iter().enumerate() {
            let floods = match *to {
                ALL => port.broadcast_flood,
                [first, ..] if first & 1 != 0 => port.unknown_multicast_flood,
                _ => port.unknown_unicast_flood,
            };
            if floods && let Ok(frame) = self.leave(inside, from, number) {
                fate.sent.push((number, frame));
            }
        }
        if rises {
            fate.up = self.up(inside).up;
        }
        if fate.sent.is_empty() && fate.up.is_none() {
            fate.dropped = Some(DropReason::BridgeNowhere);
        }
        fate
    }
}

/// Returns a switch and its model with random settings.
fn arbitrary(rng: &mut Rng) -> (Switch, Model) {
    let count = 2 + rng.below(4) as usize;
    let mut switch = Switch::new(count as u16);
    let trees: BTreeMap<u16, u8> = VIDS.iter().map(|vid| (*vid, rng.below(3) as u8)).collect();
    let few = |rng: &mut Rng| (0..count).filter(|_| rng.percent(60)).collect::<PortSet>();
    let bits =
        |rng: &mut Rng| (0..3).fold(0, |bits, tree| bits | u32::from(rng.percent(85)) << tree);
    let types = |rng: &mut Rng| match rng.below(6) {
        0 => FrameTypes::Tagged,
        1 => FrameTypes::UntaggedAndPriority,
        _ => FrameTypes::All,
    };
    let vid = |rng: &mut Rng| VIDS[rng.below(4) as usize];
    let ports: Vec<_> = (0..count)
        .map(|place| BridgePort {
            interface: Switch::port(place as u16),
            learning: bits(rng),
            forwarding: bits(rng),
            pvid: vid(rng),
            frame_types: types(rng),
            ingress_filtering: rng.percent(60),
            tag_stacking: rng.percent(10),
            horizon: rng.percent(20).then(|| rng.below(2) as u32),
            learn: rng.percent(90),
            unknown_unicast_flood: rng.percent(85),
            unknown_multicast_flood: rng.percent(85),
            broadcast_flood: rng.percent(85),
            isolated: rng.percent(20),
            only_to: rng.percent(15).then(|| few(rng)),
            ..BridgePort::default()
        })
        .collect();
    let mut bridge = Bridge::new(BRIDGE, ports);
    bridge.ethertype = ETHERTYPES[rng.below(3) as usize];
    bridge.forward_reserved = rng.percent(30);
    (bridge.pvid, bridge.frame_types) = (vid(rng), types(rng));
    bridge.ingress_filtering = rng.percent(60);
    let mut members = BTreeMap::new();
    if rng.percent(75) {
        let mut table = VlanTable::new(count);
        for (vid, tree) in &trees {
            table.set_instance(*vid, *tree);
            for port in 0..=count {
                let member = [Member::No, Member::Tagged, Member::Untagged];
                let member = member[rng.below(3) as usize];
                table.set(*vid, port, member);
                members.insert((*vid, port), member);
            }
        }
        bridge.vlans = Some(Arc::new(table));
    }
    let mut model = Model {
        bridge: bridge.clone(),
        members,
        trees,
        hosts: BTreeMap::new(),
    };
    for _ in 0..rng.below(4) {
        let vid = if model.filters() { vid(rng) } else { 0 };
        let port = rng.below(count as u64) as usize;
        put(&switch, &mut model, (vid, station(rng)), Some(port));
    }
    put(&switch, &mut model, (0, [2, 0xee, 0, 0, 0, 1]), None);
    switch.set(|_| bridge);
    (switch, model)
}

/// Adds a host to both.
fn put(switch: &Switch, model: &mut Model, key: (u16, [u8; 6]), port: Option<usize>) {
    let (vid, [a, b, c, d, e, f]) = key;
    let mac = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let kind = port.map_or(HostKind::Local, |_| HostKind::Static);
    let interface = port.map_or(BRIDGE, |port| Switch::port(port as u16));
    let hosts = switch.rig.interfaces.bridges().hosts();
    let bridge = BRIDGE;
    let host = Host {
        port: interface,
        kind,
        seen: 0,
    };
    assert!(hosts.set(&HostKey { bridge, vid, mac }, host));
    model.hosts.insert(key, (port, true));
}

fn station(rng: &mut Rng) -> [u8; 6] {
    [2, 0xaa, 0, 0, 0, rng.below(6) as u8]
}

fn arbitrary_frame(rng: &mut Rng) -> Vec<u8> {
    let to = match rng.below(16) {
        0 => ALL,
        1 => GROUP,
        2 => OWN,
        3 => [1, 0x80, 0xc2, 0, 0, rng.below(3) as u8],
        4 => [2, 0xee, 0, 0, 0, 1],
        _ => station(rng),
    };
    let from = match rng.below(30) {
        0 => ALL,
        1 => [0; 6],
        2 => OWN,
        3 => [2, 0xee, 0, 0, 0, 1],
        _ => station(rng),
    };
    let mut frame = frame(to, from, &[0x88, 0xb5, rng.below(256) as u8]);
    for _ in 0..rng.below(3) {
        let [a, b] = ETHERTYPES[rng.below(3) as usize].to_be_bytes();
        let vid = if rng.percent(20) {
            0
        } else {
            VIDS[rng.below(4) as usize]
        };
        let [c, d] = (vid | (rng.below(8) as u16) << 13).to_be_bytes();
        frame.splice(12..12, [a, b, c, d]);
    }
    frame
}

#[test]
fn a_bridge_does_what_its_sentences_say() {
    for seed in 0..300 {
        let mut rng = Rng::seeded(seed);
        let (mut switch, mut model) = arbitrary(&mut rng);
        let count = model.bridge.ports().len();
        let mut expected_up = (0, 0);
        let mut expected_drops = BTreeMap::new();
        for round in 0..12 {
            let mut expected = vec![Vec::new(); count];
            let mut note = |fate: Fate| {
                for (port, frame) in fate.sent {
                    expected[port].push(frame);
                }
                if let Some(frame) = fate.up {
                    expected_up.0 += 1;
                    expected_up.1 += frame.len() as u64;
                }
                if let Some(reason) = fate.dropped {
                    *expected_drops.entry(reason).or_default() += 1;
                }
            };
            // A worker polls the ports in order.
            for port in 0..count {
                let mut last = arbitrary_frame(&mut rng);
                for _ in 0..rng.below(50) {
                    if rng.percent(70) {
                        last = arbitrary_frame(&mut rng);
                    }
                    switch.arrive(port as u16, &last);
                    note(model.bridge(port, &last));
                }
            }
            switch.rig.settle();
            let mut down = arbitrary_frame(&mut rng);
            down[6..12].copy_from_slice(&OWN);
            note(model.bridge(count, &down));
            switch.send(&down);

            let mut sent = vec![Vec::new(); count];
            for (port, frame) in switch.sent() {
                sent[usize::from(port)].push(frame);
            }
            for (port, (sent, expected)) in sent.iter().zip(&expected).enumerate() {
                let what = format!("seed {seed}, round {round}, port {port}");
                assert_eq!(sent.len(), expected.len(), "{what}");
                let differs = sent.iter().zip(expected).find(|(a, b)| a != b);
                assert_eq!(differs, None, "{what}, {:#?}", model.bridge);
            }
            switch.rig.punts();
        }
        let up = switch.rig.traffic(BRIDGE).rx;
        assert_eq!((up.packets, up.bytes), expected_up, "seed {seed}");
        let drops: BTreeMap<_, u64> = switch.drops().into_iter().collect();
        assert_eq!(drops, expected_drops, "seed {seed}");
    }
}
