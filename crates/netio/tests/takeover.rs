//! Taking devices over and giving them back, also after a crash.

mod common;

use std::path::PathBuf;

use common::*;
use netio::PacketPort;
use netio::link::Links;
use netio::takeover::{DeviceOwner, Takeover, carries_default_route, held, restore};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// State file in a temporary folder, removed on drop.
struct State(PathBuf);

impl State {
    fn new() -> Self {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("test").replace(':', "-");
        let folder = std::env::temp_dir().join(format!("netio-{}-{name}", std::process::id()));
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("left.taken")
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn take(state: &State) -> Takeover {
    take_device("left", state)
}

fn take_device(device: &str, state: &State) -> Takeover {
    let file = state.0.join(format!("{device}.taken"));
    let mut taken = Takeover::take(device, &file).expect("permitted");
    taken.keep_kernel_off().expect("permitted");
    taken
}

/// A veth pair whose left end has addresses of both families and routes.
fn equipped() {
    cable("left", "right", 1500);
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/left/disable_ipv6", "0");
    ip("addr add 192.0.2.1/24 brd 192.0.2.255 dev left");
    ip("addr add 192.0.2.7/24 dev left");
    ip("addr add 2001:db8::1/64 dev left nodad");
    ip("route add 198.51.100.0/24 via 192.0.2.254 metric 7");
    ip("route add default via 192.0.2.254");
    ip("-6 route add 2001:db8:1::/48 via 2001:db8::fe");
}

/// The device's addresses and routes as a user sees them, without lifetimes and link-local entries.
fn shown() -> String {
    shown_of("left")
}

fn shown_of(device: &str) -> String {
    let words = [
        format!("-4 addr show dev {device} scope global"),
        format!("-6 addr show dev {device} scope global"),
        "-4 route show".to_owned(),
        "-6 route show proto boot".to_owned(),
    ];
    words.map(|words| run("ip", &words).1).concat()
}

fn rename(device: &str, new: &str) {
    ip(&format!("link set {device} down"));
    ip(&format!("link set {device} name {new}"));
    ip(&format!("link set {new} up"));
}

fn filters() -> String {
    let (_, qdiscs) = run("tc", "qdisc show dev left");
    let (_, filters) = run("tc", "filter show dev left ingress");
    qdiscs + &filters
}

#[test]
fn addresses_and_routes_are_removed_at_takeover_and_restored_at_release() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        assert!(before.contains("2001:db8:1::/48"), "{before}");

        let mut taken = take(&state);

        assert!(
            !shown().contains("192.0.2") && !shown().contains("2001:db8"),
            "{}",
            shown()
        );
        assert!(filters().contains("direct-action"), "{}", filters());
        assert!(state.file().exists());
        taken.release().expect("permitted");
        assert_eq!(shown(), before);
        assert!(!filters().contains("clsact"), "{}", filters());
        assert!(!state.file().exists());
        taken.release().expect("once more does nothing");
    });
}

#[test]
fn static_neighbours_are_restored_at_release() {
    in_namespace(|| {
        equipped();
        ip("neigh add 192.0.2.3 lladdr 02:00:00:00:00:03 dev left nud permanent");
        ip("-6 neigh add 2001:db8::3 lladdr 02:00:00:00:00:03 dev left nud permanent");
        ip("neigh add proxy 192.0.2.4 dev left");
        ip("-6 neigh add proxy 2001:db8::4 dev left");
        let neighbours = || {
            let learned = run("ip", "neigh show dev left nud permanent").1;
            learned + &run("ip", "neigh show proxy dev left").1
        };
        let (before, state) = (neighbours(), State::new());
        assert_eq!(before.lines().count(), 4, "{before}");

        let taken = take(&state);
        assert_eq!(neighbours(), "");
        drop(taken);

        assert_eq!(neighbours(), before);
    });
}

#[test]
fn a_takeover_without_permission_changes_nothing_and_leaves_no_file() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        let all = capabilities(None).expect("our own");
        let mut few = all;
        few.effective.remove(CapabilitySet::NET_ADMIN);
        set_capabilities(None, few).expect("fewer are always permitted");

        let refusal = Takeover::take("left", &state.file());

        set_capabilities(None, all).expect("permitted, and given back");
        let refusal = refusal.expect_err("not permitted");
        assert_eq!(refusal.kind(), std::io::ErrorKind::PermissionDenied);
        assert_eq!(shown(), before);
        assert!(!state.file().exists());
    });
}

#[test]
fn the_next_start_restores_devices_after_a_crash() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        let crashed = take(&state);
        std::mem::forget(crashed);
        assert_ne!(shown(), before);

        let restored = restore(&state.file()).expect("permitted");

        assert_eq!(restored.as_deref(), Some("left"));
        assert_eq!(shown(), before);
        assert!(!filters().contains("clsact"), "{}", filters());
        assert_eq!(restore(&state.file()).expect("nothing to do"), None);
    });
}

#[test]
fn a_takeover_after_a_crash_keeps_the_first_saved_settings() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        for _ in 0..2 {
            let crashed = take(&state);
            std::mem::forget(crashed);
        }

        drop(take(&state));

        assert_eq!(shown(), before);
        assert!(!filters().contains("clsact"), "{}", filters());
    });
}

fn mtu() -> u32 {
    let link = Links::open().and_then(|mut links| links.find("left"));
    link.expect("the device").mtu
}

#[test]
fn a_raised_mtu_lasts_as_long_as_the_takeover() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let state = State::new();
        let mut taken = take(&state);
        let mut given = |least| taken.set_mtu(least).expect("permitted");

        assert_eq!((given(Some(9000)), mtu()), (9000, 9000));
        // The device accepts frames up to its own MTU, even if a lower one is requested.
        assert_eq!((given(Some(1400)), mtu()), (1500, 1500));
        assert_eq!((given(Some(4000)), mtu()), (4000, 4000));
        assert_eq!((given(None), mtu()), (1500, 1500));
        given(Some(9000));
        assert!(taken.set_mtu(Some(70_000)).is_err());
        assert_eq!(mtu(), 9000);
        taken.release().expect("permitted");
        assert_eq!(mtu(), 1500);
    });
}

#[test]
fn a_device_disabled_during_the_takeover_is_up_after_release() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        let mut taken = take(&state);
        let running = |end: &str| {
            let link = Links::open().and_then(|mut links| links.find(end));
            link.expect("the device").running
        };

        taken.set_up(false).expect("permitted");

        eventually("the other end sees it", || !running("right"));
        std::mem::forget(taken);
        drop(take(&state));
        eventually("it is on", || running("left") && running("right"));
        assert_eq!(shown(), before);
    });
}

#[test]
fn the_mtu_from_before_a_crash_is_restored() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let state = State::new();
        let mut crashed = take(&state);
        crashed.set_mtu(Some(9000)).expect("permitted");
        std::mem::forget(crashed);

        let mut taken = take(&state);
        assert_eq!(taken.set_mtu(Some(4000)).expect("permitted"), 4000);
        std::mem::forget(taken);

        restore(&state.file()).expect("permitted");
        assert_eq!(mtu(), 1500);
    });
}

#[test]
fn a_settings_file_of_a_recreated_device_is_not_used() {
    in_namespace(|| {
        equipped();
        let state = State::new();
        let crashed = take(&state);
        std::mem::forget(crashed);
        ip("link del left");
        cable("left", "right", 1500);

        assert_eq!(restore(&state.file()).expect("nothing to do"), None);

        assert!(!shown().contains("192.0.2"), "{}", shown());
        assert!(!state.file().exists());
    });
}

#[test]
fn a_settings_file_may_have_a_name_too_long_for_the_mark() {
    for depth in [4, 5] {
        in_namespace(|| {
            cable("left", "right", 1500);
            let state = State::new();
            let folder = (0..depth).fold(state.0.clone(), |folder, _| folder.join("f".repeat(220)));
            let file = folder.join("left.taken");
            let mut taken = Takeover::take("left", &file).expect("permitted");
            taken.keep_kernel_off().expect("permitted");
            assert!(filters().contains("direct-action"), "{}", filters());

            let link = Links::open().and_then(|mut links| links.find("left"));
            let other = held(&link.expect("the device"), Some(&state.file()));

            let other = other.expect("netlink");
            assert!(matches!(other, Some(DeviceOwner::By(..))), "{other:?}");
            drop(taken);
            assert!(!filters().contains("clsact"), "{}", filters());
        });
    }
}

#[test]
fn a_device_renamed_during_the_takeover_is_restored() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        let mut taken = take(&state);
        rename("left", "moved");

        taken.release().expect("permitted");

        assert_eq!(shown_of("moved").replace("moved", "left"), before);
        assert!(!run("tc", "qdisc show dev moved").1.contains("clsact"));
        assert!(!state.file().exists());
    });
}

#[test]
fn a_device_renamed_after_a_crash_is_restored() {
    in_namespace(|| {
        equipped();
        let (before, state) = (shown(), State::new());
        std::mem::forget(take(&state));
        rename("left", "moved");

        let restored = restore(&state.file()).expect("permitted");

        assert_eq!(restored.as_deref(), Some("moved"));
        assert_eq!(shown_of("moved").replace("moved", "left"), before);
    });
}

#[test]
fn devices_that_swapped_names_during_the_takeover_are_restored() {
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        ip("addr add 198.51.100.1/24 dev right");
        let state = State::new();
        let left = take(&state);
        let right = take_device("right", &state);

        swap_names();
        drop([left, right]);

        assert!(shown_of("right").contains("192.0.2.1/24"));
        assert!(shown_of("left").contains("198.51.100.1/24"));
        assert_eq!(std::fs::read_dir(&state.0).expect("a folder").count(), 0);
    });
}

#[test]
fn a_takeover_under_a_reused_name_first_restores_the_renamed_device() {
    in_namespace(|| {
        cable("left", "right", 1500);
        ip("addr add 192.0.2.1/24 dev left");
        let state = State::new();
        std::mem::forget(take(&state));
        swap_names();

        let left = take(&state);

        assert!(shown_of("right").contains("192.0.2.1/24"));
        drop(left);
        assert!(shown_of("right").contains("192.0.2.1/24"));
    });
}

fn swap_names() {
    rename("left", "middle");
    rename("right", "left");
    rename("middle", "right");
}

/// Returns the log messages of `act`.
fn log_of(act: impl FnOnce()) -> String {
    let log = Log::default();
    let writer = std::sync::Mutex::new(log.clone());
    let subscriber = tracing_subscriber::fmt().with_ansi(false);
    tracing::subscriber::with_default(subscriber.with_writer(writer).finish(), act);
    String::from_utf8(log.0.lock().expect("nobody panicked").clone()).expect("text")
}

#[derive(Clone, Default)]
struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panicked").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Two devices, and routes that need both.
fn entwined() {
    for (device, other, net) in [("left", "far-left", 2), ("right", "far-right", 3)] {
        cable(device, other, 1500);
        let _ = std::fs::write(
            format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"),
            "0",
        );
        ip(&format!("addr add 192.0.{net}.1/24 dev {device}"));
        ip(&format!("addr add 2001:db8:{net}::1/64 dev {device} nodad"));
    }
    ip(
        "route add default nexthop via 192.0.2.254 dev left weight 2 nexthop via 192.0.3.254 dev right",
    );
    ip("route add 198.51.100.0/25 via 192.0.2.254 src 192.0.3.1");
    ip("route add 198.51.100.128/25 via 192.0.3.254 src 192.0.2.1");
    ip(
        "-6 route add 2001:db8:9::/48 nexthop via 2001:db8:2::fe dev left nexthop via 2001:db8:3::fe dev right",
    );
}

fn routes() -> String {
    run("ip", "-4 route show").1 + &run("ip", "-6 route show proto boot").1
}

#[test]
fn routes_over_two_devices_are_restored_when_both_are_released() {
    for backwards in [false, true] {
        in_namespace(|| {
            entwined();
            let (before, state) = (routes(), State::new());
            let mut taken = ["left", "right"].map(|device| take_device(device, &state));
            assert_eq!(routes(), "");
            if backwards {
                taken.reverse();
            }

            for mut device in taken {
                device.release().expect("permitted");
            }

            assert_eq!(routes(), before);
            assert_eq!(std::fs::read_dir(&state.0).expect("a folder").count(), 0);
        });
    }
}

#[test]
fn routes_over_two_devices_are_restored_after_a_crash_and_another_takeover() {
    in_namespace(|| {
        entwined();
        let (before, state) = (routes(), State::new());
        for device in ["left", "right"] {
            std::mem::forget(take_device(device, &state));
        }

        restore(&state.file()).expect("permitted");
        let again = [take_device("left", &state), take_device("right", &state)];
        drop(again);

        assert_eq!(routes(), before);
        assert_eq!(std::fs::read_dir(&state.0).expect("a folder").count(), 0);
    });
}

#[test]
fn a_route_with_an_ipv6_source_address_is_restored_at_once() {
    in_namespace(|| {
        equipped();
        // Without `nodad` at first, the kernel would run duplicate address detection.
        ip("addr add 2001:db8::2/64 dev left nodad");
        ip("addr change 2001:db8::2/64 dev left");
        ip("-6 route add 2001:db8:2::/48 via 2001:db8::fe src 2001:db8::2");
        let (before, state) = (shown(), State::new());

        drop(take(&state));

        assert_eq!(shown(), before);
    });
}

#[test]
fn a_route_of_another_device_returns_with_its_source_address() {
    in_namespace(|| {
        entwined();
        let (before, state) = (routes(), State::new());

        let taken = take(&state);
        assert!(!routes().contains("198.51.100.128/25"));
        drop(taken);

        assert_eq!(routes(), before);
    });
}

#[test]
fn a_refused_route_is_not_retried_forever() {
    in_namespace(|| {
        entwined();
        let state = State::new();
        let mut taken = take(&state);
        ip("link del right");

        let said = log_of(|| taken.release().expect("the device itself is as it was"));

        let lost = "left: the route 198.51.100.0/25 via 192.0.2.254 src 192.0.3.1 is lost: ";
        assert!(said.contains(lost), "{said}");
        assert!(!routes().contains("198.51.100.0/25"), "{}", routes());
        assert!(!state.file().exists());
        cable("right", "far-right", 1500);
        ip("addr add 192.0.3.1/24 dev right");
        drop(take(&state));
        assert!(!routes().contains("198.51.100.0/25"), "{}", routes());
    });
}

#[test]
fn a_foreign_filter_is_kept() {
    for place in [
        "pref 9",
        "pref 1 handle 1",
        "pref 1 handle 1 protocol ip",
        "pref 1 handle 1 chain 3",
    ] {
        in_namespace(|| {
            cable("left", "right", 1500);
            tc("qdisc add dev left clsact");
            tc(&format!("filter add dev left ingress {place} {ACCEPT}"));
            let (before, state) = (filters(), State::new());

            let taken = take(&state);
            assert_eq!(filters().matches("direct-action").count(), 2, "{place}");
            drop(taken);

            assert_eq!(filters(), before, "{place}");
        });
    }
}

#[test]
fn a_foreign_filter_added_during_the_takeover_is_kept() {
    for place in ["ingress", "egress"] {
        in_namespace(|| {
            cable("left", "right", 1500);
            let state = State::new();
            let taken = take(&state);
            tc(&format!("filter add dev left {place} pref 9 {ACCEPT}"));

            drop(taken);

            let (_, stays) = run("tc", &format!("filter show dev left {place}"));
            assert!(stays.contains("pref 9 bpf"), "{stays}");
            assert!(!stays.contains("pref 1 "), "{stays}");
        });
    }
}

/// A filter that accepts every packet.
const ACCEPT: &str = "bpf da bytecode 1,6\u{a0}0\u{a0}0\u{a0}0";

/// Runs `tc`; a hard space stands for a space within an argument.
fn tc(words: &str) {
    let words = words.split(' ').map(|word| word.replace('\u{a0}', " "));
    let done = std::process::Command::new("tc").args(words).output();
    let done = done.expect("tc is there");
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn the_kernel_does_not_receive_frames_of_a_taken_device() {
    in_namespace(|| {
        cable("left", "right", 1500);
        // This filter would run first.
        tc("qdisc add dev left clsact");
        tc(&format!(
            "filter add dev left ingress pref 1 handle 1 {ACCEPT}"
        ));
        let state = State::new();
        let _taken = take(&state);
        // Otherwise the kernel would answer, like any host with the address.
        ip("addr add 192.0.2.1/24 dev left");
        let mut left = PacketPort::open("left", 1).expect("a packet socket");
        let mut right = PacketPort::open("right", 1).expect("a packet socket");
        let mut pool = pool();

        send(&mut right[0], &mut pool, &[arp_request(), pattern(1, 60)]);

        let arrived = receive_bytes(&mut left[0], &mut pool, 2);
        assert_eq!(arrived, [arp_request(), pattern(1, 60)]);
        send(&mut left[0], &mut pool, &[pattern(2, 60)]);
        // An answer would have arrived before it.
        assert_eq!(receive_bytes(&mut right[0], &mut pool, 1), [pattern(2, 60)]);
    });
}

#[test]
fn the_device_of_the_default_route_is_detected() {
    in_namespace(|| {
        equipped();
        let mut links = Links::open().expect("netlink");
        let mut carries = |name| {
            let link = links.find(name).expect("the device");
            carries_default_route(&link).expect("netlink")
        };

        assert!(carries("left"));
        assert!(!carries("right"));
        ip("route del default");
        assert!(!carries("left"));
        ip("-6 route add default via 2001:db8::fe");
        assert!(carries("left"));
    });
}

/// ARP request: who has 192.0.2.1? Tell 192.0.2.2.
fn arp_request() -> Vec<u8> {
    let mut bytes = vec![0xff; 6];
    bytes.extend([2, 0, 0, 0, 0, 2, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    bytes.extend([
        2, 0, 0, 0, 0, 2, 192, 0, 2, 2, 0, 0, 0, 0, 0, 0, 192, 0, 2, 1,
    ]);
    bytes.resize(60, 0);
    bytes
}
