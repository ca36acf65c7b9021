//! Graphs of the history: the series of `/graphs`, in RouterOS's periods.

use std::collections::VecDeque;

pub use super::graphing::GraphKind;
use super::{History, Series, Span};

/// A graph with all its periods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// What it shows.
    pub kind: GraphKind,
    /// Name of the interface or queue; empty for resources.
    pub name: String,
    /// Seconds after which a page loads itself again.
    pub refresh_seconds: Option<u64>,
    /// The periods, the shortest first.
    pub pictures: Vec<Picture>,
}

/// The samples of one period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Name of the period in paths, such as `daily`.
    pub period: &'static str,
    /// Heading.
    pub heading: &'static str,
    /// Number of samples of a full period.
    pub length: usize,
    /// Averages, the oldest first: received and transmitted bits per second, percent, or bytes. The second value of
    /// resources is 0.
    pub samples: Vec<[u64; 2]>,
}

/// Graphs that a client may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphIndex {
    /// Seconds after which the page loads itself again.
    pub refresh_seconds: Option<u64>,
    /// Kinds and names.
    pub graphs: Vec<(GraphKind, String)>,
}

/// A period: samples of a span, of which several make one sample of the picture.
struct Period {
    name: &'static str,
    heading: &'static str,
    span: Span,
    per_sample: usize,
    length: usize,
}

/// RouterOS: averages of 5 minutes, 30 minutes, 2 hours and a day. Here a week consists of hours.
const PERIODS: [Period; 5] = [
    Period {
        name: "recent",
        heading: "Last Five Minutes (1 Second Average)",
        span: Span::Seconds,
        per_sample: 1,
        length: 300,
    },
    Period {
        name: "daily",
        heading: "\"Daily\" Graph (5 Minute Average)",
        span: Span::Minutes,
        per_sample: 5,
        length: 288,
    },
    Period {
        name: "weekly",
        heading: "\"Weekly\" Graph (1 Hour Average)",
        span: Span::Hours,
        per_sample: 1,
        length: 168,
    },
    Period {
        name: "monthly",
        heading: "\"Monthly\" Graph (2 Hour Average)",
        span: Span::Hours,
        per_sample: 2,
        length: 372,
    },
    Period {
        name: "yearly",
        heading: "\"Yearly\" Graph (1 Day Average)",
        span: Span::Hours,
        per_sample: 24,
        length: 365,
    },
];

impl History {
    /// Returns the pictures of a resource.
    pub(crate) fn resource_pictures(&self, kind: GraphKind) -> Vec<Picture> {
        let column = match kind {
            GraphKind::Memory => 1,
            GraphKind::Disk => 2,
            _ => 0,
        };
        pictures(&self.machine, |sample| [sample[column], 0])
    }

    /// Returns the pictures of a simple queue; `None` without samples.
    pub(crate) fn queue_pictures(&self, name: &str) -> Option<Vec<Picture>> {
        let queue = self.queues.get(name)?;
        Some(pictures(&queue.series, |sample| *sample))
    }

    /// Returns the pictures of an interface; `None` without samples.
    pub(crate) fn interface_pictures(&self, id: frame::InterfaceId) -> Option<Vec<Picture>> {
        let series = self.interfaces.get(&id)?;
        Some(pictures(series, |sample| *sample))
    }
}

/// Returns the pictures of a series; `select` reduces a sample to two values.
fn pictures<const W: usize>(
    series: &Series<W>,
    select: impl Fn(&[u64; W]) -> [u64; 2],
) -> Vec<Picture> {
    let periods = PERIODS.iter();
    periods
        .map(|period| Picture {
            period: period.name,
            heading: period.heading,
            length: period.length,
            samples: averages(series.samples(period.span), period, &select),
        })
        .collect()
}

/// Returns the averages of each `per_sample` samples; the newest samples end the last group.
fn averages<const W: usize>(
    samples: &VecDeque<[u64; W]>,
    period: &Period,
    select: &impl Fn(&[u64; W]) -> [u64; 2],
) -> Vec<[u64; 2]> {
    let wanted = period.length * period.per_sample;
    let count = samples.len().min(wanted);
    let partial = count % period.per_sample;
    let mut left = samples.iter().skip(samples.len() - count);
    let mut averages = Vec::with_capacity(period.length);
    let mut size = if partial > 0 {
        partial
    } else {
        period.per_sample
    };
    loop {
        let group = left.by_ref().take(size).map(select);
        let (mut sum, mut number) = ([0_u128; 2], 0);
        for value in group {
            number += 1;
            sum = [0, 1].map(|at| sum[at] + u128::from(value[at]));
        }
        if number == 0 {
            return averages;
        }
        averages.push(sum.map(|sum| u64::try_from(sum / number).unwrap_or(u64::MAX)));
        size = period.per_sample;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_average_groups_that_end_with_the_newest_sample() {
        let samples: VecDeque<[u64; 1]> = (1..=12).map(|number| [number * 10]).collect();
        let daily = averages(&samples, &PERIODS[1], &|sample| [sample[0], 1]);
        assert_eq!(daily, [[15, 1], [50, 1], [100, 1]]);
        let many: VecDeque<[u64; 1]> = (0..2_000).map(|number| [number]).collect();
        let daily = averages(&many, &PERIODS[1], &|sample| [sample[0], 0]);
        assert_eq!((daily.len(), daily[287]), (288, [1_997, 0]));
        assert!(averages(&VecDeque::<[u64; 1]>::new(), &PERIODS[4], &|_| [0; 2]).is_empty());
    }
}
