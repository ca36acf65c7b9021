//! The ports of the benchmark: both sides send templates in turn, and accept all frames.

use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use frame::{Frame, Pool, Port, Transmitted, Vector};

use super::packets::Templates;

/// State shared by both ports of a worker: the templates, the time of the last received vector, and
/// the counts of transmitted frames.
#[derive(Default)]
pub(super) struct Meter {
    received: AtomicU64,
    /// Number of received frames. Bytes limit a vector of long frames.
    taken: AtomicU64,
    sent: AtomicU64,
    /// Clock cycles from received to transmitted vectors.
    clocks: AtomicU64,
    /// Number of the port that receives the next vector.
    turn: AtomicU16,
    /// Both ports send.
    both: AtomicBool,
    templates: [Mutex<Option<Templates>>; 2],
    /// Transmitted frames are recorded.
    recording: AtomicBool,
    record: Mutex<Vec<Record>>,
}

/// Counts of a worker's ports.
pub(super) struct Counts {
    /// Number of received frames.
    pub(super) received: u64,
    /// Number of transmitted frames.
    pub(super) sent: u64,
    /// Clock cycles from received to transmitted vectors.
    pub(super) clocks: u64,
}

/// A transmitted frame, with the number of its port.
pub(super) type Record = (u16, Vec<u8>);

impl Meter {
    /// Sets the templates that each side sends from now on.
    pub(super) fn load(&self, templates: [Option<Templates>; 2]) {
        self.both.store(templates[1].is_some(), Ordering::Relaxed);
        self.turn.store(0, Ordering::Relaxed);
        for (place, templates) in self.templates.iter().zip(templates) {
            if let Ok(mut place) = place.lock() {
                *place = templates;
            }
        }
    }

    /// Sets the templates of the far side, which then sends in turn.
    pub(super) fn answer(&self, templates: Templates) {
        if let Ok(mut place) = self.templates[1].lock() {
            *place = Some(templates);
        }
        self.both.store(true, Ordering::Relaxed);
    }

    /// Passes the turn to the other side, if both send.
    pub(super) fn turn(&self) {
        if self.both.load(Ordering::Relaxed) {
            self.turn.fetch_xor(1, Ordering::Relaxed);
        }
    }

    /// Returns the counts since the last call.
    pub(super) fn take(&self) -> Counts {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        Counts {
            received: take(&self.taken),
            sent: take(&self.sent),
            clocks: take(&self.clocks),
        }
    }

    /// Starts or stops recording transmitted frames.
    pub(super) fn record(&self, on: bool) {
        self.recording.store(on, Ordering::Relaxed);
    }

    /// Returns the recorded frames, in order of transmission.
    pub(super) fn recorded(&self) -> Vec<Record> {
        let record = self.record.lock().map(|mut record| record.split_off(0));
        record.unwrap_or_default()
    }

    /// Counts frames that a port transmitted.
    fn transmitted(&self, port: u16, frames: &[Frame]) {
        let now = kernels::tsc();
        // For a second transmission of one vector, the time counts from the first.
        let since = self.received.swap(now, Ordering::Relaxed);
        let clocks = now.wrapping_sub(since);
        self.clocks.fetch_add(clocks, Ordering::Relaxed);
        self.sent.fetch_add(frames.len() as u64, Ordering::Relaxed);
        if self.recording.load(Ordering::Relaxed)
            && let Ok(mut record) = self.record.lock()
        {
            record.extend(frames.iter().map(|frame| (port, frame.bytes().to_vec())));
        }
    }
}

/// A port that has a full vector whenever it is its turn, and accepts all frames for transmission.
pub(super) struct End {
    number: u16,
    meter: Arc<Meter>,
}

impl End {
    /// Creates the port with this number, 0 or 1.
    pub(super) fn new(number: u16, meter: Arc<Meter>) -> Self {
        Self { number, meter }
    }
}

impl Port for End {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        if self.meter.turn.load(Ordering::Relaxed) != self.number {
            return 0;
        }
        let mut count = 0;
        if let Ok(mut templates) = self.meter.templates[usize::from(self.number)].lock()
            && let Some(templates) = &mut *templates
        {
            while into.room() > 0
                && let Some(mut frame) = pool.alloc_from(templates.next())
            {
                templates.seal(frame.bytes_mut());
                if let Err(frame) = into.push(frame) {
                    pool.free(frame);
                    break;
                }
                count += 1;
            }
        }
        self.meter.taken.fetch_add(count as u64, Ordering::Relaxed);
        self.meter.received.store(kernels::tsc(), Ordering::Relaxed);
        count
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        self.meter.transmitted(self.number, frames);
        let sent = frames.len() as u32;
        for frame in frames.drain(..) {
            pool.free(frame);
        }
        Transmitted { sent, dropped: 0 }
    }
}
