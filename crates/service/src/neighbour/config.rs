//! Settings of neighbour resolution on one interface.

use machine::Duration;
use wire::Mac;

/// Settings of neighbour resolution: from the RouterOS interface (`arp`, `arp-timeout`, MAC address), `/ip/settings`
/// and `/ipv6/settings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// MAC address of the interface.
    pub mac: Mac,
    /// ARP mode.
    pub mode: Mode,
    /// Set the router flag in answers (IPv6 `forward=yes`).
    pub router: bool,
    /// Mean reachable time; each one is random between 0.5 and 1.5 times this value (RFC 4861, 6.3.2). `arp-timeout`.
    pub reachable_time: Duration,
    /// Interval between solicitations (RetransTimer, RFC 4861, 10).
    pub retransmit: Duration,
    /// Delay from traffic to a stale neighbour until the first probe (DELAY_FIRST_PROBE_TIME).
    pub delay_first_probe: Duration,
    /// Interval of questions about a stale neighbour (`stale-neighbor-detect-interval`).
    pub stale_check: Duration,
    /// Time without traffic after which a stale or failed neighbour is removed (`stale-neighbor-timeout`).
    pub stale_timeout: Duration,
    /// Number of multicast solicitations before resolution fails (MAX_MULTICAST_SOLICIT).
    pub multicast_solicits: u8,
    /// Number of unicast probes before a neighbour fails (MAX_UNICAST_SOLICIT).
    pub unicast_solicits: u8,
    /// Maximum number of learnt entries (`max-neighbor-entries`), without configured ones.
    pub entries_max: usize,
    /// Maximum number of waiting packets per neighbour.
    pub queue_max: usize,
    /// Maximum number of waiting packets in total.
    pub queue_total_max: usize,
}

impl Config {
    /// Returns RouterOS's defaults for an interface with this MAC address.
    pub fn new(mac: Mac) -> Self {
        Self {
            mac,
            mode: Mode::Enabled,
            router: true,
            reachable_time: Duration::from_secs(30),
            retransmit: Duration::from_secs(1),
            delay_first_probe: Duration::from_secs(5),
            stale_check: Duration::from_secs(30),
            stale_timeout: Duration::from_secs(60),
            multicast_solicits: 3,
            unicast_solicits: 3,
            entries_max: 16_384,
            queue_max: 16,
            queue_total_max: 1_024,
        }
    }

    /// Maximum number of unresolved or failed entries, so that a network scan cannot evict known neighbours.
    pub(super) fn unresolved_max(&self) -> usize {
        (self.entries_max / 4).max(1)
    }

    /// Raises values that would make the machine spin or deadlock to the minimum that works.
    pub(super) fn clamped(mut self) -> Self {
        for span in [
            &mut self.reachable_time,
            &mut self.retransmit,
            &mut self.stale_check,
            &mut self.stale_timeout,
        ] {
            *span = (*span).max(Duration::from_millis(10));
        }
        self.multicast_solicits = self.multicast_solicits.max(1);
        self.unicast_solicits = self.unicast_solicits.max(1);
        self.entries_max = self.entries_max.max(1);
        self.queue_max = self.queue_max.max(1);
        self.queue_total_max = self.queue_total_max.max(1);
        self
    }
}

/// `arp=` property of an interface. Always `Enabled` for IPv6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Solicits, answers and learns.
    #[default]
    Enabled,
    /// Configured entries only.
    Disabled,
    /// Also answers for hosts on other links.
    ProxyArp,
    /// Answers for all hosts, including those on the sender's link.
    LocalProxyArp,
    /// Answers, but neither solicits nor learns: configured entries only.
    ReplyOnly,
}

impl Mode {
    /// True if the mode solicits and learns.
    pub(super) fn learns(self) -> bool {
        !matches!(self, Self::Disabled | Self::ReplyOnly)
    }

    /// True if the mode answers solicitations.
    pub(super) fn answers(self) -> bool {
        self != Self::Disabled
    }
}
