//! The agenda of a worker: frames that a stage leaves for another entry of the walk, to be walked when the vector at
//! hand is done. They are frames that a tunnel is to encapsulate, what came out of one, and what a bridge sends into
//! another.
//!
//! Stages put frames here because a walk never begins within a walk. Frames that go the same way wait together, and
//! their memory changes hands as a whole. Each kind has bounded room; a frame without room is dropped as
//! `agenda-full`.

use std::collections::VecDeque;

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

/// Frames of each kind that may wait.
const ROOM: usize = 1024;
/// Frames that wait together: so many times, those of both kinds.
const BATCHES: usize = 2 * ROOM / VECTOR_FRAMES;

/// Where frames go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Into the tunnel of the interface in this slot.
    Leaving(u32),
    /// Into IPsec, each by the policy in the slot that `frame.below` has.
    Protecting,
    /// Into the bridge of the interface in this slot, as the router's.
    Bridging(u32),
    /// As packets of this router's own.
    Own,
    /// Behind ingress, on this interface.
    Arrived(InterfaceId),
    /// As frames that this interface received.
    Framed(InterfaceId),
}

/// What waits, in order.
enum Waiting {
    One(Item, Frame),
    Many(Item, Vec<Frame>),
}

/// Frames of one kind, in order.
struct Queue {
    waiting: VecDeque<Waiting>,
    /// How many frames they are.
    frames: usize,
}

impl Queue {
    fn new() -> Self {
        Self {
            waiting: VecDeque::with_capacity(ROOM),
            frames: 0,
        }
    }

    fn has_room_for(&self, frames: usize) -> bool {
        self.frames + frames <= ROOM
    }

    /// The frame in front, if it goes this way by itself.
    fn pop_one(&mut self, item: Item) -> Option<Frame> {
        let is_next = |next: &mut Waiting| matches!(next, Waiting::One(of, _) if *of == item);
        match self.waiting.pop_front_if(is_next)? {
            Waiting::One(_, frame) => Some(frame),
            Waiting::Many(..) => None,
        }
    }
}

/// See the module.
pub(crate) struct Agenda {
    leaving: Queue,
    arrived: Queue,
    /// Memory for frames that wait together.
    spare: Vec<Vec<Frame>>,
}

impl Agenda {
    pub(crate) fn new() -> Self {
        let batch = || Vec::with_capacity(VECTOR_FRAMES);
        Self {
            leaving: Queue::new(),
            arrived: Queue::new(),
            spare: (0..BATCHES).map(|_| batch()).collect(),
        }
    }

    fn queue(&mut self, item: Item) -> &mut Queue {
        match item {
            Item::Leaving(_) | Item::Protecting | Item::Bridging(_) | Item::Own => {
                &mut self.leaving
            }
            Item::Arrived(_) | Item::Framed(_) => &mut self.arrived,
        }
    }

    /// Leaves a frame to go on there.
    ///
    /// # Errors
    /// The frame, where there is no room.
    pub(crate) fn put(&mut self, item: Item, frame: Frame) -> Result<(), Frame> {
        let queue = self.queue(item);
        if !queue.has_room_for(1) {
            return Err(frame);
        }
        queue.frames += 1;
        queue.waiting.push_back(Waiting::One(item, frame));
        Ok(())
    }

    /// Leaves all frames of a vector to go on there; false, and nothing changed, where there is no room for all.
    pub(crate) fn put_vector(&mut self, item: Item, vector: &mut Vector) -> bool {
        let Some(mut batch) = self.batch(item, vector.len()) else {
            return false;
        };
        let moved = vector.move_to(&mut batch);
        self.put_batch(item, batch);
        moved
    }

    /// Room for so many frames that go on together; none where there is none for all.
    pub(crate) fn batch(&mut self, item: Item, frames: usize) -> Option<Vec<Frame>> {
        let fits = frames <= VECTOR_FRAMES && self.queue(item).has_room_for(frames);
        fits.then(|| self.spare.pop()).flatten()
    }

    /// Leaves frames to go on there, in what [`Self::batch`] gave for as many.
    pub(crate) fn put_batch(&mut self, item: Item, batch: Vec<Frame>) {
        if batch.is_empty() {
            return self.spare.push(batch);
        }
        let queue = self.queue(item);
        queue.frames += batch.len();
        queue.waiting.push_back(Waiting::Many(item, batch));
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.leaving.waiting.is_empty() && self.arrived.waiting.is_empty()
    }

    /// Takes the next frames that go the same way, as many as there is room for in an empty vector.
    pub(crate) fn take(&mut self, into: &mut Vector) -> Option<Item> {
        let queue = match self.leaving.waiting.is_empty() {
            true => &mut self.arrived,
            false => &mut self.leaving,
        };
        let item = match queue.waiting.pop_front()? {
            Waiting::Many(item, mut batch) => {
                into.take_over(&mut batch);
                self.spare.push(batch);
                item
            }
            Waiting::One(item, first) => {
                let mut next = Some(first);
                // An empty vector has room for one.
                while let Some(frame) = next.take() {
                    if let Err(frame) = into.push(frame) {
                        queue.waiting.push_front(Waiting::One(item, frame));
                        break;
                    }
                    next = queue.pop_one(item);
                }
                item
            }
        };
        queue.frames -= into.len();
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use frame::{Pool, Sizes};

    use super::*;

    fn pool() -> Pool {
        let sizes = Sizes {
            small: 4096,
            medium: 1,
            large: 1,
        };
        Pool::new(sizes).expect("memory for a test")
    }

    fn frames(pool: &mut Pool, count: usize) -> Vector {
        let mut vector = Vector::new();
        for number in 0..count {
            let frame = pool.alloc_from(&[number as u8; 60]).expect("room");
            vector.push(frame).expect("room");
        }
        vector
    }

    #[test]
    fn what_waits_together_comes_together_and_all_in_order() {
        let (mut pool, mut agenda) = (pool(), Agenda::new());
        let (one, other) = (Item::Leaving(1), Item::Leaving(2));
        let mut first = frames(&mut pool, 2);
        for frame in first.drain() {
            agenda.put(one, frame).expect("room");
        }
        let mut many = frames(&mut pool, 3);
        assert!(agenda.put_vector(one, &mut many) && many.is_empty());
        for frame in frames(&mut pool, 1).drain() {
            agenda.put(other, frame).expect("room");
        }
        let mut into = Vector::new();
        let mut taken = Vec::new();
        while let Some(item) = agenda.take(&mut into) {
            taken.push((item, into.len()));
            into.drain().for_each(|frame| pool.free(frame));
        }
        assert_eq!(taken, [(one, 2), (one, 3), (other, 1)]);
        assert!(agenda.is_empty());
    }

    #[test]
    fn room_is_bounded_by_frames_and_comes_back() {
        let (mut pool, mut agenda) = (pool(), Agenda::new());
        let item = Item::Arrived(InterfaceId(1));
        for _ in 0..2 {
            let mut put = 0;
            loop {
                let mut vector = frames(&mut pool, VECTOR_FRAMES);
                if !agenda.put_vector(item, &mut vector) {
                    let mut left = vector.drain();
                    let frame = left.next().expect("nothing changed");
                    pool.free(agenda.put(item, frame).expect_err("no room for one either"));
                    left.for_each(|frame| pool.free(frame));
                    break;
                }
                put += VECTOR_FRAMES;
            }
            assert_eq!(put, ROOM);
            let mut into = Vector::new();
            while agenda.take(&mut into).is_some() {
                into.drain().for_each(|frame| pool.free(frame));
            }
        }
    }
}
