//! Hosts behind remote VXLAN ends: the peer of each host, for all networks.
//!
//! The host table stores a peer as a 32-bit number, where it stores the port of a bridged host. The
//! number of an IPv4 address is the address itself; an IPv6 address gets a number with its first
//! frame. Workers learn, control ages. A number is freed when its peer was silent for twice the
//! lifetime of its hosts, so no host refers to it any more.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use frame::InterfaceId;
use kernels::{Pages, Zeroed};
use machine::Instant;

use crate::flow::mix64;
use crate::table::{BridgeHosts, HostKey, Learned};

/// Maximum number of hosts of all networks together.
const HOSTS: u32 = 131_072;
/// Maximum number of peers with IPv6 addresses.
const ADDRESSES: usize = 1 << 16;
/// Slots in which an address may be stored.
const PLACES: usize = 8;
/// Seconds after which a silent host is forgotten. RouterOS, as Linux.
const AGEING: u32 = 300;

/// States of a slot, in the low bits of its third word; the upper half is the second of the last
/// frame.
mod state {
    pub(super) const FREE: u64 = 0;
    pub(super) const WRITING: u64 = 1;
    pub(super) const READY: u64 = 2;
}

/// The hosts of all VXLAN networks, and the IPv6 addresses of their peers.
#[derive(Debug, Default)]
pub struct Peers {
    tables: OnceLock<Tables>,
}

#[derive(Debug)]
struct Tables {
    hosts: BridgeHosts,
    /// The address in two words; second of the last frame (32) | state (2).
    addresses: Zeroed<[AtomicU64; 4]>,
    seed: u64,
}

impl Tables {
    fn new(seed: u64) -> std::io::Result<Self> {
        Ok(Self {
            hosts: BridgeHosts::new(HOSTS, seed)?,
            addresses: Zeroed::new(ADDRESSES, Pages::Small)?,
            seed,
        })
    }
}

impl Peers {
    /// Allocates memory. Effective before the first network is set; later calls change nothing.
    /// `seed` is random, as for [`BridgeHosts::new`].
    ///
    /// # Errors
    /// The kernel's error, if there is not that much address space.
    pub fn make_room(&self, seed: u64) -> std::io::Result<()> {
        if self.tables.get().is_none() {
            let tables = Tables::new(seed)?;
            self.tables.get_or_init(|| tables);
        }
        Ok(())
    }

    /// Returns the second of a time, as hosts and peers store it.
    #[inline]
    pub const fn second(at: Instant) -> u32 {
        (at.as_nanos() / 1_000_000_000) as u32
    }

    /// Returns the hosts of all networks, once memory is allocated.
    pub fn hosts(&self) -> Option<&BridgeHosts> {
        self.tables.get().map(|tables| &tables.hosts)
    }

    /// Returns the address of the peer with a host of a network.
    #[inline(always)]
    pub(crate) fn of(&self, network: InterfaceId, ipv6: bool, mac: u64) -> Option<IpAddr> {
        let tables = self.tables.get()?;
        let host = tables.hosts.get(&key(network, mac))?;
        tables.address(host.port, ipv6)
    }

    /// Learns a host from a frame that this address sent at this second, up to the network's limit
    /// of learned hosts.
    #[inline(always)]
    pub(crate) fn learn(
        &self,
        network: InterfaceId,
        mac: u64,
        from: IpAddr,
        now: u32,
        max: u32,
    ) -> Learned {
        let Some(tables) = self.tables.get() else {
            return Learned::Full;
        };
        let peer = match from {
            IpAddr::V4(address) => Some(InterfaceId(address.to_bits())),
            IpAddr::V6(address) => tables.number(address, now),
        };
        match peer {
            Some(peer) => tables.hosts.learn(&key(network, mac), peer, now, max),
            None => Learned::Full,
        }
    }

    /// Returns the address of a peer by its number in the host table.
    pub fn address(&self, number: InterfaceId, ipv6: bool) -> Option<IpAddr> {
        self.tables.get()?.address(number, ipv6)
    }

    /// Forgets the hosts of `count` lines from `from` on that were silent for [`AGEING`] seconds,
    /// and frees peers of a share of the slots that were silent for twice as long. Returns the line
    /// for the next call; 0 when all lines were visited. Only control calls this.
    pub fn age(&self, from: u32, count: u32, now: u32) -> u32 {
        let Some(tables) = self.tables.get() else {
            return 0;
        };
        let (hosts, lines) = (&tables.hosts, tables.hosts.lines());
        let next = hosts.age(from, count, now, |_| Some(AGEING), |_, _| {});
        let end = if next == 0 { lines } else { next };
        let place = |line: u32| (u64::from(line) * ADDRESSES as u64 / u64::from(lines)) as usize;
        for place in &tables.addresses[place(from.min(end))..place(end)] {
            let word = place[2].load(Ordering::Relaxed);
            let unheard = now.saturating_sub((word >> 32) as u32);
            if word as u32 as u64 == state::READY && unheard >= 2 * AGEING {
                // A frame of the peer in the meantime changes the word, and the exchange fails.
                let free = (word, state::FREE);
                let (order, fails) = (Ordering::AcqRel, Ordering::Relaxed);
                _ = place[2].compare_exchange(free.0, free.1, order, fails);
            }
        }
        next
    }

    /// Forgets all hosts of a network. Only control calls this.
    pub fn forget(&self, network: InterfaceId) {
        if let Some(tables) = self.tables.get() {
            tables.hosts.forget(network);
        }
    }

    /// Passes each host of all networks to `give`, with the number of its peer.
    pub fn each(&self, mut give: impl FnMut(&HostKey, InterfaceId)) {
        if let Some(tables) = self.tables.get() {
            tables.hosts.walk(0, u32::MAX, |key, host| {
                give(key, host.port);
                true
            });
        }
    }
}

impl Tables {
    #[inline(always)]
    fn address(&self, number: InterfaceId, ipv6: bool) -> Option<IpAddr> {
        match ipv6 {
            false => Some(Ipv4Addr::from_bits(number.0).into()),
            true => self.address6(number),
        }
    }

    #[inline(never)]
    fn address6(&self, number: InterfaceId) -> Option<IpAddr> {
        let place = self.addresses.get((number.0 as usize).checked_sub(1)?)?;
        let before = place[2].load(Ordering::Acquire);
        let [high, low] = [0, 1].map(|at| place[at].load(Ordering::Acquire));
        let ready = before as u32 as u64 == state::READY;
        let bits = u128::from(high) << 64 | u128::from(low);
        let address = Ipv6Addr::from_bits(bits).into();
        // The slot may have been reused between both reads.
        let after = place[2].load(Ordering::Relaxed);
        (ready && after as u32 as u64 == state::READY).then_some(address)
    }

    /// Returns the number of an address and records a frame at `now`. `None` if all its slots are
    /// used by other addresses.
    fn number(&self, address: Ipv6Addr, now: u32) -> Option<InterfaceId> {
        let bits = address.to_bits();
        let (high, low) = ((bits >> 64) as u64, bits as u64);
        let first = mix64(mix64(high ^ self.seed) ^ low) as usize;
        let heard = u64::from(now) << 32 | state::READY;
        let places = (0..PLACES).map(|step| (first + step) % ADDRESSES);
        for at in places.clone() {
            let place = &self.addresses[at];
            let word = place[2].load(Ordering::Acquire);
            let [has_high, has_low] = [0, 1].map(|at| place[at].load(Ordering::Relaxed));
            if word as u32 as u64 == state::READY && (has_high, has_low) == (high, low) {
                let (order, fails) = (Ordering::AcqRel, Ordering::Relaxed);
                // On failure another worker has recorded a frame, or the address is gone.
                if word == heard || place[2].compare_exchange(word, heard, order, fails).is_ok() {
                    return Some(InterfaceId(at as u32 + 1));
                }
                let now_is = place[2].load(Ordering::Relaxed);
                return (now_is as u32 as u64 == state::READY)
                    .then_some(InterfaceId(at as u32 + 1));
            }
        }
        for at in places {
            let place = &self.addresses[at];
            let (order, fails) = (Ordering::AcqRel, Ordering::Relaxed);
            let (free, taken) = (state::FREE, state::WRITING);
            if place[2].compare_exchange(free, taken, order, fails).is_ok() {
                place[0].store(high, Ordering::Relaxed);
                place[1].store(low, Ordering::Relaxed);
                place[2].store(heard, Ordering::Release);
                return Some(InterfaceId(at as u32 + 1));
            }
        }
        None
    }
}

#[inline(always)]
const fn key(network: InterfaceId, mac: u64) -> HostKey {
    HostKey {
        bridge: network,
        vid: 0,
        mac,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: InterfaceId = InterfaceId(7);
    const MAX: u32 = 10;

    fn peers() -> Peers {
        let peers = Peers::default();
        peers.make_room(1).expect("address space");
        peers
    }

    fn address(number: u128) -> IpAddr {
        Ipv6Addr::from_bits(0x2001_0db8 << 96 | number).into()
    }

    #[test]
    fn a_station_is_behind_the_peer_that_its_last_frame_came_from() {
        let peers = peers();
        let four = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
        assert_eq!(peers.of(NETWORK, false, 5), None);
        assert_eq!(peers.learn(NETWORK, 5, four, 1, MAX), Learned::New);
        assert_eq!(peers.of(NETWORK, false, 5), Some(four));
        assert_eq!(peers.of(InterfaceId(8), false, 5), None, "another network");

        assert_eq!(peers.learn(NETWORK, 6, address(1), 1, MAX), Learned::New);
        assert_eq!(peers.of(NETWORK, true, 6), Some(address(1)));
        let moved = peers.learn(NETWORK, 6, address(2), 2, MAX);
        assert!(matches!(moved, Learned::Moved(_)), "{moved:?}");
        assert_eq!(peers.of(NETWORK, true, 6), Some(address(2)));
        peers.forget(NETWORK);
        assert_eq!(peers.of(NETWORK, true, 6), None);
    }

    #[test]
    fn a_network_learns_no_more_than_it_may() {
        let peers = peers();
        for mac in 0..u64::from(MAX) {
            assert_eq!(peers.learn(NETWORK, mac, address(1), 1, MAX), Learned::New);
        }
        assert_eq!(peers.learn(NETWORK, 99, address(1), 1, MAX), Learned::Full);
    }

    #[test]
    fn stations_age_and_their_peers_numbers_come_back() {
        let peers = peers();
        // More addresses than slots, over a long time.
        let mut now = 0;
        for number in 0..3 * ADDRESSES as u128 {
            if number % 8192 == 0 {
                now += 2 * AGEING;
                peers.age(0, u32::MAX, now);
            }
            let mac = number as u64;
            let learned = peers.learn(NETWORK, mac, address(number), now, u32::MAX);
            assert_eq!(learned, Learned::New, "{number}");
            assert_eq!(peers.of(NETWORK, true, mac), Some(address(number)));
        }
        assert_eq!(peers.age(0, u32::MAX, now + AGEING - 1), 0);
        let last = 3 * ADDRESSES as u64 - 1;
        assert!(peers.of(NETWORK, true, last).is_some());
        peers.age(0, u32::MAX, now + AGEING);
        assert_eq!(peers.of(NETWORK, true, last), None);
    }

    #[test]
    fn an_address_that_finds_no_place_is_not_learned() {
        let peers = peers();
        let mut full = 0;
        for number in 0..2 * ADDRESSES as u128 {
            let learned = peers.learn(NETWORK, 1, address(number), 1, MAX);
            full += u32::from(learned == Learned::Full);
        }
        assert!(full as usize >= ADDRESSES, "{full}");
    }
}
