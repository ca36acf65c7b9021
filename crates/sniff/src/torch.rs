//! What flows carry at an interface (RouterOS: `/tool/torch`).

use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;

use machine::Instant;

use crate::Seen;

/// Flows that are told apart at a time at most; those beyond are counted together.
const FLOWS: usize = 16_384;
/// How long a flow stays that carries nothing. RouterOS 6: `entry-timeout`, 3 s.
const IDLE: Duration = Duration::from_secs(3);

/// By what flows are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// What frames carry.
    pub kind: bool,
    /// What IP carries.
    pub protocol: bool,
    /// The address of IPv4 at the interface's side.
    pub src4: bool,
    /// The address of IPv4 behind the router.
    pub dst4: bool,
    /// The same of IPv6.
    pub src6: bool,
    /// The same of IPv6.
    pub dst6: bool,
    /// Ports.
    pub ports: bool,
    /// The id of the tag.
    pub vlan: bool,
    /// The DSCP.
    pub dscp: bool,
}

/// A flow, in both directions: the source is who sends what the interface receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// What frames carry.
    pub kind: Option<u16>,
    /// What IP carries.
    pub protocol: Option<u8>,
    /// The address at the interface's side.
    pub src: Option<IpAddr>,
    /// The address behind the router.
    pub dst: Option<IpAddr>,
    /// The source's port.
    pub src_port: Option<u16>,
    /// The destination's port.
    pub dst_port: Option<u16>,
    /// The id of the tag.
    pub vlan: Option<u16>,
    /// The DSCP.
    pub dscp: Option<u8>,
}

/// What was carried since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes transmitted, of whole frames without FCS.
    pub tx: u64,
    /// Bytes received.
    pub rx: u64,
    /// Frames transmitted.
    pub tx_packets: u64,
    /// Frames received.
    pub rx_packets: u64,
}

impl Traffic {
    fn add(&mut self, seen: &Seen) {
        let (bytes, packets) = match seen.sent {
            true => (&mut self.tx, &mut self.tx_packets),
            false => (&mut self.rx, &mut self.rx_packets),
        };
        *bytes += seen.len as u64;
        *packets += 1;
    }

    fn join(&mut self, other: &Self) {
        self.tx += other.tx;
        self.rx += other.rx;
        self.tx_packets += other.tx_packets;
        self.rx_packets += other.rx_packets;
    }
}

/// A flow, and what it carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Which.
    pub key: Key,
    /// What it carried since the last look.
    pub traffic: Traffic,
}

/// See the module.
#[derive(Debug)]
pub struct Torch {
    columns: Columns,
    flows: HashMap<Key, (Traffic, Instant)>,
    /// Flows for which there was no room, together.
    beyond: Traffic,
}

impl Torch {
    /// One that tells flows apart by these columns.
    pub fn new(columns: Columns) -> Self {
        Self {
            columns,
            flows: HashMap::new(),
            beyond: Traffic::default(),
        }
    }

    /// Counts a frame. One that is transmitted is to be turned before ([`Seen::turned`]).
    pub fn see(&mut self, seen: &Seen) {
        let key = self.columns.key(seen);
        if let Some((traffic, last)) = self.flows.get_mut(&key) {
            traffic.add(seen);
            *last = seen.at;
        } else if self.flows.len() < FLOWS {
            let mut traffic = Traffic::default();
            traffic.add(seen);
            self.flows.insert(key, (traffic, seen.at));
        } else {
            self.beyond.add(seen);
        }
    }

    /// The flows since the last look: the `most` biggest ones, the biggest first; what the others carried, and how many
    /// they are; and all together.
    pub fn take(&mut self, now: Instant, most: usize) -> (Vec<Flow>, Option<Traffic>, Traffic) {
        self.flows
            .retain(|_, (_, last)| now.saturating_since(*last) < IDLE);
        let mut flows: Vec<_> = { self.flows.iter_mut() }
            .map(|(key, (traffic, _))| Flow {
                key: *key,
                traffic: core::mem::take(traffic),
            })
            .collect();
        let mut total = self.beyond;
        for flow in &flows {
            total.join(&flow.traffic);
        }
        // The order among equals stays from look to look.
        flows.sort_by_cached_key(|flow| {
            let bytes = flow.traffic.tx + flow.traffic.rx;
            let Key { src, dst, .. } = flow.key;
            (core::cmp::Reverse(bytes), src, dst, flow.key.src_port)
        });
        let mut rest = core::mem::take(&mut self.beyond);
        for flow in flows.iter().skip(most) {
            rest.join(&flow.traffic);
        }
        flows.truncate(most);
        let rest = (rest != Traffic::default()).then_some(rest);
        (flows, rest, total)
    }
}

impl Columns {
    fn key(&self, seen: &Seen) -> Key {
        let head = &seen.head;
        let mut key = Key {
            kind: self.kind.then_some(head.kind()),
            vlan: head.vlan.filter(|_| self.vlan),
            ..Key::default()
        };
        let Some(ip) = &head.ip else { return key };
        let wanted = |address: &IpAddr, four, six| match address {
            IpAddr::V4(_) => four,
            IpAddr::V6(_) => six,
        };
        key.src = Some(ip.src).filter(|src| wanted(src, self.src4, self.src6));
        key.dst = Some(ip.dst).filter(|dst| wanted(dst, self.dst4, self.dst6));
        key.protocol = self.protocol.then_some(ip.protocol);
        key.dscp = self.dscp.then_some(ip.dscp);
        let ports = ip.ports.filter(|_| self.ports);
        (key.src_port, key.dst_port) = (ports.map(|(src, _)| src), ports.map(|(_, dst)| dst));
        key
    }
}
