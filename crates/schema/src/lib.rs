//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to [`ALL`].

#![forbid(unsafe_code)]

mod fragment;
mod interface;
mod ip;
mod ipv6;
mod log;
mod routing;
mod system;
mod user;

use menu::{Menu, Store};

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// All menus, in the order of their paths.
pub const ALL: &[&Menu] = &[
    &system::script::environment::ROOT,
    &interface::MENU,
    &interface::ethernet::MENU,
    &interface::list::MENU,
    &interface::list::member::MENU,
    &interface::port::MENU,
    &interface::vlan::MENU,
    &ip::address::MENU,
    &ip::arp::MENU,
    &ip::route::MENU,
    &ip::service::MENU,
    &ip::settings::MENU,
    &ipv6::address::MENU,
    &ipv6::nd::MENU,
    &ipv6::neighbor::MENU,
    &ipv6::route::MENU,
    &ipv6::settings::MENU,
    &log::MENU,
    &routing::rule::MENU,
    &routing::table::MENU,
    &system::identity::MENU,
    &system::resource::MENU,
    &system::scheduler::MENU,
    &system::script::MENU,
    &system::script::environment::MENU,
    &system::script::job::MENU,
    &user::MENU,
    &user::aaa::MENU,
    &user::active::MENU,
    &user::group::MENU,
    &user::settings::MENU,
    &user::ssh_keys::MENU,
];

/// A store of all menus with the factory's defaults: no ports, nothing configured.
pub fn store() -> Store {
    Store::new(ALL)
}

#[cfg(test)]
mod tests;
