//! Observed TCP connections (RouterOS: `/tool/sniffer/connection`).

use core::net::SocketAddr;
use std::collections::HashMap;

use frame::InterfaceId;
use wire::tcp::Flags;

use crate::{ObservedFrame, Path, ROWS, Tcp};

/// Traffic sent by one end of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Bytes of payload.
    pub bytes: u64,
    /// Retransmitted segments with payload.
    pub resends: u64,
    /// Maximum segment size announced by this end; 0 if unknown.
    pub mss: u16,
    /// Sequence number after the last byte of payload.
    end: Option<u32>,
    /// Interface of the first observed segment.
    at: Option<InterfaceId>,
}

impl Side {
    /// Counts a segment. A segment received by a bridge port is captured at the port and at the bridge, and
    /// counts once.
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

/// A connection. The source is the initiator, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// True if neither end has closed the connection.
    pub active: bool,
    /// Traffic of the source and of the destination.
    pub sides: [Side; 2],
}

/// All observed connections.
#[derive(Debug, Default)]
pub struct Connections(HashMap<(SocketAddr, SocketAddr), Connection>);

impl Connections {
    /// Counts a frame on arrival, or when the router sends its own frame. The departing copy of a forwarded
    /// frame is not counted again.
    pub fn see(&mut self, seen: &ObservedFrame) {
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
        // A SYN-ACK is sent to the initiator.
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

    /// Returns all connections with source and destination.
    pub fn rows(&self) -> Vec<((SocketAddr, SocketAddr), Connection)> {
        let mut rows: Vec<_> = self.0.iter().map(|(ends, all)| (*ends, *all)).collect();
        rows.sort_by_key(|(ends, _)| *ends);
        rows
    }
}
