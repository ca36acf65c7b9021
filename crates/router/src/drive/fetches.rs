//! Pages that `/tool/fetch` downloads: running and finished transfers. The program owns the sockets: it takes transfers
//! with [`Control::take_fetches`] and reports their progress with [`Control::hear_fetch`].

use std::task::Waker;

use menu::{Files as _, Reason};
use tool::{Fetch, Fetched, Fetches};

use super::Control;
use super::tickets::TicketLimit;

/// Limit of concurrent transfers.
const LIMIT: TicketLimit = TicketLimit {
    most: 32,
    full: "too many pages are being fetched",
};

impl Control {
    /// Returns the transfers to start; each is returned once.
    pub fn take_fetches(&mut self) -> Vec<(u64, Fetch)> {
        self.work.fetches.take()
    }

    /// Records the progress of a transfer.
    pub fn hear_fetch(&mut self, ticket: u64, fetched: Fetched) {
        let ended = fetched.end.is_some();
        self.work.fetches.report(ticket, fetched, ended);
    }

    /// Whether a command still waits for this transfer.
    pub fn is_fetched(&self, ticket: u64) -> bool {
        self.work.fetches.get(ticket).is_some()
    }
}

impl Fetches for Control {
    fn begin(&mut self, fetch: Fetch, news: &Waker) -> Result<u64, Reason> {
        if let Some(file) = &fetch.file {
            self.manage.files.may_change(file)?;
        }
        self.work
            .fetches
            .begin(fetch, Fetched::default(), news, LIMIT)
    }

    fn look(&mut self, ticket: u64) -> Result<Option<Fetched>, Reason> {
        let Some((_, fetched)) = self.work.fetches.get(ticket) else {
            return Ok(None);
        };
        if fetched.end.is_none() {
            return Ok(Some(fetched.clone()));
        }
        let Some((fetch, fetched)) = self.work.fetches.remove(ticket) else {
            return Ok(None);
        };
        if let (Some(file), Some(Ok(page))) = (&fetch.file, &fetched.end)
            && (200..300).contains(&page.status)
        {
            self.manage.files.write(file, &page.data)?;
        }
        Ok(Some(fetched))
    }

    fn forget(&mut self, ticket: u64) {
        self.work.fetches.remove(ticket);
    }
}
