//! Lists of unwanted names, `/ip/dns/adlist`: each is read or fetched in a thread, line by line, so that nobody waits
//! and only hashes are kept of it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use netio::Waker;
use router::Instance;
use router::drive::names::{AdList, AdSource, List, Reader};
use script::Interrupt;
use tool::{Fetch, Place};

use crate::core::Shared;
use crate::host::HostPlane;
use crate::web::{Piece, Visit};

/// The longest line, in bytes, and most bytes of a list.
const LINE: usize = 4096;
const BYTES: u64 = 512 << 20;
/// How long a list may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long it may wait for anything.
const IDLE: Duration = Duration::from_secs(30);
/// Places that a list may have moved to, one after the other.
const REDIRECTIONS: u32 = 5;

type Read = (u64, u64, Result<List, String>);

/// See the module.
pub(crate) struct AdLists {
    tell: Sender<Read>,
    told: Receiver<Read>,
    /// Wakes the control thread.
    wake: Waker,
    wanted: Vec<(AdList, Result<Vec<u8>, String>)>,
}

impl AdLists {
    /// Has nothing to do yet.
    pub(crate) fn new(wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            tell,
            told,
            wake,
            wanted: Vec::new(),
        }
    }

    /// Tells control what was read, and takes what is to be.
    pub(crate) fn follow(&mut self, instance: &mut Instance) {
        let control = instance.control();
        for (id, round, list) in self.told.try_iter() {
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

    /// Begins to read what is to be read.
    pub(crate) fn begin(&mut self, host: Option<&Arc<HostPlane>>, shared: &Arc<Shared>) {
        for (wanted, file) in self.wanted.drain(..) {
            let (tell, wake) = (self.tell.clone(), self.wake.clone());
            let (host, shared) = (host.cloned(), Arc::clone(shared));
            let (id, round) = (wanted.id, wanted.round);
            let thread = thread::Builder::new().name("adlist".to_owned());
            let begun = thread.spawn(move || {
                let list = match &wanted.source {
                    AdSource::File(_) => file.map(|bytes| read(&wanted, &bytes)),
                    AdSource::Url(url, verify) => {
                        fetch(&wanted, (url, *verify), host.as_deref(), &shared)
                    }
                };
                let _ = tell.send((id, round, list));
                wake.wake();
            });
            if let Err(error) = begun {
                let _ = self.tell.send((id, round, Err(error.to_string())));
            }
        }
    }
}

/// Lines of bytes that come piece by piece.
struct Lines {
    reader: Reader,
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.end(),
                // What is longer is no name.
                _ if self.line.len() < LINE => self.line.push(*byte),
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
    (url, verify): (&str, bool),
    host: Option<&HostPlane>,
    shared: &Shared,
) -> Result<List, String> {
    let visit = Visit {
        host,
        shared,
        // Nobody stops it: it ends by itself.
        stop: &Interrupt::default(),
        until: Instant::now() + PATIENCE,
        store: "dns",
    };
    let page = Fetch {
        check: if verify { "yes" } else { "no" },
        redirects: REDIRECTIONS,
        patience: IDLE,
        most: BYTES,
        ..Fetch::get(Place::of(url)?)
    };
    let (mut kept, mut taken) = (lines(wanted), 0);
    let answer = visit.page(&page, &mut |piece| {
        match piece {
            Piece::Begin(_) => (kept, taken) = (lines(wanted), 0),
            Piece::Bytes(bytes) => {
                taken += bytes.len() as u64;
                if taken > BYTES {
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
