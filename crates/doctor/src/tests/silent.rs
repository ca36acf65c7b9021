//! Correct configurations that resemble mistakes: a rule is silent about them.

use super::{WAN, found};

/// A server for the addresses of a list, and a server for everybody.
const SERVER: &str = "/ip/firewall/nat/add chain=dstnat action=dst-nat in-interface=ether1 protocol=tcp dst-port=3389 \
                      to-addresses=192.168.88.10\n/ip/firewall/address-list/add list=office address=203.0.113.0/24\n";
const DROP_WAN: &str = "/ip/firewall/filter/add chain=forward action=drop in-interface=ether1\n";

#[test]
fn servers_that_forward_accepts_for_some_clients_are_not_blocked() {
    for accept in [
        "protocol=tcp dst-port=3389 src-address-list=office",
        "dst-address=192.168.88.10",
        "out-interface=ether2",
    ] {
        let accept = format!("/ip/firewall/filter/add chain=forward action=accept {accept}\n");
        let config = [WAN, SERVER, &accept, DROP_WAN].concat();
        assert!(!found(&config).contains("dstnat-blocked"), "{accept}");
    }
    // In a chain of its own.
    let jump = "/ip/firewall/filter/add chain=forward action=jump jump-target=in in-interface=ether1\n\
                /ip/firewall/filter/add chain=in action=accept src-address-list=office\n";
    let config = [WAN, SERVER, jump, DROP_WAN].concat();
    assert!(!found(&config).contains("dstnat-blocked"));
    // The router itself is the server.
    let own = "/ip/address/add address=192.168.88.10/24 interface=ether2\n";
    let config = [WAN, own, SERVER, DROP_WAN].concat();
    assert!(!found(&config).contains("dstnat-blocked"));
}

#[test]
fn rules_for_ipsec_and_blocklists_leave_the_verdict_certain() {
    for before in [
        "action=accept ipsec-policy=in,ipsec",
        "action=accept ipsec-policy=out,ipsec",
        "action=drop src-address-list=office",
        "action=accept dst-address=192.168.88.11",
    ] {
        let before = format!("/ip/firewall/filter/add chain=forward {before}\n");
        let config = [WAN, SERVER, &before, DROP_WAN].concat();
        assert!(found(&config).contains("dstnat-blocked"), "{before}");
    }
}

#[test]
fn servers_that_input_accepts_for_some_clients_are_not_blocked() {
    let peer = "/ip/ipsec/peer/add name=sites passive=yes exchange-mode=ike2\n\
                /ip/firewall/address-list/add list=sites address=203.0.113.0/24\n";
    let drop = "/ip/firewall/filter/add chain=input action=accept dst-address=127.0.0.1\n\
                /ip/firewall/filter/add chain=input action=drop in-interface=ether1\n";
    let accept = "/ip/firewall/filter/add chain=input action=accept protocol=udp dst-port=500,4500 \
                  src-address-list=sites\n";
    assert!(found(&[WAN, peer, drop].concat()).contains("ipsec-blocked"));
    assert!(!found(&[WAN, peer, accept, drop].concat()).contains("ipsec-blocked"));
}

const ADDRESSES: &str = "/ip/address/add address=192.168.88.1/24 interface=ether2\n\
                         /ip/address/add address=192.0.2.7/24 interface=ether1\n";

#[test]
fn delegated_and_link_local_prefixes_and_disabled_interfaces_are_no_common_network() {
    for config in [
        "/interface/vlan/add name=vlan10 interface=ether2 vlan-id=10\n\
         /interface/vlan/add name=vlan20 interface=ether2 vlan-id=20\n\
         /ipv6/address/add address=::1/64 from-pool=isp interface=vlan10\n\
         /ipv6/address/add address=::1/64 from-pool=isp interface=vlan20\n",
        "/ipv6/address/add address=fe80::1/64 interface=ether2 advertise=no\n\
         /ipv6/address/add address=fe80::1/64 interface=ether3 advertise=no\n",
        "/ip/address/add address=10.0.0.1/24 interface=ether2\n/ip/address/add address=10.0.0.2/24 interface=ether3\n\
         /interface/ethernet/set ether3 disabled=yes\n",
    ] {
        assert!(!found(config).contains("network-twice"), "{config}");
    }
}

#[test]
fn the_far_end_of_a_point_to_point_address_is_a_gateway() {
    let uplink = "/ip/address/add address=10.0.0.1/32 network=10.0.0.2 interface=ether1\n/ip/route/add gateway=";
    assert!(!found(&[uplink, "10.0.0.2\n"].concat()).contains("gateway-unreachable"));
    assert!(found(&[uplink, "10.0.0.3\n"].concat()).contains("gateway-unreachable"));
}

#[test]
fn a_queue_for_a_prefix_with_own_or_routed_networks_sees_packets() {
    let route = "/ip/route/add dst-address=172.20.5.0/24 gateway=192.168.88.2\n";
    for (target, is_nowhere) in [
        ("192.168.0.0/16", false),
        ("172.16.0.0/12", false),
        ("192.168.96.0/20", true),
        ("11.0.0.0/8", true),
    ] {
        let queue = format!("/queue/simple/add name=q target={target} max-limit=1M/1M\n");
        let found = found(&[ADDRESSES, route, &queue].concat());
        assert_eq!(
            found.contains("queue-target-nowhere"),
            is_nowhere,
            "{target}"
        );
    }
}

#[test]
fn a_bridged_tunnel_may_fragment() {
    let tunnel = "/interface/eoip/add name=e remote-address=198.51.100.9 tunnel-id=1 mtu=1500\n";
    let port =
        "/interface/bridge/add name=lan\n/interface/bridge/port/add bridge=lan interface=e\n";
    assert!(found(tunnel).contains("tunnel-mtu-fragments"));
    assert!(!found(&[tunnel, port].concat()).contains("tunnel-mtu-fragments"));
}
