//! Both ends of the tunnels between several routers, compared: as text, JSON, and commands.

use doctor::Severity;
use doctor::joined::{Difference, PublicKeys, Value, compare};
use menu::{Store, visible};
use script::Report;
use serde_json::{Value as Json, json};

use super::findings::portable;

/// The configuration of a router.
pub(crate) struct Router {
    file: String,
    store: Store,
    report: Report,
    /// Public WireGuard keys of the private keys in the text.
    keys: PublicKeys,
}

impl Router {
    /// Imports the text of a file; refused commands are left out of the comparison.
    pub(crate) fn new(file: String, text: &str) -> Self {
        let mut store = schema::store();
        let report = script::check(&mut store, text);
        let privates = store
            .items("/interface/wireguard")
            .map(|item| item.text("private-key"));
        // The import generates keys that the text lacks.
        let stated = privates.filter(|private| !private.is_empty() && text.contains(private));
        let keys = stated.filter_map(|private| {
            let public = router::wireguard_public_key(private)?;
            Some((private.to_owned(), public))
        });
        let keys = keys.collect();
        Self {
            file,
            store,
            report,
            keys,
        }
    }

    /// Returns the file and the line of an item.
    fn place(&self, value: &Value) -> String {
        match self.report.lines.get(&value.item) {
            Some(line) => format!("{} line {line}", self.file),
            None => self.file.clone(),
        }
    }
}

/// A difference, with the routers of its ends.
struct Compared<'a> {
    routers: [&'a Router; 2],
    difference: Difference,
}

impl Compared<'_> {
    /// Returns values with their places, such as `a.rsc line 3: mtu=1400`.
    fn sides(&self) -> Vec<String> {
        let values = self.difference.values.iter().zip(self.routers);
        let sides = values.map(|(value, router)| match value {
            Some(value) => format!("{}: {}", router.place(value), visible(&value.shown)),
            None => format!("{}: nothing", router.file),
        });
        sides.collect()
    }

    /// Returns the file of the correcting command, and the command.
    fn fix(&self) -> Option<(&str, String)> {
        let (at, command) = self.difference.fix.as_ref()?;
        let router = self.routers[*at];
        Some((&router.file, portable(&router.store, command)))
    }
}

/// Comparisons of each router with each other one.
pub(crate) struct Comparisons<'a> {
    routers: &'a [Router],
    tunnels: Vec<String>,
    differences: Vec<Compared<'a>>,
}

impl<'a> Comparisons<'a> {
    /// Compares all pairs of routers.
    pub(crate) fn of(routers: &'a [Router]) -> Self {
        let mut all = Self {
            routers,
            tunnels: Vec::new(),
            differences: Vec::new(),
        };
        for (at, second) in routers.iter().enumerate() {
            for first in &routers[..at] {
                let keys = first.keys.iter().chain(&second.keys);
                let keys = keys.map(|(private, public)| (private.clone(), public.clone()));
                let found = compare(&first.store, &second.store, &keys.collect());
                let tunnels = found.tunnels.into_iter();
                all.tunnels.extend(
                    tunnels.map(|tunnel| format!("{} and {}: {tunnel}", first.file, second.file)),
                );
                let differences = found.differences.into_iter();
                all.differences
                    .extend(differences.map(|difference| Compared {
                        routers: [first, second],
                        difference,
                    }));
            }
        }
        all
    }

    /// Returns the highest severity.
    pub(crate) fn worst(&self) -> Option<Severity> {
        let severities = self.differences.iter();
        severities.map(|found| found.difference.severity).max()
    }

    /// Returns the tunnels, and the differences with both values, cause and command.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for router in self.routers {
            let refused = router.report.refused.len();
            if refused > 0 {
                let file = &router.file;
                lines.push(format!(
                    "{file}: {refused} commands are refused and not compared"
                ));
            }
        }
        lines.extend(
            self.tunnels
                .iter()
                .map(|tunnel| visible(tunnel).to_string()),
        );
        for found in &self.differences {
            let difference = &found.difference;
            let (severity, tunnel) = (difference.severity.name(), visible(&difference.tunnel));
            lines.push(format!(
                "{severity}: {tunnel}: {}",
                found.sides().join(", ")
            ));
            lines.push(format!("    {}", difference.cause));
            if let Some((file, command)) = found.fix() {
                lines.push(format!("    {file}: {command}"));
            }
        }
        lines.push(format!(
            "{} tunnels joined, {} differences",
            self.tunnels.len(),
            self.differences.len()
        ));
        lines
    }

    /// Returns the correcting commands, with a comment before those of each file.
    pub(crate) fn script(&self) -> Vec<String> {
        let fixes = self.differences.iter().filter_map(Compared::fix);
        let mut fixes: Vec<_> = fixes.collect();
        fixes.sort_by_key(|(file, _)| *file);
        let mut lines = Vec::new();
        for same in fixes.chunk_by(|one, other| one.0 == other.0) {
            lines.push(format!("# for {}", same[0].0));
            lines.extend(same.iter().map(|(_, command)| command.clone()));
        }
        lines
    }

    /// Returns tunnels and differences as a JSON object.
    pub(crate) fn to_json(&self) -> String {
        let differences = self.differences.iter().map(|found| {
            let values = found.difference.values.iter().zip(found.routers);
            let values: Vec<Json> = values
                .map(|(value, router)| {
                    let value = value.as_ref();
                    json!({
                        "file": router.file,
                        "line": value.and_then(|value| router.report.lines.get(&value.item)),
                        "menu": value.map(|value| value.item.0),
                        "value": value.map(|value| &value.shown),
                    })
                })
                .collect();
            json!({
                "tunnel": found.difference.tunnel,
                "severity": found.difference.severity.name(),
                "cause": found.difference.cause,
                "ends": values,
                "fix": found.fix().map(|(file, command)| json!({"file": file, "command": command})),
            })
        });
        let differences: Vec<_> = differences.collect();
        json!({"tunnels": self.tunnels, "differences": differences}).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "/ip address add address=192.0.2.1/24 interface=ether1
/interface eoip add name=site remote-address=198.51.100.1 tunnel-id=5
";
    const SECOND: &str = "/ip address add address=198.51.100.1/24 interface=ether1
/interface eoip add name=hub remote-address=192.0.2.1 tunnel-id=6
";

    #[test]
    fn a_difference_has_both_files_lines_values_and_a_command() {
        let routers = [
            Router::new("a.rsc".to_owned(), FIRST),
            Router::new("b.rsc".to_owned(), SECOND),
        ];
        let found = Comparisons::of(&routers);
        let words = found.in_words().join("\n");
        let said = "error: EoIP site and hub: a.rsc line 2: tunnel-id=5, b.rsc line 2: tunnel-id=6";
        assert!(words.contains(said), "{words}");
        let command = "/interface/eoip/set [find name=hub] tunnel-id=5";
        assert!(words.contains(&format!("b.rsc: {command}")), "{words}");
        assert_eq!(found.script(), ["# for b.rsc", command]);
        let value: Json = serde_json::from_str(&found.to_json()).expect("it is JSON");
        assert_eq!(value["differences"][0]["ends"][1]["value"], "tunnel-id=6");
        assert_eq!(found.worst(), Some(Severity::Error));
    }

    #[test]
    fn real_public_keys_are_derived_from_private_keys() {
        // RFC 7748, 6.1: keys of Alice.
        let private = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        let public = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
        assert_eq!(
            router::wireguard_public_key(private).as_deref(),
            Some(public)
        );
    }
}
