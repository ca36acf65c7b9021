//! How a worker with nothing to do sleeps: until one of its ports is readable, somebody wakes it,
//! or a time is over (epoll(7), eventfd(2)).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::sys;

/// More than a worker has ports; what does not fit is told by the next call.
const EVENTS: usize = 64;
/// What the waker's event carries instead of a port's descriptor.
const WAKER: u64 = u64::MAX;

/// Wakes a worker that sleeps; may be cloned and given to any thread. Waking one that is awake
/// makes its next sleep end at once.
#[derive(Clone, Debug)]
pub struct Waker {
    event: Arc<OwnedFd>,
}

impl Waker {
    /// Wakes the worker. One system call.
    pub fn wake(&self) {
        // A counter that is full has woken it already.
        let _ = rustix::io::write(&*self.event, &1_u64.to_ne_bytes());
    }
}

/// Why a sleep ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// Descriptors with something to read, or with an error.
    pub ready: usize,
    /// Whether somebody woke it.
    pub by_waker: bool,
}

/// What one worker sleeps on.
///
/// Nothing is allocated but in `new`.
#[derive(Debug)]
pub struct WaitSet {
    epoll: OwnedFd,
    waker: Waker,
}

impl WaitSet {
    /// A set that only its waker ends.
    ///
    /// # Errors
    /// What the kernel says when there are no descriptors left.
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

    /// What wakes this worker.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Adds a port's `wait_fd`. It is forgotten when it is closed, or by `remove`.
    ///
    /// # Errors
    /// What the kernel says: it is there already, or cannot be waited for.
    pub fn add(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let data = epoll::EventData::new_u64(fd.as_raw_fd() as u64);
        Ok(epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)?)
    }

    /// Removes a descriptor; one that is not there is no error.
    pub fn remove(&mut self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Sleeps until a descriptor is readable, the waker is used, or the time is over; without a
    /// time, for ever.
    ///
    /// # Errors
    /// What the kernel says. A signal ends the sleep and is no error.
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

    /// Takes an error off a socket, such as that its device went down, which would end every sleep
    /// at once; what is no socket, and has an error, is dead and is removed.
    fn settle(&mut self, fd: RawFd) {
        // SAFETY: the number is used for one question and one removal; if its owner has just closed
        // it, both are answered with an error.
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
    fn a_sleeper_is_woken_by_its_waker_and_once_only() {
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
        // It was removed: it can be added again.
        assert!(set.add(reader.as_fd()).is_ok());
    }
}
