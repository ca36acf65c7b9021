//! Rates of counters between two snapshots of a view, to sort rows by.

use std::collections::HashMap;
use std::time::Duration;

/// Prefix of the name of a counter whose rate is meant.
pub(super) const PREFIX: char = '~';

/// Counters of the rows at the last snapshot, by the id of the row.
#[derive(Debug, Default)]
pub struct Counters {
    at: Duration,
    values: HashMap<String, u64>,
}

impl Counters {
    /// Replaces the counters by those at `now`, a time since any origin. Returns the rates per second in the order of
    /// the rows; 0 for new rows.
    pub(super) fn rates<'a>(
        &mut self,
        now: Duration,
        rows: impl Iterator<Item = (&'a str, u64)>,
    ) -> Vec<f64> {
        let seconds = now.saturating_sub(self.at).as_secs_f64();
        self.at = now;
        let before = std::mem::take(&mut self.values);
        let mut rates = Vec::new();
        for (id, value) in rows {
            let last = before.get(id).copied().unwrap_or(value);
            let grown = value.saturating_sub(last);
            rates.push(if seconds > 0.0 {
                grown as f64 / seconds
            } else {
                0.0
            });
            self.values.insert(id.to_owned(), value);
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_growth_since_the_last_snapshot() {
        let mut counters = Counters::default();
        let at = Duration::from_secs;
        let rates = counters.rates(at(10), [("*1", 500), ("*2", 7)].into_iter());
        assert_eq!(rates, [0.0, 0.0]);
        let rates = counters.rates(at(12), [("*2", 107), ("*3", 9), ("*1", 0)].into_iter());
        assert_eq!(
            rates,
            [50.0, 0.0, 0.0],
            "new and restarted counters have no rate"
        );
    }
}
