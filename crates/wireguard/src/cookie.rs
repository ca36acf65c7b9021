//! Cookies (white paper, 5.3 and 5.4.7): under load, senders prove their address first.

use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use machine::{Duration, Instant};

use crate::key::Public;
use crate::message::{COOKIE, MAC, Mac, hash};

/// Lifetime of the cookie secret.
const SECRET_LIFETIME: Duration = Duration::from_secs(120);
/// Safety margin: received cookies expire earlier by this time.
const EXPIRY_MARGIN: Duration = Duration::from_secs(5);

/// Key that encrypts the cookies of a device.
#[derive(Clone, Debug)]
pub(crate) struct CookieKey([u8; 32]);

impl CookieKey {
    /// Derives the key from the device's public key.
    pub(crate) fn of(giver: &Public) -> Self {
        Self(hash(b"cookie--", giver))
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&self.0.into())
    }
}

/// Builds the cookie reply to a message with this sender index and MAC1.
pub(crate) fn give(
    key: &CookieKey,
    receiver: u32,
    first: &Mac,
    mut cookie: Mac,
    nonce: [u8; 24],
) -> Option<Vec<u8>> {
    let nonce = XNonce::from(nonce);
    let tag = key
        .cipher()
        .encrypt_in_place_detached(&nonce, first, &mut cookie);
    let mut bytes = vec![COOKIE, 0, 0, 0];
    bytes.extend(receiver.to_le_bytes());
    bytes.extend(nonce);
    bytes.extend(cookie);
    bytes.extend(tag.ok()?);
    Some(bytes)
}

/// A cookie received from a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedCookie {
    cookie: Mac,
    at: Instant,
}

impl ReceivedCookie {
    /// Decrypts a cookie reply to the message with this MAC1.
    pub(crate) fn open(
        peer: &Public,
        first: &Mac,
        nonce: &[u8; 24],
        sealed: &[u8; 32],
        now: Instant,
    ) -> Option<Self> {
        let (cookie, tag) = sealed.split_first_chunk::<MAC>()?;
        let tag: [u8; MAC] = tag.try_into().ok()?;
        let mut cookie = *cookie;
        let nonce = XNonce::from(*nonce);
        { CookieKey::of(peer).cipher() }
            .decrypt_in_place_detached(&nonce, first, &mut cookie, &tag.into())
            .ok()?;
        Some(Self { cookie, at: now })
    }

    /// Returns the cookie unless it has expired.
    pub(crate) fn at(&self, now: Instant) -> Option<&Mac> {
        (now.saturating_since(self.at) < SECRET_LIFETIME.saturating_sub(EXPIRY_MARGIN))
            .then_some(&self.cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_received_cookie_decrypts_for_its_message_and_expires() {
        let (own, cookie) = (Public([5; 32]), [9; MAC]);
        let first = [1; MAC];
        let message = give(&CookieKey::of(&own), 3, &first, cookie, [2; 24]).expect("sealed");
        let Some(crate::message::Message::Cookie { nonce, sealed, .. }) =
            crate::message::Message::read(&message)
        else {
            panic!("a cookie");
        };
        let open = |key: &Public, first: &Mac| {
            ReceivedCookie::open(key, first, nonce, sealed, Instant::ZERO)
        };
        let given = open(&own, &first).expect("the right key");
        assert_eq!(given.at(Instant::from_secs(114)), Some(&cookie));
        assert_eq!(given.at(Instant::from_secs(115)), None);
        assert!(open(&own, &[2; MAC]).is_none());
        assert!(open(&Public([6; 32]), &first).is_none());
    }
}
