//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to [`ALL`].

#![forbid(unsafe_code)]

mod brief;
mod firewall;
mod fragment;
mod interface;
mod ip;
mod ipv6;
mod log;
mod routing;
mod system;

use menu::{Menu, Store};

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// All menus, in the order of their paths.
pub const ALL: &[&Menu] = &[
    &interface::MENU,
    &interface::ethernet::MENU,
    &interface::list::MENU,
    &interface::list::member::MENU,
    &interface::port::MENU,
    &interface::vlan::MENU,
    &ip::address::MENU,
    &ip::arp::MENU,
    &ip::dhcp_client::MENU,
    &ip::dhcp_client::option::MENU,
    &ip::dhcp_relay::MENU,
    &ip::dhcp_server::MENU,
    &ip::dhcp_server::alert::MENU,
    &ip::dhcp_server::config::MENU,
    &ip::dhcp_server::lease::MENU,
    &ip::dhcp_server::matcher::MENU,
    &ip::dhcp_server::network::MENU,
    &ip::dhcp_server::option::MENU,
    &ip::dhcp_server::option::sets::MENU,
    &ip::dns::MENU,
    &ip::dns::adlist::MENU,
    &ip::dns::cache::MENU,
    &ip::dns::cache::all::MENU,
    &ip::dns::forwarders::MENU,
    &ip::dns::statics::MENU,
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
    &ip::hotspot::MENU,
    &ip::hotspot::active::MENU,
    &ip::hotspot::cookie::MENU,
    &ip::hotspot::host::MENU,
    &ip::hotspot::ip_binding::MENU,
    &ip::hotspot::profile::MENU,
    &ip::hotspot::service_port::MENU,
    &ip::hotspot::user::MENU,
    &ip::hotspot::user::profile::MENU,
    &ip::hotspot::walled_garden::MENU,
    &ip::hotspot::walled_garden::ip::MENU,
    &ip::ipsec::active_peers::MENU,
    &ip::ipsec::identity::MENU,
    &ip::ipsec::installed_sa::MENU,
    &ip::ipsec::key::psk::MENU,
    &ip::ipsec::key::qkd::MENU,
    &ip::ipsec::key::rsa::MENU,
    &ip::ipsec::mode_config::MENU,
    &ip::ipsec::peer::MENU,
    &ip::ipsec::policy::MENU,
    &ip::ipsec::policy::group::MENU,
    &ip::ipsec::profile::MENU,
    &ip::ipsec::proposal::MENU,
    &ip::ipsec::settings::MENU,
    &ip::ipsec::statistics::MENU,
    &ip::neighbor::MENU,
    &ip::neighbor::discovery_settings::MENU,
    &ip::neighbor::lldp::MENU,
    &ip::pool::MENU,
    &ip::pool::used::MENU,
    &ip::route::MENU,
    &ip::service::MENU,
    &ip::service::webserver::MENU,
    &ip::settings::MENU,
    &ip::ssh::MENU,
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
