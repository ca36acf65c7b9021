//! Targets of the binary API and REST against their corpora in `fuzz/corpus/`: unchanged, truncated, and with
//! seeded mutations.

mod corpora;

use corpora::cut_and_mutated;

/// Mutations per corpus.
const MUTATIONS: u64 = 5_000;

#[test]
fn no_sentence_and_no_mutation_of_one_breaks_a_connection() {
    cut_and_mutated("api", fuzz::requests::sentences, usize::MAX, MUTATIONS);
}

#[test]
fn no_request_and_no_mutation_of_one_breaks_rest() {
    cut_and_mutated("rest", fuzz::requests::rest, usize::MAX, MUTATIONS);
}
