//! The inputs and outputs of the passes over a chunk of a vector.

use frame::{Frame, InterfaceId};

use super::last_decision::LastDecision;
use super::passage::EarlyLookup;
use super::plain_packets::PlainChains;
use crate::connection::Tick;
use crate::counters::Traffic;
use crate::ipsec::PolicyLookup;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::next_hop_cache::NextHopCache;
use crate::walk::pass1_results::HeaderClass;
use crate::walk::shortcut_installer::ShortcutInstaller;
use crate::walk::tally::Tally;
use crate::walk::{Context, Exit};

/// Settings and state of the passes over one vector.
pub(super) struct Passes<'a, 'o> {
    pub(super) cx: &'a Context<'a>,
    /// By family: IPv4, IPv6.
    pub(super) plain: [Option<PlainChains<'a>>; 2],
    pub(super) tracks: [bool; 2],
    /// True if rules match fields that columns do not have.
    pub(super) reads: [bool; 2],
    pub(super) fasttracks: [bool; 2],
    pub(super) now: Tick,
    /// The ingress interface of the vector, and the FastTracked packets received on it.
    pub(super) ingress: InterfaceId,
    /// The frames came from a port, not out of a tunnel.
    pub(super) by_wire: bool,
    pub(super) received: Traffic,
    /// By family: installs shortcuts for connections at the ingress port.
    pub(super) installers: [Option<ShortcutInstaller>; 2],
    pub(super) tally: Tally,
    /// The guard's last decision.
    pub(super) last: LastDecision,
    /// Lookup of IPsec policies; `None` if there are none.
    pub(super) policies: Option<PolicyLookup<'a>>,
    pub(super) next_hops: &'o mut NextHopCache,
    pub(super) outlet: &'o mut Outlet,
}

/// Some packets of a vector with the results of pass 1.
pub(super) struct Chunk<'a> {
    pub(super) frames: &'a mut [Frame],
    pub(super) classes: &'a [HeaderClass],
    pub(super) outs: &'a mut [OutId],
    pub(super) exits: &'a mut [Exit],
}

/// The reason why a batch of waiting packets ends.
pub(super) enum Stop {
    /// The chunk has no more packets.
    End,
    /// The connection of the next packet is marked for FastTrack.
    FastTrack,
    /// The guard decides about the next packet: its exit if the packet is for this router, and the
    /// result of the connection lookup.
    Alone(Option<Exit>, EarlyLookup),
}
