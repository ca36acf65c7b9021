//! Transfers of `/tool/fetch`, one thread each. Control bounds their number.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netio::Waker;
use router::Instance;
use script::Interrupt;
use tool::{Fetch, Fetched, Page};

use crate::host::HostPlane;
use crate::inlet::web::{Download, Piece};
use crate::run::shared::Shared;

/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum duration of a transfer without its own limit.
const MAX_DURATION: Duration = Duration::from_secs(24 * 3_600);

/// Running transfers.
pub(crate) struct PageFetches {
    host: Option<Arc<HostPlane>>,
    sender: Sender<(u64, Fetched)>,
    results: Receiver<(u64, Fetched)>,
    /// Interrupts of the transfers by ticket.
    stops: BTreeMap<u64, Arc<Interrupt>>,
    /// Wakes the control thread.
    wake: Waker,
}

/// Ticket and request of a new transfer.
type Begin = (u64, Fetch);

impl PageFetches {
    /// Creates the set of transfers, which use the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (sender, results) = channel();
        Self {
            host,
            sender,
            results,
            stops: BTreeMap::new(),
            wake,
        }
    }

    /// Reports progress to control, and returns the transfers to start.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Vec<Begin> {
        for (ticket, fetched) in self.results.try_iter() {
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

    /// Starts transfers without waiting for their results.
    pub(crate) fn begin(&mut self, shared: &Arc<Shared>, new: Vec<Begin>) {
        for (ticket, wanted) in new {
            let shared = Arc::clone(shared);
            let stop = Arc::new(Interrupt::default());
            self.stops.insert(ticket, Arc::clone(&stop));
            let (sender, wake, host) = (self.sender.clone(), self.wake.clone(), self.host.clone());
            let begun = thread::Builder::new()
                .name("fetch".to_owned())
                .spawn(move || {
                    let mut report = |fetched: Fetched| {
                        let _ = sender.send((ticket, fetched));
                        wake.wake();
                    };
                    let visit = Download {
                        host: host.as_deref(),
                        shared: &shared,
                        stop: &stop,
                        until: Instant::now() + wanted.duration.unwrap_or(MAX_DURATION),
                        store: "fetch",
                    };
                    let (fetched, end) = fetch(&visit, &wanted, &mut report);
                    let end = Some(end);
                    report(Fetched { end, ..fetched });
                });
            if let Err(error) = begun {
                let end = Some(Err(error.to_string()));
                let fetched = Fetched {
                    end,
                    ..Fetched::default()
                };
                let _ = self.sender.send((ticket, fetched));
                self.wake.wake();
            }
        }
    }
}

/// Runs one transfer and reports its progress.
fn fetch(
    visit: &Download<'_>,
    fetch: &Fetch,
    report: &mut dyn FnMut(Fetched),
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
        if last.elapsed() >= PROGRESS_INTERVAL {
            last = Instant::now();
            report(fetched.clone());
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
