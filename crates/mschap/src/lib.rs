//! Digests of MS-CHAP version 1 (RFC 2433) and version 2 (RFC 2759), and the keys derived from them (RFC 3079).
//!
//! ```text
//! password ─▶ NtHash ─▶ response to a challenge (24 bytes)        v1: the server's 8 bytes
//!                │                                                v2: SHA-1 over both challenges and the name
//!                └────▶ authenticator response of the server (v2), master key
//! ```
//!
//! PPP and EAP-MSCHAPv2 of IKEv2 share this crate. Callers compare responses in constant time.

#![forbid(unsafe_code)]

use des::cipher::{Array, BlockCipherEncrypt as _, KeyInit as _};
use md4::Digest as _;
use zeroize::Zeroizing;

const SIGNING: &[u8] = b"Magic server to client signing constant";
const PAD: &[u8] = b"Pad to make it do more than one iteration";
/// Text that the LAN Manager hash encrypts.
const LM_TEXT: &[u8; 8] = b"KGS!@#$%";
const MASTER: &[u8] = b"This is the MPPE Master Key";
const CLIENT_SENDS: &[u8] =
    b"On the client side, this is the send key; on the server side, it is the receive key.";
const SERVER_SENDS: &[u8] =
    b"On the client side, this is the receive key; on the server side, it is the send key.";

/// Length of an authenticator response: `S=` and 40 hexadecimal digits.
pub const AUTHENTICATOR_BYTES: usize = 42;

/// MD4 over the password in UTF-16LE (RFC 2759, 8.3). Wiped when dropped.
#[derive(Clone)]
pub struct NtHash(Zeroizing<[u8; 16]>);

/// LAN Manager hash of the password (RFC 2433, A.3): 14 characters in upper case. It only serves as key of MPPE with
/// MS-CHAP version 1. Wiped when dropped.
#[derive(Clone)]
pub struct LmHash(Zeroizing<[u8; 16]>);

/// Both challenges of MS-CHAPv2, hashed with the user name (RFC 2759, 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChallengeHash([u8; 8]);

/// Master key of MPPE (RFC 3079, 3.4). Wiped when dropped.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 16]>);

/// The end that encrypts with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The authenticated end.
    Client,
    /// The end that issued the challenge.
    Server,
}

impl NtHash {
    /// Hashes a password. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub fn new(password: &[u8]) -> Self {
        let text = Zeroizing::new(String::from_utf8_lossy(password).into_owned());
        let unicode: Zeroizing<Vec<u8>> =
            Zeroizing::new(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        Self(Zeroizing::new(md4(&unicode)))
    }

    /// Encrypts a challenge with DES under three parts of the hash (RFC 2759, 8.5).
    pub fn response(&self, challenge: &[u8; 8]) -> [u8; 24] {
        let mut padded = Zeroizing::new([0; 21]);
        padded[..16].copy_from_slice(&*self.0);
        let mut response = [0; 24];
        let parts = padded.as_chunks::<7>().0.iter();
        for (part, block) in parts.zip(response.as_chunks_mut::<8>().0) {
            *block = encrypt(part, challenge);
        }
        response
    }

    /// Computes the response of MS-CHAPv2 (RFC 2759, 8.1).
    pub fn response_v2(&self, challenge: ChallengeHash) -> [u8; 24] {
        self.response(&challenge.0)
    }

    /// Computes the authenticator response of the server, `S=` and 40 upper-case hexadecimal digits
    /// (RFC 2759, 8.7).
    pub fn authenticator(
        &self,
        challenge: ChallengeHash,
        response: &[u8; 24],
    ) -> [u8; AUTHENTICATOR_BYTES] {
        const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
        let digest = sha1(&[&*self.hashed(), response, SIGNING]);
        let digest = sha1(&[&digest, &challenge.0, PAD]);
        let mut text = [0; AUTHENTICATOR_BYTES];
        text[..2].copy_from_slice(b"S=");
        for (digits, byte) in text[2..].as_chunks_mut::<2>().0.iter_mut().zip(digest) {
            *digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
        }
        text
    }

    /// Derives the master key of MPPE from the response of MS-CHAPv2 (RFC 3079, 3.4).
    pub fn master_key(&self, response: &[u8; 24]) -> MasterKey {
        MasterKey(half(sha1(&[&*self.hashed(), response, MASTER])))
    }

    /// Returns the key of MPPE with MS-CHAP version 1: MD4 over the hash (RFC 3079, 2.3).
    pub fn session_key(&self) -> Zeroizing<[u8; 16]> {
        self.hashed()
    }

    /// MD4 over the hash (RFC 2759, 8.4).
    fn hashed(&self) -> Zeroizing<[u8; 16]> {
        Zeroizing::new(md4(&*self.0))
    }
}

impl LmHash {
    /// Hashes a password. Characters beyond ASCII stay as they are.
    pub fn new(password: &[u8]) -> Self {
        let mut text = Zeroizing::new([0; 14]);
        for (place, byte) in text.iter_mut().zip(password) {
            *place = byte.to_ascii_uppercase();
        }
        let mut hash = Zeroizing::new([0; 16]);
        let parts = text.as_chunks::<7>().0.iter();
        for (part, block) in parts.zip(hash.as_chunks_mut::<8>().0) {
            *block = encrypt(part, LM_TEXT);
        }
        Self(hash)
    }

    /// Returns the first half of the hash, the start key of shorter keys (RFC 3079, 2.1).
    pub fn first_half(&self) -> [u8; 8] {
        core::array::from_fn(|at| self.0[at])
    }
}

/// Derives the 16-byte start key of MPPE with MS-CHAP version 1, for both directions (RFC 3079, 2.3), from the MD4
/// digest of the NT hash.
pub fn start_key_v1(key: &[u8; 16], challenge: &[u8; 8]) -> Zeroizing<[u8; 16]> {
    half(sha1(&[key, key, challenge]))
}

impl ChallengeHash {
    /// Hashes the client's and the server's challenge with the user name. A Windows domain before `\` does not
    /// count.
    pub fn new(client: &[u8; 16], server: &[u8; 16], user: &[u8]) -> Self {
        let name = user.rsplit(|byte| *byte == b'\\').next().unwrap_or(user);
        let digest = sha1(&[client, server, name]);
        Self(core::array::from_fn(|at| digest[at]))
    }
}

impl MasterKey {
    /// Derives the 16-byte start key for packets of `sender` (RFC 3079, 3.4, GetAsymmetricStartKey).
    pub fn start_key(&self, sender: Sender) -> Zeroizing<[u8; 16]> {
        let magic = match sender {
            Sender::Client => CLIENT_SENDS,
            Sender::Server => SERVER_SENDS,
        };
        half(sha1(&[&*self.0, &[0; 40], magic, &[0xf2; 40]]))
    }
}

/// Encrypts a block with DES under 56 key bits; DES ignores the parity bits.
fn encrypt(key: &[u8; 7], block: &[u8; 8]) -> [u8; 8] {
    let bits = key
        .iter()
        .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    let key: [u8; 8] = core::array::from_fn(|at| ((bits >> (49 - 7 * at)) as u8) << 1);
    let mut block = Array::from(*block);
    des::Des::new(&Array::from(key)).encrypt_block(&mut block);
    block.into()
}

fn md4(bytes: &[u8]) -> [u8; 16] {
    md4::Md4::digest(bytes).into()
}

fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut hash = sha1::Sha1::default();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

/// Returns the first 16 bytes of a digest.
fn half(digest: [u8; 20]) -> Zeroizing<[u8; 16]> {
    Zeroizing::new(core::array::from_fn(|at| digest[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: [u8; 16] = [
        0x5b, 0x5d, 0x7c, 0x7d, 0x7b, 0x3f, 0x2f, 0x3e, 0x3c, 0x2c, 0x60, 0x21, 0x32, 0x26, 0x26,
        0x28,
    ];
    const CLIENT: [u8; 16] = [
        0x21, 0x40, 0x23, 0x24, 0x25, 0x5e, 0x26, 0x2a, 0x28, 0x29, 0x5f, 0x2b, 0x3a, 0x33, 0x7c,
        0x7e,
    ];

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_of_rfc_2759() {
        // RFC 2759, 9.2.
        let hash = NtHash::new(b"clientPass");
        assert_eq!(hex(&*hash.0), "44ebba8d5312b8d611474411f56989ae");
        assert_eq!(hex(&*hash.hashed()), "41c00c584bd2d91c4017a2a12fa59f3f");
        let challenge = ChallengeHash::new(&CLIENT, &SERVER, b"User");
        assert_eq!(hex(&challenge.0), "d02e4386bce91226");
        let response = hash.response_v2(challenge);
        assert_eq!(
            hex(&response),
            "82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df"
        );
        assert_eq!(
            hash.authenticator(challenge, &response).as_slice(),
            b"S=407A5589115FD0D6209F510FE9C04566932CDA56"
        );
    }

    #[test]
    fn start_keys_are_those_of_rfc_3079() {
        // RFC 3079, 3.5.3.
        let hash = NtHash::new(b"clientPass");
        let challenge = ChallengeHash::new(&CLIENT, &SERVER, b"User");
        let master = hash.master_key(&hash.response_v2(challenge));
        assert_eq!(hex(&*master.0), "fdece3717a8c838cb388e527ae3cdd31");
        let start = |sender| hex(&*master.start_key(sender));
        assert_eq!(start(Sender::Server), "8b7cdc149b993a1ba118cb153f56dccb");
        assert_eq!(start(Sender::Client), "d5f0e9521e3ea9589645e86051c82226");
    }

    #[test]
    fn keys_of_version_1_are_those_of_rfc_3079() {
        // RFC 3079, 2.5.
        let hash = LmHash::new(b"clientPass");
        assert_eq!(hex(&*hash.0), "76a152936096d7830e2390227404afd2");
        let key = NtHash::new(b"clientPass").session_key();
        let challenge = [0x10, 0x2d, 0xb5, 0xdf, 0x08, 0x5d, 0x30, 0x41];
        let start = start_key_v1(&key, &challenge);
        assert_eq!(hex(&*start), "a8947850cfc0acc1d1789fb62ddcddb0");
    }

    #[test]
    fn a_domain_before_the_name_does_not_count() {
        assert_eq!(
            ChallengeHash::new(&CLIENT, &SERVER, b"BIGCO\\User"),
            ChallengeHash::new(&CLIENT, &SERVER, b"User")
        );
    }
}
