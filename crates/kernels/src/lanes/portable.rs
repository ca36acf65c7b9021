//! Comparisons without SIMD instructions, the reference for tests.

use super::{Line, load};

pub(super) fn at_most_u8(line: &Line, at: u32, key: u8) -> u32 {
    (0..32).fold(0, |bits, lane| {
        let number = (load(line, at, lane / 8) >> (lane % 8 * 8)) as u8;
        bits | (u32::from(number <= key) << lane)
    })
}

pub(super) fn at_most_u16(line: &Line, at: u32, key: u16) -> u32 {
    (0..16).fold(0, |bits, lane| {
        let number = (load(line, at, lane / 4) >> (lane % 4 * 16)) as u16;
        bits | (u32::from(number <= key) << lane)
    })
}

pub(super) fn at_most_u32(line: &Line, at: u32, key: u32) -> u32 {
    (0..10).fold(0, |bits, lane| {
        let number = (load(line, at, lane / 2) >> (lane % 2 * 32)) as u32;
        bits | (u32::from(number <= key) << lane)
    })
}
