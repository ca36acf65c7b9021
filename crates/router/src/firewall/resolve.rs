//! Resolves the names of one rule, and compiles it for the data plane.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::nat;
use dataplane::rule::{
    self, Action, Class, ClassSet, Layer7, LinkMatch, Match, Matcher, Readdress,
};

use super::invalid::Invalid;
use super::names::{Chains, Lists, Marks};
use super::rule::{MatchedInterface, Rule, Translation, UnresolvedAction, What};
use super::sets::Sets;
use super::targets::Targets;
use crate::compile::Missing;
use crate::intent::Name;

/// Objects that rules can name.
#[derive(Debug)]
pub struct World<'a> {
    /// Interfaces in rules, interface lists and interface kinds.
    pub sets: &'a Sets,
    /// The routing tables that forward.
    pub tables: &'a BTreeMap<Name, u16>,
    /// Layer-7 patterns.
    pub patterns: &'a BTreeMap<Name, Layer7>,
}

/// Names that get a number at their first use.
#[derive(Debug)]
pub(super) struct Numbered<'a> {
    /// Marks of packets.
    pub packet_marks: &'a mut Marks,
    /// Marks of connections.
    pub connection_marks: &'a mut Marks,
    /// The address lists of the rule's family.
    pub lists: &'a mut Lists,
    /// The chains of the rule's table.
    pub chains: &'a mut Chains,
    /// Slots of translations.
    pub targets: &'a mut Targets,
}

/// Identity of the rule to compile.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleIdentity {
    /// Number of its counters.
    pub number: u32,
    /// Slot of its translation, if it has one.
    pub target: Option<u32>,
    /// Side to translate, for actions that do not determine it.
    pub side: nat::Side,
    /// True if its jump closes a circle or exceeds the maximum depth.
    pub endless: bool,
}

/// Compiles a rule; for an invalid rule, returns the reason as well. Invalid rules never match.
pub(super) fn compile(
    rule: &Rule,
    place: &RuleIdentity,
    world: &World<'_>,
    numbered: &mut Numbered<'_>,
) -> (rule::Rule, Option<Invalid>) {
    let conditions = rule.conditions.iter().map(|condition| {
        let what = resolve(&condition.what, world, numbered)?;
        Ok(Matcher {
            negated: condition.negated,
            what,
        })
    });
    let matchers: Result<Vec<_>, Invalid> = conditions.collect();
    let action = rule
        .deed
        .as_ref()
        .map(|deed| act(deed, rule, place, world, numbered));
    let (matchers, action, invalid) = match (matchers, action) {
        (Ok(mut matchers), Some(Ok(action))) => {
            if is_to_mapped(rule, place) {
                matchers.push(Match::Mapped.into());
            }
            (matchers, action, None)
        }
        // The router does not support the action; another message says so.
        (Ok(_), None) => (never(), Action::Passthrough, None),
        (Err(why), _) | (Ok(_), Some(Err(why))) => (never(), Action::Passthrough, Some(why)),
    };
    let mut compiled = rule::Rule::new(place.number, matchers, action);
    compiled.passthrough = rule.passthrough;
    compiled.log.clone_from(&rule.log);
    (compiled, invalid)
}

/// Whether a rule translates packets to mapped endpoints of endpoint-independent NAT. Packets to unmapped endpoints
/// continue with the next rule.
fn is_to_mapped(rule: &Rule, place: &RuleIdentity) -> bool {
    let Some(UnresolvedAction::Translate(translation)) = &rule.deed else {
        return false;
    };
    translation.action == nat::Action::EndpointIndependent
        && translation.side.unwrap_or(place.side) == nat::Side::Destination
}

fn never() -> Vec<Matcher> {
    vec![Match::Never.into()]
}

fn resolve(what: &What, world: &World<'_>, numbered: &mut Numbered<'_>) -> Result<Match, Invalid> {
    Ok(match what {
        What::Plain(what) => what.clone(),
        What::Interface(way, name) => {
            let class = world.sets.named(name);
            let class = class.ok_or_else(|| Missing::Interface(name.clone()))?;
            interface(*way, class)
        }
        What::Interfaces(way, names) => {
            // An interface that does not exist receives no frames.
            let classes = names.iter().filter_map(|name| world.sets.named(name));
            interfaces(*way, &Arc::new(classes.collect()))
        }
        What::Kind(way, word) => {
            let set = world.sets.kind(word);
            interfaces(*way, set.ok_or_else(|| Missing::Interface((*word).into()))?)
        }
        What::InterfaceList(way, name) => {
            let set = world.sets.list(name);
            let set = set.ok_or_else(|| Missing::InterfaceList(name.clone()))?;
            interfaces(*way, set)
        }
        What::AddressList(source, name) => {
            let list = numbered.lists.list(name).ok_or(Invalid::Full)?;
            match source {
                true => Match::SourceList(list),
                false => Match::DestinationList(list),
            }
        }
        What::RoutingMark(name) => Match::RoutingMark(table(name, world)?),
        What::PacketMark(name) => Match::PacketMark(mark(numbered.packet_marks, name)?),
        What::ConnectionMark(name) => Match::ConnectionMark(mark(numbered.connection_marks, name)?),
        What::Layer7(name) => {
            let pattern = world.patterns.get(name).cloned();
            Match::Layer7(pattern.ok_or_else(|| Missing::Pattern(name.clone()))?)
        }
        What::Senseless => return Err(Invalid::Senseless),
    })
}

/// Returns the number of a routing table that forwards.
fn table(name: &Name, world: &World<'_>) -> Result<u32, Missing> {
    let number = world.tables.get(name).copied();
    number
        .map(u32::from)
        .ok_or_else(|| Missing::Table(name.clone()))
}

/// Returns the number of a mark; 0 for no mark.
fn mark(marks: &mut Marks, name: &Option<Name>) -> Result<u32, Invalid> {
    match name {
        None => Ok(0),
        Some(name) => marks.number(name).ok_or(Invalid::Full),
    }
}

const fn interface(way: MatchedInterface, class: Class) -> Match {
    match way {
        MatchedInterface::In => Match::InInterface(class),
        MatchedInterface::Out => Match::OutInterface(class),
        MatchedInterface::InBridge => Match::InBridgePort(class),
        MatchedInterface::OutBridge => Match::OutBridgePort(class),
        MatchedInterface::InOfPort => Match::Link(LinkMatch::InBridge(class)),
        MatchedInterface::OutOfPort => Match::Link(LinkMatch::OutBridge(class)),
    }
}

fn interfaces(way: MatchedInterface, set: &Arc<ClassSet>) -> Match {
    let set = Arc::clone(set);
    match way {
        MatchedInterface::In => Match::InInterfaceList(set),
        MatchedInterface::Out => Match::OutInterfaceList(set),
        MatchedInterface::InBridge => Match::InBridgePortList(set),
        MatchedInterface::OutBridge => Match::OutBridgePortList(set),
        MatchedInterface::InOfPort => Match::Link(LinkMatch::InBridgeList(set)),
        MatchedInterface::OutOfPort => Match::Link(LinkMatch::OutBridgeList(set)),
    }
}

/// Compiles the action of a rule.
fn act(
    deed: &UnresolvedAction,
    rule: &Rule,
    place: &RuleIdentity,
    world: &World<'_>,
    numbered: &mut Numbered<'_>,
) -> Result<Action, Invalid> {
    Ok(match deed {
        UnresolvedAction::Plain(Action::Readdress(how)) => {
            is_its_side(*how, rule, place, numbered.chains)?;
            Action::Readdress(*how)
        }
        UnresolvedAction::Plain(action) => action.clone(),
        UnresolvedAction::Incomplete(name) => return Err(Invalid::Incomplete(name)),
        UnresolvedAction::Jump(chain) if chain.is_empty() => {
            return Err(Invalid::Incomplete("jump-target"));
        }
        UnresolvedAction::Jump(_) if place.endless => return Err(Invalid::Endless),
        UnresolvedAction::Jump(chain) => {
            Action::Jump(numbered.chains.place(chain).ok_or(Invalid::Full)?)
        }
        UnresolvedAction::AddToList { list, .. } if list.is_empty() => {
            return Err(Invalid::Incomplete("address-list"));
        }
        UnresolvedAction::AddToList {
            list,
            source,
            timeout,
        } => Action::AddToList {
            list: numbered.lists.list(list).ok_or(Invalid::Full)?,
            source: *source,
            timeout: *timeout,
        },
        UnresolvedAction::MarkPacket(name) => {
            Action::MarkPacket(mark(numbered.packet_marks, name)?)
        }
        UnresolvedAction::MarkConnection(name) => {
            Action::MarkConnection(mark(numbered.connection_marks, name)?)
        }
        UnresolvedAction::MarkRouting(name) if name.is_empty() => {
            return Err(Invalid::Incomplete("new-routing-mark"));
        }
        UnresolvedAction::MarkRouting(name) => Action::MarkRouting(table(name, world)?),
        UnresolvedAction::Translate(translation) => {
            let side = translation.side.unwrap_or(place.side);
            // Source NAT needs the route, so it comes after routing; destination NAT comes before routing.
            let chain = numbered.chains.known(&rule.chain).ok_or(Invalid::Full)?;
            if numbered.chains.is_builtin(chain) && side != place.side {
                return Err(Invalid::Side);
            }
            let slot = place.target.ok_or(Invalid::Full)?;
            numbered.targets.set(slot, target(translation, side, rule));
            Action::Translate(slot)
        }
    })
}

/// Checks that a bridge rule changes the source address after the bridge has chosen the port, and the destination
/// address before.
fn is_its_side(
    how: Readdress,
    rule: &Rule,
    place: &RuleIdentity,
    chains: &Chains,
) -> Result<(), Invalid> {
    let side = match how {
        Readdress::Source(_) => nat::Side::Source,
        Readdress::Destination(_) | Readdress::Redirect | Readdress::ArpReply(_) => {
            nat::Side::Destination
        }
    };
    let chain = chains.known(&rule.chain).ok_or(Invalid::Full)?;
    match chains.is_builtin(chain) && side != place.side {
        true => Err(Invalid::Side),
        false => Ok(()),
    }
}

fn target(translation: &Translation, side: nat::Side, rule: &Rule) -> nat::Target {
    let action = match translation.action {
        nat::Action::Netmap { .. } => nat::Action::Netmap {
            from: matched(rule, side),
        },
        action => action,
    };
    nat::Target {
        side,
        action,
        addresses: translation.addresses,
        ports: translation.ports,
        randomise: translation.randomise,
    }
}

/// Returns the addresses that a rule matches on one side, if it contains a matcher of addresses.
fn matched(rule: &Rule, side: nat::Side) -> Option<nat::Addresses> {
    rule.conditions.iter().find_map(|condition| {
        let ((What::Plain(Match::Source(range)), nat::Side::Source)
        | (What::Plain(Match::Destination(range)), nat::Side::Destination)) =
            (&condition.what, side)
        else {
            return None;
        };
        let range = nat::Addresses::new(range.first, range.last);
        range.filter(|_| !condition.negated)
    })
}
