//! Busy ports, which every step polls, and quiet ports, of which there may be thousands: a step
//! makes one check for all quiet ports ([`Crowd`]), and serves those with received or queued
//! frames.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use frame::{Crowd, Frame};

/// The crowd that reports a quiet port, and the port's number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    crowd: usize,
    number: u32,
}

/// The ports of a worker by position, as a step polls them.
#[derive(Default)]
pub(crate) struct PollSet {
    /// Ports that every step polls.
    busy: Vec<u16>,
    crowds: Vec<Gathered>,
    /// Ports to receive from in this step.
    called: Vec<u16>,
    /// Quiet ports with queued frames, and quiet ports whose counters may have changed.
    pub(crate) due: Vec<u16>,
    pub(crate) touched: Vec<u16>,
    /// Memory for the queues of quiet ports, which keep none while they are empty.
    spare: Vec<Vec<Frame>>,
    quiet: usize,
}

struct Gathered {
    crowd: Arc<dyn Crowd>,
    /// Position of each member, by its number.
    members: Vec<Option<u16>>,
    count: usize,
}

impl PollSet {
    /// Registers the crowd of a quiet port, and returns the port's membership; `None` for busy
    /// ports.
    pub(crate) fn membership(
        &mut self,
        member: Option<(Arc<dyn Crowd>, u32)>,
    ) -> Option<Membership> {
        let (crowd, number) = member?;
        let same =
            |known: &Gathered| core::ptr::addr_eq(Arc::as_ptr(&known.crowd), Arc::as_ptr(&crowd));
        let known = self.crowds.iter().position(same);
        let crowd = known.unwrap_or_else(|| {
            self.crowds.push(Gathered {
                crowd,
                members: Vec::new(),
                count: 0,
            });
            self.crowds.len() - 1
        });
        Some(Membership { crowd, number })
    }

    /// Adds the port at this position.
    pub(crate) fn put(&mut self, place: u16, member: Option<Membership>) {
        let Some(Membership { crowd, number }) = member else {
            return self.busy.push(place);
        };
        let gathered = &mut self.crowds[crowd];
        let number = number as usize;
        if gathered.members.len() <= number {
            gathered.members.resize(number + 1, None);
        }
        gathered.members[number] = Some(place);
        gathered.count += 1;
        self.quiet += 1;
        // Each port is in each list once at most, so no step allocates.
        for list in [&mut self.called, &mut self.due, &mut self.touched] {
            list.reserve((self.quiet + self.busy.len()).saturating_sub(list.len()));
        }
    }

    /// Removes all ports, before they are added again.
    pub(crate) fn clear(&mut self) {
        self.busy.clear();
        self.due.clear();
        self.touched.clear();
        self.quiet = 0;
        for gathered in &mut self.crowds {
            gathered.members.fill(None);
            gathered.count = 0;
        }
    }

    /// Finds the ports to receive from. Returns their number.
    pub(crate) fn call(&mut self) -> usize {
        self.called.clear();
        self.called.extend_from_slice(&self.busy);
        for gathered in self.crowds.iter().filter(|gathered| gathered.count > 0) {
            gathered.crowd.ask(&mut |number| {
                let place = gathered.members.get(number as usize).copied().flatten();
                self.called.extend(place);
            });
        }
        self.called.len()
    }

    /// Returns the position of a port that [`Self::call`] found.
    pub(crate) fn called(&self, at: usize) -> usize {
        self.called[at].into()
    }

    /// Returns the ports that every step polls.
    pub(crate) fn busy(&self) -> &[u16] {
        &self.busy
    }

    /// Returns the number of quiet ports.
    pub(crate) fn quiet(&self) -> usize {
        self.quiet
    }

    /// Returns the file descriptors that stand for all quiet ports to wait on.
    pub(crate) fn crowds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.crowds
            .iter()
            .filter_map(|gathered| gathered.crowd.wait_fd())
    }

    /// Returns memory for a queue of `frames` frames.
    pub(crate) fn take_memory(&mut self, frames: usize) -> Vec<Frame> {
        self.spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(frames))
    }

    /// Takes back the memory of an empty queue.
    pub(crate) fn give_memory(&mut self, frames: Vec<Frame>) {
        self.spare.push(frames);
    }
}
