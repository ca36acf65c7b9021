//! MPPE against its corpus in `fuzz/corpus/`: unchanged, truncated, and with seeded mutations.

mod corpora;

use corpora::cut_and_mutated;

/// Mutations of the corpus.
const MUTATIONS: u64 = 2_000;

#[test]
fn mutated_mppe_packets_are_harmless() {
    cut_and_mutated("mppe", fuzz::encryption::mppe, usize::MAX, MUTATIONS);
}
