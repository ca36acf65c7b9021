//! ESP and AH against their corpora in `fuzz/corpus/`: unchanged, truncated, with every bit flipped, and with
//! seeded mutations.

mod corpora;

use fuzz::Target;

use corpora::{corpus, cut_and_mutated, drive};

/// Mutations per corpus.
const MUTATIONS: u64 = 5_000;

fn no_input_breaks(name: &str, target: Target) {
    for (file, bytes) in &corpus(name) {
        let mut flipped = bytes.clone();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            drive(target, &flipped, || {
                format!("{name}/{file} with bit {bit} flipped")
            });
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
    cut_and_mutated(name, target, usize::MAX, MUTATIONS);
}

#[test]
fn mutated_esp_packets_are_harmless() {
    no_input_breaks("esp", fuzz::associations::esp);
}

#[test]
fn mutated_ah_packets_are_harmless() {
    no_input_breaks("ah", fuzz::associations::ah);
}
