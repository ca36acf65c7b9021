//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to `menus.rs`, at the place that it has in exports. A small menu may
//! stand in the file of the one above it.

#![forbid(unsafe_code)]

mod app;
mod area;
mod caps_man;
mod capsman;
mod certificate;
mod conditions;
mod console;
mod container;
mod declare;
mod dhcp_option;
mod disk;
mod dude;
mod dynamic_routing;
mod file;
mod file_sync;
mod firewall;
mod folders;
mod fragment;
mod interface;
mod interworking;
mod iot;
mod ip;
mod ipv6;
mod lcd;
mod log;
mod menus;
mod mpls;
mod openflow;
mod partitions;
mod port;
mod ppp;
mod queue;
mod radio;
mod radius;
mod routing;
mod safe_mode;
mod snmp;
mod special_login;
mod spelling;
mod system;
mod task;
mod tool;
mod tr069_client;
mod user;
mod user_manager;
mod wifi;
mod zerotier;

use menu::Store;

pub use dhcp_option::bytes as dhcp_option_bytes;
pub use menus::ALL;

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// Whether a `print` of the API without rows says so: since 7.18.
pub const VERSION_SAYS_EMPTY: bool = true;

/// A store of all menus with the factory's defaults: no ports, nothing configured.
pub fn store() -> Store {
    let mut store = Store::new(ALL);
    store.set_areas(area::AREAS);
    store
}

/// What the console asks before it runs a command of a menu: `None` if it just runs it.
pub fn question(path: &str, command: &str) -> Option<&'static str> {
    match (path, command) {
        ("/system", "reset-configuration") => Some("Dangerous! Reset anyway? [y/N]: "),
        ("/system/backup", "load") => Some("Restore and reboot? [y/N]: "),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
