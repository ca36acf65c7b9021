//! The list of kinds, and the code that names a single kind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::list::KINDS;

#[test]
fn each_menu_of_a_kind_holds_interfaces_and_is_of_one_kind() {
    let store = schema::store();
    let mut menus = BTreeSet::new();
    for path in KINDS.iter().flat_map(|kind| kind.menus) {
        let menu = store.menu(path).expect("a menu of this path");
        assert_eq!(menu.space, Some("interface"), "{path}");
        assert_ne!(menu.kind, "", "{path} has a word for its type");
        assert!(menus.insert(path), "{path} is of two kinds");
    }
}

/// Returns the sources of both layers: file name and text.
fn sources() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![crates.join("router/src"), crates.join("dataplane/src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&crates).expect("below").display();
            files.push((name.to_string(), fs::read_to_string(&path).expect("text")));
        }
    }
    files.sort();
    files
}

/// The null kind and its encapsulation stand for any new kind: two files, a line in each list, and the declaration of
/// a module.
#[test]
fn a_new_kind_changes_the_two_lists_alone() {
    const OWN: [&str; 2] = ["dataplane/src/encap/null.rs", "router/src/kind/null.rs"];
    const LISTS: [&str; 2] = ["dataplane/src/encap/mod.rs", "router/src/kind/list.rs"];
    const DECLARES: &str = "router/src/kind/mod.rs";
    let names_it = |text: &str| {
        let words = ["null::", "Form::Null", "mod null"];
        words.iter().any(|word| text.contains(word))
    };
    let files = sources();
    let named = files.iter().filter(|(_, text)| names_it(text));
    let named: Vec<_> = { named.map(|(path, _)| path.as_str()) }
        .filter(|path| !OWN.contains(path) && *path != DECLARES)
        .filter(|path| !path.ends_with("src/kind/tests.rs"))
        .collect();
    assert_eq!(named, LISTS);
    for (path, text) in files.iter().filter(|(path, _)| LISTS.contains(&&**path)) {
        let lines = text.lines().filter(|line| line.contains("null::"));
        assert_eq!(lines.count(), 1, "the list is one: {path}");
    }
}

#[test]
fn layout_compilers_live_menus_and_snmp_name_no_kind() {
    const ASK: [&str; 6] = [
        "router/src/compile/",
        "router/src/drive/",
        "router/src/live/",
        "router/src/feature/snmp/",
        "router/src/feature/discovery/",
        "router/src/intent",
    ];
    let asks = |path: &str| ASK.iter().any(|part| path.starts_with(part)) && !path.contains("test");
    let modules = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kind"));
    let modules: Vec<_> = { modules.expect("a folder") }
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|path| Some(format!("kind::{}", path.file_stem()?.to_str()?)))
        .filter(|module| !module.ends_with("::mod"))
        .collect();
    assert!(modules.len() > KINDS.len());
    for (path, text) in sources().iter().filter(|(path, _)| asks(path)) {
        for module in &modules {
            assert!(!text.contains(module.as_str()), "{path} names {module}");
        }
    }
}

#[test]
fn a_session_of_l2tp_ether_runs_without_messages_only_if_it_is_static() {
    let setup = crate::drive::Setup::offline(menu::Clock::utc(0));
    let made = crate::Instance::new(&setup, schema::store());
    let (mut router, _) = made.expect("memory");
    let mut running = |settings: &str| {
        let add = "/interface/l2tp-ether add connect-to=192.0.2.1 local-session-id=1";
        let text = format!("{add} remote-session-id=2 {settings}");
        let mut out = String::new();
        let ran = router.run(&mut script::Session::new("admin"), &text, &mut out);
        ran.unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        let layout = router.control().layout.clone();
        let (_, entry) = layout.named("e").expect("it is laid out");
        let is_running = entry.link.running && entry.tunnel.is_some();
        let ran = router.run(
            &mut script::Session::new("admin"),
            "/interface/l2tp-ether remove e",
            &mut out,
        );
        ran.unwrap_or_else(|refusal| panic!("{refusal}"));
        is_running
    };
    assert!(running(
        "name=e unmanaged-mode=yes send-cookie=0011223344556677"
    ));
    assert!(!running("name=e"));
    // Its packets pass only while a policy protects them.
    assert!(running("name=e unmanaged-mode=yes use-ipsec=yes"));
}
