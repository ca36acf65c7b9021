//! Every reader of foreign bytes against the corpora in `fuzz/corpus/`: as they are, cut at every
//! byte, with every bit flipped, and with seeded mutations.
//!
//! The corpora are written from `seeds` with `UPDATE=1 cargo test -p fuzz --test formats`; what
//! libFuzzer found is put beside them by hand, with a name that says what it is.

#![allow(
    clippy::unwrap_used,
    reason = "what cannot be made for a test fails the test"
)]

// The corpora hold the packets that the tests of `wire` read.
#[path = "../../wire/tests/bytes/seeds.rs"]
mod seeds;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use fuzz::Target;
use fuzz::formats::TARGETS;
use machine::Rng;

/// Mutations per corpus: enough to meet each field of each packet several times, quick enough for
/// every run, and no slower when libFuzzer has filled the folder.
const MUTATIONS: u64 = 20_000;

fn folder(target: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fuzz/corpus", target]
        .iter()
        .collect()
}

/// The packets of a target's corpus by file name.
fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder(target)).expect("each target has a corpus");
    let packet = |entry: Result<fs::DirEntry, _>| {
        let path: PathBuf = entry.unwrap().path();
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            fs::read(&path).unwrap(),
        )
    };
    entries.map(packet).collect()
}

/// Runs `target` on `bytes` and says which bytes they were when it panics.
fn drive(target: Target, bytes: &[u8], what: impl FnOnce() -> String) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(bytes))) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        eprintln!("{}: {hex}", what());
        std::panic::resume_unwind(panic);
    }
}

/// Runs something for each packet of each corpus.
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
        let path = folder(seed.target).join(seed.name);
        if std::env::var_os("UPDATE").is_some() {
            fs::create_dir_all(folder(seed.target)).unwrap();
            fs::write(&path, &seed.bytes).unwrap();
        }

        let stored = fs::read(&path).unwrap_or_default();

        assert_eq!(
            stored,
            seed.bytes,
            "{} (write it with UPDATE=1)",
            path.display()
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
fn no_flipped_bit_panics_and_what_still_reads_is_written_the_same() {
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
        let corpus: Vec<_> = corpus(name).into_iter().collect();
        for seed in 0..MUTATIONS {
            let mut rng = Rng::seeded(seed);
            let (packet, bytes) = &corpus[rng.below(corpus.len() as u64) as usize];
            let mut mutated = bytes.clone();
            fuzz::formats::mutate(&mut mutated, |bound| rng.below(bound as u64) as usize);
            drive(target, &mutated, || {
                format!("{name}/{packet} with seed {seed}")
            });
        }
    }
}
