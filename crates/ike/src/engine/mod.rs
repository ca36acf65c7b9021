//! The engine: all IKE SAs of the router.

use std::collections::BTreeMap;

use machine::{Instant, Machine};

use crate::config::{Peer, PeerId, Policy, PolicyId};
use crate::event::{Action, Event, Phase2, Row, Settings, Timer};

/// Fills bytes with random ones of a cryptographic source: for keys, nonces, SPIs and cookies.
pub type Entropy = Box<dyn FnMut(&mut [u8]) + Send>;

/// What was not done, by name, and how often.
pub type Counters = BTreeMap<&'static str, u64>;

/// All IKE SAs of the router.
pub struct Engine {
    peers: BTreeMap<PeerId, Peer>,
    policies: BTreeMap<PolicyId, Policy>,
    settings: Settings,
    counters: Counters,
    _entropy: Entropy,
}

impl Engine {
    /// An engine without peers. `entropy` fills bytes with random ones of a cryptographic source.
    pub fn new(entropy: Entropy) -> Self {
        Self {
            peers: BTreeMap::new(),
            policies: BTreeMap::new(),
            settings: Settings::default(),
            counters: Counters::new(),
            _entropy: entropy,
        }
    }

    /// The lines of `/ip/ipsec/active-peers`.
    pub fn peers(&self) -> impl Iterator<Item = Row> {
        core::iter::empty()
    }

    /// How far the SAs of a policy are, and how many pairs there are of it (`ph2-state`, `ph2-count`).
    pub fn phase2(&self, _policy: PolicyId) -> (Phase2, usize) {
        (Phase2::NoPhase2, 0)
    }

    /// Messages that were not understood or not answered, by the reason's name.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

impl Machine for Engine {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, _now: Instant, _out: &mut Vec<Action>) {
        match event {
            Event::Peer(id, Some(peer)) => drop(self.peers.insert(id, *peer)),
            Event::Policy(id, Some(policy)) => drop(self.policies.insert(id, *policy)),
            Event::Settings(settings) => self.settings = settings,
            _ => {}
        }
    }

    fn tick(&mut self, _now: Instant, _out: &mut Vec<Action>) {}

    fn deadline(&self) -> Option<(Instant, Timer)> {
        None
    }
}
