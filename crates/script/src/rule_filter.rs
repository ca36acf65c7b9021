//! Row selection arguments that only `print` of firewall rules has.

use menu::{Menu, Row, Value};

use crate::evaluated_command::EvaluatedCommand;
use crate::spec::is_of_rules;

/// The firewall rules that a `print` selects.
pub(crate) struct Rules {
    dynamic: Option<bool>,
    chain: Option<String>,
}

impl Rules {
    /// Reads the selection from the arguments.
    pub(crate) fn of(menu: &Menu, ready: &EvaluatedCommand<'_>) -> Self {
        let asks = |name| is_of_rules(menu) && ready.flag(name);
        Self {
            // `dynamic` together with `static` selects all rules.
            dynamic: match (asks("dynamic"), asks("static")) {
                (dynamic, other) if dynamic == other || asks("all") => None,
                (dynamic, _) => Some(dynamic),
            },
            chain: ready.text("chain").filter(|_| asks("chain")),
        }
    }

    /// True if all rules are selected.
    pub(crate) const fn is_all(&self) -> bool {
        self.dynamic.is_none() && self.chain.is_none()
    }

    /// True if the rule is selected.
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
