//! `ipsec-secret` of tunnels: each makes a peer, its identity and a policy, as dynamic rows (RouterOS).

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

/// The menus whose items may have a secret, each with the protocol of its packets.
pub(super) const TUNNELS: [(&str, u8); 7] = [
    ("/interface/eoip", 47),
    ("/interface/eoipv6", 97),
    ("/interface/gre", 47),
    ("/interface/gre6", 47),
    ("/interface/ipip", 4),
    // Packets of either family are in it: those of IPv4 have number 4, those of IPv6 number 41.
    ("/interface/ipipv6", 0),
    ("/interface/6to4", 41),
];

/// What tells the numbers of what tunnels make from those of items.
pub(super) const MADE: u64 = 1 << 62;

/// The profile and the proposal of what is made.
const DEFAULT: &str = "default";

/// A tunnel with a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tunnel {
    /// That of its item, with [`MADE`].
    id: u64,
    /// The position of its policy.
    position: Position,
    name: String,
    protocol: u8,
    secret: Secret,
    /// This router's end, if the tunnel says it.
    local: Option<IpAddr>,
    menu: &'static str,
    /// The other end, and its address where that is known.
    end: Remote,
    remote: Option<IpAddr>,
    profile: Profile,
    proposal: Proposal,
}

impl Tunnel {
    /// The other end, where this router's own follows from the way there.
    pub(super) fn unknown_end(&self) -> Option<IpAddr> {
        self.remote.filter(|_| self.local.is_none())
    }

    /// The DNS name of the other end, if it has one.
    pub(super) const fn remote_name(&self) -> Option<&Arc<str>> {
        self.end.name()
    }

    /// Takes over the addresses of the DNS name of the other end. Returns whether another one is in use.
    pub(super) fn resolved(&mut self, name: &str, addresses: &[IpAddr]) -> bool {
        if self.remote_name().is_none_or(|own| **own != *name) {
            return false;
        }
        let address = pick(self.menu, addresses, self.remote);
        core::mem::replace(&mut self.remote, address) != address
    }

    /// Takes over the address in use from the tunnel as it was before a change, if its end is the same.
    pub(super) fn keep_address(&mut self, before: &[Self]) {
        let same = |other: &&Self| other.id == self.id && other.end == self.end;
        if let Some(other) = before.iter().find(same) {
            self.remote = other.remote;
        }
    }
}

/// Whether a transaction changed a tunnel that has a secret, or had one.
pub(super) fn concerned(changes: &Changes) -> bool {
    let is_tunnel = |change: &&Change| TUNNELS.iter().any(|(path, _)| *path == change.menu.path);
    let both = |change: &'_ Change| [change.before.clone(), change.after.clone()];
    let mut items = { changes.list.iter().filter(is_tunnel) }
        .flat_map(both)
        .flatten();
    items.any(|item| !item.text("ipsec-secret").is_empty())
}

/// The tunnels with a secret.
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

/// Adds what the secrets of tunnels make. `paths` give the local address where a tunnel leaves it open. Policies of
/// one pair of hosts come before what is configured of networks.
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
