//! Benchmark rows of the firewall: the walk of `routing-fast-path` with rules and connections, and
//! the shortest packets.
//!
//! Rows without connections send in one direction; half of their packets hit, spread over the
//! rules, and the others match no rule. In the other rows each flow is a connection, set up by real
//! packets: its first packet is forwarded, the answer comes back, and both directions repeat until
//! the work at the beginning of a connection is over. Then vectors of both directions are timed in
//! turn.

use frame::VECTOR_FRAMES;
use machine::{Duration, Rng};

use super::measure::Bench;
use super::packets::Templates;
use super::rig::{DrivenWorker, Rig};
use super::rules::{Build, Shapes, home, layer7, second_uplink, second_uplink_for, tls_hosts};
use super::{Family, Invalid, Options, Row, traffic};
use dataplane::firewall::Firewall;
use dataplane::handover;
use dataplane::packet::{Tuple, protocol};
use dataplane::rule::{Action, Matcher};

/// The names of these rows.
pub const GUARDED: &[&str] = &[
    "filter-25",
    "filter-1000",
    "stateful",
    "stateful-tcp",
    "stateful-25",
    "masquerade",
    "fasttrack",
    "fasttrack-nat",
    "new-connections",
    "notrack",
    "layer7-50",
    "tls-host-50",
    "mangle-25",
    "mangle-1000",
    "raw-25",
    "prerouting-25",
    "mark-routing",
    "routing-rules-25",
    "routing-rules-1000",
];

/// Numbers of flows for rows without connections.
const PLAIN: &[u32] = &[64_000];
/// Numbers of concurrent connections, up to a small provider's.
const TALKS: &[u32] = &[1, 1_000, 64_000];
/// Size of the connection table, beyond the connections of any row.
const ENTRIES: u32 = 1 << 22;
/// Number of flows that begin connections in turn: more than live at a time.
const BEGINNERS: u32 = 1 << 18;
/// Time per vector while connections begin. With RouterOS's timeout of 30 seconds a quarter of
/// [`BEGINNERS`] live at a time, and as many end as begin.
const BEGIN_TIME: Duration = Duration::from_millis(120);

/// The packets of a row.
enum Kind {
    /// Rules of six shapes, without connections.
    Shapes(Vec<Tuple>),
    /// Established connections of this protocol, with traffic in both directions.
    Talk(u8),
    /// Connections, half of which hit rules.
    TalkShapes(Shapes),
    /// New connections.
    Begin,
}

/// Measures the rows of these names, for each family of the options, with one route and the number of connections of
/// the row. Rows with connections use the shortest frames, other rows those of [`Options::rule_frames`].
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn guarded(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        for &family in &options.families {
            for &flows in counts(name) {
                let begins = name == "new-connections";
                // Workers compete for the room in the connection table, so some packets are
                // dropped.
                let crowded = begins && options.workers > 1 && flows < BEGINNERS;
                if crowded || !begins && flows > options.connections_max {
                    continue;
                }
                let (firewall, kind) = firewall(name, family, flows, options.seed);
                let mut bench = Bench::new(options, |workers| {
                    let firewall = firewall.clone();
                    let mut rig = Rig::new(family, 1, workers, firewall, options.seed)?;
                    if let Some(count) = name.strip_prefix("routing-rules-") {
                        let count = count.parse().unwrap_or(0);
                        rig.set_routing_rules(second_uplink_for(family, count));
                    }
                    Ok(rig)
                })?;
                for frame in frames(&kind, family, options) {
                    bench.prepare(|rig, seed| begin(rig, &kind, flows, frame, seed))?;
                    emit(Row {
                        row: name,
                        family: family.name(),
                        frame,
                        flows,
                        routes: 1,
                        ..bench.measure()?
                    });
                }
            }
        }
    }
    Ok(())
}

/// Returns the lengths of frames of a row in bytes, with check sequence.
fn frames(kind: &Kind, family: Family, options: &Options) -> Vec<u16> {
    let shortest = traffic::frame_len(family);
    match kind {
        Kind::Shapes(_) if !options.rule_frames.is_empty() => {
            let frames = options.rule_frames.iter();
            frames.map(|frame| (*frame).max(shortest)).collect()
        }
        _ => vec![shortest],
    }
}

/// Returns the numbers of flows of a row; for `new-connections` the sizes of the table.
fn counts(row: &str) -> &'static [u32] {
    match row {
        "stateful" => &[1, 1_000, 64_000, 1_000_000],
        "stateful-tcp" | "stateful-25" | "raw-25" | "prerouting-25" => &TALKS[1..],
        "masquerade" | "fasttrack" | "fasttrack-nat" | "mark-routing" => TALKS,
        "routing-rules-25" | "routing-rules-1000" => &[1_000],
        "new-connections" => &[16_000, 1_000_000],
        "layer7-50" | "tls-host-50" => &[1_000],
        _ => PLAIN,
    }
}

/// Returns the firewall and the packets of a row.
fn firewall(row: &str, family: Family, flows: u32, seed: u64) -> (Firewall, Kind) {
    let build = Build::new(family);
    let accept = |_| Action::Accept;
    let built = match row {
        "filter-25" | "filter-1000" | "mangle-25" | "mangle-1000" => {
            let count = if row.ends_with("25") { 25 } else { 1000 };
            let shapes = Shapes::new(family, count, seed);
            let build = match row.starts_with("filter") {
                true => build.filter(acting(shapes.rules, accept)),
                false => build.mangle(acting(shapes.rules, Action::MarkPacket)),
            };
            return (build.done(), Kind::Shapes(shapes.hits));
        }
        "stateful-25" | "raw-25" | "prerouting-25" => {
            let shapes = Shapes::new(family, 25, seed);
            let rules = shapes.rules.clone();
            let build = build.tracked(ENTRIES);
            let behind = |build: Build| build.filter(home(family, false)).masquerade();
            let build = match row {
                "raw-25" => behind(build.raw(acting(rules, accept))),
                "prerouting-25" => behind(build.prerouting(acting(rules, Action::MarkPacket))),
                _ => build.filter(acting(rules, accept)),
            };
            return (build.done(), Kind::TalkShapes(shapes));
        }
        "new-connections" => {
            let build = build.tracked(flows).filter(home(family, false));
            return (build.done(), Kind::Begin);
        }
        "tls-host-50" => {
            let build = build.tracked(ENTRIES).filter(tls_hosts(50));
            return (build.done(), Kind::Talk(protocol::TCP));
        }
        "layer7-50" => build.tracked(ENTRIES).filter(layer7(50)),
        "notrack" => build.tracked(ENTRIES).notrack().filter(home(family, false)),
        "masquerade" => build
            .tracked(ENTRIES)
            .filter(home(family, false))
            .masquerade(),
        "mark-routing" => build
            .tracked(ENTRIES)
            .prerouting(second_uplink())
            .filter(home(family, false))
            .masquerade(),
        "fasttrack" => build.tracked(ENTRIES).filter(home(family, true)),
        "fasttrack-nat" => build
            .tracked(ENTRIES)
            .filter(home(family, true))
            .masquerade(),
        _ => build.tracked(ENTRIES).filter(home(family, false)),
    };
    let protocol = match row {
        "stateful-tcp" => protocol::TCP,
        _ => protocol::UDP,
    };
    (built.done(), Kind::Talk(protocol))
}

/// Adds actions to rules, by rule number from 1.
fn acting(rules: Vec<Vec<Matcher>>, action: impl Fn(u32) -> Action) -> Vec<(Vec<Matcher>, Action)> {
    let numbered = (1..).zip(rules);
    numbered
        .map(|(number, matchers)| (matchers, action(number)))
        .collect()
}

/// Loads the packets of the workers, and begins their connections.
fn begin(rig: &mut Rig, kind: &Kind, flows: u32, frame: u16, seed: u64) -> Result<(), Invalid> {
    let (family, workers) = (rig.family(), rig.lanes().len());
    for lane in rig.lanes() {
        let seed = seed + u64::from(lane.index());
        let traffic = Traffic {
            family,
            flows,
            frame,
            workers,
        };
        begin_lane(lane, kind, traffic, seed)?;
    }
    match kind {
        Kind::Begin => fill(rig),
        Kind::Shapes(_) | Kind::Talk(_) | Kind::TalkShapes(_) => Ok(()),
    }
}

/// Traffic of a worker.
#[derive(Clone, Copy)]
struct Traffic {
    family: Family,
    /// Number of flows.
    flows: u32,
    /// Length of frames in bytes, with check sequence.
    frame: u16,
    /// Number of all workers.
    workers: usize,
}

fn begin_lane(
    lane: &mut DrivenWorker,
    kind: &Kind,
    traffic: Traffic,
    seed: u64,
) -> Result<(), Invalid> {
    let Traffic {
        family,
        flows,
        frame,
        workers,
    } = traffic;
    let index = lane.index();
    let mut rng = Rng::seeded(seed ^ 0xf10c);
    // Keep flows whose both directions hash to this worker, as a network card spreads them.
    let at_home =
        |frame: &[u8]| handover::home(frame, true, workers).is_none_or(|home| home == index);
    let mut draw = |protocol| loop {
        let frame = traffic::packet(&traffic::flow(family, protocol, &mut rng), b"hello");
        if at_home(&frame) {
            return frame;
        }
    };
    let len = usize::from(frame) - 4;
    let answer = |frame| Ok(traffic::answer(frame));
    match kind {
        Kind::Shapes(hits) => {
            let hit = |number: u32| traffic::packet(&hits[number as usize / 2 % hits.len()], b"");
            let either = [protocol::TCP, protocol::UDP];
            let frames = (0..flows).map(|number| match number % 2 {
                0 => hit(number),
                _ => draw(either[number as usize / 2 % 2]),
            });
            let frames = frames.map(|packet| traffic::lengthen(packet, frame));
            let templates = Templates::of(frames, len, seed);
            lane.meter().load([Some(templates), None]);
        }
        Kind::Talk(protocol) => {
            let frames = (0..flows).map(|_| draw(*protocol));
            talk(lane, Templates::of(frames, len, seed), &answer, seed)?;
        }
        Kind::TalkShapes(shapes) => {
            let mut rng = Rng::seeded(seed ^ 0x7a1c);
            let frames = shapes.flows(family, &mut rng);
            let frames = frames.map(|flow| traffic::packet(&flow, b"hello"));
            let frames = frames.filter(|frame| at_home(frame)).take(flows as usize);
            talk(lane, Templates::of(frames, len, seed), &answer, seed)?;
        }
        Kind::Begin => {
            let frames = (0..BEGINNERS).map(|_| draw(protocol::UDP));
            let templates = Templates::of(frames, len, seed);
            lane.meter().load([Some(templates), None]);
            lane.set_vector_time(BEGIN_TIME);
        }
    }
    Ok(())
}

/// Begins connections until as many end as begin. The workers take turns, because they share the
/// table's room and cannot evict each other's entries.
fn fill(rig: &mut Rig) -> Result<(), Invalid> {
    for _ in 0..BEGINNERS as usize / VECTOR_FRAMES {
        for lane in rig.lanes() {
            lane.run(VECTOR_FRAMES)?;
        }
    }
    Ok(())
}

/// Begins a connection with each of these packets, answers the packets that leave (an empty answer is
/// none), and repeats both directions.
///
/// # Errors
/// A packet was lost, or `answer` does not recognise a packet that left.
pub(super) fn talk(
    lane: &mut DrivenWorker,
    templates: Templates,
    answer: &dyn Fn(Vec<u8>) -> Result<Vec<u8>, Invalid>,
    seed: u64,
) -> Result<(), Invalid> {
    /// Repetitions before packets are timed, so that the cost of a connection's first packets
    /// (patterns are matched in ten of them) is over.
    const LAPS: usize = 6;
    let vectors = templates.count().div_ceil(VECTOR_FRAMES);
    let count = templates.count();
    lane.meter().load([Some(templates), None]);
    lane.meter().record(true);
    lane.run(vectors * VECTOR_FRAMES)?;
    lane.meter().record(false);
    let left = lane.meter().recorded().into_iter();
    let answers = left.map(|(_, frame)| answer(frame));
    let answers = answers.filter(|answer| !matches!(answer, Ok(frame) if frame.is_empty()));
    let answers = answers.take(count).collect::<Result<Vec<_>, _>>()?;
    let len = answers.iter().map(Vec::len).max().unwrap_or(0);
    lane.meter().answer(Templates::of(answers, len, seed ^ 1));
    lane.run(2 * LAPS * vectors * VECTOR_FRAMES)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_connections_are_measured_with_the_frames_of_the_options() {
        let options = Options {
            families: vec![Family::Ipv4],
            rule_frames: vec![1518, 64],
            connections_max: 1_000,
            runs: 1,
            ..Options::default()
        };
        let mut rows = Vec::new();

        let mut emit = |row: Row| rows.push((row.row, row.frame));
        // More flows than connections are allowed: the row of rules is left out.
        let measured = guarded(&options, &["filter-25"], &mut emit);
        assert_eq!(measured, Ok(()));
        let options = Options {
            connections_max: u32::MAX,
            ..options
        };
        let measured = guarded(&options, &["filter-25", "notrack"], &mut emit);

        assert_eq!(measured, Ok(()));
        let expected = [("filter-25", 1518), ("filter-25", 64), ("notrack", 64)];
        assert_eq!(rows, expected);
    }
}
