//! Network address translation of a packet: rules choose the translation of a connection's first
//! packet, and the connection's entry applies it to all later packets.

use core::net::Ipv4Addr;

use frame::InterfaceId;

use super::chains::Hook;
use super::{Decider, Passage, Translation, Watcher};
use crate::connection::{
    Claims, Draft, FlowId, NatState, Rewrite4, Rewrite6, Rewrites, State, Track, Tracker,
};
use crate::drop::DropReason;
use crate::interface::Details;
use crate::nat;
use crate::nat::{Action, Exhausted, Rewrite, Side, Target, Unique};
use crate::packet::{Tuple, protocol};
use crate::rule::{ChainId, Table, Verdict};
use crate::walk::{Context, Exit};

/// The existing connections that a new connection's tuples must not collide with.
struct Others<'a> {
    tracker: &'a Tracker,
    original: Tuple,
}

impl Unique for Others<'_> {
    fn taken(&self, reply: &Tuple) -> bool {
        self.tracker.is_taken(reply, &self.original)
    }
}

impl<W: Watcher> Decider<'_, W> {
    /// Runs the nat chain of a hook. The rules are evaluated for the first packet of a connection,
    /// unless a helper expected it. All other packets get the stored translation: the destination
    /// at dstnat, the source at srcnat.
    pub(in crate::walk) fn translate(
        &mut self,
        hook: Hook,
        table: &Table,
        chain: Option<ChainId>,
        egress: InterfaceId,
    ) -> Result<(), Exit> {
        let is_expected = |draft: &Draft| draft.is_expected();
        if self.passage.track.way.is_some() || self.passage.draft.as_ref().is_some_and(is_expected)
        {
            self.check_egress(hook, egress)?;
            self.recall(hook.side());
            return Ok(());
        }
        let begins = self.passage.draft.is_some() && self.passage.track.state == State::New;
        match chain.filter(|_| begins) {
            Some(chain) => match self.run(table, chain, egress) {
                Verdict::Translate(target) => self.choose(hook, target, egress),
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// Ends a masqueraded connection whose packet leaves by another interface than its first packet
    /// did, because the connection's source address belongs to that interface. Only packets of the
    /// original direction are checked, ICMP errors are not.
    // RouterOS: like netfilter's `nf_nat_oif_changed`, which also drops that packet.
    fn check_egress(&mut self, hook: Hook, egress: InterfaceId) -> Result<(), Exit> {
        let track = &self.passage.track;
        let way = track.way.filter(|way| !way.reply() && !track.quoted);
        let tracker = &mut self.memory.tracker;
        let (Hook::Postrouting, Some(way)) = (hook, way) else {
            return Ok(());
        };
        if !tracker.is_masqueraded(way) || tracker.egress(way) == egress {
            return Ok(());
        }
        if W::COMMITS {
            tracker.forget(way);
        }
        let exit = Exit::Drop(DropReason::NatEgress);
        self.watch.left(hook.stage(), &exit);
        Err(exit)
    }

    /// Applies one side of the connection's translation to the packet.
    pub(in crate::walk) fn recall(&mut self, side: Side) {
        let Some(Translation { after, .. }) = self.passage.translation else {
            return;
        };
        let tuple = &mut self.passage.fields.tuple;
        let said = (tuple.source_port, tuple.destination_port);
        turn(tuple, &after, side);
        if self.passage.track.quoted {
            // An ICMP error keeps its type and code, which stand in place of ports.
            (tuple.source_port, tuple.destination_port) = said;
        }
    }

    /// Applies the target of a nat rule to a new connection.
    fn choose(&mut self, hook: Hook, target: u32, egress: InterfaceId) -> Result<(), Exit> {
        let targets = &self.cx.snapshot.firewall.targets;
        let Some(target) = targets.get(target as usize) else {
            return Ok(());
        };
        let before = self.passage.fields.tuple;
        let interface = match hook {
            Hook::Postrouting => egress,
            _ => self.view.ingress,
        };
        let context = nat::Context {
            own: match (hook, target.action, before.ipv6) {
                (Hook::Postrouting, Action::Own, _) => self.nearest(interface),
                _ => self.own_address(interface, before.ipv6),
            },
            random: self.memory.rules.random(),
            mappings: self.memory.tracker.mappings(),
        };
        let others = Others {
            tracker: &self.memory.tracker,
            original: self.passage.received,
        };
        let after = match nat::choose(target, &before, &context, &others) {
            Ok(after) => after,
            Err(exhausted) => {
                let exit = Exit::Drop(exhausted.reason());
                self.watch.left(hook.stage(), &exit);
                return Err(exit);
            }
        };
        self.watch.passed(hook.stage(), || {
            format!("translated: {before} becomes {after}")
        });
        self.passage.fields.tuple = after;
        if after != before {
            let bit = bits(
                target,
                nat::is_endpoint_independent(target, &before, &context),
            );
            let nat = self.passage.track.nat.with(bit);
            self.passage.track.nat = nat;
        }
        if let Some(draft) = &mut self.passage.draft {
            draft.nat = self.passage.track.nat;
            draft.masquerade |= is_own_source(target);
        }
        Ok(())
    }

    /// Returns the router's address on the egress interface: for IPv4 preferably the address in the
    /// next hop's network, for IPv6 the source address selected for the destination.
    fn nearest(&self, egress: InterfaceId) -> Option<u128> {
        let Tuple {
            destination, ipv6, ..
        } = self.passage.fields.tuple;
        let interfaces = self.cx.interfaces;
        if ipv6 {
            let nearest = |details: &Details| details.source6_towards(destination.into());
            return Some(interfaces.address(egress, nearest)?.to_bits());
        }
        let gateway = self.cx.fib.adjacencies.gateway(self.passage.hop);
        let neighbour = gateway.unwrap_or(Ipv4Addr::from_bits(destination as u32));
        let nearest = |details: &Details| details.address_towards(neighbour);
        let own = interfaces.address(egress, nearest)?;
        Some(u128::from(own.to_bits()))
    }

    /// Returns the router's current address on an interface.
    fn own_address(&self, interface: InterfaceId, ipv6: bool) -> Option<u128> {
        let own = |details: &Details| match ipv6 {
            true => details.address6().map(|address| address.to_bits()),
            false => details
                .address4
                .map(|address| u128::from(address.to_bits())),
        };
        self.cx.interfaces.address(interface, own)
    }
}

/// Returns the translation flags of a connection for rules and menu rows.
fn bits(target: &Target, endpoint_independent: bool) -> NatState {
    let (bit, independent) = match target.side {
        Side::Source => (NatState::SRCNAT, NatState::EIN_SNAT),
        Side::Destination => (NatState::DSTNAT, NatState::EIN_DNAT),
    };
    match endpoint_independent {
        true => bit.with(independent),
        false => bit,
    }
}

/// Returns true if the source becomes an address of the egress interface. Such a connection ends
/// when that address goes.
fn is_own_source(target: &Target) -> bool {
    target.side == Side::Source
        && match target.action {
            Action::Own => true,
            Action::EndpointIndependent => target.addresses.is_none(),
            _ => false,
        }
}

/// Replaces one side of a tuple by that of `after`.
pub(in crate::walk) fn turn(tuple: &mut Tuple, after: &Tuple, side: Side) {
    match side {
        Side::Source => (tuple.source, tuple.source_port) = (after.source, after.source_port),
        Side::Destination => {
            (tuple.destination, tuple.destination_port) =
                (after.destination, after.destination_port);
        }
    }
}

/// Replaces the destination in a tuple of a translated connection by the translated one.
#[inline(always)]
pub(in crate::walk) fn turn_destination(tracker: &Tracker, way: FlowId, tuple: &mut Tuple) {
    if tuple.ipv6 {
        let [words @ .., _] = tracker.rewrite6(way).0;
        Rewrite::<16>::from_words(words).turn_destination(tuple);
    } else {
        Rewrite::<4>::from_words(tracker.rewrite4(way).0).turn_destination(tuple);
    }
}

/// Returns the tuple with which a TCP segment or UDP datagram of a translated connection leaves.
/// `tuple` is that of the packet, whose destination may already be the translated one. Reads the line
/// of the packet's direction alone, which the transmission reads anyway.
#[inline(always)]
pub(in crate::walk) fn leaving(tracker: &Tracker, way: FlowId, mut tuple: Tuple) -> Tuple {
    if tuple.ipv6 {
        let [words @ .., _] = tracker.rewrite6(way).0;
        let rewrite = Rewrite::<16>::from_words(words);
        rewrite.turn_destination(&mut tuple);
        rewrite.turn_source(&mut tuple);
    } else {
        let rewrite = Rewrite::<4>::from_words(tracker.rewrite4(way).0);
        rewrite.turn_destination(&mut tuple);
        rewrite.turn_source(&mut tuple);
    }
    tuple
}

/// Returns the translation of a packet by its existing connection.
pub(in crate::walk) fn known(tracker: &Tracker, track: &Track) -> Option<Translation> {
    let way = track.way.filter(|_| track.nat != NatState::default())?;
    // An ICMP error travels in the opposite direction of the packet that it quotes.
    let way = if track.quoted { way.reversed() } else { way };
    let before = tracker.tuple(way);
    let mut after = tracker.tuple(way.reversed()).reversed();
    if before.protocol == protocol::GRE {
        // The reply tuple has the call id of the other direction.
        let rewrite = Rewrite::<4>::from_words(tracker.rewrite4(way).0);
        (after.source_port, after.destination_port) = (
            before.source_port,
            rewrite.call().unwrap_or(before.destination_port),
        );
    }
    Some(Translation { before, after })
}

/// Returns the translation of a connection that a helper expects, if the draft is expected.
pub(in crate::walk) fn expected(tracker: &Tracker, draft: &mut Draft) -> Option<Translation> {
    let before = draft.original;
    let expected = tracker.expected(&before).filter(|_| draft.is_expected())?;
    let mut after = expected.translated(&before);
    // The source port is the port at which the stream's answers are expected, whichever end sends
    // first.
    let inside = Some((before.source, before.source_port));
    let outside = (after.source, before.protocol);
    let mut others = tracker.expectations_of(expected.parent);
    let answered = others.find(|other| {
        let tuple = &other.tuple;
        other.destination == inside && (tuple.destination, tuple.protocol) == outside
    });
    if let Some(answered) = answered {
        after.source_port = answered.tuple.destination_port;
    }
    if (after.source, after.source_port) != (before.source, before.source_port) {
        draft.nat = draft.nat.with(NatState::SRCNAT);
    }
    if (after.destination, after.destination_port) != (before.destination, before.destination_port)
    {
        draft.nat = draft.nat.with(NatState::DSTNAT);
    }
    (after != before).then_some(Translation { before, after })
}

/// Completes a new connection: chooses a reply tuple that no other connection has, and computes the
/// rewrites of both directions.
///
/// # Errors
/// No port is free.
pub(in crate::walk) fn settle(
    cx: &Context<'_>,
    tracker: &Tracker,
    passage: &mut Passage,
    draft: &mut Draft,
) -> Result<(), Exit> {
    let settled = told_apart(tracker, &passage.fields.tuple, draft);
    let (after, answers) = settled.map_err(|exhausted| Exit::Drop(exhausted.reason()))?;
    // Endpoint-independent mapping must keep its port, so another port cannot replace it.
    if draft.nat.intersects(NatState::EIN_SNAT) && after != passage.fields.tuple {
        return Err(Exit::Drop(DropReason::NatPorts));
    }
    let before = draft.original;
    passage.fields.tuple = after;
    draft.reply = answers.before;
    let to_us = match before.ipv6 {
        true => cx.interfaces.own().has_ipv6(draft.reply.destination),
        false => cx.interfaces.own().has_ipv4(draft.reply.destination as u32),
    };
    draft.claims = claims(cx, tracker, draft, after != before || to_us);
    if after == before {
        passage.translation = None;
        return Ok(());
    }
    if (after.source, after.source_port) != (before.source, before.source_port) {
        draft.nat = draft.nat.with(NatState::SRCNAT);
    }
    passage.translation = Some(Translation { before, after });
    let Translation {
        before: reply,
        after: back,
    } = answers;
    draft.rewrites = match before.ipv6 {
        true => Rewrites::Ipv6([pack6(&before, &after), pack6(&reply, &back)]),
        false => Rewrites::Ipv4([pack4(&before, &after), pack4(&reply, &back)]),
    };
    Ok(())
}

/// Returns the tuples that a new connection claims. `answers_differ` says that its answers hash to
/// another worker than its own packets, or may have the tuple of one of the router's connections.
///
/// The router steers packets by the hash of their flow, the same for both directions. Packets out
/// of WireGuard and IPsec stay on the worker of the outer packet, and a device with a queue for
/// each worker spreads packets by its own hash.
fn claims(cx: &Context<'_>, tracker: &Tracker, draft: &Draft, answers_differ: bool) -> Claims {
    if !tracker.is_shared() {
        return Claims::None;
    }
    let scattered = cx.snapshot.spread_by_devices
        || !cx.snapshot.ipsec.is_empty()
        || cx.interfaces.has_tunnels();
    match (scattered || draft.is_expected(), answers_differ) {
        (true, _) if draft.original != draft.reply => Claims::Both,
        (true, _) | (false, true) => Claims::Reply,
        (false, false) => Claims::None,
    }
}

/// Returns the tuple with which a new connection leaves, and the translation of its answers.
fn told_apart(
    tracker: &Tracker,
    leaves: &Tuple,
    draft: &Draft,
) -> Result<(Tuple, Translation), Exhausted> {
    let expected = tracker.expected(&draft.original);
    let tunnel = expected.filter(|one| draft.is_expected() && one.answer.is_some());
    let Some(tunnel) = tunnel else {
        let others = Others {
            tracker,
            original: draft.original,
        };
        let after = nat::settle(leaves, &others)?;
        let answers = Translation {
            before: after.reversed(),
            after: draft.original.reversed(),
        };
        return Ok((after, answers));
    };
    // The reply direction of a tunnel has its own call id, and its own expectation.
    let reply = tunnel.reply(leaves);
    if tracker.lookup(&reply).is_some() {
        return Err(Exhausted::Ports);
    }
    let back = match tracker.expected(&reply) {
        Some(other) => other.translated(&reply),
        None => Tuple {
            source: draft.original.destination,
            destination: draft.original.source,
            ..reply
        },
    };
    let answers = Translation {
        before: reply,
        after: back,
    };
    Ok((*leaves, answers))
}

fn pack4(before: &Tuple, after: &Tuple) -> Rewrite4 {
    Rewrite4(Rewrite::<4>::of(before, after).to_words())
}

fn pack6(before: &Tuple, after: &Tuple) -> Rewrite6 {
    let mut packed = Rewrite6::default();
    let words = Rewrite::<16>::of(before, after).to_words();
    packed.0[..words.len()].copy_from_slice(&words);
    packed
}
