//! Pages that `/tool/fetch` downloads: running and finished transfers. The program owns the sockets: it takes transfers
//! with [`Control::take_fetches`] and reports their progress with [`Control::hear_fetch`].

use std::collections::BTreeMap;
use std::task::Waker;

use menu::{Files as _, Reason};
use tool::{Fetch, Fetched, Fetches};

use super::Control;

/// Maximum number of concurrent transfers.
const MOST: usize = 32;

/// Transfers by ticket.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    last: u64,
    all: BTreeMap<u64, Transfer>,
}

#[derive(Debug)]
struct Transfer {
    fetch: Fetch,
    begun: bool,
    fetched: Fetched,
    news: Waker,
}

impl Control {
    /// Returns the transfers to start; each is returned once.
    pub fn take_fetches(&mut self) -> Vec<(u64, Fetch)> {
        let new = self.fetches.all.iter_mut().filter(|(_, one)| !one.begun);
        let new = new.map(|(ticket, one)| {
            one.begun = true;
            (*ticket, one.fetch.clone())
        });
        new.collect()
    }

    /// Records the progress of a transfer.
    pub fn hear_fetch(&mut self, ticket: u64, fetched: Fetched) {
        if let Some(one) = self.fetches.all.get_mut(&ticket) {
            let ended = fetched.end.is_some();
            one.fetched = fetched;
            if ended {
                one.news.wake_by_ref();
            }
        }
    }

    /// Whether a command still waits for this transfer.
    pub fn is_fetched(&self, ticket: u64) -> bool {
        self.fetches.all.contains_key(&ticket)
    }
}

impl Fetches for Control {
    fn begin(&mut self, fetch: Fetch, news: &Waker) -> Result<u64, Reason> {
        if let Some(file) = &fetch.file {
            self.manage.files.may_change(file)?;
        }
        if self.fetches.all.len() >= MOST {
            return Err(Reason::failure("too many pages are being fetched"));
        }
        self.fetches.last += 1;
        let one = Transfer {
            fetch,
            begun: false,
            fetched: Fetched::default(),
            news: news.clone(),
        };
        self.fetches.all.insert(self.fetches.last, one);
        Ok(self.fetches.last)
    }

    fn look(&mut self, ticket: u64) -> Result<Option<Fetched>, Reason> {
        let Some(one) = self.fetches.all.get(&ticket) else {
            return Ok(None);
        };
        if one.fetched.end.is_none() {
            return Ok(Some(one.fetched.clone()));
        }
        let Some(one) = self.fetches.all.remove(&ticket) else {
            return Ok(None);
        };
        if let (Some(file), Some(Ok(page))) = (&one.fetch.file, &one.fetched.end)
            && (200..300).contains(&page.status)
        {
            self.manage.files.write(file, &page.data)?;
        }
        Ok(Some(one.fetched))
    }

    fn forget(&mut self, ticket: u64) {
        self.fetches.all.remove(&ticket);
    }
}
