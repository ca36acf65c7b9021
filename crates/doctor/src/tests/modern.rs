//! Old configurations, and the forms of today, which draw no advice.

use std::collections::BTreeSet;

use crate::{MODERN, OLD_FORMS, examine_by, old_forms};

fn found(text: &str) -> BTreeSet<&'static str> {
    let mut store = schema::store();
    let report = script::check(&mut store, text);
    assert!(report.refused.is_empty(), "{text}: {:?}", report.refused);
    let findings = examine_by(&store, MODERN);
    findings.iter().map(|finding| finding.rule.name).collect()
}

const PEER: &str = "/ip/ipsec/peer/add name=far address=198.51.100.7/32 exchange-mode=";
const POLICY: &str =
    "\n/ip/ipsec/policy/add peer=far src-address=10.1.0.0/24 dst-address=10.2.0.0/24 tunnel=yes\n";
const CLEAR: &str = "/ip/service/disable telnet,ftp,www,api\n";
const ESTABLISHED: &str =
    "/ip/firewall/filter/add chain=forward action=accept connection-state=established,related\n";

/// Per rule an old configuration and its form of today.
const CASES: &[(&str, &[&str], &[&str])] = &[
    (
        "modern-wireguard",
        &["/interface/pptp-client/add name=p connect-to=198.51.100.7 user=a disabled=no\n"],
        &["/interface/wireguard/add name=w\n"],
    ),
    ("modern-ike2", &[PEER, "main\n"], &[PEER, "ike2\n"]),
    (
        "modern-aes-gcm",
        &[
            "/ip/ipsec/proposal/set [find] enc-algorithms=aes-256-cbc\n",
            PEER,
            "ike2",
            POLICY,
        ],
        &[
            "/ip/ipsec/proposal/set [find] enc-algorithms=aes-256-gcm\n",
            PEER,
            "ike2",
            POLICY,
        ],
    ),
    (
        "modern-vlan-filtering",
        &[
            "/interface/bridge/add name=b\n/interface/vlan/add name=v interface=ether2 vlan-id=7\n\
             /interface/bridge/port/add bridge=b interface=v\n",
        ],
        &["/interface/bridge/add name=b vlan-filtering=yes\n\
             /interface/bridge/port/add bridge=b interface=ether2 pvid=7\n"],
    ),
    (
        "modern-fasttrack",
        &[ESTABLISHED],
        &[
            "/ip/firewall/filter/add chain=forward action=fasttrack-connection connection-state=established,related\n",
            ESTABLISHED,
        ],
    ),
    (
        "modern-raw-blocklist",
        &["/ip/firewall/filter/add chain=input action=drop src-address-list=bad\n"],
        &["/ip/firewall/raw/add chain=prerouting action=drop src-address-list=bad\n"],
    ),
    (
        "modern-routing-rule",
        &[
            "/routing/table/add name=t fib\n/ip/firewall/mangle/add chain=prerouting action=mark-routing \
             new-routing-mark=t src-address=10.0.0.0/8\n",
        ],
        &[
            "/routing/table/add name=t fib\n/routing/rule/add src-address=10.0.0.0/8 action=lookup table=t\n",
        ],
    ),
    (
        "modern-queue-type",
        &["/queue/tree/add name=q parent=ether1 queue=default max-limit=10M\n"],
        &[
            "/queue/type/add name=c kind=cake\n/queue/tree/add name=q parent=ether1 queue=c max-limit=10M\n",
        ],
    ),
    (
        "modern-encrypted-services",
        &["/ip/service/enable www\n"],
        &[CLEAR],
    ),
    (
        "modern-strong-ssh",
        &["/ip/ssh/set strong-crypto=no\n"],
        &["/ip/ssh/set strong-crypto=yes\n"],
    ),
    (
        "modern-wpa2",
        &[
            "/interface/wireless/security-profiles/add name=w mode=dynamic-keys authentication-types=wpa-psk,wpa2-psk\n",
        ],
        &[
            "/interface/wireless/security-profiles/add name=w mode=dynamic-keys authentication-types=wpa2-psk\n",
        ],
    ),
];

#[test]
fn each_rule_advises_the_old_form_and_not_the_form_of_today() {
    for (name, old, today) in CASES {
        assert!(found(&old.concat()).contains(name), "{name}");
        assert!(!found(&today.concat()).contains(name), "{name}");
    }
    let tested: BTreeSet<_> = CASES.iter().map(|(name, ..)| *name).collect();
    let all: BTreeSet<_> = MODERN.iter().map(|rule| rule.name).collect();
    assert_eq!(tested, all);
}

#[test]
fn commands_bring_the_form_of_today() {
    for (name, old, _) in CASES {
        let mut store = schema::store();
        script::check(&mut store, &old.concat());
        let findings = examine_by(&store, MODERN).into_iter();
        let fixes: Vec<_> = findings
            .filter(|finding| finding.rule.name == *name)
            .flat_map(|finding| finding.fix)
            .collect();
        if fixes.is_empty() {
            continue;
        }
        let report = script::check(&mut store, &fixes.join("\n"));
        assert!(report.refused.is_empty(), "{fixes:?}: {:?}", report.refused);
        let left = examine_by(&store, MODERN);
        assert!(left.iter().all(|left| left.rule.name != *name), "{name}");
    }
}

#[test]
fn fasttrack_is_no_advice_where_queues_or_policies_come_at_run_time() {
    for feature in [
        "/ppp/profile/add name=limited rate-limit=10M/50M\n",
        "/ip/dhcp-server/lease/add address=192.168.88.9 mac-address=02:00:00:00:00:09 rate-limit=1M/5M\n",
        "/ppp/aaa/set use-radius=yes\n",
        "/ip/ipsec/peer/add name=far passive=yes exchange-mode=ike2\n\
         /ip/ipsec/identity/add peer=far secret=horse-battery-staple generate-policy=port-strict\n",
    ] {
        let found = found(&[feature, ESTABLISHED].concat());
        assert!(!found.contains("modern-fasttrack"), "{feature}");
    }
}

#[test]
fn peers_with_xauth_or_l2tp_stay_with_ikev1() {
    for ike1 in [
        "/ip/ipsec/peer/add name=phones exchange-mode=main passive=yes\n\
         /ip/ipsec/identity/add peer=phones auth-method=pre-shared-key-xauth secret=horse-battery-staple\n",
        "/ip/ipsec/peer/add name=phones address=0.0.0.0/0 exchange-mode=main passive=yes\n\
         /interface/l2tp-server/server/set enabled=yes\n",
        "/ip/ipsec/peer/add name=office address=198.51.100.7/32 exchange-mode=main\n\
         /interface/l2tp-client/add name=l connect-to=198.51.100.7 user=a disabled=no\n",
        "/ip/ipsec/peer/add name=office address=198.51.100.7/32 exchange-mode=main\n\
         /ip/ipsec/policy/add peer=office src-address=192.0.2.7/32 dst-address=198.51.100.7/32 protocol=udp \
         dst-port=1701\n",
    ] {
        assert!(!found(ike1).contains("modern-ike2"), "{ike1}");
    }
}

/// Returns the commands of a rule.
fn commands(text: &str, rule: &str) -> Vec<String> {
    let mut store = schema::store();
    script::check(&mut store, text);
    let findings = examine_by(&store, MODERN).into_iter();
    let of_rule = findings.filter(|finding| finding.rule.name == rule);
    of_rule.flat_map(|finding| finding.fix).collect()
}

#[test]
fn no_command_breaks_a_tunnel_or_the_way_to_log_in() {
    let main = [PEER, "main\n"].concat();
    assert!(found(&main).contains("modern-ike2"));
    assert_eq!(commands(&main, "modern-ike2"), Vec::<String>::new());
    let services = |disabled: &str| {
        let text = format!("/ip/service/enable www\n/ip/service/disable {disabled}\n");
        commands(&text, "modern-encrypted-services").is_empty()
    };
    assert!(services("ssh,winbox"));
    assert!(!services("ssh") && !services("winbox"));
}

#[test]
fn old_forms_are_found_by_menu_and_property_with_their_lines() {
    let text = "# export\n/interface ethernet\nset [ find default-name=ether3 ] \\\n    master-port=ether2\n\
                /ip ipsec peer add address=198.51.100.7/32 \\\n secret=x\n/ip/route/add gateway=1.2.3.4 routing-mark=t\n\
                /routing ospf network\nadd area=backbone network=10.0.0.0/8\n/ip ipsec identity\nadd secret=x\n";
    let found: Vec<_> = old_forms(text)
        .iter()
        .map(|old| (old.line, old.form.menu))
        .collect();
    let expected = [
        (3, "/interface/ethernet"),
        (5, "/ip/ipsec/peer"),
        (7, "/ip/route"),
        (9, "/routing/ospf/network"),
    ];
    assert_eq!(found, expected);
    assert!(OLD_FORMS.iter().all(|form| form.menu.starts_with('/')));
}
