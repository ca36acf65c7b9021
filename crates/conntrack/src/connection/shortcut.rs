//! Connections whose packets take shortcuts (`frame::shortcut`): the tracker receives their counters
//! periodically.

use frame::shortcut::ConnectionTraffic;
use packet::Tuple;

use super::entry::Entry;
use super::id::FlowId;
use super::layout::{Layout, load, own, shared, store};
use super::part::Part;
use super::row::Row;
use super::settings::Tick;
use super::tracker::{Tracker, of_family};

/// Minimum idle timeout, in seconds, of a connection with a shortcut: counters arrive one or two seconds
/// late.
const TIMEOUT_LEAST: u32 = 5;
/// Bits of a token that hold the direction, below the bits of the generation.
const WAY_BITS: u32 = 33;
const GENERATION_BITS: u32 = 30;

impl Row {
    /// Returns the token of a direction's shortcut.
    #[inline]
    pub fn token(&self, reply: bool) -> u64 {
        token(FlowId::new(self.id.slot, reply), self.id.generation)
    }
}

/// Encodes a direction of a connection of this generation as a token.
fn token(way: FlowId, generation: u32) -> u64 {
    let generation = u64::from(generation) % (1 << GENERATION_BITS);
    1 << 63 | generation << WAY_BITS | u64::from(way.slot().number()) << 1 | u64::from(way.reply())
}

impl Tracker {
    /// Returns the token for a shortcut of a direction; [`Self::take_ended`] reports when the connection
    /// ends. Returns `None` if the connection has ended, or if its timeout is too short for late counters.
    pub fn shorten(&mut self, way: FlowId) -> Option<u64> {
        of_family!(ref self, way.slot().is_ipv6(), part => part.entry(way).shorten(way))
    }

    /// Adds the traffic of a shortcut and refreshes the timeout. Returns false if the connection has ended.
    pub fn gather(&mut self, gathered: &ConnectionTraffic, now: Tick) -> bool {
        let way = FlowId::of_bits(gathered.token % (1 << WAY_BITS));
        of_family!(ref self, way.slot().is_ipv6(), part => part.gather(way, gathered, now))
    }

    /// Returns a tuple of an ended connection that may have a shortcut.
    #[inline]
    pub fn take_ended(&mut self) -> Option<Tuple> {
        self.ended.pop()
    }
}

impl<F: Layout> Entry<'_, F> {
    fn shorten(self, way: FlowId) -> Option<u64> {
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
    fn gather(&self, way: FlowId, gathered: &ConnectionTraffic, now: Tick) -> bool {
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
