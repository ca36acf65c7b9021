//! Lines of a trace as rows: stages, routes, and rules that the packet met.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::connection::{ConnectionCopy, ExpectedConnection};
use dataplane::trace::{Line, Sought, Tried};
use menu::{Id, Row, Store, Value};

use crate::drive::Control;
use crate::firewall::RuleMenu;
use crate::intent::ItemId;
use crate::live::number;

/// Numbers of rules in `print`, by menu.
pub(super) type RuleNumbers = BTreeMap<&'static str, BTreeMap<ItemId, u64>>;

impl Control {
    pub(super) fn line_row(
        &self,
        store: &Store,
        line: &Line,
        ipv6: bool,
        places: &mut RuleNumbers,
    ) -> Row {
        let mut row = Row::default();
        row.set("stage", Value::Word(line.stage.name()));
        match (&line.rule, &line.sought) {
            (Some(tried), _) => self.tell_rule(store, tried, places, &mut row),
            (None, Some(sought)) => {
                let found = self.route_word(sought, ipv6);
                row.set(
                    "decision",
                    Value::text(format!("{found}: {}", line.decision)),
                );
            }
            (None, None) => row.set("decision", Value::text(&*line.decision)),
        }
        row
    }

    /// Returns the route that routing found, and its table, as text.
    fn route_word(&self, sought: &Sought, ipv6: bool) -> String {
        let Sought { table, destination } = *sought;
        let net = match ipv6 {
            true => {
                let found = self.v6.rib.lookup(table, destination.into());
                found.map(|found| found.net.to_string())
            }
            false => {
                let found = self.v4.rib.lookup(table, (destination as u32).into());
                found.map(|found| found.net.to_string())
            }
        };
        let mut tables = self.tables.iter();
        let name = tables.find(|(_, number)| **number == table);
        let name = name.map_or("", |(name, _)| name);
        match net {
            Some(net) => format!("{net} of table {name}"),
            None => format!("table {name}"),
        }
    }

    /// Adds a rule that the packet met to a row: its position, and the matcher that failed.
    fn tell_rule(&self, store: &Store, tried: &Tried, places: &mut RuleNumbers, row: &mut Row) {
        let Some((path, item)) = self.firewall.item_of(tried.number) else {
            return;
        };
        row.set("table", Value::text(path));
        row.set("chain", Value::text(&*tried.chain));
        let made = self.firewall.desk(path).map(RuleMenu::made);
        let places = places.entry(path).or_insert_with(|| {
            // `print` also numbers dynamic rows, which come first: rules of features, and dummy rows of FastTrack.
            let made = made.into_iter().flatten().map(|(id, _)| *id);
            let behind = made.clone().count() + self.fasttrack_chains(path).len();
            let items = store.items(path).map(|item| item.id.0);
            made.zip(0..).chain(items.zip(behind as u64..)).collect()
        });
        if let Some(place) = places.get(&item) {
            row.set("rule", number(*place));
        }
        let made = made.and_then(|made| made.get(&item));
        let Some(item) = made.or_else(|| store.item(path, Id(item)).map(Arc::as_ref)) else {
            return;
        };
        let comment = item.text("comment");
        if !comment.is_empty() {
            row.set("comment", Value::text(comment));
        }
        let action = match item.text("action") {
            "" => "accept",
            action => action,
        };
        row.set("action", Value::text(action));
        let decision = match tried.failed {
            None => "matched".to_owned(),
            Some("invalid") => {
                let desk = self.firewall.desk(path);
                let why = desk.and_then(|desk| desk.invalid(item.id.0));
                match why {
                    Some(why) => format!("never matches: {}", why.why(&self.intent, store)),
                    None => "never matches".to_owned(),
                }
            }
            // IP matchers of bridge rules imply it.
            Some(failed @ "mac-protocol") if item.get(failed).is_none() => {
                "not matched: the frame carries no such packet".to_owned()
            }
            Some(failed) => {
                // The IPv6 menu has another name for the matcher.
                let failed = match (failed, item.get(failed)) {
                    ("ttl", None) => "hop-limit",
                    _ => failed,
                };
                let value = item.get(failed).map(ToString::to_string);
                format!("not matched: {failed}={}", value.unwrap_or_default())
            }
        };
        row.set("decision", Value::text(decision));
    }
}

/// Builds the row of the expectation that matches the packet's connection.
pub(super) fn awaited_row(awaited: &ExpectedConnection) -> Row {
    let parent = &awaited.parent.row;
    let helper = awaited.expectation.helper.name();
    let mut row = Row::default();
    row.set("stage", Value::Word("connection"));
    row.set("connection", Value::text(parent.id.to_string()));
    let decision = format!(
        "expected by {helper} over the connection {}",
        parent.original
    );
    row.set("decision", Value::text(decision));
    row
}

/// Builds the row of the packet's connection.
pub(super) fn known_row(known: &ConnectionCopy) -> Row {
    let entry = &known.row;
    let side = match known.reply {
        true => "a reply in",
        false => "of",
    };
    let marked = match entry.fasttrack {
        true => ", marked for FastTrack",
        false => "",
    };
    let mut row = Row::default();
    row.set("stage", Value::Word("connection"));
    row.set("connection", Value::text(entry.id.to_string()));
    let decision = format!("{side} the connection {}{marked}", entry.original);
    row.set("decision", Value::text(decision));
    row
}
