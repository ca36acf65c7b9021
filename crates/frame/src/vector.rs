//! A vector of up to 256 frames that are processed together.

use crate::Frame;

/// Maximum number of frames in a vector.
pub const VECTOR_FRAMES: usize = 256;
/// Maximum number of bytes in a vector; the frame that exceeds it is the last one.
pub const VECTOR_BYTES: usize = 512 << 10;

/// Frames in order of arrival.
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
    /// Creates an empty vector. Only this function allocates.
    pub fn new() -> Self {
        Self {
            frames: Vec::with_capacity(VECTOR_FRAMES),
            bytes: 0,
        }
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// Returns the frame if the vector is full.
    #[inline]
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        if self.is_full() {
            return Err(frame);
        }
        self.bytes += frame.len();
        self.frames.push(frame);
        Ok(())
    }

    /// Returns the number of further frames that fit, if they are small.
    #[inline]
    pub fn room(&self) -> usize {
        if self.bytes >= VECTOR_BYTES {
            0
        } else {
            VECTOR_FRAMES - self.frames.len()
        }
    }

    /// Returns true if no further frame fits.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// Returns true if there are no frames.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns the number of frames.
    #[inline]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns the frames.
    #[inline]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns the frames for modification.
    #[inline]
    pub fn frames_mut(&mut self) -> &mut [Frame] {
        &mut self.frames
    }

    /// Moves all frames to an empty `queue` by exchanging the memory; returns false without changes if the
    /// queue is not empty or its capacity is less than a vector.
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

    /// Removes the frames for which `takes` returns true, in order; the others stay in order.
    pub fn extract(
        &mut self,
        takes: impl FnMut(&mut Frame) -> bool,
    ) -> impl Iterator<Item = Frame> {
        let bytes = &mut self.bytes;
        let taken = self.frames.extract_if(.., takes);
        taken.inspect(|frame| *bytes = bytes.saturating_sub(frame.len()))
    }

    /// Takes all frames of a batch by exchanging the memory. The vector must be empty, and the batch must
    /// have the capacity of a whole vector.
    pub fn take_over(&mut self, batch: &mut Vec<Frame>) {
        debug_assert!(self.is_empty() && batch.capacity() >= VECTOR_FRAMES);
        core::mem::swap(&mut self.frames, batch);
        self.bytes = self.frames.iter().map(Frame::len).sum();
    }

    /// Removes all frames in order.
    #[inline]
    pub fn drain(&mut self) -> std::vec::Drain<'_, Frame> {
        self.bytes = 0;
        self.frames.drain(..)
    }
}
