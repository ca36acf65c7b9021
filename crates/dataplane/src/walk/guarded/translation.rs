//! Where connections are translated: rules choose for the first packet, the table remembers for the
//! others.

use frame::InterfaceId;

use super::chains::Hook;
use super::{Guard, Watcher};
use crate::connection::{NatState, State, Tracker};
use crate::nat::{self, Action, Side, Unique};
use crate::packet::Tuple;
use crate::rule::{ChainId, Table, Verdict};
use crate::walk::{Exit, Stage};

impl Unique for Tracker {
    fn taken(&self, reply: &Tuple) -> bool {
        self.find(self.hash(reply), reply).is_some()
    }
}

impl<W: Watcher> Guard<'_, W> {
    /// One nat chain's stage. The first packet of a connection asks its rules; all others are given
    /// what the connection remembers, the destination here and the source there.
    pub(super) fn translate(
        &mut self,
        hook: Hook,
        table: &Table,
        chain: Option<ChainId>,
        egress: InterfaceId,
    ) -> Result<(), Exit> {
        if self.passage.track.way.is_some() {
            self.recall(hook.side());
            return Ok(());
        }
        if self.passage.draft.is_none() || !self.may_begin() {
            return Ok(());
        }
        let Some(chain) = chain else {
            return Ok(());
        };
        match self.run(table, chain, egress) {
            Verdict::Translate(target) => self.choose(hook, target, egress),
            _ => Ok(()),
        }
    }

    /// What a connection that a helper expected is translated by is known already.
    fn may_begin(&self) -> bool {
        self.passage.track.state == State::New
    }

    /// The translation that the connection has, on this side.
    fn recall(&mut self, side: Side) {
        let Some(after) = self.passage.translated else {
            return;
        };
        turn(&mut self.passage.fields.tuple, &after, side);
    }

    /// A rule's target meets a new connection.
    fn choose(&mut self, hook: Hook, target: u32, egress: InterfaceId) -> Result<(), Exit> {
        let Some(target) = self.cx.snapshot.firewall.targets.get(target as usize) else {
            return Ok(());
        };
        let before = self.passage.fields.tuple;
        let own = match hook {
            Hook::Postrouting => self.own_address(egress, before.ipv6),
            _ => self.own_address(self.view.ingress, before.ipv6),
        };
        let context = nat::Context {
            own,
            random: self.memory.rules.random(),
        };
        let chosen = nat::choose(target, &before, &context, &self.memory.tracker);
        let after = chosen.map_err(|exhausted| {
            let exit = Exit::Drop(exhausted.reason());
            self.watch.left(Stage::Postrouting, &exit);
            exit
        })?;
        self.passage.fields.tuple = after;
        if let Some(draft) = &mut self.passage.draft {
            draft.masquerade |= target.side == Side::Source && target.action == Action::Own;
            let bit = match target.side {
                Side::Source => NatState::SRCNAT,
                Side::Destination => NatState::DSTNAT,
            };
            if after != before {
                draft.nat = draft.nat.with(bit);
                self.passage.track.nat = draft.nat;
            }
        }
        Ok(())
    }

    /// The router's own address of the moment on an interface.
    fn own_address(&self, interface: InterfaceId, ipv6: bool) -> Option<u128> {
        let interface = self.cx.snapshot.interface(interface)?;
        match ipv6 {
            true => interface.address6.map(|address| address.to_bits()),
            false => interface.address4.map(|address| u128::from(address.to_bits())),
        }
    }
}

/// Gives a tuple one side of another.
fn turn(tuple: &mut Tuple, after: &Tuple, side: Side) {
    match side {
        Side::Source => (tuple.source, tuple.source_port) = (after.source, after.source_port),
        Side::Destination => {
            (tuple.destination, tuple.destination_port) =
                (after.destination, after.destination_port);
        }
    }
}
