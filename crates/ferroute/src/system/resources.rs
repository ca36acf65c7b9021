//! Hardware and load of the machine for `/system/resource` (proc(5), sysfs(5)).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use router::drive::{Core, Resources};
use tool::HostTime;

use super::threads::Threads;

/// Nanoseconds per clock tick of `/proc/stat`: Linux reports 100 a second whatever its own rate (`USER_HZ`).
const TICK_NS: u64 = 10_000_000;

/// Interval of measurements.
const INTERVAL: Duration = Duration::from_secs(1);

/// Periodic measurement of the machine.
pub(crate) struct Watch {
    state: PathBuf,
    known: Resources,
    /// Clock ticks of all cores together, and of each core.
    ticks: Vec<Ticks>,
    threads: Threads,
    started: Instant,
    due: Instant,
}

impl Watch {
    /// Creates the measurement; `state` selects the disk.
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
            system_id: system_id(),
            ..Resources::default()
        };
        Self {
            state: state.to_owned(),
            known,
            ticks: ticks(&statistics()),
            threads: Threads::default(),
            started: Instant::now(),
            due: Instant::now(),
        }
    }

    /// Returns a new measurement if one is due.
    pub(crate) fn look(&mut self) -> Option<Resources> {
        if Instant::now() < self.due {
            return None;
        }
        self.due = Instant::now() + INTERVAL;
        self.known.free_memory = memory_bytes("MemAvailable");
        self.known.total_memory = memory_bytes("MemTotal");
        if let Ok(disk) = rustix::fs::statvfs(&self.state) {
            self.known.free_disk = disk.f_bavail * disk.f_frsize;
            self.known.total_disk = disk.f_blocks * disk.f_frsize;
        }
        let counted = fs::read_to_string("/proc/self/net/snmp").unwrap_or_default();
        self.known.tcp = group(&counted, "Tcp:");
        self.known.udp = group(&counted, "Udp:");
        self.known.sectors_written = sectors_written();
        let total = disk_sectors(&self.state).unwrap_or_default();
        self.known.sectors_written_total = total.max(self.known.sectors_written);
        let before = std::mem::replace(&mut self.ticks, ticks(&statistics()));
        let mut cores = self
            .ticks
            .iter()
            .zip(&before)
            .map(|(now, then)| now.since(then));
        if let Some(all) = cores.next() {
            self.known.cpu_load = all.load;
        }
        self.known.cores = cores.collect();
        self.known.time = self.ticks.first().map(|all| HostTime {
            at: nanoseconds(self.started.elapsed()),
            processors: self.known.cores.len() as u64,
            busy: all.busy * TICK_NS,
            interrupts: all.interrupts * TICK_NS,
            stolen: all.stolen * TICK_NS,
            threads: self.threads.read(),
        });
        Some(self.known.clone())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns a value of `/proc/meminfo` in bytes; 0 if it is missing.
pub(crate) fn memory_bytes(name: &str) -> u64 {
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes =
        field(&memory, name).and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Returns the value of the first line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text
        .lines()
        .find(|line| line.split(':').next().is_some_and(|n| n.trim() == name))?;
    Some(line.split_once(':')?.1.trim())
}

/// Returns the counters of a protocol in `/proc/net/snmp`: its second line, after the names.
fn group(counted: &str, name: &str) -> Vec<i64> {
    let mut lines = counted.lines().filter_map(|line| line.strip_prefix(name));
    let numbers = lines.nth(1).unwrap_or_default().split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// Returns the identifier of the machine: 64 bits in base64, hashed from machine-id(5), which should not be
/// published.
fn system_id() -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let machine = fs::read("/etc/machine-id").unwrap_or_default();
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(PRIME);
    let sum = b"ferroute".iter().chain(&machine).fold(OFFSET, mix);
    STANDARD_NO_PAD.encode(sum.to_be_bytes())
}

/// Bytes per sector in kernel statistics, whatever the disk uses (`Documentation/admin-guide/iostats.rst` of
/// Linux).
const SECTOR_BYTES: u64 = 512;

/// Returns the sectors that this process caused to be written.
fn sectors_written() -> u64 {
    let counters = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let bytes = field(&counters, "write_bytes").and_then(|text| text.parse::<u64>().ok());
    bytes.unwrap_or(0) / SECTOR_BYTES
}

/// Returns the sectors written to the disk of a folder; `None` if it is on no disk.
fn disk_sectors(folder: &Path) -> Option<u64> {
    let device = rustix::fs::stat(folder).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let disks = fs::read_to_string("/proc/diskstats").ok()?;
    disks.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_it = words.first()?.parse() == Ok(major) && words.get(1)?.parse() == Ok(minor);
        // Fields after numbers and name: reads, merged reads, sectors read, time, writes, merged writes,
        // sectors written.
        is_it.then(|| words.get(9)?.parse().ok())?
    })
}

/// Load of all processors together since the last measurement.
#[derive(Debug, Default)]
pub(crate) struct CpuLoad {
    ticks: Ticks,
}

impl CpuLoad {
    /// Returns the load since the last call in percent; at the first call, since boot.
    pub(crate) fn percent(&mut self) -> u8 {
        let now = { ticks(&statistics()).into_iter() }
            .next()
            .unwrap_or_default();
        let before = std::mem::replace(&mut self.ticks, now);
        u8::try_from(self.ticks.since(&before).load).unwrap_or(100)
    }
}

/// Clock ticks since boot.
#[derive(Clone, Debug, Default)]
struct Ticks {
    all: u64,
    busy: u64,
    interrupts: u64,
    disk: u64,
    /// Ticks in which the hypervisor ran others.
    stolen: u64,
}

impl Ticks {
    /// Parses a processor line: name, then user, nice, system, idle, iowait, irq, softirq, steal.
    fn of(line: &str) -> Option<Self> {
        let line = line.strip_prefix("cpu")?;
        let numbers = line.split_whitespace();
        // A core's number follows the word directly.
        let numbers = numbers.skip(usize::from(!line.starts_with(' ')));
        let numbers: Vec<u64> = numbers
            .take(8)
            .filter_map(|text| text.parse().ok())
            .collect();
        let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
        let all = numbers.iter().sum();
        Some(Self {
            all,
            busy: all - at(3) - at(4),
            interrupts: at(5) + at(6),
            disk: at(4),
            stolen: at(7),
        })
    }

    /// Returns the load since an earlier value, in percent.
    fn since(&self, then: &Self) -> Core {
        let all = self.all.saturating_sub(then.all);
        let percent = |now: u64, then: u64| {
            let share = now.saturating_sub(then) * 100;
            share.checked_div(all).unwrap_or(0).min(100)
        };
        Core {
            load: percent(self.busy, then.busy),
            interrupts: percent(self.interrupts, then.interrupts),
            disk: percent(self.disk, then.disk),
        }
    }
}

fn statistics() -> String {
    fs::read_to_string("/proc/stat").unwrap_or_default()
}

/// Parses the ticks of all cores together, then of each core.
fn ticks(statistics: &str) -> Vec<Ticks> {
    statistics.lines().map_while(Ticks::of).collect()
}

fn board() -> String {
    let name = fs::read_to_string("/sys/class/dmi/id/product_name").unwrap_or_default();
    match name.trim() {
        "" => String::from("Linux"),
        name => name.to_owned(),
    }
}

/// Returns the modification time of this program's file, shown as build time.
fn build_time() -> String {
    let made = std::env::current_exe()
        .and_then(|path| path.metadata())
        .and_then(|file| file.modified());
    let since = made
        .ok()
        .and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    let clock = menu::Clock {
        unix_seconds: since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0)),
        ..menu::Clock::utc(0)
    };
    clock.date_time()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_only_by_its_full_name() {
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

    #[test]
    fn each_core_has_its_own_load() {
        let then = ticks("cpu  10 0 10 100 0 0 0 0 0 0\ncpu0 10 0 10 0 0 0 0 0\ncpu1 0 0 0 100\n");
        let now =
            "cpu  40 0 20 150 10 5 5 0 0 0\ncpu0 40 0 20 0 0 5 5 0\ncpu1 0 0 0 150 50\nintr 9";
        let now = ticks(now);

        let cores: Vec<_> = now
            .iter()
            .zip(&then)
            .map(|(now, then)| now.since(then))
            .collect();
        let all = cores
            .iter()
            .map(|core| (core.load, core.interrupts, core.disk));
        assert_eq!(
            all.collect::<Vec<_>>(),
            [(45, 9, 9), (100, 20, 0), (0, 0, 50)]
        );
    }
}
