//! Key derivation of IKEv2 (RFC 7296, 2.13 to 2.17), and encrypted messages (3.14; fragments: RFC 7383).

use crate::config::Secret;
use crate::crypto::{decrypt, encrypt, equal, hmac, prf_plus};
use crate::message::{Fault, HEADER, Header, Reader};
use crate::suite::{Cipher, Group, Hash};

/// Algorithms of an IKE SA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) cipher: Cipher,
    pub(super) integrity: Hash,
    pub(super) prf: Hash,
    pub(super) group: Group,
}

/// Keys of one direction.
struct Direction {
    authenticate: Secret,
    encrypt: Secret,
    prove: Secret,
}

/// All keys of an IKE SA.
pub(super) struct Keys {
    pub(super) agreed: Agreed,
    derive: Secret,
    initiator: Direction,
    responder: Direction,
}

/// A decrypted message.
pub(super) struct Opened {
    /// Type of the first inner payload.
    pub(super) first: u8,
    /// Inner payloads.
    pub(super) plain: Vec<u8>,
    /// Fragment number and total, for fragments.
    pub(super) fragment: Option<(u16, u16)>,
}

pub(super) const SK: u8 = 46;
pub(super) const SKF: u8 = 53;

impl Keys {
    /// Derives the keys of an initial IKE SA.
    pub(super) fn new(
        agreed: Agreed,
        shared: &Secret,
        nonces: (&[u8], &[u8]),
        spis: (u64, u64),
    ) -> Self {
        let key = Secret::new([nonces.0, nonces.1].concat());
        let seed = Secret::new(hmac(agreed.prf, key.bytes(), &[shared.bytes()]));
        Self::expand(agreed, &seed, nonces, spis)
    }

    /// Derives the keys of an IKE SA after rekeying (RFC 7296, 2.18).
    pub(super) fn next(
        &self,
        agreed: Agreed,
        shared: &Secret,
        nonces: (&[u8], &[u8]),
        spis: (u64, u64),
    ) -> Self {
        let parts = [shared.bytes(), nonces.0, nonces.1];
        let seed = Secret::new(hmac(self.agreed.prf, self.derive.bytes(), &parts));
        Self::expand(agreed, &seed, nonces, spis)
    }

    fn expand(agreed: Agreed, seed: &Secret, nonces: (&[u8], &[u8]), spis: (u64, u64)) -> Self {
        let (prf, integrity, cipher) = (
            agreed.prf.size(),
            agreed.integrity.size(),
            agreed.cipher.key_len(),
        );
        let len = 3 * prf + 2 * integrity + 2 * cipher;
        let spis = (spis.0.to_be_bytes(), spis.1.to_be_bytes());
        let all = prf_plus(
            agreed.prf,
            seed.bytes(),
            &[nonces.0, nonces.1, &spis.0, &spis.1],
            len,
        );
        let mut rest = all.bytes();
        let mut take = |len: usize| {
            let (head, tail) = rest.split_at_checked(len).unwrap_or_default();
            rest = tail;
            Secret::new(head)
        };
        let derive = take(prf);
        let (ai, ar) = (take(integrity), take(integrity));
        let (ei, er) = (take(cipher), take(cipher));
        let (pi, pr) = (take(prf), take(prf));
        let direction = |authenticate, encrypt, prove| Direction {
            authenticate,
            encrypt,
            prove,
        };
        Self {
            agreed,
            derive,
            initiator: direction(ai, ei, pi),
            responder: direction(ar, er, pr),
        }
    }

    const fn direction(&self, by_initiator: bool) -> &Direction {
        if by_initiator {
            &self.initiator
        } else {
            &self.responder
        }
    }

    /// Derives KEYMAT of a pair of SAs (RFC 7296, 2.17).
    pub(super) fn material(
        &self,
        shared: Option<&Secret>,
        nonces: (&[u8], &[u8]),
        len: usize,
    ) -> Secret {
        let shared = shared.map_or(&[][..], Secret::bytes);
        prf_plus(
            self.agreed.prf,
            self.derive.bytes(),
            &[shared, nonces.0, nonces.1],
            len,
        )
    }

    /// Returns the octets that a side signs: its first message, the peer's nonce, and its identity (RFC 7296,
    /// 2.15).
    pub(super) fn signed(
        &self,
        by_initiator: bool,
        message: &[u8],
        nonce: &[u8],
        id: &[u8],
    ) -> Vec<u8> {
        let prove = &self.direction(by_initiator).prove;
        let id = hmac(self.agreed.prf, prove.bytes(), &[id]);
        [message, nonce, &id].concat()
    }

    /// Returns AUTH for a shared secret.
    pub(super) fn proof(&self, secret: &[u8], signed: &[u8]) -> Vec<u8> {
        let key = Secret::new(hmac(self.agreed.prf, secret, &[b"Key Pad for IKEv2"]));
        hmac(self.agreed.prf, key.bytes(), &[signed])
    }

    /// Encrypts payloads into a message; `fragment` is number and total.
    pub(super) fn seal(
        &self,
        header: &Header,
        first: u8,
        payloads: &[u8],
        fragment: Option<(u16, u16)>,
        iv: &[u8],
    ) -> Vec<u8> {
        let direction = self.direction(header.flags & super::INITIATOR != 0);
        let block = self.agreed.cipher.block_len();
        let mut inside = payloads.to_vec();
        let padding = (inside.len() + 1).next_multiple_of(block) - inside.len() - 1;
        inside.resize(inside.len() + padding, 0);
        inside.push(padding as u8);
        encrypt(
            self.agreed.cipher,
            direction.encrypt.bytes(),
            iv,
            &mut inside,
        );
        let icv = self.agreed.integrity.icv_len();
        let numbers = fragment.map(|(at, total)| [at.to_be_bytes(), total.to_be_bytes()].concat());
        let numbers = numbers.unwrap_or_default();
        let len = 4 + numbers.len() + iv.len() + inside.len() + icv;
        let header = Header {
            next: if fragment.is_some() { SKF } else { SK },
            ..*header
        };
        let mut out = header.write(len);
        out.extend_from_slice(&[first, 0]);
        out.extend_from_slice(&(len as u16).to_be_bytes());
        for part in [&numbers, iv, &inside] {
            out.extend_from_slice(part);
        }
        let check = hmac(
            self.agreed.integrity,
            direction.authenticate.bytes(),
            &[&out],
        );
        out.extend_from_slice(check.get(..icv).unwrap_or_default());
        out
    }

    /// Verifies and decrypts a message whose first payload is SK or SKF.
    pub(super) fn open(&self, header: &Header, message: &[u8]) -> Result<Opened, Fault> {
        let direction = self.direction(header.flags & super::INITIATOR != 0);
        let (_, body) = Header::read(message)?;
        let message = message.get(..HEADER + body.len()).ok_or(Fault::Short)?;
        let mut reader = Reader(body);
        let first = reader.u8()?;
        reader.u8()?;
        if usize::from(reader.u16()?) != body.len() {
            return Err(Fault::Length);
        }
        let fragment = match header.next {
            SK => None,
            SKF => Some((reader.u16()?, reader.u16()?)),
            _ => return Err(Fault::Value),
        };
        let icv = self.agreed.integrity.icv_len();
        let covered = message.len().checked_sub(icv).ok_or(Fault::Short)?;
        let (covered, check) = message.split_at_checked(covered).ok_or(Fault::Short)?;
        let wanted = hmac(
            self.agreed.integrity,
            direction.authenticate.bytes(),
            &[covered],
        );
        if !equal(check, wanted.get(..icv).unwrap_or_default()) {
            return Err(Fault::Value);
        }
        let iv = reader.take(self.agreed.cipher.block_len())?;
        let inside = reader.0.len().checked_sub(icv).ok_or(Fault::Short)?;
        let mut plain = reader.take(inside)?.to_vec();
        if plain.is_empty()
            || !decrypt(
                self.agreed.cipher,
                direction.encrypt.bytes(),
                iv,
                &mut plain,
            )
        {
            return Err(Fault::Length);
        }
        let padding = usize::from(plain.pop().unwrap_or(0));
        let len = plain.len().checked_sub(padding).ok_or(Fault::Length)?;
        plain.truncate(len);
        Ok(Opened {
            first,
            plain,
            fragment,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::tests::hex;
    use crate::message::Version;

    fn keys() -> Keys {
        let agreed = Agreed {
            cipher: Cipher::Aes256,
            integrity: Hash::Sha256,
            prf: Hash::Sha256,
            group: Group::Modp2048,
        };
        let shared = Secret::new((0..=255).collect::<Vec<u8>>());
        let spis = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718);
        Keys::new(agreed, &shared, (&[0x11; 16], &[0x22; 16]), spis)
    }

    #[test]
    fn keys_equal_those_of_the_test_vectors() {
        let keys = keys();
        let of = |secret: &Secret| hex(secret.bytes());
        assert_eq!(
            of(&keys.derive),
            "f3baacbc02553b69284319b3ca6db504e1dacabe1a5d7995d5561683c0b47d45"
        );
        let ai = "265906a54195b7f3023a2f3fbc828715691120b57a9d7cdbf9e76ed4118e0fe7";
        assert_eq!(of(&keys.initiator.authenticate), ai);
        let er = "a85bc89806c6fcc0edfcc019fce9aacc2f0e7046d28a2b50a30dc9c4ba374553";
        assert_eq!(of(&keys.responder.encrypt), er);
        let pi = "dfd82063dd5bf09b4e9a74da14f1925afeb0a121e5a8e75eec6cfdeaa5e28954";
        assert_eq!(of(&keys.initiator.prove), pi);
        let material = keys.material(None, (&[0x55; 16], &[0x66; 16]), 72);
        let wanted = "b37225a564a39ba72e9ba53beaec59d55c4cbcc54ee13b2cf24eb346dfbf9f3c\
                      965a674d8a3da80ba16b0a0b77b60fd4f0b3bfd95fb07351978c41e4238cf5b7575f4b9f5a91db40";
        assert_eq!(of(&material), wanted);
        let id = [1, 0, 0, 0, 192, 0, 2, 1];
        let signed = keys.signed(true, b"IKE_SA_INIT-REQUEST", &[0x22; 16], &id);
        let auth = "e92a8fc9b218e85d2439ebcf816f0642f37e38744c1a12bc54ab45a34c737687";
        assert_eq!(hex(&keys.proof(b"secret", &signed)), auth);
    }

    #[test]
    fn a_protected_message_is_opened_unless_a_bit_changed() {
        let keys = keys();
        let header = Header {
            initiator: 1,
            responder: 2,
            next: 0,
            version: Version::Two,
            exchange: 37,
            flags: crate::v2::INITIATOR,
            id: 5,
        };
        for fragment in [None, Some((1, 2))] {
            let sealed = keys.seal(&header, 41, b"payloads", fragment, &[7; 16]);
            let (read, _) = Header::read(&sealed).expect("a header");
            let opened = keys.open(&read, &sealed).expect("a message");
            assert_eq!(
                (opened.first, opened.plain.as_slice(), opened.fragment),
                (41, &b"payloads"[..], fragment)
            );
            for bit in 0..sealed.len() * 8 {
                let mut broken = sealed.clone();
                broken[bit / 8] ^= 1 << (bit % 8);
                let opened =
                    Header::read(&broken).map(|(header, _)| keys.open(&header, &broken).is_ok());
                assert_ne!(opened, Ok(true), "bit {bit}");
            }
        }
    }
}
