//! `/ip/traffic-flow`: flow export. `service::flow` is the exporter; control passes it the
//! connection table piece by piece (`drive/flows.rs`).

use core::net::SocketAddr;

use frame::InterfaceId;
use machine::{Duration, Instant};
use menu::{Changes, Item, Value};
use service::flow::{Config, Exporter, FlowSample, Target};
use wire::netflow::{Moment, PORT, Version};

use super::hear::Datagram;
use super::{Effect, Effects, Feature, View};

const SETTINGS: &str = "/ip/traffic-flow";
const TARGETS: &str = "/ip/traffic-flow/target";
/// Interval of table scans: shorter than the time that an ended connection stays
/// (`tcp-close-timeout`, 10 s).
const EVERY: Duration = Duration::from_secs(5);

/// Flow exporter and the state of its table scan.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    exporter: Exporter,
    /// Time of the next piece, its family (true is IPv6), and the table position where it starts.
    next: Option<(Instant, bool, u64)>,
    /// Start of the present scan.
    began: Instant,
}

impl Flows {
    /// Returns family and start of the next piece, if it is due.
    pub(crate) fn place(&self, now: Instant) -> Option<(bool, u64)> {
        let (_, ipv6, place) = self.next.filter(|(at, ..)| *at <= now)?;
        Some((ipv6, place))
    }

    /// Adds the counters of one direction of a connection.
    pub(crate) fn see(&mut self, seen: FlowSample, now: Instant) {
        self.exporter.see(seen, now);
    }

    /// Ends a piece; `more` is the start of the next piece of this family.
    pub(crate) fn looked(
        &mut self,
        more: Option<u64>,
        moment: Moment,
        now: Instant,
        out: &mut Effects,
    ) {
        let Some((_, ipv6, _)) = self.next else {
            return;
        };
        self.next = match (more, ipv6) {
            (Some(place), _) => Some((now, ipv6, place)),
            (None, false) => Some((now, true, 0)),
            (None, true) => {
                for told in self.exporter.end(moment, now) {
                    out.push(Effect::Datagram(Box::new(Datagram {
                        source: told.source,
                        from: PORT,
                        to: told.to,
                        interface: InterfaceId::NONE,
                        data: told.bytes,
                    })));
                }
                let next = (self.began + EVERY).max(now);
                self.began = next;
                Some((next, false, 0))
            }
        };
    }
}

impl Feature for Flows {
    fn menus(&self) -> &'static [&'static str] {
        &[SETTINGS, TARGETS]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        let settings = view.store.settings(SETTINGS);
        let settings = settings.filter(|item| item.is("enabled"));
        let config = settings.map(|item| {
            let targets = view
                .store
                .items(TARGETS)
                .filter(|item| !item.is("disabled"));
            Config {
                targets: targets.filter_map(|item| target(item)).collect(),
                active: span(item, "active-flow-timeout"),
                inactive: span(item, "inactive-flow-timeout"),
                entries: entries(item.text("cache-entries")),
            }
        });
        self.exporter.configure(config);
        match (self.exporter.is_on(), self.next) {
            (true, None) => {
                self.began = view.now + EVERY;
                self.next = Some((self.began, false, 0));
            }
            (false, _) => self.next = None,
            (true, Some(_)) => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.next.map(|(at, ..)| at)
    }
}

fn target(item: &Item) -> Option<Target> {
    let number = |name: &str| item.get(name).and_then(Value::as_number);
    let port = number("port").and_then(|port| u16::try_from(port).ok());
    let source = item.get("src-address").and_then(Value::as_address);
    Some(Target {
        to: SocketAddr::new(item.get("dst-address")?.as_address()?, port.unwrap_or(PORT)),
        source: source.filter(|source| !source.is_unspecified()),
        version: match item.text("version") {
            "1" => Version::V1,
            "5" => Version::V5,
            "ipfix" => Version::Ipfix,
            _ => Version::V9,
        },
        refresh: { number("v9-template-refresh") }
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(20),
        timeout: span(item, "v9-template-timeout"),
    })
}

fn span(item: &Item, name: &str) -> Duration {
    let nanos = item.get(name).and_then(Value::as_nanos);
    let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Parses `cache-entries` such as `4k` and `1M`. The result is limited to a million flows because
/// of memory.
fn entries(text: &str) -> usize {
    const MOST: usize = 1 << 20;
    let (number, unit) = match text.strip_suffix('k') {
        Some(number) => (number, 1 << 10),
        None => (text.trim_end_matches('M'), 1 << 20),
    };
    let number: usize = number.parse().unwrap_or(32);
    number.saturating_mul(unit).min(MOST)
}
