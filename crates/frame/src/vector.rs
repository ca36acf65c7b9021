//! Up to 256 frames that are carried through the walk together.

use crate::Frame;

/// The most frames in a vector.
pub const VECTOR_FRAMES: usize = 256;
/// The most bytes in a vector; the frame that passes this limit is the last one.
pub const VECTOR_BYTES: usize = 512 << 10;

/// Frames on their way, in order of arrival.
#[derive(Debug)]
pub struct Vector {
    frames: Vec<Frame>,
    bytes: usize,
}

impl Default for Vector {
    fn default() -> Self {
        Self::new()
    }
}

impl Vector {
    /// An empty vector. This is the only place where it allocates.
    pub fn new() -> Self {
        Self {
            frames: Vec::with_capacity(VECTOR_FRAMES),
            bytes: 0,
        }
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// The frame, when the vector is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        if self.is_full() {
            return Err(frame);
        }
        self.bytes += frame.len();
        self.frames.push(frame);
        Ok(())
    }

    /// How many more frames it takes, if they are small.
    #[inline]
    pub fn room(&self) -> usize {
        if self.bytes >= VECTOR_BYTES {
            0
        } else {
            VECTOR_FRAMES - self.frames.len()
        }
    }

    /// Whether it takes no more.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// How many frames it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frames.
    #[inline]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The frames, to be changed.
    #[inline]
    pub fn frames_mut(&mut self) -> &mut [Frame] {
        &mut self.frames
    }

    /// Moves all frames to an empty `queue` at once, by exchanging the memory; false, and nothing
    /// changed, if the queue is not empty or has room for less than a vector.
    #[inline]
    #[must_use]
    pub fn move_to(&mut self, queue: &mut Vec<Frame>) -> bool {
        let fits = queue.is_empty() && queue.capacity() >= VECTOR_FRAMES;
        if fits {
            core::mem::swap(&mut self.frames, queue);
            self.bytes = 0;
        }
        fits
    }

    /// Takes those frames out that `takes` says, in order; the others stay in theirs.
    pub fn extract(
        &mut self,
        takes: impl FnMut(&mut Frame) -> bool,
    ) -> impl Iterator<Item = Frame> {
        let bytes = &mut self.bytes;
        let taken = self.frames.extract_if(.., takes);
        taken.inspect(|frame| *bytes = bytes.saturating_sub(frame.len()))
    }

    /// Takes all frames of a batch at once, by exchanging the memory; only an empty vector does, and only of a batch
    /// that has room for a whole one.
    pub fn take_over(&mut self, batch: &mut Vec<Frame>) {
        debug_assert!(self.is_empty() && batch.capacity() >= VECTOR_FRAMES);
        core::mem::swap(&mut self.frames, batch);
        self.bytes = self.frames.iter().map(Frame::len).sum();
    }

    /// Takes all frames out, in order.
    #[inline]
    pub fn drain(&mut self) -> std::vec::Drain<'_, Frame> {
        self.bytes = 0;
        self.frames.drain(..)
    }
}
