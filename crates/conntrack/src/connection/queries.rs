//! Queries and updates of a connection that the stages of the data plane have looked up, and the fields that
//! FastTrack reads from its cache line.

use core::sync::atomic::AtomicU64;

use fib::NextHopId;
use frame::InterfaceId;
use packet::Tuple;
use packet::count::Traffic;

use super::batch::BatchLookup;
use super::draft::{Rewrite4, Rewrite6};
use super::entry::Entry;
use super::id::{FlowId, NextHop};
use super::layout::{
    FLAGS_SHIFT, Ipv4, Ipv6, Layout, Line, flag, half_of, load, next_hop_of, own, pair, shared,
    store, with_next_hop,
};
use super::rate::Rate;
use super::settings::Tick;
use super::state::{Helper, NatState, TcpState};
use super::tracker::{Tracker, of_family};

/// The state that a FastTracked packet needs, with the counters in its direction's line.
#[derive(Clone, Copy, Debug)]
pub struct Fast<'t> {
    /// The next hop that the direction remembers.
    pub next_hop: NextHop,
    /// Kinds of address translation; if empty, nothing is rewritten.
    pub nat: NatState,
    /// True if both sides have sent packets; for TCP, if the handshake is complete.
    pub assured: bool,
    packets: &'t AtomicU64,
    bytes: &'t AtomicU64,
    last: &'t AtomicU64,
}

impl Fast<'_> {
    /// Counts a packet of `len` bytes (from the network header on) that takes the fast path. Returns false,
    /// without counting, for the first packet of each second in a direction: it takes the slow path.
    #[inline(always)]
    pub fn count(&self, len: u32, now: Tick) -> bool {
        let last = load(self.last);
        if Tick(last as u32).second() != now.second() {
            return false;
        }
        store(self.last, pair(now.0, half_of(last, 1)));
        store(self.packets, load(self.packets).wrapping_add(1));
        store(self.bytes, load(self.bytes).wrapping_add(u64::from(len)));
        true
    }
}

/// The bits of the mark word above the mark: the egress interface.
const EGRESS: u64 = u64::MAX << 32;

impl<'a, F: Layout> Entry<'a, F> {
    pub(super) fn helper(self) -> Helper {
        Helper::from_bits((load(self.shared(shared::STATE)) >> 32) as u8)
    }

    fn set_counted(self) {
        let word = self.shared(shared::STATE);
        store(word, load(word) | u64::from(own::COUNTED) << 40);
    }

    /// Clears the flag that a `connection-limit` counts the connection. Returns whether it was set.
    pub(super) fn take_counted(self) -> bool {
        let word = self.shared(shared::STATE);
        let (old, bit) = (load(word), u64::from(own::COUNTED) << 40);
        store(word, old & !bit);
        old & bit != 0
    }

    #[inline(always)]
    pub(super) fn mark(self) -> u32 {
        half_of(load(self.shared(shared::MARK)), 0)
    }

    fn set_mark(self, mark: u32) {
        if !self.is_live() {
            return;
        }
        let word = self.shared(shared::MARK);
        store(word, load(word) & EGRESS | u64::from(mark));
        self.set_flags(flag::NOTED);
    }

    pub(super) fn tuple(self, reply: bool) -> Tuple {
        F::tuple(&core::array::from_fn(|word| load(self.word(reply, word))))
    }

    pub(super) fn traffic(self, reply: bool) -> Traffic {
        Traffic {
            packets: load(self.word(reply, F::PACKETS)),
            bytes: load(self.word(reply, F::BYTES)),
        }
    }

    fn rate_bps(self, reply: bool, now: Tick) -> u64 {
        let rate = Rate::of_word(load(self.rate(reply, 0)));
        let last = Tick(half_of(load(self.word(reply, F::LAST)), 0));
        rate.bps(load(self.word(reply, F::BYTES)), last, now)
    }

    #[inline(always)]
    fn next_hop(self, reply: bool) -> NextHop {
        next_hop_of(
            load(self.word(reply, F::META)),
            load(self.word(reply, F::LAST)),
        )
    }

    fn set_next_hop(self, reply: bool, next_hop: NextHop) {
        let (meta, last) = (self.word(reply, F::META), self.word(reply, F::LAST));
        let words = with_next_hop(load(meta), load(last), next_hop);
        store(meta, words.0);
        store(last, words.1);
    }

    /// Switches the entry to FastTrack: TCP sequence state is no longer tracked, its words count slow-path
    /// packets instead. Returns false if the connection was FastTracked before.
    fn begin_fasttrack(self) -> bool {
        if self.flags(false) & flag::FASTTRACK != 0 {
            return false;
        }
        self.change(self.generation(), || {
            self.begin_trails(&self.talk(false));
            self.set_flags(flag::FASTTRACK);
        });
        true
    }
}

/// Returns the FastTrack state in a direction's line, or `None` if the connection is not FastTracked.
#[inline(always)]
fn fast_in<F: Layout>(line: &Line) -> Option<Fast<'_>> {
    let meta = load(&line[F::META]);
    let flags = (meta >> FLAGS_SHIFT) as u8;
    (flags & flag::FASTTRACK != 0).then(|| Fast {
        next_hop: next_hop_of(meta, load(&line[F::LAST])),
        nat: NatState(flags >> flag::NAT_SHIFT & 0xf),
        assured: flags & flag::ASSURED != 0,
        packets: &line[F::PACKETS],
        bytes: &line[F::BYTES],
        last: &line[F::LAST],
    })
}

/// Returns true if a live connection's direction remembers `next_hop`, or no next hop.
#[inline(always)]
fn keeps_to<F: Layout>(line: &Line, next_hop: NextHop) -> bool {
    let meta = load(&line[F::META]);
    let remembered = next_hop_of(meta, load(&line[F::LAST]));
    let is_live = (meta >> FLAGS_SHIFT) as u8 != 0;
    is_live & ((remembered.id == NextHopId::NO_ROUTE) | (remembered == next_hop))
}

/// Reads the rewrite of a direction from the line that holds it.
#[inline(always)]
fn rewrite_in<F: Layout>(line: &Line) -> F::Rewrite {
    let rest = (load(&line[F::RATE]) >> 48) as u16;
    F::unpack(|word| load(&line[F::RATE + 1 + word]), rest)
}

impl Tracker {
    /// Returns the tuple of a direction.
    pub fn tuple(&self, way: FlowId) -> Tuple {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).tuple(way.reply()))
    }

    /// Records that a `connection-limit` counts the connection.
    #[inline]
    pub fn set_counted(&mut self, way: FlowId) {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).set_counted());
    }

    /// Returns the connection mark.
    #[inline]
    pub fn mark(&self, way: FlowId) -> u32 {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).mark())
    }

    /// Sets the connection mark.
    #[inline]
    pub fn set_mark(&mut self, way: FlowId, mark: u32) {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).set_mark(mark));
    }

    /// Returns the helper that reads the connection's payload, or that expected the connection.
    #[inline]
    pub fn helper(&self, way: FlowId) -> Helper {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).helper())
    }

    /// Returns true if a helper expected the connection.
    #[inline]
    pub fn is_expected(&self, way: FlowId) -> bool {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).is_expected())
    }

    /// Returns `tcp-state`.
    #[inline]
    pub fn tcp_state(&self, way: FlowId) -> TcpState {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).tcp_state())
    }

    /// Returns the packet and byte counters of one direction.
    pub fn traffic(&self, way: FlowId) -> Traffic {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).traffic(way.reply()))
    }

    /// Returns the rate of one direction in bit/s, measured over the last whole second.
    pub fn rate_bps(&self, way: FlowId, now: Tick) -> u64 {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).rate_bps(way.reply(), now))
    }

    /// Returns the value stored by [`Self::set_attachment`], initially 0.
    #[inline]
    pub fn attachment(&self, way: FlowId) -> u32 {
        let word =
            of_family!(ref self, way.slot().is_ipv6(), part => load(part.entry(way).cold(1)));
        half_of(word, 0)
    }

    /// Stores a value with the connection; the firewall keeps the index of its stream state here. Only the
    /// owner calls this.
    #[inline]
    pub fn set_attachment(&self, way: FlowId, attachment: u32) {
        of_family!(ref self, way.slot().is_ipv6(), part => {
            let word = part.entry(way).cold(1);
            store(word, pair(attachment, half_of(load(word), 1)));
        });
    }

    /// Returns the next hop that a direction remembers.
    #[inline]
    pub fn next_hop(&self, way: FlowId) -> NextHop {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).next_hop(way.reply()))
    }

    /// Stores the next hop of a direction.
    #[inline]
    pub fn set_next_hop(&mut self, way: FlowId, next_hop: NextHop) {
        of_family!(ref self, way.slot().is_ipv6(), part => {
            part.entry(way).set_next_hop(way.reply(), next_hop);
        });
    }

    /// Returns true if the connection has not ended since its lookup in this tick.
    #[inline]
    pub fn is_live(&self, way: FlowId) -> bool {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).is_live())
    }

    /// Returns true if `masquerade` translated the source of the connection.
    #[inline]
    pub fn is_masqueraded(&self, way: FlowId) -> bool {
        of_family!(ref self, way.slot().is_ipv6(), part => {
            part.entry(way).own() & own::MASQUERADE != 0
        })
    }

    /// Returns the interface by which the first packet left the router.
    #[inline]
    pub fn egress(&self, way: FlowId) -> InterfaceId {
        of_family!(ref self, way.slot().is_ipv6(), part => {
            InterfaceId(half_of(load(part.entry(way).shared(shared::MARK)), 1))
        })
    }

    /// Returns true if packets of a direction may leave by `next_hop` without a check of the connection's
    /// egress interface. Returns false if the direction remembers another next hop, as the original direction
    /// of a masqueraded connection may, or if the connection has ended since its lookup. Reads only the
    /// direction's cache line.
    #[inline(always)]
    pub fn keeps_to(&self, way: FlowId, next_hop: NextHop) -> bool {
        match way.slot().is_ipv6() {
            true => keeps_to::<Ipv6>(self.ipv6.line(way), next_hop),
            false => keeps_to::<Ipv4>(self.ipv4.line(way), next_hop),
        }
    }

    /// Returns the rewrite of a direction of an IPv4 connection; empty for IPv6.
    #[inline(always)]
    pub fn rewrite4(&self, way: FlowId) -> Rewrite4 {
        if way.slot().is_ipv6() {
            return Rewrite4::default();
        }
        rewrite_in::<Ipv4>(self.ipv4.rewrite_line(way))
    }

    /// Returns the rewrite of a direction of an IPv6 connection; empty for IPv4.
    #[inline(always)]
    pub fn rewrite6(&self, way: FlowId) -> Rewrite6 {
        if !way.slot().is_ipv6() {
            return Rewrite6::default();
        }
        rewrite_in::<Ipv6>(self.ipv6.rewrite_line(way))
    }

    /// Marks the connection for FastTrack.
    #[inline]
    pub fn fasttrack(&mut self, way: FlowId) {
        of_family!(ref self, way.slot().is_ipv6(), part => {
            if part.entry(way).begin_fasttrack() {
                part.entries.begin_fasttrack();
            }
        });
    }

    /// Returns the fast-path state for a packet without SYN, FIN or RST, or `None` if the connection is not
    /// FastTracked.
    #[inline(always)]
    pub fn fast(&self, way: FlowId) -> Option<Fast<'_>> {
        match way.slot().is_ipv6() {
            true => fast_in::<Ipv6>(self.ipv6.line(way)),
            false => fast_in::<Ipv4>(self.ipv4.line(way)),
        }
    }

    /// Returns the fast-path state of entry `at` of a batch lookup.
    #[inline(always)]
    pub fn fast_of<const IPV6: bool>(&self, ways: &BatchLookup, at: usize) -> Option<Fast<'_>> {
        let line = ways.line(at)?;
        match IPV6 {
            true => fast_in::<Ipv6>(self.ipv6.lines().line(line)),
            false => fast_in::<Ipv4>(self.ipv4.lines().line(line)),
        }
    }
}
