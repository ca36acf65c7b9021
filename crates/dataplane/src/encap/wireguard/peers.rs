//! WireGuard interfaces: allowed networks of peers, and sessions.
//!
//! Control negotiates keys and stores sessions. Workers encrypt and decrypt with the sessions, and
//! record the times of packets for the protocol's timers, which control runs.

use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwapOption, Guard};
use frame::InterfaceId;
use machine::Instant;
use wireguard::session::{Receiving, Sending};

use crate::numbered::Numbered;
use crate::snapshot::Prefix;

/// A WireGuard interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wireguard {
    /// The interface's id.
    pub id: InterfaceId,
    /// Local UDP port.
    pub port: u16,
    /// Allowed networks of the peers.
    pub allowed: Arc<Allowed>,
}

/// Map from allowed networks to peers. The longest prefix wins, and among equal prefixes the last
/// (as in Linux).
#[derive(Debug, Default)]
pub struct Allowed {
    /// By family and prefix length, longest first. Each group is sorted by address.
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    ipv6: bool,
    len: u8,
    peers: Vec<Network>,
}

/// First address of a network, and its peer.
type Network = (u128, Arc<Peer>);

impl PartialEq for Allowed {
    fn eq(&self, other: &Self) -> bool {
        let alike =
            |(one, other): (&Network, &Network)| one.0 == other.0 && Arc::ptr_eq(&one.1, &other.1);
        self.groups.len() == other.groups.len()
            && self.groups.iter().zip(&other.groups).all(|(one, other)| {
                (one.ipv6, one.len, one.peers.len()) == (other.ipv6, other.len, other.peers.len())
                    && one.peers.iter().zip(&other.peers).all(alike)
            })
    }
}

impl Eq for Allowed {}

impl Allowed {
    /// Builds the map from networks in the order of configuration.
    pub fn new(networks: impl IntoIterator<Item = (Prefix, Arc<Peer>)>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        for (prefix, peer) in networks {
            let key = prefix.masked();
            let is_of = |group: &Group| (group.ipv6, group.len) == (prefix.ipv6, prefix.len);
            match groups.iter_mut().find(|group| is_of(group)) {
                Some(group) => group.peers.push((key, peer)),
                None => groups.push(Group {
                    ipv6: prefix.ipv6,
                    len: prefix.len,
                    peers: vec![(key, peer)],
                }),
            }
        }
        groups.sort_by_key(|group| (group.ipv6, core::cmp::Reverse(group.len)));
        for group in &mut groups {
            // The sort is stable: the last of several equal networks wins.
            group.peers.sort_by_key(|(key, _)| *key);
            group.peers.reverse();
            group.peers.dedup_by_key(|(key, _)| *key);
            group.peers.reverse();
        }
        Self { groups }
    }

    /// Returns the peer of an address.
    #[inline]
    pub fn get(&self, address: IpAddr) -> Option<&Arc<Peer>> {
        let (ipv6, bits) = match address {
            IpAddr::V4(address) => (false, u128::from(address.to_bits())),
            IpAddr::V6(address) => (true, address.to_bits()),
        };
        let groups = self.groups.iter().filter(|group| group.ipv6 == ipv6);
        groups.into_iter().find_map(|group| {
            let prefix = Prefix {
                ipv6,
                bits,
                len: group.len,
            };
            let key = prefix.masked();
            let at = group.peers.binary_search_by_key(&key, |(of, _)| *of).ok()?;
            group.peers.get(at).map(|(_, peer)| peer)
        })
    }
}

/// Bytes and times of one direction of a peer.
#[derive(Debug, Default)]
pub struct Passed {
    bytes: AtomicU64,
    /// Time of the last message in nanoseconds; 0 before the first.
    any: AtomicU64,
    data: AtomicU64,
}

impl Passed {
    /// Counts a message of `bytes` bytes. `is_data`: the message holds a packet and is no
    /// keepalive.
    pub fn add(&self, now: Instant, bytes: u64, is_data: bool) {
        let now = now.as_nanos().max(1);
        self.bytes.fetch_add(bytes, Relaxed);
        self.any.store(now, Relaxed);
        if is_data {
            self.data.store(now, Relaxed);
        }
    }

    /// Returns the bytes of all messages.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Returns the time of the last message, and the time of the last data message.
    pub fn times(&self) -> [Option<Instant>; 2] {
        [&self.any, &self.data].map(|at| match at.load(Relaxed) {
            0 => None,
            at => Some(Instant::from_nanos(at)),
        })
    }
}

/// State of a peer, shared by workers and control.
#[derive(Debug)]
pub struct Peer {
    /// The peer's number, unique in the router.
    pub number: u32,
    sending: ArcSwapOption<Sending>,
    endpoint: ArcSwapOption<SocketAddr>,
    /// Sender of the last data message, if it differs from the endpoint.
    moved: Mutex<Option<SocketAddr>>,
    /// Traffic to the peer.
    pub sent: Passed,
    /// Traffic from the peer.
    pub received: Passed,
}

impl Peer {
    /// Creates a peer without a session.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            sending: ArcSwapOption::empty(),
            endpoint: ArcSwapOption::empty(),
            moved: Mutex::new(None),
            sent: Passed::default(),
            received: Passed::default(),
        }
    }

    /// Returns the session for encryption.
    #[inline]
    pub fn sending(&self) -> Guard<Option<Arc<Sending>>> {
        self.sending.load()
    }

    /// Sets the session for encryption.
    pub fn set_sending(&self, session: Option<Arc<Sending>>) {
        self.sending.store(session);
    }

    /// Returns the peer's endpoint.
    #[inline]
    pub fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint.load().as_deref().copied()
    }

    /// Sets the endpoint.
    pub fn set_endpoint(&self, endpoint: Option<SocketAddr>) {
        self.endpoint.store(endpoint.map(Arc::new));
    }

    /// Records the sender of an authenticated message. Never waits for a lock.
    #[inline]
    pub(crate) fn heard_from(&self, from: SocketAddr) {
        if self.endpoint() != Some(from)
            && let Ok(mut moved) = self.moved.try_lock()
        {
            *moved = Some(from);
        }
    }

    /// Returns the new sender since the last call, if it differs from the endpoint.
    pub fn take_moved(&self) -> Option<SocketAddr> {
        self.moved.lock().ok()?.take()
    }
}

/// A session for decryption.
#[derive(Debug)]
pub struct Arriving {
    /// Keys and replay window.
    pub session: Receiving,
    /// The peer of the session.
    pub peer: Arc<Peer>,
    /// The interface of the peer.
    pub interface: InterfaceId,
}

/// Sessions for decryption of all interfaces, by receiver index.
pub type Sessions = Numbered<Arriving>;

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(bits: [u8; 4], len: u8) -> Prefix {
        Prefix {
            ipv6: false,
            bits: u32::from_be_bytes(bits).into(),
            len,
        }
    }

    #[test]
    fn the_longest_prefix_decides_and_of_two_alike_the_later() {
        let peers: Vec<_> = (0..4).map(|number| Arc::new(Peer::new(number))).collect();
        let peer = |number: usize| Arc::clone(&peers[number]);
        let allowed = Allowed::new([
            (v4([0; 4], 0), peer(0)),
            (v4([10, 0, 0, 0], 8), peer(1)),
            (v4([10, 1, 2, 3], 32), peer(2)),
            (v4([10, 9, 9, 9], 8), peer(3)),
        ]);
        let of = |address: [u8; 4]| allowed.get(address.into()).map(|peer| peer.number);
        assert_eq!(of([192, 0, 2, 1]), Some(0));
        assert_eq!(of([10, 1, 2, 4]), Some(3));
        assert_eq!(of([10, 1, 2, 3]), Some(2));
        assert!(allowed.get(IpAddr::from([0u16; 8])).is_none());
        assert!(Allowed::default().get([10, 0, 0, 1].into()).is_none());
    }

    #[test]
    fn a_peer_that_moved_is_told_of_once() {
        let peer = Peer::new(1);
        let [home, abroad] = [1, 2].map(|port| SocketAddr::from(([192, 0, 2, 1], port)));
        peer.set_endpoint(Some(home));
        peer.heard_from(home);
        assert_eq!(peer.take_moved(), None);
        peer.heard_from(abroad);
        assert_eq!(peer.take_moved(), Some(abroad));
        assert_eq!(peer.take_moved(), None);
    }
}
