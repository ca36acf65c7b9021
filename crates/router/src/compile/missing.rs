//! Objects that rules name and that do not exist.

use menu::Store;

use crate::intent::{Intent, Name};

/// An object that a rule names, and that does not exist or is disabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An interface.
    Interface(Name),
    /// A list of interfaces.
    InterfaceList(Name),
    /// A routing table that forwards.
    Table(Name),
    /// A layer-7 pattern.
    Pattern(Name),
}

impl Missing {
    /// Returns the present reason as text for users.
    pub fn why(&self, intent: &Intent, store: &Store) -> String {
        match self {
            Self::Interface(name) if store.named("routing-table", name).is_some() => {
                format!("{name} is a routing table, not an interface")
            }
            Self::Interface(name) => format!("there is no interface {name}"),
            Self::InterfaceList(name) => format!("there is no interface list {name}"),
            Self::Table(name) => {
                let mut tables = intent.tables.values();
                match tables.find(|table| table.name == *name) {
                    Some(table) if table.disabled => format!("routing table {name} is disabled"),
                    Some(table) if !table.fib => format!("routing table {name} has no fib"),
                    Some(_) => format!("there is no room for routing table {name}"),
                    None => format!("there is no routing table {name}"),
                }
            }
            Self::Pattern(name) => {
                let mut patterns = store.items("/ip/firewall/layer7-protocol");
                match patterns.any(|pattern| pattern.name() == Some(name)) {
                    true => format!("layer7 protocol {name} can not run"),
                    false => format!("there is no layer7 protocol {name}"),
                }
            }
        }
    }
}
