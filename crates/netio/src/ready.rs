//! Readiness of many quiet ports with one system call (epoll(7)).
//!
//! A worker polls each of its ports in every step. Thousands of ports that are nearly always idle would cost a read
//! each. They share one epoll instance instead, which a worker polls once per step ([`Crowd`]). If ports are polled
//! directly, the first one polls for all, and the others check a bit.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use frame::Crowd;
use rustix::event::{Timespec, epoll};

/// Maximum number of ports per instance; further ports are polled individually.
const MEMBERS: usize = 1 << 16;
/// Maximum number of ready ports per poll; the others follow with the next poll.
const EVENTS: usize = 64;
const NO_TIME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Ports of one worker that share a system call.
#[derive(Debug)]
pub struct Readiness {
    epoll: OwnedFd,
    /// Number of polls. Only the worker writes this counter and sets bits, so there is no contention.
    rounds: AtomicU64,
    /// One bit per member: it is ready to read.
    bits: Box<[AtomicU64]>,
    /// Free slots, and the first slot that was never used.
    places: Mutex<(Vec<u32>, u32)>,
}

impl Readiness {
    /// Creates an instance without ports.
    ///
    /// # Errors
    /// Fails if the process has no file descriptors left.
    pub fn new() -> io::Result<Arc<Self>> {
        let bits = (0..MEMBERS / 64).map(|_| AtomicU64::new(0));
        Ok(Arc::new(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            rounds: AtomicU64::new(0),
            bits: bits.collect(),
            places: Mutex::default(),
        }))
    }

    /// Number of polls.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Adds a port while the others keep working.
    pub(crate) fn join(self: &Arc<Self>, fd: BorrowedFd<'_>) -> io::Result<Member> {
        let full = || io::Error::other("too many ports share a worker's system call");
        let place = self.take_place().ok_or_else(full)?;
        let member = Member {
            of: Arc::clone(self),
            place,
            seen: self.rounds(),
        };
        let data = epoll::EventData::new_u64(place.into());
        // Dropping the member frees its slot.
        epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)?;
        Ok(member)
    }

    fn take_place(&self) -> Option<u32> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let (back, next) = &mut *places;
        if let Some(place) = back.pop() {
            return Some(place);
        }
        let place = *next;
        (place < MEMBERS as u32).then(|| {
            *next += 1;
            place
        })
    }

    fn give_back(&self, place: u32) {
        self.take_bit(place);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.0.push(place);
    }

    fn take_bit(&self, place: u32) -> bool {
        let (word, bit) = (&self.bits[place as usize / 64], 1 << (place % 64));
        // Most bits are clear, and a clear bit needs no write.
        word.load(Ordering::Relaxed) & bit != 0
            && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Polls the kernel for ready members.
    fn ask(&self, ready: &mut dyn FnMut(u32)) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let mut events = [MaybeUninit::uninit(); EVENTS];
        let Ok((found, _)) = epoll::wait(&self.epoll, &mut events[..], Some(&NO_TIME)) else {
            return;
        };
        for event in found {
            let place = event.data.u64() as usize;
            if let Some(word) = self.bits.get(place / 64) {
                word.fetch_or(1 << (place % 64), Ordering::Relaxed);
                ready(place as u32);
            }
        }
    }
}

impl Crowd for Readiness {
    fn ask(&self, ready: &mut dyn FnMut(u32)) {
        Self::ask(self, ready);
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.epoll.as_fd())
    }
}

/// Membership of a port.
#[derive(Debug)]
pub(crate) struct Member {
    of: Arc<Readiness>,
    place: u32,
    /// Last poll that this member saw.
    seen: u64,
}

impl Member {
    /// True if there may be something to read. A member that asks twice starts a new poll.
    pub(crate) fn is_ready(&mut self) -> bool {
        if self.of.rounds() == self.seen {
            self.of.ask(&mut |_| ());
        }
        self.seen = self.of.rounds();
        self.of.take_bit(self.place)
    }

    /// Returns the instance and the member's number.
    pub(crate) fn crowd(&self) -> (Arc<dyn Crowd>, u32) {
        (Arc::clone(&self.of) as Arc<dyn Crowd>, self.place)
    }

    /// Descriptor that an idle worker waits on; shared by all members.
    pub(crate) fn wait_fd(&self) -> BorrowedFd<'_> {
        self.of.epoll.as_fd()
    }

    /// Removes a port with an error, such as a deleted device, from the epoll set.
    pub(crate) fn leave(&self, fd: BorrowedFd<'_>) {
        let _ = epoll::delete(&self.of.epoll, fd);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.of.give_back(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_registration_leaves_its_slot_free() {
        let readiness = Readiness::new().expect("descriptors");
        // epoll rejects regular files, which are always readable.
        let file = std::fs::File::open("/proc/self/exe").expect("this program");
        readiness.join(file.as_fd()).expect_err("it is no port");

        let (one, two) = (
            Readiness::new().expect("one"),
            Readiness::new().expect("two"),
        );
        let first = readiness.join(one.epoll.as_fd()).expect("a port");
        let second = readiness.join(two.epoll.as_fd()).expect("another");
        assert_ne!(first.place, second.place);
    }
}
