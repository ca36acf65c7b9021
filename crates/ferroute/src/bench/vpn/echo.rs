//! Datagrams that the far host echoes: whether a packet passes, path MTU and latency.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lab::Lab;
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, ip_mtu, set_ip_mtu_discover};

use super::{ONE, TWO, TWO_ADDRESS};
use crate::bench::tap::within;

/// Port of the echo service (RFC 862).
const PORT: u16 = 7;
/// Maximum time for an answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// Pause between two questions.
const PAUSE: Duration = Duration::from_millis(10);
/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// Payload that fills a packet of 1500 bytes.
const FULL: usize = 1_500 - HEADERS;
/// Number of full datagrams after which the path MTU is known.
const MTU_PROBES: u32 = 8;

/// The service at the host `two`; dropping the value stops it.
pub(super) struct Responder {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The asking end, at the host `one`.
pub(super) struct Probe {
    socket: UdpSocket,
}

/// Round-trip times.
#[derive(Clone, Debug, Default)]
pub(super) struct Latency {
    /// Milliseconds, sorted.
    pub(super) ms: Vec<f64>,
    pub(super) lost: u64,
}

impl Latency {
    /// Returns the median in milliseconds; 0 without answers.
    pub(super) fn median_ms(&self) -> f64 {
        self.ms.get(self.ms.len() / 2).copied().unwrap_or_default()
    }
}

impl Responder {
    /// Starts the service.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub(super) fn start(lab: &Lab) -> Result<Self, String> {
        let socket = within(lab, TWO, || {
            let socket = UdpSocket::bind((TWO_ADDRESS, PORT))?;
            socket.set_read_timeout(Some(ANSWER_WITHIN))?;
            Ok::<_, std::io::Error>(socket)
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut buffer = [0; FULL];
            while !stopped.load(Ordering::Relaxed) {
                if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                    // A lost answer is a lost question.
                    let _ = socket.send_to(&buffer[..len], from);
                }
            }
        });
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Probe {
    /// Opens the socket.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub(super) fn open(lab: &Lab) -> Result<Self, String> {
        let socket = within(lab, ONE, || {
            let socket = UdpSocket::bind(("10.1.0.2", 0))?;
            socket.connect((TWO_ADDRESS, PORT))?;
            socket.set_read_timeout(Some(ANSWER_WITHIN))?;
            set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)?;
            Ok::<_, std::io::Error>(socket)
        })?;
        Ok(Self { socket })
    }

    /// Sends a question of this many bytes, and waits for its answer; returns the round-trip time in milliseconds.
    fn ask(&self, number: u64, len: usize) -> Option<f64> {
        let mut question = vec![0; len.max(8)];
        question[..8].copy_from_slice(&number.to_be_bytes());
        let begin = Instant::now();
        // An error of an earlier datagram, or a datagram longer than the path MTU.
        self.socket.send(&question).ok()?;
        let mut answer = [0; FULL];
        while begin.elapsed() < ANSWER_WITHIN {
            let len = self.socket.recv(&mut answer).ok()?;
            if len >= 8 && answer[..8] == question[..8] {
                return Some(begin.elapsed().as_secs_f64() * 1e3);
            }
        }
        None
    }

    /// Waits until a packet passes.
    ///
    /// # Errors
    /// None passes in this time.
    pub(super) fn wait(&self, timeout: Duration) -> Result<(), String> {
        let until = Instant::now() + timeout;
        let mut number = u64::MAX;
        while Instant::now() < until {
            if self.ask(number, 8).is_some() {
                return Ok(());
            }
            number -= 1;
            thread::park_timeout(PAUSE);
        }
        Err(String::from("no packet passes"))
    }

    /// Returns the MTU of the path in bytes, as routers report it for full packets that must not be fragmented.
    ///
    /// # Errors
    /// The kernel's error.
    pub(super) fn path_mtu(&self) -> Result<u32, String> {
        for number in 0..MTU_PROBES {
            if self.ask(u64::from(number) << 32, FULL).is_some() {
                break;
            }
        }
        ip_mtu(&self.socket).map_err(|error| format!("path MTU: {error}"))
    }

    /// Sends this many IP packets of `bytes` bytes, each after the answer to the previous one.
    pub(super) fn exchange(&self, count: u64, bytes: u32) {
        for number in 0..count {
            // A lost packet is counted at both places, or was lost before the tunnel.
            let _ = self.ask(number << 16, bytes as usize - HEADERS);
        }
    }

    /// Measures round-trip times for this duration.
    pub(super) fn latency(&self, duration: Duration) -> Latency {
        let begin = Instant::now();
        let mut latency = Latency::default();
        for number in 1.. {
            if begin.elapsed() >= duration {
                break;
            }
            match self.ask(number, 8) {
                Some(ms) => latency.ms.push(ms),
                None => latency.lost += 1,
            }
            thread::park_timeout(PAUSE);
        }
        latency.ms.sort_unstable_by(f64::total_cmp);
        latency
    }
}
