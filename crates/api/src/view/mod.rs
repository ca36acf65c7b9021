//! Views: the visible part of a menu's rows, for tables that follow the router.
//!
//! A client names a menu, columns, a filter, an order and a window of rows ([`View::parse`]). [`View::collect`]
//! runs `print` and retains the window; [`Snapshot::changes`] is the message that turns one snapshot of a view
//! into the next. The number of bytes depends on the window, not on the number of rows of the menu.

mod filter;
mod order;
mod rate;

pub use rate::Counters;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use menu::{Menu, MenuShape, json};
use script::{Request, Rows};

use self::filter::Filter;
use self::order::SortKey;
use crate::body;
use crate::rest::{Fault, RequestRunner};

/// Maximum number of rows of a window.
const MAX_WINDOW_ROWS: usize = 500;
/// Default number of rows of a window.
const WINDOW_ROWS: usize = 100;
/// Longest time between two messages that a client may ask for, in seconds.
const MAX_EVERY: u64 = 10;
/// Name of the property that identifies rows.
const ID: &str = ".id";

/// A subscription to rows of a menu.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct View {
    path: String,
    /// Properties to send; all if empty.
    columns: Vec<String>,
    filter: Filter,
    /// Properties and direction of the order: the first set property counts. The menu's own order if none.
    sort: Option<(Vec<String>, Direction)>,
    /// Property whose values are headings, if the menu's own order is kept.
    group: Option<String>,
    first: usize,
    count: usize,
    /// Least time between two messages in seconds.
    every: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    Ascending,
    Descending,
}

type Row = BTreeMap<String, String>;

/// The rows of a view at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Number of rows of the menu.
    total: usize,
    /// Number of rows that pass the filter.
    matched: usize,
    /// Number of lines: matched rows and headings.
    lines: usize,
    /// Line number of the first row of the window.
    first: usize,
    /// Names of properties that some matched row has set.
    names: BTreeSet<String>,
    /// Lines of the window with their ids.
    window: Vec<(String, Row)>,
}

impl View {
    /// Parses `menu=/ip/route&columns=a,b&filter=text&sort=-a&group=chain&first=0&count=100&every=5`; only `menu` is
    /// required. `sort` may have several properties, of which the first that a row has set counts; `~` before a name
    /// sorts by the rate of a counter. `every` is the least time between two messages in seconds, at most ten.
    ///
    /// # Errors
    /// 400: an unknown or malformed parameter, or no menu.
    pub fn parse(query: &str) -> Result<Self, Fault> {
        let mut view = Self {
            path: String::new(),
            columns: Vec::new(),
            filter: Filter::default(),
            sort: None,
            group: None,
            first: 0,
            count: WINDOW_ROWS,
            every: 0,
        };
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = body::unescape(value);
            let number = || {
                let wrong = |_| Fault::new(400, format!("{name} is not a number: {value}"));
                value.parse::<u32>().map_err(wrong)
            };
            match name {
                "menu" => view.path = value,
                "columns" => view.columns = value.split(',').map(str::to_owned).collect(),
                "filter" => view.filter = Filter::parse(&value),
                "sort" => view.sort = Direction::parse(&value),
                "group" => view.group = Some(value).filter(|name| !name.is_empty()),
                "first" => view.first = number()? as usize,
                "count" => view.count = (number()? as usize).min(MAX_WINDOW_ROWS),
                "every" => view.every = u64::from(number()?).min(MAX_EVERY),
                _ => return Err(Fault::new(400, format!("unknown parameter {name}"))),
            }
        }
        view.columns.retain(|name| !name.is_empty());
        match view.path.is_empty() {
            true => Err(Fault::new(400, "the parameter menu is missing")),
            false => Ok(view),
        }
    }

    /// Returns the least time between two messages.
    pub const fn every(&self) -> Duration {
        Duration::from_secs(self.every)
    }

    /// Runs `print` at `now` and returns the snapshot. `counters` has the counters of this view's last snapshot.
    ///
    /// # Errors
    /// 404: no such menu, or a folder. Errors of `print`.
    pub fn collect(
        &self,
        menus: &'static [&'static Menu],
        run: &mut RequestRunner<'_>,
        counters: &mut Counters,
        now: Duration,
    ) -> Result<Snapshot, Fault> {
        let has_rows = menus
            .iter()
            .any(|menu| menu.path == self.path && menu.shape != MenuShape::Folder);
        if !has_rows {
            return Err(Fault::new(404, format!("no menu with rows: {}", self.path)));
        }
        let mut request = Request {
            path: format!("{}/print", self.path),
            ..Request::default()
        };
        if !self.columns.is_empty() {
            request
                .arguments
                .push((String::from(".proplist"), self.properties().join(",")));
        }
        let mut collector = Collector::new(self);
        run(&request, &mut collector).map_err(|refusal| Fault::of(&refusal))?;
        Ok(collector.snapshot(counters, now))
    }

    /// Returns the properties that `print` has to calculate.
    fn properties(&self) -> Vec<&str> {
        let mut names = vec![ID];
        names.extend(self.columns.iter().map(String::as_str));
        names.extend(self.filter.names());
        let sorted = self.sort.iter().flat_map(|(names, _)| names);
        names.extend(sorted.map(|name| name.trim_start_matches(rate::PREFIX)));
        names.extend(self.group.as_deref());
        let mut seen = BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// Returns true if rows outside of the window affect the window.
    const fn needs_all_rows(&self) -> bool {
        self.sort.is_some() || self.group.is_some()
    }
}

impl Direction {
    /// Parses `name`, `-name` or `-name,name`.
    fn parse(text: &str) -> Option<(Vec<String>, Self)> {
        let (name, direction) = match text.strip_prefix('-') {
            Some(name) => (name, Self::Descending),
            None => (text, Self::Ascending),
        };
        let names = name.split(',').filter(|name| !name.is_empty());
        let names: Vec<_> = names.map(str::to_owned).collect();
        (!names.is_empty()).then_some((names, direction))
    }
}

/// Retains the rows that a view needs.
struct Collector<'a> {
    view: &'a View,
    total: usize,
    matched: usize,
    names: BTreeSet<String>,
    rows: Vec<(String, Row)>,
}

impl<'a> Collector<'a> {
    const fn new(view: &'a View) -> Self {
        Self {
            view,
            total: 0,
            matched: 0,
            names: BTreeSet::new(),
            rows: Vec::new(),
        }
    }

    /// Orders and groups the rows, and cuts the window.
    fn snapshot(mut self, counters: &mut Counters, now: Duration) -> Snapshot {
        let mut lines = match self.view.needs_all_rows() {
            true => self.rows.len(),
            false => self.matched,
        };
        let mut skipped = 0;
        if let Some((names, direction)) = &self.view.sort {
            let keys = sort_keys(&self.rows, names, counters, now);
            order::sort(&mut self.rows, keys);
            if *direction == Direction::Descending {
                self.rows.reverse();
            }
        } else if let Some(name) = &self.view.group {
            self.rows = with_headings(self.rows, name);
            lines = self.rows.len();
        }
        let first = self.view.first.min(lines.saturating_sub(1));
        if self.view.needs_all_rows() {
            skipped = first;
        }
        let window = self.rows.into_iter().skip(skipped).take(self.view.count);
        Snapshot {
            total: self.total,
            matched: self.matched,
            lines,
            first,
            names: self.names,
            window: window.collect(),
        }
    }
}

/// Returns the sort key of each row: its value of the first property in `names` that it has set, or the rate of a
/// counter.
fn sort_keys(
    rows: &[(String, Row)],
    names: &[String],
    counters: &mut Counters,
    now: Duration,
) -> Vec<SortKey> {
    if let [name] = names
        && let Some(name) = name.strip_prefix(rate::PREFIX)
    {
        let counted = |row: &Row| row.get(name).and_then(|text| text.parse().ok());
        let values = rows.iter();
        let values = values.map(|(id, row)| (id.as_str(), counted(row).unwrap_or(0)));
        let rates = counters.rates(now, values);
        return rates.into_iter().map(SortKey::Number).collect();
    }
    let key = |row: &Row| {
        let text = names.iter().find_map(|name| row.get(name));
        SortKey::parse(text.map_or("", String::as_str))
    };
    rows.iter().map(|(_, row)| key(row)).collect()
}

/// Inserts a heading before the rows of each group. Groups have the order of their first rows.
fn with_headings(rows: Vec<(String, Row)>, name: &str) -> Vec<(String, Row)> {
    let mut groups: Vec<(String, Vec<(String, Row)>)> = Vec::new();
    let mut positions = BTreeMap::new();
    for (id, row) in rows {
        let value = row.get(name).cloned().unwrap_or_default();
        let at = *positions.entry(value.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push((value, Vec::new()));
        }
        groups[at].1.push((id, row));
    }
    let headed = groups.into_iter().flat_map(|(value, rows)| {
        let heading = Row::from([
            (String::from(".heading"), value.clone()),
            (String::from(".count"), rows.len().to_string()),
        ]);
        std::iter::once((format!("={value}"), heading)).chain(rows)
    });
    headed.collect()
}

impl Rows for Collector<'_> {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        self.total += 1;
        if !self.view.filter.matches(fields) {
            return ControlFlow::Continue(());
        }
        self.matched += 1;
        for (name, value) in fields {
            if !value.is_empty() && !self.names.contains(*name) {
                self.names.insert((*name).to_owned());
            }
        }
        let line = self.matched - 1;
        let window = self.view.first..self.view.first.saturating_add(self.view.count);
        if !self.view.needs_all_rows() && !window.contains(&line) {
            return ControlFlow::Continue(());
        }
        let id = fields.iter().find(|(name, _)| *name == ID);
        // Rows of some status menus have no id.
        let id = id.map_or_else(|| format!("#{line}"), |(_, id)| id.clone());
        let set = fields
            .iter()
            .filter(|(name, value)| *name != ID && !value.is_empty());
        let row = set.map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.rows.push((id, row.collect()));
        ControlFlow::Continue(())
    }
}

impl Snapshot {
    /// Returns the message with the differences to an earlier snapshot as JSON; `None` if there are none.
    ///
    /// Members: `total`, `matched`, `lines` and `first`; `names` and `order` (the ids of the window) if they
    /// changed; `rows` with the changed properties of each changed row, `null` for properties that are no longer
    /// set. Rows that were not in the earlier window come whole.
    pub fn changes(&self, before: Option<&Self>) -> Option<String> {
        if before == Some(self) {
            return None;
        }
        let mut text = format!(
            "{{\"total\":{},\"matched\":{},\"lines\":{},\"first\":{}",
            self.total, self.matched, self.lines, self.first
        );
        if before.is_none_or(|before| before.names != self.names) {
            text.push_str(",\"names\":");
            list(self.names.iter(), &mut text);
        }
        let ids = || self.window.iter().map(|(id, _)| id);
        let is_ordered = before.is_some_and(|before| {
            let earlier = before.window.iter().map(|(id, _)| id);
            earlier.eq(ids())
        });
        if !is_ordered {
            text.push_str(",\"order\":");
            list(ids(), &mut text);
        }
        let earlier: BTreeMap<_, _> = before
            .into_iter()
            .flat_map(|before| before.window.iter().map(|(id, row)| (id, row)))
            .collect();
        let mut rows = Vec::new();
        for (id, row) in &self.window {
            let known = earlier.get(id);
            let changed = row_changes(known.copied(), row);
            if known.is_none() || !changed.is_empty() {
                rows.push((id, changed));
            }
        }
        text.push_str(",\"rows\":{");
        for (index, (id, changed)) in rows.iter().enumerate() {
            text.push_str(if index > 0 { "," } else { "" });
            json::string(id, &mut text);
            let _ = write!(text, ":{{{changed}}}");
        }
        text.push_str("}}");
        Some(text)
    }
}

/// Returns the members of a JSON object with the changed properties of a row.
fn row_changes(before: Option<&Row>, row: &Row) -> String {
    let mut text = String::new();
    let mut member = |name: &str, value: Option<&String>| {
        text.push_str(if text.is_empty() { "" } else { "," });
        json::string(name, &mut text);
        text.push(':');
        match value {
            Some(value) => json::string(value, &mut text),
            None => text.push_str("null"),
        }
    };
    for (name, value) in row {
        if before.and_then(|before| before.get(name)) != Some(value) {
            member(name, Some(value));
        }
    }
    for name in before.into_iter().flat_map(Row::keys) {
        if !row.contains_key(name) {
            member(name, None);
        }
    }
    text
}

/// Appends a JSON array of strings.
fn list<'a>(texts: impl Iterator<Item = &'a String>, out: &mut String) {
    out.push('[');
    for (index, text) in texts.enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        json::string(text, out);
    }
    out.push(']');
}

#[cfg(test)]
mod tests;
