//! `print` and `listen` requests: the current rows, or rows as they change.

use std::time::Duration;

use menu::{Flag, Id, Menu, Reason, Row, RowFilter, json};

use super::answer_options::AnswerOptions;
use super::{Done, Request, Rows, argument, bare, taken, unknown_parameter};
use crate::ast::Target;
use crate::machine::{self, Machine};
use crate::query::Query;
use crate::row_tracker::{Pause, RowTracker};

/// Arguments of `print` that do not affect the answer to a program.
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
    /// Runs a `print` or `listen` request.
    pub(super) fn request_rows(
        &mut self,
        menu: &'static Menu,
        target: Target,
        request: &Request,
        rows: &mut dyn Rows,
    ) -> machine::Result<Done> {
        let row_request = self.row_request_of(menu, target, request)?;
        if row_request.goes_on() {
            let mut listener = RowListener::new(row_request, self.site.now());
            while self.listen(&mut listener, rows)? {
                listener.pause().wait(self)?;
            }
            return Ok(Done::Nothing);
        }
        let answer_options = &row_request.answer_options;
        self.with_rows(&row_request, |machine, filter| {
            match answer_options.interval {
                Some(interval) => machine.sample(interval, answer_options, |machine, section| {
                    machine.rows(menu, filter, answer_options, Some(section), rows)
                }),
                None if answer_options.count_only => {
                    machine.count_for(menu, row_request.whole, filter)
                }
                None => match machine.rows(menu, filter, answer_options, None, rows)? {
                    0 => Ok(Done::Empty),
                    _ => Ok(Done::Nothing),
                },
            }
        })
    }

    /// Parses which rows a request selects.
    pub(super) fn row_request_of(
        &mut self,
        menu: &'static Menu,
        target: Target,
        request: &Request,
    ) -> machine::Result<RowRequest> {
        self.permit(menu, "print")?;
        let mut answer_options = AnswerOptions::default();
        let bad = || Reason::BadValue(String::from("invalid query")).nowhere();
        let mut query = Query::read(menu, &request.query).ok_or_else(bad)?;
        let mut from = None;
        let mut whole = request.query.is_empty();
        for (name, text) in &request.arguments {
            let named = menu.property(name).is_some()
                || menu.flags.iter().any(|flag| flag.name == name.as_str());
            match name.as_str() {
                ".id" | "from" | "numbers" => from = Some(text.clone()),
                name if answer_options.take(name, text)? => {}
                name if named => {
                    whole = false;
                    query.also(menu, name);
                }
                name if PRINT_WORDS.contains(&name) => {}
                name => return Err(unknown_parameter(name).into()),
            }
        }
        let chosen = match from {
            Some(text) if menu.has_rows() => {
                let chosen = argument("from", text);
                let command = bare(target, vec![chosen]);
                let ready = self.ready(&command)?;
                Some(self.with(|access| access.selected(menu, &ready, "from"))?)
            }
            _ => None,
        };
        Ok(RowRequest {
            menu,
            whole: whole && chosen.is_none(),
            answer_options,
            query,
            chosen,
            listens: matches!(target, Target::Menu(_, "listen")),
        })
    }

    /// Calls `run` with the row filter of a request.
    fn with_rows<T>(
        &mut self,
        row_request: &RowRequest,
        run: impl FnOnce(&mut Self, &RowFilter<'_>) -> machine::Result<T>,
    ) -> machine::Result<T> {
        let hidden = !self.sees_secrets();
        row_request
            .query
            .with_filter(row_request.menu, hidden, |filter| {
                let test = |row: &Row| {
                    let chosen = row_request.chosen.as_ref();
                    chosen.is_none_or(|ids| row.id.is_some_and(|id| ids.contains(&id)))
                        && filter.test.is_none_or(|test| test(row))
                };
                let filter = RowFilter {
                    equals: filter.equals.clone(),
                    test: Some(&test),
                    without_secrets: hidden,
                };
                run(self, &filter)
            })
    }

    /// Passes on all rows and returns their number.
    pub(super) fn rows(
        &mut self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        answer_options: &AnswerOptions,
        section: Option<usize>,
        rows: &mut dyn Rows,
    ) -> machine::Result<usize> {
        let wanted = answer_options.wanted();
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

    /// Counts the rows that pass the filter. Uses the menu's own count if the request selects the whole menu.
    fn count_for(
        &mut self,
        menu: &'static Menu,
        whole: bool,
        filter: &RowFilter<'_>,
    ) -> machine::Result<Done> {
        let known = self.with(|access| Ok(access.live.count(menu).filter(|_| whole)))?;
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

    /// Passes on the rows that changed since the previous check. Returns false after the last check, which is
    /// done at the end of the duration to catch changes since the check before.
    pub(super) fn listen(
        &mut self,
        listener: &mut RowListener,
        rows: &mut dyn Rows,
    ) -> machine::Result<bool> {
        let RowListener {
            row_request,
            seen,
            until,
        } = listener;
        let is_last = until.is_some_and(|until| self.site.now() >= until);
        self.permit(row_request.menu, "print")?;
        let (menu, wanted) = (row_request.menu, row_request.answer_options.wanted());
        let gone = self.with_rows(row_request, |machine, filter| {
            seen.look(machine, filter, |_, fresh| {
                let mut fresh = fresh.iter();
                fresh.try_for_each(|row| taken(rows.row(&fields(menu, row, &wanted))))
            })
        })?;
        for id in gone {
            let fields = [(".id", id.to_string()), (".dead", String::from("true"))];
            taken(rows.row(&fields))?;
        }
        taken(rows.rest())?;
        Ok(!is_last)
    }
}

/// The rows that a request selects, and the options for its answer.
pub(super) struct RowRequest {
    pub(super) menu: &'static Menu,
    answer_options: AnswerOptions,
    query: Query,
    /// The items that the request names.
    chosen: Option<Vec<Id>>,
    /// True if the request selects all rows of the menu.
    whole: bool,
    listens: bool,
}

impl RowRequest {
    /// True if the request runs until the client cancels it.
    pub(super) const fn goes_on(&self) -> bool {
        self.listens || self.answer_options.follow || self.answer_options.follow_only
    }
}

/// A request that passes on rows as they change.
pub(super) struct RowListener {
    row_request: RowRequest,
    pub(super) seen: RowTracker,
    /// End time on the site's clock, if the request has a duration.
    until: Option<Duration>,
}

impl RowListener {
    pub(super) fn new(row_request: RowRequest, now: Duration) -> Self {
        let all = !row_request.listens && !row_request.answer_options.follow_only;
        Self {
            seen: RowTracker::new(row_request.menu, all),
            until: row_request.answer_options.duration.map(|span| now + span),
            row_request,
        }
    }

    /// Returns when the next check is due, at the latest at the end of the duration.
    pub(super) fn pause(&self) -> Pause {
        let pause = self.seen.pause();
        let end = self.until.unwrap_or(Duration::MAX);
        Pause {
            soonest: pause.soonest.min(end),
            latest: pause.latest.min(end),
            revision: pause.revision,
        }
    }
}

/// Returns the fields of a row. The field `no-effect` is unknown to RouterOS and might confuse clients, so it
/// is included only on request.
fn fields(menu: &'static Menu, row: &Row, wanted: &[&str]) -> Vec<(&'static str, String)> {
    let mut fields = json::fields(menu, row, wanted);
    if wanted.is_empty() {
        fields.retain(|(name, _)| *name != Flag::NO_EFFECT.name);
    }
    fields
}
