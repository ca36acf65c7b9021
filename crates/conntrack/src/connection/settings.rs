//! `/ip/firewall/connection/tracking`: timeouts and strictness, and the time that entries keep.

use machine::{Duration, Instant};

use super::state::TcpState;

/// A point in time in 64ths of a second; comes round after two years, compared accordingly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tick(pub u32);

/// Ticks of a second.
pub const TICKS_PER_SECOND: u32 = 64;

impl Tick {
    /// The tick that `now` lies in. Once a vector is enough.
    pub const fn of(now: Instant) -> Self {
        Self((now.as_nanos() / (1_000_000_000 / TICKS_PER_SECOND as u64)) as u32)
    }

    /// When the tick begins that comes so many ticks after that of `now`.
    pub fn begins(now: Instant, ticks: u32) -> Instant {
        let nanos = 1_000_000_000 / u64::from(TICKS_PER_SECOND);
        Instant::from_nanos((now.as_nanos() / nanos + u64::from(ticks)) * nanos)
    }

    /// The second that it lies in.
    #[inline(always)]
    pub const fn second(self) -> u32 {
        self.0 / TICKS_PER_SECOND
    }

    /// How many ticks after `earlier` it is; negative before it.
    #[inline(always)]
    pub const fn since(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }

    /// So many ticks later.
    #[must_use]
    #[inline(always)]
    pub const fn after(self, ticks: u32) -> Self {
        Self(self.0.wrapping_add(ticks))
    }
}

/// What connection tracking was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `tcp-syn-sent-timeout`.
    pub tcp_syn_sent: Duration,
    /// `tcp-syn-received-timeout`.
    pub tcp_syn_received: Duration,
    /// `tcp-established-timeout`.
    pub tcp_established: Duration,
    /// `tcp-fin-wait-timeout`.
    pub tcp_fin_wait: Duration,
    /// `tcp-close-wait-timeout`.
    pub tcp_close_wait: Duration,
    /// `tcp-last-ack-timeout`.
    pub tcp_last_ack: Duration,
    /// `tcp-time-wait-timeout`.
    pub tcp_time_wait: Duration,
    /// `tcp-close-timeout`.
    pub tcp_close: Duration,
    /// `tcp-max-retrans-timeout`.
    pub tcp_max_retrans: Duration,
    /// `tcp-unacked-timeout`.
    pub tcp_unacked: Duration,
    /// `udp-timeout`: answers were not seen yet.
    pub udp: Duration,
    /// `udp-stream-timeout`: both directions were seen.
    pub udp_stream: Duration,
    /// `icmp-timeout`.
    pub icmp: Duration,
    /// `generic-timeout`: all other protocols.
    pub generic: Duration,
    /// `loose-tcp-tracking`: connections are picked up in the middle.
    pub loose: bool,
    /// `liberal-tcp-tracking`: of what lies outside the window only a RST is invalid.
    pub liberal: bool,
    /// `max-entries`, of both families and all workers together.
    pub entries_max: u32,
}

/// RouterOS: the defaults of version 7.
impl Default for Settings {
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self {
            tcp_syn_sent: secs(5),
            tcp_syn_received: secs(5),
            tcp_established: secs(86_400),
            tcp_fin_wait: secs(10),
            tcp_close_wait: secs(10),
            tcp_last_ack: secs(10),
            tcp_time_wait: secs(10),
            tcp_close: secs(10),
            tcp_max_retrans: secs(300),
            tcp_unacked: secs(300),
            udp: secs(30),
            udp_stream: secs(180),
            icmp: secs(10),
            generic: secs(600),
            loose: true,
            liberal: false,
            entries_max: 1 << 20,
        }
    }
}

/// The longest timeout that an entry can hold, in seconds (97 days): half of what ticks can compare
/// is kept for being late.
pub(crate) const TIMEOUT_SECS_MAX: u32 = (1 << 23) - 1;

/// Whole seconds for an entry, rounded up; at least one.
pub(super) fn seconds(timeout: Duration) -> u32 {
    let secs = timeout
        .as_secs()
        .saturating_add(u64::from(timeout.subsec_nanos() > 0));
    secs.clamp(1, u64::from(TIMEOUT_SECS_MAX)) as u32
}

impl Settings {
    /// How long a TCP connection may be silent in this state.
    pub fn tcp(&self, state: TcpState) -> Duration {
        match state {
            TcpState::None | TcpState::SynSent | TcpState::SynSent2 => self.tcp_syn_sent,
            TcpState::SynReceived => self.tcp_syn_received,
            TcpState::Established => self.tcp_established,
            TcpState::FinWait => self.tcp_fin_wait,
            TcpState::CloseWait => self.tcp_close_wait,
            TcpState::LastAck => self.tcp_last_ack,
            TcpState::TimeWait => self.tcp_time_wait,
            TcpState::Close => self.tcp_close,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_compare_across_their_wrap() {
        let before = Tick(u32::MAX - 1);

        assert_eq!(before.after(3).since(before), 3);
        assert_eq!(before.since(before.after(3)), -3);
        assert_eq!(Tick::of(Instant::from_millis(2_500)).0, 160);
        assert_eq!(Tick::of(Instant::from_millis(2_500)).second(), 2);
    }

    #[test]
    fn timeouts_are_whole_seconds_within_bounds() {
        assert_eq!(seconds(Duration::ZERO), 1);
        assert_eq!(seconds(Duration::from_millis(1_001)), 2);
        assert_eq!(seconds(Duration::MAX), TIMEOUT_SECS_MAX);
    }
}
