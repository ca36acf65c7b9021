//! Connections of TCP that were seen (RouterOS: `/tool/sniffer/connection`).

use core::net::SocketAddr;
use std::collections::HashMap;

use frame::InterfaceId;
use wire::tcp::Flags;

use crate::{Path, ROWS, Seen, Tcp};

/// What one end of a connection sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Bytes of data.
    pub bytes: u64,
    /// Segments with data that had been sent before.
    pub resends: u64,
    /// The longest segment that it takes; 0 if that was not seen.
    pub mss: u16,
    /// The number behind the last byte of data.
    end: Option<u32>,
    /// Where it was seen first.
    at: Option<InterfaceId>,
}

impl Side {
    /// Counts a segment. One that comes by a port of a bridge is seen there and at the bridge, and counts once.
    fn see(&mut self, segment: &Tcp, at: InterfaceId) {
        if *self.at.get_or_insert(at) != at {
            return;
        }
        if let Some(mss) = segment.mss {
            self.mss = mss;
        }
        if segment.data == 0 {
            return;
        }
        self.bytes += segment.data as u64;
        let end = segment.seq.wrapping_add(segment.data as u32);
        let is_new = |before: u32| end.wrapping_sub(before) as i32 > 0;
        match self.end {
            Some(before) if !is_new(before) => self.resends += 1,
            _ => self.end = Some(end),
        }
    }
}

/// A connection. The source is who began it, as far as that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Neither end has said that it ends.
    pub active: bool,
    /// What the source sent, and the destination.
    pub sides: [Side; 2],
}

/// See the module.
#[derive(Debug, Default)]
pub struct Connections(HashMap<(SocketAddr, SocketAddr), Connection>);

impl Connections {
    /// Counts a frame where it comes in, or where the router sends it: of one that is forwarded the copy that leaves
    /// is no second one.
    pub fn see(&mut self, seen: &Seen) {
        if !matches!(seen.path, Path::Ingress | Path::Output) {
            return;
        }
        let Some(ip) = &seen.head.ip else { return };
        let (Some((from, to)), Some(segment)) = (ip.ports, &ip.tcp) else {
            return;
        };
        let ends = (SocketAddr::new(ip.src, from), SocketAddr::new(ip.dst, to));
        let back = (ends.1, ends.0);
        let (key, way) = match self.0.contains_key(&back) {
            true => (back, 1),
            false => (ends, 0),
        };
        if self.0.len() >= ROWS && !self.0.contains_key(&key) {
            return;
        }
        // An answer is to who began.
        let answers = segment.flags.contains(Flags::SYN | Flags::ACK);
        let (key, way) = match answers && way == 0 && !self.0.contains_key(&key) {
            true => (back, 1),
            false => (key, way),
        };
        let connection = self.0.entry(key).or_insert(Connection {
            active: true,
            sides: [Side::default(); 2],
        });
        connection.sides[way].see(segment, seen.interface);
        let flags = segment.flags;
        if flags.contains(Flags::FIN) || flags.contains(Flags::RST) {
            connection.active = false;
        }
    }

    /// All of them, by their ends: source, destination.
    pub fn rows(&self) -> Vec<((SocketAddr, SocketAddr), Connection)> {
        let mut rows: Vec<_> = self.0.iter().map(|(ends, all)| (*ends, *all)).collect();
        rows.sort_by_key(|(ends, _)| *ends);
        rows
    }
}
