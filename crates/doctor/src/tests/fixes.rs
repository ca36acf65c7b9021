//! Commands that correct mistakes: what they open and close, and where the user has to decide.

use super::{BRIDGE, CLOSED, WAN, found};
use crate::examine;

/// Returns the commands that a rule proposes.
fn fixes(config: &str, rule: &str) -> Vec<String> {
    let mut store = schema::store();
    let report = script::check(&mut store, config);
    assert!(report.refused.is_empty(), "{config}: {:?}", report.refused);
    let findings = examine(&store).into_iter();
    let of_rule = findings.filter(|finding| finding.rule.name == rule);
    of_rule.flat_map(|finding| finding.fix).collect()
}

const LISTENERS: &str = "/interface/wireguard/add name=wg1 listen-port=51820
/interface/l2tp-server/server/set enabled=yes use-ipsec=required
/interface/gre/add name=g remote-address=198.51.100.9
/interface/vxlan/add name=v vni=7 port=4789
/interface/sstp-server/server/set enabled=yes port=8443
/routing/bgp/connection/add name=b remote.address=198.51.100.8 remote.as=65001 local.role=ebgp
/ip/service/set ssh address=203.0.113.0/24,2001:db8::/32
/ip/service/set api address=0.0.0.0/0
/tool/bandwidth-server/set allowed-addresses4=203.0.113.9/32
/snmp/set enabled=yes
/snmp/community/set [find default=yes] addresses=203.0.113.5/32
";

#[test]
fn closing_input_first_accepts_what_the_file_listens_for() {
    let fix = fixes(&[WAN, LISTENERS].concat(), "input-open-wan");
    let (drop, accepts) = fix.split_last().expect("it closes the chain");
    assert_eq!(
        drop,
        "/ip/firewall/filter/add chain=input action=drop connection-state=new ipsec-policy=in,none \
         in-interface=ether1"
    );
    let matchers: Vec<_> = accepts
        .iter()
        .filter_map(|rule| {
            rule.strip_prefix("/ip/firewall/filter/add chain=input action=accept protocol=")
        })
        .collect();
    let expected = [
        "icmp",
        "udp dst-port=51820",
        "udp dst-port=500",
        "udp dst-port=4500",
        "ipsec-esp",
        "udp dst-port=1701",
        "tcp dst-port=8443",
        "gre src-address=198.51.100.9",
        "udp dst-port=4789",
        "tcp dst-port=179 src-address=198.51.100.8",
        "tcp dst-port=22 src-address=203.0.113.0/24",
        "tcp dst-port=2000 src-address=203.0.113.9",
        "udp dst-port=161 src-address=203.0.113.5",
    ];
    assert_eq!(matchers, expected);
    assert_eq!(accepts.len(), expected.len());

    // Decisions of the file stay as they are.
    let decided = "/ip/firewall/filter/add chain=input action=accept protocol=udp dst-port=51820\n\
                   /ip/firewall/filter/add chain=input action=drop protocol=tcp dst-port=179\n";
    let fix = fixes(&[WAN, LISTENERS, decided].concat(), "input-open-wan").join("\n");
    assert!(
        !fix.contains("51820") && !fix.contains("dst-port=179"),
        "{fix}"
    );
}

#[test]
fn every_interface_to_strangers_is_closed_and_names_are_quoted() {
    let two = "/interface/ethernet/set [find default-name=ether1] name=\"ether1 fibre\"\n\
               /ip/dhcp-client/add interface=\"ether1 fibre\"\n/ip/dhcp-client/add interface=ether5\n";
    let fix = fixes(two, "input-open-wan");
    let mut store = schema::store();
    let report = script::check(&mut store, &[two, &fix.join("\n")].concat());
    assert!(report.refused.is_empty(), "{fix:?}: {:?}", report.refused);
    assert!(
        examine(&store)
            .iter()
            .all(|left| left.rule.name != "input-open-wan"),
        "{fix:?}"
    );
}

#[test]
fn no_command_closes_what_a_rule_or_a_server_of_the_file_opens() {
    let accepted = "/ip/firewall/filter/add chain=input action=accept\n";
    let accepts = [WAN, accepted].concat();
    assert!(found(&accepts).contains("input-open-wan"));
    assert_eq!(fixes(&accepts, "input-open-wan"), Vec::<String>::new());
    let telnet = "/ip/firewall/filter/add chain=input action=accept protocol=tcp dst-port=23\n";
    assert_eq!(
        fixes(&[WAN, telnet, CLOSED].concat(), "mgmt-service-open"),
        Vec::<String>::new()
    );
    let pptp = "/interface/pptp-server/server/set enabled=yes";
    assert_eq!(fixes(pptp, "pptp-security"), Vec::<String>::new());
}

#[test]
fn masquerade_stays_if_there_is_another_uplink() {
    let static_ip = "/ip/address/add address=192.0.2.7/24 interface=ether1\n\
                     /ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether1\n\
                     /ip/route/add gateway=192.0.2.1\n";
    assert!(found(static_ip).contains("masquerade-static-ip"));
    for other in [
        "/ip/route/add gateway=198.51.100.1 distance=2",
        "/ip/dhcp-client/add interface=ether2",
        "/interface/pppoe-client/add name=p interface=ether2 disabled=no",
        "/ip/firewall/nat/add chain=srcnat action=masquerade out-interface=ether2",
    ] {
        let two = [static_ip, other].concat();
        assert!(!found(&two).contains("masquerade-static-ip"), "{other}");
    }
}

#[test]
fn the_guests_port_leaves_the_switch_so_that_the_rule_sees_it() {
    let guests = "/interface/list/add name=guests\n/interface/list/member/add list=guests interface=ether3\n\
                  /interface/bridge/filter/add chain=forward action=drop in-interface-list=guests\n";
    let fix = fixes(&[BRIDGE, guests].concat(), "bridge-rule-switched");
    assert_eq!(fix.len(), 1);
    let mut store = schema::store();
    script::check(&mut store, &[BRIDGE, guests, &fix.join("\n")].concat());
    let hw = store
        .items("/interface/bridge/port")
        .map(|port| (port.text("interface").to_owned(), port.is("hw")));
    let expected = [("ether2".to_owned(), true), ("ether3".to_owned(), false)];
    assert_eq!(hw.collect::<Vec<_>>(), expected);

    // A single port of a bridge, or a port that no switch chip has, is not switched.
    let wireless = "/interface/bridge/add name=lan\n/interface/eoip/add name=e remote-address=192.0.2.7 tunnel-id=1\n\
                    /interface/bridge/port/add bridge=lan interface=ether2\n\
                    /interface/bridge/port/add bridge=lan interface=e\n\
                    /interface/bridge/filter/add chain=forward action=drop in-interface=e\n";
    assert!(!found(wireless).contains("bridge-rule-switched"));
}

#[test]
fn the_command_for_a_blocked_server_opens_this_server_alone() {
    let servers = "/ip/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp dst-port=8080 to-ports=80 \
                   to-addresses=192.168.88.9\n\
                   /ip/firewall/nat/add chain=dstnat action=dst-nat protocol=tcp dst-port=3389 \
                   to-addresses=192.168.88.10\n\
                   /ip/firewall/filter/add chain=forward action=drop connection-state=invalid\n\
                   /ip/firewall/filter/add chain=forward action=accept dst-address=192.168.88.10 \
                   src-address=203.0.113.0/24\n\
                   /ip/firewall/filter/add chain=forward action=drop in-interface=ether1\n";
    let fix = fixes(&[WAN, servers].concat(), "dstnat-blocked");
    let [command] = &fix[..] else {
        panic!("{fix:?}");
    };
    assert!(
        command.contains(
            "connection-nat-state=dstnat protocol=tcp dst-port=80 dst-address=192.168.88.9"
        ),
        "{command}"
    );
    assert!(command.ends_with("place-before=*3"), "{command}");
}

#[test]
fn tunnels_get_the_largest_mtu_that_the_link_carries() {
    for (tunnel, mtu) in [
        ("gre/add name=t remote-address=198.51.100.9", 1476),
        ("ipip/add name=t remote-address=198.51.100.9", 1480),
        (
            "eoip/add name=t remote-address=198.51.100.9 tunnel-id=1",
            1458,
        ),
        ("vxlan/add name=t vni=7", 1450),
        ("wireguard/add name=t", 1440),
    ] {
        let config = format!("/interface/{tunnel} mtu=1510\n");
        let fix = fixes(&config, "tunnel-mtu-fragments");
        let menu = tunnel.split('/').next().unwrap_or_default();
        let expected = format!("/interface/{menu}/set *");
        assert!(fix[0].starts_with(&expected), "{fix:?}");
        assert!(fix[0].ends_with(&format!(" mtu={mtu}")), "{fix:?}");
        let mut store = schema::store();
        let report = script::check(&mut store, &[config, fix.join("\n")].concat());
        assert!(report.refused.is_empty(), "{fix:?}: {:?}", report.refused);
    }
}
