//! Messages and settings that both versions of L2TP share: version 2 carries PPP (`ppp/carrier/l2tp/`), version 3
//! carries Ethernet (`l2tp_ether/`). Both receive one service.

use core::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};

use dataplane::DropReason;
use dataplane::service::{Match, Rate, Service};
use l2tp::{Fault, Path};
use menu::{Store, Value};

use super::hear::{Datagram, ReceivedPacket};
use crate::running::Running;

/// Name of the service, and of the protocol in logs.
pub(super) const SERVICE: &str = "l2tp";
/// UDP port of L2TP.
pub(super) const PORT: u16 = 1701;
/// Number of UDP in IPv4 headers, and bytes of its header.
const UDP: u8 = 17;
const UDP_BYTES: usize = 8;
/// Menu of the server.
pub(super) const SERVER: &str = "/interface/l2tp-server/server";
/// Menu of the secrets of tunnels.
pub(super) const SECRETS: &str = "/ppp/l2tp-secret";
/// Menu with the name of this router.
pub(super) const IDENTITY: &str = "/system/identity";
/// Rate of control messages and PPP control packets on a worker.
const RATE: Rate = Rate {
    per_second: 50_000,
    burst: 4096,
};

/// Returns the service with these packets.
pub(super) fn service(matches: Vec<Match>) -> Service {
    Service::new(SERVICE, matches, RATE)
}

/// Returns the name of this router.
pub(super) fn identity(store: &Store) -> &str {
    let identity = store.settings(IDENTITY);
    identity.map_or("MikroTik", |item| item.text("name"))
}

/// Reads `/ppp/l2tp-secret`.
pub(super) fn secrets(store: &Store) -> l2tp::Secrets {
    let mut all = l2tp::Secrets::default();
    for item in store.items(SECRETS) {
        let prefix = item.get("address").and_then(Value::as_prefix);
        let any = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let (address, length) = prefix.map_or(any, |net| (net.addr(), net.prefix_len()));
        if !item.text("secret").is_empty() {
            all.add(address, length, item.text("secret").into());
        }
    }
    all
}

/// Returns an address of IPv4.
pub(super) const fn v4(address: SocketAddr) -> Option<SocketAddrV4> {
    match address {
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    }
}

/// Returns a datagram of a tunnel. An unspecified local address leaves the choice to the route.
pub(super) fn datagram(path: &Path, data: Vec<u8>) -> Datagram {
    Datagram::between(path.local, path.remote, data)
}

/// Returns whether a policy protects the messages between two ends.
pub(super) fn is_protected(path: &Path, running: &Running<'_>) -> bool {
    let ends = v4(path.local).zip(v4(path.remote));
    let policies = &running.intent.ipsec.policies;
    ends.is_some_and(|(local, remote)| {
        dataplane::encap::l2tp::is_protected(policies, local, remote)
    })
}

/// Returns the drop of a message that the machine ignores.
pub(super) const fn drop_of(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed | Fault::Version => DropReason::L2tpMalformed,
        Fault::UnknownAvp => DropReason::L2tpAttribute,
        Fault::Hidden | Fault::Authentication => DropReason::L2tpAuthentication,
        Fault::Tunnel | Fault::Session => DropReason::L2tpUnknown,
        Fault::Address => DropReason::L2tpPeer,
        Fault::Association => DropReason::L2tpAssociation,
        Fault::Duplicate | Fault::Sequence => DropReason::L2tpSequence,
        Fault::State => DropReason::L2tpState,
        Fault::Disabled => DropReason::L2tpDisabled,
        Fault::Full => DropReason::L2tpFull,
    }
}

/// Returns true for a packet of the service that belongs to version 3: it is no datagram, or names the version.
pub(super) fn is_of_version_3(received: &ReceivedPacket<'_>) -> bool {
    let packet = received.packet();
    let header = packet.first().map_or(0, |first| usize::from(first & 0xf)) * 4;
    let version = packet.get(header + UDP_BYTES + 1);
    packet.get(9) != Some(&UDP) || version.is_some_and(|version| version & 0xf == 3)
}
