//! Cells of the generator's figures, in the columns of RouterOS.

use std::time::Duration;

use generator::Figures;
use menu::{Row, Value};

use crate::ping::{number, time};

/// Adds the cells of an interval between two figures. `overdue`: number of frames whose deadline for a return had
/// passed, at the begin and the end of the interval; missing ones are lost. Latencies are those since the start.
/// Figures of a test that began anew count as 0.
pub fn figure_cells(
    row: &mut Row,
    before: &Figures,
    now: &Figures,
    overdue: [u64; 2],
    seconds: f64,
) {
    let lost = |figures: &Figures, overdue: u64| {
        figures.gaps().max(overdue.saturating_sub(figures.unique()))
    };
    let lost = lost(now, overdue[1]).saturating_sub(lost(before, overdue[0]));
    let bits = |bytes: u64| Value::BitRate((bytes as f64 * 8.0 / seconds) as i64);
    let (sent_bytes, received_bytes) = (
        now.sent_bytes.saturating_sub(before.sent_bytes),
        now.received_bytes.saturating_sub(before.received_bytes),
    );
    let sent = now.sent.saturating_sub(before.sent);
    row.set("tx-packet", number(sent));
    row.set("tx-byte", number(sent_bytes));
    row.set("tx-rate", bits(sent_bytes));
    row.set(
        "rx-packet",
        number(now.received.saturating_sub(before.received)),
    );
    row.set("rx-byte", number(received_bytes));
    row.set("rx-rate", bits(received_bytes));
    row.set("rx-ooo", number(now.late.saturating_sub(before.late)));
    row.set(
        "rx-bad-csum",
        number(now.bad_checksum.saturating_sub(before.bad_checksum)),
    );
    row.set("lost-packet", number(lost));
    let lost_bytes = lost * sent_bytes.checked_div(sent).unwrap_or(0);
    row.set("lost-byte", number(lost_bytes));
    row.set("lost-rate", bits(lost_bytes));
    row.set("lost-ratio", Value::share(lost, sent));
    let sum = now.latency_sum.wrapping_sub(before.latency_sum);
    let mean = sum.checked_div(now.received.saturating_sub(before.received));
    let span = |nanos: u64| time(Duration::from_nanos(nanos));
    if let (Some(min), Some(mean)) = (now.latency_min, mean) {
        row.set("lat-min", span(min));
        row.set("lat-avg", span(mean));
        row.set("lat-max", span(now.latency_max));
    }
    if let Some(jitter) = now.jitter() {
        row.set("jitter", span(jitter));
    }
}
