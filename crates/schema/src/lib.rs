//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to `LISTED`, or to the `MENUS` of the folder that it is in. A
//! small menu may stand in the file of the one above it.

#![forbid(unsafe_code)]

mod app;
mod brief;
mod certificate;
mod console;
mod container;
mod disk;
mod dude;
mod file_sync;
mod firewall;
mod fragment;
mod interface;
mod iot;
mod ip;
mod ipv6;
mod lcd;
mod log;
mod openflow;
mod partitions;
mod port;
mod radius;
mod routing;
mod short;
mod snmp;
mod special_login;
mod spelling;
mod system;
mod task;
mod tool;
mod tr069_client;
mod user_manager;

use menu::{Menu, Store};

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// All menus.
pub const ALL: &[&Menu] = &joined::<{ count(GROUPS) }>(GROUPS);

/// The menus of this crate, folder by folder.
const GROUPS: &[&[&Menu]] = &[
    LISTED,
    app::MENUS,
    certificate::MENUS,
    console::MENUS,
    container::MENUS,
    disk::MENUS,
    dude::own::MENUS,
    file_sync::MENUS,
    iot::bluetooth::MENUS,
    iot::lora::MENUS,
    iot::modbus::MENUS,
    iot::mqtt::MENUS,
    iot::wiliot::MENUS,
    lcd::MENUS,
    openflow::MENUS,
    partitions::MENUS,
    port::MENUS,
    radius::MENUS,
    snmp::MENUS,
    special_login::MENUS,
    system::clock::MENUS,
    system::console::MENUS,
    system::device_mode::MENUS,
    system::folder::MENUS,
    system::gps::MENUS,
    system::hardware::MENUS,
    system::keymat::MENUS,
    system::license::MENUS,
    system::logging::MENUS,
    system::note::MENUS,
    system::ntp::MENUS,
    system::package::MENUS,
    system::parts::MENUS,
    system::power::MENUS,
    system::ptp::MENUS,
    system::routerboard::MENUS,
    task::MENUS,
    tool::bandwidth_server::MENUS,
    tool::calea::MENUS,
    tool::e_mail::MENUS,
    tool::folder::MENUS,
    tool::graphing::MENUS,
    tool::mac_server::MENUS,
    tool::netinstall::MENUS,
    tool::netwatch::MENUS,
    tool::romon::MENUS,
    tool::sms::MENUS,
    tool::sniffer::MENUS,
    tool::traffic_generator::MENUS,
    tool::traffic_monitor::MENUS,
    tr069_client::MENUS,
    user_manager::MENUS,
];

/// How many menus the folders have together.
const fn count(groups: &[&[&Menu]]) -> usize {
    let (mut all, mut group) = (0, 0);
    while group < groups.len() {
        all += groups[group].len();
        group += 1;
    }
    all
}

/// The menus of all folders in one list.
const fn joined<const N: usize>(groups: &[&[&'static Menu]]) -> [&'static Menu; N] {
    let mut all = [groups[0][0]; N];
    let (mut at, mut group) = (0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].len() {
            all[at] = groups[group][index];
            at += 1;
            index += 1;
        }
        group += 1;
    }
    all
}

/// Menus that have a file of their own.
const LISTED: &[&Menu] = &[
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
    &system::identity::MENU,
    &system::resource::MENU,
];

/// A store of all menus with the factory's defaults: no ports, nothing configured.
pub fn store() -> Store {
    Store::new(ALL)
}

#[cfg(test)]
mod tests;
