//! Sessions with peers as workers use them, and packets that wait for a session.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::encap::wireguard::{Arriving, Peer as SharedPeer, Sessions as SharedSessions};
use frame::InterfaceId;
use machine::Instant;
use wireguard::session::{FRONT, Receiving, Sending, TAG, padded};
use wireguard::{Observation, Pair};

/// Maximum number of packets, and of bytes, that wait per peer.
const PACKETS: usize = 16;
const BYTES: usize = 64 * 1024;

/// Packets that wait for a session with a peer.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    packets: Vec<Vec<u8>>,
}

impl Waiting {
    /// Queues a packet.
    ///
    /// # Errors
    ///
    /// The queue is full.
    pub(super) fn put(&mut self, packet: &[u8]) -> Result<(), DropReason> {
        let bytes: usize = self.packets.iter().map(Vec::len).sum();
        if self.packets.len() >= PACKETS || bytes + packet.len() > BYTES {
            return Err(DropReason::WireguardNoSession);
        }
        self.packets.push(packet.to_vec());
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Empties the queue and returns its packets.
    pub(super) fn take(&mut self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.packets)
    }
}

/// A session.
#[derive(Debug)]
struct Session {
    peer: Arc<SharedPeer>,
    sending: Arc<Sending>,
    arriving: Arc<Arriving>,
}

/// All sessions by local index.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    table: Arc<SharedSessions>,
    all: BTreeMap<u32, Session>,
    /// Sessions by peer number: (peer, local index).
    of: BTreeSet<(u32, u32)>,
}

impl Sessions {
    /// Sets the workers' table of receiving sessions.
    pub(super) fn set_table(&mut self, table: &Arc<SharedSessions>) {
        self.table = Arc::clone(table);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the numbers of peers with sessions.
    pub(super) fn peers(&self) -> Vec<u32> {
        let mut peers: Vec<_> = self.of.iter().map(|(peer, _)| *peer).collect();
        peers.dedup();
        peers
    }

    fn of(&self, peer: u32) -> impl Iterator<Item = (u32, &Session)> {
        let of = self.of.range((peer, 0)..=(peer, u32::MAX));
        of.filter_map(|(_, local)| Some((*local, self.all.get(local)?)))
    }

    /// Installs a session. The initiator may send by it at once.
    pub(super) fn install(&mut self, pair: &Pair, peer: &Arc<SharedPeer>, id: InterfaceId) {
        let arriving = Arc::new(Arriving {
            session: Receiving::new(&pair.receive),
            peer: Arc::clone(peer),
            interface: id,
        });
        self.table.put(pair.local, Arc::clone(&arriving));
        let session = Session {
            peer: Arc::clone(peer),
            sending: Arc::new(Sending::new(pair.remote, &pair.send)),
            arriving,
        };
        if pair.is_initiator {
            peer.set_sending(Some(Arc::clone(&session.sending)));
        }
        self.of.insert((peer.number, pair.local));
        self.all.insert(pair.local, session);
    }

    /// Makes outbound packets use this session.
    pub(super) fn activate(&self, local: u32) {
        if let Some(session) = self.all.get(&local) {
            session.peer.set_sending(Some(Arc::clone(&session.sending)));
        }
    }

    /// Removes a session.
    pub(super) fn remove(&mut self, local: u32) {
        self.table.remove(local);
        if let Some(session) = self.all.remove(&local) {
            self.of.remove(&(session.peer.number, local));
            let current = session.peer.sending();
            let is_current =
                { current.as_ref() }.is_some_and(|current| Arc::ptr_eq(current, &session.sending));
            if is_current {
                session.peer.set_sending(None);
            }
        }
    }

    /// Returns the workers' observations of a peer.
    pub(super) fn observe(&self, peer: &SharedPeer) -> Observation {
        let [last_sent, last_sent_data] = peer.sent.times();
        let [last_received, last_received_data] = peer.received.times();
        let received = { self.of(peer.number) }.filter(|(_, one)| one.arriving.session.count() > 0);
        Observation {
            sent: peer.sending().as_ref().map_or(0, |session| session.count()),
            last_sent,
            last_sent_data,
            last_received,
            last_received_data,
            used: received.map(|(local, _)| local).collect(),
            moved: peer.take_moved(),
        }
    }
}

/// Encrypts a packet for a peer; an empty packet gives a keepalive.
pub(super) fn seal(peer: &SharedPeer, packet: &[u8], now: Instant) -> Option<Vec<u8>> {
    let session = peer.sending();
    let session = session.as_ref()?;
    let mut message = vec![0; FRONT + padded(packet.len()) + TAG];
    message
        .get_mut(FRONT..FRONT + packet.len())?
        .copy_from_slice(packet);
    session.seal(&mut message).ok()?;
    peer.sent.add(now, message.len() as u64, !packet.is_empty());
    Some(message)
}
