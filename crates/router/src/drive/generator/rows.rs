//! Rows of `/tool/traffic-generator/stats` and the settings' read-only values.

use std::ops::ControlFlow;

use generator::Figures;
use menu::{Row, RowFilter, Value};
use tool::figure_cells;

use super::BUCKETS;
use crate::drive::Control;
use crate::live::{give, number};

/// Characters of the longest bar of the distribution.
const BAR: u64 = 40;

impl Control {
    /// Produces the rows of a menu of statistics, from the running or last test.
    pub(crate) fn generator_rows(
        &self,
        path: &str,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let sample = self.instruments.generator.sample();
        if sample.streams.is_empty() {
            return ControlFlow::Continue(());
        }
        match path {
            "/tool/traffic-generator/stats/stream" => {
                let seconds = self.generator_age().as_secs_f64().max(0.001);
                let total = sample.total();
                let is_running = self.instruments.generator.is_running();
                let streams = sample.streams.iter();
                let rows = streams.map(|(id, figures)| (number((*id).into()), figures));
                for (id, figures) in rows.chain([(Value::Word("TOT"), &total)]) {
                    let mut row = Row::default();
                    row.set("seq", Value::Word("TOT"));
                    row.set("id", id);
                    // While frames are under way, none counts as overdue.
                    let overdue = if is_running { 0 } else { figures.sent };
                    figure_cells(
                        &mut row,
                        &Figures::default(),
                        figures,
                        [0, overdue],
                        seconds,
                    );
                    give(row, filter, each)?;
                }
                ControlFlow::Continue(())
            }
            "/tool/traffic-generator/stats/latency-distribution" => {
                let workers = &self.instruments.generator.workers;
                let bucket = workers.first().map_or(0, |own| own.bucket_nanos);
                for (id, figures) in &sample.streams {
                    distribution(*id, figures, bucket, filter, each)?;
                }
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Adds the read-only values of the settings.
    pub(crate) fn annotate_generator(&self, row: &mut Row) {
        row.set(
            "running",
            Value::Bool(self.instruments.generator.is_running()),
        );
        row.set("latency-distribution-samples", number(BUCKETS as u64));
        let longest = row
            .get("latency-distribution-max")
            .and_then(Value::as_nanos);
        if let Some(longest) = longest {
            let interval = Value::Time(longest / BUCKETS as i64);
            row.set("latency-distribution-measure-interval", interval);
        }
    }
}

/// Rows of one stream's distribution: the upper bound of each bucket with frames.
fn distribution(
    id: u8,
    figures: &Figures,
    bucket_nanos: u64,
    filter: &RowFilter<'_>,
    each: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let all: u64 = figures.distribution.iter().sum();
    let last = figures.distribution.len().saturating_sub(1);
    for (at, count) in figures.distribution.iter().enumerate() {
        if *count == 0 {
            continue;
        }
        let bound = |at: usize| Value::Time((bucket_nanos * at as u64) as i64);
        let latency = match at == last {
            true => format!(">{}", bound(at)),
            false => bound(at + 1).to_string(),
        };
        let mut row = Row::default();
        row.set("stream-id", number(id.into()));
        row.set("latency", Value::text(latency));
        row.set("count", number(*count));
        row.set("share", Value::share(*count, all));
        let bar = (count * BAR).div_ceil(all.max(1)) as usize;
        row.set("graph", Value::text("*".repeat(bar)));
        give(row, filter, each)?;
    }
    ControlFlow::Continue(())
}
