//! Finds status messages in the data of a TCP connection.
//!
//! A TCP test mixes data and status messages on one connection without framing; how RouterOS separates them is
//! unknown. Two features distinguish a message: its fixed bytes (07, the load with its highest bit, two zeros),
//! and increasing seconds. Random data match with a probability of 2^-54 per byte: twice a year at 10 Gbit/s,
//! and the count of seconds recovers after at most eight. Zeros never match.

use crate::wire::{STATUS_LEN, Status};

/// Maximum distance between the seconds of two messages.
const MAX_DISTANCE: u32 = 8;

/// Incremental search over the bytes of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finder {
    /// End of the last piece: possible beginning of a message.
    held: [u8; STATUS_LEN],
    held_len: usize,
    /// Second of the last message.
    second: u32,
}

impl Finder {
    /// Processes the next bytes. Appends the messages that end in them; returns the number of data bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], found: &mut Vec<Status>) -> usize {
        let (mut data, mut at) = self.feed_held(bytes, found);
        while let Some(rest) = bytes.get(at..).filter(|_| self.held_len == 0) {
            let Some(skipped) = memchr::memchr(7, rest) else {
                return data + rest.len();
            };
            data += skipped;
            at += skipped;
            match self.look(&rest[skipped..]) {
                Look::Message(status) => {
                    found.push(status);
                    at += STATUS_LEN;
                }
                Look::Short => {
                    self.hold(&rest[skipped..]);
                    return data;
                }
                Look::Data => {
                    data += 1;
                    at += 1;
                }
            }
        }
        data
    }

    /// Searches the held bytes, continued by the next piece. Returns the number of data bytes, and the number
    /// of bytes of the piece that are done: all, if bytes are held again.
    fn feed_held(&mut self, bytes: &[u8], found: &mut Vec<Status>) -> (usize, usize) {
        let held = core::mem::take(&mut self.held_len);
        let mut window = [0; 2 * STATUS_LEN];
        let more = bytes.len().min(STATUS_LEN);
        window[..held].copy_from_slice(&self.held[..held]);
        window[held..held + more].copy_from_slice(&bytes[..more]);
        let window = &window[..held + more];
        let (mut data, mut at) = (0, 0);
        while at < held {
            match self.look(&window[at..]) {
                Look::Message(status) => {
                    found.push(status);
                    at += STATUS_LEN;
                }
                Look::Short => {
                    self.hold(&window[at..]);
                    return (data, bytes.len());
                }
                Look::Data => {
                    data += 1;
                    at += 1;
                }
            }
        }
        (data, at - held)
    }

    /// Holds an incomplete message.
    fn hold(&mut self, bytes: &[u8]) {
        self.held_len = bytes.len().min(STATUS_LEN);
        self.held[..self.held_len].copy_from_slice(&bytes[..self.held_len]);
    }

    /// Classifies the start of `bytes`.
    fn look(&mut self, bytes: &[u8]) -> Look {
        let Some(message) = bytes.first_chunk::<STATUS_LEN>() else {
            let mut message = [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            message[..bytes.len()].copy_from_slice(bytes);
            let may = Status::parse(&message).is_some();
            return if may { Look::Short } else { Look::Data };
        };
        let Some(status) = Status::parse(message) else {
            return Look::Data;
        };
        let ahead = status.second.wrapping_sub(self.second);
        if ahead == 0 || ahead > MAX_DISTANCE {
            return Look::Data;
        }
        self.second = status.second;
        Look::Message(status)
    }
}

enum Look {
    Message(Status),
    Data,
    /// Possible message that continues in the next piece.
    Short,
}

#[cfg(test)]
mod tests {
    use machine::Rng;

    use super::*;

    fn message(second: u32) -> Status {
        Status {
            cpu_percent: Some(7),
            second,
            bytes: 0x0707_0707,
        }
    }

    /// Data with three messages in it.
    fn stream(data: impl Fn(usize) -> Vec<u8>) -> (Vec<u8>, usize) {
        let mut bytes = Vec::new();
        let mut count = 0;
        for second in 1..=3 {
            let data = data(1000 * second as usize + 7);
            count += data.len();
            bytes.extend(data);
            bytes.extend(message(second).to_bytes());
        }
        (bytes, count)
    }

    fn found(bytes: &[u8], piece: usize) -> (Vec<Status>, usize) {
        let mut finder = Finder::default();
        let mut found = Vec::new();
        let mut data = 0;
        for piece in bytes.chunks(piece) {
            data += finder.feed(piece, &mut found);
        }
        (found, data)
    }

    #[test]
    fn messages_among_zeros_and_random_bytes_are_found_in_pieces_of_any_size() {
        let random = |len| {
            let mut bytes = vec![0; len];
            Rng::seeded(len as u64).fill(&mut bytes);
            bytes
        };
        let sevens = |len| vec![7; len];
        for (bytes, data) in [stream(|len| vec![0; len]), stream(random), stream(sevens)] {
            for piece in [1, 2, 3, 5, 11, 12, 13, 24, 100, 1000, 100_000] {
                let (messages, count) = found(&bytes, piece);
                assert_eq!(messages, [1, 2, 3].map(message), "{piece}");
                assert_eq!(count, data, "{piece}");
            }
        }
    }

    #[test]
    fn messages_alone_are_found() {
        let bytes: Vec<u8> = (1..100).flat_map(|s| message(s).to_bytes()).collect();
        for piece in 1..50 {
            let (messages, data) = found(&bytes, piece);
            assert_eq!((messages.len(), data), (99, 0), "{piece}");
        }
    }

    #[test]
    fn beginnings_of_messages_within_beginnings_are_counted() {
        let mut bytes = vec![0; 100];
        bytes[40..50].copy_from_slice(&[7, 0, 0, 0, 1, 7, 0, 0, 0, 0x30]);
        bytes.extend(message(1).to_bytes());
        for piece in 1..60 {
            assert_eq!(found(&bytes, piece), (vec![message(1)], 100), "{piece}");
        }
    }

    #[test]
    fn messages_out_of_sequence_are_data() {
        let bytes = [message(1), message(1), message(20), message(2)].map(|m| m.to_bytes());
        let (messages, data) = found(bytes.as_flattened(), 1000);
        assert_eq!(messages, [message(1), message(2)]);
        assert_eq!(data, 24);
    }

    #[test]
    fn ten_million_random_bytes_have_no_message() {
        let mut bytes = vec![0; 10_000_000];
        Rng::seeded(3).fill(&mut bytes);
        let (messages, _) = found(&bytes, 65_536);
        assert_eq!(messages, []);
    }
}
