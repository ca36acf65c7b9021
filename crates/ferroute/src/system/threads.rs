//! Processor time of the router's threads: `/proc/self/task` (proc(5)), whose `schedstat` Linux describes in
//! `Documentation/scheduler/sched-stats.rst`.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use tool::ThreadTime;

/// Maximum number of threads that are read at a time.
const MAX_THREADS: usize = 1_024;

/// Activities of threads by the beginning of their name; other threads are named `unclassified`.
const ACTIVITIES: [(&str, &str); 17] = [
    ("router", "management"),
    ("ferroute", "management"),
    ("passwords", "management"),
    ("services", "services"),
    ("client-", "console"),
    ("web-console", "console"),
    ("ssh", "ssh"),
    ("job-", "scripts"),
    ("syslog", "logging"),
    ("name", "dns"),
    ("adlist", "dns"),
    ("netwatch", "netwatch"),
    ("fetch", "fetch"),
    ("mail", "e-mail"),
    ("bandwidth", "btest"),
    ("patterns", "l7-matcher"),
    ("mirror", "host-plane"),
];

/// Times of all threads by activity; they only grow, also when threads end.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// Time on a processor and waiting time of each thread at the last reading, in nanoseconds.
    last: HashMap<u32, [u64; 2]>,
    sums: BTreeMap<String, [u64; 2]>,
}

impl Threads {
    /// Reads all threads. What a thread did after its last reading is lost when it ends.
    pub(crate) fn read(&mut self) -> Vec<ThreadTime> {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten();
        let mut now = HashMap::new();
        for thread in threads.flatten().take(MAX_THREADS) {
            let folder = thread.path();
            let number = thread
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok());
            let name = fs::read_to_string(folder.join("comm"));
            let times = fs::read_to_string(folder.join("schedstat"));
            if let (Some(number), Ok(name), Ok(times)) = (number, name, times)
                && let Some(times) = parse(&times)
            {
                self.add(number, name.trim_end(), times);
                now.insert(number, times);
            }
        }
        self.last = now;
        let sums = self.sums.iter();
        sums.map(|(name, [run, wait])| ThreadTime {
            name: name.clone(),
            run: *run,
            wait: *wait,
        })
        .collect()
    }

    fn add(&mut self, number: u32, name: &str, times: [u64; 2]) {
        let last = self.last.get(&number).copied().unwrap_or_default();
        let sum = self.sums.entry(activity(name).to_owned()).or_default();
        for ((sum, now), last) in sum.iter_mut().zip(times).zip(last) {
            // The number of an ended thread may be used again.
            *sum += now.checked_sub(last).unwrap_or(now);
        }
    }
}

/// Returns the activity of a thread; workers keep their names.
fn activity(name: &str) -> &str {
    if name.starts_with("worker-") {
        return name;
    }
    let found = ACTIVITIES.iter().find(|(own, _)| name.starts_with(own));
    found.map_or("unclassified", |(_, activity)| activity)
}

/// Parses a `schedstat`: time on a processor, and time of waiting for one, in nanoseconds.
fn parse(times: &str) -> Option<[u64; 2]> {
    let mut numbers = times.split_whitespace().map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_is_counted_under_its_activity() {
        let mut threads = Threads::default();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let work = std::thread::Builder::new().name("job-7".to_owned());
        let work = work.spawn(move || {
            let mut sum = 0_u64;
            (0..3_000_000_u64).for_each(|number| sum = std::hint::black_box(sum ^ number));
            ready.send(sum).expect("the test waits");
            let _ = stopped.recv();
        });
        let work = work.expect("a thread");
        is_ready.recv().expect("it works");
        let read = threads.read();
        let of_scripts = read.iter().find(|thread| thread.name == "scripts");
        assert!(of_scripts.is_some_and(|own| own.run > 100_000), "{read:?}");
        drop(stop);
        work.join().expect("it ends");
        let later = threads.read();
        assert!(
            later.iter().any(|thread| Some(thread) == of_scripts),
            "{later:?}"
        );
    }

    #[test]
    fn a_number_that_is_used_again_counts_anew() {
        let mut threads = Threads::default();
        threads.last.insert(5, [1_000, 10]);
        threads.add(5, "worker-1", [300, 20]);
        assert_eq!(threads.sums["worker-1"], [300, 10]);
        assert_eq!(parse("12 x 3"), None);
    }
}
