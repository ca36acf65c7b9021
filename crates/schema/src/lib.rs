//! The menus of the configuration, declared as constants. The folder is the path: `/ip/address`
//! is `ip/address.rs`. No behaviour lives here but small pure hooks of a declaration.
//!
//! To add a property, add its line to the menu's list; everything else follows from it. To add a
//! menu, add its file and a line to `LISTED`, or to the `MENUS` of the folder that it is in. A
//! small menu may stand in the file of the one above it.

#![forbid(unsafe_code)]

mod app;
mod area;
mod brief;
mod caps_man;
mod capsman;
mod certificate;
mod conditions;
mod console;
mod container;
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
mod wifi;
mod zerotier;

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
    folders::MENUS,
    interface::ethernet::switch::crs::MENUS,
    interface::ethernet::switch::crs_qos::MENUS,
    interface::ethernet::switch::qos::MENUS,
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
    tool::user_manager::MENUS,
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
    zerotier::MENUS,
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
    &file::MENU,
    &safe_mode::MENU,
    &system::backup::MENU,
    &system::configuration::MENU,
    &system::configuration::EFFECTS,
    &system::configuration::HISTORY,
    &system::history::MENU,
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
    &interface::bonding::MENU,
    &interface::bridge::MENU,
    &interface::bridge::calea::MENU,
    &interface::bridge::filter::MENU,
    &interface::bridge::host::MENU,
    &interface::bridge::nat::MENU,
    &interface::bridge::mdb::MENU,
    &interface::bridge::msti::MENU,
    &interface::bridge::mlag::MENU,
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
    &interface::ethernet::switch::l3hw_settings::ADVANCED,
    &interface::ethernet::switch::port::MENU,
    &interface::ethernet::switch::port_isolation::MENU,
    &interface::ethernet::switch::rule::MENU,
    &interface::ethernet::switch::trunk::MENU,
    &interface::ethernet::switch::vlan::MENU,
    &interface::gre6::MENU,
    &interface::gre::MENU,
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
    &interface::lte::esim::MENU,
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
    &interface::pwr_line::MENU,
    &interface::loopback::MENU,
    &interface::ppp_client::MENU,
    &interface::ppp_server::MENU,
    &interface::pppoe_client::MENU,
    &interface::pppoe_server::MENU,
    &interface::pppoe_server::server::MENU,
    &interface::pptp_client::MENU,
    &interface::pptp_server::MENU,
    &interface::pptp_server::server::MENU,
    &interface::six_to_four::MENU,
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
    &interface::w60g::MENU,
    &interface::w60g::station::MENU,
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
    &interface::wifi::network::radio::MENU,
    &interface::wifi::provisioning::MENU,
    &interface::wifi::radio::MENU,
    &interface::wifi::radio::settings::MENU,
    &interface::wifi::registration_table::MENU,
    &interface::wifi::security::MENU,
    &interface::wifi::security::multi_passphrase::MENU,
    &interface::wifi::steering::MENU,
    &interface::wifi::steering::neighbor_group::MENU,
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
    &interface::wireless::info::MENU,
    &interface::wireless::sniffer::MENU,
    &interface::wireless::sniffer::packet::MENU,
    &interface::wireless::snooper::MENU,
    &interface::wireless::wds::MENU,
    &ip::accounting::MENU,
    &ip::accounting::web_access::MENU,
    &ip::address::MENU,
    &ip::arp::MENU,
    &ip::cloud::MENU,
    &ip::cloud::advanced::MENU,
    &ip::cloud::back_to_home_file::MENU,
    &ip::cloud::back_to_home_file::SETTINGS,
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
    &mpls::forwarding_table::MENU,
    &mpls::interface::MENU,
    &mpls::ldp::MENU,
    &mpls::ldp::accept_filter::MENU,
    &mpls::ldp::advertise_filter::MENU,
    &mpls::ldp::interface::MENU,
    &mpls::ldp::local_mapping::MENU,
    &mpls::ldp::neighbor::MENU,
    &mpls::ldp::remote_mapping::MENU,
    &mpls::mangle::MENU,
    &mpls::settings::MENU,
    &mpls::traffic_eng::flow::MENU,
    &mpls::traffic_eng::interface::MENU,
    &mpls::traffic_eng::path::MENU,
    &mpls::traffic_eng::tunnel::MENU,
    &ppp::aaa::MENU,
    &ppp::active::MENU,
    &ppp::l2tp_secret::MENU,
    &ppp::profile::MENU,
    &ppp::secret::MENU,
    &queue::interface::MENU,
    &queue::r#type::MENU,
    &queue::simple::MENU,
    &queue::tree::MENU,
    &routing::bfd::configuration::MENU,
    &routing::bfd::interface::MENU,
    &routing::bfd::session::MENU,
    &routing::bgp::advertisements::MENU,
    &routing::bgp::aggregate::MENU,
    &routing::bgp::evpn::MENU,
    &routing::bgp::instance::MENU,
    &routing::bgp::instance::vrf::MENU,
    &routing::bgp::network::MENU,
    &routing::bgp::connection::MENU,
    &routing::bgp::session::MENU,
    &routing::bgp::template::MENU,
    &routing::bgp::vpls::MENU,
    &routing::bgp::vpn::MENU,
    &routing::fantasy::MENU,
    &routing::filter::MENU,
    &routing::filter::chain::MENU,
    &routing::filter::community_ext_list::MENU,
    &routing::filter::community_large_list::MENU,
    &routing::filter::community_list::MENU,
    &routing::filter::num_list::MENU,
    &routing::filter::rule::MENU,
    &routing::filter::select_rule::MENU,
    &routing::gmp::MENU,
    &routing::id::MENU,
    &routing::igmp_proxy::MENU,
    &routing::igmp_proxy::interface::MENU,
    &routing::igmp_proxy::mfc::MENU,
    &routing::isis::instance::MENU,
    &routing::isis::interface::MENU,
    &routing::isis::interface_template::MENU,
    &routing::isis::lsp::MENU,
    &routing::isis::neighbor::MENU,
    &routing::mme::MENU,
    &routing::mme::interface::MENU,
    &routing::mme::network::MENU,
    &routing::nexthop::MENU,
    &routing::ospf::area::MENU,
    &routing::ospf::area::range::MENU,
    &routing::ospf::instance::MENU,
    &routing::ospf::interface::MENU,
    &routing::ospf::interface_template::MENU,
    &routing::ospf::lsa::MENU,
    &routing::ospf::nbma_neighbor::MENU,
    &routing::ospf::neighbor::MENU,
    &routing::ospf::sham_link::MENU,
    &routing::ospf::static_neighbor::MENU,
    &routing::ospf::virtual_link::MENU,
    &routing::ospf_v3::area::MENU,
    &routing::ospf_v3::instance::MENU,
    &routing::ospf_v3::interface::MENU,
    &routing::pimsm::bsr::MENU,
    &routing::pimsm::bsr::candidate::MENU,
    &routing::pimsm::bsr::rp_candidate::MENU,
    &routing::pimsm::bsr::rp_set::MENU,
    &routing::pimsm::igmp_interface_template::MENU,
    &routing::pimsm::instance::MENU,
    &routing::pimsm::interface::MENU,
    &routing::pimsm::interface_template::MENU,
    &routing::pimsm::neighbor::MENU,
    &routing::pimsm::static_rp::MENU,
    &routing::pimsm::uib_g::MENU,
    &routing::pimsm::uib_sg::MENU,
    &routing::rip::MENU,
    &routing::rip::instance::MENU,
    &routing::rip::interface::MENU,
    &routing::rip::interface_template::MENU,
    &routing::rip::keys::MENU,
    &routing::rip::neighbor::MENU,
    &routing::rip::network::MENU,
    &routing::rip::static_neighbor::MENU,
    &routing::route::MENU,
    &routing::rpki::MENU,
    &routing::rpki::session::MENU,
    &routing::rule::MENU,
    &routing::settings::MENU,
    &routing::stats::memory::MENU,
    &routing::stats::origin::MENU,
    &routing::stats::pcap::MENU,
    &routing::stats::process::MENU,
    &routing::stats::step::MENU,
    &routing::table::MENU,
    &system::identity::MENU,
    &system::resource::MENU,
    &system::scheduler::MENU,
    &system::script::MENU,
    &system::script::environment::ROOT,
    &system::script::environment::MENU,
    &system::script::job::MENU,
    &tool::drop::MENU,
    &user::MENU,
    &user::aaa::MENU,
    &user::active::MENU,
    &user::group::MENU,
    &user::settings::MENU,
    &user::ssh_keys::MENU,
];

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
