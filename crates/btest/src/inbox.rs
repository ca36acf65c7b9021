//! Buffer for incomplete handshake messages. Bytes after a message stay untouched, so that data are not copied.

/// An incomplete message of at most 256 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    held: Vec<u8>,
}

impl Inbox {
    /// Takes a message of `N` bytes from the buffer and the front of `bytes`. Returns `None`, with all bytes
    /// buffered, if they are too few.
    pub(crate) fn take<const N: usize>(&mut self, bytes: &mut &[u8]) -> Option<[u8; N]> {
        if !self.fill(N, bytes) {
            return None;
        }
        let message = self.held.first_chunk().copied();
        self.held.clear();
        message
    }

    /// Takes a message with a leading length byte.
    pub(crate) fn take_framed(&mut self, bytes: &mut &[u8]) -> Option<Vec<u8>> {
        if !self.fill(1, bytes) {
            return None;
        }
        let len = self.held.first().copied().unwrap_or_default();
        if !self.fill(1 + usize::from(len), bytes) {
            return None;
        }
        let message = self.held.get(1..).map(<[u8]>::to_vec);
        self.held.clear();
        message
    }

    /// Moves bytes into the buffer until it holds `len`. Returns false if they are too few.
    fn fill(&mut self, len: usize, bytes: &mut &[u8]) -> bool {
        let missing = len.saturating_sub(self.held.len()).min(bytes.len());
        let (more, rest) = bytes.split_at(missing);
        self.held.extend_from_slice(more);
        *bytes = rest;
        self.held.len() >= len
    }
}

/// Prepends a length byte to a message; truncates beyond 255 bytes.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let len = u8::try_from(message.len()).unwrap_or(u8::MAX);
    let mut bytes = vec![len];
    bytes.extend_from_slice(&message[..usize::from(len)]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_pieces_is_whole_and_what_follows_stays() {
        let mut inbox = Inbox::default();
        assert_eq!(inbox.take::<4>(&mut &[1, 2][..]), None);
        let mut bytes = &[3, 4, 5][..];
        assert_eq!(inbox.take(&mut bytes), Some([1, 2, 3, 4]));
        assert_eq!(bytes, [5]);
        assert_eq!(inbox.take::<1>(&mut bytes), Some([5]));
    }

    #[test]
    fn a_framed_message_in_pieces_is_whole() {
        let mut inbox = Inbox::default();
        let wire = framed(&[9; 255]);
        let mut all = wire.iter();
        let taken = all.find_map(|&byte| inbox.take_framed(&mut &[byte][..]));
        assert_eq!(taken, Some(vec![9; 255]));
        assert_eq!(inbox.take_framed(&mut &[0, 7][..]), Some(vec![]));
    }
}
