//! Cryptography of IKE: hashes, HMACs, ciphers, key agreement.

mod cipher;
mod group;
mod modp;

use hmac::{Hmac, KeyInit, Mac as _};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq as _;

pub(crate) use cipher::{decrypt, encrypt};
pub(crate) use group::Agreement;

use crate::config::Secret;
use crate::suite::Hash;

/// Fills a buffer with cryptographically secure random bytes: keys, nonces, SPIs, cookies.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// Returns the hash of the concatenated parts.
pub(crate) fn digest(hash: Hash, parts: &[&[u8]]) -> Vec<u8> {
    fn of<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
        let mut digest = D::new();
        parts.iter().for_each(|part| digest.update(part));
        digest.finalize().to_vec()
    }
    match hash {
        Hash::Md5 => of::<Md5>(parts),
        Hash::Sha1 => of::<Sha1>(parts),
        Hash::Sha256 => of::<Sha256>(parts),
        Hash::Sha384 => of::<Sha384>(parts),
        Hash::Sha512 => of::<Sha512>(parts),
    }
}

/// Returns the HMAC of the concatenated parts (RFC 2104), which is also the PRF of both versions.
pub(crate) fn hmac(hash: Hash, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // HMAC accepts keys of any length.
    macro_rules! of {
        ($digest:ty) => {{
            let Ok(mut mac) = Hmac::<$digest>::new_from_slice(key) else {
                return Vec::new();
            };
            parts.iter().for_each(|part| mac.update(part));
            mac.finalize().into_bytes().to_vec()
        }};
    }
    match hash {
        Hash::Md5 => of!(Md5),
        Hash::Sha1 => of!(Sha1),
        Hash::Sha256 => of!(Sha256),
        Hash::Sha384 => of!(Sha384),
        Hash::Sha512 => of!(Sha512),
    }
}

/// `prf+` (RFC 7296, 2.13): returns `len` bytes, at most 255 times the size of the hash.
pub(crate) fn prf_plus(hash: Hash, key: &[u8], seed: &[&[u8]], len: usize) -> Secret {
    let mut all = Vec::with_capacity(len + hash.size());
    let mut last = Vec::new();
    for count in 1..=u8::MAX {
        if all.len() >= len {
            break;
        }
        let mut parts = vec![last.as_slice()];
        parts.extend_from_slice(seed);
        let count = [count];
        parts.push(&count);
        last = hmac(hash, key, &parts);
        all.extend_from_slice(&last);
    }
    all.truncate(len);
    Secret::new(all)
}

/// Compares in constant time; only the lengths may influence the duration.
pub(crate) fn equal(one: &[u8], two: &[u8]) -> bool {
    one.ct_eq(two).into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Entropy;
    use super::*;

    pub(crate) fn entropy(seed: u64) -> Entropy {
        let mut rng = machine::Rng::seeded(seed);
        Box::new(move |bytes| {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = rng.next_u64() as u8);
        })
    }

    pub(crate) fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn unhex(text: &str) -> Vec<u8> {
        (0..text.len() / 2)
            .map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("digits"))
            .collect()
    }

    #[test]
    fn hmac_gives_what_its_rfcs_say() {
        // RFC 2202 and RFC 4231, case 2.
        let of = |hash| {
            hex(&hmac(
                hash,
                b"Jefe",
                &[b"what do ya want ", b"for nothing?"],
            ))
        };
        assert_eq!(of(Hash::Md5), "750c783e6ab0b503eaa86e310a5db738");
        assert_eq!(of(Hash::Sha1), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        assert!(of(Hash::Sha256).starts_with("5bdcc146bf60754e6a042426089575c7"));
        assert!(of(Hash::Sha384).starts_with("af45d2e376484031617f78d2b58a6b1b"));
        assert!(of(Hash::Sha512).starts_with("164b7a7bfcf819e2e395fbe73b56e0a3"));
    }
}
