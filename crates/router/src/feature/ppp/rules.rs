//! Firewall rules that sessions share: jumps to filter chains of profiles, and rules that clamp the TCP MSS.
//!
//! RouterOS adds such rules for each session. Here sessions with equal rules are members of one dynamic interface list
//! that the rules name, so that a further session changes no rule.

use std::collections::BTreeMap;

use menu::Value;

use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Member, Name};
use crate::object::{Made, Owner};

/// Menus of the rules.
const FILTER: &str = "/ip/firewall/filter";
const MANGLE: &str = "/ip/firewall/mangle";
/// Bytes of IPv4 and TCP headers without options.
const HEADERS: u16 = 40;

/// Dynamic firewall rules of sessions, by their action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RuleSet {
    /// Jump to this chain with packets from the user.
    Incoming(Name),
    /// Jump to this chain with packets to the user.
    Outgoing(Name),
    /// Clamp the TCP MSS to this MTU.
    ClampMss(u16),
}

/// The rules in use.
#[derive(Debug, Default)]
pub(super) struct SharedRules {
    sets: BTreeMap<RuleSet, SetState>,
    /// Number of the last set.
    last: u64,
}

/// Number of a set as owner, and the number of its sessions.
#[derive(Debug)]
struct SetState {
    number: u64,
    sessions: usize,
}

impl SharedRules {
    /// Adds a session: creates the rules with the first one. Returns the list membership of the session's interface.
    pub(super) fn join(&mut self, set: &RuleSet, interface: &Name, out: &mut Effects) -> Made {
        let list = set.list();
        let state = self.sets.entry(set.clone()).or_insert_with(|| {
            self.last += 1;
            SetState {
                number: self.last,
                sessions: 0,
            }
        });
        state.sessions += 1;
        if state.sessions == 1 {
            let by = Matched {
                property: ["in-interface-list", "out-interface-list"],
                value: &list,
            };
            make(owner(state.number), set, &by, out);
        }
        Made::Member(Member {
            list,
            interface: interface.clone(),
            disabled: false,
        })
    }

    /// Removes a session: removes the rules with the last one.
    pub(super) fn leave(&mut self, set: &RuleSet, out: &mut Effects) {
        let Some(state) = self.sets.get_mut(set) else {
            return;
        };
        state.sessions -= 1;
        if state.sessions == 0 {
            out.push(Effect::Gone(owner(state.number)));
            self.sets.remove(set);
        }
    }
}

impl RuleSet {
    /// Returns the name of the dynamic interface list of its sessions.
    fn list(&self) -> Name {
        match self {
            Self::Incoming(chain) => format!("ppp-in-{chain}").into(),
            Self::Outgoing(chain) => format!("ppp-out-{chain}").into(),
            Self::ClampMss(mtu) => format!("ppp-mtu-{mtu}").into(),
        }
    }
}

/// Makes the rules of one interface.
pub(super) fn make_for_interface(owner: Owner, set: &RuleSet, interface: &Name, out: &mut Effects) {
    let by = Matched {
        property: ["in-interface", "out-interface"],
        value: interface,
    };
    make(owner, set, &by, out);
}

/// The interfaces of rules: a property for ingress and egress, and its value.
struct Matched<'a> {
    property: [&'static str; 2],
    value: &'a str,
}

const fn owner(number: u64) -> Owner {
    Owner {
        feature: "ppp-rules",
        number,
    }
}

fn make(owner: Owner, set: &RuleSet, by: &Matched<'_>, out: &mut Effects) {
    let [ingress, egress] = by.property;
    match set {
        RuleSet::Incoming(chain) => jump(owner, chain, (ingress, by.value), out),
        RuleSet::Outgoing(chain) => jump(owner, chain, (egress, by.value), out),
        RuleSet::ClampMss(mtu) => {
            let mss = mtu.saturating_sub(HEADERS);
            let (new, longer) = (mss.to_string(), format!("{}-65535", mss + 1));
            for property in [ingress, egress] {
                let cells = [
                    ("chain", "forward"),
                    ("action", "change-mss"),
                    ("new-mss", &new),
                    ("passthrough", "yes"),
                    ("tcp-flags", "syn"),
                    ("protocol", "tcp"),
                    ("tcp-mss", &longer),
                    (property, by.value),
                ];
                rule(owner, MANGLE, &cells, out);
            }
        }
    }
}

/// RouterOS: packets reach the chain of a profile by the chain `ppp`, to which configured rules jump.
fn jump(owner: Owner, chain: &str, matched: (&'static str, &str), out: &mut Effects) {
    let cells = [
        ("chain", "ppp"),
        ("action", "jump"),
        ("jump-target", chain),
        matched,
    ];
    rule(owner, FILTER, &cells, out);
}

/// Adds a rule whose properties are given as text.
fn rule(owner: Owner, path: &'static str, cells: &[(&'static str, &str)], out: &mut Effects) {
    let menu = schema::ALL.iter().find(|menu| menu.path == path);
    let value = |name: &str, text: &str| -> Option<Value> {
        let property = menu?.property(name)?;
        property.kind.parse(name, text).ok()
    };
    let cells = { cells.iter() }.filter_map(|(name, text)| Some((*name, value(name, text)?)));
    out.push(Effect::Object(Box::new(NewObject {
        owner,
        made: Made::Rule(path),
        cells: cells.collect(),
        removable: false,
    })));
}
