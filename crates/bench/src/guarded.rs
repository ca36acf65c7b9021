//! The firewall's rows: the walk of `routing-fast-path` past rules and connections, with the
//! shortest packets.
//!
//! Rows without connections send in one direction; half of their packets hit, spread over the rules,
//! the others fall through. In the others each flow is a connection, made by real packets: its first
//! one walks out, the answer to what left walks back, and both directions go round until whatever
//! happens at a connection's beginning is over. Then vectors of both directions are timed in turn.

use frame::VECTOR_FRAMES;
use machine::{Duration, Rng};

use super::measure::Bench;
use super::packets::Templates;
use super::rig::{Lane, Rig};
use super::rules::{Build, Shapes, home, layer7, second_uplink, tls_hosts};
use super::{Family, Invalid, Options, Row, traffic};
use dataplane::firewall::Firewall;
use dataplane::handover;
use dataplane::packet::{Tuple, protocol};
use dataplane::rule::{Action, Matcher};

/// The rows of this kind, by name.
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
];

/// Flows of rows without connections.
const PLAIN: &[u32] = &[64_000];
/// Connections at a time, up to a small provider's.
const TALKS: &[u32] = &[1, 1_000, 64_000];
/// More entries than any row has connections.
const ENTRIES: u32 = 1 << 22;
/// Flows that go round while connections begin: more than live at a time.
const BEGINNERS: u32 = 1 << 18;
/// By what the clock goes on with each vector while connections begin. With RouterOS's 30 seconds a
/// quarter of [`BEGINNERS`] live at a time, and as many end as begin.
const BEGIN_TIME: Duration = Duration::from_millis(120);

/// What a row is about.
enum Kind {
    /// Rules of six shapes, without connections.
    Shapes(Vec<Tuple>),
    /// Connections, which both ends keep busy; by protocol.
    Talk(u8),
    /// Connections of which half hit rules.
    TalkShapes(Shapes),
    /// Connections that begin.
    Begin,
}

/// Measures the rows of these names, for each family of the options. The frames are the shortest that
/// there are, the route one, and connections as many as the rows say.
///
/// # Errors
/// As [`super::run`].
pub fn guarded(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        for &family in &options.families {
            for &flows in counts(name) {
                let begins = name == "new-connections";
                // Workers take the room from each other that they make: some packets are lost.
                let crowded = begins && options.workers > 1 && flows < BEGINNERS;
                if crowded || !begins && flows > options.connections_max {
                    continue;
                }
                let (firewall, kind) = firewall(name, family, flows, options.seed);
                let mut bench = Bench::new(options, |workers| {
                    Rig::new(family, 1, workers, firewall.clone(), options.seed)
                })?;
                bench.prepare(|rig, seed| begin(rig, &kind, flows, seed))?;
                emit(Row {
                    row: name,
                    family: family.name(),
                    frame: traffic::frame_len(family),
                    flows,
                    routes: 1,
                    ..bench.measure()?
                });
            }
        }
    }
    Ok(())
}

/// The numbers of flows of a row; of `new-connections`, how many the table takes.
fn counts(row: &str) -> &'static [u32] {
    match row {
        "stateful" => &[1, 1_000, 64_000, 1_000_000],
        "stateful-tcp" | "stateful-25" | "raw-25" | "prerouting-25" => &TALKS[1..],
        "masquerade" | "fasttrack" | "fasttrack-nat" | "mark-routing" => TALKS,
        "new-connections" => &[16_000, 1_000_000],
        "layer7-50" | "tls-host-50" => &[1_000],
        _ => PLAIN,
    }
}

/// A row's rules, and what its packets are.
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

/// Rules with an action each, by their number from 1.
fn acting(rules: Vec<Vec<Matcher>>, action: impl Fn(u32) -> Action) -> Vec<(Vec<Matcher>, Action)> {
    let numbered = (1..).zip(rules);
    numbered
        .map(|(number, matchers)| (matchers, action(number)))
        .collect()
}

/// Gives the workers of a router their packets, and makes the connections that they belong to.
fn begin(rig: &mut Rig, kind: &Kind, flows: u32, seed: u64) -> Result<(), Invalid> {
    let (family, workers) = (rig.family(), rig.lanes().len());
    for lane in rig.lanes() {
        let seed = seed + u64::from(lane.index());
        begin_lane(lane, kind, (family, flows), workers, seed)?;
    }
    match kind {
        Kind::Begin => fill(rig),
        Kind::Shapes(_) | Kind::Talk(_) | Kind::TalkShapes(_) => Ok(()),
    }
}

fn begin_lane(
    lane: &mut Lane,
    kind: &Kind,
    (family, flows): (Family, u32),
    workers: usize,
    seed: u64,
) -> Result<(), Invalid> {
    let index = lane.index();
    let mut rng = Rng::seeded(seed ^ 0xf10c);
    // As a network card spreads them: both directions come to one worker.
    let at_home =
        |frame: &[u8]| handover::home(frame, true, workers).is_none_or(|home| home == index);
    let mut draw = |protocol| loop {
        let frame = traffic::packet(&traffic::flow(family, protocol, &mut rng), b"hello");
        if at_home(&frame) {
            return frame;
        }
    };
    let len = usize::from(traffic::frame_len(family)) - 4;
    let answer = |frame| Ok(traffic::answer(frame));
    match kind {
        Kind::Shapes(hits) => {
            let hit = |number: u32| traffic::packet(&hits[number as usize / 2 % hits.len()], b"");
            let either = [protocol::TCP, protocol::UDP];
            let frames = (0..flows).map(|number| match number % 2 {
                0 => hit(number),
                _ => draw(either[number as usize / 2 % 2]),
            });
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

/// Begins connections until as many end as begin. All workers in turn: they share the table's room,
/// and one evicts none of another's.
fn fill(rig: &mut Rig) -> Result<(), Invalid> {
    for _ in 0..BEGINNERS as usize / VECTOR_FRAMES {
        for lane in rig.lanes() {
            lane.run(VECTOR_FRAMES)?;
        }
    }
    Ok(())
}

/// Begins a connection with each of these packets, answers what leaves, and lets both directions go
/// round.
///
/// # Errors
/// A packet was lost, or `answer` does not know one that left.
pub(super) fn talk(
    lane: &mut Lane,
    templates: Templates,
    answer: &dyn Fn(Vec<u8>) -> Result<Vec<u8>, Invalid>,
    seed: u64,
) -> Result<(), Invalid> {
    /// How often each packet goes by before it is timed: what a connection's first packets cost
    /// (patterns are looked for in ten of them) is over by then.
    const LAPS: usize = 6;
    let vectors = templates.count().div_ceil(VECTOR_FRAMES);
    let count = templates.count();
    lane.meter().load([Some(templates), None]);
    lane.meter().record(true);
    lane.run(vectors * VECTOR_FRAMES)?;
    lane.meter().record(false);
    let left = lane.meter().recorded().into_iter().take(count);
    let answers = left.map(|(_, frame)| answer(frame));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    let len = answers.iter().map(Vec::len).min().unwrap_or(0);
    lane.meter().answer(Templates::of(answers, len, seed ^ 1));
    lane.run(2 * LAPS * vectors * VECTOR_FRAMES)?;
    Ok(())
}
