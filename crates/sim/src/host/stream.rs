//! Streams: reliable transfer in packets that must not be fragmented.
//!
//! A substitute for bulk TCP: one segment at a time, acknowledged and retransmitted, as large as the path MTU
//! permits.

use core::net::IpAddr;

use machine::{Duration, Instant};
use wire::udp::Datagram;

use super::Host;
use super::packet::{Outgoing, What};

/// Destination port of streams.
const PORT: u16 = 5001;
/// Retransmission interval.
const RETRANSMISSION_INTERVAL: Duration = Duration::from_millis(200);
const DATA: u8 = 1;
const ACK: u8 = 2;
/// Length of type and offset before a segment's data.
const HEAD_BYTES: usize = 5;

/// A stream that a host sends.
#[derive(Clone, Debug)]
pub struct Stream {
    to: IpAddr,
    total: usize,
    acked: usize,
    send_at: Option<Instant>,
}

impl Stream {
    /// Returns true if everything is acknowledged.
    pub fn is_done(&self) -> bool {
        self.acked >= self.total
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.send_at
    }
}

impl Host {
    /// Starts a stream of `total` bytes.
    pub fn stream(&mut self, to: &str, total: usize) {
        let to = to.parse().expect("an address");
        self.streams.push(Stream {
            to,
            total,
            acked: 0,
            send_at: Some(Instant::ZERO),
        });
    }

    /// Returns the streams.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    pub(super) fn tick_streams(&mut self, now: Instant) {
        for at in 0..self.streams.len() {
            if self.streams[at].send_at.is_some_and(|due| due <= now) {
                self.send_segment(at, now);
            }
        }
    }

    fn send_segment(&mut self, at: usize, now: Instant) {
        let stream = &mut self.streams[at];
        if stream.is_done() {
            stream.send_at = None;
            return;
        }
        stream.send_at = Some(now + RETRANSMISSION_INTERVAL);
        let (to, offset) = (stream.to, stream.acked);
        let left = stream.total - offset;
        let mtu = self.path_mtu.get(&to).copied().unwrap_or(self.config.mtu);
        let header = if to.is_ipv4() { 20 } else { 40 };
        let len = left.min(mtu - header - 8 - HEAD_BYTES);
        let mut data = vec![DATA];
        data.extend_from_slice(&(offset as u32).to_be_bytes());
        data.resize(HEAD_BYTES + len, 0x77);
        self.send_datagram(to, data, now);
    }

    fn send_datagram(&mut self, to: IpAddr, data: Vec<u8>, now: Instant) {
        let outgoing = Outgoing {
            to,
            what: What::Udp {
                source: PORT,
                port: PORT,
                data,
            },
            ttl: 64,
            dont_fragment: true,
        };
        self.send(outgoing, now);
    }

    /// Processes a datagram of a stream. Returns false for other datagrams.
    pub(super) fn hear_stream(
        &mut self,
        from: IpAddr,
        datagram: &Datagram<'_>,
        now: Instant,
    ) -> bool {
        let payload = datagram.payload();
        if datagram.dst_port() != PORT || payload.len() < HEAD_BYTES {
            return false;
        }
        let offset = u32::from_be_bytes([payload[1], payload[2], payload[3], payload[4]]) as usize;
        if payload[0] == DATA {
            let have = self.streamed.entry(from).or_insert(0);
            if offset == *have {
                *have += payload.len() - HEAD_BYTES;
            }
            let mut ack = vec![ACK];
            ack.extend_from_slice(&(*have as u32).to_be_bytes());
            self.send_datagram(from, ack, now);
            return true;
        }
        for stream in &mut self.streams {
            if stream.to == from && offset > stream.acked {
                stream.acked = offset;
                stream.send_at = Some(now);
            }
        }
        true
    }
}
