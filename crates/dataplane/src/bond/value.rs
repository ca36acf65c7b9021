//! A bond and its slaves as control gives them: values, replaced as a whole.

use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::hash::HashPolicy;
use super::load::{BUCKETS, Loads};
use crate::out::OutId;

/// The most slaves of a bond.
pub const SLAVES: usize = 32;

/// Which frames a bond takes from a slave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Takes {
    /// All.
    #[default]
    All,
    /// Those that are neither for a group nor for the bond's own link address: another slave takes these
    /// (balance-alb). A switch that knows no better sends them by all.
    NotShared,
    /// None: it is a backup, or LACP does not collect from it.
    Nothing,
}

/// A slave of a bond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slave {
    /// Its interface.
    pub interface: InterfaceId,
    /// What takes its frames: a port or a tunnel.
    pub out: OutId,
    /// Which of its frames are the bond's.
    pub takes: Takes,
    /// The link address that stands for the bond's in frames of this slave (balance-tlb, balance-alb).
    pub mac: Option<Mac>,
}

/// How slaves are chosen for frames that leave. Slaves are named by their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sends {
    /// None can send.
    #[default]
    Nothing,
    /// One sends all (active-backup).
    One(u8),
    /// One after the other (balance-rr).
    Turns(Vec<u8>),
    /// All send all (broadcast).
    All(Vec<u8>),
    /// By the hash of a frame (balance-xor, 802.3ad).
    Hashed(HashPolicy, Vec<u8>),
    /// By the peer, as its load was last shared out (balance-tlb, balance-alb).
    Buckets {
        /// The slave of each bucket of peers.
        of: Box<[u8; BUCKETS]>,
        /// The slave that sends what is for groups, and neighbour discovery.
        active: u8,
        /// Peers are told different link addresses, so that they send to all slaves (balance-alb).
        receive: bool,
    },
}

/// A bond, as workers see it: immutable but for what they count.
#[derive(Debug, PartialEq, Eq)]
pub struct Bond {
    /// Its interface, whose line has `OutId::bond`.
    pub id: InterfaceId,
    /// Its link address.
    pub mac: Mac,
    /// How slaves are chosen.
    pub sends: Sends,
    /// What workers count of it, and whose turn it is; the next value of the bond takes it over.
    pub loads: Arc<Loads>,
    slaves: Vec<Slave>,
}

impl Bond {
    /// A bond of these slaves, of which there are at most [`SLAVES`]; others are left out. A slave's place is its
    /// number. Places in `sends` that no slave has are left out, too.
    pub fn new(
        (id, mac): (InterfaceId, Mac),
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

    /// Its slaves, by their places.
    pub fn slaves(&self) -> &[Slave] {
        &self.slaves
    }

    /// The slave that an interface is.
    pub fn slave(&self, interface: InterfaceId) -> Option<&Slave> {
        let mut slaves = self.slaves.iter();
        slaves.find(|slave| slave.interface == interface)
    }
}
