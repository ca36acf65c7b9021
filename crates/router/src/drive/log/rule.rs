//! Rules and actions of `/system/logging`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use menu::{Id, Item, Store, Value};
use script::Regex;

use super::Entry;
use super::disk::Config;
use super::remote::{Carrier, Remote};

/// Selects entries for an action.
#[derive(Debug)]
pub(super) struct Rule {
    /// Required topics, and excluded topics, of an entry.
    with: Vec<String>,
    without: Vec<String>,
    prefix: String,
    regex: Option<Regex>,
    pub(super) action: Id,
}

/// Destination of entries.
#[derive(Debug)]
pub(super) struct Action {
    pub(super) name: String,
    pub(super) target: Target,
}

#[derive(Debug)]
pub(super) enum Target {
    Memory {
        lines: usize,
        stop: bool,
    },
    Disk(Config),
    Remote(Remote),
    /// Mail: recipients, copy recipients, and whether TLS starts before the first command.
    Mail {
        to: Vec<String>,
        copies: Vec<String>,
        starttls: bool,
    },
    /// Consoles.
    Echo,
    /// An action that this router does not support.
    Other,
}

impl Rule {
    /// Whether an entry matches the rule.
    pub(super) fn takes(&self, entry: &Entry) -> bool {
        let about = |topic: &String| entry.topics.split(',').any(|own| own == topic);
        self.with.iter().all(about)
            && !self.without.iter().any(about)
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.matches(entry.message.as_bytes()))
    }

    /// RouterOS: `prefix: message`.
    pub(super) fn prefixed(&self, message: &str) -> String {
        match self.prefix.as_str() {
            "" => message.to_owned(),
            prefix => format!("{prefix}: {message}"),
        }
    }
}

/// Returns the enabled rules, in order.
pub(super) fn rules(store: &Store, actions: &BTreeMap<Id, Action>) -> Vec<Rule> {
    let items = store.items("/system/logging");
    let items = items.filter(|item| !item.is("disabled"));
    let rule = |item: &Item| {
        let named = actions.iter();
        let action = named
            .filter(|(_, action)| action.name == item.text("action"))
            .map(|(id, _)| *id)
            .next()?;
        let topics = item.get("topics").map(Value::as_list).unwrap_or_default();
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for topic in topics {
            match topic {
                Value::Not(topic) => without.push(topic.to_string()),
                topic => with.push(topic.to_string()),
            }
        }
        let regex = item.text("regex");
        Some(Rule {
            with,
            without,
            prefix: item.text("prefix").to_owned(),
            regex: match regex {
                "" => None,
                // An invalid expression matches nothing.
                text => Some(Regex::new(text.as_bytes())?),
            },
            action,
        })
    };
    items.filter_map(|item| rule(item)).collect()
}

/// Returns the servers that are configured by name.
pub(super) fn server_names(actions: &BTreeMap<Id, Action>) -> BTreeSet<Arc<str>> {
    let remotes = actions.values().filter_map(|action| match &action.target {
        Target::Remote(remote) => remote.to.as_ref().err(),
        _ => None,
    });
    remotes.cloned().collect()
}

/// All actions.
pub(super) fn actions(store: &Store) -> BTreeMap<Id, Action> {
    let items = store.items("/system/logging/action");
    let action = |item: &Item| {
        let action = Action {
            name: item.text("name").to_owned(),
            target: target(item),
        };
        (item.id, action)
    };
    items.map(|item| action(item)).collect()
}

fn target(item: &Item) -> Target {
    match item.text("target") {
        "memory" => Target::Memory {
            lines: count(item, "memory-lines"),
            stop: item.is("memory-stop-on-full"),
        },
        "disk" => Target::Disk(Config {
            name: item.text("disk-file-name").to_owned(),
            lines: count(item, "disk-lines-per-file"),
            files: count(item, "disk-file-count"),
            stop: item.is("disk-stop-on-full"),
        }),
        "echo" => Target::Echo,
        "email" => {
            let copies = item.get("email-cc").map(Value::as_list).unwrap_or_default();
            Target::Mail {
                to: vec![item.text("email-to").to_owned()],
                copies: copies.iter().map(ToString::to_string).collect(),
                starttls: item.is("email-start-tls"),
            }
        }
        "remote" => remote(item).map_or(Target::Other, Target::Remote),
        _ => Target::Other,
    }
}

fn remote(item: &Item) -> Option<Remote> {
    let given = |address: &IpAddr| !address.is_unspecified();
    let server = item.get("remote")?.to_string();
    let name: Arc<str> = Arc::from(server);
    let to = name.parse().map_err(|_| Arc::clone(&name));
    if to.as_ref().is_ok_and(|to| !given(to)) {
        return None;
    }
    let carrier = match item.text("remote-protocol") {
        "udp" => Carrier::Udp,
        "tcp" => Carrier::Tcp,
        "tls" => Carrier::Tls {
            check: item.is("check-certificate"),
        },
        _ => return None,
    };
    let source = item.get("src-address").and_then(Value::as_address);
    let facility = item.get("syslog-facility").map(ToString::to_string);
    let severity = item.get("syslog-severity").map(ToString::to_string);
    let syslog = match item.text("remote-log-format") {
        "default" => false,
        "syslog" => true,
        _ => return None,
    };
    Some(Remote {
        to,
        name,
        carrier,
        port: u16::try_from(count(item, "remote-port")).unwrap_or(514),
        source: source.filter(given),
        syslog,
        iso: item.text("syslog-time-format") == "iso8601",
        topics: item.is("add-topics-string"),
        facility: facility.unwrap_or_default(),
        severity: severity.unwrap_or_default(),
    })
}

fn count(item: &Item, name: &str) -> usize {
    let value = item.get(name).and_then(Value::as_number);
    value.and_then(|n| usize::try_from(n).ok()).unwrap_or(1)
}
