//! A request that listens, run in turns: between two nothing of it runs, and no thread waits for it.

use menu::Refusal;

use super::rows::Listening;
use super::{Request, Rows, target};
use crate::ast::Target;
use crate::machine::{Machine, Stop};
use crate::seen::Pause;
use crate::session::Session;
use crate::site::Site;
use crate::tree::Tree;

/// A request that gives rows as they change, until somebody breaks it off.
pub struct Course(Listening);

impl Course {
    /// Begins a request if it is one that listens.
    ///
    /// # Errors
    /// The refusal.
    pub fn begin(
        site: &mut dyn Site,
        session: &mut Session,
        request: &Request,
    ) -> Result<Option<Self>, Refusal> {
        let may = |name: &String| name == "follow" || name == "follow-only";
        let mut names = request.arguments.iter().map(|(name, _)| name);
        if !request.path.ends_with("/listen") && !names.any(may) {
            return Ok(None);
        }
        let target = target(&Tree::for_programs(site.menus()), &request.path)?;
        let Target::Menu(menu, "print" | "listen") = target else {
            return Ok(None);
        };
        let _running = session.interrupter().running();
        let mut text = String::new();
        let mut machine = Machine::new(site, session, &mut text);
        let asked = machine.asked_rows(menu, target, request).map_err(refusal)?;
        let now = machine.site.now();
        Ok(asked.goes_on().then(|| Self(Listening::new(asked, now))))
    }

    /// Gives the rows that have changed since the last turn. Says when the next is due; none if it was
    /// the last.
    ///
    /// # Errors
    /// The refusal.
    pub fn turn(
        &mut self,
        site: &mut dyn Site,
        session: &mut Session,
        rows: &mut dyn Rows,
    ) -> Result<Option<Pause>, Refusal> {
        let _running = session.interrupter().running();
        let mut text = String::new();
        let mut machine = Machine::new(site, session, &mut text);
        let goes_on = machine.listen(&mut self.0, rows).map_err(refusal)?;
        Ok(goes_on.then(|| self.0.pause()))
    }

    /// How many rows it remembers, to find out which have changed.
    pub fn rows(&self) -> usize {
        self.0.seen.len()
    }
}

/// A `print` has nothing in it that could end it otherwise.
fn refusal(stop: Stop) -> Refusal {
    match stop {
        Stop::Refused(refusal) => refusal,
        _ => menu::Reason::Interrupted.nowhere(),
    }
}
