//! What is typed at a terminal, until its console or a command's page takes it, a byte at a time.
//!
//! The input queue of a terminal (POSIX.1-2017, XBD 11.1.9 and `NOFLSH` in 11.2.5): Ctrl-C does
//! not queue up behind what was typed before it. It stops the command that runs and makes the
//! queue forget what nobody has read yet; what is typed behind it waits for whoever reads next.
//! `Q` does so where a command would go on for ever. A Ctrl-C that finds nothing to stop is a key:
//! it leads out of a page of help, a search, a line.
//!
//! Whoever hears the terminal presses keys, in a thread or a task; the console's thread takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::keys::INTERRUPT;
use script::Interrupt;
use tokio::sync::Notify;

/// Bytes that may be typed ahead; who types more waits.
const TYPED_AHEAD: usize = 1 << 20;

/// Ctrl-C as a key that nobody has read yet: more lead out of nothing that so many do not.
const INTERRUPTS: u8 = 16;

/// What is new at a keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Something was typed: [`Keyboard::take`] gives it.
    Typed,
    /// The terminal has so many columns and rows now.
    Resized(u16, u16),
    /// Nothing, for as long as was to be waited.
    Quiet,
    /// Nothing any more: the terminal has gone, and all that was typed is taken.
    Gone,
}

/// The keyboard of one terminal.
pub(crate) struct Keyboard {
    interrupt: Arc<Interrupt>,
    queue: Mutex<Queue>,
    /// There is something for the console's thread.
    news: Condvar,
    /// There is room for who types.
    room: Notify,
}

#[derive(Default)]
struct Queue {
    /// Ctrl-C as a key, so many times, before the bytes.
    interrupts: u8,
    bytes: VecDeque<u8>,
    /// The terminal's size, when it has changed; only the last counts.
    size: Option<(u16, u16)>,
    /// Nothing more is kept: the terminal has gone, or nobody reads.
    closed: bool,
}

impl Keyboard {
    /// A keyboard at which nothing was typed, and what stops the commands of its session.
    pub(crate) fn new(interrupt: Arc<Interrupt>) -> Arc<Self> {
        Arc::new(Self {
            interrupt,
            queue: Mutex::default(),
            news: Condvar::new(),
            room: Notify::new(),
        })
    }

    /// Types bytes; waits while too many are ahead of the console.
    pub(crate) async fn press(&self, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            rest = self.press_some(rest);
            if rest.is_empty() {
                return;
            }
            self.room.notified().await;
        }
    }

    /// Types as many bytes as there is room for; gives the others.
    fn press_some<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let mut queue = self.queue();
        let mut done = 0;
        // What stands before a Ctrl-C needs no room.
        let forgotten = bytes.iter().rposition(|byte| *byte == INTERRUPT);
        for byte in bytes {
            let full = queue.bytes.len() >= TYPED_AHEAD && !queue.closed;
            if full && forgotten.is_none_or(|last| done > last) {
                break;
            }
            if !full || *byte == INTERRUPT {
                self.key(&mut queue, *byte);
            }
            done += 1;
        }
        self.news.notify_all();
        &bytes[done..]
    }

    fn key(&self, queue: &mut Queue, byte: u8) {
        let quits = matches!(byte, b'q' | b'Q') && self.interrupt.is_watched();
        if byte == INTERRUPT {
            queue.bytes.clear();
            if !self.interrupt.press() && !queue.closed {
                queue.interrupts = (queue.interrupts + 1).min(INTERRUPTS);
            }
        } else if quits && self.interrupt.stop() {
            queue.bytes.clear();
        } else if !queue.closed {
            queue.bytes.push_back(byte);
        }
    }

    /// Nothing more will be typed: as if Ctrl-D were, behind all that was. It needs no room, but a
    /// peer that says so again and again is heard once.
    pub(crate) fn end(&self) {
        const END_OF_INPUT: u8 = 4;
        let mut queue = self.queue();
        if queue.bytes.back() != Some(&END_OF_INPUT) {
            self.key(&mut queue, END_OF_INPUT);
        }
        drop(queue);
        self.news.notify_all();
    }

    /// Hears of another size of the terminal.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.queue().size = Some((columns, rows));
        self.news.notify_all();
    }

    /// The terminal has gone: whatever runs in its session stops.
    pub(crate) fn close(&self) {
        self.interrupt.close();
        self.deafen();
    }

    /// Nobody reads any more: what is typed is not kept, but for Ctrl-C, which stops what runs.
    pub(crate) fn deafen(&self) {
        self.queue().closed = true;
        self.news.notify_all();
        self.room.notify_one();
    }

    /// The next byte, if one was typed.
    pub(crate) fn take(&self) -> Option<u8> {
        self.pop(&mut self.queue())
    }

    /// Waits for the next byte, for so long at most; none when none came, the command that runs is to
    /// stop, or the terminal has gone. It looks every `look` whether somebody else has stopped the
    /// command.
    pub(crate) fn wait(&self, look: Duration, span: Option<Duration>) -> Option<u8> {
        let until = span.and_then(|span| Instant::now().checked_add(span));
        let mut queue = self.queue();
        loop {
            if self.interrupt.is_on() {
                return None;
            }
            let byte = self.pop(&mut queue);
            if byte.is_some() || queue.closed {
                return byte;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return None;
            }
            let woken = self
                .news
                .wait_timeout(queue, left.map_or(look, |left| left.min(look)));
            (queue, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until something is new, for so long at most.
    pub(crate) fn next(&self, span: Duration) -> Event {
        let quiet = |queue: &mut Queue| queue.size.is_none() && queue.is_empty() && !queue.closed;
        let waited = self.news.wait_timeout_while(self.queue(), span, quiet);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match queue.size.take() {
            Some((columns, rows)) => Event::Resized(columns, rows),
            None if !queue.is_empty() => Event::Typed,
            None if queue.closed => Event::Gone,
            None => Event::Quiet,
        }
    }

    fn pop(&self, queue: &mut Queue) -> Option<u8> {
        if queue.interrupts > 0 {
            queue.interrupts -= 1;
            self.interrupt.taken();
            return Some(INTERRUPT);
        }
        let byte = queue.bytes.pop_front();
        // Not at every byte: who types a lot is woken for a lot of room.
        if queue.bytes.len() == TYPED_AHEAD / 2 {
            self.room.notify_one();
        }
        byte
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn is_empty(&self) -> bool {
        self.interrupts == 0 && self.bytes.is_empty()
    }
}

#[cfg(test)]
pub(crate) mod tests;
