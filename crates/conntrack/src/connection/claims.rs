//! Claimed tuples: maps the tuples that RSS does not deliver to a connection's owner to that owner.
//! Lock-free, of fixed size, shared by all workers.
//!
//! A claim is one word: 57 bits of the tuple's keyed hash, and the worker. Two workers that claim a tuple at
//! the same time both write their claim and then search for the other's; at least one sees the conflict and
//! withdraws. So a tuple never has two owners, and the claims also decide which worker gets a translated
//! port. Tuples with equal hashes (one in 2^57 pairs of a bucket) are not told apart: the later claim is
//! refused.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use kernels::{Pages, Zeroed};
use machine::Rng;
use packet::Tuple;

use super::hash::Keys;
use super::id::WORKERS_MAX;
use super::state::Refused;

/// Claims per bucket; the bucket's last word counts claims that overflowed into the next buckets.
const CLAIMS: usize = 7;
const OVERFLOWED: usize = CLAIMS;
/// Number of consecutive buckets that may hold a claim.
const BUCKETS_PER_HASH: usize = 4;
/// The bits of a claim that hold the worker's number plus one.
const WORKER_BITS: u64 = 0xff;

/// The claims of all workers.
#[derive(Debug)]
pub struct TupleClaims {
    buckets: Zeroed<[AtomicU64; 8]>,
    keys: Keys,
    /// Number of claims for expectations; these may have a wildcard source.
    expected: AtomicU32,
}

impl TupleClaims {
    /// Creates a table for `claims` claims.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(claims: usize, rng: &mut Rng) -> std::io::Result<Arc<Self>> {
        let buckets = (claims / 4).next_power_of_two().max(BUCKETS_PER_HASH);
        Ok(Arc::new(Self {
            buckets: Zeroed::new(buckets, Pages::Huge)?,
            keys: Keys::random(rng),
            expected: AtomicU32::new(0),
        }))
    }

    /// Makes `worker` the owner of packets with this tuple.
    ///
    /// # Errors
    /// Returns `Taken` if the tuple has an owner, even the caller; `Full` if there is no room.
    pub fn claim(&self, tuple: &Tuple, worker: u16) -> Result<(), Refused> {
        let hash = self.hash(tuple);
        if self.find(hash).is_some() {
            return Err(Refused::Taken);
        }
        let claim = hash | u64::from(worker % WORKERS_MAX + 1);
        let (step, at) = (0..BUCKETS_PER_HASH)
            .find_map(|step| self.write(self.bucket(hash, step), claim, step, hash))
            .ok_or(Refused::Full)?;
        if self.count(hash) > 1 {
            self.withdraw(step, at, hash);
            return Err(Refused::Taken);
        }
        Ok(())
    }

    /// Claims the tuple of an expectation, in which a source of 0 matches any source.
    ///
    /// # Errors
    /// Returns the errors of [`Self::claim`].
    pub fn claim_expected(&self, tuple: &Tuple, worker: u16) -> Result<(), Refused> {
        self.claim(tuple, worker)?;
        self.expected.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Ends the claim of an expectation. With `keep` the claim stays, for the connection that arrived.
    pub fn release_expected(&self, tuple: &Tuple, keep: bool) {
        if !keep {
            self.release(tuple);
        }
        self.expected.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns true if there is an expectation on any worker.
    #[inline]
    pub fn expects(&self) -> bool {
        self.expected.load(Ordering::SeqCst) > 0
    }

    /// Returns the owner of packets with this tuple.
    pub fn owner(&self, tuple: &Tuple) -> Option<u16> {
        let (step, at) = self.find(self.hash(tuple))?;
        let claim = self.bucket(self.hash(tuple), step)[at].load(Ordering::Acquire);
        // The claim may have been released since it was found.
        ((claim & WORKER_BITS) as u16).checked_sub(1)
    }

    /// Releases a claim. Only its owner calls this.
    pub fn release(&self, tuple: &Tuple) {
        let hash = self.hash(tuple);
        if let Some((step, at)) = self.find(hash) {
            self.withdraw(step, at, hash);
        }
    }

    fn hash(&self, tuple: &Tuple) -> u64 {
        self.keys.wide(tuple) & !WORKER_BITS
    }

    fn bucket(&self, hash: u64, step: usize) -> &[AtomicU64; 8] {
        let first = (hash >> 32) as usize;
        &self.buckets[(first + step) % self.buckets.len()]
    }

    /// Writes a claim into a free word of a bucket.
    fn write(
        &self,
        bucket: &[AtomicU64; 8],
        claim: u64,
        step: usize,
        hash: u64,
    ) -> Option<(usize, usize)> {
        let at = (0..CLAIMS).find(|at| {
            bucket[*at]
                .compare_exchange(0, claim, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        })?;
        if step > 0 {
            self.bucket(hash, 0)[OVERFLOWED].fetch_add(1, Ordering::SeqCst);
        }
        Some((step, at))
    }

    /// Finds the claim with this hash: bucket step and word.
    fn find(&self, hash: u64) -> Option<(usize, usize)> {
        let spilled = self.bucket(hash, 0)[OVERFLOWED].load(Ordering::SeqCst) > 0;
        let reach = if spilled { BUCKETS_PER_HASH } else { 1 };
        (0..reach).find_map(|step| {
            let bucket = self.bucket(hash, step);
            let at = (0..CLAIMS).find(|at| {
                let claim = bucket[*at].load(Ordering::SeqCst);
                claim != 0 && claim & !WORKER_BITS == hash
            })?;
            Some((step, at))
        })
    }

    /// Counts the claims with this hash in all buckets that may hold them.
    fn count(&self, hash: u64) -> usize {
        let buckets = (0..BUCKETS_PER_HASH).flat_map(|step| &self.bucket(hash, step)[..CLAIMS]);
        let claims = buckets.map(|claim| claim.load(Ordering::SeqCst));
        claims
            .filter(|claim| *claim != 0 && claim & !WORKER_BITS == hash)
            .count()
    }

    fn withdraw(&self, step: usize, at: usize, hash: u64) {
        self.bucket(hash, step)[at].store(0, Ordering::SeqCst);
        if step > 0 {
            self.bucket(hash, 0)[OVERFLOWED].fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(port: u16) -> Tuple {
        Tuple {
            source: 0xc000_0201,
            destination: 0xc633_6401,
            source_port: 443,
            destination_port: port,
            protocol: 6,
            ipv6: false,
        }
    }

    #[test]
    fn a_tuple_has_one_owner_until_it_is_released() {
        let tuple_claims = TupleClaims::new(1_000, &mut Rng::seeded(1)).expect("address space");

        assert_eq!(tuple_claims.owner(&tuple(1)), None);
        assert_eq!(tuple_claims.claim(&tuple(1), 0), Ok(()));
        assert_eq!(tuple_claims.claim(&tuple(1), 1), Err(Refused::Taken));
        assert_eq!(tuple_claims.owner(&tuple(1)), Some(0));

        tuple_claims.release(&tuple(1));
        assert_eq!(tuple_claims.owner(&tuple(1)), None);
        assert_eq!(tuple_claims.claim(&tuple(1), 127), Ok(()));
        assert_eq!(tuple_claims.owner(&tuple(1)), Some(127));
    }

    #[test]
    fn claims_overflow_a_full_bucket_and_leave_no_residue() {
        let tuple_claims = TupleClaims::new(16, &mut Rng::seeded(1)).expect("address space");
        let claimed: Vec<u16> = (0..40)
            .filter(|port| tuple_claims.claim(&tuple(*port), 3).is_ok())
            .collect();

        assert_eq!(claimed.len(), 28);
        assert!(
            claimed
                .iter()
                .all(|port| tuple_claims.owner(&tuple(*port)) == Some(3))
        );
        claimed
            .iter()
            .for_each(|port| tuple_claims.release(&tuple(*port)));
        let words = tuple_claims.buckets.iter().flatten();
        assert!(
            words
                .map(|word| word.load(Ordering::Relaxed))
                .all(|word| word == 0)
        );
    }

    #[test]
    fn concurrent_claims_never_share_a_tuple() {
        let tuple_claims = TupleClaims::new(4_096, &mut Rng::seeded(1)).expect("address space");
        let claims = |worker| {
            (0..2_000_u16)
                .filter(|port| tuple_claims.claim(&tuple(*port), worker).is_ok())
                .collect::<Vec<_>>()
        };
        let (first, second) = std::thread::scope(|scope| {
            let other = scope.spawn(|| claims(1));
            (claims(0), other.join().expect("no panic"))
        });

        for port in 0..2_000 {
            let both = first.contains(&port) && second.contains(&port);
            assert!(!both, "{port}");
        }
        assert!(
            first
                .iter()
                .all(|port| tuple_claims.owner(&tuple(*port)) == Some(0))
        );
        assert!(
            second
                .iter()
                .all(|port| tuple_claims.owner(&tuple(*port)) == Some(1))
        );
    }
}
