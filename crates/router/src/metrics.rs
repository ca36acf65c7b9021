//! Metrics in the text format of Prometheus (0.0.4), for `/metrics` of the web service.
//!
//! The text is written from the counters on each request, without a registry: a registry would need updates, and would
//! copy the counters to a second place. The number of series is bounded: at most [`ROWS`] interfaces and [`ROWS`] rules
//! are exported, and `ferroute_left_out` counts the rest.

use std::fmt::Write as _;

use dataplane::DropReason;
use dataplane::counters::Traffic;
use dataplane::meter::Facility;
use frame::shortcut::{Handler, LaneSelector};
use menu::{Item, Store, visible};

use crate::drive::Control;

/// Maximum number of interfaces with series, and of rules with series.
pub const ROWS: usize = 1_000;
/// Maximum length of a label value in characters.
const LABEL: usize = 64;

/// A metric: name, whether it is a counter, and help text.
pub type Metric = (&'static str, bool, &'static str);

/// All metrics, in the order of the page.
pub const METRICS: &[Metric] = &[
    (
        "ferroute_uptime_seconds",
        false,
        "Time since the router started.",
    ),
    (
        "ferroute_left_out",
        false,
        "Interfaces and rules without series, because there are too many.",
    ),
    (
        "ferroute_interface_running",
        false,
        "Whether an interface runs.",
    ),
    (
        "ferroute_interface_receive_bytes_total",
        true,
        "Bytes that an interface received.",
    ),
    (
        "ferroute_interface_receive_packets_total",
        true,
        "Packets that an interface received.",
    ),
    (
        "ferroute_interface_receive_drops_total",
        true,
        "Received packets that were discarded.",
    ),
    (
        "ferroute_interface_transmit_bytes_total",
        true,
        "Bytes that an interface sent.",
    ),
    (
        "ferroute_interface_transmit_packets_total",
        true,
        "Packets that an interface sent.",
    ),
    (
        "ferroute_interface_transmit_drops_total",
        true,
        "Packets that could not be sent.",
    ),
    (
        "ferroute_interface_fast_receive_packets_total",
        true,
        "Received packets on the fast path.",
    ),
    (
        "ferroute_interface_fast_transmit_packets_total",
        true,
        "Sent packets on the fast path.",
    ),
    (
        "ferroute_connections",
        false,
        "Connections that are tracked.",
    ),
    (
        "ferroute_connections_fasttracked",
        false,
        "Connections that FastTrack carries.",
    ),
    (
        "ferroute_forwarded_bytes_total",
        true,
        "Bytes that FastPath and FastTrack forwarded.",
    ),
    (
        "ferroute_forwarded_packets_total",
        true,
        "Packets that FastPath and FastTrack forwarded.",
    ),
    (
        "ferroute_rule_bytes_total",
        true,
        "Bytes that a rule matched.",
    ),
    (
        "ferroute_rule_packets_total",
        true,
        "Packets that a rule matched.",
    ),
    (
        "ferroute_drops_total",
        true,
        "Packets that were discarded, by reason.",
    ),
    (
        "ferroute_copies_lost_total",
        true,
        "Copies of frames for torch, the sniffer and rules that were lost in a full queue.",
    ),
    (
        "ferroute_service_heard_total",
        true,
        "Frames that a service of the router received.",
    ),
    (
        "ferroute_service_lost_total",
        true,
        "Frames of a service beyond its rate.",
    ),
    (
        "ferroute_worker_clocks_total",
        true,
        "Clocks of a worker, by activity.",
    ),
    (
        "ferroute_log_entries_total",
        true,
        "Entries written to the log.",
    ),
    (
        "ferroute_clock_synchronized",
        false,
        "Whether the clock is synchronized with a time server.",
    ),
];

/// A rule: labels and counters.
type Counted = ([(&'static str, String); 4], Traffic);

/// Builds the page, metric by metric.
struct Page {
    text: String,
    next: usize,
}

impl Page {
    /// Starts the metric with this name.
    fn begin(&mut self, name: &str) {
        let (_, grows, help) = METRICS[self.next];
        debug_assert_eq!(
            METRICS[self.next].0, name,
            "metrics are written in their order"
        );
        self.next += 1;
        let kind = if grows { "counter" } else { "gauge" };
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl core::fmt::Display) {
        self.text.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{open}{label}=\"{}\"", escaped(value));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    fn single(&mut self, name: &str, value: impl core::fmt::Display) {
        self.begin(name);
        self.row(name, &[], value);
    }
}

/// Escapes a label value: limits its length, and replaces quotes, backslashes and line breaks.
fn escaped(value: &str) -> String {
    let short: String = visible(value).chars().take(LABEL).collect();
    short
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', " ")
}

impl Control {
    /// The page of metrics.
    pub(crate) fn metrics(&self, store: &Store) -> String {
        let mut page = Page {
            text: String::with_capacity(64 << 10),
            next: 0,
        };
        self.workers.settle(LaneSelector::All, self.now);
        let rules = self.rules(store);
        let up = self.now.saturating_since(self.started);
        page.single("ferroute_uptime_seconds", up.as_secs());
        let interfaces = self.layout.interfaces.len();
        let left_out = interfaces.saturating_sub(ROWS) + rules.1;
        page.single("ferroute_left_out", left_out);
        self.write_interfaces(&mut page);
        self.write_connections(&mut page);
        for (name, of) in [
            ("ferroute_rule_bytes_total", bytes as fn(&Traffic) -> u64),
            ("ferroute_rule_packets_total", packets),
        ] {
            page.begin(name);
            for (labels, traffic) in &rules.0 {
                let labels = labels
                    .each_ref()
                    .map(|(name, value)| (*name, value.as_str()));
                page.row(name, &labels, of(traffic));
            }
        }
        self.write_counters(&mut page);
        page.single("ferroute_log_entries_total", self.features.log.last());
        let synchronized = u8::from(self.clock_lack().is_some());
        page.single("ferroute_clock_synchronized", synchronized);
        debug_assert_eq!(page.next, METRICS.len(), "all metrics are written");
        page.text
    }

    fn write_interfaces(&self, page: &mut Page) {
        let all = self.layout.interfaces.iter().take(ROWS);
        let all: Vec<_> = all
            .map(|(id, laid)| (&*laid.name, laid.runs(), self.traffic(*id)))
            .collect();
        page.begin("ferroute_interface_running");
        for (name, runs, _) in &all {
            let labels = [("interface", *name)];
            page.row("ferroute_interface_running", &labels, u8::from(*runs));
        }
        type Of = fn(&dataplane::counters::InterfaceTraffic) -> u64;
        let columns: [(&str, Of); 8] = [
            ("ferroute_interface_receive_bytes_total", |t| t.rx.bytes),
            ("ferroute_interface_receive_packets_total", |t| t.rx.packets),
            ("ferroute_interface_receive_drops_total", |t| t.rx_drop),
            ("ferroute_interface_transmit_bytes_total", |t| t.tx.bytes),
            ("ferroute_interface_transmit_packets_total", |t| {
                t.tx.packets
            }),
            ("ferroute_interface_transmit_drops_total", |t| t.tx_drop),
            ("ferroute_interface_fast_receive_packets_total", |t| {
                t.fp_rx.packets
            }),
            ("ferroute_interface_fast_transmit_packets_total", |t| {
                t.fp_tx.packets
            }),
        ];
        for (name, of) in columns {
            page.begin(name);
            for (interface, _, traffic) in &all {
                page.row(name, &[("interface", *interface)], of(traffic));
            }
        }
    }

    fn write_connections(&self, page: &mut Page) {
        let families = [("ipv4", false), ("ipv6", true)];
        let (ipv4, ipv6) = self.connections.totals();
        page.begin("ferroute_connections");
        for ((family, _), count) in families.into_iter().zip([ipv4, ipv6]) {
            page.row("ferroute_connections", &[("family", family)], count);
        }
        page.begin("ferroute_connections_fasttracked");
        for (family, is_6) in families {
            let count = self.connections.fasttracked(is_6);
            page.row(
                "ferroute_connections_fasttracked",
                &[("family", family)],
                count,
            );
        }
        let ways = [
            ("fastpath", Handler::FastPath),
            ("fasttrack", Handler::FastTrack),
        ];
        for (name, of) in [
            (
                "ferroute_forwarded_bytes_total",
                bytes as fn(&Traffic) -> u64,
            ),
            ("ferroute_forwarded_packets_total", packets),
        ] {
            page.begin(name);
            for (way, handler) in ways {
                for (family, is_6) in families {
                    let (sum, _) = self.workers.forwarded(handler, is_6, self.now);
                    page.row(name, &[("way", way), ("family", family)], of(&sum));
                }
            }
        }
    }

    fn write_counters(&self, page: &mut Page) {
        let all: Vec<_> = self.workers.counters().collect();
        page.begin("ferroute_drops_total");
        for reason in DropReason::ALL {
            let count: u64 = all.iter().map(|counters| counters.drops(*reason)).sum();
            page.row("ferroute_drops_total", &[("reason", reason.name())], count);
        }
        let lost = all.iter().map(|counters| counters.taps_lost.get());
        page.begin("ferroute_copies_lost_total");
        page.row("ferroute_copies_lost_total", &[], lost.sum::<u64>());
        for name in [
            "ferroute_service_heard_total",
            "ferroute_service_lost_total",
        ] {
            page.begin(name);
            for (id, service) in self.services.names() {
                let count = all.iter().map(|counters| {
                    let counters = counters.service(id);
                    match name {
                        "ferroute_service_heard_total" => counters.heard.get(),
                        _ => counters.lost.get(),
                    }
                });
                page.row(name, &[("service", service)], count.sum::<u64>());
            }
        }
        let name = "ferroute_worker_clocks_total";
        page.begin(name);
        for (worker, counters) in all.iter().take(self.workers.len()).enumerate() {
            for facility in Facility::ALL {
                let labels = [("worker", &*worker.to_string()), ("for", facility.name())];
                page.row(name, &labels, counters.clocks(*facility));
            }
        }
    }

    /// Returns the counters of rules, and the number of rules beyond the limit.
    fn rules(&self, store: &Store) -> (Vec<Counted>, usize) {
        let (mut rules, mut left_out) = (Vec::new(), 0);
        for desk in self.firewall.desks() {
            let path = desk.which().path;
            for item in store.items(path) {
                let Some(number) = desk.number(item.id.0) else {
                    continue;
                };
                if rules.len() >= ROWS {
                    left_out += 1;
                    continue;
                }
                rules.push((labels(path, item), self.firewall.hits(number).traffic));
            }
        }
        (rules, left_out)
    }
}

fn labels(path: &str, item: &Item) -> [(&'static str, String); 4] {
    [
        ("table", path.trim_start_matches('/').to_owned()),
        ("chain", item.text("chain").to_owned()),
        ("rule", format!("*{:X}", item.id.0)),
        ("comment", item.text("comment").to_owned()),
    ]
}

fn bytes(traffic: &Traffic) -> u64 {
    traffic.bytes
}

fn packets(traffic: &Traffic) -> u64 {
    traffic.packets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instance;
    use crate::drive::Setup;
    use script::Session;

    fn page(commands: &str) -> String {
        let made = Instance::new(&Setup::offline(menu::Clock::utc(0)), schema::store());
        let (mut instance, _) = made.expect("a small pool");
        let mut out = String::new();
        instance
            .run(&mut Session::new("admin"), commands, &mut out)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        instance.metrics()
    }

    #[test]
    fn every_metric_is_told_with_its_kind_and_names_cannot_break_out() {
        let page = page(
            "/interface/bridge/add name=br1\n\
             /ip/firewall/filter/add chain=input action=accept comment=\"a \\\"b\\\"\\\\ \\nc\"",
        );
        for (name, grows, _) in METRICS {
            let kind = if *grows { "counter" } else { "gauge" };
            assert!(page.contains(&format!("# TYPE {name} {kind}\n")), "{name}");
            assert_eq!(*grows, name.ends_with("_total"), "{name}");
        }
        assert!(page.contains("ferroute_interface_running{interface=\"br1\"} "));
        let rule = page
            .lines()
            .find(|line| line.starts_with("ferroute_rule_packets_total{"));
        let rule = rule.expect("the rule");
        assert!(
            rule.contains("table=\"ip/firewall/filter\",chain=\"input\""),
            "{rule}"
        );
        assert!(rule.ends_with("\"} 0"), "{rule}");
        assert!(
            page.contains("ferroute_drops_total{reason=\"no-route\"} 0"),
            "{page}"
        );
    }

    #[test]
    fn the_dashboard_uses_only_existing_metrics() {
        let dashboard = include_str!("../../../packaging/grafana.json");
        let names: Vec<_> = dashboard
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .filter(|word| word.starts_with("ferroute_"))
            .collect();
        assert!(names.len() > 10, "it has panels");
        for name in names {
            assert!(METRICS.iter().any(|(own, ..)| *own == name), "{name}");
        }
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let rules: String = (0..ROWS + 20)
            .map(|_| "/ip/firewall/filter/add chain=forward action=accept\n")
            .collect();
        let page = page(&rules);
        let rows = page
            .lines()
            .filter(|line| line.starts_with("ferroute_rule_bytes_total{"));
        assert_eq!(rows.count(), ROWS);
        assert!(page.contains("\nferroute_left_out 20\n"));
    }
}
