//! What mistakes cost: clocks per packet of two rows of the benchmark, as an estimate for another machine.

/// A row of the benchmark with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Name of the row in `docs/benchmarks.md`.
    pub name: &'static str,
    /// Clocks of the time stamp counter for each packet.
    pub clocks: u32,
}

/// Cost of a mistake: a packet takes the clocks of one row in place of those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Row of the correct configuration.
    pub right: Row,
    /// Row of the mistake.
    pub wrong: Row,
    rules: &'static [&'static str],
}

const fn row(name: &'static str, clocks: u32) -> Row {
    Row { name, clocks }
}

/// Costs of mistakes; IPv4, 64 bytes unless the row has another size, the AVX-512 machine of the table.
const COSTS: &[Cost] = &[
    Cost {
        right: row("stateful", 64),
        wrong: row("layer7-50", 352),
        rules: &["l7-drop-unscoped", "l7-one-direction", "l7-https"],
    },
    Cost {
        right: row("stateful", 64),
        wrong: row("tls-host-50", 417),
        rules: &["tls-host-not-tcp443"],
    },
    Cost {
        right: row("fasttrack", 53),
        wrong: row("stateful", 64),
        rules: &["fasttrack-inactive"],
    },
    Cost {
        right: row("routing-fast-path", 23),
        wrong: row("stateful", 64),
        rules: &["allow-fast-path-off"],
    },
    Cost {
        right: row("masquerade", 88),
        wrong: row("prerouting-25", 129),
        rules: &["mangle-packet-per-packet", "mark-connection-not-new"],
    },
    Cost {
        right: row("interface-queue", 57),
        wrong: row("simple-queues-25", 103),
        rules: &["use-ip-firewall-for-queue"],
    },
    Cost {
        right: row("esp-gcm-128, 64, 512 and 1400 bytes", 855),
        wrong: row("esp-cbc-128-sha1, 64, 512 and 1400 bytes", 2585),
        rules: &["ipsec-weak-algorithm"],
    },
];

impl Cost {
    /// Returns the cost of a rule's mistake; `None` if the benchmark does not measure it.
    pub fn of(rule: &str) -> Option<&'static Self> {
        COSTS.iter().find(|cost| cost.rules.contains(&rule))
    }

    /// Returns a sentence that says both results and that they are an estimate.
    pub fn describe(&self) -> String {
        let (right, wrong) = (self.right, self.wrong);
        format!(
            "costs about {} clocks a packet in place of {} (estimate: rows {} and {} of the benchmark)",
            wrong.clocks, right.clocks, wrong.name, right.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RULES;

    #[test]
    fn every_cost_is_a_row_of_the_page_and_of_a_rule() {
        let page = include_str!("../../../docs/benchmarks.md");
        for cost in COSTS {
            for row in [cost.right, cost.wrong] {
                let digits = row.clocks.to_string();
                let number = match digits.len() {
                    4 => format!("{},{}", &digits[..1], &digits[1..]),
                    _ => digits,
                };
                let mut lines = page
                    .lines()
                    .filter(|line| line.starts_with("| ") && line.contains(row.name));
                assert!(lines.any(|line| line.contains(&number)), "{row:?}");
            }
            assert!(cost.right.clocks < cost.wrong.clocks);
            for name in cost.rules {
                assert!(RULES.iter().any(|rule| rule.name == *name), "{name}");
            }
        }
    }
}
