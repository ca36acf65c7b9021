//! The facts about one packet that the stages of the firewall pass on.

use frame::{Guarded, InterfaceId, Offload};

use crate::connection::{Draft, Track, Way};
use crate::packet::{Fields, Tuple};
use crate::rule::{self, Changes, Marks};
use crate::table::{Adjacency, NextHopId};
use crate::walk::Exit;
use crate::walk::forward::Fit;

/// A packet as it is before anything is decided about it.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// From its network header on.
    pub(crate) packet: &'a [u8],
    pub(crate) offload: &'a Offload,
    /// Where it came in; none for the router's own.
    pub(crate) ingress: InterfaceId,
    /// The interface under that; where it is a bridge's port, rules may see it.
    pub(crate) port: InterfaceId,
    /// What IPsec has done to it.
    pub(crate) guarded: Guarded,
    pub(crate) sender: Option<rule::Sender>,
}

/// What became of a packet so far: what rules read instead of its bytes, and what is written into
/// them when it leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// As later stages see it: the destination translated from dstnat on, the lifetime lowered from
    /// forward on.
    pub(crate) fields: Fields,
    /// Between whom it travelled when it came.
    pub(crate) received: Tuple,
    /// What its connection is.
    pub(crate) track: Track,
    /// The connection that it begins, until that is confirmed.
    pub(crate) draft: Option<Draft>,
    pub(crate) marks: Marks,
    pub(crate) changes: Changes,
    /// How it is translated, if it is.
    pub(crate) translation: Option<Translation>,
    /// The direction of its connection, where a helper reads what that carries.
    pub(crate) helped: Option<Way>,
    /// The next hop by which it leaves, once that is known.
    pub(crate) hop: NextHopId,
    /// The bridge's port by which it leaves, where it is bridged.
    pub(crate) leaves_by: InterfaceId,
    /// The smallest layer-3 MTU on its way through this router, in bytes, once that is known.
    pub(crate) mtu: u32,
    /// All stages have let it pass: what is above is written into it, whatever its exit.
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

/// The tuples of the packets that a translation applies to, and of what it makes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Translation {
    pub(crate) before: Tuple,
    pub(crate) after: Tuple,
}

/// Where an accepted packet goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Onward {
    pub(crate) hop: NextHopId,
    pub(crate) adjacency: Adjacency,
    pub(crate) fit: Fit,
}

/// Packets that are looked at together: what is known of them fits into the first cache, and memory
/// that is asked for with the first has come when the last was read.
pub(super) const CHUNK: usize = rule::TOGETHER;

/// What is known of a packet before its connection is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Met {
    /// Nothing.
    #[default]
    Unknown,
    /// It was looked up.
    Found(Option<Way>),
    /// `raw` let the packet pass, which belongs there.
    Admitted(Way),
    /// `raw` let the packet pass, and it is not tracked.
    Untracked,
    /// `raw` let the packet pass, and its connection has counted it.
    Tracked(Track),
    /// `raw` let the packet pass, and its connection has ended since it was found.
    Ended,
}

/// What was found out about a packet before it is decided about alone.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::walk) struct Before {
    /// How it ends where pass 1 says that it is for this router.
    pub(in crate::walk) local: Option<Exit>,
    pub(in crate::walk) met: Met,
    /// What mangle's prerouting has made of it, where that was asked.
    pub(super) early: Option<Early>,
}

impl Before {
    /// What pass 1 says.
    pub(in crate::walk) fn of(local: Option<Exit>) -> Self {
        Self {
            local,
            ..Self::default()
        }
    }
}

/// What rules of prerouting made of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::walk) struct Early {
    pub(super) marks: Marks,
    pub(super) changes: Changes,
}

/// What the tables of IP have made of a bridged packet before its ports were known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detoured {
    pub(super) passage: Passage,
}
