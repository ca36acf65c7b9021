//! Table of a worker's expectations that the control plane can read without a lock.
//!
//! Each expectation has a slot, a seqlock: only the owning worker writes it, and the slot's version is odd
//! during a write. A reader that sees the version change while it reads starts over.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use kernels::{Pages, Zeroed};
use packet::Tuple;

use super::expectation::Expectation;
use super::id::EntryId;
use super::layout::{load, store};
use super::state::Helper;

/// Words of a slot: two cache lines.
const WORDS: usize = 16;
/// Index of the word that holds the slot's version; the other words hold the expectation.
const VERSION: usize = 0;

/// Expectations of one worker: written by the worker, read by other threads.
#[derive(Debug)]
pub(super) struct SharedExpectations {
    slots: Zeroed<[AtomicU64; WORDS]>,
    /// Upper bound of the slots in use: higher slots were never written.
    used: AtomicU32,
}

impl SharedExpectations {
    /// Creates a table with room for `slots` expectations. The kernel commits memory when a slot is first
    /// written.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub(super) fn new(slots: usize) -> std::io::Result<Self> {
        Ok(Self {
            slots: Zeroed::new(slots, Pages::Small)?,
            used: AtomicU32::new(0),
        })
    }

    /// Writes an expectation into a slot, or empties the slot. Only the owning worker calls this.
    pub(super) fn put(&self, slot: u16, what: Option<&Expectation>) {
        let words = &self.slots[usize::from(slot)];
        let version = load(&words[VERSION]);
        store(&words[VERSION], version.wrapping_add(1));
        fence(Ordering::Release);
        for (word, value) in words[1..].iter().zip(what.map_or([0; WORDS - 1], pack)) {
            store(word, value);
        }
        words[VERSION].store(version.wrapping_add(2), Ordering::Release);
        let used = self.used.load(Ordering::Relaxed);
        self.used
            .store(used.max(u32::from(slot) + 1), Ordering::Release);
    }

    /// Iterates over the expectations. An expectation that is added or removed meanwhile may be missing.
    pub(super) fn iter(&self) -> impl Iterator<Item = Expectation> {
        let used = self.used.load(Ordering::Acquire) as usize;
        self.slots[..used].iter().filter_map(read)
    }
}

fn read(words: &[AtomicU64; WORDS]) -> Option<Expectation> {
    loop {
        let version = words[VERSION].load(Ordering::Acquire);
        if version & 1 == 0 {
            let copy = core::array::from_fn(|at| load(&words[at + 1]));
            fence(Ordering::Acquire);
            if load(&words[VERSION]) == version {
                return unpack(&copy);
            }
        }
        core::hint::spin_loop();
    }
}

/// Flag bits of the first word; helper, protocol and the port of the answers lie above them.
mod has {
    pub(super) const PRESENT: u64 = 1;
    pub(super) const HELD: u64 = 1 << 1;
    pub(super) const DESTINATION: u64 = 1 << 2;
    pub(super) const SOURCE: u64 = 1 << 3;
    pub(super) const ANSWER: u64 = 1 << 4;
    pub(super) const IPV6: u64 = 1 << 5;
}
const HELPER_SHIFT: u32 = 8;
const PROTOCOL_SHIFT: u32 = 16;
const ANSWER_SHIFT: u32 = 32;

fn pack(what: &Expectation) -> [u64; WORDS - 1] {
    let tuple = &what.tuple;
    let bit = |is: bool, bit: u64| if is { bit } else { 0 };
    let first = has::PRESENT
        | bit(what.held, has::HELD)
        | bit(what.destination.is_some(), has::DESTINATION)
        | bit(what.source.is_some(), has::SOURCE)
        | bit(what.answer.is_some(), has::ANSWER)
        | bit(tuple.ipv6, has::IPV6)
        | (what.helper as u64) << HELPER_SHIFT
        | u64::from(tuple.protocol) << PROTOCOL_SHIFT
        | u64::from(what.answer.unwrap_or(0)) << ANSWER_SHIFT;
    let (destination, port) = what.destination.unwrap_or_default();
    let [source_low, source_high] = halves(tuple.source);
    let [destination_low, destination_high] = halves(tuple.destination);
    let [to_low, to_high] = halves(destination);
    let [from_low, from_high] = halves(what.source.unwrap_or_default());
    [
        first,
        what.parent.to_bits(),
        source_low,
        source_high,
        destination_low,
        destination_high,
        u64::from(tuple.source_port)
            | u64::from(tuple.destination_port) << 16
            | u64::from(port) << 32,
        to_low,
        to_high,
        from_low,
        from_high,
        u64::from(what.timeout_secs),
        0,
        0,
        0,
    ]
}

fn unpack(words: &[u64; WORDS - 1]) -> Option<Expectation> {
    let [first, parent, source @ .., _, _, _] = words;
    let has = |bit: u64| first & bit != 0;
    let address = |at: usize| u128::from(source[at]) | u128::from(source[at + 1]) << 64;
    let ports = source[4];
    has(has::PRESENT).then(|| Expectation {
        parent: EntryId::from_bits(*parent),
        tuple: Tuple {
            source: address(0),
            destination: address(2),
            source_port: ports as u16,
            destination_port: (ports >> 16) as u16,
            protocol: (first >> PROTOCOL_SHIFT) as u8,
            ipv6: has(has::IPV6),
        },
        helper: Helper::from_bits((first >> HELPER_SHIFT) as u8),
        destination: has(has::DESTINATION).then(|| (address(5), (ports >> 32) as u16)),
        source: has(has::SOURCE).then(|| address(7)),
        answer: has(has::ANSWER).then_some((first >> ANSWER_SHIFT) as u16),
        timeout_secs: source[9] as u32,
        held: has(has::HELD),
    })
}

fn halves(address: u128) -> [u64; 2] {
    [address as u64, (address >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(number: u16) -> Expectation {
        let address = (u128::MAX / 7).wrapping_mul(u128::from(number) + 1);
        Expectation {
            parent: EntryId::from_bits(0x1234_5678_8765_4321 ^ u64::from(number)),
            tuple: Tuple {
                source: address,
                destination: !address,
                source_port: number,
                destination_port: !number,
                protocol: number as u8,
                ipv6: number.is_multiple_of(2),
            },
            helper: Helper::ALL[usize::from(number) % Helper::ALL.len()],
            destination: (!number.is_multiple_of(3)).then_some((address ^ 5, number ^ 0x5555)),
            source: (!number.is_multiple_of(5)).then_some(address ^ 9),
            answer: (!number.is_multiple_of(7)).then_some(number ^ 0x3333),
            timeout_secs: 1 << (number % 32),
            held: number.is_multiple_of(4),
        }
    }

    #[test]
    fn written_rows_are_readable_until_removed() {
        let expectations = SharedExpectations::new(300).expect("address space");
        assert_eq!(expectations.iter().count(), 0);

        for slot in 0..300 {
            expectations.put(slot, Some(&expectation(slot)));
        }
        assert!(expectations.iter().eq((0..300).map(expectation)));

        expectations.put(7, None);
        expectations.put(9, Some(&expectation(1_000)));
        let left = (0..300).filter(|slot| *slot != 7);
        let left = left.map(|slot| expectation(if slot == 9 { 1_000 } else { slot }));
        assert!(expectations.iter().eq(left));
    }

    #[test]
    fn readers_never_see_torn_rows() {
        let expectations = SharedExpectations::new(1).expect("address space");
        let rounds = if cfg!(miri) { 100 } else { 100_000 };

        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 0..rounds {
                    expectations.put(0, Some(&expectation((round % 1_000) as u16)));
                }
            });
            while !writer.is_finished() {
                for read in expectations.iter() {
                    assert_eq!(read, expectation(read.tuple.source_port));
                }
            }
        });
    }
}
