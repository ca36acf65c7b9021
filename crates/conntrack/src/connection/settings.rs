//! `/ip/firewall/connection/tracking`: timeouts and strictness; and the time unit of entries.

use machine::{Duration, Instant};

use super::state::TcpState;

/// A point in time in units of 1/64 s; wraps after two years, and comparisons allow for that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tick(pub u32);

/// Ticks per second.
pub const TICKS_PER_SECOND: u32 = 64;

impl Tick {
    /// Returns the tick of `now`. One call per packet vector is enough.
    pub const fn of(now: Instant) -> Self {
        Self((now.as_nanos() / (1_000_000_000 / TICKS_PER_SECOND as u64)) as u32)
    }

    /// Returns the start of the tick that comes `ticks` after the tick of `now`.
    pub fn begins(now: Instant, ticks: u32) -> Instant {
        let nanos = 1_000_000_000 / u64::from(TICKS_PER_SECOND);
        Instant::from_nanos((now.as_nanos() / nanos + u64::from(ticks)) * nanos)
    }

    /// Returns the second that the tick belongs to.
    #[inline(always)]
    pub const fn second(self) -> u32 {
        self.0 / TICKS_PER_SECOND
    }

    /// Returns the ticks since `earlier`; negative if `earlier` is later.
    #[inline(always)]
    pub const fn since(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0) as i32
    }

    /// Returns the tick that comes `ticks` later.
    #[must_use]
    #[inline(always)]
    pub const fn after(self, ticks: u32) -> Self {
        Self(self.0.wrapping_add(ticks))
    }
}

/// The settings of connection tracking.
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
    /// `udp-timeout`: no reply arrived yet.
    pub udp: Duration,
    /// `udp-stream-timeout`: packets of both directions arrived.
    pub udp_stream: Duration,
    /// `icmp-timeout`.
    pub icmp: Duration,
    /// `generic-timeout`: all other protocols.
    pub generic: Duration,
    /// `loose-tcp-tracking`: a connection may be picked up in the middle.
    pub loose: bool,
    /// `liberal-tcp-tracking`: outside the window only a RST is invalid.
    pub liberal: bool,
    /// `max-entries`, for both families and all workers together.
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

/// The longest timeout of an entry in seconds (97 days): half of the comparable range of ticks is reserved
/// for late processing.
pub(crate) const TIMEOUT_SECS_MAX: u32 = (1 << 23) - 1;

/// Rounds a timeout up to whole seconds; at least one.
pub(super) fn seconds(timeout: Duration) -> u32 {
    let secs = timeout
        .as_secs()
        .saturating_add(u64::from(timeout.subsec_nanos() > 0));
    secs.clamp(1, u64::from(TIMEOUT_SECS_MAX)) as u32
}

impl Settings {
    /// Returns the idle timeout of a TCP connection in this state.
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
