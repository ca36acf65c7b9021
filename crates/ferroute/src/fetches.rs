//! Fetches pages for `/tool/fetch`, each in a thread for as long as that takes. How many there are, control decides.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netio::Waker;
use router::Instance;
use script::Interrupt;
use tool::{Fetch, Fetched, Page};

use crate::core::Shared;
use crate::host::HostPlane;
use crate::web::{Piece, Visit};

/// How often it is told how far one is.
const EVERY: Duration = Duration::from_millis(500);
/// The longest time that one may take that has no other.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// See the module.
pub(crate) struct PageFetches {
    host: Option<Arc<HostPlane>>,
    tell: Sender<(u64, Fetched)>,
    told: Receiver<(u64, Fetched)>,
    /// What stops each.
    stops: BTreeMap<u64, Arc<Interrupt>>,
    /// Wakes the control thread.
    wake: Waker,
}

/// What is to begin: the ticket and the page.
type Begin = (u64, Fetch);

impl PageFetches {
    /// Fetches from the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            host,
            tell,
            told,
            stops: BTreeMap::new(),
            wake,
        }
    }

    /// Tells control how far they are; gives those that are to begin.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Vec<Begin> {
        for (ticket, fetched) in self.told.try_iter() {
            if fetched.end.is_some() {
                self.stops.remove(&ticket);
            }
            instance.control().hear_fetch(ticket, fetched);
        }
        self.stops.retain(|ticket, stop| {
            let waits = instance.control().is_fetched(*ticket);
            if !waits {
                stop.close();
            }
            waits
        });
        instance.control().take_fetches()
    }

    /// Begins, and does not wait for what comes of it.
    pub(crate) fn begin(&mut self, shared: &Arc<Shared>, new: Vec<Begin>) {
        for (ticket, wanted) in new {
            let shared = Arc::clone(shared);
            let stop = Arc::new(Interrupt::default());
            self.stops.insert(ticket, Arc::clone(&stop));
            let (tell, wake, host) = (self.tell.clone(), self.wake.clone(), self.host.clone());
            let begun = thread::Builder::new()
                .name("fetch".to_owned())
                .spawn(move || {
                    let mut told = |fetched: Fetched| {
                        let _ = tell.send((ticket, fetched));
                        wake.wake();
                    };
                    let visit = Visit {
                        host: host.as_deref(),
                        shared: &shared,
                        stop: &stop,
                        until: Instant::now() + wanted.duration.unwrap_or(LONGEST),
                        store: "fetch",
                    };
                    let (fetched, end) = fetch(&visit, &wanted, &mut told);
                    let end = Some(end);
                    told(Fetched { end, ..fetched });
                });
            if let Err(error) = begun {
                let end = Some(Err(error.to_string()));
                let fetched = Fetched {
                    end,
                    ..Fetched::default()
                };
                let _ = self.tell.send((ticket, fetched));
                self.wake.wake();
            }
        }
    }
}

/// Fetches one; tells how far it is from time to time.
fn fetch(
    visit: &Visit<'_>,
    fetch: &Fetch,
    tell: &mut dyn FnMut(Fetched),
) -> (Fetched, Result<Page, String>) {
    let (mut fetched, mut data, mut last) = (Fetched::default(), Vec::new(), Instant::now());
    let mut take = |piece: Piece<'_>| {
        match piece {
            Piece::Begin(total) => {
                data.clear();
                (fetched.bytes, fetched.total) = (0, total);
            }
            Piece::Bytes(bytes) => {
                fetched.bytes += bytes.len() as u64;
                if fetched.bytes > fetch.most {
                    return Err(format!("more than {} bytes", fetch.most));
                }
                if !fetch.discards {
                    data.extend(bytes);
                }
            }
        }
        if last.elapsed() >= EVERY {
            last = Instant::now();
            tell(fetched.clone());
        }
        Ok(())
    };
    let end = visit.page(fetch, &mut take);
    let page = end.map(|answer| Page {
        status: answer.status,
        reason: answer.reason,
        fields: answer.fields,
        data,
    });
    (fetched, page)
}
