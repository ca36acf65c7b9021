//! All rules, grouped by subject.

mod addressing;
mod board;
mod bridge;
mod deep;
mod exposure;
mod fast;
mod input;
mod ipsec;
mod listeners;
mod mangle;
mod names;
mod nat;
mod nested;
mod queues;
mod reach;
mod secrets;
mod sessions;
mod switched;
mod tunnels;
mod vpn;

use crate::rule::Rule;
pub use board::BOARD_RULES;

/// All rules.
pub const RULES: &[Rule] = &[
    deep::L7_DROP_UNSCOPED,
    deep::L7_ONE_DIRECTION,
    deep::L7_HTTPS,
    names::L7_HOST_NAME,
    deep::TLS_AFTER_FASTTRACK,
    deep::TLS_HOST_NOT_TCP443,
    deep::TLS_HOST_BARE_DOMAIN,
    fast::FASTTRACK_NO_ACCEPT,
    fast::FASTTRACK_BYPASSES_QUEUES,
    fast::FASTTRACK_VS_MARK_ROUTING,
    fast::FASTTRACK_VS_IPSEC,
    fast::FASTTRACK_VS_HOTSPOT,
    fast::FASTTRACK_INACTIVE,
    fast::ALLOW_FAST_PATH_OFF,
    bridge::BRIDGE_FILTER_SLOWPATH,
    switched::BRIDGE_RULE_SWITCHED,
    bridge::USE_IP_FIREWALL_FOR_QUEUE,
    bridge::RULE_ON_SLAVE_INTERFACE,
    bridge::IP_ON_SLAVE_INTERFACE,
    bridge::VLAN_ON_SLAVE_INTERFACE,
    bridge::BRIDGE_IN_BRIDGE_VLAN,
    bridge::BRIDGED_VLAN_ON_PORT,
    bridge::BRIDGED_VLANS_LOOP,
    bridge::VLAN_IDS_MULTI_ACCESS,
    bridge::VLAN_FILTERING_LOCKOUT,
    bridge::BPDU_BY_BRIDGE_FILTER,
    bridge::HORIZON_DISTINCT_VALUES,
    bridge::LAG_HASH_SINGLE_FLOW,
    nat::MASQUERADE_IPSEC,
    nat::MASQUERADE_STATIC_IP,
    nat::MASQUERADE_EVERYTHING,
    nat::NOTRACK_WITHOUT_ACCEPT,
    nat::NOTRACK_ONE_DIRECTION,
    nat::NO_DROP_INVALID,
    nat::DSTNAT_IN_INTERFACE_HAIRPIN,
    input::INPUT_OPEN_WAN,
    input::DNS_OPEN_RESOLVER,
    input::MGMT_SERVICE_OPEN,
    input::BANDWIDTH_SERVER_OPEN,
    input::RP_FILTER_STRICT_MULTIWAN,
    mangle::MANGLE_PACKET_PER_PACKET,
    mangle::MARK_CONNECTION_NOT_NEW,
    queues::QUEUE_TARGET_BRIDGE_PORT,
    queues::SIMPLE_QUEUE_ORDER_SHADOW,
    queues::SIMPLE_QUEUE_BOTH_MATCH,
    queues::QUEUE_CHILD_EXCEEDS_PARENT,
    queues::QUEUE_NO_MAXLIMIT_PRIORITY,
    queues::PCQ_NO_LIMITS,
    queues::QUEUE_MARK_NOWHERE,
    reach::RULE_SHADOWED,
    reach::ADDRESS_LIST_UNUSED,
    ipsec::IPSEC_AUTH_VS_EXCHANGE,
    ipsec::IPSEC_WEAK_ALGORITHM,
    vpn::IPSEC_POLICY_SHADOWED,
    vpn::IPSEC_POLICY_COVERS_LAN,
    vpn::IPSEC_TRANSPORT_NETWORKS,
    vpn::IPSEC_PEER_WITHOUT_IDENTITY,
    vpn::IPSEC_PEERS_ALIKE,
    vpn::IPSEC_BLOCKED,
    vpn::WIREGUARD_ALLOWED_TWICE,
    vpn::WIREGUARD_BLOCKED,
    vpn::EOIP_ID_TWICE,
    vpn::TUNNEL_INTO_ITSELF,
    vpn::TUNNEL_LOCAL_ADDRESS,
    nested::TCP_IN_TCP,
    nested::TUNNEL_MTU_CHAIN,
    nested::TUNNELS_TOO_DEEP,
    secrets::WEAK_SECRET,
    secrets::SNMP_PUBLIC,
    secrets::CLOCK_NOT_SET,
    secrets::IPV6_UNFILTERED,
    tunnels::FASTPATH_TUNNEL_BYPASS,
    tunnels::PPTP_SECURITY,
    tunnels::MPPE_SECURITY,
    tunnels::DOUBLE_ENCAPSULATION,
    tunnels::PPPOE_ON_SLAVE_INTERFACE,
    tunnels::PPPOE_SERVES_NOBODY,
    tunnels::PPPOE_MTU,
    tunnels::PPPOE_NOT_MASQUERADED,
    tunnels::PPPOE_MSS,
    tunnels::DHCP_CLIENT_BELOW_PPPOE,
    tunnels::L2TP_SERVER_BLOCKED,
    tunnels::PPTP_SERVER_BLOCKED,
    tunnels::SSTP_SERVER_BLOCKED,
    tunnels::OVPN_SERVER_BLOCKED,
    fast::FASTTRACK_VS_MANGLE,
    addressing::GATEWAY_UNREACHABLE,
    addressing::NETWORK_TWICE,
    addressing::DHCP_POOL_OUTSIDE,
    addressing::DHCP_NETWORK_MISSING,
    addressing::QUEUE_TARGET_NOWHERE,
    sessions::PPP_NO_ADDRESS,
    sessions::PPP_ADDRESS_TWICE,
    sessions::OVPN_SERVER_NO_CERTIFICATE,
    sessions::TUNNEL_MTU_FRAGMENTS,
    sessions::MTU_ABOVE_L2MTU,
    sessions::BOND_OF_TUNNELS,
    exposure::DSTNAT_BLOCKED,
    exposure::ADMIN_FROM_EVERYWHERE,
    exposure::PASSWORD_IN_SCRIPT,
    exposure::SPEED_TEST_ON_ROUTER,
];
