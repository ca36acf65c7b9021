//! Every parser against the corpora in `fuzz/corpus/`: unchanged, truncated at every byte, with every bit
//! flipped, and with seeded mutations.
//!
//! `UPDATE=1 cargo test -p fuzz --test formats` writes the corpora from `seeds`; findings of libFuzzer are
//! added by hand, with a descriptive name.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made for a test fails the test"
)]

// The corpora hold the packets that the tests of `wire` parse.
#[path = "../../wire/tests/bytes/seeds.rs"]
mod seeds;

mod corpora;

use fuzz::Target;
use fuzz::formats::TARGETS;

use corpora::{corpus, drive, mutated, stored};

/// Mutations per corpus: enough to reach each field of each packet several times, and fast enough for every
/// run, however full libFuzzer makes the folder.
const MUTATIONS: u64 = 20_000;

/// Calls `run` for each packet of each corpus.
fn each(mut run: impl FnMut(Target, &str, &[u8])) {
    for (target, reader) in TARGETS {
        for (name, bytes) in corpus(target) {
            run(reader, &format!("{target}/{name}"), &bytes);
        }
    }
}

#[test]
fn the_corpora_hold_what_the_builders_build() {
    for seed in seeds::seeds() {
        let stored = stored(seed.target, seed.name, &seed.bytes);

        let (target, name) = (seed.target, seed.name);
        assert_eq!(
            stored, seed.bytes,
            "{target}/{name} (write it with UPDATE=1)"
        );
    }
}

#[test]
fn every_packet_can_be_read_by_every_reader() {
    each(|_, name, bytes| drive(fuzz::formats::all, bytes, || name.to_owned()));
}

#[test]
fn no_truncation_panics() {
    each(|target, name, bytes| {
        for len in 0..bytes.len() {
            drive(target, &bytes[..len], || format!("{name} cut to {len}"));
        }
    });
}

#[test]
fn bit_flips_never_panic_and_valid_results_round_trip() {
    each(|target, name, bytes| {
        let mut flipped = bytes.to_vec();
        for bit in 0..bytes.len() * 8 {
            flipped[bit / 8] ^= 1 << (bit % 8);
            drive(target, &flipped, || {
                format!("{name} with bit {bit} flipped")
            });
            flipped[bit / 8] ^= 1 << (bit % 8);
        }
    });
}

#[test]
fn no_seeded_mutation_panics() {
    for (name, target) in TARGETS {
        mutated(name, target, MUTATIONS);
    }
}
