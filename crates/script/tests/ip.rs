//! The menus of `/ip` and `/ipv6`: accepted values, refusals, exports.

use menu::{Store, export};

/// The store after these commands, and the refusals.
fn after(text: &str) -> (Store, Vec<String>) {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    let refused = report.refused.into_iter().map(|r| r.reason);
    (store, refused.collect())
}

/// The export of a path and the paths below it.
fn exported(store: &Store, under: &str, sensitive: bool) -> String {
    let options = export::Options {
        under,
        sensitive,
        ..export::Options::default()
    };
    let mut text = String::new();
    let _ = export::export(store, &options, &mut text);
    text
}

/// The error message of a command; empty if it succeeds.
fn refusal(text: &str) -> String {
    after(text).1.join("; ")
}

#[test]
fn a_fresh_router_has_nothing_to_export() {
    let store = schema::store();

    assert_eq!(exported(&store, "/ip", true), "");
    assert_eq!(exported(&store, "/ipv6", true), "");
}

#[test]
fn rules_are_exported_in_the_spelling_of_the_router() {
    let (store, refused) = after(
        "/ip firewall filter\n\
         add chain=input connection-state=untracked,related,established\n\
         add chain=input action=drop limit=50,100 protocol=tcp tcp-flags=syn,!ack \
         src-address=!10.1.2.3/32 dst-port=!80,1000-2000 disabled=no log=no\n\
         add chain=forward action=add-src-to-address-list address-list=seen\n\
         /ip firewall mangle\n\
         add action=mark-routing chain=prerouting new-routing-mark=isp1 \
         per-connection-classifier=both-addresses:2/0 connection-rate=!2500-1000000000\n\
         add action=change-mss chain=forward new-mss=clamp-to-pmtu protocol=tcp\n\
         add action=passthrough chain=forward protocol=icmp icmp-options=8\n\
         /ip firewall nat\n\
         add action=dst-nat chain=dstnat to-addresses=10.0.0.1-10.0.0.9 to-ports=80-80 !tls-host\n\
         /ipv6 firewall filter\n\
         add action=drop chain=forward hop-limit=equal:1 dst-address=fe80::1 headers=hop,frag\n",
    );

    assert_eq!(refused, [""; 0]);
    assert_eq!(
        exported(&store, "/ip/firewall", false),
        "/ip firewall filter\n\
         add action=accept chain=input connection-state=established,related,untracked\n\
         add action=drop chain=input dst-port=!80,1000-2000 limit=50,100:packet \\\n    \
         protocol=tcp src-address=!10.1.2.3 tcp-flags=syn,!ack\n\
         add action=add-src-to-address-list address-list=seen address-list-timeout=\\\n    \
         none-dynamic chain=forward\n\
         /ip firewall mangle\n\
         add action=mark-routing chain=prerouting connection-rate=!2500-1G \\\n    \
         new-routing-mark=isp1 passthrough=yes per-connection-classifier=\\\n    \
         both-addresses:2/0\n\
         add action=change-mss chain=forward new-mss=clamp-to-pmtu passthrough=yes \\\n    \
         protocol=tcp\n\
         add action=passthrough chain=forward icmp-options=8:0-255 protocol=icmp\n\
         /ip firewall nat\n\
         add action=dst-nat chain=dstnat to-addresses=10.0.0.1-10.0.0.9 to-ports=80\n"
    );
    assert_eq!(
        exported(&store, "/ipv6", false),
        "/ipv6 firewall filter\n\
         add action=drop chain=forward dst-address=fe80::1/128 headers=\\\n    \
         hop,frag:contains hop-limit=equal:1\n"
    );
    // Version 6 created the table of a mark automatically.
    assert_eq!(
        exported(&store, "/routing", false),
        "/routing table\nadd fib name=isp1\n"
    );
}

#[test]
fn built_in_items_are_exported_as_set_commands() {
    let text = "/ip dhcp-client option\n\
                set hostname value=none\n\
                /ip hotspot profile\n\
                set [ find default=yes ] html-directory=hotspot\n\
                /ip ipsec profile\n\
                set [ find default=yes ] dh-group=modp4096\n\
                /ip ipsec proposal\n\
                set [ find default=yes ] enc-algorithms=aes-128-cbc pfs-group=none\n\
                /ip firewall service-port\n\
                set irc disabled=no\n\
                set sip ports=5060\n\
                /ip ipsec policy\n\
                set 0 disabled=yes\n\
                /ip service\n\
                set api-ssl tls-version=only-1.2\n\
                set telnet disabled=yes\n\
                /ip smb shares\n\
                set [ find default=yes ] directory=pub\n";

    let (store, refused) = after(text);

    assert_eq!(refused, [""; 0]);
    assert_eq!(exported(&store, "/ip", false), text);
}

#[test]
fn defaults_are_not_exported_however_they_are_spelled() {
    let (store, refused) = after(
        "/ip dhcp-server add interface=ether1 name=dhcp1 lease-time=00:30:00 authoritative=yes \
         dynamic-lease-identifiers=client-id,client-mac\n\
         /ip pool add name=p ranges=10.0.0.1-10.0.0.9,10.0.1.0/24 next-pool=none\n\
         /ip dns set cache-size=2MiB servers=1.1.1.1\n\
         /ip neighbor discovery-settings set protocol=mndp,lldp,cdp\n\
         /ip hotspot user profile set [ find default=yes ] keepalive-timeout=120\n",
    );

    assert_eq!(refused, [""; 0]);
    assert_eq!(
        exported(&store, "/ip", false),
        "/ip pool\nadd name=p ranges=10.0.0.1-10.0.0.9,10.0.1.0/24\n\
         /ip dhcp-server\nadd interface=ether1 name=dhcp1\n\
         /ip dns\nset servers=1.1.1.1\n"
    );
}

#[test]
fn words_of_older_versions_are_accepted() {
    let (store, refused) = after(
        "/ip ssh set always-allow-password-login=yes allow-none-crypto=no\n\
         /ip route vrf add interfaces=ether1 routing-mark=red route-distinguisher=1:1\n\
         /ip route add dst-address=10.0.0.0/8 gateway=10.9.9.9 routing-table=red\n\
         /ip ipsec peer add name=p address=192.0.2.1/32 exchange-mode=main-l2tp\n",
    );

    assert_eq!(refused, [""; 0]);
    let text = exported(&store, "/ip", false);
    for line in [
        "set password-authentication=yes\n",
        "/ip vrf\nadd interfaces=ether1 name=red\n",
        "/ip ipsec peer\nadd address=192.0.2.1/32 name=p\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn secrets_are_exported_only_when_asked_for() {
    let (store, refused) = after(
        "/ip ipsec peer add name=p\n/ip ipsec identity add peer=p secret=shibboleth\n\
         /ip hotspot user add name=u password=shibboleth\n/ip smb users add name=u password=shibboleth\n",
    );

    assert_eq!(refused, [""; 0]);
    assert!(!exported(&store, "/ip", false).contains("shibboleth"));
    assert_eq!(
        exported(&store, "/ip", true).matches("shibboleth").count(),
        3
    );
}

const PORTS_OF_NOTHING: &str =
    "failure: ports can be specified if proto is tcp,udp,udp-lite,dccp,sctp";

#[test]
fn invalid_values_are_refused_with_routeros_texts() {
    let cases = [
        (
            "/ip firewall filter add action=drop",
            "missing value(s) of argument(s) chain",
        ),
        (
            "/ip firewall filter add chain=input action=repel",
            "input does not match any value of action",
        ),
        (
            "/ip firewall nat add chain=srcnat tcp-flags=syn",
            "expected end of command (line 1 column 35)",
        ),
        (
            "/ip firewall nat add chain=srcnat tls-host=a.example",
            "expected end of command (line 1 column 35)",
        ),
        (
            "/ip firewall nat add chain=srcnat !tls-host\n/ip firewall nat set 0 tls-host=b",
            "expected end of command (line 2 column 24)",
        ),
        (
            "/interface vlan\nadd name=a interface=lo vlan-id=7\nadd name=b interface=lo vlan-id=7",
            "failure: already have vlan with such vlan-id on this interface",
        ),
        (
            "/interface vlan\nadd name=a interface=lo vlan-id=7\nset a name=\"\"",
            "invalid value for argument name",
        ),
        (
            "/interface vlan\nadd name=a interface=lo vlan-id=7\nunset a name",
            "invalid value for argument name",
        ),
        (
            "/ip firewall filter add chain=input dst-port=80-70",
            "invalid value for argument dst-port",
        ),
        (
            "/ip firewall filter add chain=forward action=drop dst-port=80",
            PORTS_OF_NOTHING,
        ),
        (
            "/ip firewall raw add chain=prerouting protocol=icmp port=80",
            PORTS_OF_NOTHING,
        ),
        (
            "/ipv6 firewall mangle add chain=input protocol=tcp src-port=80\n\
             /ipv6 firewall mangle set 0 protocol=58",
            PORTS_OF_NOTHING,
        ),
        (
            "/ip firewall nat add chain=srcnat action=masquerade protocol=udp dst-port=80\n\
             /ip firewall nat unset 0 protocol",
            PORTS_OF_NOTHING,
        ),
        (
            "/ip firewall filter add chain=input in-interface-list=!nowhere",
            "input does not match any value of in-interface-list",
        ),
        (
            "/ip firewall filter add chain=input dscp=64",
            "value of dscp out of range (0..63)",
        ),
        (
            "/ip firewall address-list add list=a address=1.2.3.300",
            "failure: 1.2.3.300 is not a valid dns name",
        ),
        (
            "/ip firewall address-list\nadd list=a address=10.0.0.1/32\nadd list=a address=10.0.0.1",
            "failure: already have such entry",
        ),
        (
            "/ip pool add name=p ranges=10.0.0.9-10.0.0.1",
            "value of range expects range of ip addresses",
        ),
        (
            "/ip firewall filter add chain=forward src-address=10.0.0.300",
            "value of range expects range of ip addresses",
        ),
        (
            "/ip firewall nat add chain=dstnat out-interface-list=all",
            "failure: outgoing interface matching not possible in input and prerouting chains",
        ),
        (
            "/ip firewall mangle add chain=forward action=mark-routing new-routing-mark=main",
            "failure: routing-mark allowed only in output and prerouting chains",
        ),
        (
            "/ip firewall mangle add chain=forward action=route route-dst=10.0.0.1",
            "failure: route allowed only in prerouting chain",
        ),
        (
            "/ip firewall nat add chain=dstnat action=redirect to-ports=80 protocol=gre",
            PORTS_OF_NOTHING,
        ),
        (
            "/ip firewall filter add chain=input action=reject reject-with=tcp-reset",
            "failure: tcp-reset requires protocol=tcp",
        ),
        (
            "/ipv6 firewall filter add chain=input action=reject reject-with=tcp-reset protocol=!tcp",
            "failure: tcp-reset requires protocol=tcp",
        ),
        (
            "/ip firewall filter add chain=input action=tarpit protocol=tcp\n\
             /ip firewall filter set 0 protocol=udp",
            "failure: tarpit requires protocol=tcp",
        ),
        (
            "/ip firewall mangle add chain=forward action=change-mss new-mss=1300",
            "failure: change-mss requires protocol=tcp",
        ),
        (
            "/ip firewall filter add chain=input tcp-flags=syn protocol=udp",
            "failure: tcp-flags can be specified if proto is tcp",
        ),
        (
            "/ip firewall raw add chain=prerouting tcp-mss=1-9 protocol=!6",
            "failure: tcp-mss can be specified if proto is tcp",
        ),
        (
            "/ip firewall filter add chain=input icmp-options=8:0 protocol=17",
            "failure: icmp-options can be specified if proto is icmp",
        ),
        (
            "/ip firewall filter add chain=input nth=2,3",
            "value of nth out of range (1..2)",
        ),
        (
            "/ip firewall filter add chain=input limit=0,5:packet",
            "value of limit out of range (1..32000000000)",
        ),
        (
            "/ip firewall filter add chain=input limit=!10/0s,5:packet",
            "invalid value for argument limit",
        ),
        (
            "/ipv6 firewall filter add chain=input dst-limit=33G,5,dst-address",
            "value of dst-limit out of range (1..32000000000)",
        ),
        (
            "/ip firewall filter add chain=input psd=21,3s,0,0",
            "invalid value for argument psd",
        ),
        (
            "/ip firewall filter add chain=input time=1h-2h,",
            "invalid value for argument time",
        ),
        (
            "/ipv6 firewall nat add chain=srcnat in-interface=!lo",
            "failure: incoming interface matching not possible in output and postrouting chains",
        ),
        (
            "/ip dhcp-server add interface=ether1 address-pool=nowhere",
            "input does not match any value of address-pool",
        ),
        ("/ip service set gopher port=70", "no such item"),
        (
            "/ip ipsec policy remove 0",
            "failure: can not remove builtin",
        ),
        (
            "/ip dns set cache-size=-1",
            "invalid value for argument cache-size",
        ),
        (
            "/ipv6 pool add name=p prefix=2001:db8::/48 prefix-length=129",
            "value of prefix-length out of range (1..128)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn ports_require_a_protocol_with_ports() {
    let rules = [
        "filter add chain=input protocol=sctp dst-port=80",
        "filter add chain=input protocol=136 dst-port=80",
        "filter add chain=input protocol=!icmp port=80",
        "raw add chain=output protocol=dccp src-port=!80 dst-port=1-9",
        "nat add chain=dstnat action=dst-nat to-addresses=10.0.0.1 to-ports=0-65535",
    ];
    for rule in rules {
        assert_eq!(refusal(&format!("/ip firewall {rule}")), "", "{rule}");
    }
}

#[test]
fn a_menu_without_effect_is_named_once_for_each_command() {
    let mut store = schema::store();
    let text = "/ip proxy set enabled=yes\n/ip proxy print\n/system reboot\n";

    let report = script::check(&mut store, text);

    let what: Vec<_> = report
        .no_effect
        .iter()
        .map(|n| (n.line, n.what.as_str()))
        .collect();
    assert_eq!(what, [(1, "/ip/proxy")]);
    // Commands without effect are refused; settings are kept.
    let refused: Vec<_> = report.refused.iter().map(|refused| refused.line).collect();
    assert_eq!(refused, [3]);
    assert_eq!((report.accepted, report.applied), (2, 1));
}

#[test]
fn values_without_effect_are_named() {
    let text = "/ip firewall nat add chain=srcnat action=masquerade\n\
                /ip firewall nat add chain=dstnat action=socksify\n\
                /ip firewall address-list add list=a address=10.0.0.0/8\n\
                /ip firewall address-list add list=a address=host.example\n\
                /ip dns set servers=192.0.2.1 cache-max-ttl=1d allow-remote-requests=yes\n\
                /ip dns set servers=192.0.2.1,fe80::1%ether1\n\
                /ip route add gateway=192.0.2.1 check-gateway=ping\n\
                /ip route add gateway=192.0.2.1 check-gateway=bfd\n";

    let report = script::check(&mut schema::store(), text);

    let what: Vec<_> = report
        .no_effect
        .iter()
        .map(|n| (n.line, n.what.as_str()))
        .collect();
    assert_eq!(what, [(2, "action"), (6, "servers"), (8, "check-gateway")]);
}

#[test]
fn converted_words_of_version_6_have_an_effect() {
    let text = "/ip route add dst-address=10.1.0.0/16 type=blackhole\n\
                /ip route add dst-address=10.2.0.0/16 type=unreachable\n\
                /ip route add dst-address=10.3.0.0/16 gateway=192.0.2.1 type=unicast\n\
                /ip route add dst-address=10.4.0.0/16 gateway=192.0.2.1 route-tag=5\n";

    let report = script::check(&mut schema::store(), text);

    let lines = report.no_effect.iter().map(|n| (n.line, n.what.as_str()));
    assert_eq!(lines.collect::<Vec<_>>(), [(4, "route-tag")]);
    assert_eq!(report.applied, 3);
}

#[test]
fn policy_rules_is_an_ordered_list() {
    let moved = "/routing settings set policy-rules=vrf-lookup,vrf-unreach,local,user,mangle,main";
    let (store, refused) = after(moved);

    assert_eq!(refused, [""; 0]);
    assert_eq!(
        exported(&store, "/routing/settings", false),
        "/routing settings\n\
         set policy-rules=vrf-lookup,vrf-unreach,local,user,mangle,main\n"
    );
    // This is the default.
    let (store, _) = after(
        "/routing settings set policy-rules=\
         mangle,vrf-lookup,vrf-unreach,local,user,main",
    );
    assert_eq!(exported(&store, "/routing/settings", false), "");
}

#[test]
fn entries_with_a_timeout_are_not_exported() {
    let (store, _) = after("/ip firewall address-list add list=a address=10.0.0.1 timeout=1h");

    assert_eq!(store.count("/ip/firewall/address-list"), 1);
    assert_eq!(exported(&store, "/ip/firewall/address-list", false), "");
}

#[test]
fn duplicates_are_refused_unless_one_is_disabled() {
    let pool = "/interface bridge add name=b\n/ip pool add name=p ranges=10.0.0.2-10.0.0.9\n\
                /ip dhcp-server add name=d interface=b\n/interface wireguard add name=w\n";
    let cases = [
        (
            "/ip dns static",
            "name=a address=10.0.0.1",
            "ttl=5m",
            "entry already exists",
        ),
        (
            "/ip dns static",
            "regexp=a.* address=10.0.0.1",
            "",
            "entry already exists",
        ),
        (
            "/ip dns static",
            "name=a type=NXDOMAIN",
            "",
            "entry already exists",
        ),
        (
            "/ip dns static",
            "name=a text=x",
            "match-subdomain=yes",
            "entry already exists",
        ),
        (
            "/ip dhcp-server lease",
            "mac-address=02:00:00:00:00:AA server=d",
            "address=10.0.0.7",
            "already have static lease for this client",
        ),
        (
            "/ip dhcp-server lease",
            "address=10.0.0.8",
            "mac-address=02:00:00:00:00:BB",
            "already have static lease with this IP address",
        ),
        (
            "/interface bridge vlan",
            "bridge=b vlan-ids=10,20-30",
            "tagged=b",
            "vlan already added",
        ),
        (
            "/interface wireguard peers",
            "interface=w public-key=\"HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=\"",
            "",
            "entry already exists",
        ),
        (
            "/ip firewall address-list",
            "list=l address=10.0.0.0-10.0.0.255",
            "timeout=1h",
            "already have such entry",
        ),
        (
            "/ipv6 firewall address-list",
            "list=l address=fd00::1",
            "comment=x",
            "already have such entry",
        ),
    ];
    for (menu, item, more, failure) in cases {
        let first = format!("{pool}{menu}\nadd {item}\n");
        let failure = format!("failure: {failure}");
        assert_eq!(
            refusal(&format!("{first}add {item} {more}")),
            failure,
            "{menu} {item}"
        );
        assert_eq!(
            refusal(&format!("{first}add {item} disabled=yes")),
            "",
            "{menu} {item}"
        );
        let enabled = format!("{first}add {item} disabled=yes\nenable 1");
        assert_eq!(refusal(&enabled), failure, "{menu} {item}");
    }
    let network = "/ip dhcp-server network\nadd address=10.0.0.0/24\nadd address=10.0.0.0/24";
    assert_eq!(refusal(network), "failure: such network already exists");
}

#[test]
fn items_that_differ_in_one_value_are_no_duplicates() {
    let (_, refused) = after(
        "/ip dns static\nadd name=a address=10.0.0.1\nadd name=a address=10.0.0.2\n\
         add name=a type=AAAA address=fd00::1\nadd name=a type=MX mx-exchange=m\n\
         add name=a type=MX mx-exchange=m mx-preference=5\n\
         /interface bridge add name=b\n/interface bridge add name=c\n\
         /interface bridge vlan\nadd bridge=b vlan-ids=10\nadd bridge=c vlan-ids=10\n\
         /ip pool add name=p ranges=10.0.0.2-10.0.0.9\n/ip dhcp-server lease\n\
         add address=p mac-address=02:00:00:00:00:01\nadd address=p mac-address=02:00:00:00:00:02\n\
         add address=10.0.0.3 client-id=1:2\nadd address=10.0.0.4 client-id=1:3\n\
         /ip route\nadd dst-address=10.9.0.0/16 gateway=10.0.0.1\n\
         add dst-address=10.9.0.0/16 gateway=10.0.0.1",
    );
    assert_eq!(refused, [""; 0]);
}

#[test]
fn a_range_that_equals_a_prefix_is_shown_as_prefix() {
    let shown = |path: &str, address: &str| {
        let (store, refused) = after(&format!("{path} add list=l address={address}"));
        assert_eq!(refused, [""; 0], "{address}");
        let text = exported(&store, path, false);
        let shown = text
            .split("address=")
            .nth(1)
            .expect("an address")
            .to_owned();
        shown.split(' ').next().expect("its text").to_owned()
    };
    for (typed, kept) in [
        ("10.0.0.0-10.0.0.255", "10.0.0.0/24"),
        ("10.0.0.4-10.0.0.5", "10.0.0.4/31"),
        ("0.0.0.0-255.255.255.255", "0.0.0.0/0"),
        ("10.0.0.1-10.0.0.2", "10.0.0.1-10.0.0.2"),
        ("10.0.0.0-10.0.0.254", "10.0.0.0-10.0.0.254"),
        ("10.0.0.1-10.0.1.0", "10.0.0.1-10.0.1.0"),
    ] {
        assert_eq!(shown("/ip/firewall/address-list", typed), kept, "{typed}");
    }
    let typed = "fd00::-fd00::ffff:ffff:ffff:ffff";
    assert_eq!(shown("/ipv6/firewall/address-list", typed), "fd00::/64");
}
