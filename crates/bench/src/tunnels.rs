//! Tunnel types of the benchmark's router, and their remote ends.

use core::net::Ipv4Addr;
use std::sync::Arc;

use ::wireguard::session::Sending;
use dataplane::encap::Encapsulation;
use dataplane::encap::between::{Between, Carries, KeepaliveCounter};
use dataplane::encap::vxlan::{DontFragment, Peer, Vxlan};
use dataplane::encap::wireguard::{self, Allowed, Wireguard};
use dataplane::snapshot::Prefix;
use dataplane::table::{Host, HostKey, HostKind};
use frame::InterfaceId;
use wire::vxlan;

use super::ovpn;
use super::rig::{FAR_END, OWN4, STATION, VNI};

/// The key of the remote host in a VXLAN network.
pub(super) const fn station(network: InterfaceId) -> HostKey {
    let [a, b, c, d, e, f] = STATION;
    HostKey {
        bridge: network,
        vid: 0,
        mac: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
    }
}

pub(super) const FAR_STATION: Host = Host {
    port: InterfaceId(FAR_END),
    kind: HostKind::Learned,
    seen: 0,
};

/// WireGuard's port, the number of its only session, and that session's key for both directions.
pub(super) const WIREGUARD: u16 = 13_231;
pub(super) const SESSION: u32 = 7;
pub(super) const KEY: [u8; 32] = [7; 32];

/// A tunnel type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TunnelKind {
    /// Between two IPv4 addresses.
    Between(Carries),
    /// VXLAN over IPv4.
    Vxlan,
    /// WireGuard, with all networks behind one peer.
    Wireguard,
    /// OpenVPN by UDP.
    Ovpn(openvpn::Suite),
}

/// Returns a tunnel of this type for an interface.
pub(super) fn tunnel(kind: TunnelKind, id: InterfaceId) -> Encapsulation {
    let [local, remote] = [OWN4, FAR_END].map(Ipv4Addr::from_bits);
    match kind {
        TunnelKind::Between(carries) => Encapsulation::from(Between {
            id,
            carries,
            local: local.into(),
            remote: remote.into(),
            ttl: 255,
            dscp: None,
            inherits_dont_fragment: false,
            fast: true,
            clamp: None,
            heard: KeepaliveCounter::default(),
        }),
        TunnelKind::Wireguard => {
            let peer = Arc::new(wireguard::Peer::new(1));
            peer.set_endpoint(Some((remote, WIREGUARD).into()));
            peer.set_sending(Some(Arc::new(Sending::new(SESSION, &KEY))));
            let all = [false, true].map(|ipv6| Prefix {
                ipv6,
                bits: 0,
                len: 0,
            });
            let allowed = all.map(|network| (network, Arc::clone(&peer)));
            Encapsulation::from(Wireguard {
                id,
                port: WIREGUARD,
                allowed: Arc::new(Allowed::new(allowed)),
            })
        }
        TunnelKind::Ovpn(suite) => Encapsulation::from(ovpn::session(id, suite, [local, remote])),
        TunnelKind::Vxlan => Encapsulation::from(Vxlan {
            id,
            vni: VNI,
            port: vxlan::PORT,
            local: local.into(),
            ttl: None,
            checksum: false,
            dont_fragment: DontFragment::Never,
            learning: true,
            hosts_max: 4096,
            fast: true,
            group: None,
            peers: Arc::from([Peer {
                address: remote.into(),
                port: vxlan::PORT,
            }]),
        }),
    }
}
