//! One TCP connection at maximum rate during the measurement.

use std::fmt::Display;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use lab::Lab;

/// Bytes per write and read.
const PIECE: usize = 128 << 10;
/// Warm-up of the connection.
const WARM_UP: Duration = Duration::from_millis(200);
/// Duration of a measurement.
const WINDOW: Duration = Duration::from_millis(700);
/// Timeout for the first progress.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection between two hosts of a lab, with a thread at each end.
pub(in crate::bench) struct Stream {
    flow: Arc<Flow>,
    sender: Thread,
    ends: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Flow {
    received: AtomicU64,
    /// True while the sender sends; it sleeps otherwise.
    flows: AtomicBool,
    stop: AtomicBool,
}

impl Stream {
    /// Connects from host `from` to host `to` at this address.
    pub(in crate::bench) fn open(
        lab: &Lab,
        from: &str,
        to: &str,
        address: &str,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{address}: {error}");
        let flow = Arc::new(Flow::default());
        let listener = within(lab, to, || TcpListener::bind((address, 0)).map_err(failed))?;
        let port = listener.local_addr().map_err(failed)?.port();
        let mut connection = within(lab, from, || {
            TcpStream::connect((address, port)).map_err(failed)
        })?;
        connection
            .set_write_timeout(Some(PATIENCE))
            .map_err(failed)?;
        let (mut accepted, _) = listener.accept().map_err(failed)?;
        let receiving = {
            let flow = Arc::clone(&flow);
            thread::spawn(move || receive(&mut accepted, &flow))
        };
        let sending = {
            let flow = Arc::clone(&flow);
            thread::spawn(move || send(&mut connection, &flow))
        };
        Ok(Self {
            flow,
            sender: sending.thread().clone(),
            ends: vec![sending, receiving],
        })
    }

    /// Measures one window; returns Mbit/s of payload.
    ///
    /// # Errors
    /// Nothing arrives.
    pub(super) fn rate(&self) -> Result<f64, String> {
        self.rate_over(WINDOW)
    }

    /// Measures for this duration; returns Mbit/s of payload.
    ///
    /// # Errors
    /// Nothing arrives.
    pub(in crate::bench) fn rate_over(&self, window: Duration) -> Result<f64, String> {
        self.flow.flows.store(true, Ordering::SeqCst);
        self.sender.unpark();
        thread::park_timeout(WARM_UP);
        let (start, before) = (Instant::now(), self.received());
        thread::park_timeout(window);
        let (time, bytes) = (start.elapsed().as_secs_f64(), self.received() - before);
        self.flow.flows.store(false, Ordering::SeqCst);
        self.drain();
        if bytes == 0 {
            return Err(String::from("a TCP connection came to a standstill"));
        }
        Ok(bytes as f64 * 8.0 / time / 1e6)
    }

    /// Waits until the last data has arrived, so that two paths never compete for the cores.
    fn drain(&self) {
        let until = Instant::now() + PATIENCE;
        let mut last = u64::MAX;
        while last != self.received() && Instant::now() < until {
            last = self.received();
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn received(&self) -> u64 {
        self.flow.received.load(Ordering::Relaxed)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.flow.stop.store(true, Ordering::SeqCst);
        self.sender.unpark();
        for end in self.ends.drain(..) {
            let _ = end.join();
        }
    }
}

/// Runs a function in a host, in a separate thread.
///
/// # Errors
/// The host cannot be entered, or the function's error.
pub(in crate::bench) fn within<T: Send, E: Display>(
    lab: &Lab,
    host: &str,
    act: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, String> {
    thread::scope(|scope| {
        let there = scope.spawn(|| {
            lab.enter(host).map_err(|error| error.to_string())?;
            act().map_err(|error| format!("{host}: {error}"))
        });
        let ended = |_| String::from("a thread of the benchmark panicked");
        there.join().map_err(ended)?
    })
}

fn send(connection: &mut TcpStream, flow: &Flow) {
    let piece = vec![0x5a; PIECE];
    while !flow.stop.load(Ordering::SeqCst) {
        if !flow.flows.load(Ordering::SeqCst) {
            thread::park();
        } else if connection.write_all(&piece).is_err() {
            // The write failed: the connection is unusable, and the receiver counts nothing more.
            return;
        }
    }
}

fn receive(connection: &mut TcpStream, flow: &Flow) {
    let mut piece = vec![0; PIECE];
    while let Ok(bytes @ 1..) = connection.read(&mut piece) {
        flow.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
