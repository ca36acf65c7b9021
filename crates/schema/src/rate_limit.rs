//! Rate limit of a client as profiles, leases and the RADIUS attribute Mikrotik-Rate-Limit write it.
//!
//! ```text
//! rx[/tx] [burst-rx[/tx] [threshold-rx[/tx] [time-rx[/tx] [priority[/tx] [min-rx[/tx]]]]]]
//! ```
//! `rx` is the client's upload, `tx` its download. A missing `tx` equals `rx`. RouterOS: without a threshold, bursts
//! begin below the rate; without a time, the average covers one second; without a minimum, the rate is the minimum,
//! and a minimum never exceeds the rate.

use core::fmt;

use menu::{Draft, Reason, Store};

/// Maximum number of words.
const WORDS: usize = 6;
/// Priority of clients without a configured one.
const LOWEST_PRIORITY: u8 = 8;

/// Rate limit of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Limits of packets from the client (`rx`).
    pub upload: DirectionLimit,
    /// Limits of packets to the client (`tx`).
    pub download: DirectionLimit,
}

/// Limits of one direction. Rates are in bits per second; 0 means none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectionLimit {
    /// Maximum rate.
    pub rate: u64,
    /// Maximum rate during a burst.
    pub burst_rate: u64,
    /// Bursts are allowed while the average rate is below this value.
    pub burst_threshold: u64,
    /// Time over which the average rate is computed, in seconds.
    pub burst_seconds: u64,
    /// Priority for the bandwidth of the parent: 1 (first) to 8.
    pub priority: u8,
    /// Guaranteed rate.
    pub min_rate: u64,
}

/// Reason why a text is no rate limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRateLimit {
    word: String,
    expected: &'static str,
}

impl fmt::Display for BadRateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" in rate limit: expected {}",
            self.word, self.expected
        )
    }
}

impl RateLimit {
    /// Parses a rate limit.
    ///
    /// # Errors
    /// Returns [`BadRateLimit`] with the first malformed word.
    pub fn parse(text: &str) -> Result<Self, BadRateLimit> {
        let words: Vec<_> = text.split_whitespace().collect();
        if let Some(word) = words.get(WORDS) {
            return Err(bad(word, "at most six parts"));
        }
        let rates = pair(words.first().unwrap_or(&""), RATE, rate)?;
        let optional = |at: usize, expected, parse| {
            let word = words.get(at);
            word.map(|word| pair(word, expected, parse)).transpose()
        };
        let burst_rates = optional(1, RATE, rate)?.unwrap_or_default();
        let thresholds = optional(2, RATE, rate)?;
        let times = optional(3, "a number of seconds", seconds)?;
        let priorities = optional(4, "a priority from 1 to 8", priority)?;
        let min_rates = optional(5, RATE, rate)?.unwrap_or(rates);
        let direction = |side: fn([u64; 2]) -> u64| {
            let (rate, burst_rate) = (side(rates), side(burst_rates));
            let of_burst = |value: Option<[u64; 2]>, default| match (burst_rate, value) {
                (_, Some(value)) => side(value),
                (0, None) => 0,
                (_, None) => default,
            };
            DirectionLimit {
                rate,
                burst_rate,
                burst_threshold: of_burst(thresholds, rate),
                burst_seconds: of_burst(times, 1),
                priority: priorities.map_or(LOWEST_PRIORITY, |of| side(of) as u8),
                min_rate: match rate {
                    0 => side(min_rates),
                    rate => side(min_rates).min(rate),
                },
            }
        };
        Ok(Self {
            upload: direction(|[upload, _]| upload),
            download: direction(|[_, download]| download),
        })
    }
}

/// Refuses an item whose `rate-limit` is malformed.
pub(crate) fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let text = draft.get("rate-limit").map(ToString::to_string);
    let text = text.filter(|text| !text.is_empty());
    match text.map(|text| RateLimit::parse(&text)) {
        Some(Err(error)) => Err(Reason::failure(error.to_string())),
        _ => Ok(()),
    }
}

const RATE: &str = "a rate such as 512k or 10M, or two with a slash";

fn bad(word: &str, expected: &'static str) -> BadRateLimit {
    let word = word.to_owned();
    BadRateLimit { word, expected }
}

/// Parses `rx[/tx]`.
fn pair(
    word: &str,
    expected: &'static str,
    parse: fn(&str) -> Option<u64>,
) -> Result<[u64; 2], BadRateLimit> {
    let (upload, download) = word.split_once('/').unwrap_or((word, word));
    let values = parse(upload).zip(parse(download));
    let values = values.map(|(upload, download)| [upload, download]);
    values.ok_or_else(|| bad(word, expected))
}

/// Parses a rate in bits per second. RouterOS: `k` is 1,000, `M` 1,000,000.
fn rate(text: &str) -> Option<u64> {
    let units = [("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
    let with_unit = units.into_iter().find_map(|(unit, factor)| {
        let digits = text.strip_suffix(unit);
        let digits = digits.or_else(|| text.strip_suffix(&unit.to_ascii_uppercase()))?;
        Some((digits, factor))
    });
    let (digits, factor) = with_unit.unwrap_or((text, 1));
    number(digits)?.checked_mul(factor)
}

fn seconds(text: &str) -> Option<u64> {
    number(text.strip_suffix('s').unwrap_or(text))
}

fn priority(text: &str) -> Option<u64> {
    number(text).filter(|priority| (1..=u64::from(LOWEST_PRIORITY)).contains(priority))
}

/// Parses digits; unlike `str::parse`, rejects a sign.
fn number(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(rate: u64) -> DirectionLimit {
        DirectionLimit {
            rate,
            burst_rate: 0,
            burst_threshold: 0,
            burst_seconds: 0,
            priority: 8,
            min_rate: rate,
        }
    }

    fn burst(rate: u64, burst_rate: u64, burst_threshold: u64, burst_seconds: u64) -> RateLimit {
        let direction = DirectionLimit {
            burst_rate,
            burst_threshold,
            burst_seconds,
            ..limit(rate)
        };
        RateLimit {
            upload: direction,
            download: direction,
        }
    }

    fn parsed(text: &str) -> RateLimit {
        RateLimit::parse(text).expect("a rate limit")
    }

    #[test]
    fn one_rate_stands_for_both_directions() {
        let both = RateLimit {
            upload: limit(10_000_000),
            download: limit(10_000_000),
        };
        assert_eq!(parsed("10M"), both);
        assert_eq!(parsed("10000k/10000000"), both);
        let asymmetric = RateLimit {
            upload: limit(512_000),
            download: limit(2_000_000_000),
        };
        assert_eq!(parsed("512K/2G"), asymmetric);
    }

    #[test]
    fn missing_parts_of_a_burst_have_the_manuals_defaults() {
        assert_eq!(parsed("64k 256k"), burst(64_000, 256_000, 64_000, 1));
        assert_eq!(
            parsed("256k 512k 192k"),
            burst(256_000, 512_000, 192_000, 1)
        );
        let whole = "64k/64k 256k/256k 128k/128k 10/10";
        assert_eq!(parsed(whole), burst(64_000, 256_000, 128_000, 10));
        // A burst rate of 0 means no burst, also in one direction.
        let download_only = parsed("1M/2M 0/4M");
        assert_eq!(download_only.upload, limit(1_000_000));
        assert_eq!(download_only.download.burst_threshold, 2_000_000);
    }

    #[test]
    fn priority_and_minimum_follow_the_burst() {
        let limit = parsed("1M/2M 3M/4M 1M/1M 5/6 7 100k/5M");
        let upload = DirectionLimit {
            rate: 1_000_000,
            burst_rate: 3_000_000,
            burst_threshold: 1_000_000,
            burst_seconds: 5,
            priority: 7,
            min_rate: 100_000,
        };
        assert_eq!(limit.upload, upload);
        // The minimum never exceeds the rate.
        assert_eq!(
            (limit.download.min_rate, limit.download.burst_seconds),
            (2_000_000, 6)
        );
        let unlimited = parsed("0/0 0/0 0/0 0/0 1/2 1M");
        assert_eq!(unlimited.upload.min_rate, 1_000_000);
        assert_eq!(
            (unlimited.upload.priority, unlimited.download.priority),
            (1, 2)
        );
    }

    #[test]
    fn malformed_words_are_named() {
        let cases = [
            ("", "\"\" in rate limit: expected a rate"),
            ("fast", "\"fast\" in rate limit: expected a rate"),
            ("1M/", "\"1M/\" in rate limit: expected a rate"),
            ("1M/2M/3M", "\"1M/2M/3M\" in rate limit: expected a rate"),
            ("+1M", "\"+1M\" in rate limit: expected a rate"),
            ("1.5M", "\"1.5M\" in rate limit: expected a rate"),
            ("99999999999999999999", "expected a rate"),
            ("18446744073709551615k", "expected a rate"),
            (
                "1M 1M 1M soon",
                "\"soon\" in rate limit: expected a number of seconds",
            ),
            (
                "1M 1M 1M 1 9",
                "\"9\" in rate limit: expected a priority from 1 to 8",
            ),
            (
                "1 2 3 4 5 6 7",
                "\"7\" in rate limit: expected at most six parts",
            ),
        ];
        for (text, reason) in cases {
            let message = RateLimit::parse(text).map_err(|bad| bad.to_string());
            let message = message.expect_err(text);
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
