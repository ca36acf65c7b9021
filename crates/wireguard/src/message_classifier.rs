//! Stateless classification of handshake messages for the data plane: addressed to this device or not, with a
//! valid cookie or without (white paper, 5.3 and 5.4.4). Workers call it without a lock.

use core::net::{IpAddr, SocketAddr};

use machine::Instant;

use crate::cookie::{self, CookieKey};
use crate::key::Public;
use crate::message::{Mac, MacKey, Macs, Message, mac, nonce_hash};
use crate::numbers::NumberTable;

/// Duration of a cookie epoch. Cookies of the previous epoch remain valid.
const EPOCH_SECONDS: u64 = 120;
/// Length of a cookie reply in bytes.
pub const CHALLENGE_BYTES: usize = 64;

/// Class of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageClass {
    /// Not a handshake message.
    Malformed,
    /// MAC1 is wrong: the sender does not know this device's public key.
    NotForUs,
    /// Response or cookie with a receiver index that this device has not assigned.
    NotAsked,
    /// Response or cookie with a receiver index of this device, which only the receiver and hosts on the path
    /// know.
    Answer,
    /// Initiation with a valid cookie.
    Proved,
    /// Initiation without a valid cookie.
    Unproved,
}

/// State of a device that workers use.
#[derive(Clone, Debug)]
pub struct MessageClassifier {
    macs: MacKey,
    giving: CookieKey,
    secret: [u8; 32],
    numbers: NumberTable,
}

impl MessageClassifier {
    /// `numbers` are the assigned receiver indices.
    pub(crate) fn new(public: Public, secret: [u8; 32], numbers: NumberTable) -> Self {
        Self {
            macs: MacKey::of(&public),
            giving: CookieKey::of(&public),
            secret,
            numbers,
        }
    }

    /// Classifies a message.
    pub fn classify(&self, message: &[u8], from: SocketAddr, now: Instant) -> MessageClass {
        let (receiver, macs) = match Message::read(message) {
            None => return MessageClass::Malformed,
            Some(Message::Cookie { receiver, .. }) => (Some(receiver), None),
            Some(Message::Response { receiver, macs, .. }) => (Some(receiver), Some(macs)),
            Some(Message::Initiation { macs, .. }) => (None, Some(macs)),
        };
        if receiver.is_some_and(|number| !self.numbers.may_have(number)) {
            return MessageClass::NotAsked;
        }
        match macs {
            Some(macs) if !self.is_for(&macs) => MessageClass::NotForUs,
            _ if receiver.is_some() => MessageClass::Answer,
            Some(macs) if self.is_proved(&macs, from, now) => MessageClass::Proved,
            _ => MessageClass::Unproved,
        }
    }

    /// Returns the cookie reply to a message; `None` if the message is itself a cookie reply or malformed.
    pub fn challenge(
        &self,
        message: &[u8],
        from: SocketAddr,
        now: Instant,
    ) -> Option<[u8; CHALLENGE_BYTES]> {
        let (sender, macs) = match Message::read(message)? {
            Message::Initiation { sender, macs, .. } | Message::Response { sender, macs, .. } => {
                (sender, macs)
            }
            Message::Cookie { .. } => return None,
        };
        self.cookie_reply(sender, &macs, from, now)
    }

    /// Returns the cookie reply to a message. Its nonce is derived from message and time: replies with equal
    /// nonces have equal contents.
    pub(crate) fn cookie_reply(
        &self,
        sender: u32,
        macs: &Macs<'_>,
        from: SocketAddr,
        now: Instant,
    ) -> Option<[u8; CHALLENGE_BYTES]> {
        let cookie = self.cookie(epoch(now), from);
        let digest = nonce_hash(&self.secret, macs.first, &cookie);
        let nonce = *digest.first_chunk()?;
        let bytes = cookie::give(&self.giving, sender, macs.first, cookie, nonce)?;
        bytes.try_into().ok()
    }

    pub(crate) fn is_for(&self, macs: &Macs<'_>) -> bool {
        macs.is_for(&self.macs)
    }

    pub(crate) fn is_proved(&self, macs: &Macs<'_>, from: SocketAddr, now: Instant) -> bool {
        if !macs.has_second() {
            return false;
        }
        let epoch = epoch(now);
        let has = |epoch| macs.has(&self.cookie(epoch, from));
        has(epoch) || has(epoch.saturating_sub(1))
    }

    fn cookie(&self, epoch: u64, from: SocketAddr) -> Mac {
        let address = match from.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        let parts = [
            &epoch.to_be_bytes()[..],
            &address,
            &from.port().to_be_bytes(),
        ]
        .concat();
        mac(&self.secret, &parts)
    }
}

fn epoch(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000 / EPOCH_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PeerId;
    use crate::cookie::ReceivedCookie;
    use crate::message::{INITIATION, RESPONSE, write};
    use crate::numbers::Numbers;

    const NOW: Instant = Instant::from_secs(1000);

    fn from(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 51_820).into()
    }

    #[test]
    fn a_cookie_proves_one_address_until_it_expires() {
        let public = Public([5; 32]);
        let mut numbers = Numbers::default();
        let classifier = MessageClassifier::new(public, [3; 32], numbers.table());
        let message =
            |cookie: Option<&Mac>| write(INITIATION, &[7], &[1; 108], &MacKey::of(&public), cookie);
        let (plain, first) = message(None);
        assert_eq!(
            classifier.classify(&plain, from(1), NOW),
            MessageClass::Unproved
        );
        let challenge = classifier
            .challenge(&plain, from(1), NOW)
            .expect("a cookie");
        let Some(Message::Cookie { nonce, sealed, .. }) = Message::read(&challenge) else {
            panic!("a message with a cookie");
        };
        let given = ReceivedCookie::open(&public, &first, nonce, sealed, NOW).expect("it opens");
        let (proved, _) = message(given.at(NOW));
        assert_eq!(
            classifier.classify(&proved, from(1), NOW),
            MessageClass::Proved
        );
        let next = Instant::from_secs(1000 + EPOCH_SECONDS);
        assert_eq!(
            classifier.classify(&proved, from(1), next),
            MessageClass::Proved
        );
        let later = Instant::from_secs(1000 + 3 * EPOCH_SECONDS);
        assert_eq!(
            classifier.classify(&proved, from(1), later),
            MessageClass::Unproved
        );
        assert_eq!(
            classifier.classify(&proved, from(2), NOW),
            MessageClass::Unproved
        );
        let other = MessageClassifier::new(Public([6; 32]), [3; 32], numbers.table());
        assert_eq!(other.classify(&plain, from(1), NOW), MessageClass::NotForUs);
        assert_eq!(
            classifier.classify(&plain[1..], from(1), NOW),
            MessageClass::Malformed
        );
        // Responses with an assigned index, and with an unknown one.
        let key = MacKey::of(&public);
        let (response, _) = write(RESPONSE, &[1, 9], &[1; 48], &key, None);
        for message in [&response[..], &challenge] {
            assert_eq!(
                classifier.classify(message, from(1), NOW),
                MessageClass::NotAsked
            );
        }
        numbers.insert(7, PeerId(1));
        numbers.insert(9, PeerId(1));
        for message in [&response[..], &challenge] {
            assert_eq!(
                classifier.classify(message, from(1), NOW),
                MessageClass::Answer
            );
        }
        assert_eq!(
            other.classify(&response, from(1), NOW),
            MessageClass::NotForUs
        );
    }
}
