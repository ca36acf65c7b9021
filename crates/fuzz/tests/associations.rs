//! ESP and AH against their corpora in `fuzz/corpus/`: as they are, cut, with every bit flipped, and
//! with seeded mutations.

mod corpora;

use fuzz::Target;
use machine::Rng;

use corpora::{corpus, drive};

/// Mutations per corpus.
const MUTATIONS: u64 = 5_000;

fn no_input_breaks(name: &str, target: Target) {
    let corpus: Vec<_> = corpus(name).into_iter().collect();
    for (file, bytes) in &corpus {
        for len in 0..=bytes.len() {
            drive(target, &bytes[..len], || {
                format!("{name}/{file} cut to {len}")
            });
        }
        let mut flipped = bytes.clone();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            drive(target, &flipped, || {
                format!("{name}/{file} with bit {bit} flipped")
            });
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    }
    for seed in 0..MUTATIONS {
        let mut rng = Rng::seeded(seed);
        let (file, bytes) = &corpus[rng.below(corpus.len() as u64) as usize];
        let mut mutated = bytes.clone();
        fuzz::formats::mutate(&mut mutated, |bound| rng.below(bound as u64) as usize);
        drive(target, &mutated, || {
            format!("{name}/{file} with seed {seed}")
        });
    }
}

#[test]
fn no_packet_of_esp_and_no_mutation_of_one_breaks_an_association() {
    no_input_breaks("esp", fuzz::associations::esp);
}

#[test]
fn no_packet_of_ah_and_no_mutation_of_one_breaks_an_association() {
    no_input_breaks("ah", fuzz::associations::ah);
}
