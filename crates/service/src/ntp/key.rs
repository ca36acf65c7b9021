//! Symmetric keys of NTP: MD5 over key and packet (RFC 1305, C; RouterOS supports no other digest).

use core::fmt;

/// Key with its id.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Key id in packets.
    pub number: u32,
    secret: Box<[u8]>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.number)
    }
}

impl Key {
    /// Creates a key.
    pub fn new(number: u32, secret: &[u8]) -> Self {
        Self {
            number,
            secret: secret.into(),
        }
    }

    /// Appends key id and digest to a packet.
    pub fn sign(&self, packet: &[u8]) -> Vec<u8> {
        let mut signed = packet.to_vec();
        signed.extend(self.number.to_be_bytes());
        signed.extend(self.digest(packet));
        signed
    }

    /// Verifies a digest.
    pub fn proves(&self, packet: &[u8], mac: Option<(u32, &[u8; 16])>) -> bool {
        let Some((number, digest)) = mac else {
            return false;
        };
        let pairs = digest.iter().zip(self.digest(packet));
        // Constant-time comparison.
        number == self.number && pairs.fold(0, |other, (a, b)| other | (a ^ b)) == 0
    }

    fn digest(&self, packet: &[u8]) -> [u8; 16] {
        let mut hash = md5::Context::new();
        hash.consume(&self.secret);
        hash.consume(packet);
        hash.finalize().0
    }
}
