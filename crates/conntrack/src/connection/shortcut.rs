//! Connections whose packets go by shortcuts (`frame::shortcut`): what they send so, they are told now and then.

use frame::shortcut::Gathered;
use packet::Tuple;

use super::entry::Entry;
use super::id::Way;
use super::layout::{Layout, load, own, shared, store};
use super::part::Part;
use super::row::Row;
use super::settings::Tick;
use super::tracker::{Tracker, of_family};

/// Seconds that a connection may be silent at least, to have a shortcut: of packets that go by it nothing is heard
/// for one or two.
const TIMEOUT_LEAST: u32 = 5;
/// Bits of a token that say which way it is, below those of the generation.
const WAY_BITS: u32 = 33;
const GENERATION_BITS: u32 = 30;

impl Row {
    /// The token of a direction, if it has a shortcut.
    #[inline]
    pub fn token(&self, reply: bool) -> u64 {
        token(Way::new(self.id.slot, reply), self.id.generation)
    }
}

/// What a way of a connection of this generation is known by.
fn token(way: Way, generation: u32) -> u64 {
    let generation = u64::from(generation) % (1 << GENERATION_BITS);
    1 << 63 | generation << WAY_BITS | u64::from(way.slot().number()) << 1 | u64::from(way.reply())
}

impl Tracker {
    /// The token of a way whose packets may go by a shortcut from here on; when its connection ends,
    /// [`Self::take_ended`] says so. None where the connection has ended, or might end while nothing is heard of it.
    pub fn shorten(&mut self, way: Way) -> Option<u64> {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).shorten(way))
    }

    /// Counts what went by a shortcut, and keeps the connection alive. False when it is gone.
    pub fn gather(&mut self, gathered: &Gathered, now: Tick) -> bool {
        let way = Way::of_bits(gathered.token % (1 << WAY_BITS));
        of_family!(ref self, way.slot().is_ipv6(), part => part.gather(way, gathered, now))
    }

    /// A direction of a connection that ended and may have a shortcut.
    #[inline]
    pub fn take_ended(&mut self) -> Option<Tuple> {
        self.ended.pop()
    }
}

impl<F: Layout> Entry<'_, F> {
    fn shorten(self, way: Way) -> Option<u64> {
        let state = self.shared(shared::STATE);
        let timeout_secs = load(state) as u32 & 0xff_ffff;
        if !self.is_live() || timeout_secs < TIMEOUT_LEAST {
            return None;
        }
        store(state, load(state) | u64::from(own::SHORTCUT) << 40);
        Some(token(way, self.generation()))
    }
}

impl<F: Layout> Part<F> {
    fn gather(&self, way: Way, gathered: &Gathered, now: Tick) -> bool {
        if way.slot().place() >= self.entries.used() {
            return false;
        }
        let entry = self.entry(way);
        if !entry.is_live() || token(way, entry.generation()) != gathered.token {
            return false;
        }
        entry.touch(way.reply(), now);
        entry.count_many(way.reply(), gathered.packets, gathered.bytes);
        true
    }
}
