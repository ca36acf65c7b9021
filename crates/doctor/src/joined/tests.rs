//! Pairs of configurations: right ones are silent, and each change of one end gives the difference that it makes.

use std::collections::BTreeSet;

use menu::Store;

use super::{Comparison, PublicKeys, compare};

/// Returns public keys of all private keys in the tests.
fn public() -> PublicKeys {
    let privates = ["A", "C"].map(|letter| format!("{}E=", letter.repeat(42)));
    let keys = privates.map(|private| (private.clone(), format!("Z{}", &private[1..])));
    keys.into_iter().collect()
}

fn store(text: &str) -> Store {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|refused| &refused.reason)
        .collect();
    assert!(refused.is_empty(), "{text}: {refused:?}");
    store
}

fn between(first: &str, second: &str) -> Comparison {
    compare(&store(first), &store(second), &public())
}

/// Returns the properties of the differences.
fn properties(comparison: &Comparison) -> BTreeSet<String> {
    let values = comparison
        .differences
        .iter()
        .flat_map(|difference| difference.values.iter().flatten());
    let names = values.map(|value| {
        let name = value.shown.split('=').next().unwrap_or_default();
        name.trim_start_matches("no ").to_owned()
    });
    names.collect()
}

const IPSEC: [&str; 2] = [
    "/ip/address/add address=192.0.2.1/24 interface=ether1
/ip/ipsec/profile/add name=p hash-algorithm=sha256 enc-algorithm=aes-256,aes-128 dh-group=modp2048
/ip/ipsec/proposal/add name=p auth-algorithms=sha256 enc-algorithms=aes-256-cbc pfs-group=modp2048
/ip/ipsec/peer/add name=far address=198.51.100.1/32 profile=p exchange-mode=ike2
/ip/ipsec/identity/add peer=far secret=horse-battery-staple my-id=fqdn:a.example
/ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.2.0.0/24 tunnel=yes proposal=p
",
    "/ip/address/add address=198.51.100.1/24 interface=ether1
/ip/ipsec/profile/add name=q hash-algorithm=sha256 enc-algorithm=aes-128 dh-group=modp2048
/ip/ipsec/proposal/add name=q auth-algorithms=sha256 enc-algorithms=aes-256-cbc pfs-group=modp2048
/ip/ipsec/peer/add name=hub address=192.0.2.1/32 profile=q exchange-mode=ike2
/ip/ipsec/identity/add peer=hub secret=horse-battery-staple remote-id=fqdn:a.example
/ip/ipsec/policy/add peer=hub src-address=10.2.0.0/24 dst-address=10.1.0.0/24 tunnel=yes proposal=q
",
];
const WIREGUARD: [&str; 2] = [
    "/ip/address/add address=192.0.2.1/24 interface=ether1
/interface/wireguard/add name=w listen-port=51820 private-key=\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=\"
/ip/address/add address=10.9.0.1/24 interface=w
/interface/wireguard/peers/add interface=w public-key=\"ZCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCE=\" \
        endpoint-address=198.51.100.1 endpoint-port=51821 allowed-address=10.9.0.2/32,10.2.0.0/24
",
    "/ip/address/add address=198.51.100.1/24 interface=ether1
/interface/wireguard/add name=v listen-port=51821 private-key=\"CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCE=\"
/ip/address/add address=10.9.0.2/24 interface=v
/interface/wireguard/peers/add interface=v public-key=\"ZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=\" \
        endpoint-address=192.0.2.1 endpoint-port=51820 allowed-address=10.9.0.1/32,10.1.0.0/24
",
];
const TUNNELS: [&str; 2] = [
    "/ip/address/add address=192.0.2.1/24 interface=ether1
/interface/eoip/add name=e remote-address=198.51.100.1 tunnel-id=5 ipsec-secret=horse-battery allow-fast-path=no
/interface/gre/add name=g local-address=192.0.2.1 remote-address=198.51.100.1
/interface/ipip/add name=i remote-address=198.51.100.1
/ip/address/add address=10.8.0.1/30 interface=g
/interface/vxlan/add name=x vni=7 port=4789
/interface/vxlan/vteps/add interface=x remote-ip=198.51.100.1
",
    "/ip/address/add address=198.51.100.1/24 interface=ether1
/interface/eoip/add name=e remote-address=192.0.2.1 tunnel-id=5 ipsec-secret=horse-battery allow-fast-path=no
/interface/gre/add name=g remote-address=192.0.2.1
/interface/ipip/add name=i remote-address=192.0.2.1
/ip/address/add address=10.8.0.2/30 interface=g
/interface/vxlan/add name=x vni=7 port=4789
/interface/vxlan/vteps/add interface=x remote-ip=192.0.2.1
",
];
const SESSIONS: [&str; 2] = [
    "/interface/l2tp-client/add name=l connect-to=198.51.100.1 user=branch password=horse-battery use-ipsec=yes \
        ipsec-secret=staple-of-steel disabled=no
/interface/pptp-client/add name=p connect-to=198.51.100.1 user=branch password=horse-battery disabled=no
/interface/sstp-client/add name=s connect-to=198.51.100.1 port=8443 user=branch password=horse-battery disabled=no
/interface/ovpn-client/add name=o connect-to=198.51.100.1 user=branch password=horse-battery disabled=no
/interface/pppoe-client/add name=e interface=ether2 user=branch password=horse-battery disabled=no
",
    "/ip/address/add address=198.51.100.1/24 interface=ether1
/interface/l2tp-server/server/set enabled=yes use-ipsec=required ipsec-secret=staple-of-steel
/interface/pptp-server/server/set enabled=yes
/interface/sstp-server/server/set enabled=yes port=8443
/interface/ovpn-server/server/add name=o disabled=no
/interface/pppoe-server/server/add interface=ether2 disabled=no
/ppp/secret/add name=branch password=horse-battery remote-address=10.7.0.2 local-address=10.7.0.1
",
];

#[test]
fn ends_that_agree_are_silent_in_both_orders() {
    for (pair, tunnels) in [(IPSEC, 2), (WIREGUARD, 1), (TUNNELS, 4), (SESSIONS, 5)] {
        let found = between(pair[0], pair[1]);
        assert_eq!(found.differences, [], "{}", pair[0]);
        assert_eq!(found.tunnels.len(), tunnels, "{:?}", found.tunnels);
        assert_eq!(between(pair[1], pair[0]).differences, []);
    }
}

/// Changes a word of the second configuration, and returns the properties that differ then.
fn changed(pair: [&str; 2], from: &str, to: &str) -> BTreeSet<String> {
    assert!(pair[1].contains(from), "{from}");
    properties(&between(pair[0], &pair[1].replace(from, to)))
}

/// A pair, a word of its second configuration, the changed word, and the property that differs then.
type Change = ([&'static str; 2], &'static str, &'static str, &'static str);

const CHANGES: &[Change] = &[
    (
        IPSEC,
        "exchange-mode=ike2",
        "exchange-mode=main",
        "exchange-mode",
    ),
    (
        IPSEC,
        "enc-algorithm=aes-128",
        "enc-algorithm=3des",
        "enc-algorithm",
    ),
    (
        IPSEC,
        "hash-algorithm=sha256",
        "hash-algorithm=sha1",
        "hash-algorithm",
    ),
    (IPSEC, "dh-group=modp2048", "dh-group=ecp256", "dh-group"),
    (
        IPSEC,
        "enc-algorithms=aes-256-cbc",
        "enc-algorithms=aes-128-cbc",
        "enc-algorithms",
    ),
    (
        IPSEC,
        "auth-algorithms=sha256",
        "auth-algorithms=sha1",
        "auth-algorithms",
    ),
    (IPSEC, "pfs-group=modp2048", "pfs-group=none", "pfs-group"),
    (
        IPSEC,
        "secret=horse-battery-staple",
        "secret=horse-battery-stable",
        "secret",
    ),
    (IPSEC, "fqdn:a.example", "fqdn:b.example", "remote-id"),
    (
        IPSEC,
        "src-address=10.2.0.0/24",
        "src-address=10.2.0.0/23",
        "src-address",
    ),
    (IPSEC, "tunnel=yes", "tunnel=no", "tunnel"),
    (
        IPSEC,
        "address=192.0.2.1/32",
        "address=192.0.2.9/32",
        "address",
    ),
    (
        WIREGUARD,
        "listen-port=51821",
        "listen-port=51822",
        "listen-port",
    ),
    (
        WIREGUARD,
        "=10.9.0.1/32,",
        "=10.9.0.3/32,",
        "allowed-address",
    ),
    (
        WIREGUARD,
        "ZAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=",
        "DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDE=",
        "public-key",
    ),
    (
        WIREGUARD,
        "listen-port=51821",
        "listen-port=51821 mtu=1300",
        "mtu",
    ),
    (TUNNELS, "tunnel-id=5", "tunnel-id=6", "tunnel-id"),
    (
        TUNNELS,
        "ipsec-secret=horse-battery",
        "ipsec-secret=horse-butter",
        "ipsec-secret",
    ),
    (
        TUNNELS,
        "name=g remote-address=192.0.2.1",
        "name=g remote-address=192.0.2.2",
        "remote-address",
    ),
    (TUNNELS, "10.8.0.2/30", "10.8.0.6/30", "name"),
    (TUNNELS, "vni=7", "vni=8", "vni"),
    (TUNNELS, "port=4789", "port=8472", "port"),
    (
        SESSIONS,
        "name=branch password=horse-battery",
        "name=branch password=horse",
        "password",
    ),
    (SESSIONS, "name=branch", "name=other", "user"),
    (SESSIONS, "use-ipsec=required", "use-ipsec=no", "use-ipsec"),
    (
        SESSIONS,
        "ipsec-secret=staple-of-steel",
        "ipsec-secret=staple-of-iron",
        "ipsec-secret",
    ),
    (SESSIONS, "port=8443", "port=443", "port"),
    (
        SESSIONS,
        "ovpn-server/server/add name=o",
        "ovpn-server/server/add name=o protocol=udp",
        "protocol",
    ),
    (
        SESSIONS,
        "ovpn-server/server/add name=o",
        "ovpn-server/server/add name=o cipher=aes256-gcm",
        "cipher",
    ),
    (
        SESSIONS,
        "pptp-server/server/set enabled=yes",
        "pptp-server/server/set enabled=no",
        "connect-to",
    ),
    (
        SESSIONS,
        "name=branch",
        "name=branch service=pppoe",
        "service",
    ),
];

#[test]
fn each_change_of_one_end_is_a_difference_of_the_property() {
    for (pair, from, to, property) in CHANGES {
        let found = changed(*pair, from, to);
        assert!(found.contains(*property), "{from} to {to}: {found:?}");
        // The same difference shows with the configurations exchanged.
        let exchanged = between(&pair[1].replace(from, to), pair[0]);
        assert!(properties(&exchanged).contains(*property), "{from} to {to}");
    }
}

#[test]
fn commands_make_the_ends_agree() {
    for (pair, from, to) in [
        (TUNNELS, "tunnel-id=5", "tunnel-id=6"),
        (TUNNELS, "vni=7", "vni=8"),
        (IPSEC, "pfs-group=modp2048", "pfs-group=none"),
        (IPSEC, "enc-algorithm=aes-128", "enc-algorithm=3des"),
        (IPSEC, "exchange-mode=ike2", "exchange-mode=main"),
        (SESSIONS, "port=8443", "port=443"),
    ] {
        let mut stores = [store(pair[0]), store(&pair[1].replace(from, to))];
        let found = compare(&stores[0], &stores[1], &public());
        for (at, command) in found
            .differences
            .iter()
            .filter_map(|found| found.fix.as_ref())
        {
            let report = script::check(&mut stores[*at], command);
            assert!(report.refused.is_empty(), "{command}: {:?}", report.refused);
        }
        let left = compare(&stores[0], &stores[1], &public());
        assert_eq!(left.differences, [], "{to}");
    }
}

#[test]
fn weak_algorithms_are_never_copied_and_secrets_never_shown() {
    let weak = IPSEC[0].replace("pfs-group=modp2048", "pfs-group=none");
    let found = between(&weak, IPSEC[1]);
    let fixes: Vec<_> = found
        .differences
        .iter()
        .filter_map(|found| found.fix.as_ref())
        .collect();
    assert!(
        matches!(&fixes[..], [(0, command)] if command.ends_with("pfs-group=modp2048")),
        "{fixes:?}"
    );

    let found = between(
        IPSEC[0],
        &IPSEC[1].replace("battery-staple", "battery-stable"),
    );
    assert!(!format!("{found:?}").contains("battery"), "{found:?}");
}

/// Returns the commands for a property with these values at both ends.
fn commands(property: &str, values: [&str; 2]) -> Vec<(usize, String)> {
    let usual = {
        [
            "exchange-mode=ike2",
            "pfs-group=modp2048",
            "dh-group=modp2048",
        ]
        .into_iter()
    }
    .find(|usual| usual.starts_with(property));
    let texts = [0, 1].map(|end: usize| {
        let value = format!("{property}={}", values[end]);
        IPSEC[end].replace(usual.expect(property), &value)
    });
    let found = between(&texts[0], &texts[1]);
    assert!(properties(&found).contains(property), "{values:?}");
    let fixes = found.differences.into_iter();
    fixes.filter_map(|found| found.fix).collect()
}

#[test]
fn no_command_weakens_an_end_and_two_weak_ends_get_none() {
    for (property, weak, strong) in [
        ("exchange-mode", ["main", "aggressive"], "ike2"),
        ("exchange-mode", ["base", "main"], "ike2"),
        ("pfs-group", ["none", "modp1024"], "modp2048"),
        ("dh-group", ["modp768", "modp1024"], "modp2048"),
    ] {
        assert_eq!(commands(property, weak), [], "{weak:?}");
        for (at, values) in [(0, [weak[0], strong]), (1, [strong, weak[1]])] {
            let fixes = commands(property, values);
            assert!(
                matches!(&fixes[..], [(end, command)]
                    if *end == at && command.ends_with(&format!("{property}={strong}"))),
                "{values:?}: {fixes:?}"
            );
        }
    }
}

#[test]
fn nat_between_the_ends_is_said_and_is_no_difference() {
    let inside = TUNNELS[1].replace("198.51.100.1/24", "10.0.0.2/24");
    let found = between(TUNNELS[0], &inside);
    assert!(
        found.tunnels.iter().any(|tunnel| tunnel.contains("NAT")),
        "{:?}",
        found.tunnels
    );
    assert_eq!(found.differences, []);
}

#[test]
fn a_thousand_tunnels_are_each_joined_to_their_own() {
    let tunnels = |far: &str, own: &str| {
        let ids = (1..=1000).map(|id| {
            format!("/interface/eoip/add name=e{id} remote-address={far} tunnel-id={id}\n")
        });
        format!(
            "/ip/address/add address={own}/24 interface=ether1\n{}",
            ids.collect::<String>()
        )
    };
    let found = between(
        &tunnels("198.51.100.1", "192.0.2.1"),
        &tunnels("192.0.2.1", "198.51.100.1"),
    );
    assert_eq!(found.differences, []);
    assert_eq!(found.tunnels.len(), 1000);
}

#[test]
fn a_session_needs_a_known_user_radius_or_an_address_that_leads_there() {
    let server = "/ip/address/add address=198.51.100.1/24 interface=ether1\n\
                  /interface/pppoe-server/server/add interface=ether2 disabled=no\n\
                  /interface/sstp-server/server/set enabled=yes\n";
    let provider = "/interface/pppoe-client/add name=isp interface=ether1 user=dsl password=secret disabled=no\n";
    let cloud = "/interface/sstp-client/add name=s connect-to=vpn.example.net user=a password=secret disabled=no\n";
    let secret = |user: &str| {
        format!("/ppp/secret/add name={user} password=secret remote-address=10.7.0.2\n")
    };
    let radius = "/ppp/aaa/set use-radius=yes\n";
    for (client, user) in [(provider, "dsl"), (cloud, "a")] {
        let found = between(client, server);
        assert!(
            found.tunnels.is_empty() && found.differences.is_empty(),
            "{found:?}"
        );
        let known = [server, &secret(user)].concat();
        assert_eq!(between(client, &known).tunnels.len(), 1);
        let by_radius = [server, radius].concat();
        assert_eq!(between(client, &by_radius).tunnels.len(), 1);
    }
    let two = "/interface/pppoe-client/add name=other interface=ether3 user=dsl2 password=secret disabled=no\n";
    let by_radius = [server, radius].concat();
    assert!(
        between(&[provider, two].concat(), &by_radius)
            .tunnels
            .is_empty()
    );
    let there = cloud.replace("vpn.example.net", "198.51.100.1");
    assert!(properties(&between(&there, server)).contains("user"));
}
