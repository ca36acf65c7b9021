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
    &ip::accounting::MENU,
    &ip::accounting::web_access::MENU,
    &ip::address::MENU,
    &ip::arp::MENU,
    &ip::cloud::MENU,
    &ip::cloud::advanced::MENU,
    &ip::cloud::back_to_home_file::MENU,
    &ip::cloud::back_to_home_user::MENU,
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
    &ip::kid_control::MENU,
    &ip::kid_control::device::MENU,
    &ip::media::MENU,
    &ip::media::settings::MENU,
    &ip::nat_pmp::MENU,
    &ip::nat_pmp::interfaces::MENU,
    &ip::neighbor::MENU,
    &ip::neighbor::discovery_settings::MENU,
    &ip::neighbor::lldp::MENU,
    &ip::packing::MENU,
    &ip::pool::MENU,
    &ip::pool::used::MENU,
    &ip::proxy::MENU,
    &ip::proxy::access::MENU,
    &ip::proxy::cache::MENU,
    &ip::proxy::cache_contents::MENU,
    &ip::proxy::connections::MENU,
    &ip::proxy::direct::MENU,
    &ip::proxy::inserts::MENU,
    &ip::proxy::lookups::MENU,
    &ip::proxy::refreshes::MENU,
    &ip::reverse_proxy::MENU,
    &ip::route::MENU,
    &ip::service::MENU,
    &ip::service::webserver::MENU,
    &ip::settings::MENU,
    &ip::smb::MENU,
    &ip::smb::shares::MENU,
    &ip::smb::users::MENU,
    &ip::socks::MENU,
    &ip::socks::access::MENU,
    &ip::socks::connections::MENU,
    &ip::socks::users::MENU,
    &ip::socksify::MENU,
    &ip::ssh::MENU,
    &ip::tftp::MENU,
    &ip::tftp::settings::MENU,
    &ip::traffic_flow::MENU,
    &ip::traffic_flow::ipfix::MENU,
    &ip::traffic_flow::target::MENU,
    &ip::upnp::MENU,
    &ip::upnp::interfaces::MENU,
    &ip::vrf::MENU,
    &ipv6::address::MENU,
    &ipv6::dhcp_client::MENU,
    &ipv6::dhcp_client::option::MENU,
    &ipv6::dhcp_relay::MENU,
    &ipv6::dhcp_relay::option::MENU,
    &ipv6::dhcp_relay::routes::MENU,
    &ipv6::dhcp_server::MENU,
    &ipv6::dhcp_server::binding::MENU,
    &ipv6::dhcp_server::option::MENU,
    &ipv6::dhcp_server::option::sets::MENU,
    &ipv6::firewall::address_list::MENU,
    &ipv6::firewall::connection::MENU,
    &ipv6::firewall::filter::MENU,
    &ipv6::firewall::mangle::MENU,
    &ipv6::firewall::nat::MENU,
    &ipv6::firewall::raw::MENU,
    &ipv6::nd::MENU,
    &ipv6::nd::prefix::MENU,
    &ipv6::nd::prefix::default::MENU,
    &ipv6::nd::proxy::MENU,
    &ipv6::nd::settings::MENU,
    &ipv6::neighbor::MENU,
    &ipv6::pool::MENU,
    &ipv6::pool::used::MENU,
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
