//! The interfaces of tunnels, by the ends of their packets.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use arc_swap::ArcSwap;
use frame::InterfaceId;

use crate::encap::{COUNT, Form};
use crate::flow::mix64;

/// Key of the packets for this router that one tunnel decapsulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The form of encapsulation.
    pub(crate) form: Form,
    /// Destination UDP port of the packets; 0 for other protocols.
    pub(crate) port: u16,
    /// A further key within the form, such as a VNI.
    pub(crate) number: u32,
    /// This router's address; the unspecified address matches any of its family.
    pub(crate) local: IpAddr,
    /// The remote address; unspecified if the form does not use it.
    pub(crate) remote: IpAddr,
}

impl Ends {
    /// Returns the ends with any local address.
    pub(crate) const fn without_address(mut self) -> Self {
        self.local = match self.local {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        self
    }

    fn hash(&self) -> usize {
        let of = |address: IpAddr| match address {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                mix64(bits as u64) ^ (bits >> 64) as u64
            }
        };
        let number = u64::from(self.port) << 32 ^ u64::from(self.number);
        let ends = of(self.local).rotate_left(32) ^ mix64(of(self.remote));
        mix64(ends ^ mix64(number)) as usize % LISTS
    }
}

/// Number of lists that tunnels are spread over.
const LISTS: usize = 1024;

type List = Vec<(Ends, InterfaceId)>;

/// The interfaces of tunnels by their ends.
#[derive(Debug)]
pub(super) struct Tunnels {
    lists: Box<[ArcSwap<List>]>,
    /// UDP ports of the tunnels of each form.
    ports: [Ports; COUNT],
    /// Number of ends of each form.
    counts: [AtomicU64; COUNT],
}

/// A set of UDP ports, one bit each.
#[derive(Debug)]
struct Ports {
    words: Box<[AtomicU64]>,
}

/// Ports per word of a set.
const WORD: u16 = u64::BITS as u16;

impl Ports {
    fn new() -> Self {
        Self {
            words: (0..=u16::MAX / WORD).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    #[inline(always)]
    fn has(&self, port: u16) -> bool {
        let word = self.words[usize::from(port / WORD)].load(Ordering::Relaxed);
        word >> (port % WORD) & 1 != 0
    }

    fn set(&self, port: u16, is_there: bool) {
        if self.has(port) != is_there {
            let bit = 1 << (port % WORD);
            self.words[usize::from(port / WORD)].fetch_xor(bit, Ordering::Relaxed);
        }
    }
}

impl Tunnels {
    pub(super) fn new() -> Self {
        let lists = (0..LISTS).map(|_| ArcSwap::default());
        Self {
            lists: lists.collect(),
            ports: core::array::from_fn(|_| Ports::new()),
            counts: core::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Returns true if a tunnel of this form has this UDP port.
    #[inline(always)]
    pub(super) fn has_port(&self, form: Form, port: u16) -> bool {
        self.ports[form as usize].has(port)
    }

    /// Returns true if there is a tunnel of this form.
    #[inline(always)]
    pub(super) fn has_any(&self, form: Form) -> bool {
        self.counts[form as usize].load(Ordering::Relaxed) != 0
    }

    /// Returns true if there is a tunnel.
    pub(super) fn any(&self) -> bool {
        let mut counts = self.counts.iter();
        counts.any(|count| count.load(Ordering::Relaxed) != 0)
    }

    /// Adds or removes the UDP port of a tunnel.
    fn note_port(&self, ends: &Ends, comes: bool) {
        if ends.port == 0 {
            return;
        }
        let alike = |of: &Ends| (of.form, of.port) == (ends.form, ends.port);
        let mut lists = self.lists.iter();
        let any = comes || lists.any(|list| list.load().iter().any(|(of, _)| alike(of)));
        self.ports[ends.form as usize].set(ends.port, any);
    }

    /// Returns the interface of the tunnel between these ends.
    pub(super) fn get(&self, ends: &Ends) -> Option<InterfaceId> {
        let list = self.lists[ends.hash()].load();
        let found = list.iter().find(|(of, _)| of == ends);
        found.map(|(_, interface)| *interface)
    }

    /// Sets the tunnel between these ends; `None` removes it. Rebuilds one of the 1,024 lists.
    pub(super) fn set(&self, ends: Ends, interface: Option<InterfaceId>) {
        let place = &self.lists[ends.hash()];
        let mut list = List::clone(&place.load());
        let before = list.len();
        list.retain(|(of, _)| *of != ends);
        let gone = (before - list.len()) as u64;
        let count = &self.counts[ends.form as usize];
        let now = count.load(Ordering::Relaxed) - gone + u64::from(interface.is_some());
        count.store(now, Ordering::Relaxed);
        list.extend(interface.map(|interface| (ends, interface)));
        place.store(Arc::new(list));
        self.note_port(&ends, interface.is_some());
    }
}
