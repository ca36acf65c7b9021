//! Figures of two builds for the same measurement, and the ratio between them. Pure values: no process, no output.

use std::fmt::Write as _;

use serde_json::Value;

/// A row has lost when its median ratio is above this.
pub(super) const BOUND: f64 = 1.05;

/// The members of a JSON row that tell its measurements apart, with the unit that a label shows.
const IDENTITY: [(&str, &str); 9] = [
    ("family", ""),
    ("frame", " bytes"),
    ("flows", " flows"),
    ("routes", " routes"),
    ("hosts", " hosts"),
    ("vlans", " VLANs"),
    ("change", ""),
    ("what", ""),
    ("items", " items"),
];

/// The members that hold the figure of a JSON row: clocks per packet, or the time of a change or of a command.
const FIGURES: [&str; 3] = ["tsc_per_packet", "us_median", "ms"];

/// Which rows a comparison measures, and which it skips.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Rows that both builds have.
    pub(super) both: Vec<String>,
    /// Rows that only the current build has.
    pub(super) only_current: Vec<String>,
    /// Rows that only the base has.
    pub(super) only_base: Vec<String>,
}

impl Selection {
    /// Selects among the rows of both builds; all rows if `requested` is empty.
    ///
    /// # Errors
    /// Neither build has a requested row.
    pub(super) fn new(
        requested: &[String],
        current: &[String],
        base: &[String],
    ) -> Result<Self, String> {
        let all = || {
            let only_base = base.iter().filter(|row| !current.contains(row));
            current.iter().chain(only_base).cloned().collect()
        };
        let rows = if requested.is_empty() {
            all()
        } else {
            requested.to_vec()
        };
        let mut selection = Self::default();
        for row in rows {
            let list = match (current.contains(&row), base.contains(&row)) {
                (true, true) => &mut selection.both,
                (true, false) => &mut selection.only_current,
                (false, true) => &mut selection.only_base,
                (false, false) => {
                    return Err(format!(
                        "no row is called {row}; there are: {}",
                        all().join(", ")
                    ));
                }
            };
            list.push(row);
        }
        Ok(selection)
    }
}

/// One JSON line of `ferroute bench --json`.
#[derive(Debug, PartialEq)]
pub(super) struct Figure {
    /// Row, family, and the sizes that are not zero.
    pub(super) label: String,
    /// Clocks, microseconds or milliseconds: the less, the better.
    pub(super) value: f64,
}

impl Figure {
    /// Reads a line; `None` if it holds no figure.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let row: Value = serde_json::from_str(line).ok()?;
        let figure = FIGURES.iter().find_map(|name| row.get(name)?.as_f64());
        let value = figure.filter(|value| *value > 0.0)?;
        let mut label = row.get("row")?.as_str()?.to_owned();
        for (name, unit) in IDENTITY {
            let _ = match row.get(name) {
                Some(Value::String(text)) => write!(label, " {text}"),
                Some(Value::Number(number)) if number.as_u64() != Some(0) => {
                    write!(label, " {number}{unit}")
                }
                _ => Ok(()),
            };
        }
        Some(Self { label, value })
    }
}

/// The pairs of one measurement.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) label: String,
    base: Vec<f64>,
    current: Vec<f64>,
}

impl Pairs {
    /// Adds the figures of one pair of runs. Measurements that one of the runs lacks are left out.
    pub(super) fn add_all(all: &mut Vec<Self>, base: &[Figure], current: &[Figure]) {
        for ours in current {
            let Some(theirs) = base.iter().find(|theirs| theirs.label == ours.label) else {
                continue;
            };
            let at = all.iter().position(|pairs| pairs.label == ours.label);
            let at = at.unwrap_or_else(|| {
                all.push(Self {
                    label: ours.label.clone(),
                    ..Self::default()
                });
                all.len() - 1
            });
            all[at].base.push(theirs.value);
            all[at].current.push(ours.value);
        }
    }

    /// Current figure over base figure, pair by pair: lowest, median, highest.
    pub(super) fn ratio(&self) -> (f64, f64, f64) {
        let pairs = self.current.iter().zip(&self.base);
        let ratios = sorted(pairs.map(|(current, base)| current / base));
        let lowest = ratios.first().copied().unwrap_or_default();
        (
            lowest,
            median(&ratios),
            ratios.last().copied().unwrap_or_default(),
        )
    }

    /// True if the median of the ratios is beyond the bound.
    pub(super) fn has_lost(&self) -> bool {
        self.ratio().1 > BOUND
    }

    /// Number of pairs.
    pub(super) fn count(&self) -> usize {
        self.base.len()
    }

    /// One line of the table.
    pub(super) fn to_line(&self) -> String {
        let (lowest, median_ratio, highest) = self.ratio();
        let of = |values: &[f64]| median(&sorted(values.iter().copied()));
        format!(
            "{:<52} {:>10.2} {:>10.2} {:>7.3}  {:<16} {:>5}{}",
            self.label,
            of(&self.base),
            of(&self.current),
            median_ratio,
            format!("{lowest:.3} to {highest:.3}"),
            self.count(),
            if self.has_lost() { "  lost" } else { "" },
        )
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The middle of sorted values, or the mean of the two in the middle; 0 if there is none.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    fn figure(label: &str, value: f64) -> Figure {
        Figure {
            label: label.to_owned(),
            value,
        }
    }

    #[test]
    fn rows_that_one_build_lacks_are_told_apart_and_unknown_ones_refused() {
        let (current, base) = (names(&["vlan", "vlan+home"]), names(&["vlan", "old"]));

        let all = Selection::new(&[], &current, &base).expect("rows");
        let some = Selection::new(&names(&["vlan+home"]), &current, &base).expect("rows");

        assert_eq!(all.both, ["vlan"]);
        assert_eq!(
            (all.only_current, all.only_base),
            (names(&["vlan+home"]), names(&["old"]))
        );
        assert_eq!(
            (some.both, some.only_current),
            (names(&[]), names(&["vlan+home"]))
        );
        assert_eq!(
            Selection::new(&names(&["vlna"]), &current, &base),
            Err(String::from(
                "no row is called vlna; there are: vlan, vlan+home, old"
            ))
        );
    }

    #[test]
    fn a_label_contains_the_parameters_of_a_measurement() {
        let walk = r#"{"row":"vlan","family":"ipv4","frame":68,"flows":1000,"routes":1,"hosts":0,
            "vlans":0,"workers":1,"kpps":5,"tsc_per_packet":48.50,"p10":47.00,"peer":null}"#;
        let change = r#"{"row":"fib-update","family":"ipv6","routes":1000,"change":"/32","us_median":0.250}"#;
        let store = r#"{"row":"print","what":"the first line","items":5000,"ms":1.500}"#;

        let parsed = [walk, change, store].map(|line| Figure::parse(line).expect("a row"));

        assert_eq!(
            parsed,
            [
                figure("vlan ipv4 68 bytes 1000 flows 1 routes", 48.5),
                figure("fib-update ipv6 1000 routes /32", 0.25),
                figure("print the first line 5000 items", 1.5),
            ]
        );
        assert_eq!(Figure::parse("clk: clocks of the time stamp counter"), None);
    }

    #[test]
    fn a_row_has_lost_when_the_median_of_its_pairs_is_beyond_the_bound() {
        let mut all = Vec::new();
        // One pair ran beside other work, on both sides; ratios of pairs survive this.
        for (base, current) in [(50.0, 53.0), (100.0, 107.0), (50.0, 40.0)] {
            let base = [figure("slower", base), figure("gone", 1.0)];
            let current = [figure("slower", current), figure("steady", 1.0)];
            Pairs::add_all(&mut all, &base, &current);
        }

        assert_eq!(all.len(), 1);
        let (lowest, median, highest) = all[0].ratio();
        assert_eq!(
            (all[0].count(), lowest, median, highest),
            (3, 0.8, 1.06, 1.07)
        );
        assert!(all[0].has_lost() && all[0].to_line().ends_with("  lost"));
        let bound = Pairs {
            label: String::new(),
            base: vec![100.0; 2],
            current: vec![104.0, 106.0],
        };
        assert!(!bound.has_lost(), "{:?}", bound.ratio());
    }
}
