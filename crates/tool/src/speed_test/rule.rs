//! Rule by which speedtest.net makes one number of samples ("How does the test itself work? How is the result
//! calculated?" of its help pages).

/// Rate of a first sample from which speedtest.net uses four threads, otherwise two, in bit/s.
const FOUR_THREADS_BPS: u64 = 4_000_000;
/// Number of fastest samples that are removed.
const FASTEST: usize = 2;

/// Result of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RuleResult {
    pub(super) rate_bps: u64,
    /// Number of threads that speedtest.net would have used.
    pub(super) threads: u8,
}

/// Applies the rule: sorts the samples by speed, removes the two fastest, and of the rest the slowest quarter, and
/// averages the others. `None` if none is left.
pub(super) fn apply(samples: &[u64]) -> Option<RuleResult> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.truncate(sorted.len().saturating_sub(FASTEST));
    let counted = sorted.get(sorted.len() / 4..)?;
    let sum: u128 = counted.iter().copied().map(u128::from).sum();
    let rate_bps = sum.checked_div(counted.len() as u128)?;
    Some(RuleResult {
        rate_bps: u64::try_from(rate_bps).unwrap_or(u64::MAX),
        threads: if samples[0] >= FOUR_THREADS_BPS { 4 } else { 2 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_two_and_the_slowest_quarter_of_the_rest_do_not_count() {
        let mega = |rates: &[u64]| {
            rates
                .iter()
                .map(|rate| rate * 1_000_000)
                .collect::<Vec<_>>()
        };

        // 1 and 2 are a quarter of eight; 100 and 90 are the fastest.
        let result = apply(&mega(&[10, 1, 100, 20, 2, 30, 90, 40, 50, 60]));
        let expected = RuleResult {
            rate_bps: 35_000_000,
            threads: 4,
        };
        assert_eq!(result, Some(expected));
        let slow = apply(&mega(&[3, 3, 3])).expect("a result");
        assert_eq!((slow.rate_bps, slow.threads), (3_000_000, 2));
        assert_eq!(apply(&mega(&[3, 3])), None);
        assert_eq!(apply(&[]), None);
    }
}
