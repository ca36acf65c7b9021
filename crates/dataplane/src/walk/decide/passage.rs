//! The facts about one packet that the stages of the firewall pass on.

use frame::{InterfaceId, IpsecState, Offload};

use crate::connection::{Draft, FlowId, Track};
use crate::packet::{Fields, Tuple};
use crate::rule;
use crate::rule::{Changes, Marks};
use crate::table::{Adjacency, NextHopId};
use crate::walk::Exit;
use crate::walk::forward::Fit;

/// A packet as received, before any decision.
#[derive(Clone, Copy)]
pub(crate) struct PacketView<'a> {
    /// The packet from its network header on.
    pub(crate) packet: &'a [u8],
    pub(crate) offload: &'a Offload,
    /// The ingress interface; none for the router's own packets.
    pub(crate) ingress: InterfaceId,
    /// The interface below the ingress interface. Rules may match a bridge's port.
    pub(crate) port: InterfaceId,
    /// The IPsec processing that the packet has passed.
    pub(crate) guarded: IpsecState,
    pub(crate) sender: Option<rule::Sender>,
}

/// The decisions about a packet so far. Rules match these fields instead of the packet's bytes, and
/// commit writes them into the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// The packet's fields for later stages: the destination is translated from dstnat on, the lifetime lowered from
    /// forward on.
    pub(crate) fields: Fields,
    /// The addresses and ports on arrival.
    pub(crate) received: Tuple,
    /// The packet's connection.
    pub(crate) track: Track,
    /// The connection that the packet begins, until it is confirmed.
    pub(crate) draft: Option<Draft>,
    pub(crate) marks: Marks,
    pub(crate) changes: Changes,
    /// The packet's translation of addresses and ports.
    pub(crate) translation: Option<Translation>,
    /// The direction of the connection, if a helper reads its payload.
    pub(crate) helped: Option<FlowId>,
    /// The next hop, once routing has chosen one.
    pub(crate) hop: NextHopId,
    /// The egress port of a bridged packet.
    pub(crate) leaves_by: InterfaceId,
    /// The smaller layer-3 MTU of the ingress and egress links in bytes, once both are known.
    pub(crate) mtu: u32,
    /// All stages have accepted the packet: commit writes the changes even if the packet ends here.
    pub(crate) accepted: bool,
}

impl Passage {
    pub(crate) fn new(fields: Fields) -> Self {
        Self {
            fields,
            received: fields.tuple,
            track: Track::default(),
            draft: None,
            marks: Marks::default(),
            changes: Changes::default(),
            translation: None,
            helped: None,
            hop: NextHopId::NO_ROUTE,
            leaves_by: InterfaceId::NONE,
            mtu: u32::MAX,
            accepted: false,
        }
    }
}

/// A translation: the tuple of packets before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    pub(crate) before: Tuple,
    pub(crate) after: Tuple,
}

/// The route of an accepted packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AcceptedRoute {
    pub(crate) hop: NextHopId,
    pub(crate) adjacency: Adjacency,
    pub(crate) fit: Fit,
}

/// Packets in a chunk. Their fields fit into the first-level cache, and prefetches for the first packet complete while
/// the others are read.
pub(in crate::walk) const CHUNK: usize = rule::TOGETHER;

/// The result of the early look-up of a packet's connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum EarlyLookup {
    /// There was no look-up.
    #[default]
    Unknown,
    /// The connection, if the look-up found one.
    Found(Option<FlowId>),
    /// `raw` accepted the packet of this connection.
    Admitted(FlowId),
    /// `raw` accepted the packet, which is not tracked.
    Untracked,
    /// `raw` accepted the packet, and its connection has counted it.
    Tracked(Track),
    /// `raw` accepted the packet, and its connection has ended since the look-up.
    Ended,
}

/// Results of the passes over a chunk for a packet that the [`Decider`](super::Decider) decides about.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::walk) struct PriorResults {
    /// The exit of a packet that pass 1 has found to be for this router.
    pub(in crate::walk) local: Option<Exit>,
    pub(in crate::walk) lookup: EarlyLookup,
    /// The result of mangle's prerouting, if it was evaluated.
    pub(in crate::walk) early: Option<PreroutingResult>,
}

impl PriorResults {
    /// Returns the results of pass 1 alone.
    pub(in crate::walk) fn of(local: Option<Exit>) -> Self {
        Self {
            local,
            ..Self::default()
        }
    }
}

/// Marks and changes by rules of mangle's prerouting.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::walk) struct PreroutingResult {
    pub(in crate::walk) marks: Marks,
    pub(in crate::walk) changes: Changes,
}

/// The decisions of the tables of IP about a bridged packet before the bridging decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detoured {
    pub(in crate::walk) passage: Passage,
}
