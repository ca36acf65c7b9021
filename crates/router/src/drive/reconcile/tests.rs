//! Random changes, applied one by one, lead to the state of a control that loads the resulting configuration.

use core::fmt::Debug;
use std::collections::BTreeMap;

use dataplane::rule::Class;
use frame::{InterfaceId, Offloads};
use machine::{Duration, Instant, Rng};
use script::Session;

use crate::Instance;
use crate::compile::{Compiled, Dad};
use crate::drive::{Control, PortNews, Setup};
use crate::rib::{Family, Rib, RouteView};

const PORTS: [&str; 3] = ["ether1", "ether2", "ether3"];

fn news(port: usize, up: bool) -> PortNews {
    PortNews {
        up,
        mac: wire::Mac([2, 0, 0, 0, 0, port as u8 + 1]),
        mtu: 9_000,
    }
}

struct World {
    router: Instance,
    rng: Rng,
    now: Instant,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut store = schema::store();
        for port in PORTS {
            store.ensure_port(port, None).expect("a port");
        }
        let (router, _) =
            Instance::new(&Setup::offline(menu::Clock::utc(0)), store).expect("memory");
        let (rng, now) = (Rng::seeded(seed), Instant::ZERO);
        let mut world = Self { router, rng, now };
        for (place, port) in PORTS.iter().enumerate() {
            let attached =
                world
                    .router
                    .attach_port(port, news(place, true), Offloads::default(), Vec::new());
            attached.expect("the port is configured");
        }
        world
    }

    fn below(&mut self, count: u64) -> u64 {
        self.rng.below(count)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// Returns the name of an interface, existing or not.
    fn interface(&mut self) -> &'static str {
        self.pick(&[
            "ether1", "ether2", "ether3", "a", "b", "c", "d", "e", "br0", "br1",
        ])
    }

    fn vlan(&mut self) -> &'static str {
        self.pick(&["a", "b", "c", "d", "e"])
    }

    fn change(&mut self) {
        let (kind, n) = (self.below(50), self.below(6));
        let (on, vlan, yes) = (self.interface(), self.vlan(), self.pick(&["yes", "no"]));
        let line = match kind {
            0..=4 => format!(
                "/interface/vlan/add name={vlan} interface={on} vlan-id={}",
                n + 1
            ),
            5 => format!("/interface/vlan/set {vlan} interface={on}"),
            6 => format!(
                "/interface/vlan/set {vlan} use-service-tag={yes} vlan-id={}",
                n + 1
            ),
            7 => format!(
                "/interface/vlan/set {vlan} disabled={yes} mtu={}",
                1400 + 50 * n
            ),
            8 => format!("/interface/vlan/set {vlan} name={}", self.vlan()),
            9..=10 => format!("/interface/vlan/remove {vlan}"),
            11 => format!(
                "/interface/ethernet/set ether1 disabled={yes} mtu={}",
                1400 + 50 * n
            ),
            12 => "/interface/ethernet/set ether2 name=b".into(),
            13 => "/interface/ethernet/set [find default-name=ether2] name=ether2".into(),
            14..=17 => format!("/ip/address/add address=10.{n}.0.1/2{n} interface={on}"),
            18 => format!(
                "/ip/address/set [find interface={on}] interface={}",
                self.interface()
            ),
            19 => format!("/ip/address/set [find interface={on}] disabled={yes}"),
            20 => format!("/ip/address/remove [find interface={on}]"),
            21 => {
                format!("/ipv6/address/add address=2001:db8:{n}::1/64 interface={on} no-dad={yes}")
            }
            22 => format!("/ipv6/address/add address=2001:db8:{n}::/64 interface={on} eui-64=yes"),
            23 => format!("/ipv6/address/remove [find interface={on} !dynamic]"),
            24 => format!(
                "/ip/arp/add address=10.{n}.0.9 interface={on} mac-address=02:00:00:00:01:0{n}"
            ),
            25 => format!("/ip/arp/remove [find interface={on} !dynamic]"),
            26 => format!("/ip/route/add dst-address=172.16.{n}.0/24 gateway={on}"),
            27 => format!("/ip/route/add dst-address=172.17.{n}.0/24 gateway=10.{n}.0.7%{on}"),
            28 => format!("/ipv6/nd/prefix/add prefix=2001:db8:f{n}::/64 interface={on}"),
            29 => format!(
                "/routing/table/add name=t{n} fib; /routing/rule/add interface={on} table=t{n}"
            ),
            30 => format!(
                "/ipv6/settings/set disable-ipv6={yes} forward={}",
                self.pick(&["yes", "no"])
            ),
            31 => format!("/ipv6/nd/add interface={on} ra-lifetime=none"),
            32..=33 => format!("/interface/list/member/add list=L{} interface={on}", n % 3),
            34 => format!("/interface/list/member/remove [find interface={on}]"),
            35 => format!(
                "/interface/list/add name=L{} include=L{}",
                n % 3,
                (n + 1) % 3
            ),
            36 => format!("/ip/firewall/filter/add chain=forward action=drop in-interface={on}"),
            37 => format!(
                "/ip/firewall/filter/add chain=forward action=drop in-interface-list=L{}",
                n % 3
            ),
            38 => "/ip/firewall/filter/remove [find]".into(),
            39..=41 => format!(
                "/interface/bridge/port/add bridge=br{} interface={on}",
                n % 2
            ),
            42 => format!("/interface/bridge/port/remove [find interface={on}]"),
            43 => format!(
                "/interface/bridge/port/set [find interface={on}] bridge=br{}",
                n % 2
            ),
            44 => format!(
                "/interface/bridge/port/add bridge=br{} interface=L{}",
                n % 2,
                n % 3
            ),
            45 => format!("/interface/bridge/add name=br{} auto-mac={yes}", n % 2),
            46 => format!("/interface/bridge/set br{} disabled={yes}", n % 2),
            47 => format!(
                "/interface/bridge/port/set [find] disabled={yes} pvid={}",
                n + 1
            ),
            48 if n < 2 => format!("/interface/bridge/remove br{n}"),
            _ => "/undo".into(),
        };
        let mut out = String::new();
        // A refused command changes nothing.
        let _ = self.router.run(&mut Session::new("admin"), &line, &mut out);
    }

    fn shake(&mut self) {
        let place = self.below(PORTS.len() as u64) as usize;
        let control = self.router.control();
        match self.rng.below(3) {
            0 => control.detach_port(PORTS[place]),
            up => control.port_news(PORTS[place], news(place, up == 1)),
        }
    }

    fn wait(&mut self) {
        for _ in 0..8 {
            self.now += Duration::from_millis(700);
            self.router.poll(self.now);
        }
    }

    /// Loads the present configuration into a new control.
    fn loaded(&mut self) -> Control {
        let (mut fresh, _) = Control::build(&Setup::offline(menu::Clock::utc(0))).expect("memory");
        let control = self.router.control();
        fresh.numbers = control.numbers.clone();
        fresh.ports = control.ports.clone();
        fresh.port_numbers = control.port_numbers.clone();
        fresh.load(self.router.store());
        let mut now = Instant::ZERO;
        for _ in 0..8 {
            now += Duration::from_millis(700);
            fresh.poll(now);
        }
        fresh
    }

    fn compare(&mut self, seed: u64) {
        for (place, port) in PORTS.iter().enumerate() {
            let control = self.router.control();
            match control.ports.contains_key(*port) {
                true => control.port_news(port, news(place, true)),
                false => {
                    control.attach_port(port, news(place, true), Offloads::default(), Vec::new());
                }
            }
        }
        self.wait();
        let mut loaded = self.loaded();
        let wanted = state(&mut loaded);
        let is = state(self.router.control());
        for (part, value) in &wanted {
            let is = &is[part];
            let only = |a: &[String], b: &[String]| -> Vec<_> {
                a.iter().filter(|one| !b.contains(one)).cloned().collect()
            };
            let (more, less) = (only(is, value), only(value, is));
            assert_eq!((more, less), Default::default(), "seed {seed}: {part}");
        }
    }
}

/// Returns the state of control, by part.
fn state(control: &mut Control) -> BTreeMap<&'static str, Vec<String>> {
    forget_tries(control);
    let mut parts = laid_out(control);
    parts.extend(running(control));
    parts
}

fn all(values: impl IntoIterator<Item = impl Debug>) -> Vec<String> {
    let values = values.into_iter();
    values.map(|value| format!("{value:?}")).collect()
}

/// Returns the computed layout, and the state published to workers.
fn laid_out(control: &Control) -> BTreeMap<&'static str, Vec<String>> {
    let snapshot = control.snapshot();
    let lines = control.published.all().map(|made| Compiled {
        class: Class::NONE,
        ..made.clone()
    });
    // Interface numbers depend on the history; their publication does not.
    let ids = control.layout.interfaces.keys();
    let told = ids.clone().map(|id| (id, control.published.get(*id)));
    let classes = told.map(|(id, made)| {
        let told = made.map(|made| made.class);
        (id, told == Some(control.firewall.class(*id)))
    });
    let known = ids.clone().map(|id| (id, control.firewall.known(*id)));
    BTreeMap::from([
        ("known", all(known)),
        ("interfaces", all(&control.layout.interfaces)),
        ("names", all(&control.layout.by_name)),
        ("layout", all([&control.layout])),
        ("addresses4", all(&control.addresses.ipv4)),
        ("addresses6", all(&control.addresses.ipv6)),
        ("invalid4", all(&control.addresses.invalid4)),
        ("invalid6", all(&control.addresses.invalid6)),
        ("detection", all(&control.dad)),
        ("lines", all(lines)),
        ("classes", all(classes)),
        ("ports", all(&snapshot.ports)),
        ("unnumbered", all(&control.unnumbered)),
        ("settings", all([&snapshot.ipv4, &snapshot.ipv6])),
        ("rules", all(snapshot.rules.iter())),
        ("inactive", all(&control.inactive_rules)),
        ("tables", all(&control.tables)),
        ("fallback", all([&control.fallback])),
        ("bridges", all(control.features.bridges.published())),
    ])
}

/// Returns the state of neighbour machines and RIBs.
fn running(control: &Control) -> BTreeMap<&'static str, Vec<String>> {
    let machines4 = control.v4.machines.iter();
    let machines6 = control.v6.machines.iter();
    let entries4 = control.v4.machines.iter();
    BTreeMap::from([
        (
            "dynamic4",
            all(control
                .v4
                .dynamic
                .iter()
                .map(|(key, (offer, _))| (key, offer))),
        ),
        (
            "dynamic6",
            all(control
                .v6
                .dynamic
                .iter()
                .map(|(key, (offer, _))| (key, offer))),
        ),
        ("statics4", all(&control.v4.statics)),
        ("statics6", all(&control.v6.statics)),
        (
            "entries4",
            all(entries4.map(|(id, of)| (id, all(of.rows(None))))),
        ),
        (
            "machines4",
            all(machines4.map(|(id, of)| (id, of.config()))),
        ),
        (
            "machines6",
            all(machines6.map(|(id, of)| (id, of.config()))),
        ),
        ("links6", all(control.features.links6.advertised())),
        ("routes4", routes(&control.v4.rib)),
        ("routes6", routes(&control.v6.rib)),
    ])
}

fn routes<F: Family>(rib: &Rib<F>) -> Vec<String> {
    let shown = |view: RouteView<F>| {
        let way = (
            view.protocol,
            view.active,
            view.ecmp,
            view.pref_src,
            view.gateways,
        );
        format!("{:?} {:?} {:?} {way:?}", view.table, view.net, view.owner)
    };
    let mut all: Vec<_> = rib.iter().map(shown).collect();
    all.sort();
    all
}

/// Without a running link the result of duplicate address detection depends on the history.
fn forget_tries(control: &mut Control) {
    let is_down = |id: &InterfaceId| {
        let laid = control.layout.interfaces.get(id);
        !laid.is_some_and(|laid| laid.link.running)
    };
    let tried = control.addresses.ipv6.iter().filter(|(_, own)| own.detect);
    let tried = tried.map(|(at, _)| *at).filter(|(id, _)| is_down(id));
    let all: Vec<_> = tried.collect();
    for (id, address) in all {
        control.set_dad(id, address, Some(Dad::Tentative));
    }
    control.publish();
    control.offer_dynamic();
    control.settle();
}

#[test]
fn followed_changes_lead_to_the_same_state_as_a_load() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        for _ in 0..6 {
            for _ in 0..12 {
                world.change();
            }
            if world.below(2) == 0 {
                world.shake();
            }
            if world.below(3) == 0 {
                world.wait();
            }
            world.compare(seed);
        }
    }
}
