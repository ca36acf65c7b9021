//! The tracer's way down from the out of a next hop to the port: queues, bonds, bridges, tunnels,
//! IPsec.

use frame::InterfaceId;

use super::super::forward::Fit;
use super::super::packet::packet;
use super::super::{Exit, Stage, egress, name};
use super::{Follower, OUTER_PACKETS, Step};
use crate::bond;
use crate::bridge;
use crate::drop::DropReason;
use crate::encap;
use crate::ipsec;
use crate::out::{Out, OutId};
use crate::packet::Fields;
use crate::table::Adjacency;
use crate::walk::decide::Watcher;
use crate::walk::decide::enter::leaves_by;

impl<W: Watcher> Follower<'_, W> {
    /// Follows the frame into its out.
    ///
    /// # Errors
    /// The frame's exit.
    pub(super) fn leave(&mut self, out: OutId) -> Result<Step, Exit> {
        match out.out() {
            Out::Port(_) => Ok(Step::Done),
            Out::Queue(slot) => self.pass_queues(slot),
            Out::Bond(slot) => self.leave_bond(slot),
            Out::Station(slot) => self.leave_station(slot),
            Out::Bridge(slot) => {
                let decided =
                    bridge::explain_down(self.cx, slot, self.frame, self.memory, self.watch);
                Ok(match decided? {
                    Some((port, out)) => {
                        self.egress.add(port);
                        Step::Leaves(out)
                    }
                    None => Step::Done,
                })
            }
            Out::Tunnel(slot) => self.leave_tunnel(slot),
            Out::Protect(slot) => self.leave_protected(slot),
            Out::None => Err(self.gone()),
        }
    }

    fn gone(&mut self) -> Exit {
        self.left(Stage::Egress, Exit::Drop(DropReason::EgressDown))
    }

    /// Returns the out behind the queues of this interface slot.
    fn pass_queues(&mut self, slot: u32) -> Result<Step, Exit> {
        let queues = self.question.behind_queues;
        let next = queues.and_then(|queues| queues.get(&slot));
        match next {
            Some(out) => Ok(Step::Leaves(*out)),
            None => Err(self.gone()),
        }
    }

    /// Sends the frame by the link that the station in this slot shares, or to another station on
    /// that link.
    fn leave_station(&mut self, slot: u32) -> Result<Step, Exit> {
        let on = self.cx.interfaces.station_on(slot);
        let below = self.cx.interfaces.get(on);
        let below = below.ok_or_else(|| self.gone())?;
        let is_bridged = |id: InterfaceId| {
            let line = self.cx.interfaces.get(id);
            id.slot() as u32 != slot && line.is_some_and(|line| line.out == OutId::station(id))
        };
        let to = super::super::ingress::station_of(self.cx, on, self.frame.bytes());
        match to.filter(|id| is_bridged(*id)) {
            Some(station) => {
                self.egress.add(station);
                Ok(Step::Arrives(station))
            }
            None => Ok(Step::Leaves(below.out)),
        }
    }

    /// Sends the frame by the slaves of the bond in this slot.
    fn leave_bond(&mut self, slot: u32) -> Result<Step, Exit> {
        let bond = self.cx.interfaces.bonds().get(slot as usize);
        let bond = bond.as_ref().and_then(|bond| bond.as_deref());
        let bond = bond.ok_or_else(|| self.gone())?;
        let chosen = bond::egress(bond, self.frame);
        let chosen = chosen.map_err(|reason| self.left(Stage::Egress, Exit::Drop(reason)))?;
        let slave = |place: &u8| bond.slaves().get(usize::from(*place));
        let (places, how) = match &chosen {
            bond::Egress::One(place) => (core::slice::from_ref(place), "leaves by"),
            bond::Egress::Any(places) => (&places[..], "leaves by one of"),
            bond::Egress::All(places) => (&places[..], "copies leave by"),
        };
        let slaves: Vec<_> = places.iter().filter_map(slave).collect();
        let names: Vec<_> = { slaves.iter() }
            .map(|slave| name(self.cx, slave.interface))
            .collect();
        self.watch
            .passed(Stage::Egress, || format!("{how} {}", names.join(", ")));
        let first = slaves.first().ok_or_else(|| self.gone())?;
        if let [one] = &slaves[..] {
            self.egress.add(one.interface);
        }
        match first.out.out() {
            Out::Port(_) | Out::Tunnel(_) | Out::Queue(_) => Ok(Step::Leaves(first.out)),
            _ => Err(self.gone()),
        }
    }

    /// Turns the frame into the outer packet of the tunnel in this slot.
    fn leave_tunnel(&mut self, slot: u32) -> Result<Step, Exit> {
        let tunnel = name(self.cx, self.frame.egress);
        let made = encap::encapsulate_unencrypted(self.cx, slot, self.frame, self.pool);
        let made = made.map_err(|exit| self.left(Stage::Egress, exit))?;
        let outer = self.outer();
        self.watch.passed(Stage::Egress, || match made.copies {
            1 => format!("{tunnel} carries it in {outer}"),
            copies => format!("{tunnel} carries {copies} copies of it, the first in {outer}"),
        });
        self.outer_leaves(made.direct)
    }

    /// Turns the frame into the packet that the IPsec association of the policy in this slot
    /// produces.
    fn leave_protected(&mut self, slot: u32) -> Result<Step, Exit> {
        let room = ipsec::room(self.cx, slot);
        let direct = ipsec::protect_unencrypted(self.cx, slot, self.frame, self.pool);
        let direct = direct.map_err(|reason| self.left(Stage::Postrouting, Exit::Drop(reason)))?;
        let outer = self.outer();
        let policy = self.cx.snapshot.ipsec.policies.of_slot(slot);
        self.watch.passed(Stage::Postrouting, || {
            let policy = policy.map_or_else(String::new, |policy| policy.selector.to_string());
            let becomes = format!("becomes {outer}, by the policy {policy}");
            match room {
                Some(room) => format!("{becomes}; packets of up to {room} bytes fit"),
                None => becomes,
            }
        });
        self.outer_leaves(direct)
    }

    /// Returns a description of the outer packet.
    fn outer(&self) -> String {
        let fields = Fields::of(packet(self.frame));
        let tuple = fields.tuple;
        format!("a packet of {} bytes, {tuple}", fields.len)
    }

    /// Sends the outer packet on: by this next hop, or along the router's output path if rules may
    /// apply.
    fn outer_leaves(&mut self, direct: Option<Adjacency>) -> Result<Step, Exit> {
        if usize::from(self.frame.depth) > OUTER_PACKETS {
            return Err(self.left(Stage::Egress, Exit::Drop(DropReason::TunnelDepth)));
        }
        let Some(adjacency) = direct else {
            return Ok(Step::RoutesOwn);
        };
        if !egress::rewrite(self.frame, &adjacency) {
            return Err(self.left(Stage::Egress, Exit::Drop(DropReason::NoBuffer)));
        }
        self.watch
            .passed(Stage::Routing, || leaves_by(self.cx, &adjacency));
        let room = adjacency.mtu as usize + usize::from(self.frame.l3);
        let fit = match self.frame.len() <= room {
            true => Fit::Whole,
            false => Fit::Fragments,
        };
        self.departs(&adjacency, fit, adjacency.out)
    }
}
