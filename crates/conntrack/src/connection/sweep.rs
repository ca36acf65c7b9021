//! Ends of connections: expiry, eviction, removal by the control plane, and purges after an address or
//! interface of `masquerade` is gone.

use std::collections::HashMap;

use frame::InterfaceId;
use packet::{Fields, Tuple};

use super::first_packet;
use super::helper_state::gone;
use super::id::{EntryId, FlowId, Slot};
use super::layout::{Layout, half_of, load, own, shared};
use super::part::Part;
use super::settings::Tick;
use super::state::{Helper, Refused};
use super::tracker::{Tracker, of_family};

/// Selects the connections that a purge removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// All connections.
    Everything,
    /// Connections whose source `masquerade` translated on this interface: after its link went down, or, with
    /// an address, after it lost this address.
    Masquerade(InterfaceId, Option<u128>),
}

/// Sequence number of purges: a purge removes only connections with an earlier epoch.
///
/// Epochs wrap around. No connection falls so far behind that it would appear to be ahead: each pass over the
/// table updates the epoch of the connections that it keeps, and at most [`EPOCHS_AHEAD`] purges begin before
/// a pass ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(pub(super) u8);

/// Maximum number of epochs that begin during one pass; purges beyond it share the last epoch and also remove
/// newer connections.
const EPOCHS_AHEAD: u8 = 100;

impl Epoch {
    fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    fn is_before(self, other: Self) -> bool {
        (1..128).contains(&other.0.wrapping_sub(self.0))
    }
}

/// Running and waiting purges: one pass over all entries at a time.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    running: Purges,
    /// Purges that begin after the running pass.
    waiting: Purges,
    /// The next entries to examine: IPv4, IPv6.
    next: [u32; 2],
    /// The epoch of new connections.
    epoch: Epoch,
    /// Epochs at the start of the running pass and of the pass before; no connection is older than `oldest`.
    began: Epoch,
    oldest: Epoch,
}

/// The purges of one pass, each with its epoch. A connection is looked up by its egress interface, however
/// many interfaces went down together.
#[derive(Debug, Default)]
struct Purges {
    everything: Option<Epoch>,
    /// Keyed by interface and lost address.
    masquerades: HashMap<(InterfaceId, Option<u128>), Epoch>,
}

/// Maximum number of waiting purges, twice the maximum number of sessions; beyond it one purge of all
/// masqueraded connections replaces them.
const PURGES_MAX: usize = 1 << 16;

impl Sweep {
    fn add(&mut self, purge: Purge) {
        let epoch = self.epoch.next();
        // Beyond the limit the purge shares an epoch with connections that begin now.
        if epoch.0.wrapping_sub(self.oldest.0) <= EPOCHS_AHEAD {
            self.epoch = epoch;
        }
        self.waiting.add(purge, epoch);
    }

    /// Starts a pass with all waiting purges. Returns false if there are none.
    fn begin(&mut self) -> bool {
        self.running = core::mem::take(&mut self.waiting);
        self.next = [0; 2];
        self.began = self.epoch;
        !self.running.is_empty()
    }

    /// Records the end of a pass.
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

    /// Returns true if a purge removes a connection with these flags, epoch, egress interface and destination
    /// of replies.
    fn take(
        &self,
        owned: u16,
        epoch: Epoch,
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
    /// Returns true if a purge removes the connection; otherwise moves the connection to the epoch of this
    /// pass.
    fn is_purged(&self, place: u32, purges: &Purges, began: Epoch) -> bool {
        let entry = self.entries.at(place);
        let (owned, epoch) = (entry.own(), entry.epoch());
        if owned & own::LIVE == 0 {
            return false;
        }
        let egress = InterfaceId(half_of(load(entry.shared(shared::MARK)), 1));
        let answers_to =
            || F::tuple(&core::array::from_fn(|word| load(entry.word(true, word)))).destination;
        let taken = purges.take(owned, epoch, egress, answers_to);
        if !taken && epoch.is_before(began) {
            entry.set_epoch(began);
        }
        taken
    }
}

impl Tracker {
    /// Removes expired connections and continues purges; examines at most `budget` connections for each.
    /// Called before the first lookup of a packet vector. Returns the number of connections that ended.
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
        let tuple_claims = self.tuple_claims.as_deref();
        self.expectations
            .sweep(now, |tuple| gone(tuple_claims, tuple));
        ended + self.go_on_purging(budget)
    }

    /// Returns the ticks until the next useful call of [`Self::tick`], at least one; `None` if nothing is
    /// due.
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

    /// Returns the original tuple of an ended or closed connection that a `connection-limit` counts.
    pub fn take_counted(&mut self) -> Option<Tuple> {
        let ended = self.counted.pop();
        ended
            .or_else(|| self.ipv4.over.pop())
            .or_else(|| self.ipv6.over.pop())
    }

    /// Returns the attachment of an ended connection.
    pub fn take_attached(&mut self) -> Option<u32> {
        self.attached.pop()
    }

    /// Starts a purge: each tick removes some of the matching connections; connections that begin later are
    /// kept.
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

    /// Removes a connection. Returns false if it does not exist or belongs to another worker.
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

    /// Reserves room for a connection, evicting unassured connections if necessary. In a full table each
    /// worker is guaranteed its share; a worker above its share gives entries back.
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

    /// Evicts an unassured connection, of this family if possible. Returns false if there is none.
    fn evict(&mut self, ipv6: bool) -> bool {
        let victim = |tracker: &mut Self, ipv6| {
            let place = of_family!(mut tracker, ipv6, part => part.victim())?;
            Some(Slot::new(ipv6, tracker.worker, place))
        };
        let slot = victim(self, ipv6).or_else(|| victim(self, !ipv6));
        slot.inspect(|slot| self.leave(*slot)).is_some()
    }

    /// Removes a connection at once, as if it had expired. A lookup from before the removal finds neither its
    /// tuple nor its flags.
    pub fn forget(&mut self, way: FlowId) {
        if self.is_live(way) {
            self.leave(way.slot());
        }
    }

    /// Removes a connection and releases its resources.
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
            self.release_endpoints(nat, &original, &reply);
        }
        self.attached.extend(left.attached);
        self.ended.extend(left.shortened.into_iter().flatten());
        if helper != Helper::None {
            self.forget_help(id);
        }
    }

    /// Counts one connection less.
    pub(super) fn dismiss(&mut self, ipv6: bool) {
        self.table.dismiss(ipv6);
        self.live -= 1;
    }

    pub(super) fn release(&self, tuple: &Tuple) {
        if let Some(tuple_claims) = &self.tuple_claims {
            tuple_claims.release(tuple);
        }
    }

    /// Returns the other worker that must process a packet without an entry in this tracker: the
    /// owner of a claimed tuple, or of the packet that an ICMP error quotes.
    pub fn home(&self, fields: &Fields, packet: &[u8]) -> Option<u16> {
        self.tuple_claims.as_ref()?;
        let Some((quote, answers)) = first_packet::quoted_answers(fields, packet) else {
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

    /// Returns true if a packet is an ICMP error that quotes another packet.
    #[inline]
    pub fn is_error(&self, fields: &Fields, packet: &[u8]) -> bool {
        first_packet::quoted_answers(fields, packet).is_some()
    }

    /// Returns the worker that claimed the tuple, if it is another worker.
    pub fn owner(&self, tuple: &Tuple) -> Option<u16> {
        let tuple_claims = self.tuple_claims.as_ref()?;
        let owner = tuple_claims
            .owner(tuple)
            .or_else(|| match tuple_claims.expects() {
                true => {
                    super::helper_state::wider(tuple).find_map(|form| tuple_claims.owner(&form))
                }
                false => None,
            })?;
        (owner != self.worker).then_some(owner)
    }

    /// Returns true if replies with this tuple would belong to another connection than the one with the tuple
    /// `original`. A closed connection between the same ports does not count.
    #[inline]
    pub fn is_taken(&self, tuple: &Tuple, original: &Tuple) -> bool {
        match self.lookup(tuple) {
            Some(way) => !self.gives_way(way, original),
            None => self
                .tuple_claims
                .as_ref()
                .is_some_and(|tuple_claims| tuple_claims.owner(tuple).is_some()),
        }
    }

    /// Returns the bytes of both indexes.
    pub fn index_bytes(&self) -> usize {
        self.ipv4.index_bytes() + self.ipv6.index_bytes()
    }
}
