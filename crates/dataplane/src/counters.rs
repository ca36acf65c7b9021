//! Counters of a worker: written by that worker alone, read and summed by anyone.
//!
//! Interface counters lie in pages that control adds before it publishes an interface; workers do not wait for that.

use core::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use frame::InterfaceId;
use frame::shortcut::Handler;

use crate::connection::Helper;
pub use crate::count::{Counter, Pair, Traffic};
use crate::drop::DropReason;
use crate::meter::Facility;
use crate::profile::{Profile, Subject};
use crate::punt::{PuntReason, REASONS};
use crate::rule::RuleCounters;
use crate::service::{SERVICES, ServiceId};

/// Interfaces per counter page.
const PAGE: usize = 256;
/// Maximum number of pages: one for each 256 slots of the interface table.
const PAGES: usize = crate::interface::INTERFACES / PAGE;

/// The counters of one interface. Byte counts are those of frames without the check sequence.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct InterfaceCounters {
    /// Received frames.
    pub rx: Pair,
    /// Transmitted frames.
    pub tx: Pair,
    /// Received frames that took the fast path.
    pub fp_rx: Pair,
    /// Transmitted frames that took the fast path.
    pub fp_tx: Pair,
    /// Received frames that were dropped.
    pub rx_drop: Counter,
    /// Frames dropped at transmission because the port had no room or was gone.
    pub tx_drop: Counter,
}

/// The counters of consecutive interface slots.
type Page = Box<[InterfaceCounters; PAGE]>;

/// A worker's counters of a service.
#[derive(Debug, Default)]
pub struct ServiceCounters {
    /// Frames handed to control, or lost because its ring was full.
    pub heard: Counter,
    /// Frames above the rate limit of the service.
    pub lost: Counter,
}

/// All counters of one worker, or of control.
#[derive(Debug)]
pub struct Counters {
    drops: [Counter; DropReason::ALL.len()],
    punts: [Counter; REASONS],
    clocks: [Counter; Facility::ALL.len()],
    /// Subject of the running profile, 0 for none; the profile itself.
    profiled: AtomicU8,
    profile: ArcSwapOption<Profile>,
    services: [ServiceCounters; SERVICES],
    /// IPv4 packets forwarded by the fast path, and their bytes from the IPv4 header on.
    pub ipv4_fast_path: Pair,
    /// IPv6 packets forwarded by the fast path, and their bytes from the IPv6 header on.
    pub ipv6_fast_path: Pair,
    /// IPv4 packets of FastTracked connections forwarded by FastTrack, and their bytes.
    pub ipv4_fasttrack: Pair,
    /// IPv6 packets of FastTracked connections forwarded by FastTrack, and their bytes.
    pub ipv6_fasttrack: Pair,
    /// Frames forwarded between ports by bridges with `allow-fast-path`, without fast forward.
    pub bridge_fast_path: Pair,
    /// Frames forwarded by fast forward.
    pub bridge_fast_forward: Pair,
    /// Packets that device shortcuts forwarded for accepted connections: IPv4, IPv6.
    past_firewall: [Pair; 2],
    cut: [Counter; Helper::ALL.len()],
    /// Copies of frames for taps.
    pub taps: Counter,
    /// Copies that were lost: the ring was full, or holders had used up their share of the pool.
    pub taps_lost: Counter,
    /// Counters of firewall rules.
    pub rules: Arc<RuleCounters>,
    pages: Box<[OnceLock<Page>; PAGES]>,
    /// Counter for interfaces without a page.
    nowhere: InterfaceCounters,
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl Counters {
    /// Creates counters with value 0, without pages for interfaces.
    pub fn new() -> Self {
        Self {
            drops: core::array::from_fn(|_| Counter::default()),
            punts: core::array::from_fn(|_| Counter::default()),
            clocks: Default::default(),
            profiled: AtomicU8::new(0),
            profile: ArcSwapOption::empty(),
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

    /// Allocates pages for interfaces up to this one. Control calls it before it publishes a
    /// snapshot that names the interface.
    ///
    /// # Errors
    /// Returns false if the interface is beyond the last page.
    pub fn make_room(&self, interface: InterfaceId) -> bool {
        let Some(pages) = self.pages.get(..=interface.slot() / PAGE) else {
            return false;
        };
        // Pages are allocated in order: all pages before the last existing one exist.
        let missing = pages.iter().rev().take_while(|page| page.get().is_none());
        let first = pages.len() - missing.count();
        for page in &pages[first..] {
            page.get_or_init(|| Box::new(core::array::from_fn(|_| InterfaceCounters::default())));
        }
        true
    }

    /// Returns the counters of an interface.
    #[inline]
    pub fn interface(&self, id: InterfaceId) -> &InterfaceCounters {
        let id = id.slot();
        match self.pages[id / PAGE % PAGES].get() {
            Some(page) => &page[id % PAGE],
            None => &self.nowhere,
        }
    }

    /// Returns the counter of packets of a family that shortcuts of this handler forwarded.
    pub fn forwarded(&self, handler: Handler, ipv6: bool) -> &Pair {
        match (handler, ipv6) {
            (Handler::FastPath, false) => &self.ipv4_fast_path,
            (Handler::FastPath, true) => &self.ipv6_fast_path,
            (Handler::FastTrack, false) => &self.ipv4_fasttrack,
            (Handler::FastTrack, true) => &self.ipv6_fasttrack,
            (Handler::Firewall, _) => &self.past_firewall[usize::from(ipv6)],
        }
    }

    /// Counts a dropped packet.
    #[inline]
    pub fn dropped(&self, reason: DropReason) {
        self.drops[reason as usize].add(1);
    }

    /// Counts several packets that were dropped for one reason.
    #[inline]
    pub fn dropped_many(&self, reason: DropReason, count: u64) {
        self.drops[reason as usize].add(count);
    }

    /// Counts a segment with an incomplete message that its helper could not process for that
    /// reason.
    #[cold]
    pub fn cut(&self, helper: Helper) {
        self.cut[helper as usize].add(1);
    }

    /// Returns the number of segments with incomplete messages that a helper could not process.
    pub fn cuts(&self, helper: Helper) -> u64 {
        self.cut[helper as usize].get()
    }

    /// Counts a packet handed to control.
    #[inline]
    pub fn punted(&self, why: PuntReason) {
        self.punts[why.index()].add(1);
    }

    /// Charges a facility with clock cycles.
    #[inline]
    pub(crate) fn charge(&self, facility: Facility, clocks: u64) {
        self.clocks[facility as usize].add(clocks);
    }

    /// Returns the cycles of `kernels::tsc` that a facility was charged since the worker was
    /// created. A profile shows the shares of the differences between two readings.
    pub fn clocks(&self, facility: Facility) -> u64 {
        self.clocks[facility as usize].get()
    }

    /// Begins a profile, which replaces the previous one. Returns it.
    pub fn begin_profile(&self, subject: Subject) -> Arc<Profile> {
        let profile = Arc::new(Profile::new(subject));
        self.profile.store(Some(Arc::clone(&profile)));
        self.profiled.store(subject as u8, Ordering::Relaxed);
        profile
    }

    /// Ends the profile.
    pub fn end_profile(&self) {
        self.profiled.store(0, Ordering::Relaxed);
        self.profile.store(None);
    }

    /// Returns the subject of the running profile as a number, 0 for none.
    #[inline(always)]
    pub(crate) fn profiled(&self) -> u8 {
        self.profiled.load(Ordering::Relaxed)
    }

    /// Lends the running profile to `each`, if there is one.
    #[cold]
    pub(crate) fn with_profile(&self, each: impl FnOnce(Option<&Profile>)) {
        each(self.profile.load().as_deref());
    }

    /// Returns the counters of a service.
    #[inline]
    pub fn service(&self, id: ServiceId) -> &ServiceCounters {
        &self.services[id.index()]
    }

    /// Returns the number of packets dropped for this reason.
    pub fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize].get()
    }

    /// Returns the number of packets handed to control for the reason with this index
    /// (`PuntReason::index`).
    pub fn punts(&self, index: usize) -> u64 {
        self.punts.get(index).map_or(0, Counter::get)
    }
}

/// The counters of one interface, summed over workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceTraffic {
    /// Received frames.
    pub rx: Traffic,
    /// Transmitted frames.
    pub tx: Traffic,
    /// Received frames that took the fast path.
    pub fp_rx: Traffic,
    /// Transmitted frames that took the fast path.
    pub fp_tx: Traffic,
    /// Received frames that were dropped.
    pub rx_drop: u64,
    /// Frames dropped at transmission.
    pub tx_drop: u64,
}

/// Sums the counters of an interface over workers.
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
