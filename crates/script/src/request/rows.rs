//! `print` and `listen` requests: the current rows, or rows as they change.

use std::time::Duration;

use menu::{Flag, Id, Menu, Reason, Row, RowFilter, json};

use super::manner::Manner;
use super::{Done, Request, Rows, argument, bare, taken, unknown_parameter};
use crate::ast::Target;
use crate::machine::{self, Machine};
use crate::query::Query;
use crate::seen::{Pause, Seen};

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
        let asked = self.asked_rows(menu, target, request)?;
        if asked.goes_on() {
            let mut listening = Listening::new(asked, self.site.now());
            while self.listen(&mut listening, rows)? {
                listening.pause().wait(self)?;
            }
            return Ok(Done::Nothing);
        }
        let manner = &asked.manner;
        self.with_rows(&asked, |machine, filter| match manner.interval {
            Some(interval) => machine.sample(interval, manner, |machine, section| {
                machine.rows(menu, filter, manner, Some(section), rows)
            }),
            None if manner.count_only => machine.count_for(menu, asked.whole, filter),
            None => match machine.rows(menu, filter, manner, None, rows)? {
                0 => Ok(Done::Empty),
                _ => Ok(Done::Nothing),
            },
        })
    }

    /// Parses which rows a request selects.
    pub(super) fn asked_rows(
        &mut self,
        menu: &'static Menu,
        target: Target,
        request: &Request,
    ) -> machine::Result<Asked> {
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
        let chosen = match from {
            Some(text) if menu.has_rows() => {
                let chosen = argument("from", text);
                let command = bare(target, vec![chosen]);
                let ready = self.ready(&command)?;
                Some(self.with(|loan| loan.selected(menu, &ready, "from"))?)
            }
            _ => None,
        };
        Ok(Asked {
            menu,
            whole: whole && chosen.is_none(),
            manner,
            query,
            chosen,
            listens: matches!(target, Target::Menu(_, "listen")),
        })
    }

    /// Calls `run` with the row filter of a request.
    fn with_rows<T>(
        &mut self,
        asked: &Asked,
        run: impl FnOnce(&mut Self, &RowFilter<'_>) -> machine::Result<T>,
    ) -> machine::Result<T> {
        let hidden = !self.sees_secrets();
        asked.query.with_filter(asked.menu, hidden, |filter| {
            let test = |row: &Row| {
                let chosen = asked.chosen.as_ref();
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

    /// Counts the rows that pass the filter. Uses the menu's own count if the request selects the whole menu.
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

    /// Passes on the rows that changed since the previous check. Returns false after the last check, which is
    /// done at the end of the duration to catch changes since the check before.
    pub(super) fn listen(
        &mut self,
        listening: &mut Listening,
        rows: &mut dyn Rows,
    ) -> machine::Result<bool> {
        let Listening { asked, seen, until } = listening;
        let is_last = until.is_some_and(|until| self.site.now() >= until);
        self.permit(asked.menu, "print")?;
        let (menu, wanted) = (asked.menu, asked.manner.wanted());
        let gone = self.with_rows(asked, |machine, filter| {
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
pub(super) struct Asked {
    pub(super) menu: &'static Menu,
    manner: Manner,
    query: Query,
    /// The items that the request names.
    chosen: Option<Vec<Id>>,
    /// True if the request selects all rows of the menu.
    whole: bool,
    listens: bool,
}

impl Asked {
    /// True if the request runs until the client cancels it.
    pub(super) const fn goes_on(&self) -> bool {
        self.listens || self.manner.follow || self.manner.follow_only
    }
}

/// A request that passes on rows as they change.
pub(super) struct Listening {
    asked: Asked,
    pub(super) seen: Seen,
    /// End time on the site's clock, if the request has a duration.
    until: Option<Duration>,
}

impl Listening {
    pub(super) fn new(asked: Asked, now: Duration) -> Self {
        let all = !asked.listens && !asked.manner.follow_only;
        Self {
            seen: Seen::new(asked.menu, all),
            until: asked.manner.duration.map(|span| now + span),
            asked,
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
