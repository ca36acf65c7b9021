//! One expectation: a packet and its expected verdict.
//!
//! ```text
//! expect accept in=ether2 src=192.168.88.10 dst=1.1.1.1 proto=tcp dport=443 via=masquerade out=ether1
//! ```

use serde_json::Value;

use crate::command::trace::{end, question, text, verdict};

/// Verdicts of expectations.
const VERDICTS: [(&str, &[&str]); 6] = [
    ("accept", &["sent", "delivered"]),
    ("forward", &["sent"]),
    ("input", &["delivered"]),
    ("drop", &["discarded"]),
    ("reject", &["refused"]),
    ("deny", &["discarded", "refused"]),
];

/// Words for packet properties, with the arguments of `/tool/trace`; the arguments' own names are accepted,
/// too.
const PACKET_WORDS: [(&str, &str); 22] = [
    ("in", "in-interface"),
    ("src", "src-address"),
    ("dst", "dst-address"),
    ("proto", "protocol"),
    ("sport", "src-port"),
    ("dport", "dst-port"),
    ("flags", "tcp-flags"),
    ("icmp-type", "icmp-type"),
    ("icmp-code", "icmp-code"),
    ("icmp-id", "icmp-id"),
    ("size", "packet-size"),
    ("ttl", "ttl"),
    ("dscp", "dscp"),
    ("mac", "src-mac-address"),
    ("dst-mac", "dst-mac-address"),
    ("ipsec", "ipsec"),
    ("vlan", "vlan-id"),
    ("state", "connection-state"),
    ("nat-state", "connection-nat-state"),
    ("connection-mark", "connection-mark"),
    ("packet-mark", "packet-mark"),
    ("routing-mark", "routing-mark"),
];

/// Drop reason of frames to another host's MAC address: it says nothing about the firewall.
const OTHER_HOST: &str = "(ethernet-other-host)";

/// Words for the path of the packet.
const PATH_WORDS: [&str; 7] = ["via", "out", "from", "to", "path", "because", "queue"];

/// An expectation: packet, verdict and path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    verdict: &'static str,
    /// Arguments of `/tool/trace`.
    packet: Vec<(&'static str, String)>,
    /// Expected path.
    way: Vec<(&'static str, String)>,
}

impl Expectation {
    /// Parses the text after `expect`.
    ///
    /// # Errors
    /// What is wrong, and a valid form.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let words = words(line)?;
        let mut words = words.iter();
        let first = words.next().map(String::as_str).unwrap_or_default();
        let known = VERDICTS.iter().find(|(name, _)| *name == first);
        let (verdict, _) = known.ok_or_else(|| {
            let names = VERDICTS.map(|(name, _)| name).join(", ");
            format!("`{first}`: after `expect`, one of {names} is expected")
        })?;
        let mut expectation = Self {
            verdict,
            packet: Vec::new(),
            way: Vec::new(),
        };
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| format!("`{word}`: expected name=value"))?;
            expectation.take(name, value)?;
        }
        for (word, name) in [
            ("in", "in-interface"),
            ("src", "src-address"),
            ("dst", "dst-address"),
        ] {
            if !expectation.packet.iter().any(|(own, _)| *own == name) {
                return Err(format!("{word}= is missing"));
            }
        }
        Ok(expectation)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        if let Some(name) = PATH_WORDS.iter().find(|own| **own == name) {
            self.way.push((name, value.to_owned()));
            return Ok(());
        }
        let mut known = PACKET_WORDS.iter();
        let found = known.find(|(word, own)| *word == name || *own == name);
        let (_, argument) = found.ok_or_else(|| {
            let names: Vec<_> = { PACKET_WORDS.iter().map(|(word, _)| *word) }
                .chain(PATH_WORDS)
                .collect();
            format!("`{name}` is unknown; known are {}", names.join(", "))
        })?;
        let port = match *argument {
            "src-address" => Some("src-port"),
            "dst-address" => Some("dst-port"),
            _ => None,
        };
        match port {
            Some(argument_of_port) => {
                let (address, port) = end(name, value)?;
                self.packet.push((argument, address.to_owned()));
                self.packet
                    .extend(port.map(|port| (argument_of_port, port.to_owned())));
            }
            None => self.packet.push((argument, value.to_owned())),
        }
        Ok(())
    }

    /// Returns the console command that traces the packet.
    pub(super) fn command(&self) -> String {
        let packet = self.packet.iter();
        question(packet.map(|(name, value)| (*name, &**value)))
    }

    /// Returns the differences between expected and actual path.
    pub(super) fn failures(&self, steps: &[Value]) -> Vec<String> {
        let end = verdict(steps);
        let became = end.map(|step| text(step, "verdict")).unwrap_or_default();
        let said = end.map(|step| text(step, "decision")).unwrap_or_default();
        let mut failures = Vec::new();
        let allowed = VERDICTS.iter().find(|(name, _)| *name == self.verdict);
        if !allowed.is_some_and(|(_, allowed)| allowed.contains(&became)) {
            failures.push(format!("expected {}, but it is {said}", self.verdict));
        } else if said.contains(OTHER_HOST) && !self.way.iter().any(|(name, _)| *name == "because")
        {
            failures.push(format!(
                "expected {}, but no rule was evaluated: it is {said}; because=ethernet-other-host expects that",
                self.verdict
            ));
        }
        for (name, value) in &self.way {
            let found: Vec<String> = match *name {
                "via" => met(steps),
                "out" => routed(steps),
                "from" => translated(steps)
                    .map(|(from, _)| from)
                    .into_iter()
                    .collect(),
                "to" => translated(steps).map(|(_, to)| to).into_iter().collect(),
                "path" => paths(steps),
                "queue" => of_stage(steps, "queues", "decision"),
                _ => vec![said.to_owned()],
            };
            let holds = |found: &String| match *name {
                "queue" => found.contains(&**value),
                "because" => found.contains(&format!("({value})")),
                "from" | "to" => {
                    found == value || found.rsplit_once(':').is_some_and(|(at, _)| at == value)
                }
                _ => found == value,
            };
            if !found.iter().any(holds) {
                let found = match found.is_empty() {
                    true => "nothing".to_owned(),
                    false => found.join(", "),
                };
                failures.push(format!("expected {name}={value}, but there is {found}"));
            }
        }
        failures
    }
}

/// Returns actions, comments and chains of the matching rules.
fn met(steps: &[Value]) -> Vec<String> {
    let matched = steps
        .iter()
        .filter(|step| text(step, "decision").starts_with("matched"));
    let mut all: Vec<_> = matched
        .flat_map(|step| ["action", "comment", "chain"].map(|name| text(step, name).to_owned()))
        .filter(|word| !word.is_empty())
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Returns the egress interfaces: the one that routing or a bridge selected, and those below it, whether the
/// next hop is resolved or not.
fn routed(steps: &[Value]) -> Vec<String> {
    let Some(end) = verdict(steps) else {
        return Vec::new();
    };
    let names = [text(end, "out-interface"), text(end, "leaves-by")];
    let names = names.iter().flat_map(|names| names.split(','));
    names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns source and destination after all translations.
fn translated(steps: &[Value]) -> Option<(String, String)> {
    let said = steps.iter().rev().map(|step| text(step, "decision"));
    let mut becomes = said.filter_map(|said| said.split_once(" becomes "));
    let (_, ends) = becomes.next()?;
    let (from, to) = ends.split_once("->")?;
    Some((from.to_owned(), to.to_owned()))
}

/// Returns `fast` or `slow`.
fn paths(steps: &[Value]) -> Vec<String> {
    let said = of_stage(steps, "path", "decision");
    let first = |said: &String| said.split([':', ' ']).next().unwrap_or_default().to_owned();
    said.iter().map(first).collect()
}

fn of_stage(steps: &[Value], stage: &str, name: &str) -> Vec<String> {
    let own = steps.iter().filter(|step| text(step, "stage") == stage);
    own.map(|step| text(step, name).to_owned()).collect()
}

/// Splits a line into words; quotes enclose values with spaces.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            letter if letter.is_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            letter => word.push(letter),
        }
    }
    if quoted {
        return Err("a quotation mark is missing".to_owned());
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::trace::OfflineRouter;

    #[test]
    fn errors_in_a_line_are_reported_with_the_expected_form() {
        fn wrong(line: &str) -> String {
            Expectation::read(line).expect_err(line)
        }
        let ends = "in=ether1 src=192.0.2.1 dst=192.0.2.2";
        assert!(wrong("pass").contains("accept, forward"));
        assert!(wrong("drop in=ether1 src=192.0.2.1").contains("dst= is missing"));
        assert!(wrong(&format!("drop {ends} port=5")).contains("known are in, src"));
        assert!(wrong(&format!("drop {ends} tcp")).contains("name=value"));
        assert!(wrong("drop in=ether1 src=router dst=192.0.2.2").contains("expected an address"));
        assert!(wrong("drop in=\"ether1").contains("quotation mark"));
    }

    /// Returns the failures of an expectation about the default home configuration.
    fn failures(line: &str) -> String {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/configs/static.rsc");
        let mut store = schema::store();
        let imported = crate::run::config::import_file(&mut store, std::path::Path::new(file));
        imported.expect("a configuration");
        let expectation = Expectation::read(line).expect(line);
        let mut router = OfflineRouter::new(store, &[]).expect("a router");
        let steps = router.trace(&expectation.command()).expect(line);
        expectation.failures(&steps).join("\n")
    }

    #[test]
    fn expectations_hold_or_say_what_is_instead() {
        let out = "in=bridge src=192.168.88.10:5000 dst=1.1.1.1 dport=443";
        for holds in [
            format!(
                "accept {out} via=masquerade out=ether1 path=slow from=203.0.113.2 to=1.1.1.1:443"
            ),
            format!("forward {out} via=\"defconf: masquerade\" from=203.0.113.2:5000"),
            "drop in=ether1 src=198.51.100.80 dst=192.168.88.10:22 because=firewall-filter"
                .to_owned(),
            "input in=bridge src=192.168.88.10 dst=192.168.88.1 proto=udp dport=53".to_owned(),
            "deny in=ether1 src=198.51.100.80 dst=203.0.113.2:22".to_owned(),
        ] {
            assert_eq!(failures(&holds), "", "{holds}");
        }
        let said = failures(&format!("drop {out} out=ether2 via=dst-nat"));
        assert!(
            said.contains("expected drop, but it is sent to 203.0.113.1"),
            "{said}"
        );
        assert!(
            said.contains("expected out=ether2, but there is ether1"),
            "{said}"
        );
        assert!(
            said.contains("expected via=dst-nat, but there is"),
            "{said}"
        );
    }

    #[test]
    fn a_frame_for_another_host_is_not_dropped_by_the_firewall() {
        let other = "in=ether1 src=203.0.113.1 dst=192.168.88.10 dst-mac=02:00:00:00:99:99";
        let said = failures(&format!("drop {other}"));
        assert!(said.contains("no rule was evaluated"), "{said}");
        let named = format!("drop {other} because=ethernet-other-host");
        assert_eq!(failures(&named), "");
    }

    #[test]
    fn the_interface_that_a_packet_leaves_by_does_not_depend_on_arp() {
        // 203.0.113.1 is unresolved, and rules may or may not look at the packet.
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/configs/plain.rsc");
        let mut store = schema::store();
        let imported = crate::run::config::import_file(&mut store, std::path::Path::new(file));
        imported.expect("a configuration");
        let line = "accept in=ether2 src=192.168.88.10 dst=1.1.1.1 dport=443 out=ether1";
        let expectation = Expectation::read(line).expect(line);
        let mut router = OfflineRouter::new(store, &[]).expect("a router");
        for rule in [
            None,
            Some("/ip/firewall/filter/add chain=forward action=accept"),
        ] {
            rule.map(|rule| router.ask(rule).expect("a rule"));
            let steps = router.trace(&expectation.command()).expect(line);
            assert_eq!(
                expectation.failures(&steps),
                Vec::<String>::new(),
                "{rule:?}"
            );
        }
    }
}
