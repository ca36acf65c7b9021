//! Sleep of an idle worker: until a port is readable, the worker is woken, or a timeout expires (epoll(7),
//! eventfd(2)).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::sys;

/// Maximum number of events per wait, more than a worker has ports; further events follow with the next wait.
const EVENTS: usize = 64;
/// Event data of the waker, instead of a port's descriptor.
const WAKER: u64 = u64::MAX;

/// Wakes a sleeping worker; may be cloned and sent to any thread. Waking a worker that is awake ends its next sleep
/// at once.
#[derive(Clone, Debug)]
pub struct Waker {
    event: Arc<OwnedFd>,
}

impl Waker {
    /// Wakes the worker with one system call.
    pub fn wake(&self) {
        // If the counter is full, a wake-up is already pending.
        let _ = rustix::io::write(&*self.event, &1_u64.to_ne_bytes());
    }
}

/// Reason why a sleep ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Number of descriptors that are readable or have an error.
    pub ready: usize,
    /// The waker was used.
    pub by_waker: bool,
}

/// Events that one worker waits for.
///
/// Only `new` allocates.
#[derive(Debug)]
pub struct WaitSet {
    epoll: OwnedFd,
    waker: Waker,
}

impl WaitSet {
    /// Creates a set with only its waker.
    ///
    /// # Errors
    /// Returns the kernel's error if no file descriptors are left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let data = epoll::EventData::new_u64(WAKER);
        epoll::add(&epoll, &event, data, epoll::EventFlags::IN)?;
        Ok(Self {
            epoll,
            waker: Waker {
                event: Arc::new(event),
            },
        })
    }

    /// Returns the waker of this worker.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Adds a port's `wait_fd`. Closing the descriptor or `remove` removes it.
    ///
    /// # Errors
    /// Returns the kernel's error: already added, or not pollable.
    pub fn add(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(fd.as_raw_fd() as u64);
        Ok(epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Removes a descriptor; a missing one is no error.
    pub fn remove(&mut self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Sleeps until a descriptor is readable, the waker is used, or the timeout expires; without a timeout,
    /// indefinitely.
    ///
    /// # Errors
    /// Returns the kernel's error. A signal ends the sleep without an error.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Woken> {
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        let mut events = [MaybeUninit::uninit(); EVENTS];
        let events = match epoll::wait(&self.epoll, &mut events[..], timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(Woken::default()),
            other => other?.0,
        };
        let mut woken = Woken::default();
        for event in events {
            let (flags, data) = (event.flags, event.data.u64());
            if data == WAKER {
                woken.by_waker = true;
                let _ = rustix::io::read(&*self.waker.event, &mut [0; 8]);
                continue;
            }
            woken.ready += 1;
            if flags.intersects(epoll::EventFlags::ERR | epoll::EventFlags::HUP) {
                self.settle(data as RawFd);
            }
        }
        Ok(woken)
    }

    /// Clears a socket error, such as that its device went down, which would end every sleep at once. Removes
    /// non-socket descriptors with an error.
    fn settle(&mut self, fd: RawFd) {
        // SAFETY: the number is used for one query and one removal; if its owner has just closed it, both fail.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        if sys::option_u32::<1>(&fd, libc::SOL_SOCKET, libc::SO_ERROR).is_err() {
            self.remove(fd);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::thread;

    use super::*;

    #[test]
    fn a_waker_ends_exactly_one_sleep() {
        let mut set = WaitSet::new().expect("descriptors");
        let waker = set.waker();
        let sleeper = thread::spawn(move || {
            let first = set.wait(None).expect("no error");
            let second = set.wait(Some(Duration::ZERO)).expect("no error");
            (first, second)
        });

        waker.wake();

        let (first, second) = sleeper.join().expect("no panic");
        assert!(first.by_waker);
        assert_eq!(second, Woken::default());
    }

    #[test]
    fn a_readable_descriptor_ends_the_sleep_until_it_is_removed() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let mut set = WaitSet::new().expect("descriptors");
        set.add(reader.as_fd()).expect("it is new");

        rustix::io::write(&writer, b"x").expect("room");
        assert_eq!(set.wait(None).expect("no error").ready, 1);
        set.remove(reader.as_fd());

        assert_eq!(
            set.wait(Some(Duration::ZERO)).expect("no error"),
            Woken::default()
        );
    }

    #[test]
    fn a_dead_descriptor_ends_one_sleep_only() {
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let mut set = WaitSet::new().expect("descriptors");
        set.add(reader.as_fd()).expect("it is new");
        drop(writer);

        assert_eq!(set.wait(None).expect("no error").ready, 1);
        assert_eq!(
            set.wait(Some(Duration::ZERO)).expect("no error"),
            Woken::default()
        );
        // The descriptor was removed, so it can be added again.
        assert!(set.add(reader.as_fd()).is_ok());
    }
}
