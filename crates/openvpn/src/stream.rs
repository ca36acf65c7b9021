//! Packets in a TCP stream: each follows its length of 16 bits.

use crate::fault::Fault;

/// Length of a packet's length in bytes.
pub const LENGTH_BYTES: usize = 2;

/// Appends a packet with its length. Returns false, and appends nothing, for packets longer than 65,535 bytes.
pub fn frame(packet: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(len) = u16::try_from(packet.len()) else {
        return false;
    };
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(packet);
    true
}

/// Takes packets out of a stream's bytes.
#[derive(Debug)]
pub struct Deframer {
    /// Bytes that no packet has used.
    bytes: Vec<u8>,
    used: usize,
    /// Longest packet in bytes.
    limit: usize,
}

impl Deframer {
    /// Returns a stream without bytes, whose packets have at most `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            used: 0,
            limit,
        }
    }

    /// Changes the longest packet, in bytes.
    pub const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next packet; `None` if bytes are missing.
    ///
    /// # Errors
    /// The length is 0, or beyond the limit: the peer does not speak OpenVPN, and the stream must be closed.
    pub fn next_packet(&mut self) -> Result<Option<&[u8]>, Fault> {
        let rest = self.bytes.get(self.used..).unwrap_or_default();
        let Some((len, rest)) = rest.split_first_chunk() else {
            return Ok(None);
        };
        let len = usize::from(u16::from_be_bytes(*len));
        if len == 0 || len > self.limit {
            return Err(Fault::Malformed);
        }
        if rest.len() < len {
            return Ok(None);
        }
        let start = self.used + LENGTH_BYTES;
        self.used = start + len;
        Ok(self.bytes.get(start..self.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_a_stream_as_they_entered_it_whatever_its_pieces() {
        let packets: [&[u8]; 3] = [b"one", &[7; 1500], b"3"];
        let mut stream = Vec::new();
        packets
            .iter()
            .for_each(|packet| assert!(frame(packet, &mut stream)));
        for size in [1, 2, 3, 100, 5000] {
            let (mut deframer, mut all) = (Deframer::new(2000), Vec::new());
            for piece in stream.chunks(size) {
                deframer.push(piece);
                while let Some(packet) = deframer.next_packet().expect("lengths are valid") {
                    all.push(packet.to_vec());
                }
            }
            assert_eq!(all, packets);
        }
        assert!(!frame(&[0; 65_536], &mut stream));
        for head in [[0, 0, 1], [0x07, 0xd1, 1]] {
            let mut deframer = Deframer::new(2000);
            deframer.push(&head);
            assert_eq!(deframer.next_packet(), Err(Fault::Malformed));
        }
    }
}
