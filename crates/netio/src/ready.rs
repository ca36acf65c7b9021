//! Which of many quiet ports have something to read: one system call for all of them (epoll(7)).
//!
//! A worker asks each of its ports in every step. Ports that nearly always have nothing, of which there may be
//! thousands, would cost a read each. They share one epoll instance instead, which a worker asks once in a step
//! ([`Crowd`]); who asks the ports themselves has the first of them ask for all, and the others look at a bit.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use frame::Crowd;
use rustix::event::{Timespec, epoll};

/// Ports that may share one instance; more are asked one by one.
const MEMBERS: usize = 1 << 16;
/// Ports that are told of at once; the others have their turn with the next call.
const EVENTS: usize = 64;
const NO_TIME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The ports of one worker that share a system call.
#[derive(Debug)]
pub struct Readiness {
    epoll: OwnedFd,
    /// How often the kernel was asked. The worker alone writes this and sets bits: nothing of it is contended.
    rounds: AtomicU64,
    /// A bit for each member: it has something to read.
    bits: Box<[AtomicU64]>,
    /// Places of members: those that were given back, and the first that was never given.
    places: Mutex<(Vec<u32>, u32)>,
}

impl Readiness {
    /// Of no port yet.
    ///
    /// # Errors
    /// The process has no descriptors left.
    pub fn new() -> io::Result<Arc<Self>> {
        let bits = (0..MEMBERS / 64).map(|_| AtomicU64::new(0));
        Ok(Arc::new(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            rounds: AtomicU64::new(0),
            bits: bits.collect(),
            places: Mutex::default(),
        }))
    }

    /// How often the kernel was asked.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Makes a port a member; the others' work goes on meanwhile.
    pub(crate) fn join(self: &Arc<Self>, fd: BorrowedFd<'_>) -> io::Result<Member> {
        let full = || io::Error::other("too many ports share a worker's system call");
        let place = self.take_place().ok_or_else(full)?;
        let member = Member {
            of: Arc::clone(self),
            place,
            seen: self.rounds(),
        };
        let data = epoll::EventData::new_u64(place.into());
        // A member that ends gives its place back.
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
        // Most are not set, and what is not set needs no write.
        word.load(Ordering::Relaxed) & bit != 0
            && word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Asks the kernel who has something.
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

/// A port among those that share a system call.
#[derive(Debug)]
pub(crate) struct Member {
    of: Arc<Readiness>,
    place: u32,
    /// The last round in which it was asked.
    seen: u64,
}

impl Member {
    /// Whether there may be something to read. Who is asked twice begins a new round.
    pub(crate) fn is_ready(&mut self) -> bool {
        if self.of.rounds() == self.seen {
            self.of.ask(&mut |_| ());
        }
        self.seen = self.of.rounds();
        self.of.take_bit(self.place)
    }

    /// What it is a member of, with its number.
    pub(crate) fn crowd(&self) -> (Arc<dyn Crowd>, u32) {
        (Arc::clone(&self.of) as Arc<dyn Crowd>, self.place)
    }

    /// What a worker with nothing to do waits on: the same for all members.
    pub(crate) fn wait_fd(&self) -> BorrowedFd<'_> {
        self.of.epoll.as_fd()
    }

    /// The port has an error, such as that its device is gone: it is told of no more.
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
    fn a_port_that_cannot_join_leaves_no_place_to_two_others() {
        let readiness = Readiness::new().expect("descriptors");
        // A file is always readable: epoll takes none.
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
