//! Carries out the effects of features.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::ipsec::Policies;
use dataplane::queueing::Change;
use frame::InterfaceId;
use machine::Instant;
use menu::{Changes, Store};
use service::neighbour::Event;
use wire::Mac;

use super::Control;
use super::groups::Groups;
use super::objects::Pending;
use crate::feature::dhcp6::server::SessionServer;
use crate::feature::radius::{IncomingRequest, Radius, RadiusAnswer, RadiusQuery};
use crate::feature::stream::StreamRequest;
use crate::feature::{Effect, Effects, View, queue};
use crate::intent::Name;
use crate::learned::{Learned, Servers};
use crate::object::Owner;

/// Maximum rounds of features that react to each other's changes: more than interfaces are stacked.
const ROUNDS: usize = 64;

/// Effects that are being carried out.
#[derive(Debug, Default)]
pub(super) struct PendingEffects {
    /// Effects that wait for the next round.
    waiting: Vec<Effects>,
    /// A round is under way.
    is_busy: bool,
    /// Servers that networks announce.
    learned: Learned,
    /// Multicast groups to receive.
    pub(super) groups: Groups,
    /// Requests for TCP connections, which the program takes.
    pub(super) streams: Vec<StreamRequest>,
}

impl Control {
    /// Runs a step of the RADIUS client, and carries out its effects.
    pub(super) fn radius(&mut self, step: impl FnOnce(&mut Radius, Instant, &mut Effects)) {
        let mut out = Effects::default();
        step(&mut self.features.radius, self.now, &mut out);
        self.carry_out(out);
    }

    /// Sends a request of a feature to RADIUS servers.
    fn query_radius(&mut self, query: RadiusQuery) {
        self.find_radius_sources();
        self.radius(|radius, now, out| radius.query(query, now, out));
    }

    /// Adds an address to an address list until a time.
    fn list_until(&mut self, list: &Name, address: IpAddr, until: Instant) {
        self.firewall.list_until(list, address, until, self.now);
    }

    /// Notes whether RADIUS servers account the sessions of a service.
    fn account_by_radius(&mut self, of: service::radius::Service, is_on: bool) {
        self.features.radius.set_accounting(of, is_on);
    }

    /// Drops a request of a feature to RADIUS servers.
    fn cancel_radius(&mut self, feature: &'static str, number: u64) {
        self.radius(|radius, now, out| radius.cancel(feature, number, now, out));
    }

    /// Sets the NAS-IP-Address of new servers before their first request.
    fn find_radius_sources(&mut self) {
        let servers = self.features.radius.servers_to_locate();
        if servers.is_empty() {
            return;
        }
        let running = self.running();
        let sources: BTreeMap<IpAddr, Option<IpAddr>> = { servers.into_iter() }
            .map(|server| (server, running.source(server)))
            .collect();
        self.radius(|radius, now, out| {
            radius.set_sources(|server| sources.get(&server).copied().flatten(), now, out);
        });
    }

    /// Counts actions of requests that the owner of sockets sent, and keeps unanswered reports.
    pub(crate) fn count_radius<K>(&mut self, actions: &[service::radius::Action<K>]) {
        self.radius(|radius, now, out| {
            { actions.iter() }.for_each(|action| radius.count(action, now, out));
        });
    }

    /// Passes a request of a RADIUS server to features, and responds to it.
    fn radius_requested(&mut self, incoming: &IncomingRequest) {
        let mut out = Effects::default();
        let features = &mut self.features;
        let result = features.radius_requested(&incoming.request, self.now, &mut out);
        features.radius.respond(incoming, result, &mut out);
        self.carry_out(out);
    }

    /// Passes an answer of a RADIUS server to the feature that sent the request.
    fn radius_answered(&mut self, answer: RadiusAnswer) {
        let mut out = Effects::default();
        self.features.radius_answered(answer, self.now, &mut out);
        self.carry_out(out);
    }

    /// Passes changes of the configuration to the features; without `changes`, the whole configuration. Returns the
    /// objects and items that the effects changed.
    pub(super) fn follow_features(&mut self, store: &Store, changes: Option<&Changes>) -> Pending {
        let mut out = Effects::default();
        let view = View {
            store,
            asking: &self.asking,
            interfaces: &self.intent.interfaces,
            now: self.now,
            clock: self.clock.now(),
        };
        self.features.follow(&view, changes, &mut out);
        let mut pending = Pending::default();
        self.take_effects(out, &mut pending);
        self.due.snapshot |= self.register_services();
        pending
    }

    /// Calls the due timers of features.
    pub(super) fn tick_features(&mut self) {
        let mut out = Effects::default();
        if self.features.bonds.listens(self.now) {
            let received = |id| self.workers.traffic(id, self.now).rx.packets;
            self.features.bonds.listen(self.now, received);
        }
        let traffic = |id| self.workers.traffic(id, self.now);
        self.features.ppp.collect_due(self.now, traffic);
        self.features.tick(self.now, &mut out);
        self.look_at_flows(&mut out);
        self.look_up_paths(&mut out);
        self.carry_out(out);
        self.tell_resolved();
    }

    /// Carries out effects, and applies the objects that they add or remove at once. Features that react to interface
    /// changes may return more effects: these are carried out in further rounds.
    pub fn carry_out(&mut self, effects: Effects) {
        if effects.is_empty() {
            return;
        }
        self.wanted.waiting.push(effects);
        if core::mem::replace(&mut self.wanted.is_busy, true) {
            return;
        }
        for _ in 0..ROUNDS {
            let round = core::mem::take(&mut self.wanted.waiting);
            if round.is_empty() {
                break;
            }
            let mut pending = Pending::default();
            for effects in round {
                self.take_effects(effects, &mut pending);
            }
            self.follow_objects(pending);
            self.tell_learned();
            self.tell_resolved();
        }
        self.forgo_rest();
        self.wanted.is_busy = false;
    }

    /// Passes the servers that networks announce to features, if they changed.
    pub(super) fn tell_learned(&mut self) {
        if core::mem::take(&mut self.due.learned) {
            let mut out = Effects::default();
            let learned = &self.wanted.learned;
            self.features.learn(learned, self.now, &mut out);
            self.carry_out(out);
        }
    }

    /// Passes resolved addresses to features, if they changed.
    pub(super) fn tell_resolved(&mut self) {
        let mut out = Effects::default();
        let (lookups, dns) = (&mut self.features.lookups, &mut self.features.dns);
        while let Some((ticket, question)) = lookups.take_ask() {
            dns.look_up(ticket, &question, self.now, &mut out);
        }
        while let Some((ticket, answer)) = dns.take_looked_up() {
            lookups.hear(ticket, &answer, self.now);
        }
        self.carry_out(out);
        while let Some((name, addresses)) = self.features.lookups.take_other() {
            let mut out = Effects::default();
            self.features
                .resolved(&name, &addresses, self.now, &mut out);
            self.carry_out(out);
        }
    }

    /// Discards effects that remain after the last round: features keep triggering each other.
    fn forgo_rest(&mut self) {
        let rest = core::mem::take(&mut self.wanted.waiting);
        let makers: BTreeSet<_> = rest.iter().flat_map(Effects::makers).collect();
        for maker in makers {
            let message = format!(
                "feature {maker} answers each change of an interface with another one: given up after {ROUNDS}"
            );
            self.features.log.add("system,error", message);
        }
    }

    /// Looks up the changed paths to remote ends of tunnels and of IPsec.
    fn look_up_paths(&mut self, out: &mut Effects) {
        let (features, _, running) = self.features();
        features.tunnels.look_up_paths(&running, out);
        features.ipsec.look_up_paths(&running, out);
    }

    /// Gives workers new IPsec policies.
    fn take_policies(&mut self, policies: Arc<Policies>) {
        self.intent.ipsec.policies = policies;
        self.intent.ipsec.associations = self.features.ipsec.associations();
        self.due.snapshot = true;
    }

    /// Ends the IKE SAs with a remote end.
    fn reset_ike(&mut self, remote: IpAddr) {
        let mut out = Effects::default();
        self.features.ipsec.reset(remote, self.now, &mut out);
        self.carry_out(out);
    }

    /// Adds, changes or removes the DHCPv6 server of a PPP session.
    fn set_session_server(&mut self, session: u64, server: Option<Box<SessionServer>>) {
        let mut out = Effects::default();
        let server = server.map(|server| *server);
        { &mut self.features.dhcp6 }.set_session_server(session, server, self.now, &mut out);
        self.carry_out(out);
    }

    fn want_name(&mut self, name: Arc<str>, wanted: bool) {
        self.features.lookups.want(name, wanted, self.now);
    }

    fn take_queues(&mut self, wanted: queue::QueueRequest, pending: &mut Pending) {
        match wanted {
            queue::QueueRequest::Change {
                change,
                marks,
                within,
            } => self.tell_queue(change, &marks, &within),
            queue::QueueRequest::Before(interface, on) => {
                { &mut self.intent }.queue(&interface, on, &mut pending.touched);
            }
            queue::QueueRequest::Packets(on) => {
                self.intent.queues = on;
                self.due.snapshot = true;
            }
        }
    }

    /// Sends a queue change to workers, with the numbers of its packet marks. A mark without a free number matches no
    /// packet.
    fn tell_queue(&mut self, mut change: Change, marks: &[Name], within: &[Vec<Name>]) {
        if !marks.is_empty() || within.iter().any(|marks| !marks.is_empty()) {
            self.firewall.keep_marks();
            self.due.snapshot = true;
        }
        let mut numbers = |names: &[Name]| -> Vec<u32> {
            let number = |name| self.firewall.packet_mark_number(name).unwrap_or(u32::MAX);
            names.iter().map(number).collect()
        };
        match &mut change {
            Change::Simple {
                matches,
                within: above,
                ..
            } => {
                matches.marks = numbers(marks);
                for (matches, marks) in above.iter_mut().zip(within) {
                    matches.marks = numbers(marks);
                }
            }
            Change::Global(_, own, _) | Change::Leaf(_, _, own, _) => *own = numbers(marks),
            _ => {}
        }
        self.workers.tell(&change);
    }

    /// Carries out effects; collects their changes of the intent in `pending`.
    fn take_effects(&mut self, effects: Effects, pending: &mut Pending) {
        let (worker, lost) = (effects.worker, effects.lost);
        self.workers.count_many(DropReason::FeatureSends, lost);
        for effect in effects {
            match effect {
                Effect::Log(topics, message) => self.features.log.add(topics, message),
                Effect::ListEntry {
                    ipv6,
                    list,
                    address,
                    comes,
                } => self.firewall.enter_named(ipv6, &list, address, comes),
                Effect::ListedUntil(list, address, until) => self.list_until(&list, address, until),
                Effect::Item(item, wanted) => self.intent.put(item, wanted, &mut pending.touched),
                Effect::Hold { item, why, is_held } => {
                    self.intent.hold((item, why), is_held, &mut pending.touched);
                }
                Effect::Slave {
                    slave,
                    above,
                    master,
                } => self
                    .intent
                    .enslave(&slave, above, master, &mut pending.touched),
                Effect::Bond(id, bond) => self.set_bond(id, bond),
                Effect::Bridge(id, bridge) => self.set_bridge(id, bridge),
                Effect::Object(object) => self.take_object(*object, pending),
                Effect::Gone(owner) => self.drop_objects(owner, pending),
                Effect::Learn(owner, servers) => self.learn_servers(owner, servers),
                Effect::Keep(key, record) => self.records.keep(key, record),
                Effect::Gateway(wanted) => self.check_gateway(wanted),
                Effect::Policies(policies) => self.take_policies(policies),
                Effect::ResetIke(remote) => self.reset_ike(remote),
                Effect::Lost(reason, count) => self.workers.count_many(reason, count),
                Effect::QueryRadius(query) => self.query_radius(*query),
                Effect::RadiusAccounting(of, is_on) => self.account_by_radius(of, is_on),
                Effect::CancelRadius(feature, number) => self.cancel_radius(feature, number),
                Effect::RadiusRequested(_) | Effect::RadiusAnswer(_) => self.take_radius(effect),
                Effect::SessionServer(session, server) => self.set_session_server(session, server),
                Effect::Queues(wanted) => self.take_queues(wanted, pending),
                Effect::Send(outgoing) => self.send(outgoing, worker),
                Effect::Datagram(datagram) => self.send_datagram(&datagram, worker),
                Effect::Echo(echo) => self.send_echo(&echo, worker),
                Effect::Stream(request) => self.wanted.streams.push(request),
                Effect::Resolve { name, wanted } => self.want_name(name, wanted),
                Effect::Script {
                    kind,
                    source,
                    before,
                } => self.run_later(kind, source, before),
                Effect::Look(name) => _ = pending.touched.advertised.insert(name),
                Effect::Hear {
                    service,
                    interface,
                    on,
                } => self.ask_for(service, interface, on),
                Effect::Join {
                    group,
                    interface,
                    on,
                } => self.join(interface, group, on),
                Effect::Neighbour {
                    ipv6,
                    interface,
                    packet,
                    from,
                } => self.tell_neighbours(ipv6, interface, &packet, from),
            }
        }
    }

    /// Passes what a RADIUS server sent to the features.
    fn take_radius(&mut self, effect: Effect) {
        match effect {
            Effect::RadiusRequested(request) => self.radius_requested(&request),
            Effect::RadiusAnswer(answer) => self.radius_answered(*answer),
            _ => {}
        }
    }

    /// Sets the servers that a network announces.
    fn learn_servers(&mut self, owner: Owner, servers: Option<Servers>) {
        self.due.learned |= self.wanted.learned.set(owner, servers);
    }

    /// Starts or stops the delivery of a service's packets on an interface.
    fn ask_for(&mut self, service: &'static str, interface: InterfaceId, on: bool) {
        let table = self.published.table();
        self.services.deliver_on(table, service, interface, on);
    }

    /// Passes an ARP or neighbour discovery packet to the neighbour table.
    fn tell_neighbours(&mut self, ipv6: bool, interface: InterfaceId, packet: &[u8], from: Mac) {
        match ipv6 {
            false => self.feed4(interface, Event::Received { packet, from }),
            true => self.feed6(interface, Event::Received { packet, from }),
        }
    }
}
