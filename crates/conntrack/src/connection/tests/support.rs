//! Packet builders and a test bench with a tracker.

use machine::Rng;
use packet::{Fields, Tuple, protocol};

use crate::connection::*;

/// Returns a packet of the tuple with this upper layer, from the network header on.
pub(super) fn packet(tuple: &Tuple, upper: &[u8]) -> Vec<u8> {
    let mut packet;
    if tuple.ipv6 {
        let len = (upper.len() as u16).to_be_bytes();
        packet = vec![0x60, 0, 0, 0, len[0], len[1], tuple.protocol, 64];
        packet.extend(tuple.source.to_be_bytes());
        packet.extend(tuple.destination.to_be_bytes());
    } else {
        let len = (upper.len() as u16 + 20).to_be_bytes();
        packet = vec![
            0x45,
            0,
            len[0],
            len[1],
            0,
            0,
            0,
            0,
            64,
            tuple.protocol,
            0,
            0,
        ];
        packet.extend((tuple.source as u32).to_be_bytes());
        packet.extend((tuple.destination as u32).to_be_bytes());
    }
    packet.extend(upper);
    packet
}

/// Returns a packet of the tuple: a datagram with `data` bytes of payload, an ICMP message, or a minimal
/// packet of another protocol.
pub(super) fn plain(tuple: &Tuple, data: usize) -> Vec<u8> {
    let mut upper = Vec::new();
    match tuple.protocol {
        protocol::UDP => {
            upper.extend(tuple.source_port.to_be_bytes());
            upper.extend(tuple.destination_port.to_be_bytes());
            upper.extend((data as u16 + 8).to_be_bytes());
            upper.extend([0, 0]);
        }
        protocol::ICMP | protocol::ICMPV6 => {
            upper.extend(tuple.destination_port.to_be_bytes());
            upper.extend([0, 0]);
            upper.extend(tuple.source_port.to_be_bytes());
            upper.extend([0, 1]);
        }
        _ => {}
    }
    upper.resize(upper.len() + data, 0);
    packet(tuple, &upper)
}

/// Returns a time-exceeded error of a router for a datagram of this tuple.
pub(super) fn error(quoted: &Tuple) -> Vec<u8> {
    let mut upper = vec![if quoted.ipv6 { 3 } else { 11 }, 0, 0, 0, 0, 0, 0, 0];
    upper.extend(plain(quoted, 0));
    let kind = match quoted.ipv6 {
        true => protocol::ICMPV6,
        false => protocol::ICMP,
    };
    let tuple = Tuple {
        source: 5,
        destination: quoted.source,
        protocol: kind,
        ..*quoted
    };
    packet(&tuple, &upper)
}

/// Fields of a TCP segment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tcp {
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    pub(super) scale: Option<u8>,
    pub(super) data: usize,
}

pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const PSH: u8 = 8;
pub(super) const ACK: u8 = 16;

/// Returns the packet of a TCP segment.
pub(super) fn tcp(tuple: &Tuple, segment: &Tcp) -> Vec<u8> {
    let mut upper = Vec::new();
    upper.extend(tuple.source_port.to_be_bytes());
    upper.extend(tuple.destination_port.to_be_bytes());
    upper.extend(segment.seq.to_be_bytes());
    upper.extend(segment.ack.to_be_bytes());
    let words = if segment.scale.is_some() { 6 } else { 5 };
    upper.extend([words << 4, segment.flags]);
    upper.extend(segment.window.to_be_bytes());
    upper.extend([0; 4]);
    upper.extend(segment.scale.into_iter().flat_map(|scale| [1, 3, 3, scale]));
    upper.resize(upper.len() + segment.data, 0);
    packet(tuple, &upper)
}

pub(super) fn tuple4(number: u32, protocol: u8) -> Tuple {
    Tuple {
        source: u128::from(0x0a00_0000 + number / 1_000),
        destination: 0xc000_0201,
        source_port: 10_000 + (number % 1_000) as u16,
        destination_port: if protocol == protocol::ICMP {
            0x0800
        } else {
            443
        },
        protocol,
        ipv6: false,
    }
}

pub(super) fn tuple6(number: u32, protocol: u8) -> Tuple {
    let tuple = tuple4(number, protocol);
    Tuple {
        source: 0xfd00 << 112 | tuple.source,
        destination: 0x2001_0db8 << 96 | 1,
        ipv6: true,
        ..tuple
    }
}

/// A tracker with a clock.
pub(super) struct Bed {
    pub(super) table: std::sync::Arc<Table>,
    pub(super) tracker: Tracker,
    pub(super) now: Tick,
}

impl Bed {
    pub(super) fn new(settings: &Settings) -> Self {
        // The start of a quarter second, so that timeouts are exact to the tick.
        let now = Tick(80);
        let table = Table::new(1, settings.entries_max).expect("address space");
        let setup = Setup {
            table: std::sync::Arc::clone(&table),
            worker: 0,
            tuple_claims: None,
            settings,
        };
        let tracker = Tracker::new(setup, &mut Rng::seeded(5), now);
        Self {
            table,
            tracker,
            now,
        }
    }

    /// Processes a packet. If the packet begins a connection, it is committed as if the packet had left the
    /// router.
    pub(super) fn show(&mut self, packet: &[u8]) -> Track {
        self.offer(packet).0
    }

    /// Processes a packet several times.
    pub(super) fn show_times(&mut self, packet: &[u8], times: usize) {
        for _ in 0..times {
            self.show(packet);
        }
    }

    /// Processes a packet like `show`, and returns the result of committing a new connection.
    pub(super) fn offer(&mut self, packet: &[u8]) -> (Track, Option<Result<FlowId, Refused>>) {
        let fields = Fields::of(packet);
        let found = self.tracker.lookup(&fields.tuple);
        let told = self.tracker.classify(found, &fields, packet);
        let track = self.tracker.track(found, &fields, packet, self.now);
        assert_eq!(told, track);
        let begins = matches!(track.state, State::New | State::Related) && track.way.is_none();
        let entered = begins.then(|| {
            let draft = self.tracker.draft(&fields, packet);
            self.tracker.confirm(&draft, self.now)
        });
        (track, entered)
    }

    /// Advances the clock in quarter seconds.
    pub(super) fn wait(&mut self, secs: u32) {
        for _ in 0..secs * 4 {
            self.now = self.now.after(TICKS_PER_SECOND / 4);
            self.tracker.tick(self.now, usize::MAX);
        }
    }

    /// Returns the row of a tuple's connection.
    pub(super) fn row(&self, tuple: &Tuple) -> Option<Row> {
        let way = self.tracker.lookup(tuple)?;
        self.table.row(self.tracker.id(way))
    }
}
