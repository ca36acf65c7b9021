//! IKE and WireGuard against their corpora in `fuzz/corpus/`: unchanged, truncated, and with seeded mutations.

mod corpora;

use corpora::cut_and_mutated;

/// Mutations per corpus: each may cost a key exchange.
const MUTATIONS: u64 = 1_500;

#[test]
fn no_message_and_no_mutation_of_one_breaks_ike() {
    cut_and_mutated("ike", fuzz::exchanges::ike, usize::MAX, MUTATIONS);
}

#[test]
fn no_message_and_no_mutation_of_one_breaks_wireguard() {
    cut_and_mutated(
        "wireguard",
        fuzz::exchanges::wireguard,
        usize::MAX,
        MUTATIONS,
    );
}
