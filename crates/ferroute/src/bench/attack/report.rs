//! Result and goals of an attack, and their output.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::console::Took;
use super::ping::Pings;
use super::stream::{CONNECTIONS, Came};
use super::world::Balance;

/// Goal: the 99th percentile of console commands stays below this, in milliseconds.
const CONSOLE_MS: f64 = 200.0;
/// Goal: this share of the established connections' packets arrives.
const SHARE: f64 = 0.9;
/// Goal: memory grows by at most the size of the connection table plus this many bytes.
const BESIDES: u64 = 64 << 20;

/// Result of an attack.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) attack: &'static str,
    pub(super) via: &'static str,
    pub(super) seconds: f64,
    /// Attack packets sent per second.
    pub(super) rate: f64,
    pub(super) console: Vec<Took>,
    /// Pings to the router and through it: without the attack, and during it.
    pub(super) pings: [[Pings; 2]; 2],
    /// Received packets of established connections per second, without and with the attack.
    pub(super) before: f64,
    pub(super) during: f64,
    /// Packets of established connections during the attack.
    pub(super) came: Came,
    /// Number of established connections that survived.
    pub(super) survived: usize,
    pub(super) balance: Balance,
    /// Connections: maximum observed, and limit.
    pub(super) entries: u64,
    pub(super) entries_max: u64,
    /// Memory in bytes: before, maximum, and size of a full connection table.
    pub(super) memory: (u64, u64),
    pub(super) table: u64,
}

/// A goal, and whether it is reached.
struct Goal {
    what: &'static str,
    met: bool,
}

impl Report {
    /// Returns the share of the established connections' packets that arrived.
    fn share(&self) -> f64 {
        self.during / self.before.max(1.0)
    }

    fn lost(&self) -> u64 {
        self.came.sent.saturating_sub(self.came.received)
    }

    /// Returns the highest 99th percentile of all commands.
    fn console_p99(&self) -> f64 {
        let all = self.console.iter().map(|took| took.quantile(0.99));
        all.fold(0.0, f64::max)
    }

    fn goals(&self) -> [Goal; 5] {
        let (before, peak) = self.memory;
        [
            Goal {
                what: "console",
                met: self.console_p99() < CONSOLE_MS,
            },
            Goal {
                what: "established",
                met: self.share() >= SHARE && self.survived == CONNECTIONS as usize,
            },
            Goal {
                what: "named",
                met: self.balance.unnamed() == 0,
            },
            Goal {
                what: "entries",
                met: self.entries <= self.entries_max,
            },
            Goal {
                what: "memory",
                met: peak.saturating_sub(before) <= self.table + BESIDES,
            },
        ]
    }

    /// Formats a JSON object on one line.
    pub(super) fn to_json(&self) -> String {
        let commands = self.console.iter().map(|took| {
            json!({
                "command": took.what,
                "runs": took.ms.len(),
                "p50_ms": took.quantile(0.5),
                "p99_ms": took.quantile(0.99),
                "max_ms": took.quantile(1.0),
            })
        });
        let goals = self.goals();
        let goals = goals
            .iter()
            .map(|goal| (goal.what.to_owned(), json!(goal.met)));
        json!({
            "row": "attack",
            "attack": self.attack,
            "via": self.via,
            "seconds": self.seconds,
            "rate_pps": self.rate.round(),
            "console_p99_ms": self.console_p99(),
            "commands": commands.collect::<Vec<_>>(),
            "pings_before": pings_in_json(&self.pings[0]),
            "pings_during": pings_in_json(&self.pings[1]),
            "established": {
                "connections": CONNECTIONS,
                "survived": self.survived,
                "pps_before": self.before.round(),
                "pps_during": self.during.round(),
                "share": self.share(),
                "sent": self.came.sent,
                "lost": self.lost(),
                "disordered": self.came.disordered,
                "missed_by_receiver": self.came.missed,
            },
            "drops": self.balance.drops,
            "into_router": self.balance.into,
            "out_of_router": self.balance.out_of,
            "unnamed": self.balance.unnamed(),
            "entries": self.entries,
            "entries_max": self.entries_max,
            "memory_before": self.memory.0,
            "memory_peak": self.memory.1,
            "table_bytes": self.table,
            "goals": goals.collect::<serde_json::Map<String, Value>>(),
        })
        .to_string()
    }

    /// Formats lines of text.
    pub(super) fn to_text(&self) -> String {
        let mut text = format!(
            "{}: {:.0} packets a second for {:.0} s, through {} ports\n",
            self.attack, self.rate, self.seconds, self.via
        );
        let [console, established, named, entries, memory] = self.goals();
        let mut say = |what: &str, goal: &Goal, said: String| {
            let verdict = if goal.met { "met" } else { "missed" };
            let _ = writeln!(text, "  {what:<12} {said} [{verdict}]");
        };
        let commands = self.console.iter().map(|took| {
            let [median, p99, max] = [0.5, 0.99, 1.0].map(|part| took.quantile(part));
            format!(
                "\n               {:<30} {median:>8.1} {p99:>8.1} {max:>8.1}",
                took.what
            )
        });
        let commands: String = commands.collect();
        say(
            "console",
            &console,
            format!(
                "99th percentile at most {:.1} ms (goal: below {CONSOLE_MS:.0}); median, p99, maximum:{commands}\n              ",
                self.console_p99()
            ),
        );
        say("established", &established, self.established_in_words());
        say("drops", &named, self.drops_in_words());
        say(
            "entries",
            &entries,
            format!("{} of {}", self.entries, self.entries_max),
        );
        let megabytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let (before, peak) = self.memory;
        say(
            "memory",
            &memory,
            format!(
                "{:.0} MB before, {:.0} MB at most; a full table of connections takes {:.0} MB",
                megabytes(before),
                megabytes(peak),
                megabytes(self.table)
            ),
        );
        self.write_pings(&mut text);
        text
    }

    /// Writes a line for each target of pings.
    fn write_pings(&self, text: &mut String) {
        let [before, during] = &self.pings;
        for (before, during) in before.iter().zip(during) {
            let said = |pings: &Pings| {
                let [median, p99, max] = [0.5, 0.99, 1.0].map(|part| pings.took.quantile(part));
                format!(
                    "{median:.2} ms median, {p99:.2} p99, {max:.2} maximum, {} of {} lost",
                    pings.lost(),
                    pings.sent
                )
            };
            let _ = writeln!(
                text,
                "  ping {}: {}; before the attack {}",
                before.took.what,
                said(during),
                said(before)
            );
        }
    }

    fn established_in_words(&self) -> String {
        let Came {
            sent,
            disordered,
            missed,
            ..
        } = self.came;
        let mut text = format!(
            "{:.1} % of the packets a second that came without the attack (goal: {:.0} %): {:.0} of {:.0}; \
             {} of {sent} lost, {disordered} disordered; {} of {CONNECTIONS} connections survived",
            self.share() * 100.0,
            SHARE * 100.0,
            self.during,
            self.before,
            self.lost(),
            self.survived,
        );
        if missed > 0 {
            let _ = write!(
                text,
                " ({missed} were lost by the benchmark's own receiver)"
            );
        }
        text
    }

    fn drops_in_words(&self) -> String {
        let Balance {
            into,
            out_of,
            drops,
        } = &self.balance;
        let drops = drops
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"));
        let drops: Vec<String> = drops.collect();
        let named = match drops.is_empty() {
            true => String::from("none"),
            false => drops.join(", "),
        };
        let unnamed = self.balance.unnamed();
        format!("{named}; {into} frames in, {out_of} out, {unnamed} without a drop reason")
    }
}

/// Returns the pings of a period as JSON.
fn pings_in_json(pings: &[Pings; 2]) -> Value {
    let each = pings.iter().map(|pings| {
        json!({
            "target": pings.took.what,
            "sent": pings.sent,
            "lost": pings.lost(),
            "p50_ms": pings.took.quantile(0.5),
            "p99_ms": pings.took.quantile(0.99),
            "max_ms": pings.took.quantile(1.0),
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            attack: "syn-flood",
            via: "packet",
            seconds: 2.0,
            rate: 1_000.0,
            console: vec![Took {
                what: "count connections",
                ms: vec![1.0, 2.0],
            }],
            pings: [0, 1].map(|lost| {
                ["to the router", "through the router"].map(|what| Pings {
                    sent: 3,
                    took: Took {
                        what,
                        ms: vec![0.5; 3 - lost],
                    },
                })
            }),
            before: 100.0,
            during: 91.0,
            came: Came {
                sent: 200,
                received: 182,
                ..Came::default()
            },
            survived: CONNECTIONS as usize,
            balance: Balance {
                into: 2_200,
                out_of: 2_100,
                drops: [(String::from("port-full"), 100)].into(),
            },
            entries: 7,
            entries_max: 8,
            memory: (1 << 20, 2 << 20),
            table: 8 * 243,
        }
    }

    #[test]
    fn each_goal_is_judged_separately() {
        let met = |report: &Report| report.goals().map(|goal| goal.met);
        let mut missed = report();
        assert_eq!(met(&missed), [true; 5]);

        missed.console[0].ms.push(200.0);
        missed.during = 89.0;
        missed.balance.into += 1;
        missed.entries = 9;
        missed.memory.1 += 65 << 20;

        assert_eq!(met(&missed), [false; 5]);
        let json: Value = serde_json::from_str(&missed.to_json()).expect("an object");
        assert_eq!(json["goals"]["named"], false);
        assert_eq!(json["established"]["lost"], 18);
        assert!(missed.to_text().contains("missed"));
        assert_eq!(json["pings_during"][1]["lost"], 1);
        let ping = "ping through the router: 0.50 ms median, 0.50 p99, 0.50 maximum, 1 of 3 lost; before the attack";
        assert!(missed.to_text().contains(ping), "{}", missed.to_text());
    }
}
