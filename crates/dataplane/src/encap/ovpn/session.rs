//! Keys and addresses of OpenVPN sessions, which control sets and workers use.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use frame::InterfaceId;
use openvpn::data::{Receiving, Sending};

use crate::encap::Form;
use crate::encap::wireguard::Passed;
use crate::interface::Ends;

/// Keys of a session at one time.
const KEYS: usize = 8;
/// Bit of an [`Ends`] number that marks sessions by the sender's port, not by peer id.
const BY_PORT: u32 = 1 << 31;

/// An OpenVPN interface.
#[derive(Clone, Debug)]
pub struct Ovpn {
    /// The session's interface.
    pub id: InterfaceId,
    /// Its keys and addresses.
    pub session: Arc<Session>,
}

impl PartialEq for Ovpn {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && Arc::ptr_eq(&self.session, &other.session)
    }
}

impl Eq for Ovpn {}

/// State of a session, shared by workers and control.
#[derive(Debug)]
pub struct Session {
    /// Local end; an unspecified address leaves the choice to the route.
    local: SocketAddr,
    /// Number in packets of version 2; `None`: version 1.
    peer_id: Option<u32>,
    /// Address at the session's begin, which finds packets of version 1.
    first_remote: SocketAddr,
    remote: ArcSwap<SocketAddr>,
    sending: ArcSwapOption<Sending>,
    receiving: [ArcSwapOption<Receiving>; KEYS],
    /// Sender of the last authentic packet, if it differs from the remote end.
    moved: Mutex<Option<SocketAddr>>,
    has_exit: AtomicBool,
    /// Traffic to the other end.
    pub sent: Passed,
    /// Traffic from the other end.
    pub received: Passed,
}

impl Session {
    /// Returns a session without keys.
    pub fn new(local: SocketAddr, remote: SocketAddr, peer_id: Option<u32>) -> Self {
        Self {
            local,
            peer_id,
            first_remote: remote,
            remote: ArcSwap::from_pointee(remote),
            sending: ArcSwapOption::empty(),
            receiving: core::array::from_fn(|_| ArcSwapOption::empty()),
            moved: Mutex::new(None),
            has_exit: AtomicBool::new(false),
            sent: Passed::default(),
            received: Passed::default(),
        }
    }

    /// Returns the local end.
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Returns the other end.
    pub fn remote(&self) -> SocketAddr {
        **self.remote.load()
    }

    /// Sets the other end.
    pub fn set_remote(&self, remote: SocketAddr) {
        self.remote.store(Arc::new(remote));
    }

    /// Returns the key for sending.
    #[inline]
    pub fn sending(&self) -> Guard<Option<Arc<Sending>>> {
        self.sending.load()
    }

    /// Sets the key for sending.
    pub fn set_sending(&self, sending: Option<Arc<Sending>>) {
        self.sending.store(sending);
    }

    /// Returns the key for receiving with this number.
    pub fn receiving(&self, key_id: u8) -> Option<Arc<Receiving>> {
        self.receiving.get(usize::from(key_id))?.load_full()
    }

    /// Sets or removes the key for receiving with this number, 0 to 7.
    pub fn set_receiving(&self, key_id: u8, receiving: Option<Arc<Receiving>>) {
        if let Some(place) = self.receiving.get(usize::from(key_id)) {
            place.store(receiving);
        }
    }

    /// Records the sender of an authentic packet. Never waits for a lock.
    #[inline]
    pub(super) fn received_from(&self, from: SocketAddr) {
        if **self.remote.load() != from
            && let Ok(mut moved) = self.moved.try_lock()
        {
            *moved = Some(from);
        }
    }

    /// Returns the new sender since the last call, if it differs from the remote end.
    pub fn take_moved(&self) -> Option<SocketAddr> {
        self.moved.lock().ok()?.take()
    }

    /// Records that the other end ends the session.
    pub(super) fn record_exit(&self) {
        self.has_exit.store(true, Relaxed);
    }

    /// Returns true if the other end has ended the session.
    pub fn has_exit(&self) -> bool {
        self.has_exit.load(Relaxed)
    }

    /// Returns the key that finds the session.
    pub(super) fn key(&self) -> Ends {
        match self.peer_id {
            Some(peer) => by_peer(self.local.port(), peer),
            None => by_sender(self.local.port(), self.first_remote),
        }
    }
}

/// Returns the key of packets of version 2 to this UDP port, at any local address.
pub(super) const fn by_peer(port: u16, peer_id: u32) -> Ends {
    Ends {
        form: Form::Ovpn,
        port,
        number: peer_id,
        local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Returns the key of packets of version 1 to this UDP port.
pub(super) const fn by_sender(port: u16, sender: SocketAddr) -> Ends {
    Ends {
        form: Form::Ovpn,
        port,
        number: BY_PORT | sender.port() as u32,
        local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        remote: sender.ip(),
    }
}
