//! OpenVPN sessions by link number: keys and addresses for the workers, and the end of the PPP session.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::encap::ovpn::Session;
use machine::Rng;
use openvpn::data::{Outgoing, Receiving, Sending, seal_all};
use openvpn::{DataKeys, Device, Path, SessionId, Suite, Traffic};
use wire::Mac;

use super::super::links::LinkState;
use super::peer::Peer;
use super::settings::Common;
use crate::feature::hear::Datagram;
use crate::intent::ItemId;
use crate::kind::ovpn::Ovpn;

/// The OpenVPN end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// A session of a server item.
    Server(ItemId, SessionId),
    /// The session of a client item.
    Client(ItemId),
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) end: End,
    pub(super) path: Path,
    /// Keys and addresses, which workers share.
    pub(super) session: Arc<Session>,
    /// The session carries Ethernet frames.
    pub(super) has_frames: bool,
    /// Link address of the interface of such a session; `None` generates one.
    pub(super) mac: Option<Mac>,
    pub(super) peer: Peer,
    /// Addresses are agreed: the end of PPP is no refusal any longer.
    pub(super) is_open: bool,
    /// Algorithms of the last installed key.
    suite: Option<Suite>,
    /// Keys for sending by their number.
    keys: BTreeMap<u8, Arc<Sending>>,
}

impl Link {
    /// Returns the link of a session of IP packets.
    pub(super) fn new(end: End, session: Session, path: Path, peer: Peer) -> Self {
        Self {
            end,
            path,
            session: Arc::new(session),
            has_frames: false,
            mac: None,
            peer,
            is_open: false,
            suite: None,
            keys: BTreeMap::new(),
        }
    }

    /// Sets what the session carries, and the link address of its interface.
    pub(super) fn with_device(self, settings: &Common) -> Self {
        Self {
            has_frames: settings.device == Device::Tap,
            mac: settings.mac,
            ..self
        }
    }

    /// Installs a key for receiving, and keeps it for sending. Returns false if a library refuses the key.
    pub(super) fn install(&mut self, keys: &DataKeys, rng: &mut Rng) -> bool {
        let (Some(sending), Some(receiving)) = (Sending::new(keys, rng), Receiving::new(keys))
        else {
            return false;
        };
        self.session
            .set_receiving(keys.key_id, Some(Arc::new(receiving)));
        self.keys.insert(keys.key_id, Arc::new(sending));
        self.suite = Some(keys.suite);
        true
    }

    /// Sends with a key from now on. Returns true for the first key: the interface may run from now on.
    pub(super) fn send_with(&self, key_id: u8) -> bool {
        let is_first = self.session.sending().is_none();
        self.session
            .set_sending(self.keys.get(&key_id).map(Arc::clone));
        is_first
    }

    /// Returns RouterOS's name of the algorithms, such as `AES-256-CBC/SHA1`; empty before the first key.
    pub(super) fn encoding(&self) -> String {
        let suite = self.suite;
        suite.map_or_else(String::new, |suite| suite.to_string())
    }

    /// Removes a key.
    pub(super) fn retire(&mut self, key_id: u8) {
        self.session.set_receiving(key_id, None);
        self.keys.remove(&key_id);
    }

    /// Returns what the data channel has carried.
    pub(super) fn traffic(&self) -> Traffic {
        let sending = self.session.sending();
        let [sent, _] = self.session.sent.times();
        let [received, _] = self.session.received.times();
        Traffic {
            sent,
            received,
            key_bytes: sending.as_ref().map_or(0, |sending| sending.bytes()),
            is_exhausted: { sending.as_ref() }.is_some_and(|sending| sending.is_exhausted()),
        }
    }

    /// Returns a datagram of the data channel with this payload; `None` without a key.
    pub(super) fn datagram(&self, payload: &[u8]) -> Option<Datagram> {
        let sending = self.session.sending();
        let sending = sending.as_ref()?;
        let layout = sending.layout(payload);
        let mut data = [&vec![0; layout.front], payload, &vec![0; layout.back]].concat();
        let mut packets = [Outgoing::new(sending, layout, &mut data)];
        seal_all(&mut packets);
        packets[0].result.ok()?;
        Some(datagram(&self.path, data))
    }

    /// Returns the kind of the session's interface.
    pub(super) fn kind(&self) -> Ovpn {
        Ovpn {
            session: Arc::clone(&self.session),
            has_frames: self.has_frames,
            mac: self.mac,
            has_key: self.session.sending().is_some(),
        }
    }

    /// Follows the other end to another address.
    pub(super) fn relocate(&mut self, remote: SocketAddr) -> Path {
        self.path.remote = remote;
        self.session.set_remote(remote);
        self.path
    }
}

/// Returns a datagram of a session. An unspecified local address leaves the choice to the route.
pub(super) fn datagram(path: &Path, data: Vec<u8>) -> Datagram {
    Datagram::between(path.local, path.remote, data)
}

impl LinkState for Link {
    type Key = End;

    fn key(&self) -> End {
        self.end
    }

    fn client(&self) -> Option<ItemId> {
        match self.end {
            End::Client(item) => Some(item),
            End::Server(..) => None,
        }
    }
}
