//! Simple queues and queue trees.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;
use menu::{Item, Value};

use crate::config::{MANGLE, has, rate, shown, side, title, words};
use crate::rule::{Rule, Severity};

const SIMPLE: &str = "/queue/simple";
const TREE: &str = "/queue/tree";
/// Maximum nesting of queues that is followed.
const MAX_DEPTH: usize = 8;

pub(super) const QUEUE_TARGET_BRIDGE_PORT: Rule = Rule {
    name: "queue-target-bridge-port",
    severity: Severity::Error,
    cause: "for IP, packets from a bridge port enter by the bridge: a simple queue for the port sees no routed \
            packets, and bridged ones only with use-ip-firewall=yes",
    mend: "use the bridge or its network as target, or a queue tree whose parent is the port",
    find: |config, found| {
        for queue in config.enabled(SIMPLE) {
            for port in words(queue.get("target")) {
                if let Some((bridge, _)) = config.bridge_of(port) {
                    let said = format!("target={port}, which is a port of {bridge}");
                    found.add(&[queue], said);
                }
            }
        }
    },
};

/// Returns the target networks of a queue.
fn targets(queue: &Item) -> Vec<IpNet> {
    let net = |value: &Value| match value {
        Value::Prefix(net) => Some(*net),
        _ => None,
    };
    match queue.get("target") {
        Some(Value::List(list)) => list.iter().filter_map(net).collect(),
        Some(one) => net(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// Returns true if targets are the only matcher of a queue.
fn is_plain(queue: &Item) -> bool {
    let marks = words(queue.get("packet-marks"))
        .into_iter()
        .any(|mark| !mark.is_empty());
    !has(queue, "dst") && !marks && shown(queue, "time").is_empty()
}

pub(super) const SIMPLE_QUEUE_ORDER_SHADOW: Rule = Rule {
    name: "simple-queue-order-shadow",
    severity: Severity::Error,
    cause: "the first matching simple queue of the list takes the packet: the later queue gets none",
    mend: "move the narrower queue before the wider one, or make the wider one its parent",
    find: |config, found| {
        // Positions of wide queues by prefix: the queue that covers a later target has a shorter prefix.
        let mut wide: BTreeMap<IpNet, &Item> = BTreeMap::new();
        for queue in config.enabled(SIMPLE) {
            if !shown(queue, "parent").is_empty() && shown(queue, "parent") != "none" {
                continue;
            }
            let own = targets(queue);
            let covering = |net: &IpNet| {
                (0..=net.prefix_len()).find_map(|len| {
                    let wider = IpNet::new(net.addr(), len).ok()?.trunc();
                    wide.get(&wider).copied()
                })
            };
            let shadows: Vec<_> = own.iter().map(covering).collect();
            let only_nets = words(queue.get("target")).is_empty();
            if let (false, true, Some(first)) = (
                own.is_empty(),
                only_nets,
                shadows.first().copied().flatten(),
            ) && shadows.iter().all(Option::is_some)
            {
                let said = format!(
                    "{} precedes {} and takes all its packets",
                    title(first),
                    title(queue)
                );
                let fix = format!("{SIMPLE}/move {} destination={}", queue.id, first.id);
                found.fixed(&[queue, first], said, vec![fix]);
            }
            if is_plain(queue) {
                for net in own {
                    wide.entry(net.trunc()).or_insert(queue);
                }
            }
        }
    },
};

pub(super) const SIMPLE_QUEUE_BOTH_MATCH: Rule = Rule {
    name: "simple-queue-both-match",
    severity: Severity::Error,
    cause: "packets whose source and destination both belong to the target count as download: traffic that hosts \
            send is limited and counted as received traffic",
    mend: "restrict the target to the hosts, or set the other side in dst=",
    find: |config, found| {
        for queue in config.enabled(SIMPLE) {
            let all = targets(queue).into_iter().find(|net| net.prefix_len() == 0);
            let (up, down) = (
                rate(side(queue, "max-limit", 0)),
                rate(side(queue, "max-limit", 1)),
            );
            if let (Some(net), false, true) = (all, has(queue, "dst"), up != down) {
                found.add(
                    &[queue],
                    format!("target={net} counts both directions as download"),
                );
            }
        }
    },
};

/// Appends the number of further queues to a message.
fn with_others(said: String, count: usize) -> String {
    match count {
        1 => said,
        count => format!("{said}; {count} queues in total"),
    }
}

/// Returns `limit-at` and `max-limit` of one direction.
fn limits(queue: &Item, at: usize) -> (u64, u64) {
    (
        rate(side(queue, "limit-at", at)),
        rate(side(queue, "max-limit", at)),
    )
}

pub(super) const QUEUE_CHILD_EXCEEDS_PARENT: Rule = Rule {
    name: "queue-child-exceeds-parent",
    severity: Severity::Warning,
    cause: "the guaranteed rates of the children exceed the parent's max-limit: either the parent exceeds its limit, \
            or guarantees fail",
    mend: "keep the sum of the children's limit-at within the parent's max-limit",
    find: |config, found| {
        for (path, ways) in [(SIMPLE, 2), (TREE, 1)] {
            let queues = config.enabled(path);
            let by_name: BTreeMap<_, _> = queues
                .iter()
                .map(|queue| (queue.text("name"), *queue))
                .collect();
            for way in 0..ways {
                let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
                for queue in &queues {
                    let sum = sums.entry(queue.text("parent")).or_default();
                    *sum = sum.saturating_add(limits(queue, way).0);
                }
                for (parent, sum) in sums {
                    let Some(parent) = by_name.get(parent) else {
                        continue;
                    };
                    let most = limits(parent, way).1;
                    if most > 0 && sum > most {
                        let [sum, most] = [sum, most]
                            .map(|rate| Value::Rate(i64::try_from(rate).unwrap_or(i64::MAX)));
                        let said = format!(
                            "children of {} have limit-at {sum} in total, its max-limit is {most}",
                            title(parent)
                        );
                        found.add(&[parent], said);
                        break;
                    }
                }
            }
        }
    },
};

pub(super) const QUEUE_NO_MAXLIMIT_PRIORITY: Rule = Rule {
    name: "queue-no-maxlimit-priority",
    severity: Severity::Warning,
    cause: "priority decides which queue first gets the rate between limit-at and max-limit; without max-limit it \
            has no effect",
    mend: "set max-limit",
    find: |config, found| {
        let trees = config.enabled(TREE);
        let parents: BTreeSet<_> = trees.iter().map(|queue| queue.text("parent")).collect();
        let priority = |queue: &Item| {
            side(queue, "priority", 0)
                .and_then(Value::as_number)
                .unwrap_or(8)
        };
        let is_leaf = |queue: &&Item| !parents.contains(queue.text("name"));
        let never_asked = |queue: &&Item| priority(queue) != 8 && limits(queue, 0) == (0, 0);
        let all: Vec<_> = trees
            .into_iter()
            .filter(is_leaf)
            .filter(never_asked)
            .collect();
        if let Some(first) = all.first() {
            let said = format!(
                "{} has priority={} and no max-limit",
                title(first),
                priority(first)
            );
            found.add(&all, with_others(said, all.len()));
        }
    },
};

pub(super) const PCQ_NO_LIMITS: Rule = Rule {
    name: "pcq-no-limits",
    severity: Severity::Warning,
    cause: "without pcq-rate, PCQ divides the rate of its queue; a queue without max-limit has no rate to divide",
    mend: "set max-limit of the queue, or pcq-rate of the type",
    find: |config, found| {
        let types = config.enabled("/queue/type").into_iter();
        let pcq: BTreeMap<_, _> = types
            .filter(|kind| kind.text("kind") == "pcq" && rate(kind.get("pcq-rate")) == 0)
            .map(|kind| (kind.text("name"), kind))
            .collect();
        let trees = config.enabled(TREE);
        let by_name: BTreeMap<_, _> = trees
            .iter()
            .map(|queue| (queue.text("name"), *queue))
            .collect();
        for queue in trees {
            let kind = pcq.get(queue.text("queue"));
            let above = |queue: &&Item| by_name.get(queue.text("parent")).copied();
            let mut lies_in = core::iter::successors(Some(queue), above).take(MAX_DEPTH);
            let limited = lies_in.any(|queue| limits(queue, 0).1 > 0);
            if let (Some(kind), false) = (kind, limited) {
                let said = format!("{} has type {} and no max-limit", title(queue), title(kind));
                found.add(&[queue, kind], said);
            }
        }
    },
};

pub(super) const QUEUE_MARK_NOWHERE: Rule = Rule {
    name: "queue-mark-nowhere",
    severity: Severity::Error,
    cause: "no rule sets the packet mark of the queue: it sees no packets",
    mend: "mark packets in mangle (forward or prerouting) or in the bridge's filter, or correct the name",
    find: |config, found| {
        let menus = [
            MANGLE,
            "/ipv6/firewall/mangle",
            "/interface/bridge/filter",
            "/interface/bridge/nat",
        ];
        let set: BTreeSet<_> = { menus.iter() }
            .flat_map(|path| config.values(path, "new-packet-mark"))
            .collect();
        let mut all = Vec::new();
        let mut first = None;
        for (path, property) in [(TREE, "packet-mark"), (SIMPLE, "packet-marks")] {
            for queue in config.enabled(path) {
                let mut marks = words(queue.get(property)).into_iter();
                let missing =
                    marks.find(|mark| !matches!(*mark, "" | "no-mark") && !set.contains(mark));
                first = first.or(missing);
                all.extend(missing.map(|_| queue));
            }
        }
        if let Some(mark) = first {
            found.add(
                &all,
                with_others(format!("no rule sets packet mark {mark}"), all.len()),
            );
        }
    },
};
