//! Policies generated from templates for peers. Each exists as long as an SA pair has its
//! selectors.
//!
//! Clients of transport mode behind one NAT have equal selectors and one address. Each has a policy of its own, whose
//! packets have another UDP port in this router ([`PeerPort`]).

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use dataplane::ipsec::{PeerPort, Position, Selector};
use dataplane::packet::protocol::UDP;
use ike::{Child, Mode, PeerId, PolicyId};

use super::read::{Does, Met, selector};

/// Flag in the ids of generated policies.
const MADE: u64 = 1 << 63;

/// UDP ports that no peer behind NAT gets: IKE, and L2TP, which clients without IPsec use.
const RESERVED: [u16; 3] = [500, 1701, 4500];
/// Ports up to this one are given first: NATs that keep privileged ports apart give them to no client of L2TP.
const LOW_PORTS: u16 = 1023;

/// Maximum number of peers whose ports are remembered after their policies are gone.
const MAX_EARLIER: usize = 256;

/// A generated policy.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) template: PolicyId,
    pub(super) peer: PeerId,
    pub(super) mode: Mode,
    /// Its selectors: the local and the remote one as negotiated, and the selector that packets
    /// match.
    pub(super) about: Vec<((ike::Selector, ike::Selector), Selector)>,
    /// The IP protocol of its packets; 0 is any.
    pub(super) protocol: u8,
    /// The peer's end of transport mode through NAT.
    translated_end: Option<SocketAddr>,
    peer_port: Option<Arc<PeerPort>>,
}

/// Identity of a generated policy: equal keys share one policy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    template: PolicyId,
    peer: PeerId,
    mode: Mode,
    protocol: u8,
    selectors: Vec<(ike::Selector, ike::Selector)>,
    translated_end: Option<SocketAddr>,
}

impl Made {
    fn key(&self) -> Key {
        Key {
            template: self.template,
            peer: self.peer,
            mode: self.mode,
            protocol: self.protocol,
            selectors: self.about.iter().map(|(selectors, _)| *selectors).collect(),
            translated_end: self.translated_end,
        }
    }
}

/// All generated policies.
#[derive(Debug, Default)]
pub(super) struct Generated {
    next: u64,
    all: BTreeMap<PolicyId, Made>,
    by_key: BTreeMap<Key, PolicyId>,
    /// UDP ports in use for peers behind NAT, by their address.
    ports: BTreeSet<(IpAddr, u16)>,
    /// The last port of [`LOW_PORTS`] that was given: a port is not given again soon after its policy is gone.
    last_port: u16,
    /// Ports of policies that are gone, oldest first: a peer that negotiates again keeps its port, and with it its
    /// connections and L2TP tunnels.
    earlier: VecDeque<(Key, u16)>,
}

impl Generated {
    /// Returns the policy of a pair and generates it if necessary. Returns `None` if no local and
    /// remote selector are of one family.
    pub(super) fn of(&mut self, child: &Child) -> Option<PolicyId> {
        let met = |(source, destination): &(_, _)| {
            let met = selector(source, destination, child.payload)?;
            Some(((*source, *destination), met))
        };
        let mut made = Made {
            template: child.policy,
            peer: child.peer,
            mode: child.mode,
            about: child.selectors.iter().filter_map(met).collect(),
            protocol: child.payload,
            translated_end: child.translated_end(),
            peer_port: None,
        };
        let key = made.key();
        match self.by_key.get(&key) {
            Some(id) => Some(*id),
            None if made.about.is_empty() => None,
            None => {
                self.assign_port(&mut made);
                self.next += 1;
                let id = PolicyId(MADE | self.next);
                self.by_key.insert(key, id);
                self.all.insert(id, made);
                Some(id)
            }
        }
    }

    /// Gives a policy of UDP packets through NAT a port that no other policy of the address has: the port that the peer
    /// had before, or else another one.
    fn assign_port(&mut self, made: &mut Made) {
        if made.translated_end.is_none() || made.protocol != UDP {
            return;
        }
        let key = made.key();
        let [((_, remote), selector)] = made.about.as_mut_slice() else {
            return;
        };
        let address = remote.prefix.addr();
        let is_free =
            |port: &u16| !RESERVED.contains(port) && !self.ports.contains(&(address, *port));
        let low = (self.last_port + 1..=LOW_PORTS).chain(1..=self.last_port);
        let mut others = low.chain(LOW_PORTS + 1..=u16::MAX);
        let before = self.earlier.iter().position(|(of, _)| *of == key);
        let before = before.and_then(|at| self.earlier.remove(at));
        let before = before.map(|(_, port)| port).filter(is_free);
        if let Some(port) = before.or_else(|| others.find(is_free)) {
            if before.is_none() {
                self.last_port = port.min(LOW_PORTS);
            }
            self.ports.insert((address, port));
            made.peer_port = Some(Arc::new(PeerPort::new(port, remote.port)));
            selector.destination_port = port;
        }
    }

    /// Returns the port of a peer behind NAT; `None` for other policies.
    pub(super) fn peer_port(&self, id: PolicyId) -> Option<Arc<PeerPort>> {
        self.all.get(&id)?.peer_port.clone()
    }

    /// Notes that NAT gave the peer of a policy another address or port. Does nothing for a policy whose peer is
    /// not behind NAT.
    pub(super) fn move_end(&mut self, id: PolicyId, end: SocketAddr) {
        let made = self.all.get_mut(&id);
        let Some(made) = made.filter(|made| made.translated_end.is_some()) else {
            return;
        };
        self.by_key.remove(&made.key());
        made.translated_end = Some(end);
        self.by_key.insert(made.key(), id);
    }

    /// Whether `id` is a generated policy.
    pub(super) fn has(&self, id: PolicyId) -> bool {
        self.all.contains_key(&id)
    }

    /// Removes a generated policy; returns false if `id` is none.
    pub(super) fn remove(&mut self, id: PolicyId) -> bool {
        let gone = self.all.remove(&id);
        if let Some(made) = &gone {
            let key = made.key();
            if self.by_key.get(&key) == Some(&id) {
                self.by_key.remove(&key);
            }
            let remote = made.about.first().map(|((_, remote), _)| remote.prefix);
            if let (Some(port), Some(remote)) = (&made.peer_port, remote) {
                self.ports.remove(&(remote.addr(), port.shown()));
                if self.earlier.len() == MAX_EARLIER {
                    self.earlier.pop_front();
                }
                self.earlier.push_back((key, port.shown()));
            }
        }
        gone.is_some()
    }

    /// Returns the template of a generated policy, or `id` itself for other policies.
    pub(super) fn template(&self, id: PolicyId) -> PolicyId {
        self.all.get(&id).map_or(id, |made| made.template)
    }

    /// Returns the entries of a policy that packets match, one for each pair of selectors.
    /// Generated policies come before all others.
    pub(super) fn met(&self, id: PolicyId) -> impl Iterator<Item = Met> {
        let about = self.all.get(&id).into_iter().flat_map(|made| &made.about);
        (0..).zip(about).map(move |(part, (_, selector))| Met {
            position: Position {
                section: 0,
                place: id.0,
                part,
            },
            selector: *selector,
            does: Does::Protect { required: true },
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (PolicyId, &Made)> {
        self.all.iter().map(|(id, made)| (*id, made))
    }
}
