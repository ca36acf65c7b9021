//! Targets of the binary API and REST against their corpora in `fuzz/corpus/`: unchanged, truncated, and with
//! seeded mutations.

mod corpora;

use corpora::cut_and_mutated;

/// Mutations per corpus.
const MUTATIONS: u64 = 5_000;

#[test]
fn mutated_api_sentences_are_harmless() {
    cut_and_mutated("api", fuzz::requests::sentences, usize::MAX, MUTATIONS);
}

#[test]
fn mutated_rest_requests_are_harmless() {
    cut_and_mutated("rest", fuzz::requests::rest, usize::MAX, MUTATIONS);
}
