//! Rows of `/ip/dns`: cached answers and the settings in use.

use core::hash::{Hash as _, Hasher as _};
use std::collections::BTreeSet;
use std::hash::DefaultHasher;
use std::ops::ControlFlow;

use menu::{Id, Row, RowFilter, Value};
use service::dns::{Data, Entry, Line, Names, text_of};

use super::Dns;
use crate::live::{DYNAMIC, give};

impl Dns {
    /// Passes the cached records as rows to `each`. RouterOS: static entries come first; `all` also shows negative
    /// answers.
    pub(super) fn cache_rows(
        &self,
        all: bool,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut seen = BTreeSet::new();
        for (_, entry) in self.forwarder.entries() {
            let Some(line) = configured(entry) else {
                continue;
            };
            let mut row = row(&line);
            row.flag("static", true);
            give(row, filter, each)?;
        }
        let mut flow = ControlFlow::Continue(());
        self.forwarder.lines(self.now, |line, negative| {
            if flow.is_break() || negative && !all {
                return;
            }
            let mut row = row(&line);
            // A record may be part of several answers.
            if !seen.insert(row.id) {
                return;
            }
            row.flag("static", false);
            if all {
                row.flag("negative", negative);
            }
            flow = give(row, filter, each);
        });
        flow
    }

    pub(super) fn annotate_settings(&self, row: &mut Row) {
        let dynamic = self
            .dynamic
            .iter()
            .map(|address| Value::text(address.to_string()));
        row.set("dynamic-servers", Value::List(dynamic.collect()));
        let used = self.forwarder.cache_used().div_ceil(1024) as u64;
        row.set(
            "cache-used",
            Value::Kib(i64::try_from(used).unwrap_or(i64::MAX)),
        );
    }
}

fn row(line: &Line) -> Row {
    let mut hasher = DefaultHasher::new();
    (&line.name, &line.kind, &line.data).hash(&mut hasher);
    let mut row = Row {
        id: Some(Id(DYNAMIC | hasher.finish() >> 1)),
        ..Row::default()
    };
    row.set("name", Value::text(&*line.name));
    row.set("type", Value::text(&*line.kind));
    row.set("data", Value::text(&*line.data));
    row.set("ttl", Value::Time(i64::from(line.ttl) * 1_000_000_000));
    row
}

/// Returns a static entry as a record.
fn configured(entry: &Entry) -> Option<Line> {
    let name = match &entry.names {
        Names::One(name) | Names::Below(name) => text_of(name),
        Names::Matching(text) => text.to_string(),
    };
    let (kind, data) = match &entry.data {
        Data::Address(address) if address.is_ipv6() => ("AAAA", address.to_string()),
        Data::Address(address) => ("A", address.to_string()),
        Data::Alias(to) => ("CNAME", text_of(to)),
        Data::NoName => ("NXDOMAIN", String::new()),
        Data::Record(kind, data) => {
            let (kind, data) = service::dns::record_text(*kind, data);
            return Some(Line {
                name,
                kind,
                data,
                ttl: entry.ttl,
            });
        }
        Data::Forward(_) => return None,
    };
    Some(Line {
        name,
        kind: kind.to_owned(),
        data,
        ttl: entry.ttl,
    })
}
