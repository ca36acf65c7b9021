//! What must hold of every declaration.

use std::collections::BTreeSet;

use menu::{Kind, Menu, Property};

use super::{ALL, store};

fn everything() -> impl Iterator<Item = (&'static Menu, &'static Property)> {
    ALL.iter()
        .flat_map(|menu| menu.properties().map(|property| (*menu, property)))
}

#[test]
fn every_default_is_a_value_of_its_type() {
    let store = store();
    for (menu, property) in everything() {
        if let Some(text) = property.default {
            let value = store.parse(property, text);
            assert!(
                matches!(&value, Ok(Some(v)) if v.to_string() == text),
                "{menu:?} {property:?}: {value:?}"
            );
        }
    }
}

#[test]
fn every_property_and_menu_is_declared_once_and_has_its_help() {
    let paths: BTreeSet<_> = ALL.iter().map(|menu| menu.path).collect();
    assert_eq!(paths.len(), ALL.len());
    for menu in ALL {
        let names: BTreeSet<_> = menu.properties().map(|property| property.name).collect();
        assert_eq!(names.len(), menu.properties().count(), "{menu:?}");
        assert!(!menu.help.is_empty());
    }
    for (menu, property) in everything() {
        assert!(!property.help.is_empty(), "{menu:?} {}", property.name);
        assert!(
            !(property.read_only && property.required),
            "{menu:?} {}",
            property.name
        );
    }
}

#[test]
fn what_a_declaration_names_exists() {
    for menu in ALL {
        let known = |name: &str| menu.property(name).is_some();
        let extra = ["switch"];
        for name in menu.columns.iter().chain(menu.stats).chain(menu.sort) {
            assert!(known(name) || extra.contains(name), "{menu:?} {name}");
        }
        for name in menu.unique.iter().flat_map(|unique| unique.properties) {
            assert!(known(name), "{menu:?} {name}");
        }
        for builtin in menu.builtin.iter().chain(menu.supposed) {
            let known = |(name, _): &(&str, &str)| *name == ".id" || known(name);
            assert!(builtin.values.iter().all(known), "{menu:?}");
        }
        for follow in menu.follows {
            let there = ALL.iter().any(|menu| menu.path == follow.path);
            assert!(there, "{menu:?} {}", follow.path);
            assert!(
                follow.values.iter().all(|(name, _)| known(name)),
                "{menu:?}"
            );
        }
        for old in menu.old {
            assert!(
                old.becomes.is_empty() || known(old.becomes),
                "{menu:?} {}",
                old.name
            );
        }
        assert!(menu.key.is_none_or(known), "{menu:?}");
    }
}

#[test]
fn a_reference_leads_to_a_space_that_a_menu_fills() {
    let spaces: BTreeSet<_> = ALL.iter().filter_map(|menu| menu.space).collect();
    for (menu, property) in everything() {
        if let Some(space) = property.kind.space() {
            assert!(spaces.contains(space), "{menu:?} {} {space}", property.name);
        }
        assert!(
            property.kind != Kind::Presence || property.unset,
            "{menu:?} {}",
            property.name
        );
    }
}

#[test]
fn a_fresh_store_has_what_the_factory_gives() {
    let store = store();

    let lists: Vec<_> = store
        .items("/interface/list")
        .filter_map(|i| i.name())
        .collect();
    assert_eq!(lists, ["all", "none", "dynamic", "static"]);
    assert_eq!(
        store
            .settings("/system/identity")
            .map(|i| i.text("name").to_owned()),
        Some("ferroute".into())
    );
    assert_eq!(
        store.named("routing-table", "main").map(|i| i.is("fib")),
        Some(true)
    );
    assert_eq!(store.revision(), 0);
}
