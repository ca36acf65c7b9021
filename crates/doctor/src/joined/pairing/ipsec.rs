//! IPsec peers by their addresses, and the policies of joined peers by their selectors.

use std::collections::HashMap;

use menu::Item;

use super::{Unpaired, pair};
use crate::config::{shown, words};
use crate::joined::end::{Aim, Alone, End, Pair, Pairs, Role, Router};

pub(in crate::joined) fn peers<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    let unpaired = Unpaired {
        property: "address",
        cause: "the other router has no peer for this one: it does not answer",
    };
    pair(peer_ends(first, second), peer_ends(second, first), unpaired)
}

fn peer_ends<'a>(own: &Router<'a>, far: &Router<'a>) -> Vec<End<'a>> {
    let mut identities: HashMap<&str, &'a Item> = HashMap::new();
    for identity in own.config.enabled("/ip/ipsec/identity") {
        identities.entry(identity.text("peer")).or_insert(identity);
    }
    let policies = by_peer(own);
    let peers = own.config.enabled("/ip/ipsec/peer").into_iter();
    let ends = peers.map(|peer| {
        let address = shown(peer, "address");
        let remote = ["/32", "/128"]
            .iter()
            .find_map(|len| address.strip_suffix(len));
        let remote = remote.unwrap_or(&address).to_owned();
        let mut end = End::new(own.index, peer, remote, far);
        end.keys = selector_keys(policies.get(peer.text("name")));
        end.with(
            Role::Profile,
            own.named("/ip/ipsec/profile", peer.text("profile")),
        )
        .with(Role::Identity, identities.get(peer.text("name")).copied())
    });
    ends.collect()
}

/// Returns the selectors of a peer's policies as this end has them, and as the other end mirrors them.
fn selector_keys(policies: Option<&Vec<&Item>>) -> [String; 2] {
    let key = |properties: [&str; 2]| {
        let policies = policies.into_iter().flatten();
        let selectors = policies.map(|policy| properties.map(|name| shown(policy, name)).join(">"));
        let mut selectors: Vec<_> = selectors.collect();
        selectors.sort();
        selectors.join(" ")
    };
    [
        key(["src-address", "dst-address"]),
        key(["dst-address", "src-address"]),
    ]
}

/// Pairs the policies of joined peers: mirrored selectors first, the rest in order.
pub(in crate::joined) fn policies<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    let mut pairs = Pairs::default();
    let routers = [first, second];
    let by_peer = routers.map(by_peer);
    for joined in peers(first, second).joined {
        let names = joined.ends.each_ref().map(|end| end.tunnel().text("name"));
        let [own, far] =
            [0, 1].map(|at: usize| by_peer[at].get(names[at]).cloned().unwrap_or_default());
        // A generated policy takes the selector of the other end.
        let generates = |end: &End<'_>| {
            let identity = end.item(Role::Identity);
            identity.is_some_and(|own| !matches!(own.text("generate-policy"), "" | "no"))
        };
        let is_generated = joined.ends.iter().any(generates);
        join_policies(routers, [own, far], is_generated, &mut pairs);
    }
    pairs
}

/// Returns the encrypting policies of each peer.
fn by_peer<'a>(router: &Router<'a>) -> HashMap<&'a str, Vec<&'a Item>> {
    let mut by_peer: HashMap<&str, Vec<&Item>> = HashMap::new();
    for policy in router.config.policies() {
        for peer in words(policy.get("peer")) {
            by_peer.entry(peer).or_default().push(policy);
        }
    }
    by_peer
}

fn join_policies<'a>(
    routers: [&Router<'a>; 2],
    policies: [Vec<&'a Item>; 2],
    is_generated: bool,
    pairs: &mut Pairs<'a>,
) {
    let selector = |policy: &Item| ["src-address", "dst-address"].map(|name| shown(policy, name));
    let [own, far] = policies;
    let mut mirrored: HashMap<[String; 2], Vec<&Item>> = HashMap::new();
    for policy in far.iter().rev() {
        let [source, destination] = selector(policy);
        mirrored
            .entry([destination, source])
            .or_default()
            .push(policy);
    }
    let mut left = Vec::new();
    let mut taken = Vec::new();
    let end = |at: usize, policy| policy_end(routers[at], routers[1 - at], policy);
    for policy in own {
        match mirrored.get_mut(&selector(policy)).and_then(Vec::pop) {
            Some(other) => {
                taken.push(other.id);
                pairs.joined.push(Pair::new(end(0, policy), end(1, other)));
            }
            None => left.push(policy),
        }
    }
    taken.sort_unstable();
    let rest = far
        .into_iter()
        .filter(|policy| taken.binary_search(&policy.id).is_err());
    let mut rest: Vec<_> = rest.collect();
    let equal = left.len().min(rest.len());
    for (policy, other) in left.drain(..equal).zip(rest.drain(..equal)) {
        pairs.joined.push(Pair::new(end(0, policy), end(1, other)));
    }
    if is_generated {
        return;
    }
    for (at, policies) in [(0, left), (1, rest)] {
        pairs.alone.extend(policies.into_iter().map(|policy| Alone {
            end: end(at, policy),
            property: "dst-address",
            cause: "the other router has no policy for these networks: phase 2 fails, or its answers leave unencrypted",
        }));
    }
}

fn policy_end<'a>(own: &Router<'a>, far: &Router<'a>, policy: &'a Item) -> End<'a> {
    let mut end = End::new(own.index, policy, String::new(), far);
    end.aim = Aim::Hit;
    end.with(
        Role::Proposal,
        own.named("/ip/ipsec/proposal", policy.text("proposal")),
    )
}
