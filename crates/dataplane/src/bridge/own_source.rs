//! Frames received by a bridge port with an address of that bridge as their source: the network
//! probably has a loop.
//!
//! Such a sender is not learned, the frame is bridged on, and control logs it. RouterOS:
//! `bridge port received packet with own address as source address`.

/// Linux (`net_ratelimit`): ten messages in five seconds.
const BURST: u8 = 10;
const WINDOW_SECONDS: u32 = 5;

/// Rate limit of a worker's reports to control: a loop delivers as many such frames as its links
/// carry.
#[derive(Debug, Default)]
pub(super) struct OwnSources {
    /// The second in which the window began.
    began: u32,
    count: u8,
}

impl OwnSources {
    /// Returns true if a report in this second is within the limit.
    pub(super) const fn admits(&mut self, second: u32) -> bool {
        if second.saturating_sub(self.began) >= WINDOW_SECONDS {
            (self.began, self.count) = (second, 0);
        }
        self.count = self.count.saturating_add(1);
        self.count <= BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_told_of_ten_times_in_five_seconds() {
        let mut limit = OwnSources::default();
        let mut rule_events = |second| (0..1_000).filter(|_| limit.admits(second)).count();
        assert_eq!([100, 104, 105, 111].map(&mut rule_events), [10, 0, 10, 10]);
    }
}
