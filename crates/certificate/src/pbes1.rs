//! Decrypts private keys in formats before PBES2: PBES1 with DES (RFC 8018, 6.1), and the PKCS#12 key derivation with
//! triple DES (RFC 7292, appendices B and C). Read only.

use des::cipher::{Array, BlockCipherDecrypt, BlockSizeUser, KeyInit};
use sha1::{Digest, Sha1};

/// Block length of DES, and output and block length of SHA-1.
const BLOCK: usize = 8;
const SHA1: usize = 20;
const SHA1_BLOCK: usize = 64;

/// Prefix of object identifiers: 1.2.840.113549.1.
const PKCS: [u8; 7] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01];

/// An encrypted PKCS#8 private key (RFC 5958, 3).
pub(crate) struct Sealed<'a> {
    scheme: Scheme,
    salt: &'a [u8],
    pub(crate) rounds: u32,
    bytes: &'a [u8],
}

#[derive(Clone, Copy)]
enum Scheme {
    /// DES with a key derived by PBKDF1 with MD5 or SHA-1.
    Md5,
    Sha1,
    /// Triple DES with a key of this length: three keys or two.
    TripleDes(usize),
}

/// Splits off a DER element: its tag, contents, and the following bytes.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = bytes else {
        return None;
    };
    let (len, rest) = match *first {
        short @ 0..=0x7f => (usize::from(short), rest),
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => {
            let (len, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*len)), rest)
        }
        _ => return None,
    };
    let (contents, behind) = rest.split_at_checked(len)?;
    Some((*tag, contents, behind))
}

/// Contents of an element with this tag, and the following bytes.
fn tagged(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (own, contents, behind) = element(bytes)?;
    (own == tag).then_some((contents, behind))
}

impl<'a> Sealed<'a> {
    /// Parses the container; `None` if it is malformed or encrypted in another way.
    pub(crate) fn read(der: &'a [u8]) -> Option<Self> {
        let (outer, _) = tagged(0x30, der)?;
        let (algorithm, rest) = tagged(0x30, outer)?;
        let (bytes, _) = tagged(0x04, rest)?;
        let (id, parameters) = tagged(0x06, algorithm)?;
        let scheme = match id.strip_prefix(&PKCS)? {
            [5, 3] => Scheme::Md5,
            [5, 10] => Scheme::Sha1,
            [12, 1, 3] => Scheme::TripleDes(24),
            [12, 1, 4] => Scheme::TripleDes(16),
            _ => return None,
        };
        let (parameters, _) = tagged(0x30, parameters)?;
        let (salt, rest) = tagged(0x04, parameters)?;
        let (rounds, _) = tagged(0x02, rest)?;
        if rounds.len() > 4 {
            return None;
        }
        let rounds = rounds
            .iter()
            .fold(0_u32, |all, byte| all << 8 | u32::from(*byte));
        Some(Self {
            scheme,
            salt,
            rounds,
            bytes,
        })
    }

    /// Decrypts the key; `None` if the passphrase is wrong.
    pub(crate) fn open(&self, passphrase: &str) -> Option<Vec<u8>> {
        let plain = match self.scheme {
            Scheme::Md5 => self.by_pbkdf1::<md5::Md5>(passphrase),
            Scheme::Sha1 => self.by_pbkdf1::<Sha1>(passphrase),
            Scheme::TripleDes(len) => {
                let mut key = derive(1, len, passphrase, self.salt, self.rounds);
                // Two-key triple DES uses the first key again as the third.
                let first = key.get(..24 - len).unwrap_or_default().to_vec();
                key.extend(first);
                let iv = derive(2, BLOCK, passphrase, self.salt, self.rounds);
                decrypt::<des::TdesEde3>(&key, &iv, self.bytes)
            }
        };
        unpad(plain?)
    }

    fn by_pbkdf1<D: Digest>(&self, passphrase: &str) -> Option<Vec<u8>> {
        let mut derived = D::new()
            .chain_update(passphrase)
            .chain_update(self.salt)
            .finalize();
        for _ in 1..self.rounds {
            derived = D::digest(&derived);
        }
        let (key, rest) = derived.split_at_checked(BLOCK)?;
        decrypt::<des::Des>(key, rest.get(..BLOCK)?, self.bytes)
    }
}

/// Decrypts in CBC mode.
fn decrypt<C: KeyInit + BlockCipherDecrypt + BlockSizeUser>(
    key: &[u8],
    iv: &[u8],
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let cipher = C::new_from_slice(key).ok()?;
    if bytes.is_empty() || !bytes.len().is_multiple_of(BLOCK) {
        return None;
    }
    let mut last = iv;
    let mut plain = Vec::with_capacity(bytes.len());
    for chunk in bytes.chunks_exact(BLOCK) {
        let mut block = Array::<u8, C::BlockSize>::try_from(chunk).ok()?;
        cipher.decrypt_block(&mut block);
        plain.extend(block.iter().zip(last).map(|(byte, last)| byte ^ last));
        last = chunk;
    }
    Some(plain)
}

/// Removes the padding (RFC 8018, 6.1.1, step 4).
fn unpad(mut plain: Vec<u8>) -> Option<Vec<u8>> {
    let pad = usize::from(*plain.last()?);
    let len = plain.len().checked_sub(pad)?;
    let fits =
        (1..=BLOCK).contains(&pad) && plain[len..].iter().all(|byte| usize::from(*byte) == pad);
    plain.truncate(len);
    fits.then_some(plain)
}

/// Derives `len` bytes for a purpose: 1 for a key, 2 for an initialization vector (RFC 7292, B.2).
fn derive(purpose: u8, len: usize, passphrase: &str, salt: &[u8], rounds: u32) -> Vec<u8> {
    let passphrase: Vec<u8> = passphrase
        .encode_utf16()
        .chain([0])
        .flat_map(u16::to_be_bytes)
        .collect();
    let fill = |bytes: &[u8]| -> Vec<u8> {
        let len = bytes.len().next_multiple_of(SHA1_BLOCK);
        bytes.iter().copied().cycle().take(len).collect()
    };
    let mut input = [fill(salt), fill(&passphrase)].concat();
    let mut out = Vec::new();
    while out.len() < len {
        let begin = Sha1::new().chain_update([purpose; SHA1_BLOCK]);
        let mut hash = begin.chain_update(&input).finalize();
        for _ in 1..rounds {
            hash = Sha1::digest(hash);
        }
        out.extend_from_slice(&hash);
        for block in input.chunks_exact_mut(SHA1_BLOCK) {
            add(block, &hash);
        }
    }
    out.truncate(len);
    out
}

/// Adds the repeated hash and 1 to a block, as big-endian numbers.
fn add(block: &mut [u8], hash: &[u8]) {
    let mut carry = 1;
    for (at, byte) in block.iter_mut().enumerate().rev() {
        let sum = u16::from(*byte) + u16::from(hash[at % SHA1]) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
}
