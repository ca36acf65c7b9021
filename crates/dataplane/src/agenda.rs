//! The agenda of a worker: frames that a stage leaves for another entry of the walk, to be walked when the vector at
//! hand is done. They are packets that a tunnel is to encapsulate, and packets that came out of one.
//!
//! Stages put frames here because a walk never begins within a walk. Each kind has bounded room; a frame without room
//! is dropped as `agenda-full`.

use std::collections::VecDeque;

use frame::{Frame, InterfaceId, Vector};

/// Frames of each kind that may wait.
const ROOM: usize = 1024;

/// See the module.
pub(crate) struct Agenda {
    /// What leaves by the tunnels of interfaces, by their slots.
    leaving: VecDeque<(u32, Frame)>,
    /// What came out of tunnels; its ingress interface is known.
    arrived: VecDeque<Frame>,
}

/// What is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Frames for the tunnel in this slot.
    Leaving(u32),
    /// Frames that enter behind ingress, of this interface.
    Arrived(InterfaceId),
}

impl Agenda {
    pub(crate) fn new() -> Self {
        Self {
            leaving: VecDeque::with_capacity(ROOM),
            arrived: VecDeque::with_capacity(ROOM),
        }
    }

    /// Leaves a frame for the tunnel in this slot.
    ///
    /// # Errors
    /// The frame, where there is no room.
    pub(crate) fn leave_for(&mut self, slot: u32, frame: Frame) -> Result<(), Frame> {
        if self.leaving.len() >= ROOM {
            return Err(frame);
        }
        self.leaving.push_back((slot, frame));
        Ok(())
    }

    /// Leaves a frame to be walked from behind ingress on.
    ///
    /// # Errors
    /// The frame, where there is no room.
    pub(crate) fn arrive(&mut self, frame: Frame) -> Result<(), Frame> {
        if self.arrived.len() >= ROOM {
            return Err(frame);
        }
        self.arrived.push_back(frame);
        Ok(())
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.leaving.is_empty() && self.arrived.is_empty()
    }

    /// Takes the next frames that go the same way, as many as there is room for.
    pub(crate) fn take(&mut self, into: &mut Vector) -> Option<Item> {
        if let Some((slot, _)) = self.leaving.front() {
            let slot = *slot;
            while !into.is_full()
                && let Some((_, frame)) = self.leaving.pop_front_if(|(of, _)| *of == slot)
                && into.push(frame).is_ok()
            {}
            return Some(Item::Leaving(slot));
        }
        let ingress = self.arrived.front()?.ingress;
        while !into.is_full()
            && let Some(frame) = self.arrived.pop_front_if(|frame| frame.ingress == ingress)
            && into.push(frame).is_ok()
        {}
        Some(Item::Arrived(ingress))
    }

    /// Takes any frame, to be freed.
    pub(crate) fn take_any(&mut self) -> Option<Frame> {
        let leaving = self.leaving.pop_front().map(|(_, frame)| frame);
        leaving.or_else(|| self.arrived.pop_front())
    }
}
