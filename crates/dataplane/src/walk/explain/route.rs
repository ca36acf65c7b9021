//! The tracer's routing, from ingress or output to postrouting, and the commit of its decisions to
//! the frame.

use frame::{InterfaceId, IpsecState};

use super::super::forward::Fit;
use super::super::packet::packet;
use super::super::{Entrance, Exit, Stage, egress, output};
use super::{Follower, Step};
use crate::drop::DropReason;
use crate::ipsec;
use crate::out::OutId;
use crate::packet::Fields;
use crate::punt::PuntReason;
use crate::table::Adjacency;
use crate::walk::decide;
use crate::walk::decide::enter::{PacketStart, enter};
use crate::walk::decide::{Passage, PriorResults, Watcher};

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
        let local = match entered {
            Ok(_) => None,
            Err(exit) if exit.is_local() => Some(exit),
            Err(exit) => return Err(exit),
        };
        self.decide(local)
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

    /// Decides about a received packet.
    fn decide(&mut self, local: Option<Exit>) -> Result<Step, Exit> {
        let mut passage = Passage::new(Fields::of(packet(self.frame)));
        passage.marks = self.watch.assumed().marks;
        let decided = decide::forwarded(
            self.cx,
            self.frame,
            PriorResults::of(local),
            &mut passage,
            self.memory,
            self.watch,
        );
        self.watch.marked(self.frame.ingress, passage.marks.packet);
        self.commit(&passage, decided)
    }

    /// Commits the decision to the frame.
    fn commit(
        &mut self,
        passage: &Passage,
        decided: Result<decide::AcceptedRoute, Exit>,
    ) -> Result<Step, Exit> {
        let onward = decided.inspect_err(|exit| self.note_unresolved(*exit))?;
        decide::depart(self.cx, self.frame, passage, &onward.adjacency)?;
        self.departs(&onward.adjacency, onward.fit, onward.adjacency.out)
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
        let mut passage = Passage::new(fields);
        passage.marks.packet = self.frame.mark;
        let decided = decide::sent(
            cx,
            self.frame,
            routed,
            &mut passage,
            self.memory,
            self.watch,
        );
        self.commit(&passage, decided)
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
