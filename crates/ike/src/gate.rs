//! Stateless classification of IKE datagrams for the data plane: malformed, of an existing SA, or a first
//! message, with or without a valid cookie (RFC 7296, 2.6).
//!
//! Workers call [`Gate::sort`] without a lock; only control adds and removes SPIs.

use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicU16, Ordering};

use machine::Instant;

use crate::crypto::{equal, hmac};
use crate::suite::Hash;

/// Number of SPI counters; the low bits of an SPI select its counter.
const COUNTERS: usize = 1 << 18;
/// Duration of a cookie epoch. Cookies of the previous epoch remain valid.
const EPOCH_SECONDS: u64 = 60;
/// Length of an IKE header in bytes (RFC 7296, 3.1).
const HEADER_BYTES: usize = 28;
/// Length of a response that demands a cookie.
pub const CHALLENGE_BYTES: usize = HEADER_BYTES + 8 + COOKIE_BYTES;
const COOKIE_BYTES: usize = 32;
const NONCE: u8 = 40;
const NOTIFY: u8 = 41;
const COOKIE_NOTIFY: [u8; 2] = 16_390_u16.to_be_bytes();
/// Exchange type IKE_SA_INIT, and the flags Initiator and Response.
const INIT: u8 = 34;
const INITIATOR: u8 = 0x08;
const RESPONSE: u8 = 0x20;

/// Class of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// No valid IKE header.
    Malformed,
    /// Carries an SPI of this router.
    Known,
    /// First message of an IKE SA, with a valid cookie.
    Proved,
    /// First message of an IKE SA.
    First,
    /// Names an SA that does not exist.
    Unknown,
}

/// Set of local SPIs, and key of the cookies. Shared by control and workers.
pub struct Gate {
    /// Number of SPIs per counter. Collisions make an unknown SPI look known.
    spis: Box<[AtomicU16]>,
    secret: [u8; 32],
}

impl core::fmt::Debug for Gate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

impl Gate {
    /// Creates a gate without SPIs. `secret` must be random.
    pub fn new(secret: [u8; 32]) -> Self {
        Self {
            spis: (0..COUNTERS).map(|_| AtomicU16::new(0)).collect(),
            secret,
        }
    }

    fn counter(&self, spi: u64) -> &AtomicU16 {
        &self.spis[spi as usize % COUNTERS]
    }

    /// Adds the local SPI of a new IKE SA.
    pub(crate) fn add(&self, spi: u64) {
        self.counter(spi).fetch_add(1, Ordering::Relaxed);
    }

    /// Removes the local SPI of a closed IKE SA.
    pub(crate) fn remove(&self, spi: u64) {
        self.counter(spi).fetch_sub(1, Ordering::Relaxed);
    }

    fn has(&self, spi: u64) -> bool {
        spi != 0 && self.counter(spi).load(Ordering::Relaxed) > 0
    }

    /// Classifies a message; the caller has removed the marker of port 4500.
    pub fn sort(&self, message: &[u8], from: SocketAddr, now: Instant) -> Sort {
        let Some(header) = message.first_chunk::<HEADER_BYTES>() else {
            return Sort::Malformed;
        };
        let (initiator, responder) = (spi(header, 0), spi(header, 8));
        let [.., a, b, c, d] = *header;
        let len = u32::from_be_bytes([a, b, c, d]) as usize;
        let exchange = header[18];
        let fits = match header[17] >> 4 {
            1 => matches!(exchange, 1..=6 | 32 | 33),
            2 => matches!(exchange, 34..=44),
            _ => false,
        };
        // Encrypted IKEv1 messages may have padding beyond their length field.
        if !fits || initiator == 0 || len < HEADER_BYTES || len > message.len() {
            return Sort::Malformed;
        }
        if self.has(initiator) || self.has(responder) {
            return Sort::Known;
        }
        match (responder, exchange) {
            (0, INIT) if self.is_proved(message, from, now) => Sort::Proved,
            (0, 1 | 2 | 4 | INIT) => Sort::First,
            _ => Sort::Unknown,
        }
    }

    /// Writes the response that demands a cookie from the sender of an IKE_SA_INIT request. Returns false if
    /// the message is no such request.
    pub fn challenge(
        &self,
        message: &[u8],
        from: SocketAddr,
        now: Instant,
        answer: &mut [u8; CHALLENGE_BYTES],
    ) -> bool {
        let is_first = message.get(17).is_some_and(|version| version >> 4 == 2)
            && message.get(18..20) == Some(&[INIT, INITIATOR]);
        let (Some(initiator), true) = (message.get(..8), is_first) else {
            return false;
        };
        let Some(nonce) = find(message, NONCE) else {
            return false;
        };
        *answer = [0; CHALLENGE_BYTES];
        answer[..8].copy_from_slice(initiator);
        answer[16..20].copy_from_slice(&[NOTIFY, 0x20, INIT, RESPONSE]);
        answer[24..28].copy_from_slice(&(CHALLENGE_BYTES as u32).to_be_bytes());
        answer[28..32].copy_from_slice(&[0, 0, 0, (8 + COOKIE_BYTES) as u8]);
        answer[34..36].copy_from_slice(&COOKIE_NOTIFY);
        let cookie = self.cookie(epoch(now), spi(message, 0), nonce, from);
        answer[36..].copy_from_slice(&cookie);
        true
    }

    /// Returns true if a first message carries a valid cookie for its sender.
    pub(crate) fn is_proved(&self, message: &[u8], from: SocketAddr, now: Instant) -> bool {
        // The cookie is the first payload (RFC 7296, 2.6).
        let is_notify = message.get(16) == Some(&NOTIFY);
        let Some([_, _, a, b, ..]) = message
            .get(HEADER_BYTES + 4..HEADER_BYTES + 8)
            .filter(|_| is_notify)
        else {
            return false;
        };
        let said = message.get(HEADER_BYTES + 8..HEADER_BYTES + 8 + COOKIE_BYTES);
        let (Some(said), Some(nonce)) = (said, find(message, NONCE)) else {
            return false;
        };
        let epoch = epoch(now);
        let right = |epoch| equal(&self.cookie(epoch, spi(message, 0), nonce, from), said);
        [*a, *b] == COOKIE_NOTIFY && (right(epoch) || right(epoch.saturating_sub(1)))
    }

    fn cookie(&self, epoch: u64, spi: u64, nonce: &[u8], from: SocketAddr) -> [u8; COOKIE_BYTES] {
        let address = match from.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        let (port, spi) = (from.port().to_be_bytes(), spi.to_be_bytes());
        let parts = [&epoch.to_be_bytes()[..], nonce, &address, &port, &spi];
        let digest = hmac(Hash::Sha256, &self.secret, &parts);
        digest.try_into().unwrap_or([0; COOKIE_BYTES])
    }
}

fn epoch(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000 / EPOCH_SECONDS
}

fn spi(message: &[u8], at: usize) -> u64 {
    let bytes = message.get(at..).and_then(|rest| rest.first_chunk());
    u64::from_be_bytes(*bytes.unwrap_or(&[0; 8]))
}

/// Returns the body of the first payload of a type.
fn find(message: &[u8], kind: u8) -> Option<&[u8]> {
    let (mut next, mut rest) = (*message.get(16)?, message.get(HEADER_BYTES..)?);
    loop {
        let [after, _, a, b] = *rest.first_chunk::<4>()?;
        let len = usize::from(u16::from_be_bytes([a, b]));
        let (payload, behind) = rest.split_at_checked(len)?;
        if next == kind {
            return payload.get(4..);
        }
        if len < 4 {
            return None;
        }
        (next, rest) = (after, behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(1000);

    /// Builds an IKE_SA_INIT request: the given payload, then a nonce.
    fn first(before: &[u8]) -> Vec<u8> {
        let nonce = [&[0, 0, 0, 36][..], &[7; 32]].concat();
        let next = if before.is_empty() { NONCE } else { NOTIFY };
        let len = HEADER_BYTES + before.len() + nonce.len();
        let mut header = vec![0; HEADER_BYTES];
        header[..8].fill(9);
        header[16..20].copy_from_slice(&[next, 0x20, INIT, INITIATOR]);
        header[24..].copy_from_slice(&(len as u32).to_be_bytes());
        [&header, before, &nonce].concat()
    }

    fn from(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 500).into()
    }

    #[test]
    fn a_sender_is_proved_by_its_own_cookie() {
        let gate = Gate::new([3; 32]);
        let message = first(&[]);
        assert_eq!(gate.sort(&message, from(1), NOW), Sort::First);
        let mut answer = [0; CHALLENGE_BYTES];
        assert!(gate.challenge(&message, from(1), NOW, &mut answer));
        let mut cookie = answer[HEADER_BYTES..].to_vec();
        cookie[0] = NONCE;
        let again = first(&cookie);
        assert_eq!(gate.sort(&again, from(1), NOW), Sort::Proved);
        // A cookie is invalid for other senders, and expires.
        assert_eq!(gate.sort(&again, from(2), NOW), Sort::First);
        let later = Instant::from_secs(1000 + 3 * EPOCH_SECONDS);
        assert_eq!(gate.sort(&again, from(1), later), Sort::First);
        for len in 0..again.len() {
            assert_ne!(gate.sort(&again[..len], from(1), NOW), Sort::Proved);
        }
    }

    #[test]
    fn messages_of_known_sas_are_recognised() {
        let gate = Gate::new([3; 32]);
        let mut message = first(&[]);
        message[8..16].fill(5);
        assert_eq!(gate.sort(&message, from(1), NOW), Sort::Unknown);
        gate.add(0x0505_0505_0505_0505);
        assert_eq!(gate.sort(&message, from(1), NOW), Sort::Known);
        gate.remove(0x0505_0505_0505_0505);
        assert_eq!(gate.sort(&message, from(1), NOW), Sort::Unknown);
        message[18] = 99;
        assert_eq!(gate.sort(&message, from(1), NOW), Sort::Malformed);
    }
}
