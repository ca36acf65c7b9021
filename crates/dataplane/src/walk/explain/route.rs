//! The tracer's routing, from ingress or output to postrouting, and the commit of its decisions to
//! the frame.

use frame::{InterfaceId, IpsecState, Offload};

use super::super::decide::{PacketStart, by_rules, enter, leave};
use super::super::forward::Fit;
use super::super::guarded::{self, Passage, PriorResults, Watcher};
use super::super::leave::write;
use super::super::packet::{Key, Leaving, packet};
use super::super::{Entrance, Exit, Stage, egress, options, output, postrouting, routing};
use super::{Follower, Step};
use crate::drop::DropReason;
use crate::ipsec;
use crate::out::OutId;
use crate::packet::Fields;
use crate::punt::PuntReason;
use crate::table::{Adjacency, Kind, NextHopId};

impl<W: Watcher> Follower<'_, W> {
    /// Routes the packet of a received frame. `behind`: the frame has already passed ingress.
    ///
    /// # Errors
    /// The packet's exit.
    pub(super) fn route(&mut self, id: InterfaceId, behind: bool) -> Result<Step, Exit> {
        let cx = self.cx;
        let Some(mut entrance) = Entrance::new(cx.interfaces, id) else {
            return Err(self.left(Stage::Ingress, Exit::Drop(DropReason::InterfaceDown)));
        };
        if behind {
            entrance.is_behind();
        }
        let mut start = PacketStart {
            interface: id,
            l3: 0,
        };
        let bytes = self.frame.bytes();
        let entered = enter::<false, W>(cx, &entrance, bytes, &mut start, self.watch);
        (self.frame.ingress, self.frame.l3) = (start.interface, start.l3);
        self.revealed()?;
        let ipv6 = self.is_ipv6();
        match (entered, cx.snapshot.firewall.guards(ipv6)) {
            (Err(exit), _) if !exit.is_local() => Err(exit),
            (entered, true) => self.route_guarded(entered.err()),
            (entered, false) => {
                let mark = self.watch.assumed().marks.packet;
                self.watch.marked(self.frame.ingress, mark);
                self.route_plainly(entered?)
            }
        }
    }

    fn is_ipv6(&self) -> bool {
        let first = packet(self.frame).first();
        first.is_some_and(|first| first >> 4 == 6)
    }

    /// Records the policy by which a packet came out of IPsec.
    fn revealed(&mut self) -> Result<(), Exit> {
        if self.frame.guarded != IpsecState::Revealed {
            return Ok(());
        }
        match ipsec::policy_of_revealed(self.cx, packet(self.frame)) {
            Some(policy) => {
                self.watch.passed(Stage::Prerouting, || {
                    format!("came out of IPsec, by the policy {}", policy.selector)
                });
                Ok(())
            }
            None => Err(self.left(Stage::Prerouting, Exit::Drop(DropReason::IpsecMismatch))),
        }
    }

    /// Routes a packet through the firewall.
    fn route_guarded(&mut self, local: Option<Exit>) -> Result<Step, Exit> {
        let mut passage = Passage::new(Fields::of(packet(self.frame)));
        passage.marks = self.watch.assumed().marks;
        let decided = guarded::forwarded(
            self.cx,
            self.frame,
            PriorResults::of(local),
            &mut passage,
            self.memory,
            self.watch,
        );
        self.watch.marked(self.frame.ingress, passage.marks.packet);
        self.settle_guarded(&passage, decided)
    }

    /// Commits the firewall's decisions to the frame.
    fn settle_guarded(
        &mut self,
        passage: &Passage,
        decided: Result<guarded::AcceptedRoute, Exit>,
    ) -> Result<Step, Exit> {
        let onward = decided.inspect_err(|exit| self.note_unresolved(*exit))?;
        guarded::commit(self.frame, passage).map_err(Exit::Drop)?;
        if !passage.fields.tuple.ipv6 && self.frame.ingress != InterfaceId::NONE {
            options::commit(self.cx, self.frame, onward.adjacency.egress);
        }
        if !egress::rewrite(self.frame, &onward.adjacency) {
            return Err(Exit::Drop(DropReason::NoBuffer));
        }
        self.departs(&onward.adjacency, onward.fit, onward.adjacency.out)
    }

    /// Routes a packet to this destination without firewall.
    fn route_plainly(&mut self, key: Key) -> Result<Step, Exit> {
        let cx = self.cx;
        let destination = match key {
            Key::V4(address) => routing::Address::V4(address),
            Key::V6(address) => routing::Address::V6(address),
        };
        let hop = match cx.snapshot.rules.is_empty() {
            true => {
                let bits = destination.bits();
                self.watch.looked_up(routing::MAIN, bits);
                routing::lookup(cx, routing::MAIN, destination)
            }
            false => by_rules(cx, packet(self.frame), self.frame.ingress, self.watch)?,
        };
        let query = routing::Query::new(packet(self.frame), self.frame.ingress);
        match routing::resolve(cx, &query, hop) {
            Ok((hop, adjacency)) => self.depart_plainly(hop, adjacency),
            Err(exit) => {
                self.watch.left(Stage::Routing, &exit);
                if exit.is_local() && exit != Exit::Reveal {
                    self.admit(Stage::Input, true)?;
                }
                Err(exit)
            }
        }
    }

    /// Sends a packet without firewall by a next hop, resolved or not.
    fn depart_plainly(&mut self, hop: NextHopId, adjacency: Adjacency) -> Result<Step, Exit> {
        let cx = self.cx;
        let own = self.frame.ingress == InterfaceId::NONE;
        if !own {
            self.admit(Stage::Forward, false)?;
        }
        let leaving = Leaving {
            packet: packet(self.frame),
            offload: &Offload::FINISHED,
            ipv6: self.is_ipv6(),
            own,
            guarded: self.frame.guarded,
        };
        let (fit, protects) = leave(cx, &leaving, &adjacency, self.watch)?;
        if protects.is_none() && adjacency.kind != Kind::Forward {
            self.egress.add(adjacency.egress);
            return Err(Exit::Punt(PuntReason::Unresolved(hop)));
        }
        write(cx, self.frame, &adjacency, own)?;
        self.departs(&adjacency, fit, protects.unwrap_or(adjacency.out))
    }

    /// Checks a received packet against the IPsec policies.
    fn admit(&mut self, stage: Stage, local: bool) -> Result<(), Exit> {
        let guarded = self.frame.guarded;
        let admitted = postrouting::admit(self.cx, packet(self.frame), guarded, local);
        admitted.map_err(|exit| self.left(stage, exit))
    }

    /// Routes an outer packet along the router's output path.
    ///
    /// # Errors
    /// The packet's exit.
    pub(super) fn route_own(&mut self) -> Result<Step, Exit> {
        let cx = self.cx;
        self.frame.ingress = InterfaceId::NONE;
        let fields = Fields::of(packet(self.frame));
        if let Some(known) = { self.question.connections }.and_then(|all| all.known(&fields.tuple))
        {
            // If there is no room, the trace treats the packet as the beginning of a new
            // connection.
            let _ = self.memory.tracker.adopt(&known);
        }
        let routed = output::run(cx, packet(self.frame), self.frame.egress);
        if cx.snapshot.firewall.guards(fields.tuple.ipv6) {
            let mut passage = Passage::new(fields);
            passage.marks.packet = self.frame.mark;
            let decided = guarded::sent(
                cx,
                self.frame,
                routed,
                &mut passage,
                self.memory,
                self.watch,
            );
            return self.settle_guarded(&passage, decided);
        }
        match routed {
            Ok((hop, adjacency)) => self.depart_plainly(hop, adjacency),
            Err(Exit::Punt(PuntReason::Unresolved(hop))) => {
                let adjacency = cx.fib.adjacencies.read(hop);
                self.depart_plainly(hop, adjacency)
            }
            Err(exit) => Err(self.left(Stage::Output, exit)),
        }
    }

    /// Records the egress interface of a packet whose next hop has no link address yet.
    fn note_unresolved(&mut self, exit: Exit) {
        if let Exit::Punt(PuntReason::Unresolved(hop)) = exit {
            self.egress.add(self.cx.fib.adjacencies.read(hop).egress);
        }
    }

    /// Sends the frame, which has its new link header, to this out. Of several fragments the trace
    /// follows the first.
    pub(super) fn departs(
        &mut self,
        adjacency: &Adjacency,
        fit: Fit,
        out: OutId,
    ) -> Result<Step, Exit> {
        self.egress.add(adjacency.egress);
        if fit == Fit::Fragments && !out.is_protect() {
            let mut pieces = Vec::new();
            let limit = Some((adjacency.mtu, 0));
            let made = egress::finish_whole(self.pool, self.frame, limit, &mut pieces);
            made.map_err(|reason| self.left(Stage::Egress, Exit::Drop(reason)))?;
            let mut pieces = pieces.into_iter();
            if let Some(first) = pieces.next() {
                let whole = core::mem::replace(self.frame, first);
                pieces
                    .chain([whole])
                    .for_each(|piece| self.pool.free(piece));
            }
        }
        Ok(Step::Leaves(out))
    }
}
