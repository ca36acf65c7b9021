//! Measures the addition and removal of an interface among many:
//! `cargo run --release -p bench --example interfaces`.
//!
//! Effects of a feature add and remove 100, 3,000 and 30,000 null interfaces (point-to-point,
//! without a port) with an address each. Then commands add 3,000 VLAN interfaces with addresses one
//! by one. Times are printed; counts are asserted: no snapshot is published, and slots, lines, next
//! hops and objects are freed. Arguments are other numbers of null interfaces.

use core::net::Ipv4Addr;

use machine::Duration;
use router::drive::{Control, PortNews, Setup};
use router::intent::{Address4, Class, Interface};
use router::kind::PointToPoint;
use router::object::{Made, Owner};
use router::{Effect, Effects, Instance};
use script::Session;

/// Interfaces per timing.
const PART: usize = 100;
/// Number of VLAN interfaces.
const VLANS: usize = 3_000;

fn main() -> Result<(), String> {
    let given: Result<Vec<usize>, _> = std::env::args().skip(1).map(|size| size.parse()).collect();
    let mut sizes = given.map_err(|error| error.to_string())?;
    if sizes.is_empty() {
        sizes = vec![100, 3_000, 30_000];
    }
    println!(
        "microseconds per interface with an address: those that came first, those that came last, on average"
    );
    for size in sizes {
        let row = null_interfaces(size)?;
        println!("null {size:6}: comes {}, goes {}", row.0, row.1);
    }
    let row = vlan_interfaces(VLANS)?;
    println!("vlan {VLANS:6}: comes {}, goes {}", row.0, row.1);
    Ok(())
}

/// Returns the microseconds per interface: first part, last part, mean.
fn times(parts: &[f64]) -> String {
    let (first, last) = (parts.first(), parts.last());
    let mean = parts.iter().sum::<f64>() / parts.len().max(1) as f64;
    let (first, last) = (first.copied().unwrap_or(0.0), last.copied().unwrap_or(0.0));
    format!("{first:.1} {last:.1} {mean:.1}")
}

/// Returns the processor time of this thread in microseconds, which other programs do not change.
fn micros() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3
}

/// Calls `run` for each number, and times it part by part.
fn measure(count: usize, mut run: impl FnMut(usize)) -> String {
    let mut parts = Vec::new();
    for first in (0..count).step_by(PART) {
        let last = (first + PART).min(count);
        let begun = micros();
        (first..last).for_each(&mut run);
        parts.push((micros() - begun) / (last - first) as f64);
    }
    times(&parts)
}

/// Returns the counts that must return to their old values, and the number of the snapshot.
fn counts(control: &Control) -> [usize; 4] {
    let interfaces = control.interfaces();
    let slots = (0..1 << 17).filter(|slot| interfaces.get(frame::InterfaceId(*slot)).is_some());
    [
        control.object_count(),
        slots.count(),
        control.next_hops(),
        control.snapshot().epoch as usize,
    ]
}

fn router() -> Result<Instance, String> {
    let mut store = schema::store();
    store
        .ensure_port("ether1", None)
        .map_err(|why| why.to_string())?;
    let made = Instance::new(&Setup::offline(menu::Clock::utc(0)), store)
        .map_err(|error| error.to_string())?;
    let mut router = made.0;
    let news = PortNews {
        up: true,
        mac: wire::Mac([2, 0, 0, 0, 0, 1]),
        mtu: 1_600,
    };
    router
        .control()
        .attach_port("ether1", news, frame::Offloads::default(), Vec::new());
    Ok(router)
}

fn owner(number: usize) -> Owner {
    Owner {
        feature: "bench",
        number: number as u64,
    }
}

fn come(control: &mut Control, number: usize) {
    let name = format!("null{number}");
    let interface = Interface {
        name: name.as_str().into(),
        disabled: false,
        mtu: 1_480,
        arp: service::neighbour::Mode::Enabled,
        arp_timeout: None,
        kind: PointToPoint.into(),
        class: Class::Ppp,
    };
    let far = Ipv4Addr::from(0x0a80_0000 + number as u32);
    let address = Address4 {
        addr: Ipv4Addr::from(0x0a40_0000 + number as u32),
        len: 32,
        network: far,
        interface: name.into(),
        disabled: false,
    };
    let mut out = Effects::default();
    out.object(
        owner(number),
        Made::Interface("/interface/pppoe-server", interface),
    );
    out.object(owner(number), Made::Address4(address));
    control.carry_out(out);
}

fn go(control: &mut Control, number: usize) {
    let mut out = Effects::default();
    out.push(Effect::Gone(owner(number)));
    control.carry_out(out);
}

fn null_interfaces(size: usize) -> Result<(String, String), String> {
    let mut router = router()?;
    let control = router.control();
    // Retained slots, and the lines of the first interface, exist from now on.
    come(control, size);
    go(control, size);
    let [objects, slots, hops, epoch] = counts(control);
    let comes = measure(size, |number| come(control, number));
    let there = counts(control);
    assert_eq!(there[1], slots + size, "each has a line");
    assert_eq!(
        there[0],
        objects + 3 * size,
        "each is an object, with its address and its route"
    );
    assert_eq!(there[3], epoch, "no snapshot is published");
    let goes = measure(size, |number| go(control, number));
    assert_eq!(
        counts(control),
        [objects, slots, hops, epoch],
        "all of it returns"
    );
    let again = measure(size, |number| come(control, number));
    (0..size).for_each(|number| go(control, number));
    assert_eq!(
        counts(control),
        [objects, slots, hops, epoch],
        "all of it returns again"
    );
    Ok((format!("{comes} (again {again})"), goes))
}

fn vlan_interfaces(size: usize) -> Result<(String, String), String> {
    let mut router = router()?;
    let mut now = machine::Instant::ZERO;
    let [objects, _, _, epoch] = counts(router.control());
    let mut session = Session::new("admin");
    let mut run = |router: &mut Instance, text: String| {
        let mut out = String::new();
        let ran = router.run(&mut session, &text, &mut out);
        ran.unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
    };
    let comes = measure(size, |number| {
        let (high, low) = (number / 250, number % 250);
        let add = format!(
            "/interface/vlan/add name=v{number} interface=ether1 vlan-id={}",
            number + 1
        );
        run(&mut router, add);
        run(
            &mut router,
            format!("/ip/address/add address=10.{high}.{low}.1/24 interface=v{number}"),
        );
        now += Duration::from_millis(1);
        router.poll(now);
    });
    assert_eq!(
        counts(router.control())[3],
        epoch,
        "no snapshot is published"
    );
    let goes = measure(size, |number| {
        run(
            &mut router,
            format!("/ip/address/remove [find interface=v{number}]"),
        );
        run(&mut router, format!("/interface/vlan/remove v{number}"));
    });
    let left = counts(router.control());
    assert_eq!((left[0], left[3]), (objects, epoch), "all of it returns");
    Ok((comes, goes))
}
