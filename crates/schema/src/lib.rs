//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to [`ALL`].

#![forbid(unsafe_code)]

mod brief;
mod file;
mod firewall;
mod fragment;
mod interface;
mod ip;
mod ipv6;
mod log;
mod routing;
mod safe_mode;
mod system;

use menu::{Menu, Store};

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// All menus, in the order of their paths.
pub const ALL: &[&Menu] = &[
    &file::MENU,
    &interface::MENU,
    &interface::ethernet::MENU,
    &interface::list::MENU,
    &interface::list::member::MENU,
    &interface::port::MENU,
    &interface::vlan::MENU,
    &ip::address::MENU,
    &ip::arp::MENU,
    &ip::firewall::address_list::MENU,
    &ip::firewall::calea::MENU,
    &ip::firewall::connection::MENU,
    &ip::firewall::connection::tracking::MENU,
    &ip::firewall::filter::MENU,
    &ip::firewall::layer7_protocol::MENU,
    &ip::firewall::mangle::MENU,
    &ip::firewall::nat::MENU,
    &ip::firewall::raw::MENU,
    &ip::firewall::service_port::MENU,
    &ip::route::MENU,
    &ip::settings::MENU,
    &ipv6::address::MENU,
    &ipv6::firewall::address_list::MENU,
    &ipv6::firewall::connection::MENU,
    &ipv6::firewall::filter::MENU,
    &ipv6::firewall::mangle::MENU,
    &ipv6::firewall::nat::MENU,
    &ipv6::firewall::raw::MENU,
    &ipv6::nd::MENU,
    &ipv6::neighbor::MENU,
    &ipv6::route::MENU,
    &ipv6::settings::MENU,
    &log::MENU,
    &routing::rule::MENU,
    &routing::table::MENU,
    &safe_mode::MENU,
    &system::backup::MENU,
    &system::configuration::MENU,
    &system::configuration::HISTORY,
    &system::history::MENU,
    &system::reset::MENU,
    &system::identity::MENU,
    &system::resource::MENU,
];

/// A store of all menus with the factory's defaults: no ports, nothing configured.
pub fn store() -> Store {
    Store::new(ALL)
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
