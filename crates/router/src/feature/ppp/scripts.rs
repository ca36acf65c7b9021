//! Scripts of sessions: `on-up` and `on-down` of the profile, with RouterOS's variables.

use core::fmt::Write;
use core::net::Ipv4Addr;

use menu::quote_always;

use crate::feature::Effect;

/// Job type, as `/system/script/job` shows it.
const KIND: &str = "ppp";

/// Values of the variables of a script.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    pub(super) user: &'a str,
    pub(super) local: Option<Ipv4Addr>,
    pub(super) remote: Option<Ipv4Addr>,
    pub(super) caller_id: &'a str,
    pub(super) called_id: &'a str,
    pub(super) interface: &'a str,
}

/// Returns the effect that runs a script.
pub(super) fn run(source: &str, variables: &Variables<'_>) -> Effect {
    let address =
        |address: Option<Ipv4Addr>| address.map_or_else(String::new, |own| own.to_string());
    let mut before = String::new();
    for (name, value) in [
        ("user", variables.user),
        ("local-address", &address(variables.local)),
        ("remote-address", &address(variables.remote)),
        ("caller-id", variables.caller_id),
        ("called-id", variables.called_id),
        ("interface", variables.interface),
    ] {
        // Writing to a string never fails.
        let _ = write!(before, ":local \"{name}\" {};", quote_always(value));
    }
    Effect::Script {
        kind: KIND,
        source: source.to_owned(),
        before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_the_variables_of_its_session() {
        let variables = Variables {
            user: "an\"na",
            local: Some(Ipv4Addr::new(10, 9, 0, 1)),
            remote: None,
            caller_id: "02:00:00:00:00:01",
            called_id: "isp",
            interface: "<pppoe-anna>",
        };
        let Effect::Script {
            kind,
            source,
            before,
        } = run("up", &variables)
        else {
            panic!("no script");
        };
        assert_eq!((kind, source.as_str()), ("ppp", "up"));
        for statement in [
            r#":local "user" "an\"na";"#,
            r#":local "local-address" "10.9.0.1";"#,
            r#":local "remote-address" "";"#,
            r#":local "caller-id" "02:00:00:00:00:01";"#,
            r#":local "interface" "<pppoe-anna>";"#,
        ] {
            assert!(before.contains(statement), "{statement}: {before}");
        }
    }
}
