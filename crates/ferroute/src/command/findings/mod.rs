//! The doctor's findings in a file: as text, JSON, SARIF, and correcting commands.

use std::collections::BTreeSet;

use board::Board;
use doctor::{BOARD_RULES, Cost, Finding, RULES, Rule, Severity};
use menu::{Store, visible};
use router::board::Asks;
use script::Report;
use serde_json::{Value, json};

mod content;

pub(crate) use content::portable;

/// Findings of a file.
pub(crate) struct Findings<'a> {
    store: &'a Store,
    report: &'a Report,
    all: Vec<Finding>,
}

impl<'a> Findings<'a> {
    /// Examines the store that a file was imported into.
    pub(crate) fn of(store: &'a Store, report: &'a Report) -> Self {
        Self::by(store, report, RULES)
    }

    /// Examines the store by some rules.
    pub(crate) fn by(store: &'a Store, report: &'a Report, rules: &'static [Rule]) -> Self {
        let mut all = doctor::examine_by(store, rules);
        all.sort_by_key(|finding| line(report, finding));
        Self { store, report, all }
    }

    /// Adds the findings that depend on the board.
    pub(crate) fn add_board(&mut self, board: &'static Board) {
        let asks = Asks::of(self.store);
        let plan = asks.plan(board, None);
        let switched = asks.switched(&plan);
        self.all
            .extend(doctor::examine_board(self.store, board, &switched));
        let report = self.report;
        self.all.sort_by_key(|finding| line(report, finding));
    }

    /// Returns the highest severity.
    pub(crate) fn worst(&self) -> Option<Severity> {
        self.all.iter().map(|finding| finding.rule.severity).max()
    }

    /// Returns a line per finding; the first of each rule includes cause and advice.
    pub(crate) fn in_words(&self, file: &str) -> Vec<String> {
        let (mut lines, mut told) = (Vec::new(), BTreeSet::new());
        for finding in &self.all {
            let rule = finding.rule;
            let (severity, said) = (rule.severity.name(), visible(&finding.said));
            let at = line(self.report, finding)
                .map_or_else(String::new, |line| format!("line {line}: "));
            lines.push(format!("{file}: {at}{severity}: {}: {said}", rule.name));
            if told.insert(rule.name) {
                lines.push(format!("    {}", rule.cause));
                let cost = Cost::of(rule.name).map(|cost| format!("    {}", cost.describe()));
                lines.extend(cost);
                lines.push(format!("    right: {}", rule.mend));
            }
        }
        lines
    }

    /// Returns the number of findings by severity.
    pub(crate) fn summary(&self) -> String {
        let of = |severity| {
            self.all
                .iter()
                .filter(|finding| finding.rule.severity == severity)
                .count()
        };
        let [errors, warnings, advice] =
            [Severity::Error, Severity::Warning, Severity::Advice].map(of);
        format!("{errors} errors, {warnings} warnings, {advice} pieces of advice")
    }

    /// Returns the findings as members of a JSON object.
    pub(crate) fn to_json(&self) -> String {
        let all: Vec<_> = self.all.iter().map(|finding| self.one(finding)).collect();
        format!("\"findings\":{}", Value::Array(all))
    }

    fn one(&self, finding: &Finding) -> Value {
        let places = finding.places.iter().map(|(path, id)| {
            let title = self.store.item(path, *id).map(|item| item.title());
            let line = self.report.lines.get(&(*path, *id));
            json!({"menu": path, "item": title, "line": line})
        });
        json!({
            "rule": finding.rule.name,
            "severity": finding.rule.severity.name(),
            "line": line(self.report, finding),
            "finding": finding.said,
            "cause": finding.rule.cause,
            "cost": Cost::of(finding.rule.name).map(Cost::describe),
            "mend": finding.rule.mend,
            "places": places.collect::<Vec<_>>(),
            "fix": self.fix(finding),
        })
    }

    /// Returns the findings as SARIF 2.1.0, which forges display beside the lines.
    pub(crate) fn to_sarif(&self, file: &str) -> String {
        let level = |severity| match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Advice => "note",
        };
        let rules = RULES.iter().chain(BOARD_RULES).map(|rule| {
            json!({
                "id": rule.name,
                "shortDescription": {"text": rule.cause},
                "help": {"text": rule.mend},
                "defaultConfiguration": {"level": level(rule.severity)},
            })
        });
        let results = self.all.iter().map(|finding| {
            let line = line(self.report, finding).unwrap_or(1);
            json!({
                "ruleId": finding.rule.name,
                "level": level(finding.rule.severity),
                "message": {"text": format!("{}: {}", finding.said, finding.rule.mend)},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": file},
                    "region": {"startLine": line},
                }}],
            })
        });
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {"name": "ferroute", "rules": rules.collect::<Vec<_>>()}},
                "results": results.collect::<Vec<_>>(),
            }],
        })
        .to_string()
    }

    /// Returns a script of all corrections that need no decision.
    pub(crate) fn script(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for finding in self.all.iter().filter(|finding| !finding.fix.is_empty()) {
            lines.push(format!(
                "# {}: {}",
                finding.rule.name,
                visible(&finding.said)
            ));
            lines.extend(self.fix(finding));
        }
        lines
    }

    /// Returns the commands of a correction, which are valid in other stores too.
    fn fix(&self, finding: &Finding) -> Vec<String> {
        finding
            .fix
            .iter()
            .map(|command| portable(self.store, command))
            .collect()
    }
}

/// Returns the line of the faulty item.
fn line(report: &Report, finding: &Finding) -> Option<u32> {
    finding
        .places
        .iter()
        .find_map(|place| report.lines.get(place).copied())
}

#[cfg(test)]
mod tests {
    use super::content::by_content;
    use super::*;

    const SHADOWED: &str = "/ip firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=fasttrack-connection connection-state=established,related
add chain=forward action=drop
/queue simple
add name=one target=10.0.0.7/32
";

    #[test]
    fn findings_have_lines_and_commands_that_mend_them_elsewhere() {
        let mut store = schema::store();
        let report = script::check(&mut store, SHADOWED);
        let findings = Findings::of(&store, &report);
        let said = findings.in_words("a.rsc");
        assert!(
            said.iter().any(|said| said.starts_with("a.rsc: line 6: warning: fasttrack-bypasses-queues: ")),
            "{said:#?}"
        );
        let fix = "/ip/firewall/filter/add chain=forward action=accept connection-state=established,related \
                   place-before=[find chain=forward action=drop]";
        let script = findings.script();
        assert!(script.iter().any(|line| line == fix), "{script:#?}");

        // Another router runs the printed commands.
        let mut other = schema::store();
        script::check(&mut other, SHADOWED);
        let mended = script::check(&mut other, &script.join("\n"));
        assert!(mended.refused.is_empty(), "{:?}", mended.refused);
        let left = doctor::examine(&other);
        assert!(
            left.iter()
                .all(|left| left.rule.name != "fasttrack-no-accept")
        );
    }

    #[test]
    fn fixes_find_their_rules_by_content_wherever_they_stand() {
        let mut store = schema::store();
        let report = script::check(&mut store, SHADOWED);
        let script = Findings::of(&store, &report).script().join("\n");
        let more = "/ip firewall filter
add chain=input action=drop comment=first place-before=0
add chain=forward action=reject protocol=tcp dst-port=25 place-before=0
add chain=forward action=accept protocol=icmp place-before=0
";
        let mut other = schema::store();
        script::check(&mut other, SHADOWED);
        let mended = script::check(&mut other, &[more, &script].concat());
        assert!(mended.refused.is_empty(), "{:?}", mended.refused);
        let left = doctor::examine(&other);
        assert!(
            left.iter()
                .all(|left| left.rule.name != "fasttrack-no-accept"),
            "{left:?}"
        );
    }

    #[test]
    fn a_rule_is_distinguished_from_rules_with_more_matchers() {
        let text = "/ip firewall filter
add chain=forward action=drop protocol=tcp
add chain=forward action=drop
add chain=forward action=drop protocol=tcp dst-port=25
";
        let mut store = schema::store();
        script::check(&mut store, text);
        let menu = "/ip/firewall/filter";
        let ids: Vec<_> = store.items(menu).map(|item| item.id).collect();
        for id in ids {
            let found = by_content(&store, menu, id).expect("an item");
            let found = found.expression(found.place);
            let set = format!("{menu}/set {found} comment=found");
            let report = script::check(&mut store, &set);
            assert!(report.refused.is_empty(), "{set}: {:?}", report.refused);
            let commented = store
                .items(menu)
                .filter(|item| item.text("comment") == "found");
            assert_eq!(
                commented.map(|item| item.id).collect::<Vec<_>>(),
                [id],
                "{set}"
            );
            script::check(&mut store, &format!("{menu}/set [find] comment=\"\""));
        }
    }

    #[test]
    fn duplicates_are_removed_one_by_one_except_the_first() {
        let rule = "/ip firewall filter add chain=forward action=drop connection-state=invalid,new comment=\"a b\"\n";
        let mut store = schema::store();
        let report = script::check(&mut store, &rule.repeat(3));
        let script = Findings::of(&store, &report).script().join("\n");
        let mended = script::check(&mut store, &script);
        assert!(mended.refused.is_empty(), "{script}: {:?}", mended.refused);
        assert_eq!(store.count("/ip/firewall/filter"), 1, "{script}");
    }

    #[test]
    fn sarif_names_rule_level_and_line() {
        let mut store = schema::store();
        let report = script::check(&mut store, SHADOWED);
        let sarif = Findings::of(&store, &report).to_sarif("a.rsc");
        let sarif: Value = serde_json::from_str(&sarif).expect("it is JSON");
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!(result["ruleId"], "fasttrack-no-accept");
        assert_eq!(result["level"], "error");
        assert_eq!(
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            3
        );
        let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array();
        assert_eq!(rules.map(Vec::len), Some(RULES.len() + BOARD_RULES.len()));
    }
}
