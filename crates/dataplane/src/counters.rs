//! Counters of a worker: written by that worker alone, read and summed by anyone.
//!
//! Interface counters lie in pages that control adds before it publishes an interface; workers do not wait for that.

use std::sync::{Arc, OnceLock};

use frame::InterfaceId;
use frame::shortcut::Handler;

use crate::connection::Helper;
pub use crate::count::{Counter, Pair, Traffic};
use crate::drop::DropReason;
use crate::meter::Facility;
use crate::punt::{REASONS, Why};
use crate::rule::RuleCounters;
use crate::service::{SERVICES, ServiceId};

/// Interfaces whose counters share a page.
const PAGE: usize = 256;
/// How many pages there can be: one for each 256 slots of the table of interfaces.
const PAGES: usize = crate::interface::INTERFACES / PAGE;

/// The counters of one interface. Bytes are those of the frames, without the check sequence.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct InterfaceCounters {
    /// Received.
    pub rx: Pair,
    /// Transmitted.
    pub tx: Pair,
    /// Received, and walked the fast path.
    pub fp_rx: Pair,
    /// Transmitted from the fast path.
    pub fp_tx: Pair,
    /// Received and discarded.
    pub rx_drop: Counter,
    /// Discarded because the port had no room or was gone.
    pub tx_drop: Counter,
}

/// Counters of interfaces whose slots follow each other.
type Page = Box<[InterfaceCounters; PAGE]>;

/// What a worker counts of a service.
#[derive(Debug, Default)]
pub struct ServiceCounters {
    /// Frames that were handed to control, or lost because its ring was full.
    pub heard: Counter,
    /// Frames beyond the rate of the service.
    pub lost: Counter,
}

/// Everything that one worker (or control) counts.
#[derive(Debug)]
pub struct Counters {
    drops: [Counter; DropReason::ALL.len()],
    punts: [Counter; REASONS],
    clocks: [Counter; Facility::ALL.len()],
    services: [ServiceCounters; SERVICES],
    /// IPv4 packets that the fast path forwarded, and their bytes from the IPv4 header on.
    pub ipv4_fast_path: Pair,
    /// The same of IPv6.
    pub ipv6_fast_path: Pair,
    /// IPv4 packets of FastTracked connections that FastTrack forwarded, and their bytes.
    pub ipv4_fasttrack: Pair,
    /// The same of IPv6.
    pub ipv6_fasttrack: Pair,
    /// Frames that bridges with `allow-fast-path` bridged between ports, those of fast forward aside.
    pub bridge_fast_path: Pair,
    /// Frames that fast forward bridged.
    pub bridge_fast_forward: Pair,
    /// Packets that ports forwarded by themselves as the firewall had let them pass: IPv4, IPv6.
    past_firewall: [Pair; 2],
    cut: [Counter; Helper::ALL.len()],
    /// Copies of frames for whoever looks on.
    pub taps: Counter,
    /// Copies that found no room: the ring was full, or holders had all of the pool that they may.
    pub taps_lost: Counter,
    /// What rules of the firewall counted.
    pub rules: Arc<RuleCounters>,
    pages: Box<[OnceLock<Page>; PAGES]>,
    /// What belongs to an interface without a page.
    nowhere: InterfaceCounters,
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl Counters {
    /// All zero, without a page for any interface yet.
    pub fn new() -> Self {
        Self {
            drops: core::array::from_fn(|_| Counter::default()),
            punts: core::array::from_fn(|_| Counter::default()),
            clocks: Default::default(),
            services: core::array::from_fn(|_| ServiceCounters::default()),
            ipv4_fast_path: Pair::default(),
            ipv6_fast_path: Pair::default(),
            ipv4_fasttrack: Pair::default(),
            ipv6_fasttrack: Pair::default(),
            bridge_fast_path: Pair::default(),
            bridge_fast_forward: Pair::default(),
            past_firewall: Default::default(),
            cut: core::array::from_fn(|_| Counter::default()),
            taps: Counter::default(),
            taps_lost: Counter::default(),
            rules: Arc::default(),
            pages: Box::new([const { OnceLock::new() }; PAGES]),
            nowhere: InterfaceCounters::default(),
        }
    }

    /// Makes room for interfaces up to this one. Control calls it before it publishes a snapshot
    /// that names the interface.
    ///
    /// # Errors
    /// False when there are no such pages.
    pub fn make_room(&self, interface: InterfaceId) -> bool {
        let Some(pages) = self.pages.get(..=interface.slot() / PAGE) else {
            return false;
        };
        // Pages are made in their order: those before the last one that is there are there, too.
        let missing = pages.iter().rev().take_while(|page| page.get().is_none());
        let first = pages.len() - missing.count();
        for page in &pages[first..] {
            page.get_or_init(|| Box::new(core::array::from_fn(|_| InterfaceCounters::default())));
        }
        true
    }

    /// The counters of an interface.
    #[inline]
    pub fn interface(&self, id: InterfaceId) -> &InterfaceCounters {
        let id = id.slot();
        match self.pages[id / PAGE % PAGES].get() {
            Some(page) => &page[id % PAGE],
            None => &self.nowhere,
        }
    }

    /// What shortcuts of a handler forward of a family is counted here.
    pub fn forwarded(&self, handler: Handler, ipv6: bool) -> &Pair {
        match (handler, ipv6) {
            (Handler::FastPath, false) => &self.ipv4_fast_path,
            (Handler::FastPath, true) => &self.ipv6_fast_path,
            (Handler::FastTrack, false) => &self.ipv4_fasttrack,
            (Handler::FastTrack, true) => &self.ipv6_fasttrack,
            (Handler::Firewall, _) => &self.past_firewall[usize::from(ipv6)],
        }
    }

    /// Counts a discarded packet.
    #[inline]
    pub fn dropped(&self, reason: DropReason) {
        self.drops[reason as usize].add(1);
    }

    /// Counts several packets that were discarded for one reason.
    #[inline]
    pub fn dropped_many(&self, reason: DropReason, count: u64) {
        self.drops[reason as usize].add(count);
    }

    /// Counts a segment that cut a message, or ended one, which its helper could not carry out therefore.
    #[cold]
    pub fn cut(&self, helper: Helper) {
        self.cut[helper as usize].add(1);
    }

    /// How many such segments there were.
    pub fn cuts(&self, helper: Helper) -> u64 {
        self.cut[helper as usize].get()
    }

    /// Counts a packet handed to control.
    #[inline]
    pub fn punted(&self, why: Why) {
        self.punts[why.index()].add(1);
    }

    /// Charges a facility for so many clocks.
    #[inline]
    pub(crate) fn charge(&self, facility: Facility, clocks: u64) {
        self.clocks[facility as usize].add(clocks);
    }

    /// What a facility was charged since the worker was made, in clocks of `kernels::tsc`. The shares of two readings'
    /// differences are what a profile shows.
    pub fn clocks(&self, facility: Facility) -> u64 {
        self.clocks[facility as usize].get()
    }

    /// The counters of a service.
    #[inline]
    pub fn service(&self, id: ServiceId) -> &ServiceCounters {
        &self.services[id.index()]
    }

    /// How many packets were discarded for this reason.
    pub fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize].get()
    }

    /// How many packets were handed to control for the reason with this index (`Why::index`).
    pub fn punts(&self, index: usize) -> u64 {
        self.punts.get(index).map_or(0, Counter::get)
    }
}

/// The counters of one interface, read and summed over workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceTraffic {
    /// Received.
    pub rx: Traffic,
    /// Transmitted.
    pub tx: Traffic,
    /// Received, and walked the fast path.
    pub fp_rx: Traffic,
    /// Transmitted from the fast path.
    pub fp_tx: Traffic,
    /// Received and discarded.
    pub rx_drop: u64,
    /// Discarded at transmission.
    pub tx_drop: u64,
}

/// Sums one interface over all workers' counters.
pub fn interface_traffic<'a>(
    workers: impl IntoIterator<Item = &'a Counters>,
    id: InterfaceId,
) -> InterfaceTraffic {
    let mut sum = InterfaceTraffic::default();
    for counters in workers {
        let one = counters.interface(id);
        sum.rx += one.rx.get();
        sum.tx += one.tx.get();
        sum.fp_rx += one.fp_rx.get();
        sum.fp_tx += one.fp_tx.get();
        sum.rx_drop += one.rx_drop.get();
        sum.tx_drop += one.tx_drop.get();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_get_room_while_others_count() {
        let counters = Counters::new();
        assert!(counters.make_room(InterfaceId(3)));
        counters.interface(InterfaceId(3)).rx.add(2, 120);

        assert!(counters.make_room(InterfaceId(70_000)));
        counters.interface(InterfaceId(70_000)).tx.add(1, 60);
        let one = interface_traffic([&counters, &counters], InterfaceId(3));

        assert_eq!(one.rx.packets, 4);
        assert_eq!(one.tx.packets, 0);
        counters.interface(InterfaceId(300)).rx.add(1, 60);
        assert_eq!(counters.interface(InterfaceId(300)).rx.get().packets, 1);
        assert_eq!(counters.interface(InterfaceId(301)).rx.get().packets, 0);
        assert!(counters.make_room(InterfaceId(u32::MAX)), "the last slot");
    }
}
