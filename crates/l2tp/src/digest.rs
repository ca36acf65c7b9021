//! Digests of control messages of version 3: integrity, and authentication with the tunnel's secret (RFC 3931, 4.3 and
//! 5.4.1).
//!
//! ```text
//! key = HMAC-MD5(secret, 2)
//! digest = HMAC(key, nonce of the sender | nonce of the receiver | message with a digest of zeros)
//! ```
//! Without a secret, its place is empty, and the digest protects from damage only.

use hmac::Hmac;
use machine::Rng;
use md5::Md5;
use sha1::Sha1;
use subtle::ConstantTimeEq as _;

use crate::avp::{Builder, attribute};
use crate::event::{Digest, Fault};
use crate::header::CONTROL_BYTES;
use crate::message::kind;
use crate::secret::Secret;

/// Bytes of a nonce of this end (RFC 3931, 5.4.1: at least 16).
const NONCE: usize = 16;
/// Offset of the digest's AVP in a message: behind the header and the AVP of the message's kind.
const AVP: usize = CONTROL_BYTES + 8;
/// Offset of the digest's type, and of the digest.
const TYPE: usize = AVP + 6;
const VALUE: usize = TYPE + 1;

impl Digest {
    /// Returns its type in messages.
    const fn number(self) -> u8 {
        match self {
            Self::Md5 => 0,
            Self::Sha1 => 1,
        }
    }

    /// Returns its length in bytes.
    const fn len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
        }
    }

    /// Returns the digest of parts.
    fn of(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Md5 => hmac::<Hmac<Md5>>(key, parts),
            Self::Sha1 => hmac::<Hmac<Sha1>>(key, parts),
        }
    }
}

fn hmac<H: hmac::Mac + hmac::KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let Ok(mut hash) = <H as hmac::KeyInit>::new_from_slice(key) else {
        return Vec::new();
    };
    parts.iter().for_each(|part| hash.update(part));
    hash.finalize().into_bytes().to_vec()
}

/// Returns the key of digests (purpose 2), or the key of hidden attributes (purpose 1).
fn derive(secret: Option<&Secret>, purpose: u8) -> Vec<u8> {
    let secret = secret.map_or(&[][..], Secret::bytes);
    Digest::Md5.of(secret, &[&[purpose]])
}

/// Returns the secret of hidden attributes in version 3 (RFC 3931, 5.3).
pub(crate) fn hiding(secret: &Secret) -> Secret {
    Secret::from(&derive(Some(secret), 1)[..])
}

/// Integrity of the messages of one tunnel.
#[derive(Clone, Debug)]
pub(crate) struct Integrity {
    /// Digest of sent messages.
    digest: Option<Digest>,
    /// Key of digests.
    key: Secret,
    /// Received messages need a digest: the tunnel has a secret.
    is_required: bool,
    /// Random bytes of both ends; those of the other end are empty until a message has them.
    local_nonce: Box<[u8]>,
    remote_nonce: Box<[u8]>,
}

impl Integrity {
    /// Returns the integrity of a new tunnel.
    pub(crate) fn new(digest: Option<Digest>, secret: Option<&Secret>, rng: &mut Rng) -> Self {
        // An end that sends no digests sends no random bytes.
        let mut local_nonce = vec![0; digest.map_or(0, |_| NONCE)].into_boxed_slice();
        rng.fill(&mut local_nonce);
        Self {
            digest,
            key: Secret::from(&derive(secret, 2)[..]),
            is_required: secret.is_some(),
            local_nonce,
            remote_nonce: Box::default(),
        }
    }

    /// Returns true if the tunnel has a secret, and this end sends no digests: the other end would accept nothing.
    pub(crate) const fn lacks_digest(&self) -> bool {
        self.is_required && self.digest.is_none()
    }

    /// Notes the random bytes of the other end.
    pub(crate) fn learn(&mut self, nonce: Option<&[u8]>) {
        self.remote_nonce = nonce.unwrap_or_default().into();
    }

    /// Begins a message, with the place of its digest.
    pub(crate) fn begin(&self, kind: u16) -> Builder {
        let message = Builder::new(kind);
        let Some(digest) = self.digest else {
            return message;
        };
        let mut place = vec![0; 1 + digest.len()];
        place[0] = digest.number();
        message.mandatory(attribute::MESSAGE_DIGEST, &place)
    }

    /// Adds the random bytes of this end to SCCRQ or SCCRP.
    pub(crate) fn add_nonce(&self, message: Builder) -> Builder {
        match self.digest {
            Some(_) => message.mandatory(attribute::NONCE, &self.local_nonce),
            None => message,
        }
    }

    /// Writes the digest of an encoded message into its place. SCCRQ has no random bytes of the receiver.
    pub(crate) fn sign(&self, message: &mut [u8]) {
        let Some(digest) = digest_of(message) else {
            return;
        };
        let remote = match kind_of(message) {
            kind::SCCRQ => &[][..],
            _ => &self.remote_nonce,
        };
        let value = digest.of(self.key.bytes(), &[&self.local_nonce, remote, message]);
        if let Some(place) = message.get_mut(VALUE..VALUE + value.len()) {
            place.copy_from_slice(&value);
        }
    }

    /// Checks the digest of a received message.
    ///
    /// # Errors
    /// The digest is wrong, or is missing although the tunnel has a secret.
    pub(crate) fn check(&self, mut message: Vec<u8>) -> Result<(), Fault> {
        let Some(digest) = digest_of(&message) else {
            return match self.is_required {
                true => Err(Fault::Authentication),
                false => Ok(()),
            };
        };
        let local = match kind_of(&message) {
            kind::SCCRQ => &[][..],
            _ => &self.local_nonce,
        };
        let place = message.get_mut(VALUE..VALUE + digest.len());
        let place = place.ok_or(Fault::Malformed)?;
        let received = place.to_vec();
        place.fill(0);
        let expected = digest.of(self.key.bytes(), &[&self.remote_nonce, local, &message]);
        match bool::from(expected.ct_eq(&received)) {
            true => Ok(()),
            false => Err(Fault::Authentication),
        }
    }
}

/// Returns the algorithm of a message's digest; `None` for a message without a whole digest of a known type.
fn digest_of(message: &[u8]) -> Option<Digest> {
    let [
        bits,
        length,
        vendor,
        vendor_low,
        number,
        number_low,
        of_type,
    ] = *message.get(AVP..)?.first_chunk()?;
    let is_plain = bits & 0x7f == 0 && [vendor, vendor_low] == [0; 2];
    if !is_plain || u16::from_be_bytes([number, number_low]) != attribute::MESSAGE_DIGEST {
        return None;
    }
    let all = [Digest::Md5, Digest::Sha1].into_iter();
    let mut fitting = all.filter(|digest| digest.number() == of_type);
    let digest = fitting.next()?;
    let is_whole = usize::from(length) == 7 + digest.len() && message.len() >= VALUE + digest.len();
    is_whole.then_some(digest)
}

/// Returns the kind of an encoded message; 0 for an empty one.
fn kind_of(message: &[u8]) -> u16 {
    let value = message.get(CONTROL_BYTES + 6..CONTROL_BYTES + 8);
    let value = value.and_then(|value| value.first_chunk());
    value.map_or(0, |value| u16::from_be_bytes(*value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Control, Version};

    fn message(integrity: &Integrity, kind: u16) -> Vec<u8> {
        let body = integrity.begin(kind).finish();
        let control = Control {
            version: Version::Three,
            tunnel: 5,
            session: 0,
            ns: 1,
            nr: 1,
            body: &body,
        };
        control.encode()
    }

    /// Two ends that have exchanged their random bytes.
    fn pair(digest: Option<Digest>, secrets: [Option<&str>; 2]) -> [Integrity; 2] {
        let mut rng = Rng::seeded(1);
        let secrets = secrets.map(|secret| secret.map(Secret::from));
        let [mut left, mut right] =
            [0, 1].map(|end| Integrity::new(digest, secrets[end].as_ref(), &mut rng));
        left.learn(Some(&right.local_nonce));
        right.learn(Some(&left.local_nonce));
        [left, right]
    }

    #[test]
    fn every_flipped_bit_of_a_message_with_a_digest_is_noticed() {
        for digest in [Digest::Md5, Digest::Sha1] {
            let [left, right] = pair(Some(digest), [Some("secret"); 2]);
            let mut sent = message(&left, kind::HELLO);
            left.sign(&mut sent);
            assert_eq!(right.check(sent.clone()), Ok(()));
            for bit in 0..sent.len() * 8 {
                let mut other = sent.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                assert!(right.check(other).is_err(), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_secret_needs_the_digest_of_the_same_secret() {
        for (secrets, digest, accepts) in [
            ([Some("a"), Some("b")], Some(Digest::Md5), false),
            ([None, Some("b")], Some(Digest::Md5), false),
            ([None, Some("b")], None, false),
            ([None, None], None, true),
            ([None, None], Some(Digest::Sha1), true),
        ] {
            let [left, right] = pair(digest, secrets);
            let mut sent = message(&left, kind::HELLO);
            left.sign(&mut sent);
            assert_eq!(right.check(sent).is_ok(), accepts, "{secrets:?} {digest:?}");
        }
    }

    #[test]
    fn a_request_is_signed_without_the_nonce_of_its_receiver() {
        let [left, right] = pair(Some(Digest::Md5), [Some("secret"); 2]);
        let mut rng = Rng::seeded(2);
        let mut fresh = Integrity::new(None, Some(&Secret::from("secret")), &mut rng);
        fresh.learn(Some(&left.local_nonce));
        let mut request = message(&left, kind::SCCRQ);
        left.sign(&mut request);
        assert_eq!(fresh.check(request), Ok(()));
        let mut hello = message(&right, kind::HELLO);
        right.sign(&mut hello);
        assert_eq!(fresh.check(hello), Err(Fault::Authentication));
    }
}
