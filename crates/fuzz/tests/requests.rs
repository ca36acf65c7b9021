//! The readers of the binary API and REST against their corpora in `fuzz/corpus/`: as they are,
//! cut, and with seeded mutations.

use std::fs;
use std::path::PathBuf;

use machine::Rng;

/// Mutations per corpus.
const MUTATIONS: u64 = 5_000;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../fuzz/corpus", target]
        .iter()
        .collect();
    let entries = fs::read_dir(folder).expect("each target has a corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let files = paths.iter().map(|path| fs::read(path).expect("a file"));
    files.collect()
}

fn drive(target: &str, run: fn(&[u8])) {
    let corpus = corpus(target);
    for bytes in &corpus {
        for len in 0..=bytes.len() {
            run(&bytes[..len]);
        }
    }
    for seed in 0..MUTATIONS {
        let mut rng = Rng::seeded(seed);
        let mut bytes = corpus[rng.below(corpus.len() as u64) as usize].clone();
        fuzz::formats::mutate(&mut bytes, |bound| rng.below(bound as u64) as usize);
        if std::panic::catch_unwind(|| run(&bytes)).is_err() {
            panic!("{target} with seed {seed}: {bytes:02x?}");
        }
    }
}

#[test]
fn no_sentence_and_no_mutation_of_one_breaks_a_connection() {
    drive("api", fuzz::requests::sentences);
}

#[test]
fn no_request_and_no_mutation_of_one_breaks_rest() {
    drive("rest", fuzz::requests::rest);
}
