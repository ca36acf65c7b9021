//! The history as JSON, for the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dataplane::meter::Facility;
use frame::InterfaceId;
use frame::shortcut::Handler;
use menu::json;

use super::{FACILITIES, MAX_INTERFACES, Packets, Rate, Sample, Series, Span};
use crate::compile::LayoutEntry;
use crate::drive::Control;
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
        let all = self.layout.interfaces.iter();
        let tracked = all.filter(|(_, entry)| is_configured(entry) && !entry.loopback);
        let tracked = tracked.take(MAX_INTERFACES);
        let tracked: Vec<_> = tracked.map(|(id, entry)| (*id, &entry.name)).collect();
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
        };
        self.rates.history.add(self.now, sample);
        self.write_minute();
    }

    /// Writes the averages of the last minute to the log, once the minute is complete.
    fn write_minute(&mut self) {
        let minute = self.unix_minute();
        let name = |id| self.layout.name(id).to_owned();
        let Some(record) = self.rates.history.take_minute(minute, name) else {
            return;
        };
        if let Err(error) = self.rates.history.stored.write(&record) {
            let message = format!("the history of traffic cannot be stored: {error}");
            self.features.log.add("system,error", message);
        }
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
