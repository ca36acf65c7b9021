//! `ipsec-secret` of tunnels: each secret makes a peer, its identity and a policy, as dynamic rows
//! (RouterOS).

use core::net::IpAddr;
use std::sync::Arc;

use dataplane::ipsec::Position;
use ike::{
    Auth, Exchange, GeneratePolicy, Identity, Level, Mode, Peer, PeerId, Policy, PolicyId, Profile,
    Proposal, Protocol, RemoteId, Secret, Selector,
};
use ipnet::IpNet;
use menu::{Change, Changes, Item, Store, Value};

use super::super::tunnels::read::{Remote, pick};
use super::read::{Config, Does, Met, Reader, TUNNELS_SECTION, secret, selector};
use crate::paths::PathTable;

/// Menus whose items may have a secret, each with the IP protocol of its packets.
pub(super) const TUNNELS: [(&str, u8); 9] = [
    ("/interface/eoip", 47),
    ("/interface/eoipv6", 97),
    ("/interface/gre", 47),
    ("/interface/gre6", 47),
    ("/interface/ipip", 4),
    // Such tunnels carry both families: IPv4 as protocol 4, IPv6 as protocol 41.
    ("/interface/ipipv6", 0),
    ("/interface/6to4", 41),
    (L2TP_CLIENT, UDP),
    // In IP with protocol 115, or in UDP.
    (L2TP_ETHER, L2TP),
];
const L2TP_CLIENT: &str = "/interface/l2tp-client";
const L2TP_ETHER: &str = "/interface/l2tp-ether";
/// Numbers of UDP and of L2TP version 3 in IP.
const UDP: u8 = 17;
const L2TP: u8 = 115;
/// Menu of the L2TP server.
pub(super) const L2TP_SERVER: &str = "/interface/l2tp-server/server";
/// UDP port of L2TP.
const L2TP_PORT: u16 = 1701;
/// Id of the peer of the L2TP server (RouterOS: `l2tp-in-server`). Items have smaller numbers.
const L2TP_PEER: PeerId = PeerId(MADE | 1 << 61);

/// Flag in the ids of peers and policies that tunnels make.
pub(super) const MADE: u64 = 1 << 62;

/// Name of the profile and of the proposal that tunnels use.
const DEFAULT: &str = "default";

/// A tunnel with a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tunnel {
    /// Id of its item, with [`MADE`].
    id: u64,
    /// Position of its policy.
    position: Position,
    name: String,
    protocol: u8,
    /// Local and remote port of its packets; 0 is any.
    ports: [u16; 2],
    secret: Secret,
    /// The configured local address.
    local: Option<IpAddr>,
    menu: &'static str,
    /// The remote end, and its address once known.
    end: Remote,
    remote: Option<IpAddr>,
    profile: Profile,
    proposal: Proposal,
}

impl Tunnel {
    /// Returns the remote address of a tunnel whose local address follows from the path.
    pub(super) fn unknown_end(&self) -> Option<IpAddr> {
        self.remote.filter(|_| self.local.is_none())
    }

    /// Returns the DNS name of the remote end, if it has one.
    pub(super) const fn remote_name(&self) -> Option<&Arc<str>> {
        self.end.name()
    }

    /// Applies the resolved addresses of the remote end's DNS name. Returns whether the address in
    /// use changed.
    pub(super) fn resolved(&mut self, name: &str, addresses: &[IpAddr]) -> bool {
        if self.remote_name().is_none_or(|own| **own != *name) {
            return false;
        }
        let address = pick(self.menu, addresses, self.remote);
        core::mem::replace(&mut self.remote, address) != address
    }

    /// Copies the address in use from the tunnel before the change, if its remote end is unchanged.
    pub(super) fn keep_address(&mut self, before: &[Self]) {
        let same = |other: &&Self| other.id == self.id && other.end == self.end;
        if let Some(other) = before.iter().find(same) {
            self.remote = other.remote;
        }
    }
}

/// Whether a transaction changed a tunnel whose item has or had a secret.
pub(super) fn concerned(changes: &Changes) -> bool {
    if changes.of(L2TP_SERVER).next().is_some() {
        return true;
    }
    let is_tunnel = |change: &&Change| TUNNELS.iter().any(|(path, _)| *path == change.menu.path);
    let both = |change: &'_ Change| [change.before.clone(), change.after.clone()];
    let mut items = { changes.list.iter().filter(is_tunnel) }
        .flat_map(both)
        .flatten();
    items.any(|item| !item.text("ipsec-secret").is_empty())
}

/// Returns the tunnels with a secret.
pub(super) fn tunnels(store: &Store, reader: &Reader<'_>) -> Vec<Tunnel> {
    let all = (0..).zip(TUNNELS).flat_map(|(menu, (path, protocol))| {
        let position = move |item: &Item| Position {
            section: TUNNELS_SECTION,
            place: menu,
            part: item.position(),
        };
        let items = store.items(path);
        items.filter_map(move |item| tunnel(item, position(item), protocol, reader))
    });
    all.collect()
}

fn tunnel(item: &Item, position: Position, protocol: u8, reader: &Reader<'_>) -> Option<Tunnel> {
    let text = item.text("ipsec-secret");
    if item.is("disabled") || text.is_empty() {
        return None;
    }
    let address = |name| item.get(name).and_then(Value::as_address);
    let is_l2tp = matches!(item.menu.path, L2TP_CLIENT | L2TP_ETHER);
    if is_l2tp && !item.is("use-ipsec") {
        return None;
    }
    let [end, local] = match item.menu.path {
        L2TP_CLIENT => ["connect-to", "src-address"],
        L2TP_ETHER => ["connect-to", "local-address"],
        _ => ["remote-address", "local-address"],
    };
    let end = Remote::read(item, end)?;
    let in_udp = match item.menu.path {
        L2TP_ETHER => item.text("l2tp-proto-version") == "l2tpv3-udp",
        path => path == L2TP_CLIENT,
    };
    let protocol = if in_udp { UDP } else { protocol };
    let ports = match (in_udp, item.is("random-source-port")) {
        (true, true) => [0, L2TP_PORT],
        (true, false) => [L2TP_PORT; 2],
        (false, _) => [0; 2],
    };
    Some(Tunnel {
        id: item.id.0 | MADE,
        position,
        name: item.text("name").to_owned(),
        protocol,
        ports,
        secret: secret(text),
        local: address(local).filter(|address| !address.is_unspecified()),
        menu: item.menu.path,
        remote: end.address(),
        end,
        profile: reader.profile(DEFAULT)?,
        proposal: reader.proposal(DEFAULT)?,
    })
}

/// Adds the peers and policies of tunnels. `paths` gives the local address where a tunnel leaves it
/// open. These host policies come before configured policies.
pub(super) fn add(tunnels: &[Tunnel], paths: &PathTable, config: &mut Config) {
    for tunnel in tunnels {
        let Some(remote) = tunnel.remote else {
            continue;
        };
        let local = tunnel.local.or_else(|| paths.get(remote)?.source);
        let Some(local) = local else { continue };
        let policy = policy(tunnel, local, remote);
        let selector = selector(&policy.source, &policy.destination, policy.protocol);
        let met = selector.map(|selector| Met {
            position: tunnel.position,
            selector,
            does: Does::Protect { required: true },
        });
        config.met.extend(met.map(|met| (PolicyId(tunnel.id), met)));
        config
            .peers
            .insert(PeerId(tunnel.id), peer(tunnel, local, remote));
        config.policies.insert(PolicyId(tunnel.id), policy);
    }
}

fn peer(tunnel: &Tunnel, local: IpAddr, remote: IpAddr) -> Peer {
    let identity = Identity {
        auth: Auth::Psk(tunnel.secret.clone()),
        my_id: None,
        remote_id: RemoteId::Auto,
        generate_policy: GeneratePolicy::No,
        template_group: String::new(),
        mode_config: None,
    };
    Peer {
        name: tunnel.name.clone(),
        address: IpNet::from(remote),
        port: 500,
        local: Some(local),
        exchange: Exchange::Main,
        passive: false,
        send_initial_contact: true,
        profile: tunnel.profile.clone(),
        identities: vec![identity],
    }
}

fn policy(tunnel: &Tunnel, local: IpAddr, remote: IpAddr) -> Policy {
    let only = |address, port| Selector {
        prefix: IpNet::from(address),
        port,
    };
    let [local_port, remote_port] = tunnel.ports;
    Policy {
        peer: Some(PeerId(tunnel.id)),
        template: None,
        place: 0,
        source: only(local, local_port),
        destination: only(remote, remote_port),
        protocol: tunnel.protocol,
        mode: Mode::Transport,
        ends: (local, remote),
        level: Level::Require,
        ipsec: Protocol::Esp,
        proposal: tunnel.proposal.clone(),
    }
}

/// Returns the peer of the L2TP server, if the server uses IPsec with a secret: any address, with policies generated
/// from the templates of the group `default`.
pub(super) fn l2tp_server(store: &Store, reader: &Reader<'_>) -> Option<Peer> {
    let server = store.settings(L2TP_SERVER)?;
    let uses_ipsec = matches!(server.text("use-ipsec"), "required" | "yes");
    let text = server.text("ipsec-secret");
    if !server.is("enabled") || !uses_ipsec || text.is_empty() {
        return None;
    }
    let identity = Identity {
        auth: Auth::Psk(secret(text)),
        my_id: None,
        remote_id: RemoteId::Ignore,
        generate_policy: GeneratePolicy::PortStrict,
        template_group: DEFAULT.to_owned(),
        mode_config: None,
    };
    Some(Peer {
        name: "l2tp-in-server".to_owned(),
        address: IpNet::default(),
        port: 500,
        local: None,
        exchange: Exchange::Main,
        passive: true,
        send_initial_contact: true,
        profile: reader.profile(DEFAULT)?,
        identities: vec![identity],
    })
}

/// Adds the peer of the L2TP server.
pub(super) fn add_l2tp_server(peer: Option<&Peer>, config: &mut Config) {
    config
        .peers
        .extend(peer.map(|peer| (L2TP_PEER, peer.clone())));
}
