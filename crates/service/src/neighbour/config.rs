//! The settings of one interface's neighbours.

use machine::Duration;
use wire::Mac;

/// The settings of one interface's neighbours: of RouterOS's interface (`arp`, `arp-timeout`,
/// MAC address) and of `/ip/settings` and `/ipv6/settings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The interface's MAC address.
    pub mac: Mac,
    /// What the interface asks, answers and learns.
    pub mode: Mode,
    /// Whether answers say that this is a router (IPv6 `forward=yes`).
    pub router: bool,
    /// How long a confirmed neighbour counts as reachable, on average: each is drawn between half
    /// and one and a half of it (RFC 4861, 6.3.2). `arp-timeout`.
    pub reachable_time: Duration,
    /// Between questions (RetransTimer, RFC 4861, 10).
    pub retransmit: Duration,
    /// Between traffic to a stale neighbour and the first probe (DELAY_FIRST_PROBE_TIME).
    pub delay_first_probe: Duration,
    /// How often the owner is asked about a stale neighbour (`stale-neighbor-detect-interval`).
    pub stale_check: Duration,
    /// After how long without traffic a stale neighbour is forgotten (`stale-neighbor-timeout`);
    /// a failed one likewise.
    pub stale_timeout: Duration,
    /// Questions to all before an address is given up (MAX_MULTICAST_SOLICIT).
    pub multicast_solicits: u8,
    /// Questions to a neighbour before it is given up (MAX_UNICAST_SOLICIT).
    pub unicast_solicits: u8,
    /// The most learnt entries (`max-neighbor-entries`). Configured entries do not count.
    pub entries_max: usize,
    /// The most packets that wait for one neighbour.
    pub queue_max: usize,
    /// The most packets that wait in all.
    pub queue_total_max: usize,
}

impl Config {
    /// RouterOS's defaults for an interface with this MAC address.
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

    /// How many learnt entries may be unresolved or failed at a time, so that a scan of the network
    /// cannot push known neighbours out.
    pub(super) fn unresolved_max(&self) -> usize {
        (self.entries_max / 4).max(1)
    }

    /// The same, with what would make the machine spin or deadlock raised to the least that works.
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

/// The `arp=` property of an interface. Neighbour discovery runs `Enabled` always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Asks, answers and learns.
    #[default]
    Enabled,
    /// Does none of it: configured entries only.
    Disabled,
    /// Answers for other links too.
    ProxyArp,
    /// Answers for all, the asker's own link included.
    LocalProxyArp,
    /// Answers, but neither asks nor learns: configured entries only.
    ReplyOnly,
}

impl Mode {
    /// Whether addresses are learnt and asked for.
    pub(super) fn learns(self) -> bool {
        !matches!(self, Self::Disabled | Self::ReplyOnly)
    }

    /// Whether questions are answered.
    pub(super) fn answers(self) -> bool {
        self != Self::Disabled
    }
}
