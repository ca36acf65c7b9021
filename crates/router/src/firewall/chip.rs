//! Reads items of `/interface/ethernet/switch/rule` into rules that frames of bridge ports pass first.
//!
//! Matchers have the names and meanings of `/interface/bridge/filter`. The first matching rule ends the evaluation, as
//! on a chip.

use core::time::Duration;
use std::sync::Arc;

use dataplane::packet::link::ethertype;
use dataplane::rule::{Action, Limit, LinkMatch, Match, Priority, Rate, Unit};
use menu::{Item, Value};

use super::link;
use super::rule::{Condition, MatchedInterface, Rule, UnresolvedAction, What};
use super::value;
use crate::intent::Name;

pub(super) const MENU: &str = "/interface/ethernet/switch/rule";
/// The burst of a rate limit is this fraction of a second.
const BURSTS: u64 = 10;

/// Reads a rule from its item.
pub(super) fn rule(item: &Item) -> Rule {
    let conditions = item
        .values()
        .filter_map(|(property, value)| condition(property.name, value));
    let mut conditions: Vec<_> = conditions.collect();
    conditions.extend(link::implied(item, ""));
    let (deed, rate) = deed(item);
    conditions.extend(rate);
    Rule {
        chain: Name::from("ingress"),
        disabled: item.is("disabled"),
        conditions,
        deed: Some(deed),
        passthrough: false,
        log: None,
    }
}

fn condition(name: &str, value: &Value) -> Option<Condition> {
    let plain = |what: Match| Condition {
        negated: false,
        what: What::Plain(what),
    };
    match name {
        "ports" => {
            let names = value.as_list().iter().filter_map(Value::as_str);
            let names: Vec<Name> = names.map(Name::from).collect();
            (!names.is_empty()).then_some(Condition {
                negated: false,
                what: What::Interfaces(MatchedInterface::In, names),
            })
        }
        "vlan-header" => Some(Condition {
            negated: value.as_str() == Some("not-present"),
            ..plain(Match::Link(LinkMatch::Kind(
                ethertype::VLAN,
                ethertype::VLAN,
            )))
        }),
        "protocol" => {
            let protocol = value::protocol(value).map(Match::Protocol);
            Some(protocol.map_or_else(senseless, plain))
        }
        "dscp" => {
            let dscp = value::small(value).map(Match::Dscp);
            Some(dscp.map_or_else(senseless, plain))
        }
        _ => {
            let what = link::condition(name, value)?;
            Some(Condition {
                negated: false,
                what,
            })
        }
    }
}

fn senseless() -> Condition {
    Condition {
        negated: false,
        what: What::Senseless,
    }
}

/// Returns the action of a rule, and its rate condition.
fn deed(item: &Item) -> (UnresolvedAction, Option<Condition>) {
    let nowhere = item.get("new-dst-ports").map(Value::as_list);
    if nowhere.is_some_and(<[Value]>::is_empty) {
        return (UnresolvedAction::Plain(Action::Drop), None);
    }
    let bits = item.get("rate").and_then(Value::as_number);
    if let Some(bits @ 1..) = bits {
        let count = bits.unsigned_abs();
        let rate = Rate {
            count,
            per: Duration::from_secs(1),
            burst: count / BURSTS,
            unit: Unit::Bits,
        };
        // Frames above the rate are dropped; frames within the rate continue.
        let beyond = Condition {
            negated: true,
            what: What::Plain(Match::Limit(Arc::new(Limit::new(rate)))),
        };
        return (UnresolvedAction::Plain(Action::Drop), Some(beyond));
    }
    let priority = item.get("new-vlan-priority").and_then(value::small);
    let action = match priority {
        Some(priority) => Action::SetPriority(Priority::Set(priority)),
        None => Action::Accept,
    };
    (UnresolvedAction::Plain(action), None)
}
