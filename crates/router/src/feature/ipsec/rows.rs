//! Rows of `/ip/ipsec`: peers, SAs, and the dynamic items of tunnels and peers.

use std::ops::ControlFlow;

use ike::{Peer, PeerId, Phase2, PolicyId, Side};
use machine::{Duration, Instant};
use menu::{Id, Menu, Row, RowFilter, Value};

use super::installed::Pair;
use super::{ACTIVE, INSTALLED, Ipsec, generated, read, secrets};
use crate::firewall::protocol_name;
use crate::live::{DYNAMIC, give, number};

/// Number of rows reserved for each generated policy: one for each pair of selectors.
const PLACES: u64 = 1 << 8;

type Each<'e> = &'e mut dyn FnMut(Row) -> ControlFlow<()>;

/// Passes the dynamic rows of a menu to `each`.
pub(super) fn rows(
    of: &Ipsec,
    menu: &'static Menu,
    filter: &RowFilter<'_>,
    now: Instant,
    each: Each<'_>,
) -> ControlFlow<()> {
    match menu.path {
        ACTIVE => { of.engine.peers() }.try_for_each(|row| {
            let user = of.sessions.user(row.id);
            give(active(&row, user, now), filter, each)
        }),
        INSTALLED => of.installed.pairs().try_for_each(|pair| {
            give(association(pair, true, now), filter, each)?;
            give(association(pair, false, now), filter, each)
        }),
        read::PEER => made_peers(of).try_for_each(|(id, made)| give(peer(id, made), filter, each)),
        read::IDENTITY => {
            made_peers(of).try_for_each(|(id, made)| give(identity(id, made), filter, each))
        }
        read::POLICY => {
            made_policies(of).try_for_each(|(id, policy)| {
                let row = secret_policy(of, id, policy);
                give(row, filter, each)
            })?;
            { of.generated.all() }.try_for_each(|(id, made)| {
                { (0..PLACES).zip(&made.about) }.try_for_each(|(place, (selectors, _))| {
                    let row = generated_policy(of, id, made, place, *selectors);
                    give(row, filter, each)
                })
            })
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Adds the running state to the row of an item.
pub(super) fn annotate(of: &Ipsec, menu: &'static Menu, id: Id, row: &mut Row) {
    match menu.path {
        read::POLICY => {
            let id = PolicyId(id.0);
            if let Some(policy) = of
                .config
                .policies
                .get(&id)
                .filter(|policy| policy.template.is_none())
            {
                phase2(of, id, row);
                let (local, remote) = policy.ends;
                row.set("sa-src-address", Value::Address(local));
                row.set("sa-dst-address", Value::Address(remote));
            }
        }
        read::PEER => {
            let peer = of.config.peers.get(&PeerId(id.0));
            let answers = peer.is_some_and(|peer| peer.passive || read::host(peer).is_none());
            row.flag("responder", answers);
            let current = peer.and_then(read::host);
            let current = current.filter(|_| of.config.named.contains_key(&PeerId(id.0)));
            if let Some(address) = current {
                row.set("current-address", Value::Address(address));
            }
        }
        _ => {}
    }
}

/// Sets the phase 2 state of a policy.
fn phase2(of: &Ipsec, id: PolicyId, row: &mut Row) {
    let (state, count) = match of.generated.has(id) {
        false => of.engine.phase2(id),
        true => (Phase2::Established, of.installed.of(id).count()),
    };
    row.flag("active", state == Phase2::Established);
    row.set("ph2-state", Value::text(state.name()));
    row.set("ph2-count", number(count as u64));
}

fn made_peers(of: &Ipsec) -> impl Iterator<Item = (PeerId, &Peer)> {
    let peers = of
        .config
        .peers
        .iter()
        .filter(|(id, _)| id.0 & secrets::MADE != 0);
    peers.map(|(id, peer)| (*id, peer))
}

fn made_policies(of: &Ipsec) -> impl Iterator<Item = (PolicyId, &ike::Policy)> {
    let policies = of.config.policies.iter();
    let made = policies.filter(|(id, _)| id.0 & secrets::MADE != 0);
    made.map(|(id, policy)| (*id, policy))
}

fn dynamic(id: u64) -> Row {
    let mut row = Row {
        id: Some(Id(DYNAMIC | id)),
        ..Row::default()
    };
    row.flag("dynamic", true);
    row
}

/// Rounds down to whole seconds.
fn span(span: Duration) -> Value {
    let span = Duration::from_secs(span.as_secs());
    Value::Time(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

/// Returns a row of `active-peers`. RouterOS: a user who logged in is shown by name.
fn active(peer: &ike::Row, user: Option<&str>, now: Instant) -> Row {
    let mut row = Row {
        id: Some(Id(DYNAMIC | peer.id.0)),
        ..Row::default()
    };
    let user = user.map(str::to_owned).or_else(|| peer.user.clone());
    if let Some(id) = user.or_else(|| peer.remote_id.as_ref().map(ToString::to_string)) {
        row.set("id", Value::text(id));
    }
    row.set("local-address", Value::Address(peer.local.ip()));
    row.set("port", number(peer.remote.port().into()));
    row.set("remote-address", Value::Address(peer.remote.ip()));
    row.set("state", Value::text(peer.state.name(peer.side)));
    row.set(
        "side",
        Value::Word(match peer.side {
            Side::Initiator => "initiator",
            Side::Responder => "responder",
        }),
    );
    if let Some(leased) = peer.leased {
        row.set("dynamic-address", Value::text(leased.to_string()));
    }
    if let Some(since) = peer.established {
        row.set("uptime", span(now.saturating_since(since)));
    }
    row.set("last-seen", span(now.saturating_since(peer.last_seen)));
    row.set("ph2-total", number(peer.children as u64));
    row.set("spii", Value::text(format!("{:016x}", peer.spis.0)));
    row.set("spir", Value::text(format!("{:016x}", peer.spis.1)));
    for (name, count) in [
        ("rx-packets", peer.received.packets),
        ("rx-bytes", peer.received.bytes),
        ("tx-packets", peer.sent.packets),
        ("tx-bytes", peer.sent.bytes),
    ] {
        row.set(name, number(count));
    }
    row.flag("responder", peer.side == Side::Responder);
    row.flag("natt-peer", peer.natt);
    row
}

/// Returns the row of one direction of an SA pair.
fn association(pair: &Pair, arrives: bool, now: Instant) -> Row {
    let child = &pair.child;
    let (local, remote) = match child.natt {
        true => (child.local.to_string(), child.remote.to_string()),
        false => (child.local.ip().to_string(), child.remote.ip().to_string()),
    };
    let ((from, to), sa) = match arrives {
        true => ((remote, local), &child.inbound),
        false => ((local, remote), &child.outbound),
    };
    let mut row = Row {
        id: Some(Id(DYNAMIC | child.id.0 << 1 | u64::from(arrives))),
        ..Row::default()
    };
    row.set("spi", Value::Hex(sa.spi.into()));
    row.set("src-address", Value::text(from));
    row.set("dst-address", Value::text(to));
    let age = now.saturating_since(child.born);
    row.set(
        "state",
        Value::text(if age < child.soft { "mature" } else { "dying" }),
    );
    let auth = child.suite.authentication.map_or("", |hash| hash.name());
    row.set("auth-algorithm", Value::text(auth));
    row.set("auth-key", Value::text(hex(sa.authentication_key.bytes())));
    if child.protocol == ike::Protocol::Esp {
        row.set("enc-algorithm", Value::text(encryption(child)));
        row.set("enc-key-size", number(child.suite.encryption.bits.into()));
        row.set("enc-key", Value::text(hex(sa.encryption_key.bytes())));
    }
    let lifetime = [child.soft, child.hard].map(span);
    row.set("add-lifetime", Value::Tuple("/", lifetime.into()));
    row.set("expires-in", span(child.hard.saturating_sub(age)));
    let (packets, bytes) = match arrives {
        true => {
            let counted = pair.arriving.sa.counters();
            let refused = counted.malformed
                + counted.replayed
                + counted.integrity
                + counted.padding
                + counted.unhandled;
            row.set("invalid-packets", number(refused));
            row.set("replay", number(pair.arriving.sa.window().into()));
            (counted.packets, counted.bytes)
        }
        false => {
            let counted = pair.leaving.sa.counters();
            (counted.packets, counted.bytes)
        }
    };
    row.set("current-packets", number(packets));
    row.set("current-bytes", number(bytes));
    row.flag("seen-traffic", packets > 0);
    row.flag("AH", child.protocol == ike::Protocol::Ah);
    row.flag("ESP", child.protocol == ike::Protocol::Esp);
    row
}

/// Returns the encryption without its key size, as RouterOS shows it here.
fn encryption(child: &ike::Child) -> String {
    let name = child.suite.encryption.name();
    let parts = name.split('-').filter(|part| part.parse::<u16>().is_err());
    parts.collect::<Vec<_>>().join("-")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn peer(id: PeerId, peer: &Peer) -> Row {
    let mut row = dynamic(id.0);
    row.set("name", Value::text(&*peer.name));
    row.set("address", Value::Prefix(peer.address));
    if let Some(local) = peer.local {
        row.set("local-address", Value::Address(local));
    }
    row.set("profile", Value::Reference((&*peer.profile.name).into()));
    row.set("exchange-mode", Value::Word("main"));
    row.set(
        "send-initial-contact",
        Value::Bool(peer.send_initial_contact),
    );
    row
}

fn identity(id: PeerId, peer: &Peer) -> Row {
    let mut row = dynamic(id.0);
    row.set("peer", Value::Reference((&*peer.name).into()));
    row.set("auth-method", Value::Word("pre-shared-key"));
    row.set("generate-policy", Value::Word("no"));
    if let Some(ike::Auth::Psk(secret)) = peer.identities.first().map(|identity| &identity.auth) {
        let text = String::from_utf8_lossy(secret.bytes()).into_owned();
        row.set("secret", Value::text(text));
    }
    row
}

/// Sets the selector properties of a policy.
fn set_selectors(row: &mut Row, source: ike::Selector, destination: ike::Selector, protocol: u8) {
    row.set("src-address", Value::Prefix(source.prefix));
    row.set("dst-address", Value::Prefix(destination.prefix));
    let port = |port: u16| match port {
        0 => Value::Word("any"),
        port => number(port.into()),
    };
    row.set("src-port", port(source.port));
    row.set("dst-port", port(destination.port));
    row.set(
        "protocol",
        match (protocol, protocol_name(protocol)) {
            (0, _) => Value::Word("all"),
            (_, Some(name)) => Value::Word(name),
            (number_of, None) => number(number_of.into()),
        },
    );
    row.set("action", Value::Word("encrypt"));
    row.set("ipsec-protocols", Value::Word("esp"));
}

fn secret_policy(of: &Ipsec, id: PolicyId, policy: &ike::Policy) -> Row {
    let mut row = dynamic(id.0);
    set_selectors(&mut row, policy.source, policy.destination, policy.protocol);
    let peer = policy.peer.and_then(|peer| of.config.peers.get(&peer));
    if let Some(peer) = peer {
        row.set("peer", Value::Reference((&*peer.name).into()));
    }
    row.set("tunnel", Value::Bool(false));
    row.set("level", Value::Word("require"));
    row.set(
        "proposal",
        Value::Reference((&*policy.proposal.name).into()),
    );
    row.set("sa-src-address", Value::Address(policy.ends.0));
    row.set("sa-dst-address", Value::Address(policy.ends.1));
    phase2(of, id, &mut row);
    row
}

fn generated_policy(
    of: &Ipsec,
    id: PolicyId,
    made: &generated::Made,
    place: u64,
    selectors: (ike::Selector, ike::Selector),
) -> Row {
    let mut row = dynamic(id.0.wrapping_mul(PLACES) | place);
    set_selectors(&mut row, selectors.0, selectors.1, made.protocol);
    if let Some(peer) = of.config.peers.get(&made.peer) {
        row.set("peer", Value::Reference((&*peer.name).into()));
    }
    row.set("tunnel", Value::Bool(made.mode == ike::Mode::Tunnel));
    row.set("level", Value::Word("unique"));
    if let Some(pair) = of.installed.of(id).next() {
        row.set("sa-src-address", Value::Address(pair.child.local.ip()));
        row.set("sa-dst-address", Value::Address(pair.child.remote.ip()));
    }
    phase2(of, id, &mut row);
    row
}
