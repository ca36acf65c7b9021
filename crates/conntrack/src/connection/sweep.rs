//! How connections end: their time is up, there is no room, control removes one, or an address or
//! interface that they were translated by is gone.

use std::collections::HashMap;

use frame::InterfaceId;
use packet::{Fields, Tuple};

use super::first;
use super::helped::gone;
use super::id::{EntryId, Slot, Way};
use super::layout::{Layout, half_of, load, own, shared};
use super::part::Part;
use super::settings::Tick;
use super::state::{Helper, Refused};
use super::tracker::{Tracker, of_family};

/// Which connections go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// All.
    Everything,
    /// Those whose source was translated by `masquerade` on this interface: its link went down, or,
    /// with an address, it lost this one.
    Masquerade(InterfaceId, Option<u128>),
}

/// Which purges a connection has seen come: one takes those alone that were there before it.
///
/// Numbers come round. No connection is so far behind that it would seem to be ahead: a pass over all
/// places brings those that it leaves to where it began, and no more than [`EPOCHS_AHEAD`] begin
/// before it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(pub(super) u8);

/// How many purges can be told apart until a pass is over; of more, the latest also take what begins after them.
const EPOCHS_AHEAD: u8 = 100;

impl Epoch {
    fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    fn is_before(self, other: Self) -> bool {
        (1..128).contains(&other.0.wrapping_sub(self.0))
    }
}

/// Purges that are under way: one pass over all places at a time.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    running: Purges,
    /// They begin when the running ones are done.
    waiting: Purges,
    /// The next places to look at: IPv4, IPv6.
    next: [u32; 2],
    /// Of connections that begin now.
    epoch: Epoch,
    /// When the running pass began, and the one before it, from which on all are.
    began: Epoch,
    oldest: Epoch,
}

/// What one pass purges, each with the epoch that it begins: a connection is looked up among them by its
/// egress, however many interfaces went down together.
#[derive(Debug, Default)]
struct Purges {
    everything: Option<Epoch>,
    /// By interface, and by the address that it lost.
    masquerades: HashMap<(InterfaceId, Option<u128>), Epoch>,
}

/// More interfaces and addresses than these wait as one purge of every connection that was translated by
/// `masquerade`: as many as twice what a router has sessions.
const PURGES_MAX: usize = 1 << 16;

impl Sweep {
    fn add(&mut self, purge: Purge) {
        let epoch = self.epoch.next();
        // Where there are too many, connections that begin now are taken too.
        if epoch.0.wrapping_sub(self.oldest.0) <= EPOCHS_AHEAD {
            self.epoch = epoch;
        }
        self.waiting.add(purge, epoch);
    }

    /// Begins a pass with all that wait, if any do.
    fn begin(&mut self) -> bool {
        self.running = core::mem::take(&mut self.waiting);
        self.next = [0; 2];
        self.began = self.epoch;
        !self.running.is_empty()
    }

    /// The pass has come to its end.
    fn finish(&mut self) {
        self.oldest = self.began;
    }
}

impl Purges {
    fn is_empty(&self) -> bool {
        self.everything.is_none() && self.masquerades.is_empty()
    }

    fn add(&mut self, purge: Purge, epoch: Epoch) {
        let Purge::Masquerade(interface, address) = purge else {
            self.everything = Some(epoch);
            return;
        };
        if self.masquerades.len() >= PURGES_MAX {
            self.masquerades.clear();
            self.masquerades.insert((InterfaceId::NONE, None), epoch);
        } else {
            self.masquerades.insert((interface, address), epoch);
        }
    }

    /// Whether one of them takes a connection: its flags, its epoch, its egress, and where its answers go.
    fn take(
        &self,
        (owned, epoch): (u16, Epoch),
        egress: InterfaceId,
        answers_to: impl FnOnce() -> u128,
    ) -> bool {
        let began_before = |purge: &Epoch| epoch.is_before(*purge);
        if self.everything.as_ref().is_some_and(began_before) {
            return true;
        }
        if owned & own::MASQUERADE == 0 || self.masquerades.is_empty() {
            return false;
        }
        let has = |key| self.masquerades.get(&key).is_some_and(began_before);
        has((egress, None)) || has((egress, Some(answers_to()))) || has((InterfaceId::NONE, None))
    }
}

impl<F: Layout> Part<F> {
    /// Whether one of the purges takes the connection at a place. One that stays is as if it had begun
    /// with this pass.
    fn is_purged(&self, place: u32, purges: &Purges, began: Epoch) -> bool {
        let entry = self.entries.at(place);
        let (owned, epoch) = (entry.own(), entry.epoch());
        if owned & own::LIVE == 0 {
            return false;
        }
        let egress = InterfaceId(half_of(load(entry.shared(shared::MARK)), 1));
        let answers_to =
            || F::tuple(&core::array::from_fn(|word| load(entry.word(true, word)))).destination;
        let taken = purges.take((owned, epoch), egress, answers_to);
        if !taken && epoch.is_before(began) {
            entry.set_epoch(began);
        }
        taken
    }
}

impl Tracker {
    /// Begins a round, before the first packet of a vector is looked up: removes connections whose
    /// time is up and goes on with purges, looking at `budget` connections for each. Gives how many
    /// connections ended.
    pub fn tick(&mut self, now: Tick, budget: usize) -> usize {
        self.ipv4.begin_round();
        self.ipv6.begin_round();
        let mut ended = 0;
        let mut left = budget;
        while let Some(place) = self.ipv4.expired(now, &mut left) {
            self.leave(Slot::new(false, self.worker, place));
            ended += 1;
        }
        let mut left = budget;
        while let Some(place) = self.ipv6.expired(now, &mut left) {
            self.leave(Slot::new(true, self.worker, place));
            ended += 1;
        }
        let homes = self.homes.as_deref();
        self.expectations.sweep(now, |tuple| gone(homes, tuple));
        ended + self.go_on_purging(budget)
    }

    /// In how many ticks [`Self::tick`] is next worth calling, at least one; none where nothing is due.
    pub fn due_in(&self, now: Tick) -> Option<u32> {
        let purges = !(self.sweep.running.is_empty() && self.sweep.waiting.is_empty());
        let sources = [
            purges.then_some(1),
            self.ipv4.due_in(now),
            self.ipv6.due_in(now),
            self.expectations.due_in(now),
        ];
        sources.into_iter().flatten().min()
    }

    /// A connection that ended, or whose conversation did, and that a `connection-limit` counts, by its
    /// original tuple.
    pub fn take_counted(&mut self) -> Option<Tuple> {
        let ended = self.counted.pop();
        ended
            .or_else(|| self.ipv4.over.pop())
            .or_else(|| self.ipv6.over.pop())
    }

    /// What somebody kept about a connection that ended.
    pub fn take_attached(&mut self) -> Option<u32> {
        self.attached.pop()
    }

    /// Connections that go because something else went: some with each tick, and none that begins from
    /// now on.
    pub fn purge(&mut self, purge: Purge) {
        self.sweep.add(purge);
        (self.ipv4.epoch, self.ipv6.epoch) = (self.sweep.epoch, self.sweep.epoch);
    }

    fn go_on_purging(&mut self, budget: usize) -> usize {
        if self.sweep.running.is_empty() && !self.sweep.begin() {
            return 0;
        }
        let began = self.sweep.began;
        let purges = core::mem::take(&mut self.sweep.running);
        let mut ended = 0;
        let mut done = true;
        for ipv6 in [false, true] {
            let family = usize::from(ipv6);
            let used = of_family!(ref self, ipv6, part => part.entries.used());
            let end = used.min(self.sweep.next[family].saturating_add(budget as u32));
            for place in self.sweep.next[family]..end {
                if of_family!(ref self, ipv6, part => part.is_purged(place, &purges, began)) {
                    self.leave(Slot::new(ipv6, self.worker, place));
                    ended += 1;
                }
            }
            self.sweep.next[family] = end;
            done &= end == used;
        }
        match done {
            true => self.sweep.finish(),
            false => self.sweep.running = purges,
        }
        ended
    }

    /// Removes a connection. False when it is not there, or another worker's.
    pub fn remove(&mut self, id: EntryId) -> bool {
        let mine = id.slot.worker() == self.worker;
        let there = mine
            && of_family!(ref self, id.slot.is_ipv6(), part => {
                let place = id.slot.place();
                place < part.entries.used()
                    && part.entries.at(place).is_live()
                    && part.entries.at(place).generation() == id.generation
            });
        if there {
            self.leave(id.slot);
        }
        there
    }

    /// Makes room for a connection, if need be by evicting others that are not assured. A full table
    /// leaves every worker its share: none can fill it for all, and who has more than that gives
    /// back what others take.
    pub(super) fn admit(&mut self, ipv6: bool) -> Result<(), Refused> {
        let max = self.limits.entries_max;
        if self.table.admit(ipv6, max) {
            self.live += 1;
            return Ok(());
        }
        let share = max / self.table.workers().max(1) as u32;
        let mut evicted = self.evict(ipv6);
        if self.live < share {
            evicted = true;
        } else if evicted && self.live > share && self.table.is_over(max) {
            self.evict(ipv6);
        }
        if !evicted {
            return Err(Refused::Full);
        }
        self.table.count(ipv6);
        self.live += 1;
        Ok(())
    }

    /// Ends a connection that is not assured, of this family if there is one; says whether it did.
    fn evict(&mut self, ipv6: bool) -> bool {
        let victim = |tracker: &mut Self, ipv6| {
            let place = of_family!(mut tracker, ipv6, part => part.victim())?;
            Some(Slot::new(ipv6, tracker.worker, place))
        };
        let slot = victim(self, ipv6).or_else(|| victim(self, !ipv6));
        slot.inspect(|slot| self.leave(*slot)).is_some()
    }

    /// Removes a connection at once, as if its time were up. Packets of this round that found it before find neither
    /// its tuple nor its flags any more.
    pub fn forget(&mut self, way: Way) {
        if self.is_live(way) {
            self.leave(way.slot());
        }
    }

    /// Ends a connection.
    pub(super) fn leave(&mut self, slot: Slot) {
        let keys = &self.keys;
        let place = slot.place();
        let (left, id, helper) = of_family!(mut self, slot.is_ipv6(), part => {
            let entry = part.entries.at(place);
            let id = EntryId { slot, generation: entry.generation() };
            let helper = entry.helper();
            (part.leave(place, keys), id, helper)
        });
        self.dismiss(slot.is_ipv6());
        for tuple in left.claimed.iter().flatten() {
            self.release(tuple);
        }
        self.counted.extend(left.counted);
        if let Some((nat, original, reply)) = left.mapped {
            self.release_endpoints(nat, (&original, &reply));
        }
        self.attached.extend(left.attached);
        self.ended.extend(left.shortened.into_iter().flatten());
        if helper != Helper::None {
            self.forget_help(id);
        }
    }

    /// One connection less.
    pub(super) fn dismiss(&mut self, ipv6: bool) {
        self.table.dismiss(ipv6);
        self.live -= 1;
    }

    pub(super) fn release(&self, tuple: &Tuple) {
        if let Some(homes) = &self.homes {
            homes.release(tuple);
        }
    }

    /// The worker that owns a packet without an entry here, if another does: what was claimed, and
    /// errors about packets whose home another worker is.
    pub fn home(&self, fields: &Fields, packet: &[u8]) -> Option<u16> {
        self.homes.as_ref()?;
        let Some((quote, answers)) = first::quoted_answers(fields, packet) else {
            return self.owner(&fields.tuple);
        };
        if self.lookup(&answers).is_some() {
            return None;
        }
        self.owner(&answers).or_else(|| {
            let home = packet::handover::home(quote, false, self.table.workers())?;
            (home != self.worker).then_some(home)
        })
    }

    /// Whether a packet is an error that quotes another packet.
    #[inline]
    pub fn is_error(&self, fields: &Fields, packet: &[u8]) -> bool {
        first::quoted_answers(fields, packet).is_some()
    }

    /// The worker that claimed packets with this tuple, if another did.
    pub fn owner(&self, tuple: &Tuple) -> Option<u16> {
        let homes = self.homes.as_ref()?;
        let owner = homes.owner(tuple).or_else(|| match homes.expects() {
            true => super::helped::wider(tuple).find_map(|form| homes.owner(&form)),
            false => None,
        })?;
        (owner != self.worker).then_some(owner)
    }

    /// Whether answers with this tuple would be another connection's than of one that begins with a packet
    /// of this `original` tuple. A conversation between the same ports that is over gives way to it.
    #[inline]
    pub fn is_taken(&self, tuple: &Tuple, original: &Tuple) -> bool {
        match self.lookup(tuple) {
            Some(way) => !self.gives_way(way, original),
            None => self
                .homes
                .as_ref()
                .is_some_and(|homes| homes.owner(tuple).is_some()),
        }
    }

    /// Bytes that the index takes.
    pub fn index_bytes(&self) -> usize {
        self.ipv4.index_bytes() + self.ipv6.index_bytes()
    }
}
