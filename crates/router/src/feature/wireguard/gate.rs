//! The gate of WireGuard: chooses which handshakes workers pass to control, so that floods do not
//! lock peers out.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use dataplane::DropReason;
use dataplane::gate::{Arrival, CHALLENGE_MAX, Gate, Sender};
use dataplane::service::Rate;
use wireguard::{MessageClass, MessageClassifier};

/// Limit of handshakes from unknown senders per worker: each costs two scalar multiplications on
/// Curve25519. The limit spares senders with a valid cookie.
const OF_STRANGERS: Rate = Rate {
    per_second: 100,
    burst: 100,
};

/// Classifies messages by their MACs, cookies and senders.
#[derive(Debug, Default)]
pub(super) struct WireguardGate {
    /// Classifier of the messages to each UDP port.
    classifiers: ArcSwap<BTreeMap<u16, MessageClassifier>>,
    /// Configured or last observed addresses of peers.
    peers: ArcSwap<BTreeSet<IpAddr>>,
}

impl WireguardGate {
    pub(super) fn set_classifiers(&self, classifiers: BTreeMap<u16, MessageClassifier>) {
        self.classifiers.store(Arc::new(classifiers));
    }

    pub(super) fn set_peers(&self, peers: BTreeSet<IpAddr>) {
        if **self.peers.load() != peers {
            self.peers.store(Arc::new(peers));
        }
    }
}

impl Gate for WireguardGate {
    fn sort(&self, arrival: &Arrival<'_>) -> Sender {
        let classifiers = self.classifiers.load();
        let Some(classifier) = classifiers.get(&arrival.port) else {
            return Sender::Stranger;
        };
        match classifier.classify(arrival.payload, arrival.from, arrival.now) {
            MessageClass::Malformed => Sender::Refused(DropReason::WireguardMalformed),
            MessageClass::NotForUs => Sender::Refused(DropReason::WireguardStranger),
            MessageClass::NotAsked => Sender::Refused(DropReason::WireguardUnknown),
            MessageClass::Answer => Sender::Known,
            MessageClass::Proved => Sender::Proved,
            MessageClass::Unproved if self.peers.load().contains(&arrival.from.ip()) => {
                Sender::Configured
            }
            MessageClass::Unproved => Sender::Stranger,
        }
    }

    fn stranger_rate(&self, _: Rate) -> Rate {
        OF_STRANGERS
    }

    fn challenge(&self, arrival: &Arrival<'_>, into: &mut [u8; CHALLENGE_MAX]) -> Option<usize> {
        let classifiers = self.classifiers.load();
        let classifier = classifiers.get(&arrival.port)?;
        let answer = classifier.challenge(arrival.payload, arrival.from, arrival.now)?;
        into.get_mut(..answer.len())?.copy_from_slice(&answer);
        Some(answer.len())
    }
}

/// Returns the drop reason of a refused handshake.
pub(super) fn reason(refusal: &str) -> DropReason {
    match refusal {
        "malformed" | "degenerate-key" => DropReason::WireguardMalformed,
        "replayed" | "too-soon" => DropReason::WireguardReplayedHandshake,
        "wrong-preshared-key" => DropReason::WireguardPreshared,
        "unknown-number" => DropReason::WireguardUnknown,
        "too-many" | "cookie-asked" => DropReason::WireguardFlood,
        _ => DropReason::WireguardStranger,
    }
}
