//! What today's RouterOS does better for an old configuration: rules over the store, and old forms in the text.

use menu::{Item, Value};

use crate::config::{Config, FILTER, has, has_any, shown, title, words};
use crate::rule::{Rule, RuleFindings, Severity};

/// Rules of `check --modern`. All are advice: the configuration works.
pub const MODERN: &[Rule] = &[
    WIREGUARD,
    IKE2,
    AEAD,
    VLAN_FILTERING,
    FASTTRACK,
    RAW_BLOCKLIST,
    ROUTING_RULE,
    MODERN_QUEUE,
    ENCRYPTED_SERVICES,
    STRONG_SSH,
    WPA2,
];

const fn advice(name: &'static str, cause: &'static str, mend: &'static str, find: Find) -> Rule {
    Rule {
        name,
        severity: Severity::Advice,
        cause,
        mend,
        find,
    }
}

type Find = fn(&Config<'_>, &mut RuleFindings);

const WIREGUARD: Rule = advice(
    "modern-wireguard",
    "PPTP is broken, and L2TP without IPsec encrypts by MPPE or not at all",
    "use WireGuard: one UDP port, one key for each peer, no certificates; or IKEv2 for clients without WireGuard",
    |config, found| {
        for (server, is_weak) in [
            ("/interface/pptp-server/server", true),
            ("/interface/l2tp-server/server", false),
        ] {
            let settings = config.settings(server);
            let settings = settings.filter(|server| server.is("enabled"));
            let plain = settings.filter(|server| is_weak || server.text("use-ipsec") == "no");
            if let Some(server) = plain {
                found.add(&[server], format!("{} is enabled", title(server)));
            }
        }
        for client in config.enabled("/interface/pptp-client") {
            found.add(&[client], format!("{} is PPTP", title(client)));
        }
        for client in config.enabled("/interface/l2tp-client") {
            if !client.is("use-ipsec") {
                found.add(&[client], format!("{} has use-ipsec=no", title(client)));
            }
        }
    },
);

const IKE2: Rule = advice(
    "modern-ike2",
    "IKEv1 needs nine messages, fails behind NAT more often, and its aggressive mode shows the identity and a hash of \
     the secret to everybody",
    "set exchange-mode=ike2 at both ends",
    |config, found| {
        for peer in config.enabled("/ip/ipsec/peer") {
            let mode = peer.text("exchange-mode");
            if mode != "ike2" && !needs_ike1(config, peer) {
                // No command: the tunnel is down until both ends have changed.
                let said = format!("{} has exchange-mode={mode}", title(peer));
                found.add(&[peer], said);
            }
        }
    },
);

/// Returns true for peers with XAuth, and for those of L2TP: both exist in IKEv1 only.
fn needs_ike1(config: &Config<'_>, peer: &Item) -> bool {
    let name = peer.text("name");
    let has_xauth = { config.enabled("/ip/ipsec/identity").into_iter() }.any(|identity| {
        let method = identity.text("auth-method");
        identity.text("peer") == name
            && matches!(method, "pre-shared-key-xauth" | "rsa-signature-hybrid")
    });
    let carries_l2tp = { config.enabled("/ip/ipsec/policy").into_iter() }.any(|policy| {
        let ports = ["src-port", "dst-port"].map(|property| shown(policy, property));
        words(policy.get("peer")).contains(&name) && ports.iter().any(|port| port == "1701")
    });
    let address = shown(peer, "address");
    let is_for_all = matches!(address.as_str(), "" | "0.0.0.0/0" | "::/0");
    let server = config.settings("/interface/l2tp-server/server");
    let serves = server.is_some_and(|server| server.is("enabled"));
    let host = address.split('/').next().unwrap_or_default();
    let mut clients = config.enabled("/interface/l2tp-client").into_iter();
    let dials = clients.any(|client| shown(client, "connect-to") == host);
    has_xauth || carries_l2tp || is_for_all && serves || dials
}

const AEAD: Rule = advice(
    "modern-aes-gcm",
    "AES-CBC with a separate hash takes about three times the clocks of AES-GCM, which encrypts and authenticates in \
     one pass",
    "set enc-algorithms=aes-256-gcm,aes-128-gcm at both ends; keep others behind them for old peers",
    |config, found| {
        let policies = config.policies();
        for proposal in config.enabled("/ip/ipsec/proposal") {
            let name = proposal.text("name");
            let is_used = policies
                .iter()
                .any(|policy| policy.text("proposal") == name);
            let ciphers = words(proposal.get("enc-algorithms"));
            let is_aead = |word: &&str| word.ends_with("gcm") || word.starts_with("chacha");
            if is_used && !ciphers.iter().any(is_aead) {
                let said = format!(
                    "{} has enc-algorithms={}",
                    title(proposal),
                    ciphers.join(",")
                );
                let all: Vec<_> = ["aes-256-gcm"].into_iter().chain(ciphers).collect();
                let fix = format!(
                    "/ip/ipsec/proposal/set {} enc-algorithms={}",
                    proposal.id,
                    all.join(",")
                );
                found.fixed(&[proposal], said, vec![fix]);
            }
        }
    },
);

const VLAN_FILTERING: Rule = advice(
    "modern-vlan-filtering",
    "a bridge for each VLAN, or bridge rules that match VLANs, are handled frame by frame in software, and spanning \
     tree sees a part of the network only",
    "use one bridge with vlan-filtering=yes, /interface/bridge/vlan and pvid= of ports: switch chips do it in hardware",
    |config, found| {
        let vlans = config.names("/interface/vlan");
        let bridged = config.ports().find(|(port, _, _)| vlans.contains(port));
        if let Some((port, bridge, item)) = bridged {
            found.add(
                &[item],
                format!("{bridge} has the VLAN interface {port} as a port"),
            );
        }
        let rules = config.enabled("/interface/bridge/filter").into_iter();
        let mut rules = rules.filter(|rule| has_any(rule, &["vlan-id", "vlan-encap"]));
        if let Some(rule) = rules.next() {
            found.add(&[rule], format!("{} matches VLANs", title(rule)));
        }
    },
);

const FASTTRACK: Rule = advice(
    "modern-fasttrack",
    "every packet of an established connection passes all rules of forward",
    "add a FastTrack rule before the rule that accepts established connections",
    |config, found| {
        let features = [
            "/queue/simple",
            "/queue/tree",
            "/ip/firewall/mangle",
            "/ip/hotspot",
        ];
        let is_needed = features.iter().any(|menu| !config.enabled(menu).is_empty())
            || !config.policies().is_empty()
            || has_dynamic_queues(config)
            || has_dynamic_policies(config);
        if is_needed || !config.fasttracks().is_empty() {
            return;
        }
        let mut rules = config.chain(FILTER, "forward").iter().copied();
        let accepts = |rule: &&Item| {
            rule.text("action") == "accept"
                && words(rule.get("connection-state")).contains(&"established")
                && !has_any(
                    rule,
                    &[
                        "in-interface",
                        "out-interface",
                        "src-address",
                        "dst-address",
                    ],
                )
        };
        if let Some(rule) = rules.find(accepts) {
            let fix = format!(
                "{FILTER}/add chain=forward action=fasttrack-connection connection-state=established,related \
                 place-before={}",
                rule.id
            );
            found.fixed(
                &[rule],
                format!("{} has no FastTrack rule before it", title(rule)),
                vec![fix],
            );
        }
    },
);

/// Returns true if clients get queues at run time, which FastTrack bypasses.
fn has_dynamic_queues(config: &Config<'_>) -> bool {
    let limits = ["/ppp/profile", "/ip/dhcp-server/lease", "/ip/kid-control"];
    let mut limited = limits.iter().flat_map(|menu| config.enabled(menu));
    let by_radius = config.settings("/ppp/aaa");
    let mut servers = config.enabled("/ip/dhcp-server").into_iter();
    limited.any(|item| has(item, "rate-limit"))
        || by_radius.is_some_and(|aaa| aaa.is("use-radius"))
        || servers.any(|server| server.text("use-radius") == "yes")
}

/// Returns true if IPsec gets policies at run time.
fn has_dynamic_policies(config: &Config<'_>) -> bool {
    let mut identities = config.enabled("/ip/ipsec/identity").into_iter();
    identities.any(|identity| !matches!(identity.text("generate-policy"), "" | "no"))
}

const RAW_BLOCKLIST: Rule = advice(
    "modern-raw-blocklist",
    "packets of a blocklist are tracked as connections before the filter drops them: a flood fills the table",
    "drop them in /ip/firewall/raw, chain prerouting, before connection tracking",
    |config, found| {
        for rule in config.enabled(FILTER) {
            let is_plain = !has_any(
                rule,
                &[
                    "protocol",
                    "dst-port",
                    "connection-state",
                    "connection-nat-state",
                    "limit",
                ],
            );
            let list = rule.get("src-address-list");
            let is_listed =
                list.is_some_and(|value| !matches!(value, Value::Not(_)) && !value.is_empty());
            if rule.text("action") == "drop"
                && is_plain
                && is_listed
                && rule.text("chain") == "input"
            {
                let list = shown(rule, "src-address-list");
                found.add(&[rule], format!("input drops the addresses of {list}"));
            }
        }
    },
);

const ROUTING_RULE: Rule = advice(
    "modern-routing-rule",
    "a mangle rule that marks packets by addresses alone runs for each packet, and FastTrack has to be limited for it",
    "use /routing/rule with src-address= or dst-address= and action=lookup",
    |config, found| {
        for rule in config.enabled("/ip/firewall/mangle") {
            let others = [
                "protocol",
                "connection-mark",
                "in-interface",
                "in-interface-list",
                "src-address-list",
                "dst-address-list",
                "per-connection-classifier",
                "connection-state",
                "packet-mark",
                "dst-address-type",
            ];
            let by_address =
                has_any(rule, &["src-address", "dst-address"]) && !has_any(rule, &others);
            if rule.text("action") == "mark-routing"
                && rule.text("chain") == "prerouting"
                && by_address
            {
                found.add(&[rule], format!("{} marks by address", title(rule)));
            }
        }
    },
);

const MODERN_QUEUE: Rule = advice(
    "modern-queue-type",
    "a queue of type pfifo, bfifo, red or sfq fills before it drops: delay grows under load",
    "use a queue type of kind cake or fq-codel for the queues of the uplink",
    |config, found| {
        let types = config.enabled("/queue/type").into_iter();
        let types =
            types.filter(|item| matches!(item.text("kind"), "cake" | "fq-codel" | "codel" | "pcq"));
        let modern: std::collections::BTreeSet<_> = types.map(|item| item.text("name")).collect();
        let trees = config.enabled("/queue/tree");
        let mut old = trees
            .iter()
            .filter(|tree| !modern.contains(tree.text("queue")));
        if let Some(tree) = old.next() {
            found.add(
                &[tree],
                format!("{} has queue={}", title(tree), shown(tree, "queue")),
            );
        }
    },
);

const ENCRYPTED_SERVICES: Rule = advice(
    "modern-encrypted-services",
    "telnet, ftp, www and api send passwords in clear to everybody on the way",
    "disable them, and use ssh, www-ssl and api-ssl with address= of the administrators' networks",
    |config, found| {
        let services = config.enabled("/ip/service").into_iter();
        let clear = services.filter(|service| {
            matches!(service.text("name"), "telnet" | "ftp" | "www" | "api")
                && shown(service, "address").is_empty()
        });
        let clear: Vec<_> = clear.collect();
        if !clear.is_empty() {
            let names: Vec<_> = clear.iter().map(|service| service.text("name")).collect();
            let mut services = config.enabled("/ip/service").into_iter();
            // No commands that leave no way to log in.
            let has_login =
                services.any(|service| matches!(service.text("name"), "ssh" | "winbox"));
            let disable = |service: &&Item| format!("/ip/service/disable {}", service.id);
            let fixes = match has_login {
                true => clear.iter().map(disable).collect(),
                false => Vec::new(),
            };
            let said = format!("{} are enabled for all addresses", names.join(", "));
            found.fixed(&clear, said, fixes);
        }
    },
);

const STRONG_SSH: Rule = advice(
    "modern-strong-ssh",
    "strong-crypto=no lets SSH use old ciphers and short groups",
    "set strong-crypto=yes in /ip/ssh",
    |config, found| {
        let ssh = config.settings("/ip/ssh");
        let weak = ssh.filter(|ssh| has(ssh, "strong-crypto") && !ssh.is("strong-crypto"));
        if let Some(ssh) = weak {
            found.fixed(
                &[ssh],
                "strong-crypto=no".to_owned(),
                vec!["/ip/ssh/set strong-crypto=yes".to_owned()],
            );
        }
    },
);

const WPA2: Rule = advice(
    "modern-wpa2",
    "WPA with TKIP is broken, and limits a radio to 54 Mbit/s",
    "set authentication-types=wpa2-psk and the ciphers to aes-ccm; with new drivers wpa3-psk as well",
    |config, found| {
        for profile in config.enabled("/interface/wireless/security-profiles") {
            let types = words(profile.get("authentication-types"));
            if types.contains(&"wpa-psk") || types.contains(&"wpa-eap") {
                found.add(&[profile], format!("{} allows WPA", title(profile)));
            }
        }
    },
);

/// A form of older versions that is translated at import.
#[derive(Debug)]
pub struct OldForm {
    /// Menu of the line; its submenus have other forms.
    pub menu: &'static str,
    /// Property whose presence makes the line old; empty for all lines of the menu.
    pub word: &'static str,
    /// What today's version has in its place.
    pub today: &'static str,
}

const fn old(menu: &'static str, word: &'static str, today: &'static str) -> OldForm {
    OldForm { menu, word, today }
}

/// All old forms.
pub const OLD_FORMS: &[OldForm] = &[
    old(
        "/interface/ethernet",
        "master-port",
        "ports of a bridge with hw=yes: the switch chip forwards between them (6.41)",
    ),
    old(
        "/ip/ipsec/peer",
        "secret",
        "/ip/ipsec/identity with the secret, so that a peer may have several (6.44)",
    ),
    old(
        "/ip/ipsec/peer",
        "auth-method",
        "/ip/ipsec/identity with auth-method (6.44)",
    ),
    old(
        "/ip/ipsec/peer",
        "enc-algorithm",
        "/ip/ipsec/profile with the algorithms (6.43)",
    ),
    old(
        "/ip/ipsec/peer",
        "dh-group",
        "/ip/ipsec/profile with dh-group (6.43)",
    ),
    old(
        "/ip/ipsec/policy",
        "sa-src-address",
        "peer=NAME, which brings the addresses of the tunnel (6.45)",
    ),
    old(
        "/ip/ipsec/policy",
        "sa-dst-address",
        "peer=NAME, which brings the addresses of the tunnel (6.45)",
    ),
    old("/ip/ipsec/peer/profile", "", "/ip/ipsec/profile (6.44)"),
    old(
        "/system/ntp/client",
        "primary-ntp",
        "servers= with names or addresses (7.1)",
    ),
    old(
        "/system/ntp/client",
        "server-dns-names",
        "servers= with names or addresses (7.1)",
    ),
    old(
        "/routing/ospf/network",
        "",
        "/routing/ospf/interface-template (7.1)",
    ),
    old("/routing/bgp/peer", "", "/routing/bgp/connection (7.1)"),
    old(
        "/routing/bgp/network",
        "",
        "output.network of /routing/bgp/connection with an address list (7.1)",
    ),
    old(
        "/routing/filter",
        "",
        "/routing/filter/rule with a rule in words (7.1)",
    ),
    old("/ip/route/rule", "", "/routing/rule (7.1)"),
    old(
        "/ip/route",
        "routing-mark",
        "routing-table= with an item of /routing/table (7.1)",
    ),
    old(
        "/ip/accounting",
        "",
        "/ip/traffic-flow: NetFlow and IPFIX (7.1)",
    ),
    old("/tool/user-manager/user", "", "/user-manager (7.1)"),
    old(
        "/interface/ovpn-server/server",
        "enabled",
        "several servers, each an item with disabled=no (7.17)",
    ),
    old(
        "/ip/dns/static",
        "regexp",
        "match-subdomain=yes with name=, where the pattern is a domain with its subdomains (7.4)",
    ),
];

/// An old form in a text.
#[derive(Debug)]
pub struct OldLine {
    /// Line, from 1.
    pub line: u32,
    /// The form.
    pub form: &'static OldForm,
}

/// Returns the old forms of an export, line by line; each form is named once for each menu.
pub fn old_forms(text: &str) -> Vec<OldLine> {
    let mut found: Vec<OldLine> = Vec::new();
    let (mut menu, mut begun, mut joined) = (String::new(), None, String::new());
    for (at, line) in (1..).zip(text.lines()) {
        let first = *begun.get_or_insert(at);
        if let Some(line) = line.trim_end().strip_suffix('\\') {
            joined.push_str(line);
            continue;
        }
        joined.push_str(line);
        let command = std::mem::take(&mut joined);
        begun = None;
        let rest = enter(&mut menu, command.trim());
        if rest.is_empty() || rest.starts_with('#') {
            continue;
        }
        let has = |word: &str| word.is_empty() || rest.contains(&format!(" {word}="));
        let forms = OLD_FORMS
            .iter()
            .filter(|form| form.menu == menu && has(form.word));
        for form in forms {
            let is_new = found.iter().all(|old| !std::ptr::eq(old.form, form));
            if is_new {
                found.push(OldLine { line: first, form });
            }
        }
    }
    found
}

/// Follows the menu of a command, and returns the command without it.
fn enter<'a>(menu: &mut String, command: &'a str) -> &'a str {
    let Some(path) = command.strip_prefix('/') else {
        return command;
    };
    menu.clear();
    let mut rest = path;
    loop {
        let end = rest.find([' ', '/']).unwrap_or(rest.len());
        let word = &rest[..end];
        let is_command = matches!(
            word,
            "add"
                | "set"
                | "remove"
                | "print"
                | "enable"
                | "disable"
                | "move"
                | "edit"
                | "reset"
                | "unset"
                | ""
        );
        if is_command || word.contains(['=', '[']) {
            return rest;
        }
        menu.push('/');
        menu.push_str(word);
        rest = rest[end..].trim_start_matches([' ', '/']);
    }
}
