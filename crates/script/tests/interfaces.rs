//! Menus of interfaces, sessions, queues and routing protocols: values that an export omits, refusals with
//! their messages, and items that are added and removed together with others.

use menu::export::{Options, Style, export};
use menu::{Offline, Store};
use script::Session;

/// The export below a path of a router on which these lines were run.
fn exported(lines: &[&str], under: &str) -> String {
    let mut store = with_ports();
    for line in lines {
        assert_eq!(run(&mut store, line), "", "{line}");
    }
    let options = Options {
        style: Style::Terse,
        under,
        sensitive: true,
        ..Options::default()
    };
    let mut text = String::new();
    let _ = export(&store, &options, &mut text);
    text
}

fn with_ports() -> Store {
    let mut store = schema::store();
    for port in ["ether1", "ether2", "wlan1", "wifi1", "lte1"] {
        store.ensure_port(port, None).expect("is a port's name");
    }
    store
}

/// The output of a line, or the reason for its refusal.
fn run(store: &mut Store, line: &str) -> String {
    let mut out = String::new();
    match script::run(
        store,
        &mut Offline,
        &mut Session::new("admin"),
        line,
        &mut out,
    ) {
        Ok(()) => out,
        Err(refusal) => refusal.to_string(),
    }
}

fn refusal(line: &str) -> String {
    run(&mut with_ports(), line)
}

#[test]
fn default_values_are_not_exported() {
    let lines = [
        "/interface bridge add name=br protocol-mode=rstp priority=0x8000 fast-forward=yes pvid=1",
        "/interface bridge port add bridge=br interface=ether1 pvid=20 ingress-filtering=yes",
        "/interface bridge vlan add bridge=br tagged=br,ether1 vlan-ids=10,20-30",
    ];
    assert_eq!(
        exported(&lines, "/interface/bridge"),
        "/interface bridge add name=br\n\
         /interface bridge port add bridge=br interface=ether1 pvid=20\n\
         /interface bridge vlan add bridge=br tagged=br,ether1 vlan-ids=10,20-30\n"
    );
    let lines = ["/interface gre add remote-address=192.0.2.1 !keepalive mtu=auto dscp=inherit"];
    assert_eq!(
        exported(&lines, "/interface/gre"),
        "/interface gre add !keepalive name=gre-tunnel1 remote-address=192.0.2.1\n"
    );
    let lines = ["/interface pppoe-client add interface=ether1 user=u disabled=no"];
    assert_eq!(
        exported(&lines, "/interface/pppoe-client"),
        "/interface pppoe-client add disabled=no interface=ether1 name=pppoe-out1 user=u\n"
    );
}

#[test]
fn built_in_items_have_routeros_names() {
    let lines = [
        "/ppp profile set *FFFFFFFE local-address=192.0.2.1",
        "/queue type set default kind=pfifo pfifo-limit=60",
        "/interface wireless security-profiles set [ find default=yes ] mode=dynamic-keys",
        "/caps-man manager interface set [ find default=yes ] forbid=yes",
    ];
    assert_eq!(
        exported(&lines[..1], "/ppp/profile"),
        "/ppp profile set *FFFFFFFE local-address=192.0.2.1\n"
    );
    assert_eq!(
        exported(&lines[1..2], "/queue/type"),
        "/queue type set 0 pfifo-limit=60\n"
    );
    assert_eq!(
        exported(&lines[2..3], "/interface/wireless/security-profiles"),
        "/interface wireless security-profiles set [ find default=yes ] mode=dynamic-keys\n"
    );
    assert_eq!(
        exported(&lines[3..], "/caps-man/manager/interface"),
        "/caps-man manager interface set [ find default=yes ] forbid=yes\n"
    );
}

#[test]
fn queues_have_rates_for_both_directions() {
    let lines = [
        "/queue simple add name=q target=10.0.0.0/24,ether1 max-limit=10M/512k priority=1 \
         burst-time=8/8s queue=pcq-upload-default/pcq-download-default",
        "/queue tree add name=t parent=global packet-mark=m max-limit=1500000",
    ];
    assert_eq!(
        exported(&lines, "/queue/simple"),
        "/queue simple add burst-time=8s/8s max-limit=10M/512k name=q priority=1/1 \
         queue=pcq-upload-default/pcq-download-default target=10.0.0.0/24,ether1\n"
    );
    assert_eq!(
        exported(&lines, "/queue/tree"),
        "/queue tree add max-limit=1500k name=t packet-mark=m parent=global\n"
    );
    assert_eq!(
        refusal("/queue simple add name=q target=10.0.0.0/24 queue=nothing"),
        "input does not match any value of queue"
    );
    assert_eq!(
        refusal("/queue tree add name=t parent=nowhere"),
        "input does not match any value of parent"
    );
}

#[test]
fn invalid_values_are_refused_with_console_texts() {
    for (line, reason) in [
        (
            "/interface bridge add protocol-mode=fast",
            "input does not match any value of protocol-mode",
        ),
        (
            "/interface bridge port add bridge=nobody interface=ether1",
            "input does not match any value of bridge",
        ),
        (
            "/interface vrrp add interface=ether1 vrid=256",
            "value of vrid out of range (1..255)",
        ),
        (
            "/interface vxlan add name=v",
            "missing value(s) of argument(s) vni",
        ),
        (
            "/interface wireguard peers add interface=ether1 persistent-keepalive=2d",
            "value of persistent-keepalive is out of range",
        ),
        (
            "/routing ospf area add name=a area-id=1.2.3",
            "invalid value for argument area-id",
        ),
        (
            "/routing bgp connection add name=c local.role=friend",
            "input does not match any value of local.role",
        ),
        (
            "/interface bridge set [ find ] hw=no",
            "expected end of command",
        ),
    ] {
        let answer = refusal(line);
        assert!(answer.contains(reason), "{line}: {answer}");
    }
    let mut store = with_ports();
    run(&mut store, "/interface bridge add name=br");
    let line = "/interface bridge port add bridge=br interface=ether2";
    assert_eq!(run(&mut store, line), "");
    assert!(run(&mut store, line).starts_with("failure: device already added as bridge port"));
}

#[test]
fn interface_names_are_unique_over_all_types() {
    let mut store = with_ports();
    for line in [
        "/interface bridge add name=lan",
        "/interface vlan add interface=lan name=v vlan-id=10",
        "/ip address add address=192.0.2.1/24 interface=lan",
        "/interface bridge set lan name=home",
    ] {
        assert_eq!(run(&mut store, line), "", "{line}");
    }
    let address = store.items("/ip/address").next().expect("it was added");
    assert_eq!(address.text("interface"), "home");
    assert_eq!(
        run(&mut store, ":put [/interface get home type]"),
        "bridge\n"
    );
    assert!(
        run(&mut store, "/interface eoip add name=v").contains("already have interface"),
        "a name is taken once"
    );
}

#[test]
fn an_interface_queue_exists_as_long_as_its_interface() {
    let mut store = with_ports();
    let queues = |store: &Store| -> Vec<String> {
        let items = store.items("/queue/interface");
        items
            .map(|i| format!("{} {}", i.text("interface"), i.text("queue")))
            .collect()
    };
    assert_eq!(
        queues(&store),
        [
            "ether1 only-hardware-queue",
            "ether2 only-hardware-queue",
            "wlan1 wireless-default",
            "wifi1 wireless-default",
            "lte1 no-queue"
        ]
    );

    for line in [
        "/interface bridge add name=br",
        "/queue interface set br queue=default",
        "/interface bridge set br name=lan",
    ] {
        assert_eq!(run(&mut store, line), "", "{line}");
    }
    assert!(queues(&store).contains(&"lan default".to_owned()));
    assert_eq!(run(&mut store, "/interface bridge remove lan"), "");
    assert_eq!(queues(&store).len(), 5);
}

#[test]
fn radios_are_ports_and_networks_on_them_are_added() {
    let lines = [
        "/interface wireless set [ find default-name=wlan1 ] ssid=a band=2ghz-b/g/n disabled=no",
        "/interface wireless add master-interface=wlan1 name=guest ssid=b",
        "/interface wifi set [ find default-name=wifi1 ] configuration.mode=ap .ssid=c disabled=no",
    ];
    assert_eq!(
        exported(&lines, "/interface/wireless"),
        "/interface wireless set [ find default-name=wlan1 ] band=2ghz-b/g/n disabled=no ssid=a\n\
         /interface wireless add master-interface=wlan1 name=guest ssid=b\n"
    );
    assert_eq!(
        exported(&lines, "/interface/wifi"),
        "/interface wifi set [ find default-name=wifi1 ] configuration.mode=ap .ssid=c disabled=no\n"
            .replace(" .ssid", " configuration.ssid")
    );
    let answer = refusal("/interface wireless remove wlan1");
    assert!(answer.contains("can not remove"), "{answer}");
}

#[test]
fn words_of_version_6_are_accepted() {
    let text = "/routing ospf instance\nset [ find default=yes ] router-id=192.0.2.1 in-filter=f\n\
                /routing ospf network\nadd area=backbone network=192.0.2.0/24\n\
                /routing bgp instance\nset default as=65001\n\
                /routing bgp peer\nadd name=p remote-address=192.0.2.2 remote-as=65002 route-reflect=yes\n\
                /mpls ldp\nset enabled=yes transport-address=192.0.2.1\n\
                /interface vpls\nadd name=v remote-peer=192.0.2.3 cisco-style=yes cisco-style-id=7\n";
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert_eq!(report.refused, []);
    let first = |path: &str| store.items(path).next().expect("it was made").clone();

    let instance = first("/routing/ospf/instance");
    assert_eq!(instance.text("in-filter-chain"), "f");
    assert_eq!(
        first("/routing/ospf/interface-template").text("area"),
        "backbone"
    );
    let peer = first("/routing/bgp/connection");
    assert_eq!(peer.text("local.role"), "ibgp-rr");
    assert_eq!(peer.number("remote.as"), Some(65_002));
    assert!(!first("/mpls/ldp").is("disabled"));
    assert_eq!(first("/interface/vpls").number("cisco-static-id"), Some(7));
}

#[test]
fn a_check_says_that_such_menus_have_no_effect() {
    let report = script::check(
        &mut schema::store(),
        "/interface mesh\nadd name=br\n/ip address\nadd address=192.0.2.1/24 interface=br\n",
    );
    assert_eq!(report.refused, []);
    let lines: Vec<_> = report.no_effect.iter().map(|n| n.line).collect();
    assert_eq!(lines, [2, 4]);
    let missing = report.no_effect.iter().map(|n| n.missing.as_str());
    let mesh = ["virtual interfaces", "virtual interfaces (interface=br)"];
    assert_eq!(missing.collect::<Vec<_>>(), mesh);
}

#[test]
fn a_confederation_member_has_two_as_numbers() {
    let mut store = schema::store();
    let text = "/routing bgp instance add name=i as=65550/5\n\
                /routing bgp template add name=t as=65550/5\n\
                /routing bgp connection add name=c as=65550/5 local.role=ebgp remote.address=10.0.0.1";
    assert!(script::check(&mut store, text).refused.is_empty());
    let exported = Options {
        under: "/routing/bgp",
        ..Options::default()
    };
    let mut shown = String::new();
    let _ = export(&store, &exported, &mut shown);
    assert_eq!(shown.matches("as=65550/5").count(), 3, "{shown}");

    let bad = script::check(&mut store, "/routing bgp template add name=u as=5/x");
    assert_eq!(bad.refused.len(), 1);
}
