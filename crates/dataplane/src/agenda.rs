//! The agenda of a worker: queued frames that enter the walk again after the current vector. A
//! stage queues frames for a tunnel to encapsulate, frames that a tunnel decapsulated, and frames
//! that a bridge sends into another bridge.
//!
//! Stages queue frames because a walk never begins within a walk. Frames with the same entry are
//! queued in batches, whose memory changes hands as a whole. Each queue is bounded; a frame without
//! room is dropped as `agenda-full`.

use std::collections::VecDeque;

use frame::{Frame, InterfaceId, VECTOR_FRAMES, Vector};

use crate::demux::SessionClass;

/// Maximum number of frames in each queue.
const ROOM: usize = 1024;
/// Number of preallocated batches, for both queues.
const BATCHES: usize = 2 * ROOM / VECTOR_FRAMES;

/// The entry at which queued frames continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// The tunnel of the interface in this slot encapsulates the frames.
    Leaving(u32),
    /// Each frame is encapsulated by the tunnel of the interface in the slot that `Frame::waits_for` has.
    LeavingByMany,
    /// IPsec protects each frame by the policy in the slot that `Frame::waits_for` has.
    Protecting,
    /// The bridge of the interface in this slot forwards the frames as sent by the router.
    Bridging(u32),
    /// The frames walk as packets that this router sends.
    Own,
    /// The frames walk from ingress on, on this interface.
    Arrived(InterfaceId),
    /// As `Arrived`, on this point-to-point interface. Frames of interfaces that are alike join those
    /// that were queued last.
    Session(InterfaceId, SessionClass),
    /// The frames walk from ingress on, each on its own interface; these are alike.
    Sessions(SessionClass),
    /// The frames walk as received by this interface.
    Framed(InterfaceId),
}

/// A queued frame or batch.
enum Waiting {
    One(Item, Frame),
    Many(Item, Vec<Frame>),
}

/// A bounded queue, in order of arrival.
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Number of queued frames.
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

    /// Removes and returns the first frame, if it is queued alone for this entry.
    fn pop_one(&mut self, item: Item) -> Option<Frame> {
        let is_next = |next: &mut Waiting| matches!(next, Waiting::One(of, _) if *of == item);
        match self.waiting.pop_front_if(is_next)? {
            Waiting::One(_, frame) => Some(frame),
            Waiting::Many(..) => None,
        }
    }
}

/// The queues of a worker.
pub(crate) struct Agenda {
    leaving: Queue,
    arrived: Queue,
    /// Memory of unused batches.
    spare: Vec<Vec<Frame>>,
    /// The entry of the frames that [`Agenda::batch`] has taken from the queue for more to join them.
    joined: Option<Item>,
}

impl Agenda {
    pub(crate) fn new() -> Self {
        let batch = || Vec::with_capacity(VECTOR_FRAMES);
        Self {
            leaving: Queue::new(),
            arrived: Queue::new(),
            spare: (0..BATCHES).map(|_| batch()).collect(),
            joined: None,
        }
    }

    fn queue(&mut self, item: Item) -> &mut Queue {
        match item {
            Item::Leaving(_)
            | Item::LeavingByMany
            | Item::Protecting
            | Item::Bridging(_)
            | Item::Own => &mut self.leaving,
            Item::Arrived(_) | Item::Session(..) | Item::Sessions(_) | Item::Framed(_) => {
                &mut self.arrived
            }
        }
    }

    /// Returns true if this many more frames may be queued for this entry.
    #[inline(always)]
    pub(crate) fn has_room_for(&mut self, item: Item, frames: usize) -> bool {
        self.queue(item).has_room_for(frames)
    }

    /// Queues a frame for this entry.
    ///
    /// # Errors
    /// The frame, if the queue is full.
    pub(crate) fn put(&mut self, item: Item, frame: Frame) -> Result<(), Frame> {
        let queue = self.queue(item);
        if !queue.has_room_for(1) {
            return Err(frame);
        }
        if matches!(item, Item::Session(..))
            && let Some(mut batch) = self.batch(item, 1)
        {
            batch.push(frame);
            self.put_batch(item, batch);
            return Ok(());
        }
        let queue = self.queue(item);
        queue.frames += 1;
        queue.waiting.push_back(Waiting::One(item, frame));
        Ok(())
    }

    /// Queues all frames of a vector for this entry. Returns false and changes nothing if the queue
    /// has no room for all.
    pub(crate) fn put_vector(&mut self, item: Item, vector: &mut Vector) -> bool {
        let Some(mut batch) = self.batch(item, vector.len()) else {
            return false;
        };
        let moved = vector.move_to(&mut batch);
        self.put_batch(item, batch);
        moved
    }

    /// Returns a batch to which the caller adds up to `frames` frames; `None` if the queue is too full.
    /// Only a batch for [`Item::Session`] may already have frames. The caller passes the batch to
    /// [`Self::put_batch`] before it calls this function again.
    pub(crate) fn batch(&mut self, item: Item, frames: usize) -> Option<Vec<Frame>> {
        let fits = frames <= VECTOR_FRAMES && self.queue(item).has_room_for(frames);
        if !fits {
            return None;
        }
        if let Item::Session(_, class) = item
            && let Some(batch) = self.join(class, frames)
        {
            return Some(batch);
        }
        self.spare.pop()
    }

    /// Takes the batch that was queued last, if `frames` more sessions' frames of this class may join
    /// it.
    #[inline(always)]
    fn join(&mut self, class: SessionClass, frames: usize) -> Option<Vec<Frame>> {
        let may_join = |last: &mut Waiting| match last {
            Waiting::Many(Item::Session(_, of) | Item::Sessions(of), batch) => {
                *of == class && batch.len() + frames <= VECTOR_FRAMES
            }
            _ => false,
        };
        let Waiting::Many(item, batch) = self.arrived.waiting.pop_back_if(may_join)? else {
            return None;
        };
        self.arrived.frames -= batch.len();
        self.joined = Some(item);
        Some(batch)
    }

    /// Queues a batch that [`Self::batch`] returned, with at most as many more frames.
    pub(crate) fn put_batch(&mut self, item: Item, batch: Vec<Frame>) {
        let item = match (self.joined.take(), item) {
            (Some(before), Item::Session(_, class)) if before != item => Item::Sessions(class),
            _ => item,
        };
        if batch.is_empty() {
            return self.spare.push(batch);
        }
        let queue = self.queue(item);
        queue.frames += batch.len();
        queue.waiting.push_back(Waiting::Many(item, batch));
    }

    /// Returns true if no frame is queued.
    pub(crate) fn is_empty(&self) -> bool {
        self.leaving.waiting.is_empty() && self.arrived.waiting.is_empty()
    }

    /// Moves the next frames with a common entry into an empty vector, as many as fit. Returns
    /// their entry; `None` if nothing is queued.
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
                // The first frame always fits into an empty vector.
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
    use crate::interface::Interface;

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
    fn frames_of_alike_sessions_come_together_and_others_by_themselves() {
        let (mut pool, mut agenda) = (pool(), Agenda::new());
        let class = |mac: u8| {
            SessionClass::of(&Interface {
                mac: wire::Mac([0, 0, 0, 0, 0, mac]),
                ..Interface::default()
            })
        };
        let of = |session: u32, mac: u8| Item::Session(InterfaceId(session), class(mac));
        for (item, count) in [
            (of(1, 0), 2),
            (of(1, 0), 3),
            (of(2, 0), 1),
            (of(3, 0), 250),
            (of(4, 0), 1),
            (of(5, 1), 1),
            (of(5, 1), 2),
            (Item::Arrived(InterfaceId(5)), 1),
            (of(6, 1), 1),
        ] {
            let mut batch = agenda.batch(item, count).expect("room");
            batch.extend(frames(&mut pool, count).drain());
            agenda.put_batch(item, batch);
        }
        let alone = pool.alloc_from(&[0; 60]).expect("room");
        agenda.put(of(7, 1), alone).expect("room");
        let mut into = Vector::new();
        let mut taken = Vec::new();
        while let Some(item) = agenda.take(&mut into) {
            taken.push((item, into.len()));
            into.drain().for_each(|frame| pool.free(frame));
        }
        let expected = [
            (Item::Sessions(class(0)), 256),
            (of(4, 0), 1),
            (of(5, 1), 3),
            (Item::Arrived(InterfaceId(5)), 1),
            (Item::Sessions(class(1)), 2),
        ];
        assert_eq!(taken, expected);
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
