//! The history as JSON, for the page.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use dataplane::meter::Facility;
use frame::InterfaceId;
use frame::shortcut::Handler;
use menu::json;

use super::graphing::{GraphKind, Graphing};
use super::pictures::{Graph, GraphIndex};
use super::{FACILITIES, MAX_INTERFACES, MAX_QUEUES, Machine, Packets, Rate, Sample, Series, Span};
use crate::compile::LayoutEntry;
use crate::drive::Control;
use crate::intent::Name;
use crate::object::DYNAMIC;
use crate::store::leases::Leases;

/// Maximum number of interfaces in the list of an answer.
const MAX_LISTED: usize = 256;

/// A request for history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Time between two samples.
    pub span: Span,
    /// Samples with a higher number are returned; 0, or a number that no sample has reached, returns all samples.
    pub since: u64,
    /// Names of the interfaces whose samples are wanted.
    pub interfaces: Vec<String>,
    /// Whether to list interfaces with their current rates.
    pub list: bool,
}

/// Returns true for interfaces of the configuration; dynamic ones come and go with sessions.
fn is_configured(entry: &LayoutEntry) -> bool {
    entry.item & DYNAMIC == 0
}

impl Control {
    /// Adds a sample of the current counters.
    pub(crate) fn record_history(&mut self) {
        let graphing = Arc::clone(&self.features.graphs.graphing);
        let tracked = self.tracked_interfaces(&graphing);
        for (id, name) in &tracked {
            self.rates.history.adopt(*id, name);
        }
        let rate = |id: InterfaceId| -> Rate {
            let rate = self.rates.of(id);
            [rate.rx, rate.tx].map(|traffic| traffic.bytes.saturating_mul(8))
        };
        let tracked = tracked.into_iter();
        let interfaces: Vec<_> = tracked.map(|(id, _)| (id, rate(id))).collect();
        let mut clocks = [0; FACILITIES];
        for (own, (_, spent)) in clocks.iter_mut().zip(self.clocks_of_workers()) {
            *own = spent;
        }
        let sample = Sample {
            interfaces: interfaces.into_iter(),
            clocks,
            packets: self.packets_of_paths(),
            machine: self.machine_in_use(),
            queues: self.graphed_queues(&graphing),
        };
        self.rates.history.graphing = graphing;
        self.rates.history.add(self.now, sample);
        self.write_minute();
    }

    /// Returns the configured interfaces that have a history: those that `/tool/graphing` names, then others in the
    /// order of their ids, at most [`MAX_INTERFACES`].
    fn tracked_interfaces(&self, graphing: &Graphing) -> BTreeMap<InterfaceId, Name> {
        let layout = &self.layout;
        let is_tracked = |entry: &LayoutEntry| is_configured(entry) && !entry.loopback;
        let (named, _) = graphing.named(GraphKind::Interface);
        let named = named.filter_map(|name| layout.named(name));
        let others = layout.interfaces.iter().map(|(id, entry)| (*id, entry));
        let mut tracked = BTreeMap::new();
        for (id, entry) in named.chain(others) {
            if tracked.len() == MAX_INTERFACES {
                break;
            }
            if is_tracked(entry) {
                tracked.insert(id, entry.name.clone());
            }
        }
        tracked
    }

    /// Returns the load of all processors in percent, and the bytes of memory and disk in use.
    fn machine_in_use(&self) -> Machine {
        let known = &self.resources;
        [
            known.cpu_load,
            known.total_memory.saturating_sub(known.free_memory),
            known.total_disk.saturating_sub(known.free_disk),
        ]
    }

    /// Returns the bytes of the simple queues that `/tool/graphing` names.
    fn graphed_queues(&self, graphing: &Graphing) -> Vec<(String, [u64; 2])> {
        let (named, all) = graphing.named(GraphKind::Queue);
        self.features.queues.totals(named, all, MAX_QUEUES)
    }

    /// Adds the averages of the last minute and hour to the log, once they are complete, and writes the log as often as
    /// `/tool/graphing store-every` says; every minute without graphs.
    fn write_minute(&mut self) {
        let minute = self.unix_minute();
        let name = |id| self.layout.name(id).to_owned();
        let history = &mut self.rates.history;
        let ended = history.take_ended(minute, name);
        if ended.is_empty() {
            return;
        }
        ended.iter().for_each(|record| history.stored.add(record));
        let graphing = &self.rates.history.graphing;
        let period = minute / graphing.store_minutes.max(1);
        let is_new = core::mem::replace(&mut self.rates.history.stored.period, period) != period;
        if is_new || !self.rates.history.graphing.is_used() {
            self.store_history();
        }
    }

    /// Writes the minutes and hours that wait.
    pub(crate) fn store_history(&mut self) {
        if let Err(error) = self.rates.history.stored.write() {
            let message = format!("the history of traffic cannot be stored: {error}");
            self.features.log.add("system,error", message);
        }
    }

    /// Returns the graphs that a client may see.
    pub(crate) fn graph_index(&self, client: IpAddr) -> GraphIndex {
        let graphing = &self.features.graphs.graphing;
        let history = &self.rates.history;
        let interfaces = { history.interfaces.keys() }
            .map(|id| (GraphKind::Interface, self.layout.name(*id).to_owned()));
        let queues = history
            .queues
            .keys()
            .map(|name| (GraphKind::Queue, name.clone()));
        let resources = GraphKind::RESOURCES.map(|kind| (kind, String::new()));
        let all = interfaces.chain(queues).chain(resources);
        GraphIndex {
            refresh_seconds: graphing.refresh_seconds,
            graphs: all
                .filter(|(kind, name)| self.admits_to_graph(*kind, name, client))
                .collect(),
        }
    }

    /// Returns a graph; `None` if it does not exist or the client may not see it.
    pub(crate) fn graph(&self, kind: GraphKind, name: &str, client: IpAddr) -> Option<Graph> {
        if !self.admits_to_graph(kind, name, client) {
            return None;
        }
        let history = &self.rates.history;
        let pictures = match kind {
            GraphKind::Interface => history.interface_pictures(self.layout.named(name)?.0)?,
            GraphKind::Queue => history.queue_pictures(name)?,
            resource => history.resource_pictures(resource),
        };
        Some(Graph {
            kind,
            name: name.to_owned(),
            refresh_seconds: self.features.graphs.graphing.refresh_seconds,
            pictures,
        })
    }

    fn admits_to_graph(&self, kind: GraphKind, name: &str, client: IpAddr) -> bool {
        let is_target = || self.features.queues.is_target(name, client);
        let graphing = &self.features.graphs.graphing;
        graphing.admits(kind, name, client, is_target)
    }

    /// Returns the complete minutes since 1970; 0 before.
    fn unix_minute(&self) -> u64 {
        u64::try_from(self.time_of(self.now) / 60_000_000_000).unwrap_or(0)
    }

    /// Restores the minutes of the last day from the log, and writes further minutes to the log.
    pub fn recall_history(&mut self, log: Leases, found: BTreeMap<u64, Vec<u8>>) {
        let minute = self.unix_minute();
        let history = &mut self.rates.history;
        let (records, reason) = history.stored.open(log, found);
        history.restore(&records, minute);
        if let Some(reason) = reason {
            let number = history.stored.refused();
            let message = format!(
                "history of traffic: {number} minutes were refused, the last one because {reason}"
            );
            self.features.log.add("system,warning", message);
        }
    }

    /// Returns the packets that ports received, and those that FastPath and FastTrack forwarded, since the start.
    fn packets_of_paths(&self) -> Packets {
        let all = self.layout.interfaces.iter();
        let ports = all
            .filter(|(id, entry)| entry.under == **id && !entry.is_master && is_configured(entry));
        let received = ports.map(|(id, _)| self.rates.total(*id).rx.packets);
        let forwarded = |handler| {
            let families =
                [false, true].map(|ipv6| self.workers.forwarded(handler, ipv6, self.now).0);
            families.iter().map(|traffic| traffic.packets).sum()
        };
        [
            received.sum(),
            forwarded(Handler::FastPath),
            forwarded(Handler::FastTrack),
        ]
    }

    /// Returns history and current rates as JSON.
    ///
    /// Members: `last`, the number of the last sample, and `time`, the Unix time of its end in seconds; `interfaces`
    /// with `[[rx, tx], …]` in bits per second by name; `load` with thousandths of all clocks by facility; `packets`
    /// with packets per second by `received`, `fastpath` and `fasttrack`; `refused`, the number of stored minutes that
    /// could not be read at the start. Lists end with sample `last` and begin after sample `since` at the earliest.
    /// `list` has the interfaces of the configuration, at most 256: `name`, `running`, `parent` (of a VLAN or session),
    /// `master` (bridge or bond), `rx` and `tx` in bits per second; and `unlisted`, the number of all other interfaces.
    pub(crate) fn history(&self, query: &Query) -> String {
        let history = &self.rates.history;
        let last = history.last(query.span);
        let wanted = match query.since {
            // A later number is from before a restart.
            since if since == 0 || since > last => usize::MAX,
            since => usize::try_from(last - since).unwrap_or(usize::MAX),
        };
        let age = i64::try_from(history.age(query.span)).unwrap_or(0);
        let time = self.time_of(self.now) / 1_000_000_000 - age;
        let mut text = format!(
            "{{\"last\":{last},\"time\":{time},\"refused\":{},\"interfaces\":{{",
            history.stored.refused()
        );
        let named = query.interfaces.iter().filter_map(|name| {
            let (id, _) = self.layout.named(name)?;
            Some((name, history.interfaces.get(&id)?))
        });
        for (at, (name, series)) in named.enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            json::string(name, &mut text);
            text.push(':');
            write_pairs(series, query.span, wanted, &mut text);
        }
        text.push_str("},\"load\":{");
        let names = Facility::ALL.iter().map(|facility| facility.name());
        write_columns(&history.load, names, query.span, wanted, &mut text);
        text.push_str("},\"packets\":{");
        let names = ["received", "fastpath", "fasttrack"].into_iter();
        write_columns(&history.packets, names, query.span, wanted, &mut text);
        text.push('}');
        if query.list {
            self.write_list(&mut text);
        }
        text.push('}');
        text
    }

    fn write_list(&self, text: &mut String) {
        text.push_str(",\"list\":[");
        let all = self.layout.interfaces.iter();
        let mut listed = 0;
        for (id, entry) in all
            .filter(|(_, entry)| is_configured(entry))
            .take(MAX_LISTED)
        {
            text.push_str(if listed > 0 { ",{" } else { "{" });
            listed += 1;
            let mut member = |name: &str, value: &str| {
                let _ = write!(text, "\"{name}\":");
                json::string(value, text);
                text.push(',');
            };
            member("name", &entry.name);
            let parent = entry.parent.map(|(parent, _)| parent).or(entry.session_on);
            if let Some(parent) = parent {
                member("parent", self.layout.name(parent));
            }
            if let Some((_, master)) = entry.above {
                member("master", self.layout.name(master));
            }
            let rate = self.rates.of(*id);
            let [rx, tx] = [rate.rx, rate.tx].map(|traffic| traffic.bytes.saturating_mul(8));
            let runs = entry.runs();
            let _ = write!(text, "\"running\":{runs},\"rx\":{rx},\"tx\":{tx}}}");
        }
        let unlisted = self.layout.interfaces.len().saturating_sub(listed);
        let _ = write!(text, "],\"unlisted\":{unlisted}");
    }
}

/// Writes the last samples of a series as `[[rx,tx],…]`.
fn write_pairs(series: &Series<2>, span: Span, wanted: usize, text: &mut String) {
    text.push('[');
    let samples = series.samples(span);
    for (at, [rx, tx]) in samples
        .iter()
        .skip(samples.len().saturating_sub(wanted))
        .enumerate()
    {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}[{rx},{tx}]");
    }
    text.push(']');
}

/// Writes the last samples of a series as a list per value.
fn write_columns<const W: usize>(
    series: &Series<W>,
    names: impl Iterator<Item = &'static str>,
    span: Span,
    wanted: usize,
    text: &mut String,
) {
    let samples = series.samples(span);
    let skipped = samples.len().saturating_sub(wanted);
    for (column, name) in names.enumerate() {
        let comma = if column > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"{name}\":[");
        for (at, sample) in samples.iter().skip(skipped).enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(text, "{comma}{}", sample[column]);
        }
        text.push(']');
    }
}
