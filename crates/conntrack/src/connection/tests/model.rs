//! Compares the tracker with a simple model: a map of connections with the time of their last packet.

use std::collections::BTreeMap;

use packet::{Tuple, protocol};
use proptest::prelude::*;

use super::support::{Bed, plain, tuple4, tuple6};
use crate::connection::*;

#[derive(Clone, Copy, Debug)]
enum Act {
    /// A packet of a tuple, with this number of payload bytes.
    Packet {
        tuple: Tuple,
        data: usize,
    },
    Wait {
        secs: u32,
    },
    Remove {
        tuple: Tuple,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct Model {
    packets: [u64; 2],
    bytes: [u64; 2],
    last: u32,
    timeout: u32,
    seen_reply: bool,
    assured: bool,
}

/// Returns the timeouts of a protocol: with packets in one direction, and in both.
fn timeouts(number: u8) -> [u32; 2] {
    match number {
        protocol::UDP => [30, 180],
        protocol::ICMP | protocol::ICMPV6 => [10, 10],
        _ => [600, 600],
    }
}

/// Returns the model's state for a packet; `now` is in ticks.
fn model_packet(
    connections: &mut BTreeMap<u32, (Tuple, Model)>,
    next: &mut u32,
    tuple: &Tuple,
    len: u64,
    now: u32,
) -> State {
    let found = connections.values_mut().find_map(|(original, model)| {
        let reply = *original != *tuple;
        (!reply || original.reversed() == *tuple).then_some((reply, original.protocol, model))
    });
    let Some((reply, number, model)) = found else {
        // Only ICMP requests begin a connection.
        let icmp = matches!(tuple.protocol, protocol::ICMP | protocol::ICMPV6);
        if icmp && !matches!(tuple.destination_port >> 8, 8 | 128) {
            return State::Invalid;
        }
        let model = Model {
            packets: [1, 0],
            bytes: [len, 0],
            last: now,
            timeout: timeouts(tuple.protocol)[0],
            ..Model::default()
        };
        connections.insert(*next, (*tuple, model));
        *next += 1;
        return State::New;
    };
    let state = match reply || model.seen_reply {
        true => State::Established,
        false => State::New,
    };
    model.packets[usize::from(reply)] += 1;
    model.bytes[usize::from(reply)] += len;
    model.last = now;
    if model.seen_reply && !matches!(number, protocol::ICMP | protocol::ICMPV6) {
        (model.assured, model.timeout) = (true, timeouts(number)[1]);
    }
    model.seen_reply |= reply;
    state
}

fn compare(bed: &Bed, connections: &BTreeMap<u32, (Tuple, Model)>) {
    let rows: Vec<Row> = bed.table.rows(false).chain(bed.table.rows(true)).collect();
    assert_eq!(rows.len(), connections.len());
    let (ipv4, ipv6) = bed.table.totals();
    assert_eq!((ipv4 + ipv6) as usize, rows.len());
    for (original, model) in connections.values() {
        let row = bed.row(original).expect("the model has it");
        assert_eq!((row.original, row.reply), (*original, original.reversed()));
        let traffic = row.directions.map(|direction| direction.traffic);
        assert_eq!(traffic.map(|traffic| traffic.packets), model.packets);
        assert_eq!(traffic.map(|traffic| traffic.bytes), model.bytes);
        assert_eq!(
            (row.seen_reply, row.assured),
            (model.seen_reply, model.assured)
        );
        assert_eq!(row.timeout_secs, model.timeout);
        let left = model.timeout - (bed.now.0 - model.last) / TICKS_PER_SECOND;
        assert_eq!(row.timeout(bed.now), left);
    }
}

fn tuples() -> impl Strategy<Value = Tuple> {
    let protocols = prop::sample::select(vec![protocol::UDP, protocol::GRE, protocol::ICMP, 89]);
    (0..6_u32, protocols, any::<bool>(), any::<bool>()).prop_map(
        |(number, mut proto, ipv6, back)| {
            let mut tuple = if ipv6 {
                if proto == protocol::ICMP {
                    proto = protocol::ICMPV6;
                }
                tuple6(number, proto)
            } else {
                tuple4(number, proto)
            };
            match proto {
                protocol::UDP | protocol::ICMP => {}
                protocol::ICMPV6 => tuple.destination_port = 128 << 8,
                _ => {
                    (tuple.source_port, tuple.destination_port, tuple.source) =
                        (0, 0, tuple.source + u128::from(number))
                }
            }
            if back { tuple.reversed() } else { tuple }
        },
    )
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => (tuples(), 0..1_400_usize).prop_map(|(tuple, data)| Act::Packet { tuple, data }),
        3 => (0..200_u32).prop_map(|secs| Act::Wait { secs }),
        1 => Just(Act::Wait { secs: 700 }),
        1 => tuples().prop_map(|tuple| Act::Remove { tuple }),
    ]
}

proptest! {
    #[test]
    fn the_tracker_matches_a_map_of_tuples_with_timeouts(
        acts in prop::collection::vec(acts(), 1..120),
    ) {
        let mut bed = Bed::new(&Settings { entries_max: 1_000, ..Settings::default() });
        let (mut connections, mut next) = (BTreeMap::new(), 0);
        for act in acts {
            match act {
                Act::Packet { tuple, data } => {
                    let packet = plain(&tuple, data);
                    let now = bed.now.0;
                    let len = packet.len() as u64;
                    let right = model_packet(&mut connections, &mut next, &tuple, len, now);
                    prop_assert_eq!(bed.show(&packet).state, right);
                }
                Act::Wait { secs } => {
                    bed.wait(secs);
                    connections.retain(|_, (_, model)| {
                        bed.now.0 - model.last < model.timeout * TICKS_PER_SECOND
                    });
                }
                Act::Remove { tuple } => {
                    let way = bed.tracker.lookup(&tuple);
                    let removed = way.is_some_and(|way| bed.tracker.remove(bed.tracker.id(way)));
                    let before = connections.len();
                    connections.retain(|_, (original, _)| {
                        *original != tuple && original.reversed() != tuple
                    });
                    prop_assert_eq!(removed, connections.len() < before);
                }
            }
            compare(&bed, &connections);
        }
    }
}
