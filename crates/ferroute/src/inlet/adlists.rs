//! Lists of blocked names, `/ip/dns/adlist`: a thread reads or downloads each, line by line, and only hashes
//! are stored.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netio::Waker;
use router::Instance;
use router::drive::names::{AdList, AdSource, List, Reader};
use script::Interrupt;
use tool::{Fetch, Url};

use crate::host::HostPlane;
use crate::inlet::web::{Download, Piece};
use crate::run::shared::Shared;

/// Maximum length of a line, and of a list, in bytes.
const MAX_LINE_BYTES: usize = 4096;
const MAX_LIST_BYTES: u64 = 512 << 20;
/// Time limit per list.
const LIST_TIMEOUT: Duration = Duration::from_secs(600);
/// Time limit of a single wait.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of redirections.
const MAX_REDIRECTIONS: u32 = 5;

type Read = (u64, u64, Result<List, String>);

/// Reader of the lists.
pub(crate) struct AdLists {
    sender: Sender<Read>,
    results: Receiver<Read>,
    /// Wakes the control thread.
    wake: Waker,
    wanted: Vec<(AdList, Result<Vec<u8>, String>)>,
}

impl AdLists {
    /// Creates an idle reader.
    pub(crate) fn new(wake: Waker) -> Self {
        let (sender, results) = channel();
        Self {
            sender,
            results,
            wake,
            wanted: Vec::new(),
        }
    }

    /// Passes finished lists to control, and takes new requests.
    pub(crate) fn follow(&mut self, instance: &mut Instance) {
        let control = instance.control();
        for (id, round, list) in self.results.try_iter() {
            control.told_list(id, round, list);
        }
        for wanted in control.take_lists() {
            let file = match &wanted.source {
                AdSource::File(name) => control.read_file(name),
                AdSource::Url(..) => Ok(Vec::new()),
            };
            self.wanted.push((wanted, file));
        }
    }

    /// Starts reading the requested lists.
    pub(crate) fn begin(&mut self, host: Option<&Arc<HostPlane>>, shared: &Arc<Shared>) {
        for (wanted, file) in self.wanted.drain(..) {
            let (sender, wake) = (self.sender.clone(), self.wake.clone());
            let (host, shared) = (host.cloned(), Arc::clone(shared));
            let (id, round) = (wanted.id, wanted.round);
            let thread = thread::Builder::new().name("adlist".to_owned());
            let begun = thread.spawn(move || {
                let list = match &wanted.source {
                    AdSource::File(_) => file.map(|bytes| read(&wanted, &bytes)),
                    AdSource::Url(url, verify) => {
                        fetch(&wanted, url, *verify, host.as_deref(), &shared)
                    }
                };
                let _ = sender.send((id, round, list));
                wake.wake();
            });
            if let Err(error) = begun {
                let _ = self.sender.send((id, round, Err(error.to_string())));
            }
        }
    }
}

/// Splits downloaded bytes into lines.
struct Lines {
    reader: Reader,
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.end(),
                // Longer lines are no names.
                _ if self.line.len() < MAX_LINE_BYTES => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn end(&mut self) {
        if let Ok(line) = str::from_utf8(&self.line) {
            self.reader.line(line);
        }
        self.line.clear();
    }

    fn finish(mut self) -> List {
        self.end();
        self.reader.finish()
    }
}

fn lines(wanted: &AdList) -> Lines {
    Lines {
        reader: Reader::new(wanted.key, wanted.most),
        line: Vec::new(),
    }
}

fn read(wanted: &AdList, bytes: &[u8]) -> List {
    let mut lines = lines(wanted);
    lines.take(bytes);
    lines.finish()
}

fn fetch(
    wanted: &AdList,
    url: &str,
    verify: bool,
    host: Option<&HostPlane>,
    shared: &Shared,
) -> Result<List, String> {
    let visit = Download {
        host,
        shared,
        // Nothing interrupts it: it has a time limit.
        stop: &Interrupt::default(),
        until: Instant::now() + LIST_TIMEOUT,
        store: "dns",
    };
    let page = Fetch {
        check: if verify { "yes" } else { "no" },
        redirects: MAX_REDIRECTIONS,
        patience: WAIT_TIMEOUT,
        most: MAX_LIST_BYTES,
        ..Fetch::get(Url::of(url)?)
    };
    let (mut kept, mut taken) = (lines(wanted), 0);
    let answer = visit.page(&page, &mut |piece| {
        match piece {
            Piece::Begin(_) => (kept, taken) = (lines(wanted), 0),
            Piece::Bytes(bytes) => {
                taken += bytes.len() as u64;
                if taken > MAX_LIST_BYTES {
                    return Err("it is too long".to_owned());
                }
                kept.take(bytes);
            }
        }
        Ok(())
    })?;
    match answer.status {
        200..300 => Ok(kept.finish()),
        status => Err(format!("the server says {status} {}", answer.reason)),
    }
}
