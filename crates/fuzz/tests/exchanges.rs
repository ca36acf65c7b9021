//! IKE and WireGuard against their corpora in `fuzz/corpus/`: as they are, cut, and with seeded mutations.

mod corpora;

use fuzz::Target;
use machine::Rng;

use corpora::{corpus, drive};

/// Mutations per corpus: each may cost an exchange of keys.
const MUTATIONS: u64 = 1_500;

fn no_message_breaks(name: &str, target: Target) {
    let corpus: Vec<_> = corpus(name).into_iter().collect();
    for (file, bytes) in &corpus {
        for len in 0..=bytes.len() {
            drive(target, &bytes[..len], || {
                format!("{name}/{file} cut to {len}")
            });
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
fn no_message_and_no_mutation_of_one_breaks_ike() {
    no_message_breaks("ike", fuzz::exchanges::ike);
}

#[test]
fn no_message_and_no_mutation_of_one_breaks_wireguard() {
    no_message_breaks("wireguard", fuzz::exchanges::wireguard);
}
