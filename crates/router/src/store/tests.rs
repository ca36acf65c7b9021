//! Acknowledged changes survive a power loss at any moment.

use machine::Rng;
use menu::{By, Clock, Store};
use script::Session;

use super::disk::Disk;
use super::opening::FILE;
use super::{Durable, Key, OnDamage, StoredState};

fn key() -> Key {
    Key::new([7; 32], "a test")
}

fn opened(folder: &std::path::Path) -> Result<Durable, String> {
    Durable::open(folder, &key(), OnDamage::Refuse)
}

fn open_patiently(
    folder: &std::path::Path,
    again: impl FnMut() -> bool,
) -> Result<Durable, String> {
    Durable::open_patiently(folder, &key(), OnDamage::Refuse, again)
}

fn folder() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = format!("ferroute-store-{}-{number}", std::process::id());
    std::env::temp_dir().join(folder)
}

fn run(store: &mut Store, text: &str) -> Result<(), menu::Refusal> {
    let mut out = String::new();
    let mut session = Session::new("admin");
    script::import(store, &mut menu::Offline, &mut session, text, &mut out)
}

/// Creates a store from the stored state.
fn taken_up(kept: &StoredState) -> Store {
    let mut store = schema::store();
    let lost = store.load(&kept.saved);
    assert_eq!(lost, Vec::<String>::new());
    let log: Vec<_> = kept.log.iter().map(|c| store.changes_of(c)).collect();
    store.load_history(log.into_iter().flatten());
    store
}

#[test]
fn committed_changes_survive_a_restart() {
    let folder = folder();
    let mut store = schema::store();
    store.set_journal(Box::new(opened(&folder).expect("a new folder")));
    run(&mut store, "/interface list add name=LAN").expect("a new name");
    run(&mut store, "/interface list add name=WAN").expect("a new name");
    let wan = store.named("interface-list", "WAN").map(|item| item.id);
    run(&mut store, "/interface list remove WAN").expect("it is there");
    let kept = store.revision();
    drop(store);

    let durable = opened(&folder).expect("the same folder");
    let read = durable
        .load()
        .expect("readable")
        .expect("something was kept");
    let mut again = taken_up(&read);
    again.set_journal(Box::new(durable));

    assert_eq!(again.revision(), kept);
    let names = |store: &Store| -> Vec<String> {
        let names = store.items("/interface/list").filter_map(|i| i.name());
        names.map(String::from).collect()
    };
    assert!(names(&again).contains(&String::from("LAN")));
    assert!(!names(&again).contains(&String::from("WAN")));
    run(&mut again, "/interface list add name=DMZ").expect("a new name");
    let dmz = again.named("interface-list", "DMZ").map(|item| item.id);
    assert!(dmz > wan, "an id is never used twice");
    again.undo(By::default()).expect("the last");
    again.undo(By::default()).expect("from before the restart");
    assert!(names(&again).contains(&String::from("WAN")));
    drop(again);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_start_writes_nothing_where_this_version_reads_what_is_there() {
    let folder = folder();
    let mut store = schema::store();
    let mut durable = opened(&folder).expect("a new folder");
    durable.replace(&store.save()).expect("there is room");
    store.set_journal(Box::new(durable));
    for line in [
        "/interface bridge add name=lan",
        "/interface vlan add interface=lan name=v1 vlan-id=7",
        "/ip address add address=192.0.2.1/24 interface=v1",
        "/ip route add dst-address=198.51.100.0/24 gateway=192.0.2.2",
        "/ip firewall filter add chain=forward action=drop src-address=203.0.113.9 limit=5,2:packet",
        "/queue simple add name=q target=192.0.2.9/32 max-limit=10M/20M",
        "/ppp secret add name=jo password=hidden",
    ] {
        run(&mut store, line).expect(line);
    }
    drop(store);
    let ledger = folder.join("configuration.ledger");
    let start = || {
        let durable = opened(&folder).expect("the same folder");
        let kept = durable.load().expect("readable").expect("it was kept");
        let mut store = schema::store();
        let said = super::take_up(&mut store, durable, &kept, Clock::utc(0));
        assert_eq!(said.expect("it is readable"), Vec::<String>::new());
        assert_eq!(store.difference_to(&kept.saved), None);
        drop(store);
        std::fs::read(&ledger).expect("it is there")
    };

    // The first start compares, and notes the program; the second start writes nothing.
    let first = start();

    assert!(start() == first);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn changes_succeed_again_after_a_full_disk_has_space() {
    let mut refused = 0;
    for writes in 0..24 {
        let disk = Disk::default();
        let mut store = schema::store();
        store.set_journal(Box::new(
            Durable::on(disk.clone(), &key()).expect("an empty disk"),
        ));
        run(&mut store, "/interface list add name=before").expect("there is room");

        disk.full_after(Some(writes));
        let first = run(&mut store, "/interface list add name=first");
        let second = run(&mut store, "/interface list add name=second");
        disk.full_after(None);
        let last = run(&mut store, "/interface list add name=last");

        if let Err(unknown) = &last {
            // The disk became full after the commit took effect.
            assert!(
                unknown.to_string().contains("has to be restarted"),
                "{unknown}"
            );
            continue;
        }
        refused += usize::from(first.is_err());
        drop(store);
        let durable = Durable::on(disk, &key()).expect("what was written");
        let kept = durable.load().expect("readable").expect("it was kept");
        let store = taken_up(&kept);
        for (name, acknowledged) in [
            ("before", true),
            ("first", first.is_ok()),
            ("second", second.is_ok()),
            ("last", true),
        ] {
            let is_there = store.named("interface-list", name).is_some();
            assert_eq!(is_there, acknowledged, "{name} after {writes} writes");
        }
    }
    assert!(refused > 2, "{refused} changes were refused");
}

#[test]
fn two_routers_cannot_share_a_folder() {
    let folder = folder();
    let first = opened(&folder).expect("a new folder");

    let second = open_patiently(&folder, || false).err();

    assert!(second.is_some_and(|error| error.contains("another router")));
    drop(first);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_starting_router_waits_for_one_that_is_ending() {
    let folder = folder();
    let mut first = Some(opened(&folder).expect("a new folder"));
    let mut looks = 0;

    let second = open_patiently(&folder, || {
        looks += 1;
        if looks == 3 {
            first = None;
        }
        looks < 10
    });

    assert!(second.is_ok());
    assert_eq!(looks, 3);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Commands that the router runs in turn.
const COMMANDS: &[&str] = &[
    "/interface list add name=LAN",
    "/ip address add address=10.0.0.1/24 interface=ether1",
    "/interface list add name=WAN; /interface list add name=DMZ; /interface list remove LAN",
    "HOLD",
    "/routing rule add src-address=10.7.0.0/24 action=drop comment=\"a rule of which there is more\"",
    ":for n from=1 to=40 do={/ip route add dst-address=\"10.9.$n.0/24\" gateway=10.0.0.9}",
    "RELEASE",
    "/ip route remove [find where dst-address=10.9.7.0/24]",
    "HOLD",
    "/system identity set name=other",
    "/ip route remove [find]",
    "UNDO",
    "/interface list add name=LAN",
];

fn command(store: &mut Store, text: &str) -> bool {
    let by = By::user("admin", Clock::utc(0));
    match text {
        "HOLD" => store.hold().is_ok(),
        "RELEASE" => store.release().is_ok(),
        "UNDO" => store.undo(by).is_ok(),
        text => run(store, text).is_ok(),
    }
}

/// The configuration, and the state before safe mode.
#[derive(Debug, PartialEq)]
struct Seen {
    text: String,
    revision: u64,
    unrolled: Option<String>,
}

fn text_of(store: &Store) -> String {
    let mut text = String::new();
    let _ = menu::export::export(store, &menu::export::Options::default(), &mut text);
    text
}

fn seen(durable: &Durable) -> Seen {
    let kept = durable.load().expect("readable").unwrap_or_default();
    let mut store = taken_up(&kept);
    let (text, revision) = (text_of(&store), store.revision());
    let unrolled = kept.held.is_some().then(|| {
        super::hold_again(&mut store, &kept);
        store
            .unroll(By::default(), menu::Policies::ALL)
            .expect("it is held");
        text_of(&store)
    });
    Seen {
        text,
        revision,
        unrolled,
    }
}

/// Runs the commands on a new disk until the power fails at this sync; returns the disk and the number of acknowledged
/// commands.
fn until_cut(cut: Option<usize>) -> (Disk, usize) {
    let disk = Disk::default();
    // The database is renamed after its creation, so the power cannot fail during the creation.
    let mut durable = Durable::on(disk.clone(), &key()).expect("an empty disk");
    disk.cut_at(cut.map(|cut| disk.syncs() + cut));
    let mut store = schema::store();
    if durable.replace(&store.save()).is_err() {
        return (disk, 0);
    }
    store.set_journal(Box::new(durable));
    let refused = COMMANDS.iter().position(|text| !command(&mut store, text));
    assert_eq!(refused.is_some(), disk.is_dead());
    (disk, refused.unwrap_or(COMMANDS.len()))
}

/// Returns the expected states, by number of commands.
fn states() -> Vec<Seen> {
    let mut all = Vec::new();
    for count in 0..=COMMANDS.len() {
        let disk = Disk::default();
        let mut durable = Durable::on(disk.clone(), &key()).expect("an empty disk");
        let mut store = schema::store();
        durable.replace(&store.save()).expect("there is power");
        store.set_journal(Box::new(durable));
        let done = COMMANDS[..count]
            .iter()
            .all(|text| command(&mut store, text));
        assert!(done, "{count}");
        drop(store);
        all.push(seen(&Durable::on(disk, &key()).expect("what was written")));
    }
    all
}

#[test]
fn what_is_acknowledged_survives_every_cut_and_nothing_is_half() {
    let states = states();
    let made = Disk::default();
    drop(Durable::on(made.clone(), &key()).expect("an empty disk"));
    let (whole, _) = until_cut(None);
    let syncs = whole.syncs() - made.syncs();
    assert!(syncs > COMMANDS.len(), "each command is synced");

    for cut in 0..=syncs {
        for seed in 0..6 {
            let (disk, acknowledged) = until_cut(Some(cut));
            let mut rng = Rng::seeded(cut as u64 * 1_000 + seed);
            let durable = Durable::on(disk.after_power_loss(&mut rng), &key());
            let durable = durable.unwrap_or_else(|error| panic!("cut {cut} seed {seed}: {error}"));

            let found = seen(&durable);

            // The unacknowledged command may have taken effect, completely.
            let mut allowed = states[acknowledged..].iter().take(2);
            let fits = allowed.any(|state| *state == found);
            assert!(
                fits,
                "cut {cut} seed {seed}: after {acknowledged} {found:#?}"
            );
        }
    }
}

#[test]
fn a_folder_in_which_the_database_was_not_finished_is_begun_anew() {
    let folder = folder();
    std::fs::create_dir_all(&folder).expect("a new folder");
    std::fs::write(folder.join("configuration.new"), b"half of it").expect("a file");

    let durable = opened(&folder);

    assert!(durable.is_ok_and(|durable| durable.load().is_ok_and(|kept| kept.is_none())));
    assert!(!folder.join("configuration.new").exists());
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn the_store_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder();
    // Another program created the folder with permissions for everybody.
    std::fs::create_dir_all(&folder).expect("a new folder");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&folder, open).expect("our folder");

    let durable = opened(&folder).expect("an empty folder");

    let file = std::fs::metadata(folder.join(FILE)).expect("it was made");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    drop(durable);

    // A file of an earlier version, or a copied file.
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.join(FILE), open).expect("our file");
    let durable = opened(&folder).expect("a configuration");

    let file = std::fs::metadata(folder.join(FILE)).expect("it is there");
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    drop(durable);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn the_undo_log_is_limited_and_a_too_large_change_clears_it() {
    let disk = Disk::default();
    let mut store = schema::store();
    store.set_journal(Box::new(
        Durable::on(disk.clone(), &key()).expect("an empty disk"),
    ));
    for number in 0..super::LOGGED + 10 {
        run(&mut store, &format!("/system identity set name=n{number}")).expect("a name");
    }
    let logged = |disk: &Disk| -> Vec<u64> {
        let durable = Durable::on(disk.clone(), &key()).expect("what was written");
        let kept = durable.load().expect("readable").unwrap_or_default();
        kept.log.iter().map(|changes| changes.revision).collect()
    };
    drop(store);
    assert_eq!(logged(&disk).len(), super::LOGGED);
    assert_eq!(logged(&disk).first(), Some(&11));

    let durable = Durable::on(disk.clone(), &key()).expect("what was written");
    let mut store = taken_up(&durable.load().expect("readable").unwrap_or_default());
    store.set_journal(Box::new(durable));
    let large = "x".repeat(super::LOG_BYTES / 100);
    let add = |number: u8| format!("/system script add name=s{number} source={large}\n");
    let scripts: String = (0..101).map(add).collect();
    run(&mut store, &scripts).expect("scripts may be long");
    run(&mut store, "/system identity set name=last").expect("a name");
    let last = store.revision();
    drop(store);

    assert_eq!(logged(&disk), [last]);
}

/// Creates a store on a new disk.
fn on_disk() -> (Disk, Store) {
    let disk = Disk::default();
    let mut store = schema::store();
    let durable = Durable::on(disk.clone(), &key()).expect("an empty disk");
    store.set_journal(Box::new(durable));
    (disk, store)
}

#[test]
fn commands_of_a_script_wait_for_the_disk_together() {
    let (disk, mut store) = on_disk();
    let before = disk.syncs();
    run_line(&mut store, "/interface/list/add name=single");
    let single = disk.syncs() - before;
    let before = disk.syncs();

    run_line(
        &mut store,
        ":for i from=1 to=200 do={/interface/list/add name=\"l$i\"}",
    );

    assert_eq!(disk.syncs() - before, single);
    drop(store);
    let durable = Durable::on(disk, &key()).expect("what was written");
    let kept = durable.load().expect("readable").expect("it was kept");
    let store = taken_up(&kept);
    assert!(store.named("interface-list", "l200").is_some());
    assert_eq!(store.history().count(), super::LOGGED.min(201));
}

#[test]
fn a_script_prints_only_after_its_changes_are_on_disk() {
    /// Records the number of syncs at each line.
    struct Lines(Disk, Vec<usize>);

    impl menu::Output for Lines {
        fn write(&mut self, _: &str) -> std::ops::ControlFlow<()> {
            self.1.push(self.0.syncs());
            std::ops::ControlFlow::Continue(())
        }
    }

    let (disk, mut store) = on_disk();
    let mut lines = Lines(disk, Vec::new());
    let text = ":for i from=1 to=3 do={/interface/list/add name=\"l$i\"; :put $i; :put again}";
    let mut session = Session::new("admin");

    let done = script::run(
        &mut store,
        &mut menu::Offline,
        &mut session,
        text,
        &mut lines,
    );

    done.expect("new names");
    let syncs = lines.1;
    assert_eq!(syncs.len(), 6);
    for pair in syncs.chunks(2) {
        assert_eq!(pair[0], pair[1], "nothing was changed in between");
    }
    assert!(syncs[0] < syncs[2] && syncs[2] < syncs[4], "{syncs:?}");
}

#[test]
fn a_group_that_the_disk_refuses_is_reverted_and_can_be_repeated() {
    let (disk, mut store) = on_disk();
    run_line(&mut store, "/interface/list/add name=before");
    let revision = store.revision();
    disk.full_after(Some(0));
    let text = ":for i from=1 to=3 do={/interface/list/add name=\"l$i\"; /interface/list/set before comment=\"$i\"}";
    let refused = try_line(&mut store, text).expect_err("the disk is full");
    assert!(
        matches!(refused.reason, menu::Reason::Storage(_)),
        "{refused}"
    );
    // The disk has none of the change, and neither has the running configuration.
    assert_eq!(store.revision(), revision);
    assert!(store.named("interface-list", "l1").is_none());
    let before = store
        .named("interface-list", "before")
        .expect("it is older");
    assert_eq!(before.text("comment"), "");
    assert!(store.history().all(|changes| changes.revision <= revision));
    disk.full_after(None);

    run_line(&mut store, "/interface/list/add name=after");
    run_line(&mut store, text);

    drop(store);
    let durable = Durable::on(disk, &key()).expect("what was written");
    let kept = durable.load().expect("readable").expect("it was kept");
    let store = taken_up(&kept);
    for name in ["before", "l1", "l3", "after"] {
        assert!(store.named("interface-list", name).is_some(), "{name}");
    }
}

fn try_line(store: &mut Store, text: &str) -> Result<(), menu::Refusal> {
    let (mut session, mut out) = (Session::new("admin"), String::new());
    script::run(store, &mut menu::Offline, &mut session, text, &mut out)
}

fn run_line(store: &mut Store, text: &str) {
    try_line(store, text).expect("the line runs");
}
