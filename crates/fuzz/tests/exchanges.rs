//! IKE and WireGuard against their corpora in `fuzz/corpus/`: unchanged, truncated, and with seeded mutations.

mod corpora;

use corpora::cut_and_mutated;

/// Mutations per corpus: each may cost a key exchange.
const MUTATIONS: u64 = 1_500;

#[test]
fn mutated_ike_messages_are_harmless() {
    cut_and_mutated("ike", fuzz::exchanges::ike, usize::MAX, MUTATIONS);
}

#[test]
fn mutated_wireguard_messages_are_harmless() {
    cut_and_mutated(
        "wireguard",
        fuzz::exchanges::wireguard,
        usize::MAX,
        MUTATIONS,
    );
}
