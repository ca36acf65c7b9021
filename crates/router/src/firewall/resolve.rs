//! From names to what the data plane knows: one rule, compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::nat;
use dataplane::rule::{self, Action, InterfaceSet, Layer7, Match, Matcher};
use frame::InterfaceId;

use super::names::{Chains, Lists, Marks};
use super::rule::{Deed, Rule, Translation, Way, What};
use super::sets::Sets;
use super::targets::Targets;
use crate::compile::Layout;
use crate::intent::Name;

/// What is there to be named.
#[derive(Debug)]
pub struct World<'a> {
    /// The interfaces.
    pub layout: &'a Layout,
    /// Lists and kinds of interfaces.
    pub sets: &'a Sets,
    /// The routing tables that forward.
    pub tables: &'a BTreeMap<Name, u16>,
    /// The patterns of streams.
    pub patterns: &'a BTreeMap<Name, Layer7>,
}

/// What gets numbers when it is named.
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
    /// Where translations lie.
    pub targets: &'a mut Targets,
}

/// Which rule it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The index of its counters.
    pub number: u32,
    /// The place of its translation, if it has one.
    pub target: Option<u32>,
    /// The side of a translation that does not say it by itself.
    pub side: nat::Side,
    /// It leads in a circle, or too deep.
    pub endless: bool,
}

/// A rule for the data plane, and whether it is invalid: it names what is not there, asks for what no
/// packet can be, or was not told what its action needs. Such a rule never matches.
pub(super) fn compile(
    rule: &Rule,
    place: &Place,
    world: &World<'_>,
    numbered: &mut Numbered<'_>,
) -> (rule::Rule, bool) {
    let conditions = rule.conditions.iter().map(|condition| {
        let what = resolve(&condition.what, world, numbered)?;
        Some(Matcher {
            negated: condition.negated,
            what,
        })
    });
    let matchers: Option<Vec<_>> = conditions.collect();
    let action = rule
        .deed
        .as_ref()
        .map(|deed| act(deed, rule, place, world, numbered));
    let (matchers, action, invalid) = match (matchers, action) {
        (Some(mut matchers), Some(Some(action))) => {
            if is_to_mapped(rule, place) {
                matchers.push(Match::Mapped.into());
            }
            (matchers, action, false)
        }
        // This router cannot do it, and it is said elsewhere.
        (Some(_), None) => (never(), Action::Passthrough, false),
        _ => (never(), Action::Passthrough, true),
    };
    let mut compiled = rule::Rule::new(place.number, matchers, action);
    compiled.passthrough = rule.passthrough;
    compiled.log.clone_from(&rule.log);
    (compiled, invalid)
}

/// Whether a rule translates what comes for endpoints that stand for others: what is for nobody, it
/// leaves to the rules behind it.
fn is_to_mapped(rule: &Rule, place: &Place) -> bool {
    let Some(Deed::Translate(translation)) = &rule.deed else {
        return false;
    };
    translation.action == nat::Action::EndpointIndependent
        && translation.side.unwrap_or(place.side) == nat::Side::Destination
}

fn never() -> Vec<Matcher> {
    vec![Match::Never.into()]
}

fn resolve(what: &What, world: &World<'_>, numbered: &mut Numbered<'_>) -> Option<Match> {
    let table = |name: &Name| world.tables.get(name).map(|number| u32::from(*number));
    let mark = |marks: &mut Marks, name: &Option<Name>| match name {
        None => Some(0),
        Some(name) => marks.number(name),
    };
    Some(match what {
        What::Plain(what) => what.clone(),
        What::Interface(way, name) => interface(*way, *world.layout.by_name.get(name)?),
        What::Kind(way, word) => interfaces(*way, world.sets.kind(word)?),
        What::InterfaceList(way, name) => interfaces(*way, world.sets.list(name)?),
        What::AddressList(source, name) => match source {
            true => Match::SourceList(numbered.lists.list(name)?),
            false => Match::DestinationList(numbered.lists.list(name)?),
        },
        What::RoutingMark(name) => Match::RoutingMark(table(name)?),
        What::PacketMark(name) => Match::PacketMark(mark(numbered.packet_marks, name)?),
        What::ConnectionMark(name) => Match::ConnectionMark(mark(numbered.connection_marks, name)?),
        What::Layer7(name) => Match::Layer7(world.patterns.get(name)?.clone()),
        What::Senseless => return None,
    })
}

const fn interface(way: Way, id: InterfaceId) -> Match {
    match way {
        Way::In => Match::InInterface(id),
        Way::Out => Match::OutInterface(id),
        Way::InBridge => Match::InBridgePort(id),
        Way::OutBridge => Match::OutBridgePort(id),
    }
}

fn interfaces(way: Way, set: &Arc<InterfaceSet>) -> Match {
    let set = Arc::clone(set);
    match way {
        Way::In => Match::InInterfaceList(set),
        Way::Out => Match::OutInterfaceList(set),
        Way::InBridge => Match::InBridgePortList(set),
        Way::OutBridge => Match::OutBridgePortList(set),
    }
}

/// What a rule does; none if it names what is not there.
fn act(
    deed: &Deed,
    rule: &Rule,
    place: &Place,
    world: &World<'_>,
    numbered: &mut Numbered<'_>,
) -> Option<Action> {
    let mark = |marks: &mut Marks, name: &Option<Name>| match name {
        None => Some(0),
        Some(name) => marks.number(name),
    };
    Some(match deed {
        Deed::Plain(action) => action.clone(),
        Deed::Incomplete => return None,
        Deed::Jump(chain) if chain.is_empty() || place.endless => return None,
        Deed::Jump(chain) => Action::Jump(numbered.chains.place(chain)?),
        Deed::AddToList { list, .. } if list.is_empty() => return None,
        Deed::AddToList {
            list,
            source,
            timeout,
        } => Action::AddToList {
            list: numbered.lists.list(list)?,
            source: *source,
            timeout: *timeout,
        },
        Deed::MarkPacket(name) => Action::MarkPacket(mark(numbered.packet_marks, name)?),
        Deed::MarkConnection(name) => {
            Action::MarkConnection(mark(numbered.connection_marks, name)?)
        }
        Deed::MarkRouting(name) => Action::MarkRouting(u32::from(*world.tables.get(name)?)),
        Deed::Translate(translation) => {
            let side = translation.side.unwrap_or(place.side);
            // A source is not translated before the route is known, nor a destination behind it.
            let chain = numbered.chains.known(&rule.chain)?;
            if numbered.chains.is_builtin(chain) && side != place.side {
                return None;
            }
            let slot = place.target?;
            numbered.targets.set(slot, target(translation, side, rule));
            Action::Translate(slot)
        }
    })
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

/// The addresses of a side that a rule matches, where it says them by itself.
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
