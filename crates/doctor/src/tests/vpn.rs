//! Configurations of VPNs and secrets with a mistake, and similar correct ones.

use super::{CLOSED, Case, POLICY, WAN};

const OWN: &str = "/ip/address/add address=10.1.0.1/24 interface=ether2\n";
const IDENTITY: &str = "/ip/ipsec/identity/add peer=far secret=a-long-random-secret\n";
const WG: &str = "/interface/wireguard/add name=wg listen-port=13231\n";
const KEYS: [&str; 2] = [
    "public-key=\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=\"",
    "public-key=\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI=\"",
];

/// Per rule the wrong and the correct configuration, in parts.
pub(super) const CASES: &[Case] = &[
    (
        "ipsec-auth-vs-exchange",
        &[
            POLICY,
            "/ip/ipsec/identity/add peer=far auth-method=eap eap-methods=eap-mschapv2 username=joe password=hidden\n",
        ],
        &[
            POLICY,
            "/ip/ipsec/identity/add peer=far auth-method=pre-shared-key-xauth username=joe password=hidden secret=x\n",
        ],
    ),
    (
        "ipsec-weak-algorithm",
        &[
            "/ip/ipsec/proposal/set [find] enc-algorithms=3des,aes-128-cbc pfs-group=modp768\n",
            POLICY,
        ],
        &[
            "/ip/ipsec/proposal/add name=old enc-algorithms=des\n\
             /ip/ipsec/proposal/set [find name=default] enc-algorithms=aes-128-gcm pfs-group=modp2048\n",
            POLICY,
        ],
    ),
    (
        "ipsec-policy-shadowed",
        &[
            POLICY,
            "/ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.2.0.128/25 tunnel=yes\n",
        ],
        &[
            POLICY,
            "/ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.3.0.0/24 tunnel=yes\n",
        ],
    ),
    (
        "ipsec-policy-covers-lan",
        &[
            OWN,
            "/ip/ipsec/peer/add name=far address=198.51.100.7/32\n\
             /ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=0.0.0.0/0 tunnel=yes\n",
        ],
        &[
            OWN,
            "/ip/ipsec/peer/add name=far address=198.51.100.7/32\n\
             /ip/ipsec/policy/add action=none src-address=10.1.0.0/24 dst-address=10.1.0.0/24\n\
             /ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=0.0.0.0/0 tunnel=yes\n",
        ],
    ),
    (
        "ipsec-transport-networks",
        &["/ip/ipsec/peer/add name=far address=198.51.100.7/32\n\
             /ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.2.0.0/24 tunnel=no\n"],
        &["/ip/ipsec/peer/add name=far address=198.51.100.7/32\n\
             /ip/ipsec/policy/add peer=far src-address=192.0.2.1/32 dst-address=198.51.100.7/32 tunnel=no\n"],
    ),
    (
        "ipsec-peer-without-identity",
        &[POLICY],
        &[POLICY, IDENTITY],
    ),
    (
        "ipsec-peers-alike",
        &[
            POLICY,
            "/ip/ipsec/peer/add name=again address=198.51.100.7/32\n",
        ],
        &[
            POLICY,
            "/ip/ipsec/peer/add name=again address=198.51.100.7/32 exchange-mode=ike2\n",
        ],
    ),
    (
        "ipsec-blocked",
        &[
            WAN,
            CLOSED,
            "/ip/ipsec/peer/add name=any passive=yes exchange-mode=ike2\n",
        ],
        &[
            WAN,
            CLOSED,
            "/ip/ipsec/peer/add name=one address=198.51.100.7/32 exchange-mode=ike2\n",
        ],
    ),
    (
        "wireguard-allowed-twice",
        &[
            WG,
            "/interface/wireguard/peers/add interface=wg allowed-address=10.9.0.2/32 ",
            KEYS[0],
            "\n/interface/wireguard/peers/add interface=wg allowed-address=10.9.0.2/32 ",
            KEYS[1],
        ],
        &[
            WG,
            "/interface/wireguard/peers/add interface=wg allowed-address=10.9.0.2/32 ",
            KEYS[0],
            "\n/interface/wireguard/peers/add interface=wg allowed-address=10.9.0.3/32 ",
            KEYS[1],
        ],
    ),
    (
        "wireguard-blocked",
        &[
            WAN,
            CLOSED,
            WG,
            "/interface/wireguard/peers/add interface=wg allowed-address=10.9.0.2/32 ",
            KEYS[0],
        ],
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept protocol=udp dst-port=13231\n",
            CLOSED,
            WG,
            "/interface/wireguard/peers/add interface=wg allowed-address=10.9.0.2/32 ",
            KEYS[0],
        ],
    ),
    (
        "eoip-id-twice",
        &[
            "/interface/eoip/add name=a remote-address=198.51.100.7 tunnel-id=1\n\
             /interface/eoip/add name=b remote-address=198.51.100.7 tunnel-id=1\n",
        ],
        &[
            "/interface/eoip/add name=a remote-address=198.51.100.7 tunnel-id=1\n\
             /interface/eoip/add name=b remote-address=198.51.100.8 tunnel-id=1\n",
        ],
    ),
    (
        "tunnel-into-itself",
        &["/interface/gre/add name=g remote-address=198.51.100.7\n\
             /ip/route/add dst-address=0.0.0.0/0 gateway=g\n"],
        &["/interface/gre/add name=g remote-address=198.51.100.7\n\
             /ip/route/add dst-address=0.0.0.0/0 gateway=g\n\
             /ip/route/add dst-address=198.51.100.7/32 gateway=192.0.2.1\n"],
    ),
    (
        "tunnel-local-address",
        &[
            OWN,
            "/interface/gre/add name=g remote-address=198.51.100.7 local-address=192.0.2.9\n",
        ],
        &[
            OWN,
            "/interface/gre/add name=g remote-address=198.51.100.7 local-address=10.1.0.1\n",
        ],
    ),
    (
        "weak-secret",
        &[POLICY, "/ip/ipsec/identity/add peer=far secret=mikrotik\n"],
        &[POLICY, IDENTITY],
    ),
    (
        "snmp-public",
        &["/snmp/set enabled=yes\n"],
        &["/snmp/set enabled=yes\n/snmp/community/set public addresses=10.1.0.0/24\n"],
    ),
    (
        "clock-not-set",
        &[
            "/ip/cloud/set update-time=no\n",
            POLICY,
            "/certificate/add name=own common-name=own\n\
             /ip/ipsec/identity/add peer=far auth-method=digital-signature certificate=own\n",
        ],
        &[
            "/ip/cloud/set update-time=no\n/system/ntp/client/set enabled=yes\n",
            POLICY,
            "/certificate/add name=own common-name=own\n\
             /ip/ipsec/identity/add peer=far auth-method=digital-signature certificate=own\n",
        ],
    ),
    (
        "ipv6-unfiltered",
        &[
            WAN,
            CLOSED,
            "/ipv6/address/add address=2001:db8:1::1/64 interface=ether2\n",
        ],
        &[
            WAN,
            CLOSED,
            "/ipv6/address/add address=2001:db8:1::1/64 interface=ether2\n\
             /ipv6/firewall/filter/add chain=forward action=drop in-interface=ether1\n",
        ],
    ),
];
