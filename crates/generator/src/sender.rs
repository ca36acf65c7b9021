//! Sending side of a test: which stream sends its next frame when, and the frame's bytes.

use std::sync::Arc;

use machine::Instant;

use crate::counters::Counters;
use crate::footer::Footer;
use crate::pace::{Pace, Rate};
use crate::template::{Template, TemplateState};

/// Configuration of one stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Stream id in the footer.
    pub id: u8,
    /// Frame lengths without FCS in bytes, smallest and largest; lengths between them take turns.
    pub bytes: (usize, usize),
    /// Rate.
    pub rate: Rate,
    /// Number of frames; `None` is unlimited.
    pub count: Option<u64>,
    /// Its frames.
    pub template: Arc<Template>,
}

/// A frame that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueFrame {
    /// Position of the stream in the list passed to [`Sender::new`].
    pub stream: usize,
    /// Length of the frame.
    pub bytes: usize,
}

/// Sender of one worker.
#[derive(Debug)]
pub struct Sender {
    streams: Vec<StreamState>,
    counters: Arc<Counters>,
    /// Stream that is asked first.
    turn: usize,
    seed: u64,
}

#[derive(Debug)]
struct StreamState {
    stream: Stream,
    position: Option<usize>,
    pace: Pace,
    template: TemplateState,
    sequence: u64,
    bytes: usize,
}

impl Sender {
    /// Creates a sender of these streams. A driver that was late catches up `burst_nanos` at most. `seed` starts the
    /// random fields.
    pub fn new(streams: Vec<Stream>, counters: Arc<Counters>, burst_nanos: u64, seed: u64) -> Self {
        let streams = streams.into_iter().map(|stream| StreamState {
            position: counters.position(stream.id),
            pace: Pace::new(stream.rate, burst_nanos),
            template: stream.template.state(),
            sequence: 0,
            bytes: stream.bytes.0,
            stream,
        });
        Self {
            streams: streams.collect(),
            counters,
            turn: 0,
            seed: seed | 1,
        }
    }

    /// Counters of this worker.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Returns a frame that is due now; streams take turns. `None` if no stream may send.
    #[inline]
    pub fn due(&mut self, now: Instant) -> Option<DueFrame> {
        for _ in 0..self.streams.len() {
            let at = self.turn;
            self.turn = if at + 1 < self.streams.len() {
                at + 1
            } else {
                0
            };
            let stream = &mut self.streams[at];
            if !stream.is_done() && stream.pace.is_due(now) {
                let bytes = stream.bytes;
                return Some(DueFrame { stream: at, bytes });
            }
        }
        None
    }

    /// Writes the frame that [`Self::due`] returned into `frame`, which has its length, and counts the frame as sent.
    #[inline]
    pub fn write(&mut self, due: DueFrame, now: Instant, frame: &mut [u8]) {
        let Some(state) = self.streams.get_mut(due.stream) else {
            return;
        };
        let footer = Footer {
            test: self.counters.test,
            stream: state.stream.id,
            sequence: state.sequence as u32,
            sent_nanos: Footer::time(now),
            checksum: None,
        };
        let seed = &mut self.seed;
        let template = &state.stream.template;
        template.write(&mut state.template, footer, frame, &mut || random(seed));
        state.pace.sent(frame.len());
        state.sequence += 1;
        let (first, last) = state.stream.bytes;
        state.bytes = if state.bytes >= last {
            first
        } else {
            state.bytes + 1
        };
        if let Some(at) = state.position {
            let (_, counters) = &self.counters.streams()[at];
            counters.sent.add(1);
            counters.sent_bytes.add(frame.len() as u64);
        }
    }

    /// True after the last frame of all streams.
    pub fn is_done(&self) -> bool {
        self.streams.iter().all(StreamState::is_done)
    }

    /// Time of the next frame; `None` if none is left.
    pub fn deadline(&self) -> Option<Instant> {
        let left = self.streams.iter().filter(|stream| !stream.is_done());
        left.map(|stream| stream.pace.deadline().unwrap_or(Instant::ZERO))
            .min()
    }
}

impl StreamState {
    #[inline]
    fn is_done(&self) -> bool {
        self.stream
            .count
            .is_some_and(|count| self.sequence >= count)
    }
}

/// Next number of a xorshift generator; fields need neither secrecy nor more quality.
#[inline]
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}
