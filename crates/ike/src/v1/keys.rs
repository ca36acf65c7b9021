//! Key derivation of IKEv1 (RFC 2409, 5 and Appendix B), and encryption of its messages.

use crate::config::Secret;
use crate::crypto::{decrypt, digest, encrypt, hmac};
use crate::suite::{Cipher, Hash};

/// Concatenates the cookies of initiator and responder for key derivation.
pub(super) fn cookies(initiator: u64, responder: u64) -> [u8; 16] {
    (u128::from(initiator) << 64 | u128::from(responder)).to_be_bytes()
}

/// Returns SKEYID for pre-shared keys.
pub(super) fn skeyid_psk(hash: Hash, secret: &[u8], nonces: (&[u8], &[u8])) -> Secret {
    Secret::new(hmac(hash, secret, &[nonces.0, nonces.1]))
}

/// Returns SKEYID for signatures.
pub(super) fn skeyid_signature(hash: Hash, shared: &[u8], nonces: (&[u8], &[u8])) -> Secret {
    let key = Secret::new([nonces.0, nonces.1].concat());
    Secret::new(hmac(hash, key.bytes(), &[shared]))
}

/// Keys of phase 1.
pub(super) struct Keys {
    pub(super) hash: Hash,
    cipher: Cipher,
    pub(super) skeyid: Secret,
    derive: Secret,
    authenticate: Secret,
    encrypt: Secret,
    /// Last ciphertext block of phase 1: base of later initialisation vectors.
    pub(super) iv: Vec<u8>,
}

impl Keys {
    /// Derives all keys. `values` are the public values of initiator and responder.
    pub(super) fn new(
        cipher: Cipher,
        hash: Hash,
        skeyid: Secret,
        shared: &[u8],
        spis: (u64, u64),
        values: (&[u8], &[u8]),
    ) -> Self {
        let cookies = cookies(spis.0, spis.1);
        let next = |before: &[u8], number: u8| {
            Secret::new(hmac(
                hash,
                skeyid.bytes(),
                &[before, shared, &cookies, &[number]],
            ))
        };
        let derive = next(&[], 0);
        let authenticate = next(derive.bytes(), 1);
        let last = next(authenticate.bytes(), 2);
        let mut iv = digest(hash, &[values.0, values.1]);
        iv.truncate(cipher.block_len());
        Self {
            encrypt: lengthen(hash, &last, cipher.key_len()),
            hash,
            cipher,
            skeyid,
            derive,
            authenticate,
            iv,
        }
    }

    /// Returns HASH_I or HASH_R, from the sender's view: own and peer's public value, own and peer's cookie,
    /// the initiator's SA payload and the own identity.
    pub(super) fn proof(
        &self,
        values: (&[u8], &[u8]),
        spis: (u64, u64),
        offers: &[u8],
        id: &[u8],
    ) -> Vec<u8> {
        let parts = [values.0, values.1, &cookies(spis.0, spis.1), offers, id];
        hmac(self.hash, self.skeyid.bytes(), &parts)
    }

    /// Returns HASH(1), HASH(2) or HASH(3) of later exchanges.
    pub(super) fn authenticate(&self, parts: &[&[u8]]) -> Vec<u8> {
        hmac(self.hash, self.authenticate.bytes(), parts)
    }

    /// Returns the initialisation vector of the first message with this message ID.
    pub(super) fn iv_of(&self, id: u32) -> Vec<u8> {
        let mut iv = digest(self.hash, &[&self.iv, &id.to_be_bytes()]);
        iv.truncate(self.cipher.block_len());
        iv
    }

    /// Pads payloads with zeros, encrypts them, and updates `iv` for the next message.
    pub(super) fn encrypt(&self, iv: &mut Vec<u8>, payloads: &[u8]) -> Vec<u8> {
        let block = self.cipher.block_len();
        let mut bytes = payloads.to_vec();
        bytes.resize(bytes.len().next_multiple_of(block), 0);
        encrypt(self.cipher, self.encrypt.bytes(), iv, &mut bytes);
        keep_last(iv, &bytes);
        bytes
    }

    /// Decrypts payloads; returns them with the initialisation vector of the next message.
    pub(super) fn decrypt(&self, iv: &[u8], bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut next = iv.to_vec();
        keep_last(&mut next, bytes);
        let mut plain = bytes.to_vec();
        let done = !bytes.is_empty() && decrypt(self.cipher, self.encrypt.bytes(), iv, &mut plain);
        done.then_some((plain, next))
    }

    /// Derives KEYMAT of one direction of a pair (RFC 2409, 5.5).
    pub(super) fn material(
        &self,
        shared: Option<&Secret>,
        protocol: u8,
        spi: u32,
        nonces: (&[u8], &[u8]),
        len: usize,
    ) -> Secret {
        let shared = shared.map_or(&[][..], Secret::bytes);
        let (protocol, spi) = ([protocol], spi.to_be_bytes());
        let mut all = Vec::with_capacity(len + self.hash.size());
        let mut last = Vec::new();
        while all.len() < len {
            let parts = [&last, shared, &protocol, &spi, nonces.0, nonces.1];
            last = hmac(self.hash, self.derive.bytes(), &parts);
            all.extend_from_slice(&last);
        }
        all.truncate(len);
        Secret::new(all)
    }
}

/// Returns the cipher key: SKEYID_e, extended if it is too short (RFC 2409, Appendix B).
fn lengthen(hash: Hash, key: &Secret, len: usize) -> Secret {
    if key.bytes().len() >= len {
        return Secret::new(key.bytes().get(..len).unwrap_or_default());
    }
    let mut all = Vec::new();
    let mut last = vec![0];
    while all.len() < len {
        last = hmac(hash, key.bytes(), &[&last]);
        all.extend_from_slice(&last);
    }
    all.truncate(len);
    Secret::new(all)
}

/// Replaces `iv` by the last ciphertext block.
fn keep_last(iv: &mut Vec<u8>, bytes: &[u8]) {
    if let Some(last) = bytes
        .len()
        .checked_sub(iv.len())
        .and_then(|at| bytes.get(at..))
    {
        *iv = last.to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tests::hex;

    const SPIS: (u64, u64) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718);

    fn keys_for(cipher: Cipher) -> Keys {
        let nonces: (&[u8], &[u8]) = (&[0x11; 16], &[0x22; 16]);
        let shared: Vec<u8> = (0..=255).collect();
        let skeyid = skeyid_psk(Hash::Sha1, b"secret", nonces);
        let values: (&[u8], &[u8]) = (&[0x33; 256], &[0x44; 256]);
        Keys::new(cipher, Hash::Sha1, skeyid, &shared, SPIS, values)
    }

    #[test]
    fn keys_equal_those_of_the_test_vectors() {
        let keys = keys_for(Cipher::Aes256);
        assert_eq!(
            hex(keys.skeyid.bytes()),
            "d24530830c40b426af181a87c9815fc30b2fa2d4"
        );
        assert_eq!(
            hex(keys.derive.bytes()),
            "547907ede7066082a85d2d6f3e8a7b33bcf18bff"
        );
        assert_eq!(
            hex(keys.authenticate.bytes()),
            "65c1966cc288241141f54cee3f916945dfbc114d"
        );
        let long = "a702e5e3a024260102db41cd46f1f9dfdcd9135ba2055e4c63a3b342c41780fe";
        assert_eq!(hex(keys.encrypt.bytes()), long);
        assert_eq!(hex(&keys.iv), "7ca38021b40341671e03b40a22f57309");
        let short = keys_for(Cipher::Aes128);
        assert_eq!(
            hex(short.encrypt.bytes()),
            "528fc0f10fd490c43ffa55c5e0811f0e"
        );

        let nonces: (&[u8], &[u8]) = (&[0x55; 16], &[0x66; 16]);
        let material = keys.material(None, 3, 0x1122_3344, nonces, 52);

        let wanted = "b7473555232cd85714470d939c2ba1b80da246048687fd0235ecefc040c75e2a\
                      e3e4c07ea276b7ad942de280baca29d5a5374f10";
        assert_eq!(hex(material.bytes()), wanted);
    }

    #[test]
    fn messages_are_chained_by_their_last_block() {
        let keys = keys_for(Cipher::TripleDes);
        let (mut one, mut two) = (keys.iv_of(7), keys.iv_of(7));
        for text in [&b"first"[..], b"a second message"] {
            let sent = keys.encrypt(&mut one, text);
            let (plain, next) = keys.decrypt(&two, &sent).expect("a message");
            assert!(plain.starts_with(text));
            two = next;
            assert_eq!(one, two);
        }
        assert!(keys.decrypt(&two, &[1; 7]).is_none());
        assert!(keys.decrypt(&two, &[]).is_none());
    }
}
