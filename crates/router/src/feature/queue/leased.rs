//! Description of the queue of a DHCP lease.

use core::net::Ipv4Addr;

use machine::Duration;
use queue::Limits;

use crate::intent::Name;

/// A queue of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseQueue {
    /// Name of the queue.
    pub name: Name,
    /// Address of the client.
    pub target: Ipv4Addr,
    /// Limits of the client's upload and download.
    pub limits: [Limits; 2],
    /// Name of the parent queue.
    pub parent: Option<Name>,
    /// Name of the queue type.
    pub kind: Option<Name>,
    /// True if it precedes all other simple queues, false if it follows them.
    pub first: bool,
}

impl LeaseQueue {
    /// Parses limits as RouterOS writes them: `rx/tx`, bursts, thresholds, burst times, priority,
    /// guaranteed rates. `rx` is the client's upload. Returns `None` for malformed text.
    pub(crate) fn limits(text: &str) -> Option<[Limits; 2]> {
        let mut words = text.split_whitespace();
        let rates = words.next()?;
        let rest: Vec<_> = words.collect();
        let word = |at: usize| rest.get(at).copied().unwrap_or("0");
        let priority = rest.get(3).map_or(Some(8), |text| text.parse().ok())?;
        let limits = |side: usize| {
            Some(Limits {
                limit_at: rate(side_of(word(4), side))?,
                max_limit: rate(side_of(rates, side))?,
                burst_limit: rate(side_of(word(0), side))?,
                burst_threshold: rate(side_of(word(1), side))?,
                burst_time: Duration::from_secs(side_of(word(2), side).parse().ok()?),
                bucket: 100,
                priority,
            })
        };
        Some([limits(0)?, limits(1)?])
    }
}

/// Returns one side of a word `rx/tx`; a single value applies to both sides.
fn side_of(word: &str, side: usize) -> &str {
    let mut sides = word.split('/');
    let first = sides.next().unwrap_or_default();
    match side {
        0 => first,
        _ => sides.next().unwrap_or(first),
    }
}

/// Parses a rate in bits per second: `512k`, `10M`, `1G`.
fn rate(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1_000),
        b'M' => (&text[..text.len() - 1], 1_000_000),
        b'G' => (&text[..text.len() - 1], 1_000_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_radius_servers_write_them() {
        let read = |text| {
            let limits = LeaseQueue::limits(text)?;
            Some(limits.map(|of| {
                (
                    of.max_limit,
                    of.burst_limit,
                    of.burst_time.as_secs(),
                    of.priority,
                    of.limit_at,
                )
            }))
        };
        let plain = |rate| (rate, 0, 0, 8, 0);
        assert_eq!(read("10M"), Some([plain(10_000_000); 2]));
        assert_eq!(read("512k/2M"), Some([plain(512_000), plain(2_000_000)]));
        let whole = "1M/2M 3M/4M 1M/1M 5/6 7 100k/200k";
        let up = (1_000_000, 3_000_000, 5, 7, 100_000);
        let down = (2_000_000, 4_000_000, 6, 7, 200_000);
        assert_eq!(read(whole), Some([up, down]));
        assert_eq!(read(""), None);
        assert_eq!(read("fast"), None);
    }
}
