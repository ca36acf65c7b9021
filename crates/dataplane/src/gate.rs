//! Gates of services that anybody may flood, such as the exchange of keys: a worker sorts datagrams before control
//! hears them, so that strangers take nothing from peers that are known.
//!
//! ```text
//! datagram ─▶ Gate::sort ─┬─ Malformed, Unknown ─▶ drop
//!                         ├─ Known ─▶ bucket of the service's known senders ─▶ control
//!                         ├─ Configured ─▶ bucket of the sender ─▶ control
//!                         └─ Stranger ─▶ bucket of the sender ─▶ bucket of the service ─▶ control
//!                                                                   └ empty ─▶ challenge, or drop
//! ```

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use machine::Instant;

use crate::drop::DropReason;
use crate::flow::mix64;
use crate::service::{Rate, SERVICES, ServiceId};

/// Longest payload of an answer to a stranger.
pub const CHALLENGE_MAX: usize = 128;
/// Buckets that senders share by their hash.
const SENDERS: usize = 4096;
/// What a stranger may send.
const OF_STRANGER: Rate = Rate {
    per_second: 10,
    burst: 10,
};
/// What may come from the address of a configured peer: two ends that begin at once, make new keys and end within a
/// second send a dozen datagrams, and what ends an exchange of IKEv1 is sent once.
const OF_CONFIGURED: Rate = Rate {
    per_second: 50,
    burst: 50,
};
const SECOND: u64 = 1_000_000_000;

/// A datagram for a service.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// What is behind the UDP header.
    pub payload: &'a [u8],
    /// Who sent it.
    pub from: SocketAddr,
    /// The port that it was sent to.
    pub port: u16,
    /// The time.
    pub now: Instant,
}

/// Whose a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Nobody's: it is dropped, and counted under this name.
    Refused(DropReason),
    /// A peer's with whom something is agreed on, or that has proved its address.
    Known,
    /// It comes from the address of a configured peer, which anybody can write.
    Configured,
    /// Anybody's.
    Stranger,
}

/// Sorts the datagrams of one service. Workers call it without a lock.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Sorts a datagram.
    fn sort(&self, arrival: &Arrival<'_>) -> Sender;

    /// Writes a payload that asks a stranger to prove its address, where control is not to hear it. Returns its
    /// length; `None` if the service has no such answer.
    fn challenge(&self, _: &Arrival<'_>, _: &mut [u8; CHALLENGE_MAX]) -> Option<usize> {
        None
    }
}

/// The gate of a service, if it has one.
#[derive(Clone, Debug, Default)]
pub struct Gated(pub Option<Arc<dyn Gate>>);

impl PartialEq for Gated {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        }
    }
}

impl Eq for Gated {}

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Control hears it.
    Heard,
    /// It is dropped for this reason.
    Dropped(DropReason),
    /// Its sender is to prove its address.
    Challenged,
}

/// How far a worker has used what it may hand to control (token buckets, kept as the time at which each is full).
pub(crate) struct Limits {
    services: [u64; SERVICES],
    known: [u64; SERVICES],
    senders: Box<[u64]>,
    /// Keeps senders from choosing their bucket.
    seed: u64,
}

impl Limits {
    pub(crate) fn new() -> Self {
        let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
        Self {
            services: [0; SERVICES],
            known: [0; SERVICES],
            senders: vec![0; SENDERS].into(),
            seed: random,
        }
    }

    /// Whether one more frame of a service without a gate may go to control; it is counted then.
    pub(crate) fn admit(&mut self, id: ServiceId, rate: Rate, now: Instant) -> bool {
        take(&mut self.services[id.index()], rate, now)
    }

    /// Decides about a datagram of a service with a gate.
    pub(crate) fn sort(
        &mut self,
        id: ServiceId,
        rate: Rate,
        gate: &dyn Gate,
        arrival: &Arrival<'_>,
    ) -> Admission {
        let now = arrival.now;
        let limit = Admission::Dropped(DropReason::ServiceLimit);
        match gate.sort(arrival) {
            Sender::Refused(reason) => Admission::Dropped(reason),
            Sender::Known => match take(&mut self.known[id.index()], rate, now) {
                true => Admission::Heard,
                false => limit,
            },
            sender => {
                let place = self.place(id, arrival.from.ip());
                let is_configured = sender == Sender::Configured;
                let of_sender = match is_configured {
                    true => OF_CONFIGURED,
                    false => OF_STRANGER,
                };
                if !take(&mut self.senders[place], of_sender, now) {
                    return Admission::Dropped(DropReason::ServiceSender);
                }
                match is_configured || take(&mut self.services[id.index()], rate, now) {
                    true => Admission::Heard,
                    false => Admission::Challenged,
                }
            }
        }
    }

    fn place(&self, id: ServiceId, from: IpAddr) -> usize {
        let address = match from {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            // A host has a network of this size.
            IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
        };
        mix64(mix64(address ^ self.seed) ^ id.index() as u64) as usize % SENDERS
    }
}

/// Takes a token of a bucket, if it has one.
fn take(full_at: &mut u64, rate: Rate, now: Instant) -> bool {
    let now = now.as_nanos();
    let each = SECOND / u64::from(rate.per_second.max(1));
    let full = (*full_at).max(now);
    let room = each.saturating_mul(rate.burst.into());
    let admitted = full - now + each <= room;
    if admitted {
        *full_at = full + each;
    }
    admitted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts by the first byte of the payload.
    #[derive(Debug)]
    struct ByFirst;

    impl Gate for ByFirst {
        fn sort(&self, arrival: &Arrival<'_>) -> Sender {
            match arrival.payload {
                [0, ..] => Sender::Refused(DropReason::IkeMalformed),
                [1, ..] => Sender::Known,
                [2, ..] => Sender::Configured,
                _ => Sender::Stranger,
            }
        }
    }

    #[test]
    fn a_flood_of_strangers_takes_nothing_from_known_and_configured_peers() {
        let mut limits = Limits::new();
        let id = ServiceId::new(3).expect("a place");
        let rate = Rate {
            per_second: 100,
            burst: 50,
        };
        let mut sort = |kind: u8, number: u32, millis: u64| {
            let arrival = Arrival {
                payload: &[kind],
                from: (number.to_be_bytes(), 500).into(),
                port: 500,
                now: Instant::from_millis(millis),
            };
            limits.sort(id, rate, &ByFirst, &arrival)
        };
        let mut heard = [0; 4];
        // 30,000 in a second, each of another sender, and between them honest peers.
        for number in 0..30_000_u32 {
            let millis = 1000 + u64::from(number) / 30;
            heard[3] += u32::from(sort(3, number << 8, millis) == Admission::Heard);
            if number % 1000 == 0 {
                assert_eq!(sort(1, 7, millis), Admission::Heard);
                assert_eq!(
                    sort(0, 7, millis),
                    Admission::Dropped(DropReason::IkeMalformed)
                );
            }
        }
        assert!((100..=200).contains(&heard[3]), "{heard:?}");
        // One sender alone.
        let one = (0..1000).filter(|_| sort(3, 0xc000_0201, 9000) == Admission::Heard);
        assert_eq!(one.count(), 10);
        assert_eq!(
            sort(3, 0xc000_0201, 9000),
            Admission::Dropped(DropReason::ServiceSender)
        );
    }
}
