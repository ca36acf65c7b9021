//! Tunnels between two addresses: EoIP, GRE, IPIP, over IPv4 and IPv6; VXLAN.

use std::collections::HashMap;

use menu::Item;

use super::{Unpaired, pair};
use crate::config::{has, shown};
use crate::joined::end::{End, Pairs, Role, Router};

const UNPAIRED: Unpaired = Unpaired {
    property: "remote-address",
    cause: "the other router has no tunnel to this one: it discards the packets",
};

pub(in crate::joined) fn eoip<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    tunnels(
        ["/interface/eoip", "/interface/eoipv6"],
        first,
        second,
        |tunnel| {
            let id = shown(tunnel, "tunnel-id");
            [id.clone(), id]
        },
    )
}

pub(in crate::joined) fn gre<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    tunnels(["/interface/gre", "/interface/gre6"], first, second, ends)
}

pub(in crate::joined) fn ipip<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    tunnels(
        ["/interface/ipip", "/interface/ipipv6"],
        first,
        second,
        ends,
    )
}

/// Returns local and remote address as keys.
fn ends(tunnel: &Item) -> [String; 2] {
    ["local-address", "remote-address"].map(|property| shown(tunnel, property))
}

fn tunnels<'a>(
    menus: [&str; 2],
    first: &Router<'a>,
    second: &Router<'a>,
    keys: fn(&Item) -> [String; 2],
) -> Pairs<'a> {
    let mut pairs = Pairs::default();
    for menu in menus {
        let of = |own: &Router<'a>, far: &Router<'a>| {
            let tunnels = own.config.enabled(menu).into_iter();
            let ends = tunnels.map(|tunnel| {
                let remote = shown(tunnel, "remote-address");
                let mut end = End::new(own.index, tunnel, remote, far);
                end.networks = own.networks(tunnel.text("name"));
                end.keys = keys(tunnel);
                end
            });
            ends.collect::<Vec<_>>()
        };
        let found = pair(of(first, second), of(second, first), UNPAIRED);
        pairs.joined.extend(found.joined);
        pairs.alone.extend(found.alone);
    }
    pairs
}

pub(in crate::joined) fn vxlan<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    let of = |own: &Router<'a>, far: &Router<'a>| {
        let mut vteps: HashMap<&str, Vec<&'a Item>> = HashMap::new();
        for vtep in own.config.enabled("/interface/vxlan/vteps") {
            vteps.entry(vtep.text("interface")).or_default().push(vtep);
        }
        let mut ends = Vec::new();
        for tunnel in own.config.enabled("/interface/vxlan") {
            let name = tunnel.text("name");
            let group = has(tunnel, "group").then(|| shown(tunnel, "group"));
            let remotes = vteps
                .get(name)
                .into_iter()
                .flatten()
                .map(|vtep| Some(*vtep));
            for vtep in remotes.chain(group.is_some().then_some(None)) {
                let remote = vtep.map(|vtep| shown(vtep, "remote-ip"));
                let mut end = End::new(own.index, tunnel, remote.unwrap_or_default(), far);
                end = end.with(Role::Vtep, vtep);
                end.networks = own.networks(name);
                let key = format!("{}{}", shown(tunnel, "vni"), shown(tunnel, "group"));
                end.keys = [key.clone(), key];
                ends.push(end);
            }
        }
        ends
    };
    let unpaired = Unpaired {
        property: "name",
        cause: "the other router has no VTEP with the address of this one: flooded frames do not come back",
    };
    pair(of(first, second), of(second, first), unpaired)
}
