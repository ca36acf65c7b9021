//! A rule as it is configured: what needs no name is compiled, what names something waits for it.
//!
//! The memory of limits is made here, with the item: whatever is compiled anew because an interface
//! or a list changed keeps it.

use std::sync::Arc;

use dataplane::nat;
use dataplane::rule::{Action, Match};

use super::sets::Difference;
use crate::intent::Name;

/// An item of a table of rules.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The chain that it is in.
    pub chain: Name,
    /// Configured and not in use.
    pub disabled: bool,
    /// What must hold.
    pub conditions: Vec<Condition>,
    /// What happens then; none if this router cannot do it: the rule never matches.
    pub deed: Option<Deed>,
    /// Mangle: later rules see the packet too.
    pub passthrough: bool,
    /// What entries of the log begin with, if there are any.
    pub log: Option<Arc<str>>,
}

impl Rule {
    /// Whether it names an interface, a list or a kind of interfaces that is other.
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

    /// The interfaces that it names alone.
    pub fn interfaces(&self) -> impl Iterator<Item = &Name> {
        let conditions = self.conditions.iter();
        conditions.flat_map(|condition| match &condition.what {
            What::Interface(_, name) => std::slice::from_ref(name),
            What::Interfaces(_, names) => names,
            _ => &[],
        })
    }

    /// Whether it names routing tables.
    pub fn names_tables(&self) -> bool {
        let names = |condition: &Condition| matches!(condition.what, What::RoutingMark(_));
        self.conditions.iter().any(names) || matches!(self.deed, Some(Deed::MarkRouting(_)))
    }

    /// Whether it names this pattern of a stream.
    pub fn names_pattern(&self, name: &str) -> bool {
        self.conditions
            .iter()
            .any(|condition| matches!(&condition.what, What::Layer7(own) if **own == *name))
    }

    /// The chain that it leads to.
    pub fn jumps_to(&self) -> Option<&Name> {
        match &self.deed {
            Some(Deed::Jump(chain)) => Some(chain),
            _ => None,
        }
    }
}

/// A property that must hold.
#[derive(Clone, Debug)]
pub struct Condition {
    /// It must be another.
    pub negated: bool,
    /// What is asked.
    pub what: What,
}

/// Which of a packet's interfaces is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `in-interface`.
    In,
    /// `out-interface`.
    Out,
    /// `in-bridge-port`.
    InBridge,
    /// `out-bridge-port`.
    OutBridge,
    /// `in-bridge`, of rules of bridges: there `in-interface` is a port.
    InOfPort,
    /// `out-bridge`.
    OutOfPort,
}

/// What a property asks.
#[derive(Clone, Debug)]
pub enum What {
    /// Something that needs no name.
    Plain(Match),
    /// The interface of this name.
    Interface(Way, Name),
    /// One of the interfaces of these names.
    Interfaces(Way, Vec<Name>),
    /// All interfaces of a kind: `all-ethernet` and the like.
    Kind(Way, &'static str),
    /// A list of interfaces.
    InterfaceList(Way, Name),
    /// A list of addresses; of the source, else of the destination.
    AddressList(bool, Name),
    /// The routing table that the packet is marked for.
    RoutingMark(Name),
    /// The packet's mark; none is `no-mark`.
    PacketMark(Option<Name>),
    /// The connection's mark; none is `no-mark`.
    ConnectionMark(Option<Name>),
    /// A pattern in the stream.
    Layer7(Name),
    /// What no packet can be, or what there is no memory for: the rule is invalid.
    Senseless,
}

/// What an action does.
#[derive(Clone, Debug)]
pub enum Deed {
    /// Something that needs no name.
    Plain(Action),
    /// An action that was not told what it needs, an argument: the rule is invalid.
    Incomplete(&'static str),
    /// Goes on in the chain of this name.
    Jump(Name),
    /// Enters an address into a list.
    AddToList {
        /// The list.
        list: Name,
        /// The source, else the destination.
        source: bool,
        /// For how long.
        timeout: dataplane::rule::Timeout,
    },
    /// Translates a connection.
    Translate(Translation),
    /// Marks the packet; none takes the mark away.
    MarkPacket(Option<Name>),
    /// Marks the connection.
    MarkConnection(Option<Name>),
    /// Marks the packet for a routing table.
    MarkRouting(Name),
}

/// A translation, as far as a rule says it by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The side that its action says; none where that follows from the chain.
    pub side: Option<nat::Side>,
    /// How addresses are found. Of netmap the place is not known yet.
    pub action: nat::Action,
    /// `to-addresses`.
    pub addresses: Option<nat::Addresses>,
    /// `to-ports`.
    pub ports: Option<nat::Ports>,
    /// `randomise-ports`.
    pub randomise: bool,
}
