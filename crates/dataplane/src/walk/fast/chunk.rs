//! The inputs and outputs of the passes over a chunk of a vector.

use frame::{Frame, InterfaceId};

use super::next_hop_cache::NextHopCache;
use super::pass1_results::HeaderClass;
use super::plain_packets::PlainChains;
use super::shortcut_installer::ShortcutInstaller;
use crate::connection::Tick;
use crate::counters::Traffic;
use crate::ipsec::PolicyLookup;
use crate::out::OutId;
use crate::outlet::Outlet;
use crate::walk::decide::last_decision::LastDecision;
use crate::walk::decide::passage::EarlyLookup;
use crate::walk::tally::Tally;
use crate::walk::{Context, Exit};

/// Settings and state of the passes over one vector.
pub(in crate::walk) struct Passes<'a, 'o> {
    pub(in crate::walk) cx: &'a Context<'a>,
    /// By family: IPv4, IPv6.
    pub(in crate::walk) plain: [Option<PlainChains<'a>>; 2],
    pub(in crate::walk) tracks: [bool; 2],
    /// True if rules match fields that columns do not have.
    pub(in crate::walk) reads: [bool; 2],
    pub(in crate::walk) fasttracks: [bool; 2],
    pub(in crate::walk) now: Tick,
    /// The ingress interface of the vector, and the FastTracked packets received on it.
    pub(in crate::walk) ingress: InterfaceId,
    /// The frames came from a port, not out of a tunnel.
    pub(in crate::walk) by_wire: bool,
    pub(in crate::walk) received: Traffic,
    /// By family: installs shortcuts for connections at the ingress port.
    pub(in crate::walk) installers: [Option<ShortcutInstaller>; 2],
    pub(in crate::walk) tally: Tally,
    /// The decider's last decision.
    pub(in crate::walk) last: LastDecision,
    /// Lookup of IPsec policies; `None` if there are none.
    pub(in crate::walk) policies: Option<PolicyLookup<'a>>,
    pub(in crate::walk) next_hops: &'o mut NextHopCache,
    pub(in crate::walk) outlet: &'o mut Outlet,
}

/// Some packets of a vector with the results of pass 1.
pub(in crate::walk) struct Chunk<'a> {
    pub(in crate::walk) frames: &'a mut [Frame],
    pub(in crate::walk) classes: &'a [HeaderClass],
    pub(in crate::walk) outs: &'a mut [OutId],
    pub(in crate::walk) exits: &'a mut [Exit],
}

/// The reason why a batch of waiting packets ends.
pub(in crate::walk) enum Stop {
    /// The chunk has no more packets.
    End,
    /// The connection of the next packet is marked for FastTrack.
    FastTrack,
    /// The decider decides about the next packet: its exit if the packet is for this router, and the
    /// result of the connection lookup.
    Alone(Option<Exit>, EarlyLookup),
}
