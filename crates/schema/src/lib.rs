//! Declarations of all menus, as constants. The folder is the path: `/ip/address` is `ip/address.rs`. Apart
//! from small pure hooks, the crate has no behaviour.
//!
//! To add a property, add its line to the menu's list. To add a menu, add its file and a line to `menus.rs`, at
//! its position in exports. A small menu may stand in the file of the menu above it.

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
mod rate_limit;
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
pub use rate_limit::{BadRateLimit, DirectionLimit, RateLimit};

/// The RouterOS version of the configuration language and of the defaults.
pub const VERSION: &str = "7.22.1";

/// Whether the API answers `print` without rows by `!empty`, as RouterOS does since 7.18.
pub const VERSION_SAYS_EMPTY: bool = true;

/// Creates a store with factory defaults: no ports, no configuration.
pub fn store() -> Store {
    let mut store = Store::new(ALL);
    store.set_areas(area::AREAS);
    store
}

/// Returns the question that the console asks before it runs a menu command, if any.
pub fn question(path: &str, command: &str) -> Option<&'static str> {
    match (path, command) {
        ("/system", "reset-configuration") => Some("Dangerous! Reset anyway? [y/N]: "),
        ("/system/backup", "load") => Some("Restore and reboot? [y/N]: "),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
