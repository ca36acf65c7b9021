//! A `listen` request, run step by step: it occupies no thread between steps.

use menu::Refusal;

use super::rows::RowListener;
use super::{Request, Rows, target};
use crate::ast::Target;
use crate::machine::{Machine, Stop};
use crate::row_tracker::Pause;
use crate::session::Session;
use crate::site::Site;
use crate::tree::Tree;

/// A request that passes on rows as they change, until the client cancels it.
pub struct ListenRequest(RowListener);

impl ListenRequest {
    /// Starts a request if it is a `listen` or `follow` request.
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
        let row_request = machine
            .row_request_of(menu, target, request)
            .map_err(refusal)?;
        let now = machine.site.now();
        Ok(row_request
            .goes_on()
            .then(|| Self(RowListener::new(row_request, now))))
    }

    /// Passes on the rows that changed since the previous step. Returns when the next step is due; `None` after
    /// the last one.
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

    /// Number of rows remembered for change detection.
    pub fn rows(&self) -> usize {
        self.0.seen.len()
    }
}

/// A `print` runs no code, so it ends only by refusal or interruption.
fn refusal(stop: Stop) -> Refusal {
    match stop {
        Stop::Refused(refusal) => refusal,
        _ => menu::Reason::Interrupted.nowhere(),
    }
}
