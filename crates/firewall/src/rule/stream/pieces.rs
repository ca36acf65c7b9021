//! Reassembles pieces of a message in any order.

/// Maximum length of a message in bytes, four times that of a ClientHello with the largest key shares in use.
const LEN_MAX: usize = 8192;
/// Maximum number of gaps.
const GAPS_MAX: usize = 16;

/// A message in reassembly. Of duplicate bytes the first ones count, as with most receivers.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    bytes: Vec<u8>,
    /// Ranges of received bytes, sorted and separated by gaps.
    have: Vec<(usize, usize)>,
}

impl Pieces {
    /// Returns true if no piece has arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.have.is_empty()
    }

    /// Adds a piece. Returns false if it exceeds the limits.
    pub fn put(&mut self, at: usize, piece: &[u8]) -> bool {
        let Some(end) = at.checked_add(piece.len()).filter(|end| *end <= LEN_MAX) else {
            return false;
        };
        if piece.is_empty() {
            return true;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let mut from = at;
        for &(first, last) in &self.have {
            if last <= from {
                continue;
            }
            let to = first.clamp(from, end);
            self.bytes[from..to].copy_from_slice(&piece[from - at..to - at]);
            from = last.min(end);
        }
        self.bytes[from..end].copy_from_slice(&piece[from - at..]);
        self.join(at, end);
        self.have.len() <= GAPS_MAX
    }

    fn join(&mut self, mut from: usize, mut to: usize) {
        self.have.retain(|&(first, last)| {
            let touches = first <= to && from <= last;
            if touches {
                (from, to) = (from.min(first), to.max(last));
            }
            !touches
        });
        let place = self.have.partition_point(|have| have.0 < from);
        self.have.insert(place, (from, to));
    }

    /// Returns the contiguous beginning of the message.
    pub fn beginning(&self) -> &[u8] {
        match self.have.first() {
            Some(&(0, end)) => &self.bytes[..end],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stream_segments_are_joined_in_any_order(
            cuts in prop::collection::vec((0..300_usize, 1..80_usize), 1..20),
        ) {
            let whole: Vec<u8> = (0..400).map(|at| (at % 251) as u8).collect();
            let (mut pieces, mut there) = (Pieces::default(), vec![false; 400]);
            for (at, len) in cuts {
                let taken = pieces.put(at, &whole[at..at + len]);
                there[at..at + len].fill(true);
                let gaps = there.windows(2).filter(|pair| *pair == [false, true]).count();
                prop_assert!(taken || gaps >= GAPS_MAX);
                let end = there.iter().position(|there| !there).unwrap_or(400);
                prop_assert_eq!(pieces.beginning(), &whole[..end]);
            }
        }
    }

    #[test]
    fn the_first_copy_of_data_counts_and_long_data_is_refused() {
        let mut pieces = Pieces::default();
        assert!(pieces.put(2, b"cd") && pieces.put(0, b"abXYe"));
        assert_eq!(pieces.beginning(), b"abcde");
        assert!(!pieces.put(LEN_MAX, b"x") && !pieces.put(usize::MAX, b"x"));
        assert!(pieces.put(LEN_MAX - 1, b"x"));
        for at in 0..GAPS_MAX {
            pieces.put(100 + 2 * at, b"x");
        }
        assert!(!pieces.put(200, b"x"));
    }
}
