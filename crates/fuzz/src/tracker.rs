//! Fuzz target of connection tracking.

use std::sync::Arc;

use dataplane::connection::{FlowId, Tracker};
use dataplane::connection::{Purge, Row, Settings, Setup, State, TICKS_PER_SECOND, Table, Tick};
use dataplane::packet::{Fields, Tuple, protocol};
use machine::Rng;

/// Maximum number of connections.
const MAX_ENTRIES: u32 = 16;

/// Bytes per step.
const STEP_BYTES: usize = 8;

/// Passes packets of a few conversations to a tracker, in both directions and with delays, eight bytes per
/// step. Checks that previews match results, that no two connections share a tuple, and that the counters match
/// the rows.
pub fn tracker(bytes: &[u8]) {
    let Some(mut bed) = Bed::new() else {
        return;
    };
    for act in bytes.chunks_exact(STEP_BYTES).take(64) {
        let Some(act) = act.first_chunk() else {
            return;
        };
        bed.act(act);
        bed.check();
    }
    bed.tracker.purge(Purge::Everything);
    for _ in 0..4 {
        bed.wait(1);
    }
    assert!(bed.tracker.is_empty(), "a purge leaves nothing");
    assert_eq!(bed.rows().len(), 0);
}

/// A tracker with a clock.
struct Bed {
    table: Arc<Table>,
    tracker: Tracker,
    now: Tick,
}

impl Bed {
    fn new() -> Option<Self> {
        let settings = Settings {
            entries_max: MAX_ENTRIES,
            ..Settings::default()
        };
        let table = Table::new(1, MAX_ENTRIES).ok()?;
        let setup = Setup {
            table: Arc::clone(&table),
            worker: 0,
            tuple_claims: None,
            settings: &settings,
        };
        let now = Tick(80);
        let tracker = Tracker::new(setup, &mut Rng::seeded(5), now);
        Some(Self {
            table,
            tracker,
            now,
        })
    }

    fn act(&mut self, &[kind, who, flags, seq, ack, window, data, wait]: &[u8; STEP_BYTES]) {
        let tuple = tuple(kind, who);
        if kind & 0xc0 == 0xc0 {
            self.wait(u32::from(wait & 0x1f));
            if let Some(way) = self.tracker.lookup(&tuple).filter(|_| flags & 1 != 0) {
                assert!(self.tracker.remove(self.tracker.id(way)));
            }
            return;
        }
        let upper = match tuple.protocol {
            protocol::TCP => tcp(&tuple, flags, [seq, ack, window]),
            _ => plain(&tuple),
        };
        let mut packet = packet(&tuple, &upper, usize::from(data));
        if kind & 0x20 != 0 {
            // The packet as an ICMP error quotes it.
            let quoted = core::mem::take(&mut packet);
            let error = Tuple {
                source: 5,
                destination: tuple.source,
                protocol: if tuple.ipv6 { 58 } else { 1 },
                ..tuple
            };
            let head = [if tuple.ipv6 { 3 } else { 11 }, 0, 0, 0, 0, 0, 0, 0];
            packet = self::packet(&error, &[&head[..], &quoted].concat(), 0);
        }
        self.show(&packet);
    }

    fn show(&mut self, packet: &[u8]) {
        let fields = Fields::of(packet);
        let found = self.tracker.lookup(&fields.tuple);
        let told = self.tracker.classify(found, &fields, packet);
        let track = self.tracker.track(found, &fields, packet, self.now);
        assert_eq!(told, track, "what was told is done");
        let begins = matches!(track.state, State::New | State::Related) && track.way.is_none();
        if begins {
            let draft = self.tracker.draft(&fields, packet);
            if let Ok(way) = self.tracker.confirm(&draft, self.now) {
                assert_eq!(self.tracker.lookup(&fields.tuple), Some(way));
            }
        }
    }

    fn wait(&mut self, secs: u32) {
        for _ in 0..secs * 4 {
            self.now = self.now.after(TICKS_PER_SECOND / 4);
            self.tracker.tick(self.now, usize::MAX);
        }
        // The owner of the tracker drains these with each step.
        while self.tracker.take_counted().is_some() {}
        while self.tracker.take_attached().is_some() {}
    }

    fn rows(&self) -> Vec<Row> {
        self.table
            .rows(false)
            .chain(self.table.rows(true))
            .collect()
    }

    fn check(&self) {
        let rows = self.rows();
        let (ipv4, ipv6) = self.table.totals();
        assert_eq!((ipv4 + ipv6) as usize, rows.len());
        assert!(rows.len() <= MAX_ENTRIES as usize);
        let mut tuples: Vec<Tuple> = Vec::new();
        for row in &rows {
            let ways = [(row.original, false), (row.reply, true)];
            let ways = &ways[..1 + usize::from(row.original != row.reply)];
            for (tuple, reply) in ways {
                let way = self.tracker.lookup(tuple).expect("a row is found");
                assert_eq!((way.reply(), self.tracker.tuple(way)), (*reply, *tuple));
                assert_eq!(self.row(way), Some(row.original));
                assert!(!tuples.contains(tuple), "two connections have {tuple}");
                tuples.push(*tuple);
            }
        }
    }

    fn row(&self, way: FlowId) -> Option<Tuple> {
        let row = self.table.row(self.tracker.id(way))?;
        Some(row.original)
    }
}

/// Returns one of a few tuples, or its reply tuple.
fn tuple(kind: u8, who: u8) -> Tuple {
    let protocol = [
        protocol::TCP,
        protocol::TCP,
        protocol::UDP,
        protocol::ICMP,
        protocol::GRE,
        89,
        protocol::UDP,
        protocol::ICMPV6,
    ][usize::from(kind & 7)];
    let ipv6 = match protocol {
        protocol::ICMP => false,
        protocol::ICMPV6 => true,
        _ => kind & 8 != 0,
    };
    let ports = match protocol {
        protocol::TCP | protocol::UDP => (5000 + u16::from(who & 0x1f), 443),
        protocol::ICMP => (u16::from(who & 0x1f), 8 << 8),
        protocol::ICMPV6 => (u16::from(who & 0x1f), 128 << 8),
        _ => (0, 0),
    };
    let tuple = Tuple {
        source: 0x0a00_0001 + u128::from(who >> 5 & 3),
        // Sometimes a host talks to itself.
        destination: 0x0a00_0001 + u128::from(who >> 6),
        source_port: ports.0,
        destination_port: ports.1,
        protocol,
        ipv6,
    };
    if kind & 0x10 != 0 {
        tuple.reversed()
    } else {
        tuple
    }
}

fn tcp(tuple: &Tuple, flags: u8, numbers: [u8; 3]) -> Vec<u8> {
    // Small steps around the start, and large ones.
    let [seq, ack, window] = numbers.map(|number| match number {
        0..=199 => u32::from(number),
        far => u32::from(far - 199) << 26,
    });
    let mut upper = Vec::new();
    upper.extend(tuple.source_port.to_be_bytes());
    upper.extend(tuple.destination_port.to_be_bytes());
    upper.extend(seq.to_be_bytes());
    upper.extend(ack.to_be_bytes());
    upper.extend([5 << 4, flags]);
    upper.extend((window as u16).to_be_bytes());
    upper.extend([0; 4]);
    upper
}

fn plain(tuple: &Tuple) -> Vec<u8> {
    let [kind, code] = tuple.destination_port.to_be_bytes();
    let [high, low] = tuple.source_port.to_be_bytes();
    match tuple.protocol {
        protocol::ICMP | protocol::ICMPV6 => vec![kind, code, 0, 0, high, low, 0, 1],
        protocol::UDP => vec![high, low, kind, code, 0, 8, 0, 0],
        _ => vec![0; 8],
    }
}

/// Builds a packet of a tuple with this upper-layer header and `data` bytes of payload.
fn packet(tuple: &Tuple, upper: &[u8], data: usize) -> Vec<u8> {
    let len = upper.len() + data;
    let mut packet;
    if tuple.ipv6 {
        packet = vec![0x60, 0, 0, 0, 0, 0, tuple.protocol, 64];
        packet[4..6].copy_from_slice(&(len as u16).to_be_bytes());
        packet.extend(tuple.source.to_be_bytes());
        packet.extend(tuple.destination.to_be_bytes());
    } else {
        packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, tuple.protocol, 0, 0];
        packet[2..4].copy_from_slice(&(len as u16 + 20).to_be_bytes());
        packet.extend((tuple.source as u32).to_be_bytes());
        packet.extend((tuple.destination as u32).to_be_bytes());
    }
    packet.extend(upper);
    packet.resize(packet.len() + data, 0);
    packet
}
