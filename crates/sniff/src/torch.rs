//! Traffic of flows at an interface (RouterOS: `/tool/torch`).

use core::net::IpAddr;
use core::time::Duration;
use std::collections::HashMap;

use machine::Instant;

use crate::ObservedFrame;

/// Maximum number of separate flows; further flows are counted together.
const FLOWS: usize = 16_384;
/// Time after which a flow without traffic is removed. RouterOS 6: `entry-timeout`, 3 s.
const IDLE: Duration = Duration::from_secs(3);

/// Fields that identify a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// EtherType.
    pub kind: bool,
    /// IP protocol.
    pub protocol: bool,
    /// IPv4 address on the side of the interface.
    pub src4: bool,
    /// IPv4 address on the far side of the router.
    pub dst4: bool,
    /// IPv6 address on the side of the interface.
    pub src6: bool,
    /// IPv6 address on the far side of the router.
    pub dst6: bool,
    /// Ports.
    pub ports: bool,
    /// VLAN ID.
    pub vlan: bool,
    /// The DSCP.
    pub dscp: bool,
}

/// A flow in both directions. The source is the sender of frames that the interface receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// EtherType.
    pub kind: Option<u16>,
    /// IP protocol.
    pub protocol: Option<u8>,
    /// Address on the side of the interface.
    pub src: Option<IpAddr>,
    /// Address on the far side of the router.
    pub dst: Option<IpAddr>,
    /// Port of the source.
    pub src_port: Option<u16>,
    /// Port of the destination.
    pub dst_port: Option<u16>,
    /// VLAN ID.
    pub vlan: Option<u16>,
    /// The DSCP.
    pub dscp: Option<u8>,
}

/// Traffic since the last call of [`Torch::take`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Transmitted bytes of whole frames without FCS.
    pub tx: u64,
    /// Received bytes.
    pub rx: u64,
    /// Transmitted frames.
    pub tx_packets: u64,
    /// Received frames.
    pub rx_packets: u64,
}

impl Traffic {
    fn add(&mut self, seen: &ObservedFrame) {
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

/// A flow and its traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Identity of the flow.
    pub key: Key,
    /// Traffic since the last call of [`Torch::take`].
    pub traffic: Traffic,
}

/// Measures the traffic of flows.
#[derive(Debug)]
pub struct Torch {
    columns: Columns,
    flows: HashMap<Key, (Traffic, Instant)>,
    /// Combined traffic of the flows that exceed the table.
    beyond: Traffic,
}

impl Torch {
    /// Creates an instance that identifies flows by these fields.
    pub fn new(columns: Columns) -> Self {
        Self {
            columns,
            flows: HashMap::new(),
            beyond: Traffic::default(),
        }
    }

    /// Counts a frame. Transmitted frames must be passed with source and destination exchanged
    /// ([`ObservedFrame::turned`]).
    pub fn see(&mut self, seen: &ObservedFrame) {
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

    /// Returns the traffic since the last call: of the `most` largest flows, largest first; of the other
    /// flows, if any; and of all flows.
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
        // The order of equal flows is stable.
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
    fn key(&self, seen: &ObservedFrame) -> Key {
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
