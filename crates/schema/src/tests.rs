//! Rules for all declarations.

mod order;

use std::collections::BTreeSet;

use menu::{Effect, Kind, Menu, Policies, Property};

use super::{ALL, store};

fn everything() -> impl Iterator<Item = (&'static Menu, &'static Property)> {
    ALL.iter()
        .flat_map(|menu| menu.properties().map(|property| (*menu, property)))
}

#[test]
fn every_default_is_a_value_of_its_type() {
    let store = store();
    let wrong = everything().filter_map(|(menu, property)| {
        let text = property.default?;
        let value = store.parse(property, text);
        let same = matches!(&value, Ok(Some(v)) if v.to_string() == text);
        (!same).then(|| format!("{menu:?} {} {text}: {value:?}", property.name))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
    let mut wrong = Vec::new();
    for menu in ALL {
        let known = |name: &str| menu.property(name).is_some() || [".id", "switch"].contains(&name);
        let mut names: Vec<&str> = Vec::new();
        names.extend(menu.columns.iter().chain(menu.stats).chain(menu.sort));
        let unique = menu.unique.iter().chain(menu.distinct);
        names.extend(unique.flat_map(|unique| unique.properties));
        let builtin = menu.builtin.iter().chain(menu.supposed);
        let values = builtin.flat_map(|builtin| builtin.values);
        let follows = menu.follows.iter().flat_map(|follow| follow.values);
        names.extend(values.chain(follows).map(|(name, _)| name));
        let old = menu.old.iter().map(|old| old.becomes);
        names.extend(old.filter(|name| !name.is_empty()));
        names.extend(menu.key);
        let unknown = names.into_iter().filter(|name| !known(name));
        wrong.extend(unknown.map(|name| format!("{menu:?} {name}")));
        let paths = menu.follows.iter().map(|follow| follow.path);
        let lost = paths.filter(|path| !ALL.iter().any(|menu| menu.path == *path));
        wrong.extend(lost.map(|path| format!("{menu:?} follows {path}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The policies of RouterOS's group `read` that commands need.
const READER: Policies = Policies::READ
    .or(Policies::TEST)
    .or(Policies::SNIFF)
    .or(Policies::SENSITIVE)
    .or(Policies::REBOOT);

/// Commands with which group `read` examines the router and the network.
const FOR_READERS: &str = "\
    /console/inspect /file/read /interface/bonding/monitor /interface/bonding/monitor-slaves \
    /interface/bridge/monitor /interface/bridge/port/monitor /interface/ethernet/monitor \
    /interface/l2tp-client/monitor /interface/l2tp-ether/monitor /interface/l2tp-server/monitor /interface/monitor-traffic \
    /interface/ovpn-client/monitor /interface/ovpn-server/monitor \
    /interface/pppoe-client/monitor /interface/pppoe-client/scan /interface/pppoe-server/monitor \
    /interface/pptp-client/monitor /interface/pptp-server/monitor \
    /interface/sstp-client/monitor /interface/sstp-server/monitor \
    /interface/wireguard/peers/show-client-config /interface/wireguard/wg-export \
    /ip/dhcp-relay/monitor /ip/route/check \
    /log/debug /log/error /log/info /log/warning /radius/incoming/monitor /radius/monitor \
    /system/configuration/diff \
    /tool/bandwidth-test /tool/calculate /tool/fetch /tool/flood-ping /tool/ip-scan /tool/ping /tool/ping-speed \
    /tool/profile /tool/sniffer/quick /tool/speed-test /tool/torch /tool/trace /tool/traceroute \
    /tool/traffic-generator/quick";

#[test]
fn group_read_may_run_only_commands_that_change_nothing() {
    let mut allowed = BTreeSet::new();
    for menu in ALL.iter().filter(|menu| menu.path != "/terminal") {
        let own = menu
            .commands
            .iter()
            .filter(|command| !menu.is_idle(command.name));
        let own = own.filter(|command| READER.contains(Policies::needed(menu, command.name)));
        allowed.extend(own.map(|command| format!("{}/{}", menu.path, command.name)));
    }

    let wanted: BTreeSet<_> = FOR_READERS.split_whitespace().map(str::to_owned).collect();
    assert_eq!(allowed, wanted);
}

#[test]
fn a_reference_leads_to_a_space_that_a_menu_fills() {
    let spaces: BTreeSet<_> = ALL.iter().filter_map(|menu| menu.space).collect();
    let mut wrong = Vec::new();
    for (menu, property) in everything() {
        let unknown = property.kind.spaces().into_iter();
        let unknown = unknown.filter(|space| !spaces.contains(space));
        wrong.extend(unknown.map(|space| format!("{menu:?} {} {space}", property.name)));
        if property.kind == Kind::Presence && !property.unset {
            wrong.push(format!("{menu:?} {} cannot be unset", property.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_fresh_store_has_the_default_items() {
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

#[test]
fn every_area_lacks_an_effect_and_every_gap_has_an_area() {
    let store = store();
    let lacks = |menu: &&&'static Menu| {
        menu.is_configuration() && (menu.effect == Effect::None || menu.idle.is_some())
    };
    let nameless = ALL
        .iter()
        .filter(lacks)
        .filter(|menu| store.area(menu).starts_with('/'));
    let nameless: Vec<_> = nameless.map(|menu| menu.path).collect();
    assert_eq!(nameless, [""; 0]);
    let named = crate::area::AREAS.iter();
    let named = named.flat_map(|area| area.menus.iter().map(|path| (area.name, *path)));
    let whole = named.filter(|(_, path)| {
        let below = |menu: &&&'static Menu| {
            let rest = menu.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut menus = ALL.iter().filter(below);
        !menus.any(|menu| lacks(&menu))
    });
    assert_eq!(whole.collect::<Vec<_>>(), []);
}
