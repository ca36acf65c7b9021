//! Formats the steps of a packet trace: one line per step, firewall rules below their stage.

use std::fmt::Write as _;

/// Formats steps. `value` returns the value of a step by name.
pub fn trace_text<S>(steps: &[S], value: impl Fn(&S, &str) -> Option<String>) -> String {
    let mut shown = String::new();
    let (mut stage, mut chain) = (String::new(), String::new());
    for step in steps {
        let text = |name: &str| value(step, name).unwrap_or_default();
        let own = text("stage");
        let label = if own == stage { "" } else { &own };
        let table = text("table");
        if table.is_empty() {
            chain.clear();
            let _ = writeln!(shown, "{label:<12} {}", text("decision"));
        } else {
            let name = format!("{table} {}", text("chain"));
            if name != chain {
                let _ = writeln!(shown, "{label:<12} {name}");
                chain = name;
            }
            let comment = match text("comment").as_str() {
                "" => String::new(),
                comment => format!("  ;;; {comment}"),
            };
            let (rule, action) = (text("rule"), text("action"));
            let decision = text("decision");
            let _ = writeln!(
                shown,
                "{:<12} {rule:>4} {action:<22} {decision}{comment}",
                ""
            );
        }
        stage = own;
    }
    shown
}
