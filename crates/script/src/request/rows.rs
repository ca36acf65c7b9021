//! `print` and `listen` of another program: rows as they are, or as they change.

use menu::{Flag, Menu, Reason, Row, RowFilter, json};

use super::manner::Manner;
use super::{Done, Request, Rows, argument, bare, taken, unknown_parameter};
use crate::ast::Target;
use crate::machine::{self, Machine};
use crate::query::Query;
use crate::seen::Seen;

/// Words that `print` takes and that change nothing of what a program is given.
const PRINT_WORDS: [&str; 13] = [
    "active",
    "as-value",
    "brief",
    "comments",
    "detail",
    "oid",
    "show-ids",
    "stats",
    "stats-detail",
    "terse",
    "value-list",
    "without-paging",
    "all",
];

impl Machine<'_> {
    /// `print` and `listen`.
    pub(super) fn request_rows(
        &mut self,
        menu: &'static Menu,
        target: Target,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        self.permit(menu, "print")?;
        let mut manner = Manner::default();
        let bad = || Reason::BadValue(String::from("invalid query")).nowhere();
        let mut query = Query::read(menu, &request.query).ok_or_else(bad)?;
        let mut from = None;
        let mut whole = request.query.is_empty();
        for (name, text) in &request.arguments {
            let named = menu.property(name).is_some()
                || menu.flags.iter().any(|flag| flag.name == name.as_str());
            match name.as_str() {
                ".id" | "from" | "numbers" => from = Some(text.clone()),
                name if manner.take(name, text)? => {}
                name if named => {
                    whole = false;
                    query.also(menu, name);
                }
                name if PRINT_WORDS.contains(&name) => {}
                name => return Err(unknown_parameter(name).into()),
            }
        }
        let from = match from {
            Some(text) if menu.has_rows() => {
                let chosen = argument("from", text);
                let command = bare(target, vec![chosen]);
                let ready = self.ready(&command)?;
                Some(self.with(|loan| loan.selected(menu, &ready, "from"))?)
            }
            _ => None,
        };
        let listens = matches!(target, Target::Menu(_, "listen"));
        let hidden = !self.sees_secrets();
        query.with_filter(menu, hidden, |filter| {
            let test = |row: &Row| {
                let chosen = from.as_ref();
                chosen.is_none_or(|ids| row.id.is_some_and(|id| ids.contains(&id)))
                    && filter.test.is_none_or(|test| test(row))
            };
            let filter = RowFilter {
                equals: filter.equals.clone(),
                test: Some(&test),
                without_secrets: hidden,
            };
            let all = !listens && !manner.follow_only;
            match manner.interval {
                _ if listens || manner.follow || manner.follow_only => {
                    self.follow_for(menu, &filter, &manner, all, rows)
                }
                Some(interval) => self.sample(interval, &manner, |machine, section| {
                    machine.rows(menu, &filter, &manner, Some(section), rows)
                }),
                None if manner.count_only => self.count_for(menu, whole && from.is_none(), &filter),
                None => match self.rows(menu, &filter, &manner, None, rows)? {
                    0 => Ok(Done::Empty),
                    _ => Ok(Done::Nothing),
                },
            }
        })
    }

    /// Gives all rows; says how many.
    pub(super) fn rows(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        manner: &Manner,
        section: Option<usize>,
        rows: &mut dyn Rows,
    ) -> machine::Result<usize> {
        let wanted = manner.wanted();
        let mut count = 0;
        self.each_slice(menu, filter, |_, slice| {
            count += slice.len();
            for row in slice {
                let mut fields = fields(menu, &row, &wanted);
                fields.extend(section.map(|number| (".section", number.to_string())));
                taken(rows.row(&fields))?;
            }
            Ok(())
        })?;
        Ok(count)
    }

    /// How many rows the filter accepts; the `whole` menu if that is every one.
    fn count_for(
        &mut self,
        menu: &'static Menu,
        whole: bool,
        filter: &RowFilter<'_>,
    ) -> machine::Result<Done> {
        let known = self.with(|loan| Ok(loan.live.count(menu).filter(|_| whole)))?;
        if let Some(count) = known {
            return Ok(Done::Ret(count.to_string()));
        }
        let mut count = 0;
        self.each_slice(menu, filter, |_, rows| {
            count += rows.len();
            Ok(())
        })?;
        Ok(Done::Ret(count.to_string()))
    }

    /// Gives rows as they change, until somebody breaks it off.
    fn follow_for(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        manner: &Manner,
        all: bool,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let wanted = manner.wanted();
        let until = manner.duration.map(|span| self.site.now() + span);
        let mut seen = Seen::new(menu, all);
        while until.is_none_or(|until| self.site.now() < until) {
            let gone = seen.look(self, filter, |_, fresh| {
                let mut fresh = fresh.iter();
                fresh.try_for_each(|row| taken(rows.row(&fields(menu, row, &wanted))))
            })?;
            for id in gone {
                let fields = [(".id", id.to_string()), (".dead", String::from("true"))];
                taken(rows.row(&fields))?;
            }
            taken(rows.rest())?;
            seen.wait(self)?;
        }
        Ok(Done::Nothing)
    }
}

/// The fields of a row. RouterOS knows no letter for what has no effect, and programs stumble over
/// fields that they do not know: it is told to those that ask for it.
fn fields(menu: &'static Menu, row: &Row, wanted: &[&str]) -> Vec<(&'static str, String)> {
    let mut fields = json::fields(menu, row, wanted);
    if wanted.is_empty() {
        fields.retain(|(name, _)| *name != Flag::NO_EFFECT.name);
    }
    fields
}
