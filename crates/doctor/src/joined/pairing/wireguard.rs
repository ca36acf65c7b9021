//! Peers of WireGuard: by public keys, else by endpoints and addresses on the tunnel.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Item, Value};

use super::{Unpaired, pair};
use crate::config::shown;
use crate::joined::end::{Aim, End, Pairs, Role, Router};

/// Returns the networks of `allowed-address`.
pub(in crate::joined) fn allowed(peer: &Item) -> Vec<IpNet> {
    match peer.get("allowed-address") {
        Some(Value::List(list)) => list.iter().filter_map(Value::as_prefix).collect(),
        Some(one) => one.as_prefix().into_iter().collect(),
        None => Vec::new(),
    }
}

pub(in crate::joined) fn peers<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    let unpaired = Unpaired {
        property: "endpoint-address",
        cause: "the other router has no peer for this one: it discards every handshake",
    };
    pair(ends(first, second), ends(second, first), unpaired)
}

/// A WireGuard interface, with its public key if the private key is known.
struct Interface<'a> {
    item: &'a Item,
    networks: Vec<IpNet>,
    public_key: Option<String>,
}

fn interfaces<'a>(router: &Router<'a>) -> BTreeMap<&'a str, Interface<'a>> {
    let items = router.config.enabled("/interface/wireguard").into_iter();
    let interfaces = items.map(|item| {
        let name = item.text("name");
        let interface = Interface {
            item,
            networks: router.networks(name),
            public_key: router.public.get(item.text("private-key")).cloned(),
        };
        (name, interface)
    });
    interfaces.collect()
}

fn ends<'a>(own: &Router<'a>, far: &Router<'a>) -> Vec<End<'a>> {
    let interfaces_own = interfaces(own);
    let far = (far, interfaces(far));
    let far_addresses: Vec<IpAddr> = { far.1.values() }
        .flat_map(|interface| interface.networks.iter().map(IpNet::addr))
        .collect();
    let far_keys: Vec<&str> = { far.1.values() }
        .filter_map(|interface| interface.public_key.as_deref())
        .collect();
    let peers = own.config.enabled("/interface/wireguard/peers").into_iter();
    let ends = peers.filter_map(|peer| {
        let interface = interfaces_own.get(peer.text("interface"))?;
        let remote = shown(peer, "endpoint-address");
        let mut end = End::new(own.index, peer, remote, far.0);
        let expected = peer.text("public-key");
        let hosts = allowed(peer).into_iter();
        let mut hosts = hosts.filter(|net| net.prefix_len() == net.max_prefix_len());
        // The key or the address on the tunnel says more than an endpoint that may be unknown.
        if far_keys.contains(&expected) || hosts.any(|net| far_addresses.contains(&net.addr())) {
            end.aim = Aim::Hit.min(end.aim);
            if end.remote.is_empty() {
                end.aim = Aim::Hit;
            }
        }
        end.networks.clone_from(&interface.networks);
        end.public_key.clone_from(&interface.public_key);
        end.keys = [
            end.public_key.clone().unwrap_or_default(),
            expected.to_owned(),
        ];
        Some(end.with(Role::Interface, Some(interface.item)))
    });
    ends.collect()
}
