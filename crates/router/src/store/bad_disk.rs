//! Tests of damaged disks: after flipped bits, zeroed blocks or truncated files, every acknowledged write is recovered,
//! or reported as lost if both copies are damaged. `PROPTEST_CASES` sets the number of damages.

use std::fs;
use std::path::{Path, PathBuf};

use machine::Rng;
use menu::{By, Clock, Journal as _, Offline, Store};
use script::Session;

use super::{Durable, Key, OnDamage, StoredState, take_up};

const FILES: [&str; 5] = [
    "configuration.redb",
    "configuration.ledger",
    "configuration.snapshot",
    "configuration.ledger.before",
    "configuration.snapshot.before",
];

/// Files of a store on disk.
type Image = Vec<(&'static str, Vec<u8>)>;

/// Temporary folder, removed with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("ferroute-bad-disk-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a new folder");
        Self(folder)
    }

    /// Replaces the files of the folder.
    fn fill(&self, image: &Image) {
        for entry in fs::read_dir(&self.0).expect("our folder").flatten() {
            fs::remove_file(entry.path()).expect("our file");
        }
        for (name, bytes) in image {
            fs::write(self.0.join(name), bytes).expect("our file");
        }
    }

    fn image(&self) -> Image {
        let read = |name| Some((name, fs::read(self.0.join(name)).ok()?));
        FILES.into_iter().filter_map(read).collect()
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

fn kept(durable: &Durable) -> StoredState {
    let kept = durable.load().expect("it can be read");
    kept.expect("it was kept")
}

fn run(store: &mut Store, text: &str) -> Result<(), menu::Refusal> {
    let mut session = Session::new("admin");
    let mut out = String::new();
    script::import(store, &mut Offline, &mut session, text, &mut out)
}

/// Adds a list whose name identifies the change.
fn add(store: &mut Store, number: usize) {
    let text = format!("/interface list add name=secret{number}");
    run(store, &text).expect("it is taken");
}

/// Returns the numbers of the changes in a state.
fn numbers(kept: &StoredState) -> Vec<usize> {
    let values = kept.saved.items.iter().flat_map(|item| item.values.iter());
    let numbers = values.filter_map(|(_, value)| value.strip_prefix("secret")?.parse().ok());
    numbers.collect()
}

/// Creates or reopens a store with its journal in this folder.
fn started(folder: &Folder, on_damage: OnDamage) -> (Store, Vec<String>) {
    let mut durable = open(&folder.0, on_damage).expect("it can be opened");
    let mut store = schema::store();
    let said = match durable.load().expect("it can be read") {
        Some(kept) => take_up(&mut store, durable, &kept, Clock::utc(0)).expect("it is taken"),
        None => {
            durable.replace(&store.save()).expect("there is room");
            store.set_journal(Box::new(durable));
            Vec::new()
        }
    };
    (store, said)
}

/// How a store ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The router stopped cleanly.
    Stopped,
    /// The router was killed, some changes after the last snapshot.
    Killed,
}

/// Makes changes, with two snapshots in between; returns the files on disk.
fn filled(folder: &Folder, changes: usize, left: Ending) -> Image {
    let (mut store, _) = started(folder, OnDamage::Refuse);
    for number in 1..=changes {
        add(&mut store, number);
        if number == changes / 3 || number == changes / 2 {
            store.settle_journal();
        }
    }
    if left == Ending::Stopped {
        store.settle_journal();
        drop(store);
        return folder.image();
    }
    // While the store is open, its files are those that a kill leaves.
    folder.image()
}

/// Damages one file.
fn damage(rng: &mut Rng, image: &mut Image) -> String {
    let mut below = |bound: usize| (rng.next_u64() % bound as u64) as usize;
    // The database is damaged more often than the other files.
    let weights = [0, 0, 0, 1, 1, 2, 3, 4];
    let file = weights[below(weights.len())] % image.len();
    let (name, bytes) = &mut image[file];
    let at = below(bytes.len());
    match below(4) {
        0 => bytes.truncate(at),
        1 => {
            let page = at & !4_095;
            let end = bytes.len().min(page + 4_096);
            bytes[page..end].fill(0);
        }
        2 => (0..64).for_each(|_| {
            let at = below(bytes.len());
            bytes[at] ^= 1 << below(8);
        }),
        _ => bytes[at] ^= 1 << below(8),
    }
    format!("{name} at {at}")
}

fn cases() -> u64 {
    let cases = std::env::var("PROPTEST_CASES").ok();
    cases.and_then(|text| text.parse().ok()).unwrap_or(100)
}

#[test]
fn one_damaged_file_costs_nothing_that_was_acknowledged() {
    let folder = Folder::new("one");
    let mut refused = 0;
    for left in [Ending::Stopped, Ending::Killed] {
        folder.fill(&Vec::new());
        let whole = filled(&folder, 40, left);
        folder.fill(&whole);
        let expected = kept(&open(&folder.0, OnDamage::Refuse).expect("it is whole"));
        assert_eq!(numbers(&expected).len(), 40);
        for seed in 0..cases() {
            let mut image = whole.clone();
            let what = damage(&mut Rng::seeded(seed), &mut image);
            let what = format!("{left:?} seed {seed}: {what}");
            folder.fill(&image);
            refused += u32::from(is_recovered(&folder, &image, &expected, &what));
        }
    }
    assert!(u64::from(refused) > cases() / 4, "{refused} were noticed");
}

/// Starts from a damaged image, and checks that all changes are recovered, before and after accepting the state.
/// Returns whether changes were refused before.
fn is_recovered(folder: &Folder, image: &Image, expected: &StoredState, what: &str) -> bool {
    let mut durable = open(&folder.0, OnDamage::Refuse).unwrap_or_else(|e| panic!("{what}: {e}"));
    let running = kept(&durable);
    assert_eq!(numbers(&running), numbers(expected), "{what}");
    assert_eq!(running.saved.revision, expected.saved.revision, "{what}");
    let revisions =
        |kept: &StoredState| kept.log.iter().map(|own| own.revision).collect::<Vec<_>>();
    assert_eq!(revisions(&running), revisions(expected), "{what}");
    let refusal = durable.refusal().map(str::to_owned);
    if let Some(why) = &refusal {
        assert!(why.contains("ferroute run --recover"), "{what}: {why}");
        let refused = durable.note("a", Some("word"));
        assert_eq!(refused.as_ref().err(), Some(why), "{what}");
        assert!(folder.image() == *image, "{what}: a file was changed");
        let said = durable.said().join("\n");
        assert!(
            said.contains("is lost") || said.contains("the ledger is damaged too"),
            "{what}: {said}"
        );
    }
    drop(durable);
    let (mut store, said) = started(folder, OnDamage::Recover);
    let said = said.join("\n");
    assert_eq!(
        said.contains("recovered from"),
        refusal.is_some(),
        "{what}: {said}"
    );
    add(&mut store, 1_000);
    drop(store);
    let again = open(&folder.0, OnDamage::Refuse).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(again.refusal(), None, "{what}");
    let all = [numbers(expected), vec![1_000]].concat();
    assert_eq!(numbers(&kept(&again)), all, "{what}");
    refusal.is_some()
}

#[test]
fn where_several_files_are_damaged_what_is_lost_is_named_and_nothing_else_is_lost() {
    let folder = Folder::new("several");
    let whole = filled(&folder, 40, Ending::Killed);
    let (mut complete, mut lossy) = (0, 0);
    for seed in 0..cases() {
        let mut rng = Rng::seeded(seed);
        let mut image = whole.clone();
        let hits = [damage(&mut rng, &mut image), damage(&mut rng, &mut image)];
        let what = format!("seed {seed}: {}", hits.join(", "));
        folder.fill(&image);
        let mut durable = match open(&folder.0, OnDamage::Recover) {
            Ok(durable) => durable,
            Err(error) => panic!("{what}: {error}"),
        };
        let (found, said) = (numbers(&kept(&durable)), durable.said().join("\n"));
        let lost: Vec<_> = (1..=40).filter(|number| !found.contains(number)).collect();
        let unnamed: Vec<_> = lost
            .iter()
            .filter(|number| !is_named(**number, &said))
            .collect();
        let tail: Vec<_> = (41 - unnamed.len()..=40).collect();
        // The last write may be unknown; then a message says so.
        let is_doubted = said.contains("further changes after");
        let is_tail = unnamed.iter().map(|number| **number).eq(tail);
        assert!(
            unnamed.is_empty() || is_doubted && is_tail,
            "{what}: {unnamed:?}: {said}"
        );
        complete += u32::from(lost.is_empty());
        lossy += u32::from(!lost.is_empty());
    }
    assert!(complete > lossy, "{complete} were complete, {lossy} not");
}

/// Whether a list of losses contains this change: by its revision, by the number of its write (the first write is the
/// whole configuration), or among the omitted entries.
fn is_named(number: usize, said: &str) -> bool {
    said.lines().any(|line| {
        let line = line.trim();
        if line.ends_with("more, then") || line.starts_with(&format!("revision {number} ")) {
            return true;
        }
        let Some(writes) = line.strip_prefix("write") else {
            return false;
        };
        let mut numbers = writes
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok());
        let first: usize = numbers.next().unwrap_or(0);
        let several = writes.starts_with("s ");
        let last = numbers.next().filter(|_| several).unwrap_or(first);
        (first..=last).contains(&(number + 1))
    })
}

#[test]
fn a_lost_change_is_reported_and_later_ones_are_read() {
    let folder = Folder::new("record");
    let mut image = filled(&folder, 12, Ending::Killed);
    // Damages all of the database, and the ledger's content of the eleventh change.
    image[0].1.clear();
    let ledger = &mut image[1].1;
    let records = records(ledger);
    let (from, to) = (records[11], records[12]);
    ledger[from + super::ledger::TITLE_AND_LINE..to].fill(0xff);
    folder.fill(&image);

    let mut durable = open(&folder.0, OnDamage::Refuse).expect("there is a state");

    let expected: Vec<_> = (1..=12).filter(|number| *number != 11).collect();
    assert_eq!(numbers(&kept(&durable)), expected);
    let said = durable.said().join("\n");
    assert!(
        said.contains("lost: 1 of the acknowledged changes"),
        "{said}"
    );
    assert!(said.contains("revision 11 admin: "), "{said}");
}

/// Returns the offsets of the records in a ledger, and the end of the last record. The first record is the whole
/// configuration.
fn records(ledger: &[u8]) -> Vec<usize> {
    let folder = Folder::new("records");
    let path = folder.0.join("configuration.ledger");
    fs::write(&path, ledger).expect("our file");
    let read = super::records::Records::read(&path, &key()).expect("it can be read");
    let current = read.current.expect("it is there");
    let contents = current
        .records
        .iter()
        .map(|own| own.content.as_ref().map_or(0, Vec::len));
    let mut at = super::ledger::FIRST;
    let mut places = vec![at];
    places.extend(contents.map(|len| {
        at += super::ledger::record_len(len);
        at
    }));
    places
}

#[test]
fn replaying_the_ledger_gives_the_state_of_the_database() {
    let folder = Folder::new("replay");
    let (mut store, _) = started(&folder, OnDamage::Refuse);
    let admin = || By::user("admin", Clock::utc(0));
    add(&mut store, 1);
    store.note("a", Some("word")).expect("there is room");
    store.note("b", Some("other")).expect("there is room");
    store.note("b", None).expect("there is room");
    run(&mut store, "/interface list remove secret1").expect("it is there");
    store.undo(admin()).expect("the last");
    store.hold().expect("there is room");
    (2..5).for_each(|number| add(&mut store, number));
    store.release().expect("there is room");
    run(&mut store, "/system identity set name=other").expect("a name");
    store.hold().expect("there is room");
    run(
        &mut store,
        "/interface list remove secret1; /system identity set name=third",
    )
    .expect("it is there");
    let mut image = folder.image();
    drop(store);
    folder.fill(&image);
    let of_database = kept(&open(&folder.0, OnDamage::Refuse).expect("it is whole"));
    image[0].1.clear();
    folder.fill(&image);

    let durable = open(&folder.0, OnDamage::Refuse).expect("there is a state");

    assert!(durable.refusal().is_some());
    let of_ledger = kept(&durable);
    assert_eq!(of_ledger.saved, of_database.saved);
    assert_eq!(of_ledger.log, of_database.log);
    assert_eq!(of_ledger.held, of_database.held);
    assert!(of_ledger.held.is_some_and(|held| held.items.len() == 2));
    assert_eq!(of_ledger.notes, of_database.notes);
}

#[test]
fn damage_is_accepted_while_the_router_runs() {
    let folder = Folder::new("accept");
    let mut image = filled(&folder, 5, Ending::Killed);
    image[0].1.truncate(5_000);
    folder.fill(&image);
    let (mut store, said) = started(&folder, OnDamage::Refuse);
    assert!(
        said.join("\n").contains("no acknowledged change is lost"),
        "{said:?}"
    );
    let refused = run(&mut store, "/interface list add name=more").expect_err("it is damaged");
    assert!(
        refused.to_string().contains("/system/configuration/accept"),
        "{refused}"
    );
    assert!(store.fault().is_some());

    let said = store.accept_damage().expect("there is room");

    assert!(said.join("\n").contains("recovered from"), "{said:?}");
    assert_eq!(store.fault(), None);
    assert!(store.accept_damage().is_err());
    add(&mut store, 6);
    drop(store);
    let again = open(&folder.0, OnDamage::Refuse).expect("it is whole");
    assert_eq!(
        (again.refusal(), numbers(&kept(&again))),
        (None, (1..=6).collect())
    );
    assert!(folder.0.join("configuration.redb.damaged-1").exists());
}

#[test]
fn an_older_database_is_refused_and_completed_from_the_ledger() {
    let folder = Folder::new("older");
    let older = filled(&folder, 5, Ending::Stopped).swap_remove(0);
    let (mut store, _) = started(&folder, OnDamage::Refuse);
    add(&mut store, 6);
    drop(store);
    let image = [vec![older], folder.image().split_off(1)].concat();
    folder.fill(&image);

    let mut durable = open(&folder.0, OnDamage::Refuse).expect("there is a state");

    let why = durable.refusal().unwrap_or_default();
    assert!(why.contains("the file lacks acknowledged changes"), "{why}");
    assert_eq!(numbers(&kept(&durable)), (1..=6).collect::<Vec<_>>());
    let said = durable.said().join("\n");
    assert!(said.contains("no acknowledged change is lost"), "{said}");
}

#[test]
fn no_file_of_the_store_contains_clear_text() {
    let folder = Folder::new("clear");
    let image = filled(&folder, 6, Ending::Killed);
    assert_eq!(image.len(), FILES.len() - 1, "the ledger is short");

    for (name, bytes) in image {
        let clear = bytes.windows(6).any(|bytes| bytes == b"secret");
        assert!(!clear, "{name}");
    }
}

#[test]
fn a_long_ledger_is_begun_anew_behind_a_snapshot_and_both_are_read() {
    let folder = Folder::new("long");
    let (mut store, _) = started(&folder, OnDamage::Refuse);
    let source = "x".repeat(10_000);
    for number in 0..30 {
        let text = format!("/system script add name=s{number} source={source}");
        run(&mut store, &text).expect("scripts may be long");
    }
    store.settle_journal();
    assert!(folder.0.join(FILES[3]).exists(), "it is renewed");
    add(&mut store, 1);
    let mut image = folder.image();
    drop(store);
    let at = |name: &str, image: &Image| image.iter().position(|own| own.0 == name);
    image[0].1.clear();
    let snapshot = at("configuration.snapshot", &image).expect("it was written");
    image[snapshot].1.clear();
    folder.fill(&image);

    let mut durable = open(&folder.0, OnDamage::Refuse).expect("there is a state");

    // The first snapshot precedes all changes: both ledgers continue from it.
    assert_eq!(numbers(&kept(&durable)), [1]);
    assert_eq!(kept(&durable).saved.revision, 31);
    let said = durable.said().join("\n");
    assert!(said.contains("no acknowledged change is lost"), "{said}");
}

#[test]
fn a_wrong_key_is_no_damage() {
    let folder = Folder::new("key");
    let image = filled(&folder, 3, Ending::Stopped);
    let other = Key::new([8; 32], "/etc/other.key");

    for on_damage in [OnDamage::Refuse, OnDamage::Recover] {
        let error = Durable::open(&folder.0, &other, on_damage)
            .err()
            .unwrap_or_default();

        assert!(
            error.contains("another key than that of /etc/other.key"),
            "{error}"
        );
        assert!(folder.image() == image);
    }
    assert!(open(&folder.0, OnDamage::Refuse).is_ok());
}

#[test]
fn a_clear_text_database_of_an_earlier_version_is_encrypted() {
    let folder = Folder::new("before");
    let mut store = schema::store();
    add(&mut store, 1);
    super::tables::write_in_the_clear(&folder.0.join(FILES[0]), &store.save());

    let taken = open(&folder.0, OnDamage::Refuse).expect("it is taken over");

    assert_eq!(numbers(&kept(&taken)), [1]);
    drop(taken);
    let again = open(&folder.0, OnDamage::Refuse).expect("it is whole");
    assert_eq!(numbers(&kept(&again)), [1]);
    let bytes = fs::read(folder.0.join(FILES[0])).expect("it is there");
    assert!(!bytes.windows(6).any(|bytes| bytes == b"secret"));
}

#[test]
fn a_snapshot_is_written_when_changes_have_ended() {
    let folder = Folder::new("rest");
    let (mut store, _) = started(&folder, OnDamage::Refuse);
    let snapshot = || fs::read(folder.0.join(FILES[2])).ok();
    store.rest();
    store.rest();
    let first = snapshot();
    assert!(first.is_some());
    add(&mut store, 1);
    store.rest();
    assert!(snapshot() == first, "changes may go on");
    store.rest();
    assert!(snapshot() != first, "nothing has changed for a rest");
    // The snapshot contains the whole state, without the database and the ledgers.
    drop(store);
    for name in [FILES[0], FILES[1]] {
        fs::write(folder.0.join(name), b"nothing").expect("our file");
    }

    let recovered = open(&folder.0, OnDamage::Recover).expect("there is a state");

    assert_eq!(numbers(&kept(&recovered)), [1]);
}

#[test]
fn a_note_is_in_the_ledger_and_causes_no_snapshot() {
    let folder = Folder::new("note");
    let (mut store, _) = started(&folder, OnDamage::Refuse);
    add(&mut store, 1);
    store.settle_journal();
    let snapshot = || fs::read(folder.0.join(FILES[2])).expect("it was written");
    let before = snapshot();
    store
        .note("login 1", Some("of today"))
        .expect("there is room");
    store.settle_journal();
    assert!(snapshot() == before, "the configuration is the same");
    drop(store);

    let (mut store, _) = started(&folder, OnDamage::Refuse);
    store.settle_journal();
    assert!(snapshot() == before, "a start changes nothing");
    drop(store);
    fs::write(folder.0.join(FILES[0]), b"nothing").expect("our file");
    let recovered = open(&folder.0, OnDamage::Recover).expect("there is a state");
    let kept = kept(&recovered);
    assert_eq!(numbers(&kept), [1]);
    assert_eq!(
        kept.notes.get("login 1").map(String::as_str),
        Some("of today")
    );
    drop(recovered);

    let (mut store, _) = started(&folder, OnDamage::Refuse);
    add(&mut store, 2);
    store.settle_journal();
    assert!(snapshot() != before, "the configuration has changed");
}
