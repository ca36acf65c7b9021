//! Per rule a configuration with the mistake, and a similar correct one.

use std::collections::BTreeSet;

use crate::{RULES, examine};

mod board;
mod chains;
mod everyday;
mod fixes;
mod modern;
mod nested;
mod ppp;
mod silent;
mod stories;
mod vpn;

/// Returns the names of the rules with findings.
fn found(config: &str) -> BTreeSet<&'static str> {
    let mut store = schema::store();
    let report = script::check(&mut store, config);
    let refused: Vec<_> = report
        .refused
        .iter()
        .map(|refused| &refused.reason)
        .collect();
    assert!(refused.is_empty(), "{config}: {refused:?}");
    let findings = examine(&store);
    findings.iter().map(|finding| finding.rule.name).collect()
}

/// Rules that accept a TCP port from everywhere.
const TELNET: &str = "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=23\n";
const SSH: &str = "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=22\n";
const TEST: &str = "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=2000\n";
const FASTTRACK: &str = "/ip/firewall/filter/add chain=forward action=fasttrack-connection \
                         connection-state=established,related\n";
const ACCEPT: &str = "/ip/firewall/filter/add chain=forward action=accept \
                      connection-state=established,related,untracked\n";
const DROP: &str = "/ip/firewall/filter/add chain=forward action=drop\n";
const BRIDGE: &str = "/interface/bridge/add name=lan\n/interface/bridge/port/add bridge=lan interface=ether2\n\
                      /interface/bridge/port/add bridge=lan interface=ether3\n";
const POLICY: &str = "/ip/ipsec/peer/add name=far address=198.51.100.7/32
/ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.2.0.0/24 tunnel=yes\n";
const WAN: &str = "/ip/dhcp-client/add interface=ether1\n";
const CLOSED: &str = "/ip/firewall/filter/add chain=input action=accept connection-state=established,related\n\
                      /ip/firewall/filter/add chain=input action=drop in-interface=ether1\n";

/// A rule with the wrong and the correct configuration, in parts.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Per rule the wrong and the correct configuration, in parts.
const CASES: &[Case] = &[
    (
        "l7-drop-unscoped",
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=video\n/ip/firewall/filter/add chain=forward \
             action=drop layer7-protocol=v",
        ],
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=video\n/ip/firewall/filter/add chain=forward \
             action=drop protocol=udp dst-port=53 layer7-protocol=v",
        ],
    ),
    (
        "l7-one-direction",
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=video\n/ip/firewall/filter/add chain=input \
             action=accept protocol=tcp dst-port=80 layer7-protocol=v",
        ],
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=video\n/ip/firewall/filter/add chain=input \
             action=accept protocol=tcp dst-port=80 layer7-protocol=v\n\
           /ip/firewall/filter/add chain=output action=accept protocol=tcp src-port=80 layer7-protocol=v",
        ],
    ),
    (
        "l7-https",
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=video\n/ip/firewall/filter/add chain=forward \
             action=drop protocol=tcp dst-port=443 layer7-protocol=v",
        ],
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=video\n/ip/firewall/filter/add chain=forward \
             action=drop protocol=tcp dst-port=80 layer7-protocol=v",
        ],
    ),
    (
        "l7-host-name",
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=\"^.+(video-site).*\\$\"\n\
             /ip/firewall/filter/add chain=forward action=drop layer7-protocol=v",
        ],
        &[
            "/ip/firewall/layer7-protocol/add name=v regexp=\"^.+(video-site).*\\$\"\n\
             /ip/firewall/layer7-protocol/add name=sip regexp=\"^(invite|register) sip:\"\n\
             /ip/firewall/mangle/add chain=prerouting action=mark-connection new-connection-mark=c protocol=udp \
             dst-port=53 connection-mark=no-mark layer7-protocol=v\n\
             /ip/firewall/filter/add chain=forward action=drop layer7-protocol=sip connection-bytes=0-10000",
        ],
    ),
    (
        "tls-after-fasttrack",
        &[
            FASTTRACK,
            ACCEPT,
            "/ip/firewall/filter/add chain=forward action=drop protocol=tcp dst-port=443 tls-host=*.example.com",
        ],
        &[
            "/ip/firewall/filter/add chain=forward action=drop protocol=tcp dst-port=443 tls-host=*.example.com\n",
            FASTTRACK,
            ACCEPT,
        ],
    ),
    (
        "tls-host-not-tcp443",
        &["/ip/firewall/filter/add chain=forward action=drop protocol=tcp tls-host=example.com"],
        &[
            "/ip/firewall/filter/add chain=forward action=drop protocol=tcp dst-port=443 tls-host=example.com",
        ],
    ),
    (
        "tls-host-bare-domain",
        &[
            "/ip/firewall/filter/add chain=forward action=drop protocol=tcp dst-port=443 tls-host=*.example.com",
        ],
        &[
            "/ip/firewall/filter/add chain=forward action=drop protocol=tcp dst-port=443 tls-host=*.example.com\n\
           /ip/firewall/filter/add chain=forward action=drop protocol=tcp dst-port=443 tls-host=example.com",
        ],
    ),
    (
        "fasttrack-no-accept",
        &[FASTTRACK, DROP],
        &[FASTTRACK, ACCEPT, DROP],
    ),
    (
        "fasttrack-bypasses-queues",
        &[
            FASTTRACK,
            ACCEPT,
            "/queue/simple/add name=q target=10.0.0.7/32 max-limit=1M/1M",
        ],
        &[
            "/ip/firewall/filter/add chain=forward action=fasttrack-connection connection-state=established \
             connection-mark=no-mark\n",
            ACCEPT,
            "/queue/simple/add name=q target=10.0.0.7/32 max-limit=1M/1M",
        ],
    ),
    (
        "fasttrack-bypasses-queues",
        &[
            "/ip/firewall/filter/add chain=forward action=accept src-address=10.0.0.7\n",
            FASTTRACK,
            ACCEPT,
            "/queue/simple/add name=q target=10.0.0.7/32 max-limit=1M/1M",
        ],
        &[
            "/ip/firewall/filter/add chain=forward action=accept src-address=10.0.7.0/24\n\
             /ip/firewall/filter/add chain=forward action=accept dst-address=10.0.7.0/24\n",
            FASTTRACK,
            ACCEPT,
            "/queue/simple/add name=q target=10.0.7.0/24 max-limit=1M/1M",
        ],
    ),
    (
        "fasttrack-vs-mark-routing",
        &[
            FASTTRACK,
            ACCEPT,
            "/routing/table/add name=two fib\n/ip/firewall/mangle/add chain=prerouting action=mark-routing \
             new-routing-mark=two src-address=10.0.0.0/24",
        ],
        &[
            "/ip/firewall/filter/add chain=forward action=fasttrack-connection connection-state=established \
             connection-mark=no-mark\n",
            ACCEPT,
            "/routing/table/add name=two fib\n/ip/firewall/mangle/add chain=prerouting action=mark-routing \
             new-routing-mark=two src-address=10.0.0.0/24",
        ],
    ),
    (
        "fasttrack-vs-ipsec",
        &[POLICY, FASTTRACK, ACCEPT],
        &[
            POLICY,
            "/ip/firewall/filter/add chain=forward action=accept ipsec-policy=in,ipsec\n/ip/firewall/filter/add \
             chain=forward action=accept ipsec-policy=out,ipsec\n",
            FASTTRACK,
            ACCEPT,
        ],
    ),
    (
        "fasttrack-vs-hotspot",
        &[FASTTRACK, ACCEPT, "/ip/hotspot/add name=h interface=ether2"],
        &["/ip/hotspot/add name=h interface=ether2"],
    ),
    (
        "fasttrack-inactive",
        &[FASTTRACK, ACCEPT, "/ip/settings/set allow-fast-path=no"],
        &[FASTTRACK, ACCEPT],
    ),
    (
        "allow-fast-path-off",
        &["/ip/settings/set allow-fast-path=no"],
        &["/ip/settings/set allow-fast-path=yes"],
    ),
    (
        "bridge-filter-slowpath",
        &[
            BRIDGE,
            "/interface/bridge/filter/add chain=forward action=accept",
        ],
        &[
            BRIDGE,
            "/interface/bridge/filter/add chain=forward action=drop in-interface=ether2",
        ],
    ),
    (
        "bridge-rule-switched",
        &[
            BRIDGE,
            "/interface/bridge/filter/add chain=forward action=drop in-interface=ether2 out-interface=!ether4",
        ],
        &[
            BRIDGE,
            "/interface/bridge/port/set [find interface=ether2] hw=no\n\
             /interface/bridge/filter/add chain=forward action=drop in-interface=ether2\n\
             /interface/bridge/filter/add chain=input action=drop in-interface=ether3",
        ],
    ),
    (
        "use-ip-firewall-for-queue",
        &[
            BRIDGE,
            "/interface/bridge/settings/set use-ip-firewall=yes\n/queue/simple/add name=q target=ether2 \
             max-limit=1M/1M",
        ],
        &[
            BRIDGE,
            "/interface/bridge/settings/set use-ip-firewall=yes\n/queue/simple/add name=q target=lan max-limit=1M/1M",
        ],
    ),
    (
        "rule-on-slave-interface",
        &[
            BRIDGE,
            "/ip/firewall/filter/add chain=forward action=drop in-interface=ether2",
        ],
        &[
            BRIDGE,
            "/ip/firewall/filter/add chain=forward action=drop in-interface=lan",
        ],
    ),
    (
        "ip-on-slave-interface",
        &[
            BRIDGE,
            "/ip/address/add address=10.0.0.1/24 interface=ether2",
        ],
        &[BRIDGE, "/ip/address/add address=10.0.0.1/24 interface=lan"],
    ),
    (
        "vlan-on-slave-interface",
        &[
            BRIDGE,
            "/interface/vlan/add name=v interface=ether2 vlan-id=7",
        ],
        &[BRIDGE, "/interface/vlan/add name=v interface=lan vlan-id=7"],
    ),
    (
        "bridge-in-bridge-vlan",
        &[
            BRIDGE,
            "/interface/vlan/add name=v interface=lan vlan-id=7\n/interface/bridge/add \
             name=two\n/interface/bridge/port/add bridge=two interface=v",
        ],
        &[BRIDGE, "/interface/vlan/add name=v interface=lan vlan-id=7"],
    ),
    (
        "bridged-vlan-on-port",
        &[
            "/interface/vlan/add name=v interface=ether2 vlan-id=7\n/interface/bridge/add \
             name=b\n/interface/bridge/port/add bridge=b interface=v\n/interface/bridge/port/add bridge=b \
             interface=ether3",
        ],
        &[
            "/interface/vlan/add name=v interface=ether2 vlan-id=7\n/interface/bridge/add name=b \
             protocol-mode=none\n/interface/bridge/port/add bridge=b interface=v\n/interface/bridge/port/add \
             bridge=b interface=ether3",
        ],
    ),
    (
        "bridged-vlans-loop",
        &[
            "/interface/vlan/add name=v interface=ether2 vlan-id=7\n/interface/vlan/add name=w interface=ether3 \
             vlan-id=7\n/interface/bridge/add name=b\n/interface/bridge/port/add bridge=b \
             interface=v\n/interface/bridge/port/add bridge=b interface=w",
        ],
        &[
            "/interface/vlan/add name=v interface=ether2 vlan-id=7\n/interface/vlan/add name=w interface=ether3 \
             vlan-id=8\n/interface/bridge/add name=b\n/interface/bridge/port/add bridge=b \
             interface=v\n/interface/bridge/port/add bridge=b interface=w",
        ],
    ),
    (
        "vlan-ids-multi-access",
        &[
            BRIDGE,
            "/interface/bridge/vlan/add bridge=lan vlan-ids=10,20 untagged=ether2",
        ],
        &[
            BRIDGE,
            "/interface/bridge/vlan/add bridge=lan vlan-ids=10,20 tagged=ether2",
        ],
    ),
    (
        "vlan-filtering-lockout",
        &[
            BRIDGE,
            "/interface/bridge/set lan vlan-filtering=yes\n/interface/bridge/vlan/add bridge=lan vlan-ids=10 \
             tagged=ether2\n\
             /interface/vlan/add name=v interface=lan vlan-id=10\n/ip/address/add address=10.0.0.1/24 interface=v",
        ],
        &[
            BRIDGE,
            "/interface/bridge/set lan vlan-filtering=yes\n/interface/bridge/vlan/add bridge=lan vlan-ids=10 \
             tagged=ether2,lan\n\
             /interface/vlan/add name=v interface=lan vlan-id=10\n/ip/address/add address=10.0.0.1/24 interface=v",
        ],
    ),
    (
        "bpdu-by-bridge-filter",
        &[
            BRIDGE,
            "/interface/bridge/filter/add chain=input action=drop in-interface=ether2 \
             dst-mac-address=01:80:C2:00:00:00/FF:FF:FF:FF:FF:FF",
        ],
        &[
            BRIDGE,
            "/interface/bridge/filter/add chain=input action=drop in-interface=ether2 \
             dst-mac-address=01:00:5E:00:00:00/FF:FF:FF:00:00:00",
        ],
    ),
    (
        "horizon-distinct-values",
        &[
            "/interface/bridge/add name=b\n/interface/bridge/port/add bridge=b interface=ether2 \
             horizon=1\n/interface/bridge/port/add bridge=b interface=ether3 horizon=2",
        ],
        &[
            "/interface/bridge/add name=b\n/interface/bridge/port/add bridge=b interface=ether2 \
             horizon=1\n/interface/bridge/port/add bridge=b interface=ether3 horizon=1",
        ],
    ),
    (
        "lag-hash-single-flow",
        &["/interface/bonding/add name=bond1 mode=802.3ad slaves=ether2,ether3"],
        &[
            "/interface/bonding/add name=bond1 mode=802.3ad slaves=ether2,ether3 transmit-hash-policy=layer-3-and-4",
        ],
    ),
    (
        "masquerade-ipsec",
        &[
            POLICY,
            "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1",
        ],
        &[
            POLICY,
            "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1 ipsec-policy=out,none",
        ],
    ),
    (
        "masquerade-static-ip",
        &[
            "/ip/address/add address=192.0.2.7/24 interface=ether1\n/ip/firewall/nat/add chain=srcnat \
             action=masquerade out-interface=ether1",
        ],
        &[
            WAN,
            "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1",
        ],
    ),
    (
        "masquerade-everything",
        &["/ip/firewall/nat/add chain=srcnat action=masquerade"],
        &["/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1"],
    ),
    (
        "notrack-without-accept",
        &[
            "/ip/firewall/raw/add chain=prerouting action=notrack src-address=10.1.0.0/24\n/ip/firewall/filter/add \
             chain=forward action=accept connection-state=established,related\n",
            DROP,
        ],
        &[
            "/ip/firewall/raw/add chain=prerouting action=notrack src-address=10.1.0.0/24\n",
            ACCEPT,
            DROP,
        ],
    ),
    (
        "notrack-one-direction",
        &[
            "/ip/firewall/raw/add chain=prerouting action=notrack src-address=10.1.0.0/24 dst-address=10.2.0.0/24",
        ],
        &[
            "/ip/firewall/raw/add chain=prerouting action=notrack src-address=10.1.0.0/24 dst-address=10.2.0.0/24\n\
           /ip/firewall/raw/add chain=prerouting action=notrack src-address=10.2.0.0/24 dst-address=10.1.0.0/24",
        ],
    ),
    (
        "no-drop-invalid",
        &[
            "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1\n",
            ACCEPT,
        ],
        &[
            "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1\n",
            ACCEPT,
            "/ip/firewall/filter/add chain=forward action=drop connection-state=invalid",
        ],
    ),
    (
        "dstnat-in-interface-hairpin",
        &[
            "/ip/firewall/nat/add chain=dstnat action=dst-nat in-interface=ether1 protocol=tcp dst-port=80 \
             to-addresses=10.0.0.7",
        ],
        &[
            "/ip/firewall/nat/add chain=dstnat action=dst-nat dst-address=192.0.2.7 protocol=tcp dst-port=80 \
             to-addresses=10.0.0.7",
        ],
    ),
    (
        "input-open-wan",
        &[
            WAN,
            "/ip/firewall/filter/add chain=input action=accept connection-state=established,related",
        ],
        &[WAN, CLOSED],
    ),
    (
        "dns-open-resolver",
        &[WAN, "/ip/dns/set allow-remote-requests=yes"],
        &[WAN, CLOSED, "/ip/dns/set allow-remote-requests=yes"],
    ),
    (
        "mgmt-service-open",
        &[WAN, TELNET, CLOSED],
        &[WAN, SSH, CLOSED],
    ),
    (
        "bandwidth-server-open",
        &[WAN, TEST, CLOSED],
        &[WAN, TEST, CLOSED, "/tool/bandwidth-server/set enabled=no"],
    ),
    (
        "rp-filter-strict-multiwan",
        &[
            "/ip/settings/set rp-filter=strict\n/ip/route/add gateway=192.0.2.1\n/ip/route/add \
             gateway=198.51.100.1 distance=2",
        ],
        &["/ip/settings/set rp-filter=strict\n/ip/route/add gateway=192.0.2.1"],
    ),
    (
        "mangle-packet-per-packet",
        &[
            "/ip/firewall/mangle/add chain=forward action=mark-packet new-packet-mark=m content=video",
        ],
        &[
            "/ip/firewall/mangle/add chain=forward action=mark-packet new-packet-mark=m connection-mark=c",
        ],
    ),
    (
        "mark-connection-not-new",
        &[
            "/ip/firewall/mangle/add chain=prerouting action=mark-connection new-connection-mark=c \
             dst-address-list=far",
        ],
        &[
            "/ip/firewall/mangle/add chain=prerouting action=mark-connection new-connection-mark=c \
             dst-address-list=far connection-mark=no-mark",
        ],
    ),
    (
        "queue-target-bridge-port",
        &[
            BRIDGE,
            "/queue/simple/add name=q target=ether2 max-limit=1M/1M",
        ],
        &[
            BRIDGE,
            "/queue/simple/add name=q target=lan max-limit=1M/1M",
        ],
    ),
    (
        "simple-queue-order-shadow",
        &[
            "/queue/simple/add name=all target=10.0.0.0/24 max-limit=9M/9M\n/queue/simple/add name=one \
             target=10.0.0.7/32 max-limit=1M/1M",
        ],
        &[
            "/queue/simple/add name=all target=10.0.0.0/24 max-limit=9M/9M\n/queue/simple/add name=one parent=all \
             target=10.0.0.7/32 max-limit=1M/1M",
        ],
    ),
    (
        "simple-queue-both-match",
        &["/queue/simple/add name=all target=0.0.0.0/0 max-limit=1M/9M"],
        &["/queue/simple/add name=all target=10.0.0.0/24 max-limit=1M/9M"],
    ),
    (
        "queue-child-exceeds-parent",
        &[
            "/queue/tree/add name=p parent=global max-limit=10M\n/queue/tree/add name=a parent=p limit-at=6M \
             max-limit=10M\n/queue/tree/add name=b parent=p limit-at=6M max-limit=10M",
        ],
        &[
            "/queue/tree/add name=p parent=global max-limit=12M\n/queue/tree/add name=a parent=p limit-at=6M \
             max-limit=10M\n/queue/tree/add name=b parent=p limit-at=6M max-limit=10M",
        ],
    ),
    (
        "queue-no-maxlimit-priority",
        &["/queue/tree/add name=a parent=global priority=1"],
        &["/queue/tree/add name=a parent=global priority=1 max-limit=1M"],
    ),
    (
        "pcq-no-limits",
        &[
            "/queue/type/add name=p kind=pcq pcq-classifier=dst-address\n/queue/tree/add name=a parent=global queue=p",
        ],
        &[
            "/queue/type/add name=p kind=pcq pcq-classifier=dst-address\n/queue/tree/add name=a parent=global \
             queue=p max-limit=10M",
        ],
    ),
    (
        "queue-mark-nowhere",
        &["/queue/tree/add name=a parent=global packet-mark=m max-limit=1M"],
        &[
            "/ip/firewall/mangle/add chain=forward action=mark-packet new-packet-mark=m \
             connection-mark=c\n/queue/tree/add name=a parent=global packet-mark=m max-limit=1M",
        ],
    ),
    (
        "fastpath-tunnel-bypass",
        &[
            "/interface/gre/add name=g remote-address=192.0.2.7\n/ip/firewall/mangle/add chain=output \
             action=mark-packet new-packet-mark=m protocol=gre connection-state=new",
        ],
        &[
            "/interface/gre/add name=g remote-address=192.0.2.7 allow-fast-path=no\n/ip/firewall/mangle/add \
             chain=output action=mark-packet new-packet-mark=m protocol=gre connection-state=new",
        ],
    ),
    (
        "pptp-security",
        &["/interface/pptp-server/server/set enabled=yes"],
        &["/interface/pptp-server/server/set enabled=no"],
    ),
    (
        "double-encapsulation",
        &[
            "/ppp/secret/add name=s remote-address=10.9.0.2\n/interface/eoip/add name=e remote-address=10.9.0.2 \
             tunnel-id=1",
        ],
        &[
            "/ppp/secret/add name=s remote-address=10.9.0.2\n/interface/eoip/add name=e remote-address=192.0.2.7 \
             tunnel-id=1",
        ],
    ),
    (
        "rule-shadowed",
        &[
            "/ip/firewall/filter\nadd chain=forward action=drop in-interface=ether1\n\
           add chain=forward action=accept in-interface=ether1 protocol=tcp dst-port=443\n",
        ],
        &[
            "/ip/firewall/filter\nadd chain=forward action=accept in-interface=ether1 protocol=tcp dst-port=443\n\
           add chain=forward action=drop in-interface=ether1\n\
           add chain=input action=accept protocol=icmp limit=5,5:packet\n\
           add chain=input action=accept protocol=icmp limit=5,5:packet in-interface=ether1\n",
        ],
    ),
    (
        "address-list-unused",
        &[
            "/ip/firewall/address-list/add list=bogons address=10.0.0.0/8\n",
            "/ip/firewall/filter/add chain=input action=drop src-address-list=bogon\n",
        ],
        &[
            "/ip/firewall/address-list/add list=bogons address=10.0.0.0/8\n\
           /ip/firewall/address-list/add list=asked address=192.0.2.1\n\
           /ip/firewall/filter/add chain=input action=drop src-address-list=!bogons\n\
           /system/script/add name=s source=\"/ip firewall address-list print where list=asked\"\n",
        ],
    ),
];

/// Iterates over the cases of all rules.
fn cases() -> impl Iterator<Item = &'static Case> {
    let parts = [
        CASES,
        ppp::CASES,
        vpn::CASES,
        everyday::CASES,
        nested::CASES,
    ];
    parts.into_iter().flatten()
}

#[test]
fn each_rule_finds_its_mistake_and_no_lookalike() {
    let mut complaints = Vec::new();
    for (name, wrong, right) in cases() {
        if !found(&wrong.concat()).contains(name) {
            complaints.push(format!("{name} does not find its mistake"));
        }
        if found(&right.concat()).contains(name) {
            complaints.push(format!("{name} takes what is right for a mistake"));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    let tested: BTreeSet<_> = cases().map(|(name, ..)| *name).collect();
    let all: BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(tested, all);
    assert_eq!(all.len(), RULES.len(), "names are used once");
}

#[test]
fn the_documentation_has_all_rules() {
    let page = include_str!("../../../docs/doctor.md");
    for rule in RULES {
        let severity = rule.severity.name();
        let begins = format!("- **{}** ({severity}): ", rule.name);
        assert!(page.contains(&begins), "{begins}");
    }
}

#[test]
fn an_empty_configuration_has_no_mistakes() {
    assert_eq!(found(""), BTreeSet::new());
}

/// The proposed commands are valid and remove the mistake.
#[test]
fn fix_commands_remove_the_finding() {
    let (mut mended, mut complaints) = (0, Vec::new());
    for (name, wrong, _) in cases() {
        let mut store = schema::store();
        script::check(&mut store, &wrong.concat());
        let findings = examine(&store);
        let mut own = findings.iter().filter(|finding| finding.rule.name == *name);
        let Some(finding) = own.find(|finding| !finding.fix.is_empty()) else {
            continue;
        };
        let report = script::check(&mut store, &finding.fix.join("\n"));
        let left = examine(&store);
        if !report.refused.is_empty() || left.iter().any(|left| left.rule.name == *name) {
            complaints.push(format!("{name}: {:?}: {:?}", finding.fix, report.refused));
        }
        mended += 1;
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(mended > 10, "{mended}");
}
