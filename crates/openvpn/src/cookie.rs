//! Stateless reset of a server: its session id is an HMAC over the client's address and session id, so that nothing is
//! stored before the client has proved its address (OpenVPN 2.6 `ssl_pkt.c`: `calculate_session_id_hmac`).

use core::net::{IpAddr, SocketAddr};

use esp::mac::Mac;
use machine::{Duration, Instant, Rng};
use subtle::ConstantTimeEq as _;

use crate::packet::{SID_BYTES, Sid};
use crate::prf::hmac;
use crate::suite::Digest;

/// Time for which a session id is valid, at least; at most twice.
const SLOT: Duration = Duration::from_secs(30);
/// Ids of a client's first packet. RouterOS: clients may begin with 1.
pub(crate) const RESET_IDS: [u32; 2] = [0, 1];

/// Secret of the server's session ids.
pub(crate) struct Cookies(Mac);

impl Cookies {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let mut key = zeroize::Zeroizing::new([0; 32]);
        rng.fill(&mut *key);
        Self(Mac::new(Digest::Sha256, &*key))
    }

    /// Returns the server's session id for a client whose reset has the id `reset_id`.
    pub(crate) fn session_id(
        &self,
        remote: SocketAddr,
        client: Sid,
        reset_id: u32,
        now: Instant,
    ) -> Sid {
        self.compute(remote, client, reset_id, slot(now))
    }

    /// Returns the id of the client's reset if `server` is the session id that the client was given.
    pub(crate) fn check(
        &self,
        remote: SocketAddr,
        client: Sid,
        server: Sid,
        now: Instant,
    ) -> Option<u32> {
        let current = slot(now);
        let mut valid = None;
        for reset_id in RESET_IDS {
            for slot in [current, current.wrapping_sub(1)] {
                let wanted = self.compute(remote, client, reset_id, slot);
                if bool::from(wanted.ct_eq(&server)) {
                    valid = Some(reset_id);
                }
            }
        }
        valid
    }

    fn compute(&self, remote: SocketAddr, client: Sid, reset_id: u32, slot: u64) -> Sid {
        let address = match remote.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        let mut input = Vec::with_capacity(48);
        input.extend_from_slice(&slot.to_be_bytes());
        input.extend_from_slice(&address.octets());
        input.extend_from_slice(&remote.port().to_be_bytes());
        input.extend_from_slice(&client);
        input.extend_from_slice(&reset_id.to_be_bytes());
        let sum = hmac(&self.0, &input);
        let sid: &[u8; SID_BYTES] = sum.first_chunk().unwrap_or(&[0; SID_BYTES]);
        *sid
    }
}

fn slot(now: Instant) -> u64 {
    now.as_nanos() / SLOT.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_valid_for_its_client_and_for_a_minute_at_most() {
        let cookies = Cookies::new(&mut Rng::seeded(1));
        let [remote, other] = [1, 2].map(|port| SocketAddr::from(([192, 0, 2, 1], port)));
        let now = Instant::from_secs(1000);
        for reset_id in RESET_IDS {
            let server = cookies.session_id(remote, [1; 8], reset_id, now);
            let check = |remote, client, seconds| {
                cookies.check(remote, client, server, Instant::from_secs(seconds))
            };
            assert_eq!(check(remote, [1; 8], 1000), Some(reset_id));
            assert_eq!(check(remote, [1; 8], 1030), Some(reset_id));
            assert_eq!(check(remote, [1; 8], 1060), None);
            assert_eq!(check(other, [1; 8], 1000), None);
            assert_eq!(check(remote, [2; 8], 1000), None);
        }
    }
}
