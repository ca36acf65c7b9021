//! A bond and its slaves: immutable values that control replaces as a whole.

use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::hash::HashPolicy;
use super::load::{BUCKETS, Loads};
use crate::out::OutId;

/// Maximum number of slaves of a bond.
pub const SLAVES: usize = 32;

/// Which frames a bond takes from a slave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Takes {
    /// All frames.
    #[default]
    All,
    /// Frames that are neither multicast nor sent to the bond's own MAC address, which another
    /// slave takes (balance-alb). A switch that does not know the address floods such frames to all
    /// slaves.
    NotShared,
    /// No frames: the slave is a backup, or LACP has not enabled collecting.
    Nothing,
}

/// A slave of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slave {
    /// The slave's interface.
    pub interface: InterfaceId,
    /// The out of the slave: a port or a tunnel.
    pub out: OutId,
    /// The received frames that the bond takes.
    pub takes: Takes,
    /// The MAC address that replaces the bond's in frames of this slave (balance-tlb, balance-alb).
    pub mac: Option<Mac>,
}

/// How a bond chooses the slave of a frame. Slaves are named by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sends {
    /// No slave can send.
    #[default]
    Nothing,
    /// This slave sends all frames (active-backup).
    One(u8),
    /// These slaves send in turn (balance-rr).
    Turns(Vec<u8>),
    /// All of these slaves send a copy (broadcast).
    All(Vec<u8>),
    /// The hash of the frame selects one of these slaves (balance-xor, 802.3ad).
    Hashed(HashPolicy, Vec<u8>),
    /// The peer's bucket selects the slave, as control last balanced the load (balance-tlb,
    /// balance-alb).
    Buckets {
        /// Slave of each bucket.
        of: Box<[u8; BUCKETS]>,
        /// Slave for multicast, neighbour discovery and other frames that are not balanced.
        active: u8,
        /// Peers get different MAC addresses of the bond, so that they send to different slaves
        /// (balance-alb).
        receive: bool,
    },
}

/// A bond as workers see it: immutable except for its counters.
#[derive(Debug, PartialEq, Eq)]
pub struct Bond {
    /// The bond's interface, whose out is `OutId::bond`.
    pub id: InterfaceId,
    /// The bond's MAC address.
    pub mac: Mac,
    /// How slaves are chosen for transmission.
    pub sends: Sends,
    /// Load counters and round-robin positions. A new value of the bond takes them over.
    pub loads: Arc<Loads>,
    slaves: Vec<Slave>,
}

impl Bond {
    /// Creates a bond of these slaves, whose index is their number. Drops slaves beyond [`SLAVES`],
    /// and numbers in `sends` that no slave has.
    pub fn new(
        id: InterfaceId,
        mac: Mac,
        slaves: impl IntoIterator<Item = Slave>,
        sends: Sends,
        loads: Arc<Loads>,
    ) -> Self {
        let slaves: Vec<_> = slaves.into_iter().take(SLAVES).collect();
        let is_there = |place: &u8| usize::from(*place) < slaves.len();
        let kept = |places: Vec<u8>| places.into_iter().filter(is_there).collect::<Vec<_>>();
        let sends = match sends {
            Sends::One(place) if !is_there(&place) => Sends::Nothing,
            Sends::Turns(places) => Sends::Turns(kept(places)),
            Sends::All(places) => Sends::All(kept(places)),
            Sends::Hashed(policy, places) => Sends::Hashed(policy, kept(places)),
            Sends::Buckets { of, active, .. } if !of.iter().chain([&active]).all(is_there) => {
                Sends::Nothing
            }
            sends => sends,
        };
        let sends = match sends {
            Sends::Turns(places) | Sends::All(places) | Sends::Hashed(_, places)
                if places.is_empty() =>
            {
                Sends::Nothing
            }
            sends => sends,
        };
        Self {
            id,
            mac,
            sends,
            loads,
            slaves,
        }
    }

    /// Returns the slaves, by index.
    pub fn slaves(&self) -> &[Slave] {
        &self.slaves
    }

    /// Returns the slave with this interface.
    pub fn slave(&self, interface: InterfaceId) -> Option<&Slave> {
        let mut slaves = self.slaves.iter();
        slaves.find(|slave| slave.interface == interface)
    }
}
