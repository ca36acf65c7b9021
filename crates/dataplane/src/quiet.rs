//! Ports that are asked in every step, and quiet ones, of which there may be thousands: those cost a step nothing
//! but one question for all ([`Crowd`]), and what has come or is to be sent.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use frame::{Crowd, Frame};

/// By which crowd a quiet port is told of, and by which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    crowd: usize,
    number: u32,
}

/// The ports of a worker by their places, as a step looks at them.
#[derive(Default)]
pub(crate) struct Places {
    /// Those that are asked in every step.
    busy: Vec<u16>,
    crowds: Vec<Gathered>,
    /// Those to receive from in this step.
    called: Vec<u16>,
    /// Quiet ones that something is queued for, and those whose counters may have changed.
    pub(crate) due: Vec<u16>,
    pub(crate) touched: Vec<u16>,
    /// Memory for queues of quiet ports: none keeps it while nothing is queued.
    spare: Vec<Vec<Frame>>,
    quiet: usize,
}

struct Gathered {
    crowd: Arc<dyn Crowd>,
    /// By the member's number: its place.
    members: Vec<Option<u16>>,
    count: usize,
}

impl Places {
    /// Makes a port's membership known.
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

    /// A port is at this place.
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
        // No step allocates: each is in each of these once at most.
        for list in [&mut self.called, &mut self.due, &mut self.touched] {
            list.reserve((self.quiet + self.busy.len()).saturating_sub(list.len()));
        }
    }

    /// All places are about to be put anew.
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

    /// Finds out whom to receive from; gives how many there are.
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

    /// The place of one of them.
    pub(crate) fn called(&self, at: usize) -> usize {
        self.called[at].into()
    }

    /// Those that are asked in every step.
    pub(crate) fn busy(&self) -> &[u16] {
        &self.busy
    }

    /// How many quiet ones there are.
    pub(crate) fn quiet(&self) -> usize {
        self.quiet
    }

    /// What to wait on for all quiet ports.
    pub(crate) fn crowds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.crowds
            .iter()
            .filter_map(|gathered| gathered.crowd.wait_fd())
    }

    /// Memory for a queue.
    pub(crate) fn take_memory(&mut self, frames: usize) -> Vec<Frame> {
        self.spare
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(frames))
    }

    /// Takes it back; it is empty.
    pub(crate) fn give_memory(&mut self, frames: Vec<Frame>) {
        self.spare.push(frames);
    }
}
