//! What the machine has and how much is in use, for `/system/resource` (proc(5), sysfs(5)).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use router::drive::Resources;

/// How often it is looked at: a second is what users watch, and costs nothing.
const EVERY: Duration = Duration::from_secs(1);

/// Looks at the machine now and then.
pub(crate) struct Watch {
    state: PathBuf,
    known: Resources,
    /// Clock ticks of all cores until now: busy ones, and all.
    ticks: (u64, u64),
    due: Instant,
}

impl Watch {
    /// A watch; the state's disk is that of this folder.
    pub(crate) fn new(state: &Path) -> Self {
        let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = |name: &str| field(&information, name).map(str::to_owned);
        let known = Resources {
            version: format!("{} (stable)", schema::VERSION),
            build_time: build_time(),
            cpu: model("model name").unwrap_or_default(),
            cpu_count: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
            cpu_frequency: model("cpu MHz")
                .and_then(|mhz| mhz.parse::<f64>().ok())
                .map_or(0, |mhz| mhz as u64),
            architecture: String::from(std::env::consts::ARCH),
            board: board(),
            ..Resources::default()
        };
        Self {
            state: state.to_owned(),
            known,
            ticks: ticks(),
            due: Instant::now(),
        }
    }

    /// What there is, if it is time to look again.
    pub(crate) fn look(&mut self) -> Option<Resources> {
        if Instant::now() < self.due {
            return None;
        }
        self.due = Instant::now() + EVERY;
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let bytes = |name| {
            let kilobytes =
                field(&memory, name).and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
            kilobytes.unwrap_or(0) * 1024
        };
        self.known.free_memory = bytes("MemAvailable");
        self.known.total_memory = bytes("MemTotal");
        if let Ok(disk) = rustix::fs::statvfs(&self.state) {
            self.known.free_disk = disk.f_bavail * disk.f_frsize;
            self.known.total_disk = disk.f_blocks * disk.f_frsize;
        }
        let before = std::mem::replace(&mut self.ticks, ticks());
        let (busy, all) = (
            self.ticks.0.saturating_sub(before.0),
            self.ticks.1.saturating_sub(before.1),
        );
        if let Some(load) = (busy * 100).checked_div(all) {
            self.known.cpu_load = load;
        }
        Some(self.known.clone())
    }
}

/// The value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text
        .lines()
        .find(|line| line.split(':').next().is_some_and(|n| n.trim() == name))?;
    Some(line.split_once(':')?.1.trim())
}

/// Busy ticks and all ticks of all cores since the start.
fn ticks() -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let numbers: Vec<u64> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|number| number.parse().ok())
        .collect();
    let all = numbers.iter().sum();
    // The fourth and fifth are idle, and idle while a disk is waited for.
    let idle: u64 = numbers.iter().skip(3).take(2).sum();
    (all - idle, all)
}

fn board() -> String {
    let name = fs::read_to_string("/sys/class/dmi/id/product_name").unwrap_or_default();
    match name.trim() {
        "" => String::from("Linux"),
        name => name.to_owned(),
    }
}

/// When this program's file was made, which is what users are told of the build.
fn build_time() -> String {
    let made = std::env::current_exe()
        .and_then(|path| path.metadata())
        .and_then(|file| file.modified());
    let since = made
        .ok()
        .and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    let clock = menu::Clock {
        unix_seconds: since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0)),
        ..menu::Clock::default()
    };
    clock.date_time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "MemTotal:  24 kB\nMem: 1\ncpu MHz\t\t: 2100.5\n";

        assert_eq!(field(text, "Mem"), Some("1"));
        assert_eq!(field(text, "cpu MHz"), Some("2100.5"));
        assert_eq!(field(text, "cpu"), None);
    }

    #[test]
    fn the_machine_has_memory_and_a_processor() {
        let mut watch = Watch::new(Path::new("/"));
        let seen = watch.look().expect("the first look is due");

        assert!(seen.total_memory > seen.free_memory && seen.cpu_count > 0 && seen.total_disk > 0);
        assert!(watch.look().is_none(), "the next look is not due yet");
    }
}
