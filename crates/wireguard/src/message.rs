//! Handshake messages and their MACs (white paper, 5.4).
//!
//! ```text
//! initiation  1 0 0 0 │ sender 4 │ Noise 108                │ MAC1 16 │ MAC2 16
//! response    2 0 0 0 │ sender 4 │ receiver 4 │ Noise 48    │ MAC1 16 │ MAC2 16
//! cookie      3 0 0 0 │ receiver 4 │ nonce 24 │ sealed 32
//! ```

use blake2::digest::{FixedOutput, Mac as _, Update};
use blake2::{Blake2s256, Blake2sMac, Digest, digest::consts::U16};
use subtle::ConstantTimeEq;

use crate::key::Public;

pub(crate) const INITIATION: u8 = 1;
pub(crate) const RESPONSE: u8 = 2;
pub(crate) const COOKIE: u8 = 3;
/// Length of a MAC in bytes.
pub(crate) const MAC: usize = 16;
/// Length of the Noise message in an initiation, and in a response.
pub(crate) const NOISE: [usize; 2] = [108, 48];
const LENGTHS: [usize; 3] = [148, 92, 64];

pub(crate) type Mac = [u8; MAC];

/// A parsed message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'a> {
    Initiation {
        sender: u32,
        noise: &'a [u8],
        macs: Macs<'a>,
    },
    Response {
        sender: u32,
        receiver: u32,
        noise: &'a [u8],
        macs: Macs<'a>,
    },
    Cookie {
        receiver: u32,
        nonce: &'a [u8; 24],
        sealed: &'a [u8; 32],
    },
}

/// Both MACs of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Macs<'a> {
    /// Bytes that MAC1 covers, and bytes that MAC2 covers.
    before: [&'a [u8]; 2],
    pub(crate) first: &'a Mac,
    second: &'a Mac,
}

/// Splits a little-endian number off the front.
fn number(bytes: &mut &[u8]) -> Option<u32> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number))
}

impl<'a> Message<'a> {
    /// Parses a message; `None` for other types and wrong lengths.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (&[kind, 0, 0, 0], mut rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let len = *LENGTHS.get(usize::from(kind.checked_sub(1)?))?;
        if bytes.len() != len {
            return None;
        }
        let first = number(&mut rest)?;
        if kind == COOKIE {
            let (nonce, rest) = rest.split_first_chunk()?;
            return Some(Self::Cookie {
                receiver: first,
                nonce,
                sealed: rest.first_chunk()?,
            });
        }
        let macs = Macs::of(bytes)?;
        if kind == INITIATION {
            let noise = rest.get(..NOISE[0])?;
            return Some(Self::Initiation {
                sender: first,
                noise,
                macs,
            });
        }
        let receiver = number(&mut rest)?;
        Some(Self::Response {
            sender: first,
            receiver,
            noise: rest.get(..NOISE[1])?,
            macs,
        })
    }
}

impl<'a> Macs<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let (before_second, second) = bytes.split_last_chunk()?;
        let (before_first, first) = before_second.split_last_chunk()?;
        Some(Self {
            before: [before_first, before_second],
            first,
            second,
        })
    }

    /// Verifies MAC1, which proves that the sender knows the receiver's public key.
    pub(crate) fn is_for(&self, key: &MacKey) -> bool {
        mac(&key.0, self.before[0]).ct_eq(self.first).into()
    }

    /// Returns true if MAC2 is present: senders without a cookie send zeros.
    pub(crate) fn has_second(&self) -> bool {
        *self.second != [0; MAC]
    }

    /// Verifies MAC2 against a cookie.
    pub(crate) fn has(&self, cookie: &Mac) -> bool {
        mac(cookie, self.before[1]).ct_eq(self.second).into()
    }
}

/// MAC1 key for messages to the owner of a public key.
#[derive(Clone, Debug)]
pub(crate) struct MacKey([u8; 32]);

impl MacKey {
    pub(crate) fn of(receiver: &Public) -> Self {
        Self(hash(b"mac1----", receiver))
    }
}

/// Hashes a label and a public key.
pub(crate) fn hash(label: &[u8; 8], key: &Public) -> [u8; 32] {
    let mut hash = Blake2s256::new();
    Digest::update(&mut hash, label);
    Digest::update(&mut hash, key.0);
    hash.finalize_fixed().into()
}

/// Returns the hash from which the nonce of a cookie reply is taken.
pub(crate) fn nonce_hash(secret: &[u8; 32], first: &Mac, cookie: &Mac) -> [u8; 32] {
    let mut hash = Blake2s256::new();
    for part in [&secret[..], first, cookie] {
        Digest::update(&mut hash, part);
    }
    hash.finalize_fixed().into()
}

/// Returns the keyed BLAKE2s MAC; the key has 16 or 32 bytes.
pub(crate) fn mac(key: &[u8], bytes: &[u8]) -> Mac {
    // BLAKE2s accepts keys of up to 32 bytes.
    let Ok(mut mac) = Blake2sMac::<U16>::new_from_slice(key) else {
        return [0; MAC];
    };
    Update::update(&mut mac, bytes);
    mac.finalize_fixed().into()
}

/// Encodes a message with both MACs; MAC2 is zero without a cookie. Returns the message and its MAC1.
pub(crate) fn write(
    kind: u8,
    numbers: &[u32],
    noise: &[u8],
    key: &MacKey,
    cookie: Option<&Mac>,
) -> (Vec<u8>, Mac) {
    let mut bytes = vec![kind, 0, 0, 0];
    for number in numbers {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(noise);
    let first = mac(&key.0, &bytes);
    bytes.extend(first);
    let second = cookie.map_or([0; MAC], |cookie| mac(cookie, &bytes));
    bytes.extend(second);
    (bytes, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_messages_parse_to_the_same_values() {
        let key = MacKey::of(&Public([3; 32]));
        let cookie = [9; MAC];
        let (bytes, first) = write(INITIATION, &[7], &[1; NOISE[0]], &key, Some(&cookie));
        let Some(Message::Initiation {
            sender,
            noise,
            macs,
        }) = Message::read(&bytes)
        else {
            panic!("an initiation");
        };
        assert_eq!((sender, noise, *macs.first), (7, &[1; NOISE[0]][..], first));
        assert!(macs.is_for(&key) && macs.has(&cookie));
        assert!(!macs.is_for(&MacKey::of(&Public([4; 32]))) && !macs.has(&[8; MAC]));
        let (bytes, _) = write(RESPONSE, &[7, 8], &[1; NOISE[1]], &key, None);
        let Some(Message::Response {
            sender, receiver, ..
        }) = Message::read(&bytes)
        else {
            panic!("a response");
        };
        assert_eq!((sender, receiver), (7, 8));
    }

    #[test]
    fn other_lengths_and_types_are_no_messages() {
        for kind in 0..=255 {
            for len in 0..200 {
                let mut bytes = vec![0; len];
                if let Some(first) = bytes.first_mut() {
                    *first = kind;
                }
                let is_one = matches!((kind, len), (1, 148) | (2, 92) | (3, 64));
                assert_eq!(Message::read(&bytes).is_some(), is_one, "{kind} {len}");
            }
        }
    }
}
