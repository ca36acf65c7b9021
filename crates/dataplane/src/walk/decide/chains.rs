//! Chains by hook: which tables a packet meets, and what their verdicts mean for the walk.

use frame::{Frame, InterfaceId, IpsecState};

use super::{Decider, Watcher};
use crate::connection;
use crate::connection::{FlowId, Tick, Tracker};
use crate::drop::DropReason;
use crate::firewall::{Tables, filter, mangle, nat, raw};
use crate::ipsec;
use crate::nat::Endpoint;
use crate::packet::{Fields, Tuple, protocol};
use crate::punt::PuntReason;
use crate::rule;
use crate::rule::{
    AddressTypes, Carrier, ChainId, Facts, Helper, Hotspot, Ipsec, Marks, StreamPatterns,
    StreamState, Subject, Table, Verdict,
};
use crate::table::Kind;
use crate::walk::packet::{packet, sender};
use crate::walk::{Context, Exit, Stage, routing};

/// A hook of the packet flow where rules are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::walk) enum Hook {
    /// raw prerouting, before connection tracking.
    Raw,
    /// mangle prerouting, dstnat.
    Prerouting,
    /// mangle input, filter input, nat input.
    Input,
    /// mangle forward, filter forward.
    Forward,
    /// raw output, before connection tracking, for packets of the router.
    OutputRaw,
    /// mangle output, nat output, filter output.
    Output,
    /// mangle postrouting, srcnat.
    Postrouting,
}

/// A step of a hook: the table, its chain, and the menu, which gives the drop reason.
type HookStep<'a> = (&'a Table, ChainId, Menu);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::walk) enum Menu {
    Raw,
    Mangle,
    Nat,
    Filter,
}

impl Menu {
    const fn drop(self) -> DropReason {
        match self {
            Self::Raw => DropReason::FirewallRaw,
            Self::Mangle => DropReason::FirewallMangle,
            // Rules of these menus have no action that drops.
            Self::Nat | Self::Filter => DropReason::FirewallFilter,
        }
    }

    /// Returns the exit of a packet for a verdict; `None` if the packet continues.
    #[inline(always)]
    pub(in crate::walk) const fn exit(self, verdict: Verdict) -> Option<Exit> {
        match verdict {
            Verdict::Accept | Verdict::Translate(_) | Verdict::Readdress(_) => None,
            Verdict::Drop(_) => Some(Exit::Drop(self.drop())),
            Verdict::Reject(_, how) => Some(Exit::Punt(PuntReason::Rejected(how))),
            Verdict::Tarpit(_) => Some(Exit::Punt(PuntReason::Tarpit)),
        }
    }
}

impl Hook {
    pub(in crate::walk) const fn stage(self) -> Stage {
        match self {
            Self::Raw | Self::Prerouting => Stage::Prerouting,
            Self::Input => Stage::Input,
            Self::Forward => Stage::Forward,
            Self::OutputRaw | Self::Output => Stage::Output,
            Self::Postrouting => Stage::Postrouting,
        }
    }

    /// RouterOS: where the packet flow diagram leaves the order open, netfilter's priorities give
    /// it.
    fn steps(self, tables: &Tables) -> [Option<HookStep<'_>>; 3] {
        let raw = |chain| Some((&*tables.raw, chain, Menu::Raw));
        let mangle = |chain| Some((&*tables.mangle, chain, Menu::Mangle));
        let nat = |chain| Some((&*tables.nat, chain, Menu::Nat));
        let filter = |chain| Some((&*tables.filter, chain, Menu::Filter));
        match self {
            Self::Raw => [raw(raw::PREROUTING), None, None],
            Self::OutputRaw => [raw(raw::OUTPUT), None, None],
            Self::Prerouting => [mangle(mangle::PREROUTING), nat(nat::DSTNAT), None],
            Self::Input => [
                mangle(mangle::INPUT),
                filter(filter::INPUT),
                nat(nat::INPUT),
            ],
            Self::Forward => [mangle(mangle::FORWARD), filter(filter::FORWARD), None],
            Self::Output => [
                mangle(mangle::OUTPUT),
                nat(nat::OUTPUT),
                filter(filter::OUTPUT),
            ],
            Self::Postrouting => [mangle(mangle::POSTROUTING), nat(nat::SRCNAT), None],
        }
    }

    /// Returns the side of a connection that nat translates at this hook.
    pub(in crate::walk) const fn side(self) -> crate::nat::Side {
        match self {
            Self::Input | Self::Postrouting => crate::nat::Side::Source,
            _ => crate::nat::Side::Destination,
        }
    }
}

impl<W: Watcher> Decider<'_, W> {
    /// Evaluates the rules of a hook for the packet. Translates the packet if it begins a
    /// connection or belongs to a translated one. `egress` is the interface that the route leads
    /// to.
    ///
    /// # Errors
    /// The exit, if a rule ends the packet's walk.
    pub(in crate::walk) fn hook(&mut self, hook: Hook, egress: InterfaceId) -> Result<(), Exit> {
        self.evaluate(hook, None, egress)
    }

    /// Evaluates the rules of a hook, except for the menu `but`, whose rules have already been
    /// evaluated.
    ///
    /// # Errors
    /// The exit, if a rule ends the packet's walk.
    #[inline(always)]
    pub(in crate::walk) fn evaluate(
        &mut self,
        hook: Hook,
        but: Option<Menu>,
        egress: InterfaceId,
    ) -> Result<(), Exit> {
        self.watch.asks(hook.stage());
        for (table, chain, menu) in hook.steps(self.tables).into_iter().flatten() {
            if Some(menu) == but {
                continue;
            }
            let chain = table.busy(chain);
            if menu == Menu::Nat {
                self.translate(hook, table, chain, egress)?;
            } else if let Some(chain) = chain {
                let verdict = self.run(table, chain, egress);
                self.apply_verdict(hook, menu, verdict)?;
            }
        }
        Ok(())
    }

    /// Evaluates a chain. The passage has the changes to the packet afterwards.
    pub(in crate::walk) fn run(
        &mut self,
        table: &Table,
        chain: ChainId,
        egress: InterfaceId,
    ) -> Verdict {
        let ingress = self.cx.class(self.view.ingress);
        let passage = &mut *self.passage;
        let mut subject = Subject {
            sender: self.view.sender,
            egress: self.cx.class(egress),
            leaves_by: egress,
            bridge_ingress: self.cx.port_class(self.view.port),
            bridge_egress: self.cx.port_class(passage.leaves_by),
            state: passage.track.state,
            nat: passage.track.nat,
            ipsec: ipsec_state(self.cx, &passage.fields.tuple, self.view.guarded),
            marks: passage.marks,
            changes: passage.changes,
            ..Subject::new(&passage.fields, self.view.packet, ingress)
        };
        let facts = ConnectionFacts {
            cx: self.cx,
            tracker: &self.memory.tracker,
            track: &passage.track,
            received: &passage.received,
            bytes: passage.fields.len,
        };
        let worker = &mut self.memory.rules;
        let verdict = rule::run(table, chain, &mut subject, &facts, worker, self.watch);
        (passage.marks, passage.changes) = (subject.marks, subject.changes);
        if passage.changes.counted
            && let Some(way) = passage.track.way
        {
            // The connection keeps this flag even if the packet ends here: later packets of the
            // connection follow.
            self.memory.tracker.set_counted(way);
        }
        verdict
    }

    fn apply_verdict(&mut self, hook: Hook, menu: Menu, verdict: Verdict) -> Result<(), Exit> {
        let Some(exit) = menu.exit(verdict) else {
            return Ok(());
        };
        self.watch.left(hook.stage(), &exit);
        Err(exit)
    }
}

/// Returns the IPsec processing of a packet for rule matchers: decapsulated on arrival, protected
/// on departure.
pub(in crate::walk) fn ipsec_state(cx: &Context<'_>, tuple: &Tuple, guarded: IpsecState) -> Ipsec {
    let came_out = match guarded {
        IpsecState::Revealed => Ipsec::CAME_OUT.0,
        IpsecState::Clear | IpsecState::Protected => 0,
    };
    match ipsec::goes_in(cx, tuple, guarded) {
        true => Ipsec(came_out | Ipsec::GOES_IN.0),
        false => Ipsec(came_out),
    }
}

/// Returns the rule subject of a plain packet before routing.
#[inline(always)]
pub(in crate::walk) fn plain_subject<'a>(
    cx: &Context<'_>,
    frame: &'a Frame,
    fields: &'a Fields,
    track: &connection::Track,
    marks: Marks,
) -> Subject<'a> {
    Subject {
        sender: sender(frame),
        bridge_ingress: cx.port_class(frame.below),
        state: track.state,
        nat: track.nat,
        ipsec: ipsec_state(cx, &fields.tuple, frame.guarded),
        marks,
        ..Subject::new(fields, packet(frame), cx.class(frame.ingress))
    }
}

/// The matchers beyond the packet itself: connection, helper, routes and address types.
pub(in crate::walk) struct ConnectionFacts<'a> {
    pub(in crate::walk) cx: &'a Context<'a>,
    pub(in crate::walk) tracker: &'a Tracker,
    pub(in crate::walk) track: &'a connection::Track,
    pub(in crate::walk) received: &'a Tuple,
    /// Bytes of the packet, which its connection has not counted yet.
    pub(in crate::walk) bytes: u32,
}

impl Facts for ConnectionFacts<'_> {
    fn bytes(&self) -> Option<u64> {
        match self.track.way {
            Some(way) => {
                let [a, b] = [way, way.reversed()].map(|way| self.tracker.traffic(way).bytes);
                Some(a + b)
            }
            None => self.begins().then_some(u64::from(self.bytes)),
        }
    }

    fn rate_bps(&self) -> Option<u64> {
        let now = Tick::of(self.cx.now);
        match self.track.way {
            Some(way) => {
                let [a, b] = [way, way.reversed()].map(|way| self.tracker.rate_bps(way, now));
                Some(a + b)
            }
            None => self.begins().then_some(0),
        }
    }

    /// RouterOS: `connection-type` matches related connections, not the connection that a helper
    /// reads.
    fn helper(&self) -> Option<Helper> {
        match self.track.way {
            Some(way) => self
                .tracker
                .is_expected(way)
                .then(|| self.tracker.helper(way)),
            None if self.begins() => Some(self.tracker.expected(self.received)?.helper),
            None => None,
        }
    }

    fn is_mapped(&self, tuple: &Tuple) -> bool {
        let of_udp = tuple.protocol == protocol::UDP && !tuple.ipv6;
        let mappings = self.tracker.mappings().filter(|_| of_udp);
        mappings.is_some_and(|mappings| mappings.inside(Endpoint::destination(tuple)).is_some())
    }

    fn original(&self) -> Option<Tuple> {
        match self.track.way {
            Some(way) => Some(self.tracker.tuple(FlowId::new(way.slot(), false))),
            None => self.begins().then_some(*self.received),
        }
    }

    fn carrier(&self) -> Carrier {
        match self.track.way {
            // An ICMP error is no part of the stream of the connection that it quotes.
            Some(_) if self.track.quoted => Carrier::None,
            Some(way) => Carrier::Known {
                kept: StreamState(self.tracker.attachment(way)),
                reply: way.reply(),
            },
            None if self.begins() => Carrier::Begins,
            None => Carrier::None,
        }
    }

    fn keep(&self, kept: StreamState) {
        if let Some(way) = self.track.way {
            self.tracker.set_attachment(way, kept.0);
        }
    }

    fn sought(&self) -> Option<&StreamPatterns> {
        Some(&self.cx.snapshot.firewall.sought)
    }

    fn address_types(&self, address: u128, ipv6: bool) -> AddressTypes {
        address_types(self.cx, address, ipv6)
    }

    /// RouterOS 7: no setting gives a route a realm, so every route has the first.
    fn realm(&self) -> Option<u32> {
        Some(0)
    }

    /// This router has no hotspot, so no packet belongs to a hotspot client.
    fn hotspot(&self) -> Hotspot {
        Hotspot::default()
    }
}

impl ConnectionFacts<'_> {
    /// Returns true if the packet begins a connection.
    fn begins(&self) -> bool {
        let begins = matches!(
            self.track.state,
            connection::State::New | connection::State::Related
        );
        begins && !self.track.quoted
    }
}

/// Returns the routing table's types of an address (`src-address-type`, `dst-address-type`).
fn address_types(cx: &Context<'_>, address: u128, ipv6: bool) -> AddressTypes {
    let group = match ipv6 {
        true => address >> 120 == 0xff,
        false => address >> 28 == 0xe,
    };
    if group {
        return AddressTypes::MULTICAST;
    }
    if !ipv6 && address == u128::from(u32::MAX) {
        return AddressTypes::BROADCAST;
    }
    let hop = routing::lookup(cx, routing::MAIN, routing::Address::of(address, ipv6));
    match cx.fib.adjacencies.read(hop).kind {
        Kind::Local => AddressTypes::LOCAL,
        Kind::Broadcast => AddressTypes::BROADCAST,
        Kind::Blackhole => AddressTypes::BLACKHOLE,
        Kind::Unreachable | Kind::Prohibit => AddressTypes::UNREACHABLE,
        _ => AddressTypes::UNICAST,
    }
}
