//! Traffic by EtherType, protocol and port (RouterOS: `/tool/sniffer/protocol`).

use std::collections::BTreeMap;

use crate::{ObservedFrame, ROWS};

/// Number of frames and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCount {
    /// Frames.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A kind of traffic: EtherType after the tags, IP protocol, lower port. A frame counts for every kind that
/// includes the frame, from the most general kind to the most specific one.
pub(crate) type TrafficKind = (u16, Option<u8>, Option<u16>);

/// Traffic statistics by kind.
#[derive(Debug, Default)]
pub struct Protocols {
    sorts: BTreeMap<TrafficKind, TrafficCount>,
    all: TrafficCount,
}

impl Protocols {
    /// Counts a frame.
    pub fn see(&mut self, seen: &ObservedFrame) {
        let kind = seen.head.kind();
        let ip = seen.head.ip.as_ref();
        let protocol = ip.map(|ip| ip.protocol);
        // The lower port is that of the service.
        let port = ip.and_then(|ip| ip.ports).map(|(src, dst)| src.min(dst));
        let mut sorts = vec![(kind, None, None)];
        sorts.extend(protocol.map(|_| (kind, protocol, None)));
        sorts.extend(port.map(|_| (kind, protocol, port)));
        self.all.packets += 1;
        self.all.bytes += seen.len as u64;
        for sort in sorts {
            if self.sorts.len() >= ROWS && !self.sorts.contains_key(&sort) {
                continue;
            }
            let share = self.sorts.entry(sort).or_default();
            share.packets += 1;
            share.bytes += seen.len as u64;
        }
    }

    /// Returns the statistics of each kind, general kinds before their parts.
    pub fn rows(&self) -> impl Iterator<Item = (u16, Option<u8>, Option<u16>, TrafficCount)> {
        let rows = self.sorts.iter();
        rows.map(|((kind, protocol, port), share)| (*kind, *protocol, *port, *share))
    }

    /// Returns the statistics of all frames.
    pub fn all(&self) -> TrafficCount {
        self.all
    }
}
