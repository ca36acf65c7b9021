//! The gate of IKE: chooses which datagrams workers pass to control, so that floods from unknown
//! senders do not lock peers out.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dataplane::DropReason;
use dataplane::gate::{Arrival, CHALLENGE_MAX, Gate, Sender};
use ike::{CHALLENGE_BYTES, Sort};

use super::{MARKER, PORTS};

/// Classifies IKE messages by their SPIs and senders.
#[derive(Debug)]
pub(super) struct IkeGate {
    ike: Arc<ike::Gate>,
    /// Addresses of the configured peers that have a single address.
    peers: ArcSwap<BTreeSet<IpAddr>>,
}

impl IkeGate {
    pub(super) fn new(ike: Arc<ike::Gate>) -> Self {
        Self {
            ike,
            peers: ArcSwap::default(),
        }
    }

    /// Replaces the addresses of configured peers.
    pub(super) fn set_peers(&self, peers: BTreeSet<IpAddr>) {
        if **self.peers.load() != peers {
            self.peers.store(Arc::new(peers));
        }
    }
}

/// Returns the IKE message in a datagram, preceded by its marker (non-empty on port 4500).
fn message<'a>(arrival: &Arrival<'a>) -> Result<(&'static [u8], &'a [u8]), DropReason> {
    match (arrival.port == PORTS[1], arrival.payload) {
        (false, message) => Ok((&[], message)),
        (true, [0xff]) => Err(DropReason::IpsecKeepalive),
        (true, payload) => match payload.strip_prefix(&MARKER) {
            Some(message) => Ok((&MARKER, message)),
            // ESP packets with a known SPI never reach this gate.
            None => Err(DropReason::IpsecUnknown),
        },
    }
}

impl Gate for IkeGate {
    fn sort(&self, arrival: &Arrival<'_>) -> Sender {
        let (_, message) = match message(arrival) {
            Ok(message) => message,
            Err(reason) => return Sender::Refused(reason),
        };
        let from: SocketAddr = arrival.from;
        match self.ike.sort(message, from, arrival.now) {
            Sort::Malformed => Sender::Refused(DropReason::IkeMalformed),
            Sort::Unknown => Sender::Refused(DropReason::IkeUnknown),
            Sort::Known => Sender::Known,
            Sort::Proved => Sender::Proved,
            Sort::First if self.peers.load().contains(&from.ip()) => Sender::Configured,
            Sort::First => Sender::Stranger,
        }
    }

    fn challenge(&self, arrival: &Arrival<'_>, into: &mut [u8; CHALLENGE_MAX]) -> Option<usize> {
        let (marker, message) = message(arrival).ok()?;
        let mut answer = [0; CHALLENGE_BYTES];
        let asked = { &self.ike }.challenge(message, arrival.from, arrival.now, &mut answer);
        let len = marker.len() + answer.len();
        into.get_mut(..marker.len())?.copy_from_slice(marker);
        into.get_mut(marker.len()..len)?.copy_from_slice(&answer);
        asked.then_some(len)
    }
}
