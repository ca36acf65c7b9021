//! Work of commands that the program does outside control: it takes the requests, and reports their progress. A command
//! knows its work by a ticket, and forgets it at its end.

use std::collections::BTreeMap;
use std::task::Waker;

use btest::Test;
use menu::Reason;
use tool::{BandwidthProgress, Fetch, Fetched};

/// Work of all commands.
#[derive(Debug, Default)]
pub(crate) struct CommandWork {
    pub(super) fetches: Tickets<Fetch, Fetched>,
    pub(super) bandwidth_tests: Tickets<Test, BandwidthProgress>,
}

/// Requests and their progress, by ticket.
#[derive(Debug)]
pub(crate) struct Tickets<Request, Progress> {
    last: u64,
    all: BTreeMap<u64, Work<Request, Progress>>,
}

#[derive(Debug)]
struct Work<Request, Progress> {
    request: Request,
    is_taken: bool,
    progress: Progress,
    news: Waker,
}

impl<Request, Progress> Default for Tickets<Request, Progress> {
    fn default() -> Self {
        Self {
            last: 0,
            all: BTreeMap::new(),
        }
    }
}

impl<Request: Clone, Progress> Tickets<Request, Progress> {
    /// Adds a request; returns its ticket.
    ///
    /// # Errors
    /// `full`, if there are `most` requests.
    pub(super) fn begin(
        &mut self,
        request: Request,
        progress: Progress,
        news: &Waker,
        limit: TicketLimit,
    ) -> Result<u64, Reason> {
        if self.all.len() >= limit.most {
            return Err(Reason::failure(limit.full));
        }
        self.last += 1;
        let work = Work {
            request,
            is_taken: false,
            progress,
            news: news.clone(),
        };
        self.all.insert(self.last, work);
        Ok(self.last)
    }

    /// Returns the requests to start; each is returned once.
    pub(super) fn take(&mut self) -> Vec<(u64, Request)> {
        let new = self.all.iter_mut().filter(|(_, work)| !work.is_taken);
        let new = new.map(|(ticket, work)| {
            work.is_taken = true;
            (*ticket, work.request.clone())
        });
        new.collect()
    }

    /// Records progress. Wakes the command if its work has ended.
    pub(super) fn report(&mut self, ticket: u64, progress: Progress, has_ended: bool) {
        if let Some(work) = self.all.get_mut(&ticket) {
            work.progress = progress;
            if has_ended {
                work.news.wake_by_ref();
            }
        }
    }

    /// Returns request and progress; `None` for an unknown ticket.
    pub(super) fn get(&self, ticket: u64) -> Option<(&Request, &Progress)> {
        let work = self.all.get(&ticket)?;
        Some((&work.request, &work.progress))
    }

    /// Forgets a request.
    pub(super) fn remove(&mut self, ticket: u64) -> Option<(Request, Progress)> {
        let work = self.all.remove(&ticket)?;
        Some((work.request, work.progress))
    }
}

/// Maximum number of requests, and the error beyond it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TicketLimit {
    pub(super) most: usize,
    pub(super) full: &'static str,
}
