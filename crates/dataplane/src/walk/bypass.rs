//! Who wants to see each packet. Whatever would lead packets past the walk, or past most of it, asks here first: the
//! shortcuts of devices, and FastTrack. What looks at packets from now on (queues, accounting) adds a reason.

use frame::InterfaceId;

use crate::interface::InterfaceTable;
use crate::snapshot::Snapshot;

/// Why each packet of a flow takes the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WalkReason {
    /// Somebody looks at the frames of an interface on its way.
    Tapped,
    /// Rules mark connections, or read what they have counted: what becomes of packets may change with each.
    RulesFollow,
    /// `allow-fast-path=no`.
    NotAllowed,
    /// There are simple queues, or queues of `global`.
    Queued,
    /// Policies of IPsec look at packets.
    Ipsec,
}

impl WalkReason {
    /// The sentence that a user reads.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Tapped => "somebody looks at the frames of an interface on the way",
            Self::RulesFollow => "rules mark connections, or read what they have counted",
            Self::NotAllowed => "allow-fast-path=no",
            Self::Queued => "there are simple queues, or a queue tree of global",
            Self::Ipsec => "/ip/ipsec/policy has enabled policies",
        }
    }

    /// Whether it holds for a family, wherever its packets come from and go to.
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

/// What keeps packets from shortcuts of devices. Who forbids FastPath says nothing of them.
const FROM_SHORTCUTS: [WalkReason; 4] = [
    WalkReason::Tapped,
    WalkReason::RulesFollow,
    WalkReason::Queued,
    WalkReason::Ipsec,
];
/// What keeps packets from FastTrack. Taps see what goes by it, as they are where frames are received and
/// transmitted; rules have chosen it.
const FROM_FASTTRACK: [WalkReason; 1] = [WalkReason::NotAllowed];

/// Why packets of a family that come and go by these interfaces may not go by shortcuts of devices.
pub fn keep_from_shortcuts(
    (snapshot, interfaces): (&Snapshot, &InterfaceTable),
    ipv6: bool,
    ends: &[InterfaceId],
) -> impl Iterator<Item = WalkReason> {
    let tapped = is_tapped(interfaces, ends);
    let holds = move |reason: &WalkReason| {
        *reason == WalkReason::Tapped && tapped || reason.holds(snapshot, ipv6)
    };
    FROM_SHORTCUTS.into_iter().filter(holds)
}

/// Why packets of a family may not go by FastTrack.
pub fn keep_from_fasttrack(snapshot: &Snapshot, ipv6: bool) -> impl Iterator<Item = WalkReason> {
    let all = FROM_FASTTRACK.into_iter();
    all.filter(move |reason| reason.holds(snapshot, ipv6))
}

/// Whether somebody looks at the frames of one of these interfaces.
#[inline]
pub(super) fn is_tapped(interfaces: &InterfaceTable, ends: &[InterfaceId]) -> bool {
    let taps = interfaces.taps();
    let is_seen = |id: &InterfaceId| interfaces.is_tapped(*id) || taps.is_mirrored(*id);
    taps.any() && ends.iter().any(is_seen)
}
