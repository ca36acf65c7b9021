//! Opening ports from specifications: selected driver, reasons, and cleanup.

mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::*;
use frame::Pool;
use netio::link::Links;
use netio::{OpenError, Opened, Request, Spec, Umem, WaitSet, XdpMode, XdpPort, open};

/// Temporary state folder, removed on drop.
struct State(PathBuf);

impl State {
    /// Number of taken devices.
    fn taken(&self) -> usize {
        let files = std::fs::read_dir(&self.0).expect("a folder").flatten();
        let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".taken")).count()
    }

    fn new() -> Self {
        Self::of(std::process::id())
    }

    /// The state folder of the same test in another process.
    fn of(process: u32) -> Self {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("test").replace(':', "-");
        Self(std::env::temp_dir().join(format!("netio-open-{process}-{name}")))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn try_open(spec: &str, pool: &Pool, state: &State, take: bool) -> Result<Opened, OpenError> {
    open_with(spec, pool, state, |request| Request { take, ..request })
}

fn open_with(
    spec: &str,
    pool: &Pool,
    state: &State,
    change: impl for<'a> FnOnce(Request<'a>) -> Request<'a>,
) -> Result<Opened, OpenError> {
    let request = Request {
        workers: &[Umem::of(pool)],
        ring: 256,
        mtu: None,
        take: false,
        state: Some(&state.0),
        offload: None,
    };
    open(&spec.parse::<Spec>().expect("a spec"), &change(request))
}

fn refusal(spec: &str, pool: &Pool, state: &State) -> String {
    try_open(spec, pool, state, false)
        .expect_err(spec)
        .to_string()
}

#[test]
fn a_virtual_device_is_opened_by_af_packet_with_the_reason() {
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        let (mut pool, state) = (pool(), State::new());

        let mut left = try_open("left", &pool, &state, false).expect("permitted");
        let mut right = try_open("packet:right", &pool, &state, false).expect("permitted");

        assert_eq!((left.driver, right.driver), ("packet", "packet"));
        let reason = "xdp: a veth device hands over unfinished checksums and merged segments, \
                      which XDP cannot see";
        assert_eq!(left.reasons, [reason]);
        assert!(right.reasons.is_empty());
        assert!(!run("ip", "addr show dev left").1.contains("192.0.2.1"));
        send(&mut *left.ports[0], &mut pool, &[pattern(1, 60)]);
        assert_eq!(
            receive_bytes(&mut *right.ports[0], &mut pool, 1),
            [pattern(1, 60)]
        );
        left.ports[0].close(&mut pool);
        drop(left);
        assert!(run("ip", "addr show dev left").1.contains("192.0.2.1"));
        assert!(!run("tc", "qdisc show dev left").1.contains("clsact"));
    });
}

/// Set for the copy of a test that acts as the other router: its driver.
const OTHER: &str = "NETIO_TEST_OTHER_ROUTER";

/// Another process, in the network namespace of this thread, that has taken `left`.
struct OtherRouter(std::process::Child);

impl OtherRouter {
    /// Starts this test again as the other router (see `if_other`), and waits until it has taken the device.
    fn start(test: &str, driver: &str) -> Self {
        Self::start_by(&mut Command::new(program()), test, driver)
    }

    /// Starts the other router in its own PID namespace.
    fn start_apart(test: &str, driver: &str) -> Self {
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child"]);
        Self::start_by(unshare.arg(program()), test, driver)
    }

    fn start_by(command: &mut Command, test: &str, driver: &str) -> Self {
        let mut child = command
            .args(["--exact", test, "--nocapture"])
            .env(OTHER, driver)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program runs");
        let said = BufReader::new(child.stdout.take().expect("asked for above"));
        let mut said = said.lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains("taken by the other")));
        Self(child)
    }

    /// In the copy: takes the device and keeps it until the process is killed or its input ends. Returns false in the
    /// test itself.
    fn if_other() -> bool {
        let Some(driver) = std::env::var_os(OTHER) else {
            return false;
        };
        let (pool, state) = (pool(), State::new());
        let spec = format!("{}:left", driver.to_string_lossy());
        let _left = try_open(&spec, &pool, &state, false).expect("permitted");
        println!("taken by the other");
        let _ = std::io::stdin().read(&mut [0]);
        true
    }

    fn kill(mut self) {
        self.0.kill().expect("our child");
        self.0.wait().expect("our child");
    }
}

/// Path of the test program.
fn program() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

/// Checks what a second router may do with a device of the first.
fn second_router(test: &str, driver: &str) {
    cable("left", "right", 1500);
    let (pool, state) = (pool(), State::new());
    let other = OtherRouter::start(test, driver);
    let process = other.0.id();
    // A killed process cannot remove its files.
    let written = State::of(process);
    let on_it = || run("ip", "-d link show left").1 + &run("tc", "filter show dev left ingress").1;
    let before = on_it();

    for take in [false, true] {
        for spec in ["left", "packet:left", "xdp:left"] {
            let refused = try_open(spec, &pool, &state, take).expect_err("another has it");
            let refused = refused.to_string();
            let said = format!("another router uses left: process {process} (");
            assert!(refused.starts_with(&said), "{refused}");
        }
    }

    assert!(!state.0.exists());
    assert_eq!(on_it(), before);
    other.kill();
    // The filter stays on the device after the process has ended.
    let filters = run("tc", "filter show dev left ingress").1;
    assert!(filters.contains("direct-action"), "{filters}");
    let file = written.0.join("left.taken");
    let said = format!(
        "a killed router did not restore left; start once with the state folder that contains {}, the saved settings \
         of left; --take takes the device over anyway, and the saved settings are lost",
        file.display()
    );
    assert_eq!(refusal("left", &pool, &state), said);
    assert!(!state.0.exists());
    drop(try_open("packet:left", &pool, &written, false).expect("nobody has it"));
    drop(try_open("packet:left", &pool, &state, false).expect("nobody has it"));
}

#[test]
fn a_bridge_port_is_not_taken_over_without_take() {
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("link add br0 type bridge");
        ip("link set left master br0");
        let (pool, state) = (pool(), State::new());

        let said = "left is a port of bridge br0; --take takes it over anyway";
        assert_eq!(refusal("left", &pool, &state), said);
        assert!(!state.0.exists());
        drop(try_open("left", &pool, &state, true).expect("it was asked for"));
        drop(try_open("right", &pool, &state, false).expect("it is no port"));

        ip("link set left nomaster");
        drop(try_open("left", &pool, &state, false).expect("it is no port any more"));
    });
}

#[test]
fn take_takes_over_a_killed_routers_device_and_drops_its_settings() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace(|| {
        cable("left", "right", 1500);
        let (pool, state) = (pool(), State::new());
        let test = "take_takes_over_a_killed_routers_device_and_drops_its_settings";
        let other = OtherRouter::start(test, "packet");
        let _written = State::of(other.0.id());
        other.kill();
        assert!(try_open("left", &pool, &state, false).is_err());

        drop(try_open("left", &pool, &state, true).expect("it was asked for"));

        drop(try_open("left", &pool, &state, false).expect("it was given back"));
    });
}

#[test]
fn a_device_of_a_running_router_is_not_taken_over_even_with_take() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace(|| {
        let test = "a_device_of_a_running_router_is_not_taken_over_even_with_take";
        second_router(test, "packet");
    });
}

#[test]
fn a_device_that_a_running_router_uses_by_xdp_is_not_taken_over() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace_as_root(|| {
        let test = "a_device_that_a_running_router_uses_by_xdp_is_not_taken_over";
        second_router(test, "xdp");
    });
}

#[test]
fn a_device_with_a_foreign_xdp_program_is_not_taken_over_without_take() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let (pool, state) = (pool(), State::new());
        // Without a takeover, no mark on the device names its owner.
        let other = XdpPort::open("left", XdpMode::Generic, &[Umem::of(&pool)], 256, None);
        let other = other.expect("permitted");

        let refused = refusal("packet:left", &pool, &state);
        let said = "another program receives the frames of left by XDP; --take";
        assert!(refused.starts_with(said), "{refused}");
        assert!(!state.0.exists());
        drop(try_open("packet:left", &pool, &state, true).expect("it was asked for"));

        // The kernel removes the program some time after its process has ended.
        drop(other);
        drop(try_open("packet:left", &pool, &state, false).expect("nobody has it"));
    });
}

/// Checks what may be done with a device of a router in another PID namespace.
fn router_apart(test: &str, driver: &str) {
    cable("left", "right", 1500);
    let (pool, state) = (pool(), State::new());
    let other = OtherRouter::start_apart(test, driver);
    // It is the first process of its PID namespace.
    let written = State::of(1);

    for take in [false, true] {
        let refused = try_open("packet:left", &pool, &state, take).expect_err("another has it");
        let said = "another router uses left: a process in another PID namespace";
        assert!(refused.to_string().starts_with(said), "{refused}");
    }
    let file = written.0.join("left.taken");
    let put_back = netio::takeover::restore(&file).expect("nothing to do");
    assert_eq!(put_back, None);

    other.kill();
    // The PID namespace ends soon afterwards.
    while try_open("packet:left", &pool, &state, true).is_err() {
        std::thread::yield_now();
    }
}

#[test]
fn a_running_router_in_another_pid_namespace_is_detected() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace(|| {
        let test = "a_running_router_in_another_pid_namespace_is_detected";
        router_apart(test, "packet");
    });
}

#[test]
fn a_running_router_in_another_pid_namespace_is_detected_by_xdp() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace_as_root(|| {
        let test = "a_running_router_in_another_pid_namespace_is_detected_by_xdp";
        router_apart(test, "xdp");
    });
}

#[test]
fn saved_settings_of_a_running_router_are_not_restored_by_another() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        let test = "saved_settings_of_a_running_router_are_not_restored_by_another";
        let other = OtherRouter::start(test, "packet");
        let folder = State::of(other.0.id());
        let file = folder.0.join("left.taken");

        let put_back = netio::takeover::restore(&file).expect("nothing to do");

        assert_eq!(put_back, None);
        assert!(file.exists());
        assert!(!run("ip", "addr show dev left").1.contains("192.0.2.1"));
        other.kill();
        let put_back = netio::takeover::restore(&file).expect("permitted");
        assert_eq!(put_back.as_deref(), Some("left"));
        assert!(run("ip", "addr show dev left").1.contains("192.0.2.1"));
    });
}

#[test]
fn a_device_renamed_after_a_crash_is_restored_before_the_next_takeover() {
    if OtherRouter::if_other() {
        return;
    }
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        let test = "a_device_renamed_after_a_crash_is_restored_before_the_next_takeover";
        let other = OtherRouter::start(test, "packet");
        let (pool, state) = (pool(), State::of(other.0.id()));
        let right_has_it = || run("ip", "addr show dev right").1.contains("192.0.2.1/24");
        // A running router gives its devices back itself.
        drop(try_open("right", &pool, &state, false).expect("permitted"));
        ip("link set right name middle");
        ip("link set left name right");
        drop(try_open("middle", &pool, &state, false).expect("permitted"));
        assert!(!right_has_it());
        other.kill();
        ip("link set middle name left");

        let left = try_open("left", &pool, &state, false).expect("permitted");

        assert!(right_has_it());
        let right = try_open("right", &pool, &state, false).expect("permitted");
        assert!(!right_has_it());
        drop([left, right]);
        assert!(right_has_it());
        assert_eq!(state.taken(), 0);
    });
}

#[test]
fn xdp_on_a_veth_device_is_generic_by_default() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let (mut pool, state) = (pool(), State::new());

        let mut left = try_open("xdp:left", &pool, &state, false).expect("permitted");
        let mut right = try_open("xdp-native:right", &pool, &state, false).expect("permitted");

        assert_eq!((left.driver, right.driver), ("xdp-generic", "xdp-native"));
        let mut vector = frame::Vector::new();
        assert_eq!(right.ports[0].receive(&mut pool, &mut vector), 0);
        send(&mut *left.ports[0], &mut pool, &[pattern(1, 60)]);
        assert_eq!(
            receive_bytes(&mut *right.ports[0], &mut pool, 1),
            [pattern(1, 60)]
        );
    });
}

#[test]
fn devices_that_cannot_be_opened_are_refused_and_left_unchanged() {
    in_namespace_as_root(|| {
        let (pool, state) = (pool(), State::new());
        cable("left", "right", 17_000);
        ip("addr add 192.0.2.1/24 dev left");

        assert_eq!(refusal("middle", &pool, &state), "no device middle");
        assert_eq!(
            refusal("packet:lo", &pool, &state),
            "lo is this machine's loopback device, which has no peers"
        );
        assert_eq!(
            refusal("xdp:left", &pool, &state),
            "xdp-generic: MTU 17000 exceeds the 1770 bytes of one chunk; frames in several chunks \
             are not supported here"
        );
        assert!(run("ip", "addr show dev left").1.contains("192.0.2.1"));
        ip("route add default via 192.0.2.254");
        assert_eq!(
            refusal("left", &pool, &state),
            "left carries this machine's default route; --take takes it over anyway"
        );
        let taken = try_open("left", &pool, &state, true).expect("as asked");
        assert!(!run("ip", "route show").1.contains("default"));
        drop(taken);
        assert!(
            run("ip", "route show")
                .1
                .contains("default via 192.0.2.254")
        );
        // A device that a router had counts as its own until its state folder is removed.
        drop(try_open("left", &pool, &state, false).expect("it was its own"));
        let other = State::of(0);
        assert_eq!(
            refusal("left", &pool, &other),
            "left carries this machine's default route; --take takes it over anyway"
        );
        ip("route del default");
        let ipv6 = "/proc/sys/net/ipv6/conf/left/disable_ipv6";
        std::fs::write(ipv6, "0").expect("a setting of this namespace");
        ip("-6 route add default via fe80::1 dev left proto ra");
        drop(try_open("left", &pool, &other, false).expect("the kernel made it by itself"));
    });
}

#[test]
fn a_failing_driver_gives_its_reason() {
    in_namespace_as_root(|| {
        let (pool, state) = (pool(), State::new());
        ip("link add bridge7 type bridge");

        let reason = refusal("xdp-native:bridge7", &pool, &state);

        assert_eq!(
            reason,
            "xdp-native: attaching XDP in the driver: the device's driver does not support it"
        );
    });
}

#[test]
fn a_tap_device_is_created_up_and_removed_with_its_port() {
    in_namespace_with_tun(|| {
        let (pool, state) = (pool(), State::new());

        let tap = try_open("tap:lan", &pool, &state, false).expect("permitted");

        assert!(
            tap.link
                .as_ref()
                .is_some_and(|link| link.up && link.name == "lan")
        );
        drop(tap);
        eventually("the device's end", || {
            !run("ip", "link show").1.contains("lan:")
        });
    });
}

#[test]
fn a_sleeping_worker_wakes_for_a_frame_on_each_kind_of_port() {
    in_namespace_as_root(|| {
        let (mut pool, state) = (pool(), State::new());
        for (number, driver) in ["packet", "xdp-generic", "xdp-native"].iter().enumerate() {
            let (l, r) = (format!("left{number}"), format!("right{number}"));
            cable(&l, &r, 1500);
            let spec = |end| format!("{driver}:{end}");
            let mut left = try_open(&spec(&l), &pool, &state, false).expect("permitted");
            let mut right = try_open(&spec(&r), &pool, &state, false).expect("permitted");
            let mut vector = frame::Vector::new();
            right.ports[0].receive(&mut pool, &mut vector);
            let mut set = WaitSet::new().expect("descriptors");
            let fd = right.ports[0].wait_fd().expect("it can be waited for");
            set.add(fd).expect("it is new");

            let idle = set.wait(Some(std::time::Duration::ZERO)).expect("no error");
            send(&mut *left.ports[0], &mut pool, &[pattern(1, 60)]);
            let woken = set
                .wait(Some(std::time::Duration::from_secs(20)))
                .expect("no error");

            assert_eq!((idle.ready, woken.ready), (0, 1), "{driver}");
            receive_bytes(&mut *right.ports[0], &mut pool, 1);
            let idle = set.wait(Some(std::time::Duration::ZERO)).expect("no error");
            assert_eq!(idle.ready, 0, "{driver}");
        }
    });
}

#[test]
fn a_device_that_goes_down_ends_one_sleep_only() {
    in_namespace(|| {
        let (pool, state) = (pool(), State::new());
        cable("left", "right", 1500);
        let left = try_open("packet:left", &pool, &state, false).expect("permitted");
        let mut set = WaitSet::new().expect("descriptors");
        set.add(left.ports[0].wait_fd().expect("it can be waited for"))
            .expect("it is new");

        ip("link set left down");
        let ended = set.wait(Some(std::time::Duration::from_secs(20)));
        let after = set.wait(Some(std::time::Duration::ZERO)).expect("no error");

        assert_eq!(ended.expect("no error").ready, 1);
        assert_eq!(after.ready, 0);
    });
}

#[test]
fn a_vanished_device_is_tolerated_and_reopened_on_return() {
    in_namespace_as_root(|| {
        for driver in ["packet", "xdp-generic", "xdp-native"] {
            let (mut pool, state) = (pool(), State::new());
            let free = frame::Class::ALL.map(|class| pool.available(class));
            let spec = format!("{driver}:left");
            cable("left", "right", 1500);
            let mut left = try_open(&spec, &pool, &state, false).expect("permitted");
            let port = &mut left.ports[0];
            port.receive(&mut pool, &mut frame::Vector::new());

            ip("link del left");
            for _ in 0..100 {
                let frame = pool.alloc_from(&pattern(1, 60)).expect("a slot");
                port.transmit(&mut pool, &mut vec![frame]);
                port.receive(&mut pool, &mut frame::Vector::new());
                port.flush(&mut pool);
            }
            port.close(&mut pool);
            drop(left);
            assert_eq!(
                frame::Class::ALL.map(|class| pool.available(class)),
                free,
                "{driver}"
            );
            assert_eq!(state.taken(), 0);

            cable("left", "right", 1500);
            let mut left = try_open(&spec, &pool, &state, false).expect("permitted");
            let mut right = try_open("packet:right", &pool, &state, false).expect("permitted");
            send(&mut *left.ports[0], &mut pool, &[pattern(2, 60)]);
            assert_eq!(
                receive_bytes(&mut *right.ports[0], &mut pool, 1),
                [pattern(2, 60)]
            );
            drop((left, right));
            ip("link del left");
        }
    });
}

#[test]
fn a_device_gets_the_requested_mtu_if_its_driver_supports_it() {
    in_namespace_as_root(|| {
        cable("left", "right", 1500);
        let (mut pool, state) = (pool(), State::new());
        let mut mtu_of = |spec: &str, mtu: u32| {
            let opened = open_with(spec, &pool, &state, |request| Request {
                mtu: Some(mtu),
                ..request
            });
            let mut opened = opened.expect("permitted");
            let link = Links::open().and_then(|mut links| links.find("left"));
            let there = link.expect("the device").mtu;
            assert_eq!(opened.link.as_ref().map(|link| link.mtu), Some(there));
            opened
                .ports
                .iter_mut()
                .for_each(|port| port.close(&mut pool));
            (there, opened.mtu_refused.take(), opened.mtu_max)
        };

        assert_eq!(mtu_of("packet:left", 20_000), (20_000, None, None));
        assert_eq!(mtu_of("xdp-generic:left", 9000), (9000, None, Some(16_106)));
        // Above the maximum for joined pieces: the port keeps the device's own MTU.
        let (mtu, refused, most) = mtu_of("xdp-generic:left", 20_000);
        assert_eq!((mtu, most), (1500, Some(1770)));
        let refused = refused.expect("why not");
        assert!(refused.starts_with("xdp-generic: MTU 20000"), "{refused}");
        let (mtu, refused, _) = mtu_of("packet:left", 70_000);
        let words = "left: the maximum MTU is 65535 bytes";
        assert_eq!((mtu, refused.as_deref()), (1500, Some(words)));
    });
}

#[test]
fn a_device_can_be_opened_by_an_alternative_name() {
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        let name = "a-name-of-more-than-fifteen-bytes";
        ip(&format!("link property add dev left altname {name}"));
        let (mut pool, state) = (pool(), State::new());

        let mut left = try_open(name, &pool, &state, false).expect("permitted");

        assert_eq!(left.link.as_ref().map(|link| &*link.name), Some("left"));
        assert!(state.0.join("left.taken").exists());
        let again = try_open("packet:left", &pool, &state, false);
        assert!(again.is_ok(), "a process may take again what it has");
        left.ports.iter_mut().for_each(|port| port.close(&mut pool));
        drop((left, again));
        assert!(run("ip", "addr show dev left").1.contains("192.0.2.1"));
        let missing = refusal("no-name-of-more-than-fifteen-bytes", &pool, &state);
        assert_eq!(missing, "no device no-name-of-more-than-fifteen-bytes");
    });
}
