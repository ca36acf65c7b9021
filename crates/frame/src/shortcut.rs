//! What a device may do by itself with packets like one that took the fast path: the kernel, or a card,
//! remembers where such a packet went, and sends those that follow there without asking anybody.
//!
//! A worker says what it saw ([`Straight`], [`Port::learn`](crate::Port::learn)); control says when
//! nothing of that holds any more ([`Shortcuts::forget`]) and reads what was forwarded so
//! ([`Shortcuts::take`]).

use crate::InterfaceId;

/// A packet that the fast path forwarded, and about which nothing was decided but by its addresses: what
/// was written in front of it is written in front of all between the same two, as long as their
/// headers are in order, they may live on, and they fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Straight {
    /// Address bits; those of IPv4 in the low 32.
    pub source: u128,
    /// The same.
    pub destination: u128,
    /// The family.
    pub ipv6: bool,
    /// What packets take, however many addresses there are.
    pub lane: Lane,
}

/// Where straight packets come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The interface that they come in by.
    pub ingress: InterfaceId,
    /// Its link address, which they were sent to.
    pub to: [u8; 6],
    /// The interface that they leave by.
    pub egress: InterfaceId,
    /// The device behind that ([`Port::device`](crate::Port::device)).
    pub device: u32,
    /// Link addresses of the Ethernet header that they leave with: destination, source.
    pub link: [u8; 12],
    /// The longest packet that fits, in bytes from its network header on.
    pub mtu: u32,
}

/// What was forwarded by shortcuts from one interface to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Went {
    /// The interface that packets came in by.
    pub ingress: InterfaceId,
    /// And the one that they left by.
    pub egress: InterfaceId,
    /// Their family.
    pub ipv6: bool,
    /// How many.
    pub packets: u64,
    /// Bytes of their frames, Ethernet headers included.
    pub bytes: u64,
}

/// Shortcuts that devices have learned, as control sees them.
pub trait Shortcuts: Send + Sync + core::fmt::Debug {
    /// Something has changed that forwarding depends on: whatever was learned before is not taken any
    /// more. Called after the change can be seen by workers.
    fn forget(&self);

    /// Tells what was forwarded that was not told before: all of it, or what came in or left by an interface.
    fn take(&self, by: Option<InterfaceId>, went: &mut dyn FnMut(Went));
}
