//! Keys and addresses of OpenVPN sessions, which control sets and workers use.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use crossbeam_queue::ArrayQueue;
use frame::InterfaceId;
use openvpn::data::{Receiving, Sending};

use crate::encap::wireguard::Passed;
use crate::encap::{Form, stream};
use crate::interface::Ends;
use crate::stream::{ChannelId, Window};

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
    /// The session carries Ethernet frames, not IP packets.
    pub has_frames: bool,
}

impl PartialEq for Ovpn {
    fn eq(&self, other: &Self) -> bool {
        (self.id, self.has_frames) == (other.id, other.has_frames)
            && Arc::ptr_eq(&self.session, &other.session)
    }
}

impl Eq for Ovpn {}

/// Transport of a session's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP.
    Datagrams,
    /// A TCP connection, which the program owns.
    Stream(ChannelId),
}

/// Sessions that control has to look at: the other end moved or ended the session, or the sending key is used up.
#[derive(Debug)]
pub struct Notices(ArrayQueue<u64>);

impl Notices {
    /// Returns an empty list for at most `count` sessions. Workers report a session that found no room again.
    pub fn new(count: usize) -> Self {
        Self(ArrayQueue::new(count))
    }

    /// Returns the number of the next session.
    pub fn take(&self) -> Option<u64> {
        self.0.pop()
    }
}

/// State of a session, shared by workers and control.
#[derive(Debug)]
pub struct Session {
    /// Number of the session in `notices`.
    number: u64,
    notices: Arc<Notices>,
    /// The session is in `notices`.
    is_noted: AtomicBool,
    transport: Transport,
    /// Packets that wait for the connection of a stream.
    pub(super) window: Arc<Window>,
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
    /// Returns a session without keys between a local and a remote end. Workers report it under `number`.
    pub fn new(
        ends: [SocketAddr; 2],
        peer_id: Option<u32>,
        transport: Transport,
        number: u64,
        notices: Arc<Notices>,
    ) -> Self {
        let [local, remote] = ends;
        Self {
            number,
            notices,
            is_noted: AtomicBool::new(false),
            transport,
            window: Arc::default(),
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

    /// Returns the transport.
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// Reports the session to control.
    pub(super) fn notify(&self) {
        if !self.is_noted.swap(true, Relaxed) && self.notices.0.push(self.number).is_err() {
            self.is_noted.store(false, Relaxed);
        }
    }

    /// Lets workers report the session again.
    pub fn acknowledge(&self) {
        self.is_noted.store(false, Relaxed);
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
            drop(moved);
            self.notify();
        }
    }

    /// Returns the new sender since the last call, if it differs from the remote end.
    pub fn take_moved(&self) -> Option<SocketAddr> {
        self.moved.lock().ok()?.take()
    }

    /// Records that the other end ends the session.
    pub(super) fn record_exit(&self) {
        self.has_exit.store(true, Relaxed);
        self.notify();
    }

    /// Returns true if the other end has ended the session.
    pub fn has_exit(&self) -> bool {
        self.has_exit.load(Relaxed)
    }

    /// Returns the key that finds the session.
    pub(super) fn key(&self) -> Ends {
        if let Transport::Stream(channel) = self.transport {
            return stream::ends(channel);
        }
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
