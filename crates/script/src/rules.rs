//! What `print` of the firewall's rules takes alone.

use menu::{Menu, Row, Value};

use crate::ready::Ready;
use crate::spec::is_of_rules;

/// Which rules of a firewall's table `print` is asked for by a word of its own.
pub(crate) struct Rules {
    dynamic: Option<bool>,
    chain: Option<String>,
}

impl Rules {
    /// As its arguments say.
    pub(crate) fn of(menu: &Menu, ready: &Ready<'_>) -> Self {
        let asks = |name| is_of_rules(menu) && ready.flag(name);
        Self {
            // Who asks for both asks for all.
            dynamic: match (asks("dynamic"), asks("static")) {
                (dynamic, other) if dynamic == other || asks("all") => None,
                (dynamic, _) => Some(dynamic),
            },
            chain: ready.text("chain").filter(|_| asks("chain")),
        }
    }

    /// Whether it is all of them.
    pub(crate) const fn is_all(&self) -> bool {
        self.dynamic.is_none() && self.chain.is_none()
    }

    /// Whether this is one.
    pub(crate) fn has(&self, row: &Row) -> bool {
        let in_chain = |chain: &String| {
            let own = row.get("chain").and_then(Value::as_str);
            own == Some(chain)
        };
        let dynamic = self.dynamic;
        dynamic.is_none_or(|dynamic| row.is("dynamic") == dynamic)
            && self.chain.as_ref().is_none_or(in_chain)
    }
}
