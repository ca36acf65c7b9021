//! What is exported is imported again: the same items, and the same text.

mod beside;

use std::collections::BTreeMap;

use menu::export::{Options, Style, export};
use menu::{Shape, Store};

use beside::shared;

fn exported(store: &Store, style: Style) -> String {
    let options = Options {
        style,
        sensitive: true,
        ..Options::default()
    };
    let mut text = String::new();
    let _ = export(store, &options, &mut text);
    text
}

/// The items of all menus as texts, those of an ordered menu with their places. Passwords of users
/// are not exported, and what parts the machine has is not the file's to say.
fn items(store: &Store) -> BTreeMap<&'static str, Vec<String>> {
    let mut all = BTreeMap::new();
    let menus = store.menus().iter();
    for menu in menus.filter(|menu| menu.is_configuration() && menu.parts == 0) {
        let mut texts: Vec<String> = store
            .items(menu.path)
            .map(|item| {
                let values = item.values().filter(|(property, _)| {
                    !property.read_only && (menu.path, property.name) != ("/user", "password")
                });
                values
                    .map(|(p, value)| format!("{}={value} ", p.name))
                    .collect()
            })
            .collect();
        if menu.shape != Shape::Ordered {
            texts.sort();
        }
        all.insert(menu.path, texts);
    }
    all
}

/// What differs between the items of a file and those of its export, read again; `None` where the
/// file has errors, for what a check supposes then is no item.
fn differences(text: &str) -> Option<Vec<String>> {
    let mut first = schema::store();
    if !script::check(&mut first, text).refused.is_empty() {
        return None;
    }
    let once = exported(&first, Style::Compact);
    let mut second = schema::store();
    // An export says nothing of a port that nobody has changed.
    let ports: Vec<_> = first.members("interface").filter(|i| i.is_port()).collect();
    for port in ports {
        let _ = second.ensure_port(port.text("default-name"), None);
    }
    let bytes = menu::bytes::to_bytes(&once);
    let report = script::check(&mut second, &menu::bytes::from_bytes(&bytes));
    let refused = report.refused.iter();
    let mut wrong: Vec<_> = refused
        .map(|r| format!("{}: {}", r.reason, r.command))
        .collect();
    let (first, again) = (items(&first), items(&second));
    for (path, items) in &first {
        let others = again.get(path).map(Vec::as_slice).unwrap_or_default();
        let gone = items.iter().filter(|item| !others.contains(item));
        let new = others.iter().filter(|item| !items.contains(item));
        wrong.extend(gone.map(|item| format!("- {path} {item}")));
        wrong.extend(new.map(|item| format!("+ {path} {item}")));
        if wrong.is_empty() && items != others {
            wrong.push(format!("{path}: another order"));
        }
    }
    if wrong.is_empty() && exported(&second, Style::Compact) != once {
        wrong.push(String::from("the second export is another text"));
    }
    Some(wrong)
}

#[test]
fn an_export_makes_the_items_again_that_it_was_made_of() {
    let Some(corpus) = shared(
        "an_export_makes_the_items_again_that_it_was_made_of",
        "corpus/exports",
    ) else {
        return;
    };
    let (mut wrong, mut compared) = (Vec::new(), 0);
    let mut files: Vec<_> = std::fs::read_dir(corpus)
        .expect("the folder is readable")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    for file in &files {
        let bytes = std::fs::read(file).expect("the file is readable");
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if let Some(found) = differences(&menu::bytes::from_bytes(&bytes)) {
            compared += 1;
            wrong.extend(found.into_iter().map(|line| format!("{name}: {line}")));
        }
    }
    eprintln!("{compared} of {} files are without errors", files.len());
    assert!(compared * 2 > files.len(), "{compared}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
