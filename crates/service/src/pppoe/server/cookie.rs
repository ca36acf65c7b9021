//! Cookies of offers: what a client repeats in its request, authenticated, so that the server remembers nothing.
//!
//! ```text
//! stamp (64) | service (64) | HMAC-SHA-256 over stamp, service, port and client's address, cut to 128 bits
//! ```
//! A stamp is unique: nanoseconds since the start, or one more than the last stamp.

use machine::{Duration, Instant, Rng};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use wire::Mac;

/// Time for which a cookie is valid.
const LIFETIME: Duration = Duration::from_secs(60);
/// Bytes of a cookie.
const BYTES: usize = 32;
/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// Content of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cookie {
    /// Time of the offer, and its identity.
    pub(super) stamp: u64,
    /// Number of the offered service.
    pub(super) service: u64,
}

/// Reason why a cookie is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CookieFault {
    /// Not made by this server for this client and port.
    Wrong,
    /// Older than a minute.
    Old,
}

/// Makes and checks cookies.
pub(super) struct Cookies {
    key: [u8; BLOCK],
    last: u64,
}

impl core::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cookies").finish_non_exhaustive()
    }
}

impl Cookies {
    pub(super) fn new(secrets: &mut Rng) -> Self {
        let mut key = [0; BLOCK];
        secrets.fill(&mut key);
        Self { key, last: 0 }
    }

    /// Returns a stamp that no other cookie has.
    pub(super) fn stamp(&mut self, now: Instant) -> u64 {
        self.last = now.as_nanos().max(self.last + 1);
        self.last
    }

    /// Returns the cookie of an offer.
    pub(super) fn seal(&self, cookie: &Cookie, port: u64, peer: Mac) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let [stamp, service] = [cookie.stamp, cookie.service].map(u64::to_be_bytes);
        bytes[..8].copy_from_slice(&stamp);
        bytes[8..16].copy_from_slice(&service);
        bytes[16..].copy_from_slice(&self.mac(cookie, port, peer));
        bytes
    }

    /// Checks a cookie in time that does not depend on its bytes.
    ///
    /// # Errors
    /// The cookie is not of this server, client and port, or too old.
    pub(super) fn open(
        &self,
        bytes: &[u8],
        port: u64,
        peer: Mac,
        now: Instant,
    ) -> Result<Cookie, CookieFault> {
        let bytes: &[u8; BYTES] = bytes.try_into().map_err(|_| CookieFault::Wrong)?;
        let word = |at: usize| {
            let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
            u64::from_be_bytes(word.copied().unwrap_or_default())
        };
        let cookie = Cookie {
            stamp: word(0),
            service: word(8),
        };
        let mac = self.mac(&cookie, port, peer);
        if !bool::from(mac.ct_eq(&bytes[16..])) {
            return Err(CookieFault::Wrong);
        }
        let age = now.saturating_since(Instant::from_nanos(cookie.stamp));
        match age <= LIFETIME {
            true => Ok(cookie),
            false => Err(CookieFault::Old),
        }
    }

    /// HMAC-SHA-256 (RFC 2104) with a key of one block.
    fn mac(&self, cookie: &Cookie, port: u64, peer: Mac) -> [u8; 16] {
        let pad = |with: u8| self.key.map(|byte| byte ^ with);
        let inner = { Sha256::new().chain_update(pad(0x36)) }
            .chain_update(cookie.stamp.to_be_bytes())
            .chain_update(cookie.service.to_be_bytes())
            .chain_update(port.to_be_bytes())
            .chain_update(peer.0)
            .finalize();
        let outer = { Sha256::new().chain_update(pad(0x5c)) }.chain_update(inner);
        let [mac @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
            <[u8; 32]>::from(outer.finalize());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Mac = Mac([2, 0, 0, 0, 0, 1]);

    #[test]
    fn a_cookie_is_valid_for_its_client_and_port_and_for_a_minute() {
        let mut cookies = Cookies::new(&mut Rng::seeded(3));
        let now = Instant::from_secs(100);
        let cookie = Cookie {
            stamp: cookies.stamp(now),
            service: 9,
        };
        let bytes = cookies.seal(&cookie, 4, PEER);
        let open = |bytes: &[u8], port, peer, at| cookies.open(bytes, port, peer, at);
        assert_eq!(open(&bytes, 4, PEER, now), Ok(cookie));
        let later = now + LIFETIME;
        assert_eq!(open(&bytes, 4, PEER, later), Ok(cookie));
        let later = later + Duration::from_secs(1);
        assert_eq!(open(&bytes, 4, PEER, later), Err(CookieFault::Old));
        let other = Mac([2, 0, 0, 0, 0, 2]);
        assert_eq!(open(&bytes, 4, other, now), Err(CookieFault::Wrong));
        assert_eq!(open(&bytes, 5, PEER, now), Err(CookieFault::Wrong));
        for len in 0..bytes.len() {
            assert_eq!(open(&bytes[..len], 4, PEER, now), Err(CookieFault::Wrong));
        }
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&bytes, 4, PEER, now), Err(CookieFault::Wrong));
        }
        let restarted = Cookies::new(&mut Rng::seeded(4));
        assert_eq!(
            restarted.open(&bytes, 4, PEER, now),
            Err(CookieFault::Wrong)
        );
    }

    #[test]
    fn no_two_cookies_have_the_same_stamp() {
        let mut cookies = Cookies::new(&mut Rng::seeded(3));
        let stamps = [5, 5, 5, 4].map(|nanos| cookies.stamp(Instant::from_nanos(nanos)));
        assert_eq!(stamps, [5, 6, 7, 8]);
    }
}
