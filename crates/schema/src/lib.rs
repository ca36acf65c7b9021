//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to [`ALL`].

#![forbid(unsafe_code)]

mod brief;
mod caps_man;
mod capsman;
mod firewall;
mod fragment;
mod interface;
mod interworking;
mod ip;
mod ipv6;
mod log;
mod ppp;
mod queue;
mod radio;
mod routing;
mod system;
mod terms;
mod wifi;

use menu::{Menu, Store};

/// The version that the configuration language is that of; defaults follow it.
pub const VERSION: &str = "7.22.1";

/// All menus, in the order of their paths.
pub const ALL: &[&Menu] = &[
    &caps_man::aaa::MENU,
    &caps_man::access_list::MENU,
    &caps_man::actual_interface_configuration::MENU,
    &caps_man::channel::MENU,
    &caps_man::configuration::MENU,
    &caps_man::datapath::MENU,
    &caps_man::interface::MENU,
    &caps_man::manager::MENU,
    &caps_man::manager::interface::MENU,
    &caps_man::provisioning::MENU,
    &caps_man::radio::MENU,
    &caps_man::rates::MENU,
    &caps_man::registration_table::MENU,
    &caps_man::remote_cap::MENU,
    &caps_man::security::MENU,
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
    &interface::lte::MENU,
    &interface::lte::apn::MENU,
    &interface::lte::settings::MENU,
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
    &interface::wifi::MENU,
    &interface::wifi::aaa::MENU,
    &interface::wifi::access_list::MENU,
    &interface::wifi::cap::MENU,
    &interface::wifi::capsman::MENU,
    &interface::wifi::capsman::remote_cap::MENU,
    &interface::wifi::channel::MENU,
    &interface::wifi::configuration::MENU,
    &interface::wifi::datapath::MENU,
    &interface::wifi::interworking::MENU,
    &interface::wifi::network::MENU,
    &interface::wifi::provisioning::MENU,
    &interface::wifi::radio::MENU,
    &interface::wifi::radio::settings::MENU,
    &interface::wifi::registration_table::MENU,
    &interface::wifi::security::MENU,
    &interface::wifi::security::multi_passphrase::MENU,
    &interface::wifi::steering::MENU,
    &interface::wireguard::MENU,
    &interface::wireguard::peers::MENU,
    &interface::wireless::MENU,
    &interface::wireless::access_list::MENU,
    &interface::wireless::align::MENU,
    &interface::wireless::cap::MENU,
    &interface::wireless::channels::MENU,
    &interface::wireless::connect_list::MENU,
    &interface::wireless::interworking_profiles::MENU,
    &interface::wireless::manual_tx_power_table::MENU,
    &interface::wireless::nstreme::MENU,
    &interface::wireless::nstreme_dual::MENU,
    &interface::wireless::registration_table::MENU,
    &interface::wireless::security_profiles::MENU,
    &interface::wireless::sniffer::MENU,
    &interface::wireless::snooper::MENU,
    &interface::wireless::wds::MENU,
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
];

/// A store of all menus with the factory's defaults: no ports, nothing configured.
pub fn store() -> Store {
    Store::new(ALL)
}

#[cfg(test)]
mod tests;
