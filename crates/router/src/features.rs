//! The list of features, in the order of their dependencies.
//!
//! A new feature has its file in `feature/`, a field here, and a line in each of the two lists.

use core::net::IpAddr;
use std::collections::BTreeSet;

use dataplane::service::Service;
use frame::InterfaceId;
use machine::{Instant, Rng};
use menu::{Call, Changes, Reason, Reply};
use service::radius::{ErrorCause, SessionRequest};

use crate::clock::DayClock;
use crate::drive::log::Log;
use crate::feature::address::Addresses;
use crate::feature::bandwidth_server::BandwidthServer;
use crate::feature::bonding::Bonds;
use crate::feature::bridge::Bridges;
use crate::feature::certificate::Certificates;
use crate::feature::check::Checks;
use crate::feature::dhcp_alert::DhcpAlerts;
use crate::feature::dhcp_client::DhcpClients;
use crate::feature::dhcp_relay::DhcpRelays;
use crate::feature::dhcp_server::DhcpServers;
use crate::feature::dhcp6::Dhcp6;
use crate::feature::discovery::Neighbourhood;
use crate::feature::dns::Dns;
use crate::feature::echo::Echo;
use crate::feature::flows::Flows;
use crate::feature::graphing::Graphs;
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::ipsec::{Ipsec, Proofs};
use crate::feature::l2tp_ether::L2tpEthers;
use crate::feature::link4::Links4;
use crate::feature::link6::Links6;
use crate::feature::lookups::Lookups;
use crate::feature::loop_protect::LoopProtection;
use crate::feature::mac_tools::MacTools;
use crate::feature::mail::Mails;
use crate::feature::neighbours::Neighbours;
use crate::feature::netwatch::Watches;
use crate::feature::ntp::Ntp;
use crate::feature::ping::UserPings;
use crate::feature::pool::AddressPools;
use crate::feature::ppp::{Ppp, SessionPools};
use crate::feature::queue::Queues;
use crate::feature::radius::{Radius, RadiusAnswer};
use crate::feature::router_discovery::RouterDiscovery;
use crate::feature::schedule::Schedule;
use crate::feature::services::Services;
use crate::feature::snmp::Snmp;
use crate::feature::ssh::Ssh;
use crate::feature::stream::StreamEvent;
use crate::feature::switch::Switches;
use crate::feature::tunnels::Tunnels;
use crate::feature::vrrp::VirtualRouters;
use crate::feature::vxlan::Vxlans;
use crate::feature::wireguard::Wireguards;
use crate::feature::{Effects, Feature, View, concerns};
use crate::learned::Learned;
use crate::records::Recalled;
use crate::running::Running;

/// Number of features.
const COUNT: usize = 45;

/// The features of a router.
#[derive(Debug)]
pub(crate) struct Features {
    /// The log.
    pub(crate) log: Log,
    /// Users and their sessions.
    pub(crate) access: access::Access,
    /// State of scripting; a job stops if its owner loses the rights.
    pub(crate) scripting: script::Scripting,
    /// Certificates, and the trusted authorities.
    pub(crate) certificates: Certificates,
    /// RADIUS servers.
    pub(crate) radius: Radius,
    /// The scheduler.
    pub(crate) schedule: Schedule,
    /// DNS: static names, address lists by name, and queries of clients.
    pub(crate) dns: Dns,
    /// Resolution of names for other features.
    pub(crate) lookups: Lookups,
    /// NTP client and server.
    pub(crate) ntp: Ntp,
    /// Hosts watched by netwatch.
    pub(crate) watches: Watches,
    /// Flow export to collectors.
    pub(crate) flows: Flows,
    /// IP services that cannot listen.
    pub(crate) services: Services,
    /// Tests of the bandwidth test server.
    pub(crate) bandwidth_server: BandwidthServer,
    /// SSH host key.
    pub(crate) ssh: Ssh,
    /// Mails to send.
    pub(crate) mails: Mails,
    /// Settings of graphs.
    pub(crate) graphs: Graphs,
    loop_protection: LoopProtection,
    /// Bonds.
    pub(crate) bonds: Bonds,
    /// Switch chips.
    pub(crate) switches: Switches,
    /// Bridges.
    pub(crate) bridges: Bridges,
    /// Virtual routers.
    pub(crate) virtual_routers: VirtualRouters,
    /// VXLAN interfaces.
    pub(crate) vxlans: Vxlans,
    /// EoIP, GRE, IPIP and 6to4 tunnels.
    pub(crate) tunnels: Tunnels,
    /// PPP sessions of clients and users.
    pub(crate) ppp: Ppp,
    /// Ethernet over L2TP.
    l2tp_ethers: L2tpEthers,
    /// IPsec policies and IKE.
    pub(crate) ipsec: Ipsec,
    /// WireGuard interfaces and their peers.
    pub(crate) wireguard: Wireguards,
    /// Queues.
    pub(crate) queues: Queues,
    /// Addresses of interfaces.
    addresses: Addresses,
    neighbours: Neighbours,
    /// Discovery of neighbouring devices on layer 2 (`/ip/neighbor`).
    pub(crate) neighbourhood: Neighbourhood,
    mac_tools: MacTools,
    /// IGMP reports of IPv4 groups.
    pub(crate) links4: Links4,
    /// Router advertisements and MLD reports.
    pub(crate) links6: Links6,
    /// Router discovery as a host.
    router_discovery: RouterDiscovery,
    echo: Echo,
    /// DHCP relays, which receive before DHCP servers.
    dhcp_relays: DhcpRelays,
    /// DHCP clients.
    dhcp_clients: DhcpClients,
    pub(crate) snmp: Snmp,
    /// DHCP for IPv6.
    pub(crate) dhcp6: Dhcp6,
    /// Address pools.
    address_pools: AddressPools,
    /// DHCP servers.
    pub(crate) dhcp_servers: DhcpServers,
    dhcp_alerts: DhcpAlerts,
    /// Gateway checks.
    pub(crate) checks: Checks,
    /// Echo requests of users.
    pub(crate) pings: UserPings,
    /// Features that a test adds.
    #[cfg(test)]
    added: Vec<Box<dyn Feature + Send>>,
}

impl Features {
    /// Creates all features, without a configuration. Their jitter follows from `rng`; unpredictable values come from
    /// `secrets`. `now` is the time on the router's own clock.
    pub(crate) fn new(rng: &mut Rng, secrets: &mut Rng, clock: &DayClock, now: Instant) -> Self {
        let id = rng.next_u32() as u16;
        let seed = rng.next_u64();
        let mut others = Rng::seeded(seed);
        let mut dns = [0; 32];
        secrets.fill(&mut dns);
        let address_pools = AddressPools::default();
        let certificates = Certificates::new(clock.clone());
        let ppp = secrets.split();
        let mut l2tp_ethers = secrets.split();
        let dhcp6 = Dhcp6::new(secrets.split());
        let pools = SessionPools {
            addresses: address_pools.share(),
            prefixes: dhcp6.share_pools(),
        };
        Self {
            log: Log::new(clock.clone()),
            access: access::Access::default(),
            scripting: script::Scripting::default(),
            schedule: Schedule::default(),
            dns: Dns::new(dns),
            lookups: Lookups::default(),
            ntp: Ntp::new(secrets, clock, now),
            watches: Watches::new(id.wrapping_add(2), clock.clone()),
            flows: Flows::default(),
            services: Services::default(),
            bandwidth_server: BandwidthServer::default(),
            ssh: Ssh::default(),
            mails: Mails::default(),
            graphs: Graphs::default(),
            loop_protection: LoopProtection::default(),
            bonds: Bonds::default(),
            switches: Switches::default(),
            bridges: Bridges::default(),
            virtual_routers: VirtualRouters::default(),
            vxlans: Vxlans::new(others.next_u64()),
            tunnels: Tunnels::default(),
            ppp: Ppp::new(ppp, pools, &certificates.share(), clock.clone()),
            l2tp_ethers: L2tpEthers::new(&mut l2tp_ethers),
            ipsec: Ipsec::new(
                crate::store::vault::entropy,
                Proofs::new(certificates.share(), clock.clone()),
                address_pools.share(),
            ),
            certificates,
            wireguard: Wireguards::new(crate::store::vault::entropy, clock.clone()),
            queues: Queues::new(clock.clone()),
            addresses: Addresses,
            neighbours: Neighbours,
            neighbourhood: Neighbourhood::default(),
            mac_tools: MacTools::default(),
            links4: Links4::new(others.next_u64()),
            links6: Links6::new(seed),
            router_discovery: RouterDiscovery::new(others.next_u64()),
            echo: Echo,
            dhcp_relays: DhcpRelays::default(),
            dhcp_clients: DhcpClients::new(secrets.split()),
            snmp: Snmp::default(),
            dhcp6,
            dhcp_servers: DhcpServers::new(address_pools.share(), clock.clone()),
            dhcp_alerts: DhcpAlerts::new(secrets.split()),
            address_pools,
            checks: Checks::new(id, rng),
            // A different identifier, so that user pings and gateway checks do not take each other's answers.
            pings: UserPings::new(id.wrapping_add(1)),
            radius: Radius::new(secrets.split(), clock.clone()),
            #[cfg(test)]
            added: Vec::new(),
        }
    }

    fn list(&self) -> impl Iterator<Item = &dyn Feature> {
        let list: [&dyn Feature; COUNT] = [
            &self.log,
            &self.access,
            &self.scripting,
            &self.certificates,
            &self.radius,
            &self.schedule,
            &self.dns,
            &self.lookups,
            &self.ntp,
            &self.watches,
            &self.flows,
            &self.services,
            &self.bandwidth_server,
            &self.ssh,
            &self.mails,
            &self.graphs,
            &self.dhcp_relays,
            &self.loop_protection,
            &self.bonds,
            &self.switches,
            &self.bridges,
            &self.virtual_routers,
            &self.vxlans,
            &self.tunnels,
            &self.ppp,
            &self.l2tp_ethers,
            &self.ipsec,
            &self.wireguard,
            &self.queues,
            &self.addresses,
            &self.neighbours,
            &self.neighbourhood,
            &self.mac_tools,
            &self.links4,
            &self.links6,
            &self.router_discovery,
            &self.echo,
            &self.dhcp_clients,
            &self.snmp,
            &self.dhcp6,
            &self.address_pools,
            &self.dhcp_servers,
            &self.dhcp_alerts,
            &self.checks,
            &self.pings,
        ];
        list.into_iter().chain(self.added())
    }

    fn list_mut(&mut self) -> impl Iterator<Item = &mut dyn Feature> {
        #[cfg(test)]
        let added = { self.added.iter_mut() }.map(|added| &mut **added as &mut dyn Feature);
        #[cfg(not(test))]
        let added = core::iter::empty();
        let list: [&mut dyn Feature; COUNT] = [
            &mut self.log,
            &mut self.access,
            &mut self.scripting,
            &mut self.certificates,
            &mut self.radius,
            &mut self.schedule,
            &mut self.dns,
            &mut self.lookups,
            &mut self.ntp,
            &mut self.watches,
            &mut self.flows,
            &mut self.services,
            &mut self.bandwidth_server,
            &mut self.ssh,
            &mut self.mails,
            &mut self.graphs,
            &mut self.dhcp_relays,
            &mut self.loop_protection,
            &mut self.bonds,
            &mut self.switches,
            &mut self.bridges,
            &mut self.virtual_routers,
            &mut self.vxlans,
            &mut self.tunnels,
            &mut self.ppp,
            &mut self.l2tp_ethers,
            &mut self.ipsec,
            &mut self.wireguard,
            &mut self.queues,
            &mut self.addresses,
            &mut self.neighbours,
            &mut self.neighbourhood,
            &mut self.mac_tools,
            &mut self.links4,
            &mut self.links6,
            &mut self.router_discovery,
            &mut self.echo,
            &mut self.dhcp_clients,
            &mut self.snmp,
            &mut self.dhcp6,
            &mut self.address_pools,
            &mut self.dhcp_servers,
            &mut self.dhcp_alerts,
            &mut self.checks,
            &mut self.pings,
        ];
        list.into_iter().chain(added)
    }

    #[cfg(test)]
    fn added(&self) -> impl Iterator<Item = &dyn Feature> {
        self.added.iter().map(|added| &**added as &dyn Feature)
    }

    #[cfg(not(test))]
    fn added(&self) -> impl Iterator<Item = &dyn Feature> {
        core::iter::empty()
    }

    /// Returns the features that provide rows or commands of a menu.
    pub(crate) fn of(&self, path: &str) -> impl Iterator<Item = &dyn Feature> {
        let features = self.list();
        features.filter(move |feature| feature.menus().contains(&path))
    }

    /// Passes the changes of a transaction to the features of the changed menus; without `changes`, to all features.
    pub(crate) fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        for feature in self.list_mut() {
            if concerns(feature.menus(), changes) {
                feature.follow(view, changes, out);
            }
        }
    }

    /// Calls the due timers of features.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Effects) {
        for feature in self.list_mut() {
            if feature.deadline().is_some_and(|at| at <= now) {
                feature.tick(now, out);
            }
        }
    }

    /// Returns when `tick` is due next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let features = self.list();
        features.filter_map(Feature::deadline).min()
    }

    /// Returns the services of all features, each with the feature's position in the list.
    pub(crate) fn services(&self) -> Vec<(usize, Service)> {
        let features = self.list().enumerate();
        let wanted = features.map(|(at, feature)| (at, feature.services()));
        let wanted = wanted.flat_map(|(at, wanted)| wanted.into_iter().map(move |one| (at, one)));
        wanted.collect()
    }

    /// Passes a frame to the features at these positions, in order. Stops at the first feature that rejects the frame.
    pub(crate) fn hear(
        &mut self,
        hearers: &[usize],
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let mut all = ReceiveOutcome::NotMine;
        let features = self.list_mut().enumerate();
        for (_, feature) in features.filter(|(place, _)| hearers.contains(place)) {
            match feature.hear(heard, running, out) {
                ReceiveOutcome::NotMine => {}
                ReceiveOutcome::Taken => all = ReceiveOutcome::Taken,
                bad @ ReceiveOutcome::Bad(_) => return bad,
            }
        }
        all
    }

    /// Tells all features about interfaces that changed, or whose addresses changed.
    pub(crate) fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        for feature in self.list_mut() {
            out.of_maker(feature.name(), |out| feature.lay_out(others, running, out));
        }
    }

    /// Tells all features which servers networks announce.
    pub(crate) fn learn(&mut self, learned: &Learned, now: Instant, out: &mut Effects) {
        for feature in self.list_mut() {
            feature.learn(learned, now, out);
        }
    }

    /// Passes a record from before a restart to its feature; returns false if no feature takes it.
    pub(crate) fn recall(&mut self, record: &Recalled<'_>, now: Instant) -> bool {
        self.list_mut().any(|feature| feature.recall(record, now))
    }

    /// Passes an event of a TCP connection to all features.
    pub(crate) fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut Effects) {
        for feature in self.list_mut() {
            feature.stream(event, now, out);
        }
    }

    /// Tells all features the resolved addresses of a name.
    pub(crate) fn resolved(
        &mut self,
        name: &str,
        addresses: &[IpAddr],
        now: Instant,
        out: &mut Effects,
    ) {
        for feature in self.list_mut() {
            feature.resolved(name, addresses, now, out);
        }
    }

    /// Passes an answer of a RADIUS server to the feature that sent the request.
    pub(crate) fn radius_answered(
        &mut self,
        answer: RadiusAnswer,
        now: Instant,
        out: &mut Effects,
    ) {
        let mut features = self.list_mut();
        if let Some(feature) = features.find(|of| of.name() == answer.feature) {
            feature.radius_answered(answer.number, answer.answer, now, out);
        }
    }

    /// Passes a request of a RADIUS server to all features. Returns `None` if no feature has such a session, and an
    /// error only if no feature carried it out.
    pub(crate) fn radius_requested(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        let features = self.list_mut();
        let results = features.filter_map(|of| of.radius_requested(request, now, out));
        results.reduce(|one, other| one.or(other))
    }

    /// Runs a command, if it belongs to a feature.
    pub(crate) fn act(
        &mut self,
        view: &View<'_>,
        call: &Call<'_>,
    ) -> Option<Result<Reply, Reason>> {
        let features = self.list_mut();
        let mut its = features.filter(|feature| feature.menus().contains(&call.menu.path));
        its.find_map(|feature| feature.act(view, call))
    }
}

/// Returns the complete intent of a configuration, as after a load.
#[cfg(test)]
pub(crate) fn intent(store: &menu::Store) -> crate::intent::Intent {
    let clock = DayClock::new(menu::Clock::utc(0));
    let (mut rng, mut secrets) = (Rng::seeded(0), Rng::seeded(1));
    let mut features = Features::new(&mut rng, &mut secrets, &clock, Instant::ZERO);
    let mut out = Effects::default();
    let view = View {
        store,
        asking: &crate::drive::asking::Asking::default(),
        interfaces: &crate::intent::Items::default(),
        now: Instant::ZERO,
        clock: clock.now(),
    };
    features.follow(&view, None, &mut out);
    let mut intent = crate::read::intent(store);
    for effect in out {
        let mut touched = crate::recompute_set::RecomputeSet::default();
        match effect {
            crate::feature::Effect::Item(item, wanted) => intent.put(item, wanted, &mut touched),
            crate::feature::Effect::Slave {
                slave,
                above,
                master,
            } => intent.enslave(&slave, above, master, &mut touched),
            _ => {}
        }
    }
    intent
}

#[cfg(test)]
mod tests;
