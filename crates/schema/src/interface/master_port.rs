//! `master-port` of `/interface/ethernet`: before version 6.41 it made a switch chip forward between ports.
//!
//! RouterOS: the upgrade to 6.41 added the port and its master port to a bridge with `hw=yes`. If the master
//! port was in no bridge, the upgrade created one, and moved all references to the master port to the bridge.

use std::collections::BTreeMap;

use menu::{Id, Menu, Reason, Store, Value};

const ETHERNET: &str = "/interface/ethernet";
const BRIDGE: &str = "/interface/bridge";
const PORT: &str = "/interface/bridge/port";
const MASTER: &str = "master-port";
/// The comment that RouterOS's upgrade sets on such a bridge.
const COMMENT: &str = "created from master port";

/// Converts master ports to bridges.
pub(super) fn upgrade(store: &mut Store) -> Result<(), Reason> {
    let mut groups = BTreeMap::<String, Vec<(Id, String)>>::new();
    for item in store.items(ETHERNET) {
        let master = item.get(MASTER).map(ToString::to_string);
        let master = master.filter(|master| !master.is_empty() && master != "none");
        if let (Some(master), Some(name)) = (master, item.name()) {
            let slaves = groups.entry(master).or_default();
            slaves.push((item.id, name.to_owned()));
        }
    }
    for (master, slaves) in groups {
        let bridge = match bridge_of(store, &master) {
            Some(bridge) => bridge,
            None => make_bridge(store, &master)?,
        };
        for (id, slave) in slaves {
            if bridge_of(store, &slave).is_none() {
                join(store, &bridge, &slave)?;
            }
            let ethernet = store.menu(ETHERNET).ok_or(Reason::NoItem)?;
            store.set(ethernet, id, &[(MASTER, None)])?;
        }
    }
    Ok(())
}

/// Returns the bridge of a port.
fn bridge_of(store: &Store, interface: &str) -> Option<String> {
    let mut ports = store.items(PORT);
    let port = ports.find(|port| port.text("interface") == interface)?;
    Some(port.text("bridge").to_owned())
}

/// Adds the bridge for a master port, and moves references to the bridge.
fn make_bridge(store: &mut Store, master: &str) -> Result<String, Reason> {
    let menu = store.menu(BRIDGE).ok_or(Reason::NoItem)?;
    let given = [
        ("comment", Some(Value::text(COMMENT))),
        ("protocol-mode", Some(Value::Word("none"))),
    ];
    let id = store.add(menu, &given, None)?;
    let name = store.item(BRIDGE, id).and_then(|item| item.name());
    let name = name.unwrap_or_default().to_owned();
    let stays = |path: &str| path.starts_with(ETHERNET) || path == PORT;
    store.move_references("interface", master, &name, stays);
    join(store, &name, master)?;
    Ok(name)
}

fn join(store: &mut Store, bridge: &str, interface: &str) -> Result<(), Reason> {
    let menu: &'static Menu = store.menu(PORT).ok_or(Reason::NoItem)?;
    let mut given = Vec::new();
    for (name, text) in [("bridge", bridge), ("interface", interface), ("hw", "yes")] {
        let property = menu.property(name).ok_or(Reason::NoItem)?;
        given.push((name, store.parse(property, text)?));
    }
    store.add(menu, &given, None).map(drop)
}
