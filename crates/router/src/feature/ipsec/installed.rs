//! Installed SA pairs: the IKE engine installs them, the workers use them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::ipsec::{Arriving, Associations, Leaving, Mode, PeerPort, Protocol, SLOTS};
use esp::{Authentication, Bits, Encryption, Inbound, Keys, Numbering, Outbound, Suite};
use ike::{Child, ChildId, ChildSuite, Hash, Kind, PolicyId, SaId};

/// Size of the anti-replay window in packets (RouterOS: `replay=128`).
const WINDOW: u32 = 128;

/// An installed SA pair.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) child: Child,
    /// The policy that packets match: the policy of the pair, or the policy generated for it.
    pub(super) policy: PolicyId,
    pub(super) arriving: Arc<Arriving>,
    pub(super) leaving: Arc<Leaving>,
    /// Inbound packets counted when the IKE engine was last notified.
    heard: u64,
    /// The IKE engine knows that the soft lifetime in bytes is over.
    spent: bool,
}

impl Pair {
    /// Returns the inbound and the outbound traffic, each as packets and bytes.
    pub(super) fn traffic(&self) -> Both {
        let (arrived, left) = (self.arriving.sa.counters(), self.leaving.sa.counters());
        ((arrived.packets, arrived.bytes), (left.packets, left.bytes))
    }
}

/// Inbound and outbound traffic, each as packets and bytes.
pub(super) type Both = ((u64, u64), (u64, u64));

/// Adds two traffic counts.
pub(super) const fn sum(one: Both, other: Both) -> Both {
    let (((a, b), (c, d)), ((e, f), (g, h))) = (one, other);
    ((a + e, b + f), (c + g, d + h))
}

/// All SA pairs, and the slots of policies.
#[derive(Debug, Default)]
pub(super) struct Installed {
    pub(super) associations: Arc<Associations>,
    pairs: BTreeMap<ChildId, Pair>,
    by_policy: BTreeSet<(PolicyId, ChildId)>,
    by_sa: BTreeSet<(SaId, ChildId)>,
    slots: BTreeMap<PolicyId, u32>,
    /// Policies by slot.
    policies: BTreeMap<u32, PolicyId>,
}

impl Installed {
    /// Returns the slot of a policy and assigns one if necessary. Returns `None` if all slots are
    /// taken.
    pub(super) fn slot(&mut self, policy: PolicyId) -> Option<u32> {
        if let Some(slot) = self.slots.get(&policy) {
            return Some(*slot);
        }
        let last = self
            .policies
            .last_key_value()
            .map_or(0, |(slot, _)| slot + 1);
        let free = match (last as usize) < SLOTS {
            true => Some(last),
            false => (0..SLOTS as u32).find(|slot| !self.policies.contains_key(slot)),
        }?;
        self.slots.insert(policy, free);
        self.policies.insert(free, policy);
        Some(free)
    }

    /// Returns the policy in a slot.
    pub(super) fn policy(&self, slot: u32) -> Option<PolicyId> {
        self.policies.get(&slot).copied()
    }

    /// Frees the slot of a removed policy.
    pub(super) fn release(&mut self, policy: PolicyId) {
        if let Some(slot) = self.slots.remove(&policy) {
            self.policies.remove(&slot);
            self.associations.set_leaving(slot, None);
        }
    }

    /// All SA pairs.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.values()
    }

    /// The SA pairs of a policy.
    pub(super) fn of(&self, policy: PolicyId) -> impl Iterator<Item = &Pair> {
        let first = (policy, ChildId(0));
        let its = self.by_policy.range(first..);
        let its = its.take_while(move |(of, _)| *of == policy);
        its.filter_map(|(_, child)| self.pairs.get(child))
    }

    /// The SA pairs of an IKE SA.
    fn with(&self, sa: SaId) -> impl Iterator<Item = ChildId> {
        let its = self.by_sa.range((sa, ChildId(0))..);
        let its = its.take_while(move |(of, _)| *of == sa);
        its.map(|(_, child)| *child)
    }

    /// Installs an SA pair for the packets of `policy`. `peer_port` is the port of a peer behind NAT, and `secret` is
    /// random.
    ///
    /// # Errors
    ///
    /// The reason, as text for the log.
    pub(super) fn install(
        &mut self,
        child: Child,
        policy: PolicyId,
        peer_port: Option<Arc<PeerPort>>,
        secret: &[u8; 16],
    ) -> Result<(), String> {
        let protocol = match child.protocol {
            ike::Protocol::Esp => Protocol::Esp,
            ike::Protocol::Ah if child.natt => {
                return Err("ipsec-protocols=ah: AH does not work through NAT".to_owned());
            }
            ike::Protocol::Ah => Protocol::Ah,
        };
        let slot = self.slot(policy).ok_or("too many policies")?;
        let suite = suite(child.suite).ok_or("unsupported algorithm")?;
        let keys =
            |sa: &ike::Sa| Keys::new(sa.encryption_key.bytes(), sa.authentication_key.bytes());
        let refused = |refused: esp::Refused| refused.to_string();
        if protocol == Protocol::Ah {
            esp::ah::check(suite).map_err(refused)?;
        }
        let (inbound, outbound) = (&child.inbound, &child.outbound);
        let window = if suite.has_integrity() { WINDOW } else { 0 };
        let numbering = Numbering::Short;
        let arrives = Inbound::new(inbound.spi, suite, &keys(inbound), numbering, window);
        let leaves = Outbound::new(outbound.spi, suite, &keys(outbound), numbering, secret);
        let mode = mode(child.mode);
        let arriving = Arc::new(Arriving {
            protocol,
            sa: arrives.map_err(refused)?,
            mode,
            slot,
            remote: child.remote.ip(),
            in_udp: child.natt,
            peer_port: peer_port.clone(),
        });
        let leaving = Arc::new(Leaving {
            protocol,
            sa: Arc::new(leaves.map_err(refused)?),
            mode,
            local: child.local,
            remote: child.remote,
            in_udp: child.natt,
            peer_port,
        });
        self.associations.put_arriving(Arc::clone(&arriving));
        let (id, active) = (child.id, child.active);
        self.by_policy.insert((policy, id));
        self.by_sa.insert((child.sa, id));
        let pair = Pair {
            child,
            policy,
            arriving,
            leaving,
            heard: 0,
            spent: false,
        };
        self.pairs.insert(id, pair);
        if active || !self.associations.can_protect(slot) {
            self.activate(id);
        }
        Ok(())
    }

    /// Returns the traffic of all SA pairs of an IKE SA.
    pub(super) fn traffic(&self, sa: SaId) -> Both {
        let its = self.with(sa).filter_map(|child| self.pairs.get(&child));
        its.fold(Both::default(), |all, pair| sum(all, pair.traffic()))
    }

    /// Moves the SA pairs to an IKE SA that replaces another one.
    pub(super) fn pass_on(&mut self, before: SaId, after: SaId) {
        for child in self.with(before).collect::<Vec<_>>() {
            self.by_sa.remove(&(before, child));
            self.by_sa.insert((after, child));
            if let Some(pair) = self.pairs.get_mut(&child) {
                pair.child.sa = after;
            }
        }
    }

    /// Returns the SA pair with this id.
    pub(super) fn pair(&self, child: ChildId) -> Option<&Pair> {
        self.pairs.get(&child)
    }

    /// Makes outbound packets of the policy use this pair.
    pub(super) fn activate(&mut self, child: ChildId) {
        if let Some(pair) = self.pairs.get_mut(&child) {
            pair.child.active = true;
            let leaving = Some(Arc::clone(&pair.leaving));
            self.associations.set_leaving(pair.arriving.slot, leaving);
        }
    }

    /// Changes the outer addresses and the UDP encapsulation of a pair.
    pub(super) fn move_ends(
        &mut self,
        child: ChildId,
        ends: (core::net::SocketAddr, core::net::SocketAddr),
        in_udp: bool,
    ) {
        let Some(pair) = self.pairs.get_mut(&child) else {
            return;
        };
        let (local, remote) = ends;
        let is_used = self
            .associations
            .leaving(pair.arriving.slot)
            .is_some_and(|used| Arc::ptr_eq(&used, &pair.leaving));
        (pair.child.local, pair.child.remote) = ends;
        pair.child.natt = in_udp;
        pair.leaving = Arc::new(Leaving {
            protocol: pair.leaving.protocol,
            sa: Arc::clone(&pair.leaving.sa),
            mode: pair.leaving.mode,
            local,
            remote,
            in_udp,
            peer_port: pair.leaving.peer_port.clone(),
        });
        if is_used {
            let leaving = Some(Arc::clone(&pair.leaving));
            self.associations.set_leaving(pair.arriving.slot, leaving);
        }
    }

    /// Removes a pair and returns its policy. The policy continues with its newest remaining pair.
    pub(super) fn remove(&mut self, child: ChildId) -> Option<PolicyId> {
        let gone = self.pairs.remove(&child)?;
        self.by_policy.remove(&(gone.policy, child));
        self.by_sa.remove(&(gone.child.sa, child));
        self.associations.remove_arriving(gone.arriving.sa.spi());
        let used = self.associations.leaving(gone.arriving.slot);
        let was_used = used.is_some_and(|used| Arc::ptr_eq(&used.sa, &gone.leaving.sa));
        if was_used {
            let left = self
                .of(gone.policy)
                .max_by_key(|pair| (pair.child.active, pair.child.id));
            let leaving = left.map(|pair| Arc::clone(&pair.leaving));
            self.associations.set_leaving(gone.arriving.slot, leaving);
        }
        Some(gone.policy)
    }

    /// Returns the pairs with new inbound packets, and the pairs whose soft or hard lifetime in
    /// bytes is over.
    pub(super) fn events(&mut self) -> Vec<(ChildId, PairEvent)> {
        let mut seen = Vec::new();
        for (id, pair) in &mut self.pairs {
            let (arrived, left) = (pair.arriving.sa.counters(), pair.leaving.sa.counters());
            if core::mem::replace(&mut pair.heard, arrived.packets) != arrived.packets {
                seen.push((*id, PairEvent::Heard));
            }
            let Some((soft, hard)) = pair.child.bytes else {
                continue;
            };
            let bytes = arrived.bytes.max(left.bytes);
            if bytes >= hard {
                seen.push((*id, PairEvent::Over));
            } else if bytes >= soft && !core::mem::replace(&mut pair.spent, true) {
                seen.push((*id, PairEvent::Spent));
            }
        }
        seen
    }
}

/// Observation on an SA pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairEvent {
    Heard,
    Spent,
    Over,
}

const fn mode(mode: ike::Mode) -> Mode {
    match mode {
        ike::Mode::Transport => Mode::Transport,
        ike::Mode::Tunnel => Mode::Tunnel,
    }
}

/// Maps negotiated algorithms to those of the `esp` crate.
fn suite(agreed: ChildSuite) -> Option<Suite> {
    let bits = match agreed.encryption.bits {
        192 => Bits::B192,
        256 => Bits::B256,
        _ => Bits::B128,
    };
    Some(Suite {
        encryption: match agreed.encryption.kind {
            Kind::Null => Encryption::Null,
            Kind::Des => Encryption::Des,
            Kind::TripleDes => Encryption::TripleDes,
            Kind::Blowfish => Encryption::Blowfish,
            Kind::Twofish => Encryption::Twofish,
            Kind::AesCbc => Encryption::AesCbc(bits),
            Kind::AesCtr => Encryption::AesCtr(bits),
            Kind::AesGcm => Encryption::AesGcm(bits),
            Kind::Camellia => Encryption::Camellia(bits),
            Kind::ChaCha20Poly1305 => Encryption::ChaCha20Poly1305,
        },
        authentication: match agreed.authentication {
            None => Authentication::None,
            Some(Hash::Md5) => Authentication::Md5,
            Some(Hash::Sha1) => Authentication::Sha1,
            Some(Hash::Sha256) => Authentication::Sha256,
            Some(Hash::Sha384) => Authentication::Sha384,
            Some(Hash::Sha512) => Authentication::Sha512,
        },
    })
}
