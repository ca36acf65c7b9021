//! Load of the client, and arrival times at the server. Both ends are threads of one process, and share its clock.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::Lab;

/// Address of the server.
const SERVER: &str = "203.0.113.1:5201";
/// Number of flows of the load.
const FLOWS: usize = 8;
/// Datagram sizes of load and probes, in bytes.
const BULK: usize = 1_200;
const PROBE: usize = 60;
/// Headers of a frame, in bytes.
const HEADERS: usize = 14 + 20 + 8;
/// Interval of probes, and of load bursts.
const PROBE_EVERY: Duration = Duration::from_millis(5);
const STEP: Duration = Duration::from_millis(1);
/// Distance of the points of a line, in seconds.
const WINDOW: f64 = 0.1;
/// Time that the server waits for datagrams in flight.
const QUIET: Duration = Duration::from_millis(300);

/// The load: only probes in the first and the last fifth of the time.
pub(super) struct Load {
    pub(super) seconds: f64,
    /// Rate of frames in Mbit/s.
    pub(super) megabits: f64,
}

impl Load {
    /// Returns the begin and the end of the load in seconds.
    fn span(&self) -> (f64, f64) {
        (self.seconds * 0.2, self.seconds * 0.8)
    }
}

/// A received datagram; times in seconds since the begin.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    sent: f64,
    at: f64,
    bytes: usize,
}

/// Received datagrams.
#[derive(Debug)]
pub(super) struct Course {
    arrivals: Vec<Arrival>,
    span: (f64, f64),
}

/// Sends the load, and records arrivals.
///
/// # Errors
/// The kernel's error.
pub(super) fn run(lab: &Lab, load: &Load) -> Result<Course, String> {
    let begin = Instant::now();
    let done = AtomicBool::new(false);
    let arrivals = thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let done = &done;
        let server = scope.spawn(move || {
            lab.enter("server").map_err(|error| error.to_string())?;
            let socket = UdpSocket::bind(SERVER).map_err(|error| format!("{SERVER}: {error}"))?;
            _ = tell.send(());
            receive(&socket, begin, done).map_err(|error| format!("the server: {error}"))
        });
        let client = scope.spawn(move || {
            lab.enter("client").map_err(|error| error.to_string())?;
            told.recv()
                .map_err(|_| String::from("the server does not listen"))?;
            let sent = send(begin, load).map_err(|error| format!("the client: {error}"));
            done.store(true, Ordering::Relaxed);
            sent
        });
        let sent = client
            .join()
            .map_err(|_| String::from("the client ended"))?;
        done.store(true, Ordering::Relaxed);
        let arrivals = server
            .join()
            .map_err(|_| String::from("the server ended"))?;
        sent.and(arrivals)
    })?;
    let (from, to) = load.span();
    let start = arrivals.first().map_or(0.0, |first| first.sent);
    let shifted = arrivals.into_iter().map(|one| Arrival {
        sent: one.sent - start,
        at: one.at - start,
        ..one
    });
    Ok(Course {
        arrivals: shifted.collect(),
        span: (from, to),
    })
}

fn send(begin: Instant, load: &Load) -> io::Result<()> {
    let open = || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(SERVER)?;
        io::Result::Ok(socket)
    };
    let probe = open()?;
    let flows = (0..FLOWS).map(|_| open()).collect::<io::Result<Vec<_>>>()?;
    let own = Instant::now();
    let (from, to) = load.span();
    let per_second = load.megabits * 1e6 / 8.0 / (BULK + HEADERS) as f64;
    let (mut sent, mut next_probe) = (0_u64, Duration::ZERO);
    loop {
        let now = own.elapsed();
        let seconds = now.as_secs_f64();
        if seconds >= load.seconds {
            return Ok(());
        }
        if now >= next_probe {
            let stamp = begin.elapsed().as_nanos() as u64;
            ignore_full(probe.send(&datagram(stamp, PROBE)))?;
            next_probe = now + PROBE_EVERY;
        }
        let due = ((seconds.min(to) - from).max(0.0) * per_second) as u64;
        while sent < due {
            let stamp = begin.elapsed().as_nanos() as u64;
            let flow = &flows[sent as usize % FLOWS];
            ignore_full(flow.send(&datagram(stamp, BULK)))?;
            sent += 1;
        }
        thread::park_timeout(STEP);
    }
}

/// Datagrams without room in the kernel are lost, as on any link.
fn ignore_full(sent: io::Result<usize>) -> io::Result<()> {
    match sent {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        // The server did not listen yet when the first datagram arrived.
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        sent => sent.map(|_| ()),
    }
}

fn datagram(stamp: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    bytes[..8].copy_from_slice(&stamp.to_be_bytes());
    bytes
}

fn receive(socket: &UdpSocket, begin: Instant, done: &AtomicBool) -> io::Result<Vec<Arrival>> {
    socket.set_read_timeout(Some(QUIET))?;
    let (mut arrivals, mut bytes) = (Vec::new(), [0; 2_048]);
    loop {
        match socket.recv(&mut bytes) {
            Ok(len) => {
                let at = begin.elapsed().as_secs_f64();
                let stamp = bytes
                    .first_chunk()
                    .map_or(0, |stamp| u64::from_be_bytes(*stamp));
                let sent = stamp as f64 / 1e9;
                arrivals.push(Arrival {
                    sent,
                    at,
                    bytes: len,
                });
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                if done.load(Ordering::Relaxed) {
                    return Ok(arrivals);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

impl Course {
    /// Returns the rate of frames in Mbit/s, by window.
    pub(super) fn rates(&self) -> Vec<(f64, f64)> {
        let end = self.arrivals.iter().map(|one| one.at).fold(0.0, f64::max);
        let mut bits = vec![0.0; (end / WINDOW) as usize + 1];
        for one in &self.arrivals {
            bits[(one.at.max(0.0) / WINDOW) as usize] += ((one.bytes + HEADERS) * 8) as f64;
        }
        let points = bits.into_iter().enumerate();
        points
            .map(|(at, bits)| ((at as f64 + 0.5) * WINDOW, bits / WINDOW / 1e6))
            .collect()
    }

    /// Returns the median latency of probes in milliseconds, by window.
    pub(super) fn delays(&self) -> Vec<(f64, f64)> {
        let mut windows: std::collections::BTreeMap<u64, Vec<f64>> =
            std::collections::BTreeMap::new();
        for one in self.probes() {
            windows
                .entry((one.sent.max(0.0) / WINDOW) as u64)
                .or_default()
                .push((one.at - one.sent) * 1e3);
        }
        let point = |(at, mut delays): (u64, Vec<f64>)| {
            ((at as f64 + 0.5) * WINDOW, quantile(&mut delays, 0.5))
        };
        windows.into_iter().map(point).collect()
    }

    /// Returns the rate under load in Mbit/s, without the first tenth.
    pub(super) fn rate_under_load(&self) -> f64 {
        let (from, to) = self.span;
        let from = from + (to - from) / 10.0;
        self.megabits(from, to) / (to - from)
    }

    /// Returns the megabits of the first and second second under load.
    pub(super) fn seconds_of_load(&self) -> (f64, f64) {
        let (from, _) = self.span;
        (
            self.megabits(from, from + 1.0),
            self.megabits(from + 1.0, from + 2.0),
        )
    }

    fn megabits(&self, from: f64, to: f64) -> f64 {
        let within = self
            .arrivals
            .iter()
            .filter(|one| (from..to).contains(&one.at));
        let bytes: usize = within.map(|one| one.bytes + HEADERS).sum();
        bytes as f64 * 8.0 / 1e6
    }

    /// Returns latencies of probes in milliseconds: median without load, median and 99th percentile under load.
    pub(super) fn latency(&self) -> [f64; 3] {
        let (from, to) = self.span;
        let of = |loaded: bool| {
            let probes = self
                .probes()
                .filter(|one| (from..to).contains(&one.sent) == loaded);
            // The queue drains for a moment after the load.
            let probes = probes.filter(|one| loaded || one.sent < from);
            probes
                .map(|one| (one.at - one.sent) * 1e3)
                .collect::<Vec<_>>()
        };
        let (mut idle, mut loaded) = (of(false), of(true));
        [
            quantile(&mut idle, 0.5),
            quantile(&mut loaded, 0.5),
            quantile(&mut loaded, 0.99),
        ]
    }

    fn probes(&self) -> impl Iterator<Item = &Arrival> {
        self.arrivals.iter().filter(|one| one.bytes == PROBE)
    }
}

fn quantile(values: &mut [f64], at: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len().saturating_sub(1) as f64 * at).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_delays_are_by_window() {
        let at = |sent: f64, delay: f64, bytes| Arrival {
            sent,
            at: sent + delay,
            bytes,
        };
        let load = (0..1_000).map(|number| at(1.0 + f64::from(number) * 0.001, 0.01, BULK));
        let probes = [0.5, 1.5].map(|sent| at(sent, sent / 100.0, PROBE));
        let course = Course {
            arrivals: load.chain(probes).collect(),
            span: (1.0, 2.0),
        };
        let rate = course.rates()[15].1;
        // The number of datagrams in a window varies by one.
        assert!((rate - 1_242.0 * 8.0 / 1_000.0).abs() < 0.2, "{rate}");
        assert_eq!(course.delays().len(), 2);
        let [idle, median, _] = course.latency();
        assert!((idle - 5.0).abs() < 1e-6 && (median - 15.0).abs() < 1e-6);
        let (first, next) = course.seconds_of_load();
        assert!(first > 9.0 && next < 1.0, "{first} {next}");
    }
}
