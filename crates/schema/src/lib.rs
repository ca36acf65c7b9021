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
mod ppp;
mod queue;
mod radius;
mod routing;
mod short;
mod snmp;
mod special_login;
mod spelling;
mod system;
mod task;
mod terms;
mod tool;
mod tr069_client;
mod user;
mod user_manager;

use menu::{Menu, Store};

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// Whether a `print` of the API without rows says so: since 7.18.
pub const VERSION_SAYS_EMPTY: bool = true;

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
    &interface::six_to_four::MENU,
    &interface::bonding::MENU,
    &interface::bridge::MENU,
    &interface::bridge::host::MENU,
    &interface::bridge::mdb::MENU,
    &interface::bridge::msti::MENU,
    &interface::bridge::port::MENU,
    &interface::bridge::port::mst_override::MENU,
    &interface::bridge::port_controller::MENU,
    &interface::bridge::port_extender::MENU,
    &interface::bridge::settings::MENU,
    &interface::bridge::vlan::MENU,
    &interface::bridge::vlan::mvrp::MENU,
    &interface::detect_internet::MENU,
    &interface::detect_internet::state::MENU,
    &interface::dot1x::client::MENU,
    &interface::dot1x::server::MENU,
    &interface::dot1x::server::active::MENU,
    &interface::dot1x::server::state::MENU,
    &interface::eoip::MENU,
    &interface::eoipv6::MENU,
    &interface::ethernet::MENU,
    &interface::ethernet::poe::MENU,
    &interface::ethernet::poe::settings::MENU,
    &interface::ethernet::switch::MENU,
    &interface::ethernet::switch::acl::MENU,
    &interface::ethernet::switch::host::MENU,
    &interface::ethernet::switch::l3hw_settings::MENU,
    &interface::ethernet::switch::port::MENU,
    &interface::ethernet::switch::port_isolation::MENU,
    &interface::ethernet::switch::rule::MENU,
    &interface::ethernet::switch::trunk::MENU,
    &interface::ethernet::switch::vlan::MENU,
    &interface::gre::MENU,
    &interface::gre6::MENU,
    &interface::ipip::MENU,
    &interface::ipipv6::MENU,
    &interface::l2tp_client::MENU,
    &interface::l2tp_ether::MENU,
    &interface::l2tp_server::MENU,
    &interface::l2tp_server::server::MENU,
    &interface::list::MENU,
    &interface::list::member::MENU,
    &interface::macsec::MENU,
    &interface::macsec::profile::MENU,
    &interface::macvlan::MENU,
    &interface::mesh::MENU,
    &interface::mesh::fdb::MENU,
    &interface::mesh::port::MENU,
    &interface::ovpn_client::MENU,
    &interface::ovpn_server::MENU,
    &interface::ovpn_server::server::MENU,
    &interface::port::MENU,
    &interface::pppoe_client::MENU,
    &interface::pppoe_server::MENU,
    &interface::pppoe_server::server::MENU,
    &interface::pptp_client::MENU,
    &interface::pptp_server::MENU,
    &interface::pptp_server::server::MENU,
    &interface::sstp_client::MENU,
    &interface::sstp_server::MENU,
    &interface::sstp_server::server::MENU,
    &interface::veth::MENU,
    &interface::vlan::MENU,
    &interface::vpls::MENU,
    &interface::vrrp::MENU,
    &interface::vxlan::MENU,
    &interface::vxlan::fdb::MENU,
    &interface::vxlan::vteps::MENU,
    &interface::wireguard::MENU,
    &interface::wireguard::peers::MENU,
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
    &ppp::aaa::MENU,
    &ppp::active::MENU,
    &ppp::l2tp_secret::MENU,
    &ppp::profile::MENU,
    &ppp::secret::MENU,
    &queue::interface::MENU,
    &queue::simple::MENU,
    &queue::tree::MENU,
    &queue::r#type::MENU,
    &routing::rule::MENU,
    &routing::table::MENU,
    &system::identity::MENU,
    &system::resource::MENU,
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
