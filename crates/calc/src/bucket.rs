//! Token buckets and bursts of RouterOS queues.

use crate::units::{as_rate, as_span, number, rate, span};
use crate::{ArgumentValues, Calculator, Rows, argument, row};

pub(crate) const BUCKET: Calculator = Calculator {
    name: "bucket",
    help: "Initial throughput of a queue, and the length of a burst",
    arguments: &[
        argument("max-limit", "in bits a second", "20M"),
        argument("bucket-size", "bucket size, in seconds of max-limit", "0.1"),
        argument("burst-limit", "in bits a second; 0 for no burst", "0"),
        argument("burst-threshold", "in bits a second", "0"),
        argument("burst-time", "averaging time of the burst", "8s"),
        argument("link", "rate of arriving packets, in bits a second", "1G"),
    ],
    run: bucket,
};

fn bucket(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let (limit, size) = (
        given.read("max-limit", rate)?,
        given.read("bucket-size", number)?,
    );
    let (burst, threshold) = (
        given.read("burst-limit", rate)?,
        given.read("burst-threshold", rate)?,
    );
    let (time, link) = (given.read("burst-time", span)?, given.read("link", rate)?);
    let holds = limit * size;
    let mut rows = vec![
        row("bucket holds", format!("{:.0} bytes", holds / 8.0)),
        row("first second", as_rate((limit + holds).min(link))),
        row("each later second", as_rate(limit.min(link))),
    ];
    if link > limit {
        let empty = holds / (link - limit);
        rows.push(row("full bucket passes at link speed for", as_span(empty)));
    }
    if burst > 0.0 {
        if burst <= limit {
            return Err(format!(
                "burst-limit={burst}: it must be more than max-limit"
            ));
        }
        if threshold <= 0.0 || threshold >= burst {
            let text = "it must be more than 0 and less than burst-limit";
            return Err(format!("burst-threshold={threshold}: {text}"));
        }
        // RouterOS, "Queues", burst: from rest, the average over burst-time reaches the threshold after this
        // time.
        let lasts = threshold * time / burst;
        rows.push(row("longest burst", as_span(lasts)));
        rows.push(row(
            "bytes of the longest burst",
            format!("{:.0} bytes", burst * lasts / 8.0),
        ));
        rows.push(row("refilled after idle time of", as_span(time)));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_megabits_let_twenty_two_through_in_the_first_second() {
        let rows = BUCKET.run(&[("max-limit", "20M")]).expect("it calculates");
        assert_eq!((&*rows[0].1, &*rows[1].1), ("250000 bytes", "22.00 Mbps"));
        assert_eq!(rows[2].1, "20.00 Mbps");
    }

    /// RouterOS's manual: max-limit 2M, burst 4M, threshold 1500k, 16 s: a burst of 6 s.
    #[test]
    fn burst_durations_equal_the_manual() {
        let values = [
            ("max-limit", "2M"),
            ("burst-limit", "4M"),
            ("burst-threshold", "1500k"),
            ("burst-time", "16s"),
        ];
        let rows = BUCKET.run(&values).expect("it calculates");
        let longest = rows.iter().find(|(name, _)| name == "longest burst");
        assert_eq!(longest.expect("it").1, "6.00 s");
        assert!(BUCKET.run(&[("burst-limit", "10M")]).is_err());
    }
}
