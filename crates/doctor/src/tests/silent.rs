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
