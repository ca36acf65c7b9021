//! Data channel: packets are encrypted and decrypted in batches, with the keys of [`DataKeys`](crate::DataKeys).
//! Packets change in place; nothing is allocated.
//!
//! ```text
//! AEAD  head │ packet id 4 · tag 16 │ ciphertext           nonce: packet id ‖ 8 bytes of the key material
//! CBC   head │ HMAC · vector 16 │ encrypted: packet id 4 · payload · padding       HMAC over vector ‖ ciphertext
//! none  head │ HMAC · packet id 4 │ payload
//! head  version 1: opcode‖key id 1     version 2: opcode‖key id 1 · peer id 3
//! ```
//! AEAD ciphers authenticate the packet id and, in version 2, the head. Initialization vectors of CBC are packet ids
//! encrypted under a secret of this end, so that packets need no random bytes.

mod key;
mod open;
mod seal;

pub use open::{Incoming, Opened, Receiving, open_all};
pub use seal::{Layout, Outgoing, Sending, seal_all};

use esp::mac::{Mac, Message, Sums, sums};
use smallvec::SmallVec;

use crate::packet::{DATA_V1, DATA_V2};

/// Payload of a ping (OpenVPN `ping.c`).
pub const PING: [u8; 16] = [
    0x2a, 0x18, 0x7b, 0xf3, 0x64, 0x1e, 0xb4, 0xcb, 0x07, 0xed, 0x2d, 0x0a, 0x98, 0x1f, 0xc7, 0x48,
];
/// Payload of an exit notification: the magic number of messages about options, and the number of the message (OpenVPN
/// `occ.c`).
pub const EXIT: [u8; 17] = [
    0x28, 0x7f, 0x34, 0x6b, 0xd4, 0xef, 0x7a, 0x81, 0x2d, 0x56, 0xb8, 0xd3, 0xaf, 0xc5, 0x45, 0x9c,
    6,
];
/// Length of a packet id in bytes.
const ID_BYTES: usize = 4;
/// Length of the tag of AEAD ciphers in bytes.
const TAG_BYTES: usize = 16;
/// Length of a block of AES, and of the initialization vector, in bytes.
const BLOCK_BYTES: usize = 16;
/// Packets that are processed together.
const TOGETHER: usize = 16;

/// Reason for a failure to seal or open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Too short, or not whole blocks.
    Malformed,
    /// The packet id was received before, or lies before the window.
    Replayed,
    /// HMAC, tag or padding is wrong.
    Integrity,
    /// The payload is compressed.
    Compressed,
    /// All packet ids of the key are used up.
    Exhausted,
}

/// Address of a data packet: its key, and its peer in version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head {
    /// Number of the key, 0 to 7.
    pub key_id: u8,
    /// Number of the peer; `None` in version 1.
    pub peer_id: Option<u32>,
}

impl Head {
    /// Returns the head of a data packet; `None` for other packets.
    #[inline]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let first = *packet.first()?;
        let key_id = first & 7;
        match first >> 3 {
            DATA_V1 => Some(Self {
                key_id,
                peer_id: None,
            }),
            DATA_V2 => {
                let head = u32::from_be_bytes(*packet.first_chunk()?);
                Some(Self {
                    key_id,
                    peer_id: Some(head & 0xff_ffff),
                })
            }
            _ => None,
        }
    }

    /// Length in bytes.
    const fn len(self) -> usize {
        match self.peer_id {
            None => 1,
            Some(_) => 4,
        }
    }

    /// Returns the bytes, of which the first [`Self::len`] count.
    const fn bytes(self) -> [u8; 4] {
        match self.peer_id {
            None => [DATA_V1 << 3 | self.key_id & 7, 0, 0, 0],
            Some(peer) => {
                let first = ((DATA_V2 << 3 | self.key_id & 7) as u32) << 24;
                (first | peer & 0xff_ffff).to_be_bytes()
            }
        }
    }
}

/// Additional authenticated data of a packet of an AEAD cipher: the head in version 2, and the packet id.
#[inline]
fn additional(head: Head, number: u32) -> ([u8; 8], usize) {
    let mut data = [0; 8];
    match head.peer_id {
        None => data[..4].copy_from_slice(&number.to_be_bytes()),
        Some(_) => {
            data[..4].copy_from_slice(&head.bytes());
            data[4..].copy_from_slice(&number.to_be_bytes());
        }
    }
    let len = ID_BYTES + if head.peer_id.is_some() { 4 } else { 0 };
    (data, len)
}

/// Returns the HMACs of at most [`TOGETHER`] packets with keys of one algorithm.
fn digests<'p>(packets: impl Iterator<Item = (&'p Mac, Option<&'p [u8]>)>) -> Sums {
    let mut messages = SmallVec::<[Message<'_>; TOGETHER]>::new();
    messages.extend(packets.map(|(mac, bytes)| Message {
        mac,
        bytes: bytes.unwrap_or_default(),
        implied: None,
    }));
    sums(&messages)
}

#[cfg(test)]
mod tests;
