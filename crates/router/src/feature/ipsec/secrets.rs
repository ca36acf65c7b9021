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
pub(super) const TUNNELS: [(&str, u8); 7] = [
    ("/interface/eoip", 47),
    ("/interface/eoipv6", 97),
    ("/interface/gre", 47),
    ("/interface/gre6", 47),
    ("/interface/ipip", 4),
    // Such tunnels carry both families: IPv4 as protocol 4, IPv6 as protocol 41.
    ("/interface/ipipv6", 0),
    ("/interface/6to4", 41),
];

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
    let end = Remote::read(item)?;
    Some(Tunnel {
        id: item.id.0 | MADE,
        position,
        name: item.text("name").to_owned(),
        protocol,
        secret: secret(text),
        local: address("local-address").filter(|address| !address.is_unspecified()),
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
    let only = |address| Selector {
        prefix: IpNet::from(address),
        port: 0,
    };
    Policy {
        peer: Some(PeerId(tunnel.id)),
        template: None,
        place: 0,
        source: only(local),
        destination: only(remote),
        protocol: tunnel.protocol,
        mode: Mode::Transport,
        ends: (local, remote),
        level: Level::Require,
        ipsec: Protocol::Esp,
        proposal: tunnel.proposal.clone(),
    }
}
