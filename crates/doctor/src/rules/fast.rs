//! FastPath and FastTrack: features that they bypass.

use menu::Item;

use crate::config::{Config, FILTER, MANGLE, RAW, has, has_any, shown, title, words};
use crate::rule::{Rule, Severity};

/// Returns true for a filter rule that matches established connections.
fn takes_established(rule: &Item) -> bool {
    words(rule.get("connection-state")).contains(&"established")
}

pub(super) const FASTTRACK_NO_ACCEPT: Rule = Rule {
    name: "fasttrack-no-accept",
    severity: Severity::Error,
    cause: "FastTrack carries only TCP and UDP, and some packets of these take the slow path: the following rules \
            drop them",
    mend: "accept the same connection states directly after the FastTrack rule",
    find: |config, found| {
        for fasttrack in config.fasttracks() {
            let chain = config.chain(FILTER, fasttrack.text("chain"));
            let behind = chain
                .iter()
                .skip_while(|rule| rule.id != fasttrack.id)
                .skip(1);
            let behind: Vec<_> = behind
                .filter(|rule| rule.text("action") != "fasttrack-connection")
                .collect();
            let drops = behind
                .iter()
                .position(|rule| matches!(rule.text("action"), "drop" | "reject"));
            let accept = behind.iter().position(|rule| {
                matches!(rule.text("action"), "accept" | "jump")
                    && (takes_established(rule) || !has(rule, "connection-state"))
            });
            // A drop rule for invalid packets does not affect these packets.
            let hurts = drops.and_then(|at| behind.get(at)).is_some_and(|rule| {
                words(rule.get("connection-state")).is_empty() || takes_established(rule)
            });
            if let Some(drop) =
                drops.filter(|drop| hurts && accept.is_none_or(|accept| accept > *drop))
            {
                let said = format!(
                    "packets that FastTrack does not carry reach \"{}\"",
                    title(behind[drop])
                );
                let states = shown(fasttrack, "connection-state");
                let fix = match states.is_empty() {
                    true => Vec::new(),
                    false => vec![format!(
                        "/ip/firewall/filter/add chain={} action=accept connection-state={states} place-before={}",
                        fasttrack.text("chain"),
                        behind[0].id
                    )],
                };
                found.fixed(&[fasttrack, behind[drop]], said, fix);
            }
        }
    },
};

/// Returns true if a rule is limited to some connections: its author has considered the rest.
fn is_scoped(rule: &Item) -> bool {
    const SCOPES: &[&str] = &[
        "connection-mark",
        "packet-mark",
        "src-address",
        "dst-address",
        "src-address-list",
        "dst-address-list",
        "in-interface",
        "out-interface",
        "in-interface-list",
        "out-interface-list",
        "routing-mark",
        "protocol",
    ];
    has_any(rule, SCOPES)
}

/// Returns a FastTrack rule without limits.
fn takes_all<'a>(config: &Config<'a>) -> Option<&'a Item> {
    let mut rules = config.fasttracks().into_iter();
    rules.find(|rule| !is_scoped(rule))
}

/// Returns true if earlier rules accept both directions of every target of a queue, so that FastTrack bypasses
/// none of its connections.
fn excepts_targets(config: &Config<'_>, fasttrack: &Item, queue: &Item) -> bool {
    let before = config.chain(FILTER, fasttrack.text("chain")).iter();
    let accepts: Vec<_> = before
        .take_while(|rule| rule.id != fasttrack.id)
        .filter(|rule| rule.text("action") == "accept")
        .collect();
    let targets = shown(queue, "target");
    let is_excepted = |target: &str| {
        let host = target.trim_end_matches("/32").trim_end_matches("/128");
        let accepted = |property| {
            let mut values = accepts.iter().map(|rule| shown(rule, property));
            values.any(|value| value == target || value == host)
        };
        accepted("src-address") && accepted("dst-address")
            || accepted("in-interface") && accepted("out-interface")
    };
    !targets.is_empty() && targets.split(',').all(is_excepted)
}

pub(super) const FASTTRACK_BYPASSES_QUEUES: Rule = Rule {
    name: "fasttrack-bypasses-queues",
    severity: Severity::Warning,
    cause: "FastTrack bypasses simple queues and queue trees with parent global: they limit almost nothing",
    mend: "exclude the connections of queues from the FastTrack rule (by connection-mark, or by earlier rules that \
           accept traffic from and to the queue's target), or use a queue tree whose parent is an interface, which \
           FastTrack does not bypass",
    find: |config, found| {
        let Some(fasttrack) = takes_all(config) else {
            return;
        };
        let mut simple = config.enabled("/queue/simple");
        simple.retain(|queue| !excepts_targets(config, fasttrack, queue));
        let mut trees = config.enabled("/queue/tree");
        trees.retain(|queue| queue.text("parent") == "global");
        for (what, queues) in [("simple queue", simple), ("queue tree", trees)] {
            let Some(first) = queues.first() else {
                continue;
            };
            let said = match queues.len() {
                1 => format!("{what} {} does not see FastTrack packets", title(first)),
                more => format!(
                    "{more} {what}s do not see FastTrack packets, the first is {}",
                    title(first)
                ),
            };
            found.add(&[first, fasttrack], said);
        }
    },
};

pub(super) const FASTTRACK_VS_MARK_ROUTING: Rule = Rule {
    name: "fasttrack-vs-mark-routing",
    severity: Severity::Error,
    cause: "FastTrack bypasses mangle, so table main routes these packets despite mark-routing",
    mend: "restrict FastTrack to connections without a mark: connection-mark=no-mark",
    find: |config, found| {
        let Some(fasttrack) = takes_all(config) else {
            return;
        };
        let marks = config.enabled(MANGLE).into_iter();
        let mut marks = marks.filter(|rule| {
            rule.text("action") == "mark-routing" && rule.text("chain") == "prerouting"
        });
        if let Some(mark) = marks.next() {
            let said = format!(
                "routing mark {} is lost on FastTrack",
                mark.text("new-routing-mark")
            );
            let fix = format!(
                "/ip/firewall/filter/set {} connection-mark=no-mark",
                fasttrack.id
            );
            found.fixed(&[fasttrack, mark], said, vec![fix]);
        }
    },
};

pub(super) const FASTTRACK_VS_IPSEC: Rule = Rule {
    name: "fasttrack-vs-ipsec",
    severity: Severity::Error,
    cause: "FastTrack bypasses IPsec policies: tunnel traffic stalls or leaves unencrypted",
    mend: "accept ipsec-policy=in,ipsec and ipsec-policy=out,ipsec in forward before the FastTrack rule",
    find: |config, found| {
        let policies = config.policies();
        let (Some(policy), Some(fasttrack)) =
            (policies.first(), config.fasttracks().into_iter().next())
        else {
            return;
        };
        let before = config.chain(FILTER, fasttrack.text("chain")).iter();
        let mut before = before.take_while(|rule| rule.id != fasttrack.id);
        let excepted = before.any(|rule| {
            has(rule, "ipsec-policy") || rule.text("action") == "accept" && is_scoped(rule)
        });
        let untracked = config
            .enabled(RAW)
            .iter()
            .any(|rule| rule.text("action") == "notrack");
        if !excepted && !untracked && !is_scoped(fasttrack) {
            let add = |way: &str| {
                format!(
                    "/ip/firewall/filter/add chain=forward action=accept ipsec-policy={way},ipsec place-before={}",
                    fasttrack.id
                )
            };
            let said = String::from("connections of IPsec policies take FastTrack");
            found.fixed(&[fasttrack, policy], said, vec![add("in"), add("out")]);
        }
    },
};

pub(super) const FASTTRACK_VS_HOTSPOT: Rule = Rule {
    name: "fasttrack-vs-hotspot",
    severity: Severity::Warning,
    cause: "FastTrack bypasses HotSpot's accounting and limits",
    mend: "exclude HotSpot's networks from the FastTrack rule",
    find: |config, found| {
        let hotspots = config.enabled("/ip/hotspot");
        let fasttrack = takes_all(config);
        if let (Some(hotspot), Some(fasttrack)) = (hotspots.first(), fasttrack) {
            let said = format!("users of HotSpot {} are not accounted", title(hotspot));
            found.add(&[fasttrack, hotspot], said);
        }
    },
};

pub(super) const FASTTRACK_INACTIVE: Rule = Rule {
    name: "fasttrack-inactive",
    severity: Severity::Warning,
    cause: "with allow-fast-path=no no connection takes FastTrack, despite the filter rule",
    mend: "set allow-fast-path=yes in /ip/settings",
    find: |config, found| {
        let settings = config.settings("/ip/settings");
        let off = settings
            .filter(|settings| has(settings, "allow-fast-path") && !settings.is("allow-fast-path"));
        if let (Some(off), Some(fasttrack)) = (off, config.fasttracks().first()) {
            let fix = String::from("/ip/settings/set allow-fast-path=yes");
            let said = String::from("the FastTrack rule has no effect");
            found.fixed(&[fasttrack, off], said, vec![fix]);
        }
    },
};

pub(super) const ALLOW_FAST_PATH_OFF: Rule = Rule {
    name: "allow-fast-path-off",
    severity: Severity::Advice,
    cause: "allow-fast-path=no sends all packets through the slow path, even if no function there needs them",
    mend: "set allow-fast-path=yes",
    find: |config, found| {
        for path in [
            "/ip/settings",
            "/ipv6/settings",
            "/interface/bridge/settings",
        ] {
            let Some(settings) = config.settings(path) else {
                continue;
            };
            // The finding of the FastTrack rule covers this case.
            let said_before = path == "/ip/settings" && !config.fasttracks().is_empty();
            if has(settings, "allow-fast-path") && !settings.is("allow-fast-path") && !said_before {
                let fix = format!("{path}/set allow-fast-path=yes");
                found.fixed(
                    &[settings],
                    format!("{path} has allow-fast-path=no"),
                    vec![fix],
                );
            }
        }
    },
};

pub(super) const FASTTRACK_VS_MANGLE: Rule = Rule {
    name: "fasttrack-vs-mangle",
    severity: Severity::Warning,
    cause: "FastTrack bypasses mangle: most packets get no mark, priority, DSCP value or TTL from this rule",
    mend: "exclude the connections of the rule from the FastTrack rule, by connection-mark=no-mark or by an accept rule \
           before it",
    find: |config, found| {
        let Some(fasttrack) = takes_all(config) else {
            return;
        };
        let changes = |rule: &&Item| {
            let is_hidden = matches!(
                rule.text("action"),
                "mark-packet" | "change-dscp" | "change-ttl" | "set-priority"
            );
            // Packets of new connections and of the router itself take the slow path.
            is_hidden
                && !matches!(rule.text("chain"), "input" | "output")
                && !matches!(shown(rule, "connection-state").as_str(), "new")
        };
        let mut rules = config.enabled(MANGLE);
        rules.retain(changes);
        if let Some(first) = rules.first() {
            let said = match rules.len() {
                1 => format!("{} misses FastTrack packets", title(first)),
                more => format!(
                    "{more} rules miss FastTrack packets, the first is {}",
                    title(first)
                ),
            };
            found.add(&[first, fasttrack], said);
        }
    },
};
