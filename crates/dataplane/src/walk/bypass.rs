//! Reasons to keep packets on the full walk. Shortcuts of devices and FastTrack check these reasons
//! before they bypass stages. A feature that must see every packet (queues, accounting) adds a
//! reason here.

use frame::InterfaceId;

use crate::interface::InterfaceTable;
use crate::snapshot::Snapshot;

/// The reason why every packet of a flow takes the full walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WalkReason {
    /// An interface on the packets' way is tapped.
    Tapped,
    /// Rules mark connections or match their counters, so the verdict may change with each packet.
    RulesFollow,
    /// `allow-fast-path=no`.
    NotAllowed,
    /// There are simple queues, or queue trees with parent `global`.
    Queued,
    /// IPsec policies are checked for each packet.
    Ipsec,
}

impl WalkReason {
    /// Returns the explanation for users.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Tapped => "a capture or torch runs on an interface of the path",
            Self::RulesFollow => "rules mark connections or match their counters",
            Self::NotAllowed => "allow-fast-path=no",
            Self::Queued => "there are simple queues or queue trees with parent global",
            Self::Ipsec => "/ip/ipsec/policy has enabled policies",
        }
    }

    /// Returns true if the reason applies to all packets of a family, whatever their interfaces.
    fn holds(self, snapshot: &Snapshot, ipv6: bool) -> bool {
        match self {
            Self::Tapped => false,
            Self::RulesFollow => !snapshot.firewall.is_steady(ipv6),
            Self::NotAllowed => !snapshot.family(ipv6).allow_fast_path,
            Self::Queued => snapshot.queues,
            Self::Ipsec => !snapshot.ipsec.is_empty(),
        }
    }
}

/// The reasons against device shortcuts. Settings that forbid FastPath do not forbid shortcuts.
const FROM_SHORTCUTS: [WalkReason; 4] = [
    WalkReason::Tapped,
    WalkReason::RulesFollow,
    WalkReason::Queued,
    WalkReason::Ipsec,
];
/// The reasons against FastTrack. Taps are none: they see FastTracked frames at reception and
/// transmission. Rules are none: they chose FastTrack.
const FROM_FASTTRACK: [WalkReason; 1] = [WalkReason::NotAllowed];

/// Returns the reasons why packets of a family between these interfaces may not take device
/// shortcuts.
pub fn keep_from_shortcuts(
    snapshot: &Snapshot,
    interfaces: &InterfaceTable,
    ipv6: bool,
    ends: &[InterfaceId],
) -> impl Iterator<Item = WalkReason> {
    let tapped = is_tapped(interfaces, ends);
    let holds = move |reason: &WalkReason| {
        *reason == WalkReason::Tapped && tapped || reason.holds(snapshot, ipv6)
    };
    FROM_SHORTCUTS.into_iter().filter(holds)
}

/// Returns the reasons why packets of a family may not take FastTrack.
pub fn keep_from_fasttrack(snapshot: &Snapshot, ipv6: bool) -> impl Iterator<Item = WalkReason> {
    let all = FROM_FASTTRACK.into_iter();
    all.filter(move |reason| reason.holds(snapshot, ipv6))
}

/// Returns true if any of these interfaces is tapped.
#[inline]
pub(super) fn is_tapped(interfaces: &InterfaceTable, ends: &[InterfaceId]) -> bool {
    let taps = interfaces.taps();
    let is_seen = |id: &InterfaceId| interfaces.is_tapped(*id) || taps.is_mirrored(*id);
    taps.any() && ends.iter().any(is_seen)
}
