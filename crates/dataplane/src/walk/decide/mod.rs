//! The decision about one packet, in the order of RouterOS's packet flow.
//!
//! ```text
//! prerouting:  raw → reassembly → connection → mangle → dstnat
//! routing:     by the translated destination and the routing mark
//! input:       mangle → filter → nat input          forward:  lifetime → mangle → filter
//! output:      raw → connection → mangle → nat output → filter → routing again
//! postrouting: mangle → srcnat; IPsec policies; then the connection is confirmed
//! ```
//!
//! A [`Decider`] makes all these decisions and changes no byte. Tables without rules and connection tracking that is
//! off cost one test each, so the same code decides about the packets of a router without firewall. The changes by
//! rules and translations are stored in its [`Passage`]; later rules read the passage instead of the bytes, and
//! [`commit`] writes the changes when the packet leaves. So an ICMP error quotes the packet as received, and the tracer
//! can run the same functions: only `Watch::COMMITS` enables changes of connections and counters.
//!
//! | files | what they hold |
//! |---|---|
//! | `enter` | ingress and prerouting's header checks |
//! | `memory`, `passage`, `decider` | state, the facts about one packet, the [`Decider`] |
//! | `single_packet`, `last_decision` | one packet through the [`Decider`], and its decision for later packets |
//! | `chains`, `connection`, `translation`, `helper`, `commit` | the stages of the [`Decider`] |
//! | `bridged`, `detour` | rules of bridges; bridged packets that pass the tables of IP |
//! | `rule_events` | events of rules for control |

pub(crate) mod bridged;
pub(super) mod chains;
pub(super) mod commit;
pub(super) mod connection;
mod decider;
pub(crate) mod detour;
pub(super) mod enter;
mod helper;
pub(super) mod last_decision;
mod memory;
pub(super) mod passage;
mod rule_events;
pub(super) mod single_packet;
pub(super) mod translation;

use frame::{InterfaceId, Segmentation};

use super::forward::{self, Fit};
use super::{Exit, Leaving, Stage, gather, options, output, postrouting, routing};
use crate::drop::DropReason;
use crate::ipsec;
use crate::nat::Side;
use crate::out::OutId;
use crate::packet::{Fields, Fragment, Tuple};
use crate::punt::PuntReason;
use crate::rule::Changes;
use crate::table::{Adjacency, Kind, NextHopId};
use chains::{Hook, Menu};

pub(super) use commit::commit;
pub(crate) use decider::{Decider, Watcher};
pub(super) use last_decision::LastDecision;
pub(crate) use memory::Memory;
pub(crate) use passage::{AcceptedRoute, Detoured, EarlyLookup, PacketView, Passage, Translation};
pub(super) use passage::{CHUNK, PreroutingResult, PriorResults};
pub use rule_events::{Event, Logged};
pub(crate) use rule_events::{RuleEvents, RuleRequest};
pub(super) use single_packet::{depart, forwarded, one, own, sent};

impl<W: Watcher> Decider<'_, W> {
    /// Decides about a received packet. `local` is its exit if the header checks already found that
    /// it is for this router: a multicast, broadcast or link-local destination.
    ///
    /// # Errors
    /// The packet's exit.
    pub(crate) fn forwarded(&mut self, local: Option<Exit>) -> Result<AcceptedRoute, Exit> {
        self.prerouting()?;
        let routed = match local {
            Some(exit) if self.passage.fields.tuple == self.passage.received => Err(exit),
            _ => self.route(),
        };
        let (hop, adjacency) = match routed {
            Ok(accepted) => accepted,
            Err(exit) if exit.is_local() => {
                if exit != Exit::Reveal {
                    self.admit(true)?;
                }
                self.input()?;
                self.confirm(InterfaceId::NONE, NextHopId::NO_ROUTE)?;
                return Err(exit);
            }
            Err(exit) => return Err(exit),
        };
        self.admit(false)?;
        self.age()?;
        self.hook(Hook::Forward, adjacency.egress)?;
        self.leave(hop, adjacency)
    }

    /// Decides about a packet that this router sends, along the route that routing has chosen.
    ///
    /// # Errors
    /// The packet's exit.
    pub(crate) fn sent(
        &mut self,
        routed: Result<(NextHopId, Adjacency), Exit>,
    ) -> Result<AcceptedRoute, Exit> {
        // Rules run once, with the egress interface of the route even if its neighbour is not
        // resolved yet.
        let routed = match routed {
            Err(Exit::Punt(PuntReason::Unresolved(hop))) => {
                Ok((hop, self.cx.fib.adjacencies.read(hop)))
            }
            routed => routed,
        };
        let egress = routed.map_or(InterfaceId::NONE, |(_, adjacency)| adjacency.egress);
        let before = self.ends();
        self.raw(Hook::OutputRaw, egress)?;
        self.connect();
        // An ICMP error about a translated packet goes to the original sender of that packet.
        self.recall(Side::Destination);
        let routed = match self.leads_elsewhere(before) {
            false => routed?,
            true => self.route()?,
        };
        let before = self.ends();
        self.hook(Hook::Output, routed.1.egress)?;
        // RouterOS: "routing adjustment" is what makes `mark-routing` work in `output`.
        let (hop, adjacency) = match self.leads_elsewhere(before) {
            false => routed,
            true => self.route()?,
        };
        self.leave(hop, adjacency)
    }

    /// Returns true if rules or translations changed the destination or the routing mark. A mark
    /// cannot lead to a link-local neighbour on another link.
    fn leads_elsewhere(&self, before: (u128, u32)) -> bool {
        let (destination, mark) = self.ends();
        let ipv6 = self.passage.fields.tuple.ipv6;
        let stays = output::is_of_link(routing::Address::of(destination, ipv6));
        destination != before.0 || mark != before.1 && !stays
    }

    /// Returns the inputs of routing: destination and routing mark.
    fn ends(&self) -> (u128, u32) {
        let passage = &*self.passage;
        (passage.fields.tuple.destination, passage.marks.routing)
    }

    /// Runs raw, connection tracking, mangle and dstnat.
    fn prerouting(&mut self) -> Result<(), Exit> {
        match self.lookup {
            EarlyLookup::Unknown | EarlyLookup::Found(_) => {
                self.raw(Hook::Raw, InterfaceId::NONE)?
            }
            EarlyLookup::Untracked => self.passage.changes.untracked = true,
            EarlyLookup::Admitted(_) | EarlyLookup::Tracked(_) | EarlyLookup::Ended => {}
        }
        self.connect();
        if let Some(PreroutingResult { marks, changes }) = self.early {
            self.passage.marks = marks;
            self.passage.changes = Changes {
                untracked: self.passage.changes.untracked,
                ..changes
            };
            return self.evaluate(Hook::Prerouting, Some(Menu::Mangle), InterfaceId::NONE);
        }
        self.hook(Hook::Prerouting, InterfaceId::NONE)?;
        self.keep_mark();
        Ok(())
    }

    /// Runs raw, which sees fragments, then reassembly, both before connection tracking.
    fn raw(&mut self, hook: Hook, egress: InterfaceId) -> Result<(), Exit> {
        if !gather::is_gathered(self.view.offload) {
            self.hook(hook, egress)?;
        }
        let Fields {
            fragment, tuple, ..
        } = self.passage.fields;
        if fragment == Fragment::Whole
            || self.passage.changes.untracked
            || !self.cx.snapshot.firewall.tracks(tuple.ipv6)
        {
            return Ok(());
        }
        self.watch.left(hook.stage(), &Exit::Collect);
        Err(Exit::Collect)
    }

    /// Checks the IPsec policies for a received packet.
    fn admit(&mut self, local: bool) -> Result<(), Exit> {
        let tuple = &self.passage.fields.tuple;
        let admitted = ipsec::admit(self.cx, tuple, self.view.guarded, local);
        if let Err(exit) = &admitted {
            let stage = if local { Stage::Input } else { Stage::Forward };
            self.watch.left(stage, exit);
        }
        admitted
    }

    fn input(&mut self) -> Result<(), Exit> {
        self.hook(Hook::Input, InterfaceId::NONE)
    }

    /// Routes the packet with its current destination and marks. An unresolved next hop is returned
    /// too: rules match its egress interface.
    fn route(&mut self) -> Result<(NextHopId, Adjacency), Exit> {
        let passage = &*self.passage;
        let ipv6 = passage.fields.tuple.ipv6;
        let query = routing::Query {
            packet: self.view.packet,
            flow: routing::Flow {
                ingress: self.view.ingress,
                source: routing::Address::of(passage.fields.tuple.source, ipv6),
                destination: routing::Address::of(self.towards(), ipv6),
                mark: passage.marks.routing,
            },
        };
        let found = routing::by_table(self.cx, &query.flow).and_then(|(table, hop)| {
            self.watch.looked_up(table, query.flow.destination.bits());
            routing::resolve(self.cx, &query, hop)
        });
        let found = match self.cx.snapshot.rules.is_empty() {
            true => found,
            false => routing::admit(self.cx, &query, found),
        };
        match &found {
            Ok((_, adjacency)) => self
                .watch
                .passed(Stage::Routing, || enter::leaves_by(self.cx, adjacency)),
            Err(exit) => self.watch.left(Stage::Routing, exit),
        }
        found
    }

    /// Returns the address to look up: the translated destination, or the gateway that a rule
    /// chose. RouterOS: such a gateway overrides the routing table.
    fn towards(&self) -> u128 {
        let destination = self.passage.fields.tuple.destination;
        let changes = &self.passage.changes;
        match (changes.gateway, &changes.destination_prefix) {
            (Some(gateway), _) => gateway,
            (None, Some(prefix)) => commit::with_prefix(destination, prefix),
            (None, None) => destination,
        }
    }

    /// Checks and decrements the TTL, the first step of forward ("TTL check and decrement").
    fn age(&mut self) -> Result<(), Exit> {
        let ipv6 = self.passage.fields.tuple.ipv6;
        let settings = match ipv6 {
            true => &self.cx.snapshot.ipv6,
            false => &self.cx.snapshot.ipv4,
        };
        let ttl = self.passage.changes.ttl.unwrap_or(self.passage.fields.ttl);
        let exit = match (settings.forward, ttl) {
            (false, _) if ipv6 => Some(Exit::Drop(DropReason::ForwardingOff)),
            (_, 0 | 1) => Some(Exit::Punt(PuntReason::TtlExceeded)),
            (false, _) => Some(Exit::Drop(DropReason::ForwardingOff)),
            _ => None,
        };
        if let Some(exit) = exit {
            self.watch.left(Stage::Forward, &exit);
            return Err(exit);
        }
        match &mut self.passage.changes.ttl {
            Some(ttl) => *ttl -= 1,
            None => self.passage.fields.ttl -= 1,
        }
        Ok(())
    }

    /// Checks the size, runs postrouting and confirms the connection.
    fn leave(&mut self, hop: NextHopId, mut adjacency: Adjacency) -> Result<AcceptedRoute, Exit> {
        let fit = self.fit(&adjacency)?;
        let came = self.cx.interfaces.get(self.view.ingress);
        let mtu = came.map_or(u32::MAX, |interface| interface.mtu);
        self.passage.mtu = mtu.min(adjacency.mtu);
        self.passage.hop = hop;
        let before = self.passage.fields.tuple;
        self.hook(Hook::Postrouting, adjacency.egress)?;
        let protects = self.protects()?;
        if protects.is_none() {
            self.notice_clear(&before);
        }
        self.confirm(adjacency.egress, hop)?;
        if let Some(out) = protects {
            (adjacency.out, adjacency.kind) = (out, Kind::Forward);
            return Ok(AcceptedRoute {
                hop,
                adjacency,
                fit: Fit::Whole,
            });
        }
        if adjacency.kind != Kind::Forward {
            return Err(Exit::Punt(PuntReason::Unresolved(hop)));
        }
        self.watch
            .passed(Stage::Egress, || enter::sent_by(self.cx, &adjacency));
        Ok(AcceptedRoute {
            hop,
            adjacency,
            fit,
        })
    }

    /// Returns the IPsec out that protects the packet in its final form, if a policy applies.
    fn protects(&mut self) -> Result<Option<OutId>, Exit> {
        if self.cx.snapshot.ipsec.is_empty() {
            return Ok(None);
        }
        let leaving = Leaving {
            packet: self.view.packet,
            offload: self.view.offload,
            own: self.view.ingress == InterfaceId::NONE,
            guarded: self.view.guarded,
        };
        let protects = postrouting::protect(self.cx, &leaving, &self.passage.fields.tuple);
        match &protects {
            Ok(Some(out)) => self
                .watch
                .passed(Stage::Postrouting, || enter::protected_by(self.cx, *out)),
            Ok(None) => {}
            Err(exit) => self.watch.left(Stage::Postrouting, exit),
        }
        protects
    }

    /// Notifies the tracer if a packet leaves unprotected that a policy would have protected before
    /// source NAT.
    fn notice_clear(&mut self, before: &Tuple) {
        let (cx, view, after) = (self.cx, &self.view, self.passage.fields.tuple);
        self.watch.noticed(Stage::Postrouting, || {
            let policies = &cx.snapshot.ipsec.policies;
            let lost = after != *before
                && ipsec::goes_in(cx, before, view.guarded)
                && !ipsec::goes_in(cx, &after, view.guarded);
            let policy = policies.outbound(before).filter(|_| lost)?;
            Some(format!(
                "leaves in the clear: the IPsec policy {} has {before}, but not {after}, which source NAT made of it",
                policy.selector
            ))
        });
    }

    fn fit(&mut self, adjacency: &Adjacency) -> Result<Fit, Exit> {
        let packet = self.view.packet;
        let own = self.view.ingress == InterfaceId::NONE;
        let mut fit = forward::fit(packet, own, self.view.offload, adjacency.mtu);
        if self.passage.changes.clear_df
            && matches!(
                self.view.offload.segmentation,
                Segmentation::None | Segmentation::Fragments
            )
            && matches!(fit, Err(Exit::Punt(PuntReason::TooBig(_))))
        {
            fit = Ok(Fit::Fragments);
        }
        if fit.is_ok() && !own && !self.passage.fields.tuple.ipv6 {
            fit = options::check(self.cx, packet, adjacency.egress).and(fit);
        }
        match &fit {
            Ok(Fit::Whole) => self
                .watch
                .passed(Stage::Forward, || "fits the link".to_owned()),
            Ok(Fit::Fragments) => self
                .watch
                .passed(Stage::Forward, || "in fragments".to_owned()),
            Err(exit) => self.watch.left(Stage::Forward, exit),
        }
        fit
    }
}
