//! A console user who runs one command after the other, and measures the response times.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::bench::process::exec;

/// Commands in turn: short name and command.
const COMMANDS: [(&str, &str); 6] = [
    (
        "count connections",
        "/ip/firewall/connection/print count-only",
    ),
    ("print interfaces", "/interface/print"),
    ("print addresses", "/ip/address/print"),
    ("look at tracking", ENTRIES),
    (
        "list an address and forget it",
        "/ip/firewall/address-list/add list=probe address=198.51.100.7; \
         /ip/firewall/address-list/remove [find list=probe]",
    ),
    (
        "add a rule and remove it",
        "/ip/firewall/filter/add chain=forward action=passthrough comment=probe; \
         /ip/firewall/filter/remove [find comment=probe]",
    ),
];
/// Command that returns the number of connections.
pub(super) const ENTRIES: &str = ":put [/ip/firewall/connection/tracking/get total-entries]";
/// Command that filters all connections and returns few: another session repeats it.
const EVERYTHING: &str = "/ip/firewall/connection/print count-only where timeout<1s";
/// Pause between two commands.
const PAUSE: Duration = Duration::from_millis(5);

/// Response times of a command.
#[derive(Clone, Debug)]
pub(super) struct Took {
    pub(super) what: &'static str,
    /// Milliseconds, sorted.
    pub(super) ms: Vec<f64>,
}

impl Took {
    /// Returns the quantile `part` of the times.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let last = self.ms.len().saturating_sub(1);
        let at = (last as f64 * part).ceil() as usize;
        self.ms.get(at).copied().unwrap_or(0.0)
    }
}

/// A running console user; dropping the value stops it.
pub(super) struct Console {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    times: Mutex<[Vec<f64>; COMMANDS.len()]>,
    entries: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Console {
    /// Starts a console user at this control socket; with `beside`, another session scans all connections meanwhile.
    pub(super) fn begin(control: PathBuf, beside: bool) -> Self {
        let shared = Arc::<Shared>::default();
        let asking = {
            let (shared, control) = (Arc::clone(&shared), control.clone());
            thread::spawn(move || ask(&shared, &control))
        };
        let looking = beside.then(|| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                while !shared.stop.load(Ordering::Relaxed) {
                    shared.note(exec(&control, EVERYTHING, false).map(|_| ()));
                }
            })
        });
        Self {
            shared,
            threads: [asking].into_iter().chain(looking).collect(),
        }
    }

    /// Stops the user; returns the times of each command, and the maximum number of connections.
    ///
    /// # Errors
    /// A command failed.
    pub(super) fn end(mut self) -> Result<(Vec<Took>, u64), String> {
        self.stop();
        let failure = self.shared.failure.lock();
        if let Some(failure) = &*failure.unwrap_or_else(PoisonError::into_inner) {
            return Err(failure.clone());
        }
        let times = self.shared.times.lock();
        let times = times.unwrap_or_else(PoisonError::into_inner);
        let took = COMMANDS.iter().zip(&*times).map(|((what, _), ms)| {
            let mut ms = ms.clone();
            ms.sort_unstable_by(f64::total_cmp);
            Took { what, ms }
        });
        Ok((took.collect(), self.shared.entries.load(Ordering::Relaxed)))
    }

    fn stop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The thread has printed its panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn note(&self, result: Result<(), String>) {
        if let Err(reason) = result {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(reason);
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn ask(shared: &Shared, control: &Path) {
    for (place, (_, command)) in COMMANDS.iter().enumerate().cycle() {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let begin = Instant::now();
        let said = exec(control, command, false);
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        if let Ok(said) = &said
            && *command == ENTRIES
        {
            let entries = said.trim().parse().unwrap_or(0);
            shared.entries.fetch_max(entries, Ordering::Relaxed);
        }
        shared.note(said.map(|_| ()));
        let mut times = shared.times.lock().unwrap_or_else(PoisonError::into_inner);
        times[place].push(ms);
        drop(times);
        thread::park_timeout(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_a_hundred_is_the_99th_percentile() {
        let took = Took {
            what: "",
            ms: (1..=100).map(f64::from).collect(),
        };

        assert_eq!((took.quantile(0.5), took.quantile(0.99)), (51.0, 100.0));
    }
}
