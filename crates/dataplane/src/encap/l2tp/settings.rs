//! Settings of L2TP sessions, and the sequence numbers that their workers and control share.

use core::net::SocketAddrV4;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use frame::InterfaceId;

use crate::ipsec::{Action, Ipsec, Policies};
use crate::packet::Tuple;
use crate::packet::protocol::UDP;

/// Protocol number of L2TP version 3 in IP.
pub(in crate::encap) const IN_IP: u8 = 115;

/// Tunnel and session number of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallIds {
    /// Number of the tunnel.
    pub tunnel: u16,
    /// Number of the session in the tunnel.
    pub session: u16,
}

/// An L2TP session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2tp {
    /// The session's interface.
    pub id: InterfaceId,
    /// Address and port of this router.
    pub local: SocketAddrV4,
    /// Address and port of the other end.
    pub remote: SocketAddrV4,
    /// Numbers of this end, in received packets.
    pub local_ids: CallIds,
    /// Numbers of the other end, in sent packets.
    pub remote_ids: CallIds,
    /// Numbers of sent packets; `None` for a session without numbers.
    pub sequence: Option<Sequence>,
    /// Number of the last received packet.
    pub received: Received,
    /// Whether outer packets may take the fast path (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// Whether packets pass only while an IPsec policy protects them (`use-ipsec`).
    pub protected: bool,
}

impl L2tp {
    /// Returns true if packets of the session may pass: they need no protection, or a policy protects them.
    pub(in crate::encap) fn may_pass(&self, ipsec: &Ipsec) -> bool {
        !self.protected || is_protected(&ipsec.policies, self.local, self.remote)
    }
}

/// Returns true if a policy protects packets between two ends, and drops unprotected ones. Ports 0 stand for IP packets
/// of protocol 115 (RFC 3931, 4.1.1).
pub fn is_protected(policies: &Policies, local: SocketAddrV4, remote: SocketAddrV4) -> bool {
    let tuple = Tuple {
        source: local.ip().to_bits().into(),
        destination: remote.ip().to_bits().into(),
        source_port: local.port(),
        destination_port: remote.port(),
        protocol: match local.port() {
            0 => IN_IP,
            _ => UDP,
        },
        ipv6: false,
    };
    let policy = policies.outbound(&tuple);
    policy.is_some_and(|policy| matches!(policy.action, Action::Protect { required: true, .. }))
}

/// Sequence number of the next sent packet. Workers and control increment it.
#[derive(Clone, Debug, Default)]
pub struct Sequence(Arc<AtomicU32>);

impl Sequence {
    /// Returns the next number.
    pub fn next(&self) -> u16 {
        self.0.fetch_add(1, Ordering::Relaxed) as u16
    }
}

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Sequence {}

/// Flag of [`Received`]: a numbered packet was received.
const ANY: u32 = 1 << 16;
/// Largest distance of a packet in the past (RFC 2661, 5.4).
const PAST: u16 = 32_767;

/// Number of the last received packet, if the other end numbers them.
#[derive(Clone, Debug, Default)]
pub struct Received(Arc<AtomicU32>);

impl Received {
    /// Notes the number of a packet. Returns false for a packet that is not newer than the last one: late or repeated.
    pub fn admits(&self, ns: u16) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        let distance = ns.wrapping_sub(before as u16);
        if before & ANY != 0 && (distance == 0 || distance > PAST) {
            return false;
        }
        self.0.store(ANY | u32::from(ns), Ordering::Relaxed);
        true
    }
}

impl PartialEq for Received {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Received {}
