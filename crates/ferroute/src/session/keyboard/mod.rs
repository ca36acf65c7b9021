//! Input queue of a terminal, read by its console or a command's page, byte by byte.
//!
//! It follows POSIX terminals (POSIX.1-2017, XBD 11.1.9 and `NOFLSH` in 11.2.5): Ctrl-C is not queued after
//! earlier input. It stops the running command and discards unread input; later input stays for the next
//! reader. `Q` does so where a command would run forever. A Ctrl-C without a running command is a key: it
//! leaves a help page, a search, a line.
//!
//! The reader of the terminal presses keys, in a thread or a task; the console's thread takes them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use console::keys::INTERRUPT;
use script::Interrupt;
use tokio::sync::Notify;

/// Maximum input ahead of the reader in bytes; further input waits.
const MAX_TYPED_AHEAD: usize = 1 << 20;

/// Maximum number of unread Ctrl-C keys.
const MAX_INTERRUPTS: u8 = 16;

/// Event at a keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Input is available: [`Keyboard::take`] returns it.
    Typed,
    /// The terminal has a new size: columns and rows.
    Resized(u16, u16),
    /// Nothing happened during the wait.
    Quiet,
    /// The terminal is closed, and all input is taken.
    Gone,
}

/// Keyboard of one terminal.
pub(crate) struct Keyboard {
    interrupt: Arc<Interrupt>,
    queue: Mutex<Queue>,
    /// Signals events to the console's thread.
    news: Condvar,
    /// Signals room for input.
    room: Notify,
}

#[derive(Default)]
struct Queue {
    /// Unread Ctrl-C keys, which precede the bytes.
    interrupts: u8,
    bytes: VecDeque<u8>,
    /// New size of the terminal, if it changed.
    size: Option<(u16, u16)>,
    /// True if the terminal is closed or nobody reads.
    closed: bool,
}

impl Keyboard {
    /// Creates an empty keyboard with the handle that stops its session's commands.
    pub(crate) fn new(interrupt: Arc<Interrupt>) -> Arc<Self> {
        Arc::new(Self {
            interrupt,
            queue: Mutex::default(),
            news: Condvar::new(),
            room: Notify::new(),
        })
    }

    /// Types bytes; waits for room.
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

    /// Types as many bytes as fit; returns the rest.
    fn press_some<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let mut queue = self.queue();
        let mut done = 0;
        // Bytes before a Ctrl-C are discarded and need no room.
        let forgotten = bytes.iter().rposition(|byte| *byte == INTERRUPT);
        for byte in bytes {
            let full = queue.bytes.len() >= MAX_TYPED_AHEAD && !queue.closed;
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
                queue.interrupts = (queue.interrupts + 1).min(MAX_INTERRUPTS);
            }
        } else if quits && self.interrupt.stop() {
            queue.bytes.clear();
        } else if !queue.closed {
            queue.bytes.push_back(byte);
        }
    }

    /// Ends the input: like Ctrl-D after all earlier input. It needs no room, and repetitions count once.
    pub(crate) fn end(&self) {
        const END_OF_INPUT: u8 = 4;
        let mut queue = self.queue();
        if queue.bytes.back() != Some(&END_OF_INPUT) {
            self.key(&mut queue, END_OF_INPUT);
        }
        drop(queue);
        self.news.notify_all();
    }

    /// Sets a new size of the terminal.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.queue().size = Some((columns, rows));
        self.news.notify_all();
    }

    /// Closes the terminal and stops its session's commands.
    pub(crate) fn close(&self) {
        self.interrupt.close();
        self.deafen();
    }

    /// Discards further input except Ctrl-C, since nobody reads any more.
    pub(crate) fn deafen(&self) {
        self.queue().closed = true;
        self.news.notify_all();
        self.room.notify_one();
    }

    /// Takes the next byte.
    pub(crate) fn take(&self) -> Option<u8> {
        self.pop(&mut self.queue())
    }

    /// Waits at most `span` for the next byte; `None` on timeout, interruption of the running command, or a
    /// closed terminal. Checks every `look` for interruption by others.
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

    /// Waits at most `span` for an event.
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
        // Wakes the typist once there is much room, not for every byte.
        if queue.bytes.len() == MAX_TYPED_AHEAD / 2 {
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
