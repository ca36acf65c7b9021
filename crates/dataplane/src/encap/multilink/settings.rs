//! Settings of a session with multilink framing.

use core::sync::atomic::AtomicU32;
use std::sync::Arc;

use frame::InterfaceId;

use crate::encap::carrier::Carrier;

/// The framing of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multilink {
    /// The session's interface.
    pub id: InterfaceId,
    /// What carries the session.
    pub carrier: Carrier,
    /// The longest packet in bytes that the link carries whole.
    pub mtu: u16,
    /// The longest packet in bytes that this end reassembles.
    pub mrru: u16,
    /// The sequence number of the next fragment.
    pub sequence: Sequence,
}

/// A sequence number that outlives changes of a session's settings. Only one worker writes it.
#[derive(Clone, Debug, Default)]
pub struct Sequence(pub(super) Arc<AtomicU32>);

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Sequence {}
