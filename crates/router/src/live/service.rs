//! `/ip/service`: which services there are here.

use menu::{Flag, Row, Value};

/// Services of RouterOS that nothing answers for in this router.
const MISSING: [&str; 4] = ["ftp", "reverse-proxy", "telnet", "winbox"];

/// Marks an open service that nothing answers for. A closed one is as closed as it says.
pub(super) fn annotate(row: &mut Row) {
    let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
    if MISSING.contains(&name) && !row.is("disabled") {
        row.flag(Flag::NO_EFFECT.name, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_service_that_is_not_there_is_marked() {
        let marked = |name: &str, disabled| {
            let mut row = Row::default();
            row.set("name", Value::text(name));
            row.set("disabled", Value::Bool(disabled));
            annotate(&mut row);
            row.is(Flag::NO_EFFECT.name)
        };

        assert!(marked("telnet", false));
        assert!(!marked("telnet", true));
        assert!(!marked("api", false));
    }
}
