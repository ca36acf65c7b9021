//! Crypto binding ([MS-SSTP], 3.2.5.2): proves that one peer has the TLS session and the PPP session. A man in the
//! middle that relays the PPP authentication has another certificate.
//!
//! ```text
//! CMK = HMAC(keys of PPP, "SSTP inner method derived CMK" | length, little-endian | 01)
//! MAC = HMAC(CMK, Call Connected with a MAC of zeros)
//! ```

use hmac::Hmac;
use hmac::digest::KeyInit;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Bytes of nonces, hashes and MACs in messages; shorter ones are padded with zeros.
pub(crate) const FIELD: usize = 32;
/// Seed of the compound MAC key.
const SEED: &[u8] = b"SSTP inner method derived CMK";

/// A hash of the crypto binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BindingHash {
    /// SHA-1.
    Sha1 = 1,
    /// SHA-256.
    Sha256 = 2,
}

/// The hashes that a server offers, as bits.
pub(crate) const ALL_HASHES: u8 = BindingHash::Sha1 as u8 | BindingHash::Sha256 as u8;

impl BindingHash {
    /// Returns the strongest hash of an offer.
    pub(crate) const fn best_of(offer: u8) -> Option<Self> {
        match (offer & 2, offer & 1) {
            (2, _) => Some(Self::Sha256),
            (_, 1) => Some(Self::Sha1),
            _ => None,
        }
    }

    /// Returns the hash with this number.
    pub(crate) const fn new(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Sha1),
            2 => Some(Self::Sha256),
            _ => None,
        }
    }

    /// Returns the hash of a certificate.
    pub(crate) fn certificate(self, certificate: &[u8]) -> [u8; FIELD] {
        match self {
            Self::Sha1 => padded(&Sha1::digest(certificate)),
            Self::Sha256 => padded(&Sha256::digest(certificate)),
        }
    }

    /// Returns the compound MAC of a Call Connected message whose MAC is zero.
    pub(crate) fn mac(self, keys: &SessionKeys, message: &[u8]) -> [u8; FIELD] {
        match self {
            Self::Sha1 => {
                let seed = [SEED, &[20, 0, 1]].concat();
                let key = keyed::<Hmac<Sha1>>(&keys.0, &seed);
                padded(&keyed::<Hmac<Sha1>>(&key, message))
            }
            Self::Sha256 => {
                let seed = [SEED, &[32, 0, 1]].concat();
                let key = keyed::<Hmac<Sha256>>(&keys.0, &seed);
                padded(&keyed::<Hmac<Sha256>>(&key, message))
            }
        }
    }
}

fn keyed<M: hmac::Mac + KeyInit>(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    // HMAC takes keys of any length.
    let mac = <M as KeyInit>::new_from_slice(key);
    let mac = mac.map(|mac| mac.chain_update(bytes).finalize().into_bytes());
    mac.map(|bytes| bytes.to_vec()).unwrap_or_default()
}

fn padded(bytes: &[u8]) -> [u8; FIELD] {
    let mut field = [0; FIELD];
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from;
    }
    field
}

/// Compares two fields in constant time.
pub(crate) fn is_equal(one: &[u8; FIELD], other: &[u8; FIELD]) -> bool {
    one.ct_eq(other).into()
}

/// A server's random number, which the client repeats.
pub type Nonce = [u8; FIELD];

/// Keys of the PPP authentication (HLAK): the client's send key, then its receive key.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKeys([u8; FIELD]);

impl SessionKeys {
    /// The keys of authentications without keys: PAP and CHAP.
    pub const NONE: Self = Self([0; FIELD]);

    /// Returns the keys of MS-CHAP version 2, by the direction of the client (RFC 3079).
    pub fn new(client_send: &[u8; 16], client_receive: &[u8; 16]) -> Self {
        let mut keys = [0; FIELD];
        keys[..16].copy_from_slice(client_send);
        keys[16..].copy_from_slice(client_receive);
        Self(keys)
    }
}

impl core::fmt::Debug for SessionKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SessionKeys")
    }
}
