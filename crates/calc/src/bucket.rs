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
        argument(
            "never-above",
            "rate that no second may exceed, in bits a second: gives the max-limit for it",
            "",
        ),
        argument(
            "arrivals",
            "amounts that arrive in consecutive intervals, such as 60,0,0,150: what passes if unused tokens are kept",
            "",
        ),
        argument("each", "tokens of an interval, for arrivals", "60"),
        argument("window", "intervals of a longer window, for arrivals", "60"),
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
    let each = given.read("each", number)?;
    let window = given.read("window", number)?;
    if !given.text("arrivals").is_empty() {
        return toll_booth(&given.read("arrivals", amounts)?, each, window);
    }
    let holds = limit * size;
    let mut rows = vec![
        row("bucket holds", format!("{:.0} bytes", holds / 8.0)),
        row("first second", as_rate((limit + holds).min(link))),
        row("each later second", as_rate(limit.min(link))),
    ];
    if !given.text("never-above").is_empty() {
        let most = given.read("never-above", rate)?;
        let text = format!(
            "{}: with a bucket of {size} s, {} pass in no second",
            as_rate(most / (1.0 + size)),
            as_rate(most)
        );
        rows.push(row("max-limit for never-above", text));
    }
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

/// Maximum number of arrivals, and of intervals of a window.
const INTERVALS_MAX: usize = 1_000;

/// A toll booth that keeps the tokens of the last intervals: two, one, none. Around the arrivals as much arrives as has
/// tokens. MikroTik's talk "Understanding throughput" asks for what may pass.
fn toll_booth(arrivals: &[f64], each: f64, window: f64) -> Result<Rows, String> {
    if !(1.0..=INTERVALS_MAX as f64).contains(&window) || window.fract() != 0.0 {
        return Err(format!("window={window}: expected 1 to {INTERVALS_MAX}"));
    }
    let window = window as usize;
    let allowed = each * window as f64;
    let mut rows = Vec::new();
    for kept in [2, 1, 0] {
        let passes = pass(arrivals, each, window, kept);
        let shown: Vec<_> = { passes[window..][..arrivals.len()].iter() }
            .map(f64::to_string)
            .collect();
        let arrived: f64 = arrivals.iter().sum();
        let passed: f64 = passes[window..][..arrivals.len()].iter().sum();
        let sums = passes.windows(window).map(|all| all.iter().sum::<f64>());
        let most = sums.fold(0.0, f64::max);
        let exceeds = match most > allowed {
            true => format!(", {} more than {allowed}", most - allowed),
            false => format!(", as {allowed} allows"),
        };
        let name = match kept {
            0 => "no tokens kept".to_owned(),
            1 => "tokens of 1 interval kept".to_owned(),
            kept => format!("tokens of {kept} intervals kept"),
        };
        rows.push(row(
            name,
            format!(
                "{} pass, {} wait; at most {most} in any {window} intervals{exceeds}",
                shown.join(", "),
                arrived - passed,
            ),
        ));
    }
    Ok(rows)
}

/// Returns what passes in each interval: `window` intervals before the arrivals, those of the arrivals, and `window`
/// after them. At most the tokens of `kept` intervals are kept for later ones; what has no token waits.
fn pass(arrivals: &[f64], each: f64, window: usize, kept: u32) -> Vec<f64> {
    let steady = core::iter::repeat_n(each, window);
    let all = { steady.clone() }
        .chain(arrivals.iter().copied())
        .chain(steady);
    let (mut tokens, mut waiting) = (0.0_f64, 0.0_f64);
    all.map(|arrives| {
        tokens += each;
        waiting += arrives;
        let passes = waiting.min(tokens);
        waiting -= passes;
        tokens = (tokens - passes).min(each * f64::from(kept));
        passes
    })
    .collect()
}

/// Parses `60,0,0,150`.
fn amounts(text: &str) -> Result<Vec<f64>, String> {
    let amounts: Result<Vec<_>, String> = text.split(',').map(number).collect();
    let amounts = amounts.map_err(|_| "expected amounts, such as 60,0,0,150".to_owned())?;
    match amounts.len() <= INTERVALS_MAX {
        true => Ok(amounts),
        false => Err(format!("at most {INTERVALS_MAX} amounts")),
    }
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

    /// The talk's example: no car for two minutes, then 150 litres, at 60 litres a minute.
    #[test]
    fn the_toll_booth_lets_pass_what_the_talk_says() {
        let rows = BUCKET
            .run(&[("arrivals", "60,0,0,150")])
            .expect("it calculates");
        assert_eq!(
            rows[0].1,
            "60, 0, 0, 150 pass, 0 wait; at most 3690 in any 60 intervals, 90 more than 3600"
        );
        assert!(
            rows[1]
                .1
                .starts_with("60, 0, 0, 120 pass, 30 wait; at most 3660")
        );
        assert_eq!(
            rows[2].1,
            "60, 0, 0, 60 pass, 90 wait; at most 3600 in any 60 intervals, as 3600 allows"
        );
        assert!(BUCKET.run(&[("arrivals", "60,x")]).is_err());
        assert!(BUCKET.run(&[("arrivals", "60"), ("window", "0")]).is_err());
    }

    #[test]
    fn a_limit_below_a_rate_leaves_room_for_the_bucket() {
        let rows = BUCKET
            .run(&[("never-above", "20M")])
            .expect("it calculates");
        let limit = rows
            .iter()
            .find(|(name, _)| name == "max-limit for never-above");
        let limit = &limit.expect("a row").1;
        assert!(limit.starts_with("18.18 Mbps"), "{limit}");
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
