//! What frames carry, by kind, protocol and port (RouterOS: `/tool/sniffer/protocol`).

use std::collections::BTreeMap;

use crate::{ROWS, Seen};

/// What frames of one sort come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Frames.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A sort of frames: the type behind the tags, what IP carries, the lower port. A frame counts for each sort that it is
/// of, the general ones too.
pub(crate) type Sort = (u16, Option<u8>, Option<u16>);

/// See the module.
#[derive(Debug, Default)]
pub struct Protocols {
    sorts: BTreeMap<Sort, Share>,
    all: Share,
}

impl Protocols {
    /// Counts a frame.
    pub fn see(&mut self, seen: &Seen) {
        let kind = seen.head.kind();
        let ip = seen.head.ip.as_ref();
        let protocol = ip.map(|ip| ip.protocol);
        // The service is at the lower one.
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

    /// The sorts, general ones before those that are part of them.
    pub fn rows(&self) -> impl Iterator<Item = (u16, Option<u8>, Option<u16>, Share)> {
        let rows = self.sorts.iter();
        rows.map(|((kind, protocol, port), share)| (*kind, *protocol, *port, *share))
    }

    /// All frames together.
    pub fn all(&self) -> Share {
        self.all
    }
}
