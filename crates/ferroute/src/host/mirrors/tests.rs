use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use frame::{Frame, Offloads, Pool, Port, Transmitted, Vector};
use netio::WaitSet;
use router::Instance;
use router::drive::{PortNews, Setup};
use script::Session;

use super::*;

#[test]
fn the_router_is_free_while_devices_are_made_changed_and_removed() {
    let shared = router("/ip/address/add address=10.0.0.1/24 interface=ether1");
    let (mut mirrors, plane) = (Mirrors::default(), Plan::of(&shared));

    turn(&mut mirrors, &plane);
    run(&shared, "/interface/set ether1 name=lan");
    turn(&mut mirrors, &plane);
    run(&shared, "/ip/address/remove 0");
    turn(&mut mirrors, &plane);

    let taken = plane.taken.take().concat();
    let [made, errors, default, changed, again, removed] = &taken[..] else {
        panic!("{taken:?}");
    };
    assert!(matches!(made, Step::Make(_, mirror) if mirror.name == "ether1"));
    assert!(matches!(errors, Step::Settings(_)));
    assert!(matches!(
        default,
        Step::Default {
            index: 1,
            route: DefaultRoute::V4 { source: None }
        }
    ));
    assert!(matches!(
        again,
        Step::Default {
            index: 1,
            route: DefaultRoute::V4 { source: None }
        }
    ));
    assert!(matches!(changed, Step::Change { index: 1, wanted, .. } if wanted.name == "lan"));
    assert!(matches!(removed, Step::Remove(1)));
}

#[test]
fn an_unchanged_router_causes_no_steps() {
    let shared = router("/ip/address/add address=10.0.0.1/24 interface=ether1");
    let (mut mirrors, plane) = (Mirrors::default(), Plan::of(&shared));
    turn(&mut mirrors, &plane);
    plane.taken.take();

    for unrelated in [
        "/system/identity/set name=other",
        "/ip/route/add gateway=10.0.0.2",
        "/ip/firewall/filter/add chain=input action=accept",
        "/interface/vlan/add name=nobody-asks interface=ether1 vlan-id=7",
    ] {
        run(&shared, unrelated);
        turn(&mut mirrors, &plane);
    }

    assert!(plane.taken.take().is_empty());
    assert_eq!(mirrors.take(shared.lock().control(), shared.now()), None);
}

#[test]
fn what_failed_is_tried_again_later() {
    let shared = router("/ip/address/add address=10.0.0.1/24 interface=ether1");
    let (mut mirrors, plane) = (Mirrors::default(), Plan::of(&shared));
    plane.fails.set(true);
    turn(&mut mirrors, &plane);
    plane.fails.set(false);
    plane.taken.take();

    turn(&mut mirrors, &plane);
    assert!(plane.taken.take().is_empty(), "not in the next round");

    let later = shared.now() + RETRY_DELAY;
    let changes = mirrors.take(shared.lock().control(), later);
    mirrors.follow(&plane, changes.expect("it is due"), &shared, &waker());
    let taken = plane.taken.take().concat();
    assert!(
        matches!(&taken[..], [Step::Make(..), Step::Default { .. }]),
        "{taken:?}"
    );
}

#[test]
fn the_control_thread_does_not_wait_for_devices() {
    let shared = router("/ip/address/add address=10.0.0.1/24 interface=ether1");
    let (mut mirrors, plane) = (Mirrors::default(), Plan::of(&shared));
    plane.is_slow.set(true);

    let changes = mirrors.take(shared.lock().control(), shared.now());
    mirrors.begin(&plane, changes.expect("an address"), &waker());
    assert!(!mirrors.settle(&plane, &shared, &waker()));
    run(&shared, "/interface/set ether1 name=lan");
    assert_eq!(
        mirrors.take(shared.lock().control(), shared.now()),
        None,
        "one after the other"
    );
    assert!(mirrors.failed.is_empty());

    let (tell, count) = plane.later.take().expect("it was asked");
    let outcomes = (0..count).map(|_| Err(io::Error::other("on purpose")));
    tell.send(outcomes.collect()).expect("somebody listens");
    plane.is_slow.set(false);
    assert!(!mirrors.settle(&plane, &shared, &waker()));
    assert_eq!(mirrors.failed.len(), 1);
    assert!(
        mirrors
            .take(shared.lock().control(), shared.now())
            .is_some()
    );
}

#[test]
fn many_mirrors_are_made_in_several_rounds() {
    let shared = router("/ipv6/settings/set disable-ipv6=yes");
    let (mut mirrors, plane) = (Mirrors::default(), Plan::of(&shared));
    for number in 1..=BATCH_DEVICES + 1 {
        run(
            &shared,
            &format!(
                "/interface/vlan/add name=v{number} interface=ether1 vlan-id={number}; \
             /ip/address/add address=10.1.{number}.1/24 interface=v{number}"
            ),
        );
    }

    assert!(turn(&mut mirrors, &plane));
    assert_eq!(mirrors.there.len(), BATCH_DEVICES);
    assert!(!turn(&mut mirrors, &plane));
    assert_eq!(mirrors.there.len(), BATCH_DEVICES + 1);
}

#[test]
fn tunnels_share_one_device_which_has_what_their_addresses_need() {
    let shared = router("/ipv6/settings/set disable-ipv6=yes");
    let (mut mirrors, plane) = (Mirrors::default(), Plan::of(&shared));
    turn(&mut mirrors, &plane);
    plane.taken.take();
    for number in 1..=100 {
        run(
            &shared,
            &format!(
                "/interface/ipip/add name=t{number} remote-address=192.0.2.{number}; \
             /ip/address/add address=10.1.{number}.1/30 interface=t{number}"
            ),
        );
    }
    while turn(&mut mirrors, &plane) {}
    let taken = plane.taken.take().concat();
    let count = |is: fn(&Step) -> bool| taken.iter().filter(|step| is(step)).count();
    assert_eq!(count(|step| matches!(step, Step::MakeShared)), 1);
    assert_eq!(count(|step| matches!(step, Step::Make(..))), 0);
    let adds = |step: &Step| matches!(step, Step::Share { wanted: true, .. });
    assert_eq!(count(adds), 200, "each an address and its network");
    let source = Some(Ipv4Addr::new(10, 1, 1, 1));
    let leads = |step: &&Step| {
        let route = DefaultRoute::V4 { source };
        matches!(step, Step::Default { route: by, .. } if *by == route)
    };
    assert_eq!(taken.iter().filter(leads).count(), 1);

    run(&shared, "/interface/ipip/remove [find]");
    while turn(&mut mirrors, &plane) {}
    let taken = plane.taken.take().concat();
    let removes = |step: &&Step| matches!(step, Step::Share { wanted: false, .. });
    assert_eq!(taken.iter().filter(removes).count(), 200);
    assert!(!taken.iter().any(|step| matches!(step, Step::Remove(_))));
    assert!(matches!(
        taken.last(),
        Some(Step::NoDefault { index: 1, .. })
    ));
}

#[test]
fn device_names_fit_for_every_slot_and_generation() {
    let last = InterfaceId::new(u32::MAX, u16::MAX);

    assert!(super::super::device::name(last).len() <= 15);
    assert_eq!(super::super::device::name(InterfaceId(7)), "mirror7");
}

/// Runs the mirror part of one round of the control thread.
fn turn(mirrors: &mut Mirrors, plane: &Plan<'_>) -> bool {
    let shared = plane.shared;
    let changes = mirrors.take(shared.lock().control(), shared.now());
    changes.is_some_and(|changes| mirrors.follow(plane, changes, shared, &waker()))
}

fn waker() -> Waker {
    WaitSet::new().expect("descriptors").waker()
}

/// Takes no step, and checks that nobody holds the router when steps are requested.
struct Plan<'a> {
    shared: &'a Shared,
    taken: RefCell<Vec<Vec<Step>>>,
    made: Cell<u32>,
    fails: Cell<bool>,
    /// True: steps stay pending until the test ends them, with failure.
    is_slow: Cell<bool>,
    later: RefCell<Option<(Sender<Outcomes>, usize)>>,
}

impl<'a> Plan<'a> {
    fn of(shared: &'a Shared) -> Self {
        Self {
            shared,
            taken: RefCell::default(),
            made: Cell::default(),
            fails: Cell::default(),
            is_slow: Cell::default(),
            later: RefCell::default(),
        }
    }
}

impl Plane for Plan<'_> {
    fn take(&self, steps: Vec<Step>, _: &Waker) -> Receiver<Outcomes> {
        assert!(self.shared.is_free());
        let (tell, told) = channel();
        if self.is_slow.get() {
            *self.later.borrow_mut() = Some((tell.clone(), steps.len()));
        }
        let outcomes = steps.iter().map(|step| match step {
            _ if self.fails.get() => Err(io::Error::other("on purpose")),
            Step::Make(..) | Step::MakeShared => {
                self.made.update(|made| made + 1);
                Ok(Some(Made {
                    index: self.made.get(),
                    offloads: Offloads::default(),
                    port: Box::new(Silent),
                }))
            }
            _ => Ok(None),
        });
        let outcomes = outcomes.collect();
        self.taken.borrow_mut().push(steps);
        if !self.is_slow.get() {
            tell.send(outcomes).expect("somebody listens");
        }
        told
    }
}

/// A port without packets.
struct Silent;

impl Port for Silent {
    fn receive(&mut self, _: &mut Pool, _: &mut Vector) -> usize {
        0
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        frames.drain(..).for_each(|frame| pool.free(frame));
        Transmitted::default()
    }
}

/// Builds a router with one port and this configuration.
fn router(configuration: &str) -> Arc<Shared> {
    let mut store = schema::store();
    store.ensure_port("ether1", None).expect("a port");
    let (mut instance, _workers) =
        Instance::new(&Setup::offline(crate::run::shared::clock()), store).expect("memory");
    let news = PortNews {
        up: true,
        mac: wire::Mac([2, 0, 0, 0, 0, 1]),
        mtu: 0,
    };
    let attached = instance.attach_port("ether1", news, Offloads::default(), Vec::new());
    attached.expect("the port is configured");
    let waker = WaitSet::new().expect("descriptors").waker();
    let started = std::time::Instant::now();
    let shared = Shared::new(instance, waker, Arc::new([]), None, None, started);
    run(&shared, configuration);
    Arc::new(shared)
}

fn run(shared: &Shared, commands: &str) {
    let mut out = String::new();
    let ran = shared
        .lock()
        .run(&mut Session::new("admin"), commands, &mut out);
    ran.unwrap_or_else(|refusal| panic!("{commands}: {refusal}"));
}
