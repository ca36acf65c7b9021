//! `/tool/traffic-generator/quick`: runs a test of the traffic generator and shows its figures every second.

mod cells;
mod progress;

use std::time::Duration;

use generator::{Figures, Sample};
use menu::{Reason, Row, Value};

use crate::ping::{nothing, number};
use crate::table::Align::{Left, Right};
use crate::{Column, Form, Invocation, Look, Next, RunningTool, Tool, Turn};

pub use cells::figure_cells;
pub use progress::{GeneratorProgress, TrafficGenerator};

/// Time between two updates.
const INTERVAL: Duration = Duration::from_secs(1);

static COLUMNS: [Column; 13] = [
    Column::new("seq", "SEQ").at(4, Left),
    Column::new("id", "ID").at(3, Left),
    Column::new("tx-packet", "TX-PACKET").at(10, Right),
    Column::new("tx-rate", "TX-RATE").at(10, Right),
    Column::new("rx-packet", "RX-PACKET").at(10, Right),
    Column::new("rx-rate", "RX-RATE").at(10, Right),
    Column::new("rx-ooo", "RX-OOO").at(7, Right),
    Column::new("lost-packet", "LOST-PACKET").at(11, Right),
    Column::new("lost-rate", "LOST-RATE").at(10, Right),
    Column::new("lat-min", "LAT-MIN").at(8, Right),
    Column::new("lat-avg", "LAT-AVG").at(8, Right),
    Column::new("lat-max", "LAT-MAX").at(8, Right),
    Column::new("jitter", "JITTER").at(8, Right),
];

pub(crate) struct Quick;

struct RunningTest {
    arguments: Vec<(&'static str, Value)>,
    has_begun: bool,
    /// Number of the next update. `before`: figures of the latest update.
    sequence: u64,
    before: Sample,
    /// Figures of the update before `before`.
    earlier: Sample,
    updated: Duration,
    /// All frames were sent at the last update: the next one is the last.
    was_sent: bool,
}

impl Tool for Quick {
    fn form(&self) -> Form {
        Form::Lines(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(RunningTest {
            arguments: std::mem::take(&mut given.arguments),
            has_begun: false,
            sequence: 0,
            before: Sample::default(),
            earlier: Sample::default(),
            updated: Duration::ZERO,
            was_sent: false,
        }))
    }
}

impl RunningTool for RunningTest {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let missing = || Reason::failure("the traffic generator needs a running router");
        let generator = turn.router.traffic_generator().ok_or_else(missing)?;
        let next = Next::At(turn.now.saturating_add(INTERVAL));
        if !self.has_begun {
            generator.begin(turn.store, &self.arguments)?;
            self.has_begun = true;
            self.updated = turn.now;
            return Ok(nothing(next));
        }
        // Another user may have stopped the test.
        let Some(progress) = generator.progress() else {
            self.has_begun = false;
            return Ok(nothing(Next::Over));
        };
        let seconds = turn
            .now
            .saturating_sub(self.updated)
            .as_secs_f64()
            .max(0.001);
        let rows = self.rows(&progress.sample, seconds);
        self.updated = turn.now;
        self.earlier = std::mem::replace(&mut self.before, progress.sample);
        self.sequence += 1;
        let is_over = std::mem::replace(&mut self.was_sent, progress.is_sent) && progress.is_sent;
        Ok(Look {
            rows: Some(rows),
            next: if is_over { Next::Over } else { next },
        })
    }

    fn summary(&self) -> String {
        let total = self.before.total();
        let (sent, received, lost) = (total.sent, total.received, total.missing());
        let mut text = format!("sent={sent} received={received} lost-or-pending={lost}");
        for (name, count) in [
            ("duplicates", total.duplicates),
            ("bad-checksum", total.bad_checksum),
            ("unknown", self.before.unknown),
            ("no-buffer", self.before.no_buffer),
        ] {
            if count > 0 {
                text.push_str(&format!(" {name}={count}"));
            }
        }
        text.push('\n');
        text
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        if std::mem::take(&mut self.has_begun)
            && let Some(generator) = turn.router.traffic_generator()
        {
            generator.end();
        }
    }
}

impl RunningTest {
    /// Rows of an update: each stream, and their sum. A frame has to return within an update.
    fn rows(&self, now: &Sample, seconds: f64) -> Vec<Row> {
        let none = Figures::default();
        let of = |sample: &Sample, id: u8| {
            let mut streams = sample.streams.iter();
            let found = streams.find(|(own, _)| *own == id);
            found.map_or(none.clone(), |(_, figures)| figures.clone())
        };
        let streams = now.streams.iter();
        let mut rows: Vec<Row> = streams
            .map(|(id, figures)| {
                let (earlier, before) = (of(&self.earlier, *id), of(&self.before, *id));
                self.row(number((*id).into()), [&earlier, &before, figures], seconds)
            })
            .collect();
        let [earlier, before, total] = [&self.earlier, &self.before, now].map(Sample::total);
        rows.push(self.row(Value::Word("TOT"), [&earlier, &before, &total], seconds));
        rows
    }

    /// Row of an update from the figures of the last three updates, oldest first.
    fn row(&self, id: Value, [earlier, before, now]: [&Figures; 3], seconds: f64) -> Row {
        let mut row = Row::default();
        row.set("seq", number(self.sequence));
        row.set("id", id);
        figure_cells(&mut row, before, now, [earlier.sent, before.sent], seconds);
        row
    }
}
