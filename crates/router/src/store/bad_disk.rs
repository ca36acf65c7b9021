//! Bad disks: whatever is flipped or cut off, a store is whole, or it is refused and can be recovered.
//! `PROPTEST_CASES` says how many damages are tried.

use std::fs;
use std::path::{Path, PathBuf};

use machine::Rng;
use menu::{Offline, Store};
use script::Session;

use super::{Durable, Key, OnDamage};

const FILES: [&str; 3] = [
    "configuration.redb",
    "configuration.ledger",
    "configuration.snapshot",
];

/// A folder of a test's own, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("ferroute-bad-disk-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a new folder");
        Self(folder)
    }

    fn with(&self, files: &[(&str, Vec<u8>)]) {
        for entry in fs::read_dir(&self.0).expect("our folder").flatten() {
            fs::remove_file(entry.path()).expect("our file");
        }
        for (name, bytes) in files {
            fs::write(self.0.join(name), bytes).expect("our file");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key() -> Key {
    Key::new([7; 32], "a test")
}

fn open(folder: &Path, on_damage: OnDamage) -> Result<Durable, String> {
    Durable::open(folder, &key(), on_damage)
}

fn run(store: &mut Store, text: &str) {
    let mut session = Session::new("admin");
    let mut out = String::new();
    script::import(store, &mut Offline, &mut session, text, &mut out).expect("it is taken");
}

fn name(number: usize) -> String {
    format!("/system identity set name=secret{number}")
}

/// A store after so many changes, and how it stands on disk.
fn filled(folder: &Folder, changes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let mut durable = open(&folder.0, OnDamage::Refuse).expect("a new folder");
    let mut store = schema::store();
    durable.replace(&store.save()).expect("there is room");
    durable.keep_state();
    store.set_journal(Box::new(durable));
    (1..=changes).for_each(|number| run(&mut store, &name(number)));
    drop(store);
    on_disk(folder)
}

fn on_disk(folder: &Folder) -> Vec<(&'static str, Vec<u8>)> {
    let read = |name| (name, fs::read(folder.0.join(name)).expect("it was written"));
    FILES.into_iter().map(read).collect()
}

/// The identity that a store has.
fn identity(durable: &Durable) -> String {
    let kept = durable
        .load()
        .expect("it can be read")
        .expect("it was kept");
    let mut store = schema::store();
    assert_eq!(store.load(&kept.saved), Vec::<String>::new());
    let identity = store
        .settings("/system/identity")
        .map(|item| item.text("name").to_owned());
    identity.expect("there is one")
}

/// One damage to one file.
fn damage(rng: &mut Rng, files: &mut [(&'static str, Vec<u8>)]) -> String {
    let mut below = |bound: usize| (rng.next_u64() % bound as u64) as usize;
    // The database is hit more often than what stands beside it.
    let (name, bytes) = &mut files[[0, 0, 0, 1, 2][below(5)]];
    let at = below(bytes.len());
    match below(4) {
        0 => bytes.truncate(at),
        1 => {
            let end = bytes.len().min(at + 4_096);
            bytes[at..end].fill(0);
        }
        2 => (0..64).for_each(|_| {
            let at = below(bytes.len());
            bytes[at] ^= 1 << below(8);
        }),
        _ => bytes[at] ^= 1 << below(8),
    }
    format!("{name} at {at}")
}

#[test]
fn what_is_damaged_is_whole_or_refused_and_can_be_recovered() {
    let cases = std::env::var("PROPTEST_CASES").ok();
    let cases = cases.and_then(|text| text.parse().ok()).unwrap_or(100);
    let folder = Folder::new("damaged");
    let last = 70;
    let whole = filled(&folder, last);
    let mut refused = 0;

    for seed in 0..cases {
        let mut rng = Rng::seeded(seed);
        let mut files = whole.clone();
        let what = format!("seed {seed}: {}", damage(&mut rng, &mut files));
        folder.with(&files);

        let error = match open(&folder.0, OnDamage::Refuse) {
            Ok(durable) => {
                assert_eq!(identity(&durable), format!("secret{last}"), "{what}");
                continue;
            }
            Err(error) => error,
        };
        refused += 1;
        assert!(error.contains("configuration.redb: "), "{what}: {error}");
        assert!(error.contains("ferroute run --recover"), "{what}: {error}");
        for (name, bytes) in &files {
            let now = fs::read(folder.0.join(name)).expect("it stays");
            assert!(now == *bytes, "{what}: {name} was changed");
        }

        let mut durable =
            open(&folder.0, OnDamage::Recover).unwrap_or_else(|e| panic!("{what}: {e}"));
        let found: usize = identity(&durable)[6..].parse().expect("a number");
        let said = durable.said().join("\n");
        // What is lost is named, and nothing else is lost.
        for number in found + 1..=last {
            let named = said.contains(&format!("revision {number} admin: system identity"));
            let all = said.contains(" more, then") || said.contains("the ledger is damaged too");
            assert!(named || all, "{what}: {number} is lost: {said}");
        }
        assert_eq!(error.lines().nth(1), said.lines().nth(1), "{what}");
        assert!(
            folder.0.join("configuration.redb.damaged-1").exists(),
            "{what}"
        );
        drop(durable);
        let again = open(&folder.0, OnDamage::Refuse).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(identity(&again), format!("secret{found}"), "{what}");
    }

    assert!(refused > cases / 4, "{refused} of {cases} were noticed");
}

#[test]
fn a_database_of_before_is_not_taken_for_the_last_one() {
    let folder = Folder::new("older");
    let older = filled(&folder, 5).swap_remove(0);
    let mut durable = open(&folder.0, OnDamage::Refuse).expect("it is whole");
    durable.keep_state();
    let mut store = schema::store();
    let kept = durable
        .load()
        .expect("it can be read")
        .expect("it was kept");
    assert_eq!(store.load(&kept.saved), Vec::<String>::new());
    store.set_journal(Box::new(durable));
    run(&mut store, &name(6));
    drop(store);
    folder.with(&[vec![older], on_disk(&folder).split_off(1)].concat());

    let error = open(&folder.0, OnDamage::Refuse).err().unwrap_or_default();

    assert!(error.contains("less than was acknowledged"), "{error}");
    assert!(
        error.contains("revision 6 admin: system identity changed"),
        "{error}"
    );
}

#[test]
fn no_file_of_the_store_says_what_is_in_it() {
    let folder = Folder::new("clear");

    for (name, bytes) in filled(&folder, 3) {
        let clear = bytes.windows(6).any(|bytes| bytes == b"secret");
        assert!(!clear, "{name}");
    }
}

#[test]
fn a_wrong_key_is_no_damage() {
    let folder = Folder::new("key");
    let files = filled(&folder, 3);
    let other = Key::new([8; 32], "/etc/other.key");

    for on_damage in [OnDamage::Refuse, OnDamage::Recover] {
        let error = Durable::open(&folder.0, &other, on_damage)
            .err()
            .unwrap_or_default();

        assert!(
            error.contains("another key than that of /etc/other.key"),
            "{error}"
        );
        assert!(on_disk(&folder) == files);
    }
    assert!(open(&folder.0, OnDamage::Refuse).is_ok());
}

#[test]
fn what_a_version_before_kept_in_the_clear_is_encrypted_once() {
    let folder = Folder::new("before");
    let mut store = schema::store();
    run(&mut store, &name(1));
    super::tables::write_in_the_clear(&folder.0.join(FILES[0]), &store.save());

    let taken = open(&folder.0, OnDamage::Refuse).expect("it is taken over");

    assert_eq!(identity(&taken), "secret1");
    drop(taken);
    let again = open(&folder.0, OnDamage::Refuse).expect("it is whole");
    assert_eq!(identity(&again), "secret1");
    let bytes = fs::read(folder.0.join(FILES[0])).expect("it is there");
    assert!(!bytes.windows(6).any(|bytes| bytes == b"secret"));
}

#[test]
fn a_router_that_has_time_keeps_the_state_of_now() {
    let folder = Folder::new("rest");
    filled(&folder, 3);
    let durable = open(&folder.0, OnDamage::Refuse).expect("it is whole");
    let mut store = schema::store();
    let kept = durable
        .load()
        .expect("it can be read")
        .expect("it was kept");
    assert_eq!(store.load(&kept.saved), Vec::<String>::new());
    store.set_journal(Box::new(durable));
    run(&mut store, &name(4));
    run(&mut store, &name(5));
    store.rest();
    drop(store);
    fs::write(folder.0.join(FILES[0]), b"nothing").expect("our file");

    let mut recovered = open(&folder.0, OnDamage::Recover).expect("there is a state");

    assert_eq!(identity(&recovered), "secret5");
    let said = recovered.said().join("\n");
    assert!(
        said.contains("nothing that was acknowledged is lost"),
        "{said}"
    );
}
