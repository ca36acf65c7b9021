//! Gates of services that are open to floods, such as key exchange: a worker classifies datagrams
//! before control receives them, so that unknown senders cannot starve known peers.
//!
//! ```text
//! datagram ─▶ Gate::sort ─┬─ Refused ─▶ drop
//!                         ├─ Known ─▶ bucket of the service's known peers ─▶ control
//!                         ├─ Proved ─▶ bucket of the sender ─▶ bucket of the service's known peers ─▶ control
//!                         ├─ Configured ─▶ bucket of the sender ─▶ bucket of configured peers ─▶ control
//!                         └─ Stranger ─▶ bucket of the sender ─▶ bucket of strangers ─▶ control
//! ```
//! If the bucket of configured peers or strangers is empty, the worker asks the sender to prove its
//! address (by a cookie), without state and at any rate: otherwise an attacker with a forged peer
//! address could use up the peer's tokens. The answer is never longer than the datagram, so it
//! amplifies no attack.
//!
//! A keyed hash of the address selects the bucket of a sender. Proved senders have a separate
//! table, which forged addresses cannot fill. Services without a gate may limit each sender as well
//! ([`PerSender`]).

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use machine::Instant;

use crate::drop::DropReason;
use crate::flow::mix64;
use crate::service::{Match, Rate, Received, SERVICES, ServiceId};

/// The longest payload of an answer to an unknown sender, in bytes.
pub const CHALLENGE_MAX: usize = 128;
/// Number of sender buckets, selected by hash.
const SENDERS: usize = 4096;
/// Rate of a sender with a proved address: many peers may be behind one NAT.
const OF_PROVED: Rate = Rate {
    per_second: 50,
    burst: 50,
};
/// Rate of an unknown sender.
const OF_STRANGER: Rate = Rate {
    per_second: 10,
    burst: 10,
};
/// Rate from the address of a configured peer. Two ends that start at once, rekey and end within a
/// second send a dozen datagrams, and the message that ends an IKEv1 exchange is sent only once.
const OF_CONFIGURED: Rate = Rate {
    per_second: 50,
    burst: 50,
};
const SECOND: u64 = 1_000_000_000;

/// A datagram for a service.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Payload of the UDP datagram.
    pub payload: &'a [u8],
    /// Source address and port.
    pub from: SocketAddr,
    /// Destination port.
    pub port: u16,
    /// Time of reception.
    pub now: Instant,
}

/// The class of a datagram's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Rejected: the datagram is dropped under this name.
    Refused(DropReason),
    /// A peer with an established session or association.
    Known,
    /// A sender that has proved its address by a cookie.
    Proved,
    /// The address of a configured peer, which may be forged.
    Configured,
    /// Any other sender.
    Stranger,
}

/// Classifies the datagrams of one service. Workers call it without a lock.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Returns the class of a datagram's sender.
    fn sort(&self, arrival: &Arrival<'_>) -> Sender;

    /// Returns the rate at which a worker hands datagrams of unknown senders to control. `service`
    /// is the rate of the whole service.
    fn stranger_rate(&self, service: Rate) -> Rate {
        service
    }

    /// Writes a payload that asks an unknown sender to prove its address, used when control does
    /// not receive its datagram. Returns the length in bytes; `None` if the service has no such
    /// answer.
    fn challenge(&self, _: &Arrival<'_>, _: &mut [u8; CHALLENGE_MAX]) -> Option<usize> {
        None
    }
}

/// The optional gate of a service.
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

/// Per-sender limit of a service without a gate, so that no single sender can starve the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerSender {
    /// By IP address.
    Address(Rate),
    /// By MAC address.
    Link(Rate),
}

impl PerSender {
    /// Senders of other protocols than IP are distinguished by MAC address.
    pub(crate) fn of(matches: &[Match], rate: Rate) -> Self {
        let is_frame = |what: &Match| matches!(what, Match::Frame(_) | Match::FrameTo(..));
        match matches.iter().any(is_frame) {
            true => Self::Link(rate),
            false => Self::Address(rate),
        }
    }
}

/// The rates of a service without a gate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) service: Rate,
    pub(crate) per_sender: PerSender,
    /// Limits all senders of an interface together, so that a flood on one interface leaves the others their share.
    pub(crate) per_interface: Option<Rate>,
}

/// The decision about a datagram for control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Control receives the datagram.
    Heard,
    /// The datagram is dropped for this reason.
    Dropped(DropReason),
    /// The datagram is dropped for this reason, and its sender is asked to prove its address.
    Challenged(DropReason),
}

/// The token buckets of a worker, each stored as the time at which it is full.
pub(crate) struct Limits {
    services: [u64; SERVICES],
    known: [u64; SERVICES],
    configured: [u64; SERVICES],
    senders: Box<[u64]>,
    proved: Box<[u64]>,
    interfaces: Box<[u64]>,
    /// Random seed, so that senders cannot choose their bucket.
    seed: u64,
}

impl Limits {
    pub(crate) fn new() -> Self {
        let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
        Self {
            services: [0; SERVICES],
            known: [0; SERVICES],
            configured: [0; SERVICES],
            senders: vec![0; SENDERS].into(),
            proved: vec![0; SENDERS].into(),
            interfaces: vec![0; SENDERS].into(),
            seed: random,
        }
    }

    /// Decides about a frame of a service without a gate.
    pub(crate) fn admit(
        &mut self,
        id: ServiceId,
        rates: Rates,
        received: &Received<'_>,
    ) -> Admission {
        let Received {
            interface,
            frame,
            l3,
            now,
        } = *received;
        let sender = match rates.per_sender {
            PerSender::Link(of_sender) => link_sender(frame).map(|sender| (sender, of_sender)),
            PerSender::Address(of_sender) => {
                let address = frame.get(l3..).and_then(source_of);
                address.map(|address| (ip_sender(address), of_sender))
            }
        };
        if let Some((sender, of_sender)) = sender {
            let place = self.place(id, sender);
            if !take(&mut self.senders[place], of_sender, now) {
                return Admission::Dropped(DropReason::ServiceSender);
            }
        }
        if let Some(of_interface) = rates.per_interface {
            let place = self.place(id, u64::from(interface.0));
            if !take(&mut self.interfaces[place], of_interface, now) {
                return Admission::Dropped(DropReason::ServiceInterface);
            }
        }
        match take(&mut self.services[id.index()], rates.service, now) {
            true => Admission::Heard,
            false => Admission::Dropped(DropReason::ServiceLimit),
        }
    }

    /// Decides about a datagram of a service with a gate.
    pub(crate) fn sort(
        &mut self,
        id: ServiceId,
        rate: Rate,
        gate: &dyn Gate,
        arrival: &Arrival<'_>,
    ) -> Admission {
        let (now, at) = (arrival.now, id.index());
        let place = self.place(id, ip_sender(arrival.from.ip()));
        let senders = &mut self.senders[place];
        match gate.sort(arrival) {
            Sender::Refused(reason) => Admission::Dropped(reason),
            Sender::Proved if !take(&mut self.proved[place], OF_PROVED, now) => {
                Admission::Dropped(DropReason::ServiceSender)
            }
            Sender::Known | Sender::Proved => match take(&mut self.known[at], rate, now) {
                true => Admission::Heard,
                false => Admission::Dropped(DropReason::ServiceLimit),
            },
            Sender::Configured if !take(senders, OF_CONFIGURED, now) => {
                Admission::Challenged(DropReason::ServiceSender)
            }
            Sender::Configured => match take(&mut self.configured[at], rate, now) {
                true => Admission::Heard,
                false => Admission::Challenged(DropReason::ServiceStranger),
            },
            Sender::Stranger if !take(senders, OF_STRANGER, now) => {
                Admission::Challenged(DropReason::ServiceSender)
            }
            Sender::Stranger => {
                let strangers = gate.stranger_rate(rate);
                match take(&mut self.services[at], strangers, now) {
                    true => Admission::Heard,
                    false => Admission::Challenged(DropReason::ServiceStranger),
                }
            }
        }
    }

    fn place(&self, id: ServiceId, sender: u64) -> usize {
        mix64(mix64(sender ^ self.seed) ^ id.index() as u64) as usize % SENDERS
    }
}

/// Returns a number for the host or site of an address.
fn ip_sender(from: IpAddr) -> u64 {
    match from {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        // Link-local addresses share a prefix, so the interface identifier names the host.
        IpAddr::V6(address) if address.is_unicast_link_local() => address.to_bits() as u64,
        // The /64 prefix names the host or site.
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64,
    }
}

fn link_sender(frame: &[u8]) -> Option<u64> {
    let [high @ .., e, f] = *frame.get(6..)?.first_chunk::<6>()?;
    let high = u32::from_be_bytes(high);
    Some(u64::from(high) << 16 | u64::from(u16::from_be_bytes([e, f])))
}

fn source_of(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::from(*packet.get(12..)?.first_chunk::<4>()?)),
        6 => Some(IpAddr::from(*packet.get(8..)?.first_chunk::<16>()?)),
        _ => None,
    }
}

/// Takes a token from a bucket. Returns false if the bucket is empty.
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
    use frame::InterfaceId;

    use super::*;

    /// A test gate that classifies by the first byte of the payload.
    #[derive(Debug)]
    struct ByFirst;

    impl Gate for ByFirst {
        fn sort(&self, arrival: &Arrival<'_>) -> Sender {
            match arrival.payload {
                [0, ..] => Sender::Refused(DropReason::IkeMalformed),
                [1, ..] => Sender::Known,
                [2, ..] => Sender::Configured,
                [4, ..] => Sender::Proved,
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
            burst: 100,
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
        // 30,000 datagrams of different senders in a second, with honest peers among them.
        for number in 0..30_000_u32 {
            let millis = 1000 + u64::from(number) / 30;
            heard[3] += u32::from(sort(3, number << 8, millis) == Admission::Heard);
            if number % 1000 == 0 {
                assert_eq!(sort(1, 7, millis), Admission::Heard);
                assert_eq!(sort(4, 7, millis), Admission::Heard);
                assert_eq!(
                    sort(0, 7, millis),
                    Admission::Dropped(DropReason::IkeMalformed)
                );
            }
        }
        assert!((100..=200).contains(&heard[3]), "{heard:?}");
        // A single sender.
        let one = (0..1000).filter(|_| sort(3, 0xc000_0201, 9000) == Admission::Heard);
        assert_eq!(one.count(), 10);
        assert_eq!(
            sort(3, 0xc000_0201, 9000),
            Admission::Challenged(DropReason::ServiceSender)
        );
        // A forged address of a configured peer uses up its bucket: the peer is asked for a cookie,
        // and received once it has one.
        while sort(2, 0xc000_0202, 9000) == Admission::Heard {}
        let asked = Admission::Challenged(DropReason::ServiceSender);
        assert_eq!(sort(2, 0xc000_0202, 9000), asked);
        assert_eq!(sort(4, 0xc000_0202, 9000), Admission::Heard);
        // A sender with a proved address that floods does not starve others.
        let proved = (0..1000).filter(|_| sort(4, 0xc000_0203, 9000) == Admission::Heard);
        assert_eq!(proved.count(), 50);
        assert_eq!(sort(4, 0xc000_0204, 9000), Admission::Heard);
    }

    #[test]
    fn one_sender_leaves_others_their_share_of_a_service_without_a_gate() {
        let mut limits = Limits::new();
        let id = ServiceId::new(3).expect("a place");
        let rate = |per_second| Rate {
            per_second,
            burst: 10,
        };
        let mut heard = |each, link: u8, host: u8| {
            let mut frame = [0; 34];
            frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, link]);
            frame[14] = 0x45;
            frame[26..30].copy_from_slice(&[10, 0, 0, host]);
            let now = Instant::from_secs(1);
            let rates = Rates {
                service: rate(1000),
                per_sender: each,
                per_interface: None,
            };
            let received = Received {
                interface: InterfaceId(1),
                frame: &frame,
                l3: 14,
                now,
            };
            let mut admit = |_: i32| limits.admit(id, rates, &received);
            (0..100)
                .map(&mut admit)
                .filter(|said| *said == Admission::Heard)
                .count()
        };
        let few = Rate {
            per_second: 1,
            burst: 3,
        };
        assert_eq!(heard(PerSender::Link(few), 1, 1), 3);
        assert_eq!(
            heard(PerSender::Link(few), 1, 2),
            0,
            "the same link address"
        );
        assert_eq!(heard(PerSender::Address(few), 1, 3), 3);
        assert_eq!(heard(PerSender::Address(few), 2, 3), 0, "the same address");
        assert_eq!(heard(PerSender::Link(rate(1000)), 2, 1), 4, "what is left");
    }

    #[test]
    fn a_flood_of_forged_senders_on_one_interface_leaves_other_interfaces_their_share() {
        let mut limits = Limits::new();
        let id = ServiceId::new(3).expect("a place");
        let rate = |per_second| Rate {
            per_second,
            burst: per_second,
        };
        let rates = Rates {
            service: rate(1000),
            per_sender: PerSender::Link(rate(50)),
            per_interface: Some(rate(200)),
        };
        let mut admit = |interface: u32, sender: u16, millis: u64| {
            let [a, b] = sender.to_be_bytes();
            let mut frame = [0; 34];
            frame[6..12].copy_from_slice(&[2, 0, 0, interface as u8, a, b]);
            let received = Received {
                interface: InterfaceId(interface),
                frame: &frame,
                l3: 14,
                now: Instant::from_millis(millis),
            };
            limits.admit(id, rates, &received)
        };
        // 10,000 frames of as many senders in a second, and one honest sender on another interface.
        let (mut flood, mut limited) = (0, 0);
        for at in 0..10_000_u16 {
            let millis = 5000 + u64::from(at) / 10;
            match admit(1, at, millis) {
                Admission::Heard => flood += 1,
                Admission::Dropped(DropReason::ServiceInterface) => limited += 1,
                Admission::Dropped(DropReason::ServiceSender) => {}
                other => panic!("{other:?}"),
            }
            if at % 1000 == 0 {
                assert_eq!(admit(2, 7, millis), Admission::Heard);
            }
        }
        assert!((200..=400).contains(&flood), "{flood}");
        assert!(limited > 9_000, "{limited}");
    }
}
