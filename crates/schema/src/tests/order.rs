//! The list of menus contains each declared menu once, in the order of exports.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::ALL;

/// The text of the list.
const LIST: &str = include_str!("../menus.rs");

/// The paths of the configuration menus in the order of exports. The order must not change; menus that are not
/// in this list may be anywhere.
const EXPORTED: &str = include_str!("exported.txt");

#[test]
fn exports_keep_the_order_of_their_menus() {
    let known: Vec<_> = EXPORTED.lines().collect();
    let menus = ALL.iter().map(|menu| menu.path);
    let menus: Vec<_> = menus.filter(|path| known.contains(path)).collect();
    let moved = menus.iter().zip(&known).find(|(is, was)| is != was);
    assert_eq!(moved, None, "a menu and the one that stood in its place");
    assert_eq!(menus.len(), known.len(), "a menu is gone");
}

#[test]
fn every_declared_menu_is_on_the_list_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut declared = BTreeMap::new();
    for file in sources(&root) {
        let text = fs::read_to_string(&file).expect("a source is readable");
        let module = module_of(file.strip_prefix(&root).expect("it is below the root"));
        declared.insert(module, text.lines().filter(|line| is_menu(line)).count());
    }
    let mut listed: BTreeMap<_, _> = declared.keys().map(|module| (module.clone(), 0)).collect();
    for entry in LIST
        .lines()
        .filter_map(|line| line.trim().strip_prefix('&'))
    {
        // A module within a file is counted as the file.
        let mut module = entry;
        while !listed.contains_key(module) {
            module = module.rsplit_once("::").expect("a file has the menu").0;
        }
        *listed.entry(module.to_owned()).or_default() += 1;
    }
    let differs = declared.iter().zip(&listed).find(|(is, on)| is != on);
    assert_eq!(
        differs, None,
        "what a file declares and what the list has of it"
    );
}

/// Whether a line begins the declaration of a menu.
fn is_menu(line: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
    line.starts_with("static ") && line.contains(": Menu =")
}

/// All sources below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder is readable");
    let paths = entries.map(|entry| entry.expect("an entry is readable").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| sources(folder));
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "rs");
    files.into_iter().filter(is_source).chain(below).collect()
}

/// `ip::address` for `ip/address.rs`. Rust keywords are replaced.
fn module_of(file: &Path) -> String {
    let names = file.with_extension("");
    let names = names.iter().map(|name| match name.to_str() {
        Some("type") => "r#type",
        Some("static") => "statics",
        name => name.unwrap_or_default(),
    });
    names.collect::<Vec<_>>().join("::")
}
