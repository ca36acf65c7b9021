//! Assignment of messages to lanes.

use core::slice::IterMut;

use super::HmacMessage;
use super::key::{bytes, pad};
use crate::sha::{Engine, Hash, MAX_BLOCK_BYTES, MAX_LANES};

/// Progress of a lane's message.
struct LaneState<'w, 'm, H: Hash> {
    message: Option<&'w mut HmacMessage<'m, H>>,
    step: Step,
    /// Next block.
    source: *const u8,
    /// Blocks left in this step.
    left: usize,
}

/// Part of an HMAC that a lane computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Whole blocks of the message, in place.
    Body,
    /// The end of the message with padding.
    End,
    /// The outer block.
    Outer,
}

/// Ends of messages and outer blocks, one buffer per lane.
type Ends = [[u8; 2 * MAX_BLOCK_BYTES]; MAX_LANES];

/// Computes the HMACs of messages.
///
/// # Safety
/// The processor has the instructions of the engine.
pub(super) unsafe fn run<H: Hash, E: Engine<H>>(messages: &mut [HmacMessage<'_, H>]) {
    let mut states = E::States::default();
    let mut ends: Ends = [[0; 2 * MAX_BLOCK_BYTES]; MAX_LANES];
    let mut waiting = messages.iter_mut();
    let mut lanes: [LaneState<'_, '_, H>; MAX_LANES] = core::array::from_fn(|_| LaneState {
        message: None,
        step: Step::Outer,
        source: core::ptr::null(),
        left: 0,
    });
    let lanes = &mut lanes[..E::LANES];
    loop {
        for (at, lane) in lanes.iter_mut().enumerate() {
            while lane.left == 0 {
                match lane.message {
                    None => match begin::<H, E>(lane, &mut states, at, &mut waiting) {
                        true => {}
                        false => break,
                    },
                    Some(_) => advance::<H, E>(lane, &mut states, at, &mut ends[at]),
                }
            }
        }
        let busy = lanes.iter().filter(|lane| lane.left > 0);
        let Some(least) = busy.min_by_key(|lane| lane.left) else {
            return;
        };
        let count = least.left;
        // Lanes without a message hash that of another one.
        let mut sources = [least.source; MAX_LANES];
        for (source, lane) in sources.iter_mut().zip(&*lanes) {
            if lane.left > 0 {
                *source = lane.source;
            }
        }
        // SAFETY: the caller guarantees the instructions; each source has at least `count` blocks left, which lie in
        // a borrowed message or in `ends`.
        unsafe { E::compress(&mut states, &sources, count) };
        for lane in lanes.iter_mut().filter(|lane| lane.left > 0) {
            lane.left -= count;
            lane.source = lane.source.wrapping_add(count * H::BLOCK_BYTES);
        }
    }
}

/// Assigns the next message to a lane; false if none waits.
#[inline(always)]
fn begin<'w, 'm, H: Hash, E: Engine<H>>(
    lane: &mut LaneState<'w, 'm, H>,
    states: &mut E::States,
    at: usize,
    waiting: &mut IterMut<'w, HmacMessage<'m, H>>,
) -> bool {
    let Some(message) = waiting.next() else {
        return false;
    };
    E::set(states, at, &message.key.inner);
    lane.step = Step::Body;
    lane.source = message.bytes.as_ptr();
    lane.left = message.bytes.len() / H::BLOCK_BYTES;
    lane.message = Some(message);
    true
}

/// Begins the next step of a lane's message.
#[inline(always)]
fn advance<H: Hash, E: Engine<H>>(
    lane: &mut LaneState<'_, '_, H>,
    states: &mut E::States,
    at: usize,
    end: &mut [u8; 2 * MAX_BLOCK_BYTES],
) {
    let Some(message) = &mut lane.message else {
        return;
    };
    match lane.step {
        Step::Body => {
            lane.step = Step::End;
            lane.left = write_end(message, end);
        }
        Step::End => {
            let inner = bytes::<H>(&E::state(states, at));
            end[..H::BLOCK_BYTES].fill(0);
            end[..H::DIGEST_BYTES].copy_from_slice(&inner[..H::DIGEST_BYTES]);
            let bits = 8 * (H::BLOCK_BYTES + H::DIGEST_BYTES) as u64;
            lane.step = Step::Outer;
            lane.left = pad::<H>(end, H::DIGEST_BYTES, bits);
            E::set(states, at, &message.key.outer);
        }
        Step::Outer => {
            let digest = bytes::<H>(&E::state(states, at));
            message.digest[..H::DIGEST_BYTES].copy_from_slice(&digest[..H::DIGEST_BYTES]);
            lane.message = None;
        }
    }
    lane.source = end.as_ptr();
}

/// Writes the end of a message, its suffix and the padding; returns the number of blocks.
#[inline(always)]
fn write_end<H: Hash>(message: &HmacMessage<'_, H>, end: &mut [u8; 2 * MAX_BLOCK_BYTES]) -> usize {
    let all = message.bytes.len();
    let mut len = all % H::BLOCK_BYTES;
    end[..2 * H::BLOCK_BYTES].fill(0);
    end[..len].copy_from_slice(&message.bytes[all - len..]);
    let mut bits = 8 * (H::BLOCK_BYTES + all) as u64;
    if let Some(suffix) = message.suffix {
        end[len..len + suffix.len()].copy_from_slice(&suffix);
        len += suffix.len();
        bits += 8 * suffix.len() as u64;
    }
    pad::<H>(end, len, bits)
}
