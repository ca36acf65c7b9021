//! Established connections: numbered packets in both directions, counted by receivers at the other end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bench::finish;
use frame::{Pool, Port as _, Sizes, Vector};
use netio::{PacketPort, PacketReplay};

use super::frames::{ACK, PSH, Packet, SYN, TCP, UDP, payload, payload_mut};
use super::ping::{self, Answers};

/// Number of connections, half UDP and half TCP.
pub(super) const CONNECTIONS: u32 = 1_000;
/// Port of their servers only.
pub(super) const PORT: u16 = 7_777;
/// Clients are 10.64.0.0/16, servers 198.18.0.0/16.
const CLIENTS: u32 = 0x0a40_0000;
const SERVERS: u32 = 0xc612_0000;
/// First bytes of the payload.
const MAGIC: [u8; 8] = *b"numbered";
const PAYLOAD: usize = 8 + 4 + 8;
/// Initial sequence numbers of the TCP ends.
const FIRST: [u32; 2] = [1_000, 5_000];
/// Sleep of an idle receiver: its ring holds a hundred times that duration.
const NAP: Duration = Duration::from_micros(500);

/// Devices at the two ends of all connections.
pub(super) const DEVICES: [&str; 2] = ["lan", "wan"];

/// Packets of both directions.
pub(super) struct Stream {
    /// Senders: from clients, from servers.
    senders: [PacketReplay; 2],
    /// Number of sent packets, by direction and connection.
    numbers: [Vec<u64>; 2],
    sent: u64,
    receivers: Vec<Receiver>,
    pings: Arc<Answers>,
}

/// Counts of received packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Came {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Packets that arrived after a higher number.
    pub(super) disordered: u64,
    /// Packets that the receivers of the benchmark lost.
    pub(super) missed: u64,
}

impl Stream {
    /// Opens both ends of the connections; packets go to these link addresses. The devices are in the namespace of the
    /// calling thread.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn open(to: [[u8; 6]; 2]) -> Result<Self, String> {
        let pings = Arc::<Answers>::default();
        let [client, server] = [0, 1].map(|end| {
            let frames: Vec<_> = (0..CONNECTIONS)
                .map(|connection| numbered(connection, end, to[end]))
                .collect();
            replay(DEVICES[end], &frames)
        });
        Ok(Self {
            senders: [client?, server?],
            numbers: [(); 2].map(|()| vec![0; CONNECTIONS as usize]),
            sent: 0,
            receivers: { DEVICES.iter().zip(to) }
                .map(|(device, to)| Receiver::open(device, to, Arc::clone(&pings)))
                .collect::<Result<_, _>>()?,
            pings,
        })
    }

    /// Sends this many packets, half in each direction; returns their number.
    pub(super) fn send(&mut self, count: u32) -> u32 {
        let mut sent = 0;
        for (sender, numbers) in self.senders.iter_mut().zip(&mut self.numbers) {
            sent += sender.send_changed(count.div_ceil(2), |frame| number(frame, numbers));
        }
        self.sent += u64::from(sent);
        sent
    }

    /// Returns the answered pings.
    pub(super) fn pings(&self) -> Arc<Answers> {
        Arc::clone(&self.pings)
    }

    /// Returns the counts so far.
    pub(super) fn came(&self) -> Came {
        let mut came = Came {
            sent: self.sent,
            ..Came::default()
        };
        for receiver in &self.receivers {
            let Counts {
                received,
                disordered,
                missed,
            } = &*receiver.counts;
            came.received += received.load(Ordering::Relaxed);
            came.disordered += disordered.load(Ordering::Relaxed);
            came.missed += missed.load(Ordering::Relaxed);
        }
        came
    }
}

/// Writes the next number of a connection into its frame.
fn number(frame: &mut [u8], numbers: &mut [u64]) {
    let Some(payload) = payload_mut(frame) else {
        return;
    };
    let (Some(connection), Some(place)) = (connection_of(payload), payload.get_mut(12..PAYLOAD))
    else {
        return;
    };
    if let Some(number) = numbers.get_mut(connection) {
        *number += 1;
        place.copy_from_slice(&number.to_be_bytes());
    }
    finish(frame);
}

fn connection_of(payload: &[u8]) -> Option<usize> {
    let bytes = payload.strip_prefix(&MAGIC)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*bytes) as usize)
}

fn number_of(payload: &[u8]) -> Option<u64> {
    let bytes = payload.get(12..)?.first_chunk::<8>()?;
    Some(u64::from_be_bytes(*bytes))
}

/// Builds a packet of a connection from this end; 0 is the client.
fn packet<'a>(connection: u32, end: usize, payload: &'a [u8]) -> Packet<'a> {
    let client = (CLIENTS | connection, 20_000 + connection as u16);
    let server = (SERVERS | connection, PORT);
    let (source, destination) = if end == 0 {
        (client, server)
    } else {
        (server, client)
    };
    Packet {
        protocol: if connection.is_multiple_of(2) {
            UDP
        } else {
            TCP
        },
        source,
        destination,
        flags: PSH | ACK,
        // Every packet looks like a retransmission, which every window accepts.
        seq: FIRST[end] + 1,
        ack: FIRST[1 - end] + 1,
        payload,
    }
}

fn numbered(connection: u32, end: usize, to: [u8; 6]) -> Vec<u8> {
    let mut payload = MAGIC.to_vec();
    payload.extend(connection.to_be_bytes());
    payload.extend([0; 8]);
    packet(connection, end, &payload).frame(to)
}

/// Builds the first packets of both ends, in turn: client, server, client.
pub(super) fn greetings(turn: usize, to: [u8; 6]) -> Vec<Vec<u8>> {
    let end = turn % 2;
    let greeting = |connection| {
        let data = packet(connection, end, b"hello");
        let packet = match (data.protocol, turn) {
            (TCP, 0) => Packet {
                flags: SYN,
                seq: FIRST[0],
                ack: 0,
                payload: b"",
                ..data
            },
            (TCP, 1) => Packet {
                flags: SYN | ACK,
                seq: FIRST[1],
                payload: b"",
                ..data
            },
            _ => data,
        };
        packet.frame(to)
    };
    (0..CONNECTIONS).map(greeting).collect()
}

/// Creates a ring of frames that a device sends repeatedly.
pub(super) fn replay(device: &str, frames: &[Vec<u8>]) -> Result<PacketReplay, String> {
    PacketReplay::open(device, frames).map_err(|error| format!("{device}: {error}"))
}

#[derive(Debug, Default)]
struct Counts {
    received: AtomicU64,
    disordered: AtomicU64,
    missed: AtomicU64,
}

/// Receives frames on a device in a thread; dropping the value stops it.
struct Receiver {
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Receives on this device, and answers pings to this link address.
    fn open(device: &str, to: [u8; 6], pings: Arc<Answers>) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("{device}: {error}");
        let sizes = Sizes {
            small: 1024,
            medium: 16,
            large: 4,
        };
        let mut pool = Pool::new(sizes).map_err(failed)?;
        let port = PacketPort::open(device, 1).map_err(failed)?.pop();
        let mut port = port.ok_or_else(|| format!("{device}: no port"))?;
        let (counts, stop) = (Arc::<Counts>::default(), Arc::new(AtomicBool::new(false)));
        let (counted, stopped) = (Arc::clone(&counts), Arc::clone(&stop));
        // Each answer replaces the frame.
        let mut answers = replay(device, &[ping::echo(0, 0, to)])?;
        let thread = thread::spawn(move || {
            let mut vector = Vector::new();
            let mut highest = vec![0; CONNECTIONS as usize];
            while !stopped.load(Ordering::Relaxed) {
                if port.receive(&mut pool, &mut vector) == 0 {
                    let lost = port.counters().receive_dropped;
                    counted.missed.store(lost, Ordering::Relaxed);
                    thread::park_timeout(NAP);
                }
                for frame in vector.drain() {
                    look(frame.bytes(), &mut highest, &counted);
                    if let Some(answer) = pings.receive(frame.bytes(), to) {
                        answers.send_changed(1, |frame| {
                            let len = frame.len().min(answer.len());
                            frame[..len].copy_from_slice(&answer[..len]);
                        });
                    }
                    pool.free(frame);
                }
            }
        });
        Ok(Self {
            counts,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread has printed its panic; its counts are missing in the report.
            let _ = thread.join();
        }
    }
}

/// Counts a frame of the benchmark; ignores others.
fn look(frame: &[u8], highest: &mut [u64], counts: &Counts) {
    let Some(payload) = payload(frame) else {
        return;
    };
    let (Some(connection), Some(number)) = (connection_of(payload), number_of(payload)) else {
        return;
    };
    counts.received.fetch_add(1, Ordering::Relaxed);
    if let Some(highest) = highest.get_mut(connection) {
        if number <= *highest {
            counts.disordered.fetch_add(1, Ordering::Relaxed);
        }
        *highest = number.max(*highest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_frames_are_counted_and_late_ones_separately() {
        let mut numbers = vec![0; CONNECTIONS as usize];
        let frames = [0, 1, 0].map(|connection| {
            let mut frame = numbered(connection, 0, [2; 6]);
            number(&mut frame, &mut numbers);
            frame
        });
        let (mut highest, counts) = (vec![0; CONNECTIONS as usize], Counts::default());

        for frame in [&frames[2], &frames[1], &frames[0]] {
            look(frame, &mut highest, &counts);
        }
        look(&greetings(0, [2; 6])[0], &mut highest, &counts);

        assert_eq!(numbers[..3], [2, 1, 0]);
        assert_eq!(counts.received.into_inner(), 3);
        assert_eq!(counts.disordered.into_inner(), 1);
    }
}
