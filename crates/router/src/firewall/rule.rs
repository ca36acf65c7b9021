//! A rule as configured: parts without names are compiled, parts with names are resolved later.
//!
//! The state of limits is created here, with the item, so that it survives recompilation after changes of interfaces or
//! lists.

use std::sync::Arc;

use dataplane::nat;
use dataplane::rule::{Action, Match};

use super::sets::Difference;
use crate::intent::Name;

/// A configured rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its chain.
    pub chain: Name,
    /// Disabled by the configuration.
    pub disabled: bool,
    /// Conditions, all of which must match.
    pub conditions: Vec<Condition>,
    /// Action; `None` if this router does not support it: then the rule never matches.
    pub deed: Option<UnresolvedAction>,
    /// Mangle: later rules are evaluated as well.
    pub passthrough: bool,
    /// Prefix of log entries; `None` without logging.
    pub log: Option<Arc<str>>,
}

impl Rule {
    /// Whether the rule names a changed interface, interface list or interface kind.
    pub fn names_any_of(&self, others: &Difference) -> bool {
        let names = |condition: &Condition| match &condition.what {
            What::Interface(_, name) => others.named.contains(name),
            What::Interfaces(_, names) => names.iter().any(|name| others.named.contains(name)),
            What::Kind(_, word) => others.kinds.contains(word),
            What::InterfaceList(_, name) => others.lists.contains(name),
            _ => false,
        };
        self.conditions.iter().any(names)
    }

    /// Returns the interfaces that the rule names directly.
    pub fn interfaces(&self) -> impl Iterator<Item = &Name> {
        let conditions = self.conditions.iter();
        conditions.flat_map(|condition| match &condition.what {
            What::Interface(_, name) => std::slice::from_ref(name),
            What::Interfaces(_, names) => names,
            _ => &[],
        })
    }

    /// Whether the rule names routing tables.
    pub fn names_tables(&self) -> bool {
        let names = |condition: &Condition| matches!(condition.what, What::RoutingMark(_));
        self.conditions.iter().any(names)
            || matches!(self.deed, Some(UnresolvedAction::MarkRouting(_)))
    }

    /// Whether the rule names this layer-7 pattern.
    pub fn names_pattern(&self, name: &str) -> bool {
        self.conditions
            .iter()
            .any(|condition| matches!(&condition.what, What::Layer7(own) if **own == *name))
    }

    /// Returns the target chain of a jump.
    pub fn jumps_to(&self) -> Option<&Name> {
        match &self.deed {
            Some(UnresolvedAction::Jump(chain)) => Some(chain),
            _ => None,
        }
    }
}

/// A condition of a rule.
#[derive(Clone, Debug)]
pub struct Condition {
    /// True to negate the matcher.
    pub negated: bool,
    /// The matcher.
    pub what: What,
}

/// The interface of a packet that a matcher examines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedInterface {
    /// `in-interface`.
    In,
    /// `out-interface`.
    Out,
    /// `in-bridge-port`.
    InBridge,
    /// `out-bridge-port`.
    OutBridge,
    /// `in-bridge` of bridge rules, whose `in-interface` is a port.
    InOfPort,
    /// `out-bridge` of bridge rules.
    OutOfPort,
}

/// A matcher.
#[derive(Clone, Debug)]
pub enum What {
    /// A matcher without names.
    Plain(Match),
    /// The interface of this name.
    Interface(MatchedInterface, Name),
    /// One of the interfaces of these names.
    Interfaces(MatchedInterface, Vec<Name>),
    /// All interfaces of a kind: `all-ethernet` and the like.
    Kind(MatchedInterface, &'static str),
    /// A list of interfaces.
    InterfaceList(MatchedInterface, Name),
    /// An address list; true for the source, false for the destination.
    AddressList(bool, Name),
    /// The routing table that the packet is marked for.
    RoutingMark(Name),
    /// The packet mark; `None` is `no-mark`.
    PacketMark(Option<Name>),
    /// The connection mark; `None` is `no-mark`.
    ConnectionMark(Option<Name>),
    /// A layer-7 pattern.
    Layer7(Name),
    /// A matcher that cannot match, or without memory for its state: the rule is invalid.
    Senseless,
}

/// An action.
#[derive(Clone, Debug)]
pub enum UnresolvedAction {
    /// An action without names.
    Plain(Action),
    /// An action without this required argument: the rule is invalid.
    Incomplete(&'static str),
    /// Jumps to this chain.
    Jump(Name),
    /// Adds an address to a list.
    AddToList {
        /// The list.
        list: Name,
        /// True for the source, false for the destination.
        source: bool,
        /// Timeout of the entry.
        timeout: dataplane::rule::Timeout,
    },
    /// Translates a connection.
    Translate(Translation),
    /// Sets the packet mark; `None` removes it.
    MarkPacket(Option<Name>),
    /// Sets the connection mark; `None` removes it.
    MarkConnection(Option<Name>),
    /// Sets the routing mark.
    MarkRouting(Name),
}

/// A translation, as far as the rule determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Side that the action determines; `None` if the chain determines it.
    pub side: Option<nat::Side>,
    /// Method of translation. The slot of netmap is filled in later.
    pub action: nat::Action,
    /// `to-addresses`.
    pub addresses: Option<nat::Addresses>,
    /// `to-ports`.
    pub ports: Option<nat::Ports>,
    /// `randomise-ports`.
    pub randomise: bool,
}
