//! Keys of MPPE (RFC 3079): start keys, session keys, and their changes (RFC 3078, 7).

use core::fmt;

use mschap::{LmHash, MasterKey, NtHash, Sender, start_key_v1};
use sha1::Digest as _;
use zeroize::Zeroizing;

use super::rc4::Rc4;
use crate::settings::Role;

/// Padding of the hash that derives a key (RFC 3079, 3.4).
const PAD_1: [u8; 40] = [0; 40];
const PAD_2: [u8; 40] = [0xf2; 40];

/// Length of an RC4 key. Keys of 40 and 56 bits have 8 bytes and begin with constant bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyLength {
    /// 40 bits.
    Bits40,
    /// 56 bits.
    Bits56,
    /// 128 bits.
    Bits128,
}

impl KeyLength {
    /// All lengths, the longest first.
    pub const ALL: [Self; 3] = [Self::Bits128, Self::Bits56, Self::Bits40];

    /// Returns the constant bytes at the beginning of a key (RFC 3079, 2.4).
    const fn salt(self) -> &'static [u8] {
        match self {
            Self::Bits40 => &[0xd1, 0x26, 0x9e],
            Self::Bits56 => &[0xd1],
            Self::Bits128 => &[],
        }
    }
}

/// A set of key lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLengths(u8);

impl KeyLengths {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// All lengths.
    pub const ALL: Self = Self(0b111);

    /// Returns the set with another length.
    #[must_use]
    pub const fn with(self, length: KeyLength) -> Self {
        Self(self.0 | 1 << length as u8)
    }

    /// Returns true if a length belongs to the set.
    pub const fn contains(self, length: KeyLength) -> bool {
        self.0 & 1 << length as u8 != 0
    }

    /// Returns true for the empty set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the longest key length.
    pub fn longest(self) -> Option<KeyLength> {
        { KeyLength::ALL.into_iter() }.find(|length| self.contains(*length))
    }
}

/// Start keys of one direction, for both sizes of keys. Wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct StartKey {
    /// For keys of 128 bits.
    long: Zeroizing<[u8; 16]>,
    /// For keys of 40 and 56 bits.
    short: Zeroizing<[u8; 8]>,
}

impl StartKey {
    /// Returns the start key with these 16 bytes, whose first 8 serve shorter keys (RFC 3079, 3.4).
    pub fn new(key: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = key;
        Self {
            long: Zeroizing::new(key),
            short: Zeroizing::new([a, b, c, d, e, f, g, h]),
        }
    }

    /// Returns the key of 128 bits.
    pub fn long(&self) -> &[u8; 16] {
        &self.long
    }
}

impl fmt::Debug for StartKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartKey(..)")
    }
}

/// Start keys of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MppeKeys {
    /// Key of packets that this end sends.
    pub transmit: StartKey,
    /// Key of packets that this end receives.
    pub receive: StartKey,
}

impl MppeKeys {
    /// Derives the keys of MS-CHAP version 1 from password and challenge (RFC 3079, 2).
    pub(crate) fn of_version_1(password: &[u8], challenge: &[u8; 8]) -> Self {
        let key = NtHash::new(password).session_key();
        Self::of_hashes(LmHash::new(password).first_half(), &key, challenge)
    }

    /// Derives the keys of MS-CHAP version 1 from RADIUS's MS-CHAP-MPPE-Keys (RFC 2548, 2.4.1): `lm_key` is the first
    /// half of the LM hash, `nt_key` the MD4 digest of the NT hash.
    pub fn of_hashes(lm_key: [u8; 8], nt_key: &[u8; 16], challenge: &[u8; 8]) -> Self {
        let key = StartKey {
            long: start_key_v1(nt_key, challenge),
            short: Zeroizing::new(lm_key),
        };
        Self {
            transmit: key.clone(),
            receive: key,
        }
    }

    /// Derives the keys of MS-CHAP version 2 from its master key, for one end (RFC 3079, 3).
    pub(crate) fn of_version_2(master: &MasterKey, role: Role) -> Self {
        let client = StartKey::new(*master.start_key(Sender::Client));
        let server = StartKey::new(*master.start_key(Sender::Server));
        let (transmit, receive) = match role {
            Role::Client => (client, server),
            Role::Server => (server, client),
        };
        Self { transmit, receive }
    }
}

/// The key of one direction, which changes with the packets.
pub(super) struct SessionKey {
    length: KeyLength,
    /// The start key; shorter keys use its first 8 bytes.
    start: Zeroizing<[u8; 16]>,
    /// The current key.
    current: Zeroizing<[u8; 16]>,
}

impl SessionKey {
    /// Derives the first session key (RFC 3079, 2.4 and 3.4), which no packet uses before a change of the key in
    /// stateless encryption.
    pub(super) fn new(length: KeyLength, key: &StartKey) -> Self {
        let mut start = Zeroizing::new([0; 16]);
        match length {
            KeyLength::Bits128 => *start = *key.long,
            _ => start[..8].copy_from_slice(&*key.short),
        }
        let current = start.clone();
        let mut key = Self {
            length,
            start,
            current,
        };
        key.derive();
        key.weaken();
        key
    }

    /// Changes the key (RFC 3078, 7.3). The cipher serves as scratch memory, and has no valid key afterwards.
    pub(super) fn change(&mut self, cipher: &mut Rc4) {
        self.derive();
        self.set(cipher);
        match self.length {
            KeyLength::Bits128 => cipher.apply(&mut *self.current),
            _ => cipher.apply(&mut self.current[..8]),
        }
        self.weaken();
    }

    /// Returns the current key.
    pub(super) fn current(&self) -> Zeroizing<[u8; 16]> {
        self.current.clone()
    }

    /// Returns to an earlier key.
    pub(super) fn restore(&mut self, key: Zeroizing<[u8; 16]>) {
        self.current = key;
    }

    /// Sets the current key.
    pub(super) fn set(&self, cipher: &mut Rc4) {
        match (self.length, self.current.first_chunk::<8>()) {
            (KeyLength::Bits128, _) | (_, None) => cipher.set_key(&self.current),
            (_, Some(key)) => cipher.set_key(key),
        }
    }

    /// Hashes start key and current key (GetNewKeyFromSHA).
    fn derive(&mut self) {
        let bytes = match self.length {
            KeyLength::Bits128 => 16,
            _ => 8,
        };
        let mut hash = sha1::Sha1::default();
        hash.update(&self.start[..bytes]);
        hash.update(PAD_1);
        hash.update(&self.current[..bytes]);
        hash.update(PAD_2);
        let digest: [u8; 20] = hash.finalize().into();
        self.current[..bytes].copy_from_slice(&digest[..bytes]);
    }

    /// Sets the constant bytes of shorter keys.
    fn weaken(&mut self) {
        let salt = self.length.salt();
        self.current[..salt.len()].copy_from_slice(salt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mschap::ChallengeHash;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        core::array::from_fn(|at| {
            u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("two hexadecimal digits")
        })
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the first session key and an encrypted text.
    fn first(length: KeyLength, key: &StartKey) -> (String, String) {
        let key = SessionKey::new(length, key);
        let mut cipher = Rc4::idle();
        key.set(&mut cipher);
        let mut text = *b"test message";
        cipher.apply(&mut text);
        let bytes = if length == KeyLength::Bits128 { 16 } else { 8 };
        (hex(&key.current[..bytes]), hex(&text))
    }

    #[test]
    fn keys_of_version_2_are_those_of_rfc_3079() {
        // RFC 3079, 3.5.
        let client = bytes("21402324255e262a28295f2b3a337c7e");
        let server = bytes("5b5d7c7d7b3f2f3e3c2c602132262628");
        let hash = NtHash::new(b"clientPass");
        let challenge = ChallengeHash::new(&client, &server, b"User");
        let master = hash.master_key(&hash.response_v2(challenge));
        let keys = MppeKeys::of_version_2(&master, Role::Server);
        let sending = |length| first(length, &keys.transmit);
        assert_eq!(
            sending(KeyLength::Bits40),
            ("d1269ec49fa62e3e".into(), "929137917e5803d668d75898".into())
        );
        assert_eq!(
            sending(KeyLength::Bits56),
            ("d15c00c49fa62e3e".into(), "3f106833fa448da842bc57b8".into())
        );
        assert_eq!(
            sending(KeyLength::Bits128),
            (
                "405cb2247a7956e6e211007ae27b22d4".into(),
                "81848317df68846272fb5abe".into()
            )
        );
        let (receiving, _) = first(KeyLength::Bits128, &keys.receive);
        assert_eq!(receiving, "49d11d0f0cc6befba2a9b4b688f91eee");
        let peer = MppeKeys::of_version_2(&master, Role::Client);
        assert_eq!((peer.transmit, peer.receive), (keys.receive, keys.transmit));
    }

    #[test]
    fn keys_of_version_1_are_those_of_rfc_3079() {
        // RFC 3079, 2.5.
        let keys = MppeKeys::of_version_1(b"clientPass", &bytes("102db5df085d3041"));
        assert_eq!(keys.transmit, keys.receive);
        assert_eq!(
            hex(&*keys.transmit.long),
            "a8947850cfc0acc1d1789fb62ddcddb0"
        );
        let (short, _) = first(KeyLength::Bits40, &keys.transmit);
        assert_eq!(short, "d1269e538cec4a08");
        let (long, _) = first(KeyLength::Bits128, &keys.transmit);
        assert_eq!(long, "59d159bc09f76f1da2a86a28ffec0b1e");
    }

    #[test]
    fn debug_hides_keys() {
        let keys = MppeKeys::of_hashes([1; 8], &[2; 16], &[3; 8]);
        assert!(!format!("{keys:?}").contains("1, 1"));
    }
}
