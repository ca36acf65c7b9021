//! Router discovery as a host: `accept-router-advertisements` of `/ipv6/settings`. Addresses, default routes and DNS
//! servers follow from the advertisements of an interface (RFC 4861, 6.3; RFC 4862).

use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::Service;
use frame::InterfaceId;
use machine::{Instant, Machine, Rng};
use menu::{Changes, Value};
use service::dhcp6::pool::join;
use service::ra::host::{Action, Event, Host};
use wire::icmpv6::Type;

use super::dhcp6::route_without_gateway;
use super::hear::{Outgoing, ReceiveOutcome, ReceivedPacket};
use super::neighbours::discovery;
use super::{Effect, Effects, Feature, NewObject, View, concerns};
use crate::compile::LayoutEntry;
use crate::drive::timers::Timers;
use crate::intent::{Address6, Gateway, Name, Route};
use crate::learned::Servers;
use crate::lists::{self, Chosen, Lists};
use crate::object::{DYNAMIC, Made, Owner};
use crate::rib::{Net, V6};
use crate::running::Running;

const SETTINGS: &str = "/ipv6/settings";
const ND_SETTINGS: &str = "/ipv6/nd/settings";
/// Offset of the ICMPv6 type of an advertisement, which follows the IPv6 header.
const TYPE: usize = 40;

/// Hosts on all interfaces that accept advertisements.
#[derive(Debug)]
pub(crate) struct RouterDiscovery {
    is_enabled: bool,
    /// Interfaces on which advertisements are accepted.
    chosen: Chosen,
    lists: Lists,
    distance: u8,
    ignores_dns: bool,
    hosts: BTreeMap<InterfaceId, LinkHost>,
    timers: Timers<InterfaceId>,
    rng: Rng,
}

/// Host of an interface.
#[derive(Debug)]
struct LinkHost {
    machine: Host,
    name: Name,
    owner: Owner,
}

impl RouterDiscovery {
    /// Returns an instance without hosts. All jitter is derived from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            is_enabled: false,
            chosen: Chosen::none(),
            lists: Lists::default(),
            distance: 1,
            ignores_dns: false,
            hosts: BTreeMap::new(),
            timers: Timers::default(),
            rng: Rng::seeded(seed),
        }
    }

    fn read(&mut self, view: &View<'_>) {
        if let Some(item) = view.store.settings(SETTINGS) {
            let accepts = match item.text("accept-router-advertisements") {
                "yes" => true,
                "yes-if-forwarding-disabled" => !item.is("forward"),
                _ => false,
            };
            self.is_enabled = accepts && !item.is("disable-ipv6");
            self.chosen = Chosen::read(item.get("accept-router-advertisements-on"));
        }
        if let Some(item) = view.store.settings(ND_SETTINGS) {
            let distance = item.number("router-advertisement-route-distance");
            self.distance = distance.and_then(|of| u8::try_from(of).ok()).unwrap_or(1);
            let ignored = item.get("router-advertisement-ignored-options");
            let ignored = ignored.map(Value::as_list).unwrap_or_default();
            self.ignores_dns = ignored.iter().any(|word| word.to_string() == "dns");
        }
    }

    /// Whether an interface accepts advertisements now.
    fn accepts(&self, laid: &LayoutEntry) -> bool {
        let is_usable = laid.link.running && !laid.loopback && laid.above.is_none();
        let is_dynamic = laid.item >= DYNAMIC;
        self.is_enabled && is_usable && self.lists.has(&self.chosen, &laid.name, is_dynamic)
    }

    fn feed(&mut self, id: InterfaceId, event: Event<'_>, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        if let Some(host) = self.hosts.get_mut(&id) {
            host.machine.handle(event, now, &mut actions);
        }
        self.carry_out(id, actions, out);
    }

    fn carry_out(&mut self, id: InterfaceId, actions: Vec<Action>, out: &mut Effects) {
        let Some(host) = self.hosts.get(&id) else {
            return;
        };
        let mut has_changed = false;
        for action in actions {
            match action {
                Action::Send(frame) => out.send(Outgoing::frame(id, frame)),
                Action::Changed => has_changed = true,
            }
        }
        if has_changed {
            self.make_objects(host, out);
        }
        let deadline = host.machine.deadline();
        self.timers.set(id, deadline.map(|(at, ())| at));
    }

    /// Makes the addresses and routes of an interface, in place of earlier ones, and announces its DNS servers.
    fn make_objects(&self, host: &LinkHost, out: &mut Effects) {
        let LinkHost {
            machine,
            name,
            owner,
        } = host;
        out.push(Effect::Gone(*owner));
        let source = machine.source();
        let addresses = machine.prefixes().filter_map(|prefix| {
            Some(Made::Address6(Address6 {
                addr: join(prefix.network, 64, source?),
                len: if prefix.is_on_link { 64 } else { 128 },
                interface: name.clone(),
                eui64: false,
                advertise: false,
                no_dad: false,
                auto_link_local: true,
                disabled: false,
            }))
        });
        let net = Net::<V6>::new(Ipv6Addr::UNSPECIFIED, 0);
        let routes = machine.routers().map(|router| {
            Made::Route6(Route {
                gateways: vec![Gateway {
                    addr: Some(router),
                    interface: Some(name.clone()),
                    table: None,
                }],
                ..route_without_gateway(net, "main".into(), self.distance)
            })
        });
        for made in addresses.chain(routes) {
            let cells = match made {
                Made::Route6(_) => vec![("slaac", Value::Bool(true))],
                _ => Vec::new(),
            };
            out.push(Effect::Object(Box::new(NewObject {
                owner: *owner,
                made,
                cells,
                removable: false,
            })));
        }
        let dns: Vec<_> = machine.servers().map(IpAddr::V6).collect();
        let servers = (!dns.is_empty() && !self.ignores_dns).then(|| Servers {
            interface: name.clone(),
            dns,
            exclusive: false,
            ntp: Vec::new(),
            domain: None,
        });
        out.push(Effect::Learn(*owner, servers));
    }

    fn remove(&mut self, id: InterfaceId, now: Instant, out: &mut Effects) {
        self.feed(id, Event::Stop, now, out);
        self.hosts.remove(&id);
        self.timers.set(id, None);
    }
}

impl Feature for RouterDiscovery {
    fn menus(&self) -> &'static [&'static str] {
        const MENUS: [&str; 4] = [SETTINGS, ND_SETTINGS, lists::MENUS[0], lists::MENUS[1]];
        &MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        let was_enabled = self.is_enabled;
        if concerns(&[SETTINGS, ND_SETTINGS], changes) {
            self.read(view);
        }
        self.lists.follow(view, changes);
        for host in self.hosts.values() {
            self.make_objects(host, out);
        }
        if (was_enabled || self.is_enabled) && changes.is_some() {
            let items = view.store.members("interface");
            let names = items.filter_map(|item| item.name().map(Name::from));
            names.for_each(|name| out.push(Effect::Look(name)));
        }
    }

    fn services(&self) -> Vec<Service> {
        vec![discovery()]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let packet = heard.packet();
        let is_advertisement = packet.get(TYPE) == Some(&Type::ROUTER_ADVERTISEMENT.0);
        if is_advertisement && self.hosts.contains_key(&heard.interface) {
            let event = Event::Received(packet);
            self.feed(heard.interface, event, running.now, out);
            return ReceiveOutcome::Taken;
        }
        ReceiveOutcome::NotMine
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if !self.is_enabled && self.hosts.is_empty() {
            return;
        }
        for id in others {
            let laid = running.layout.interfaces.get(id);
            let laid = laid.filter(|laid| self.accepts(laid));
            let Some((laid, source)) = laid.zip(running.link_local(*id)) else {
                self.remove(*id, running.now, out);
                continue;
            };
            let rng = &mut self.rng;
            self.hosts.entry(*id).or_insert_with(|| LinkHost {
                machine: Host::new(rng.next_u64()),
                name: laid.name.clone(),
                owner: Owner {
                    feature: "router-discovery",
                    number: laid.item,
                },
            });
            let mac = laid.link.ethernet.then_some(laid.link.mac);
            self.feed(*id, Event::Start { source, mac }, running.now, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(id) = self.timers.due(now) {
            let mut actions = Vec::new();
            if let Some(host) = self.hosts.get_mut(&id) {
                host.machine.tick(now, &mut actions);
            }
            self.carry_out(id, actions, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }
}
