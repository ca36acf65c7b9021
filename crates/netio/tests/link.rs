//! Listing, monitoring and configuration of devices by netlink.

mod common;

use std::collections::VecDeque;

use common::*;
use netio::link::{self, LinkEvent, LinkMonitor, Links};

/// A monitor with its unread events.
struct Follower {
    monitor: LinkMonitor,
    events: VecDeque<LinkEvent>,
}

impl Follower {
    fn new() -> Self {
        Self {
            monitor: LinkMonitor::open().expect("netlink"),
            events: VecDeque::new(),
        }
    }

    /// Waits for an event that matches; skips earlier ones.
    fn next(&mut self, wanted: impl Fn(&LinkEvent) -> bool) -> LinkEvent {
        let mut found = None;
        eventually("the event", || {
            let mut events = Vec::new();
            self.monitor.poll(&mut events).expect("netlink");
            self.events.extend(events);
            while found.is_none()
                && let Some(event) = self.events.pop_front()
            {
                found = wanted(&event).then_some(event);
            }
            found.is_some()
        });
        found.expect("it was just found")
    }
}

#[test]
fn a_device_is_listed_with_its_name_address_mtu_and_kind() {
    in_namespace(|| {
        cable("left", "right", 1400);
        ip("link set left address 02:00:00:00:00:05");
        let mut links = Links::open().expect("netlink");

        let left = links.find("left").expect("it was just made");

        assert_eq!(left.mac, Some([2, 0, 0, 0, 0, 5]));
        assert_eq!((left.mtu, left.up), (1400, true));
        assert_eq!(left.kind.as_deref(), Some("veth"));
        assert!(
            links
                .list()
                .expect("netlink")
                .iter()
                .any(|link| link.index == left.index)
        );
        let missing = links.find("middle").expect_err("there is none");
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    });
}

#[test]
fn events_report_a_device_from_creation_to_removal_and_return() {
    in_namespace(|| {
        let mut monitor = Follower::new();
        let named = |event: &LinkEvent, name: &str| match event {
            LinkEvent::Appeared(link)
            | LinkEvent::Renamed(link)
            | LinkEvent::Changed(link)
            | LinkEvent::Vanished(link) => link.name == name,
        };
        monitor.next(|e| matches!(e, LinkEvent::Appeared(_)) && named(e, "lo"));

        cable("left", "right", 1500);
        let event = monitor.next(|e| matches!(e, LinkEvent::Appeared(_)) && named(e, "left"));
        let LinkEvent::Appeared(first) = event else {
            panic!("{event:?}");
        };
        let is = |name: &'static str, running: bool| move |event: &LinkEvent| matches!(event, LinkEvent::Changed(link) if link.name == name && link.running == running);
        monitor.next(is("left", true));
        ip("link set right down");
        monitor.next(is("left", false));
        ip("link set right up");
        monitor.next(is("left", true));
        ip("link set left mtu 1300");
        monitor.next(|e| matches!(e, LinkEvent::Changed(link) if link.mtu == 1300));
        for name in ["other", "left"] {
            let now = monitor
                .monitor
                .known()
                .find(|link| link.index == first.index);
            let before = now.expect("it is there").name.clone();
            ip(&format!("link set {before} down"));
            ip(&format!("link set {before} name {name}"));
            let event = monitor.next(|e| matches!(e, LinkEvent::Renamed(_)));
            assert!(
                matches!(event, LinkEvent::Renamed(link) if link.index == first.index && link.name == name)
            );
        }

        ip("link del left");
        monitor.next(|e| matches!(e, LinkEvent::Vanished(link) if link.index == first.index));
        assert!(monitor.monitor.known().all(|link| link.name != "left"));
        cable("left", "right", 1500);
        let event = monitor.next(|e| matches!(e, LinkEvent::Appeared(_)) && named(e, "left"));
        assert!(matches!(event, LinkEvent::Appeared(link) if link.index != first.index));
    });
}

#[test]
fn a_device_is_found_by_its_alternative_names() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let mut monitor = Follower::new();
        monitor.next(|e| matches!(e, LinkEvent::Appeared(link) if link.name == "left"));
        for name in ["short", "a-name-of-more-than-fifteen-bytes"] {
            ip(&format!("link property add dev left altname {name}"));

            let mut links = Links::open().expect("netlink");
            let link = links.find(name).expect("it was just given");

            assert_eq!(link.name, "left");
            assert!(link.is_called(name) && link.is_called("left") && !link.is_called("right"));
            monitor.next(|e| matches!(e, LinkEvent::Renamed(link) if link.is_called(name)));
            let missing = links.find(&format!("{name}-"));
            let missing = missing.expect_err("there is none");
            assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
        }
    });
}

#[test]
fn link_settings_are_applied() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let mut links = Links::open().expect("netlink");
        let index = links.find("left").expect("the device").index;

        links.set_mtu(index, 1280).expect("permitted");
        links.set_up(index, false).expect("permitted");
        links.set_mac(index, [2, 0, 0, 0, 0, 9]).expect("permitted");

        let left = links.find("left").expect("the device");
        assert_eq!((left.mtu, left.up, left.running), (1280, false, false));
        assert_eq!(left.mac, Some([2, 0, 0, 0, 0, 9]));
        assert!(links.set_mtu(9999, 1500).is_err());
    });
}

#[test]
fn driver_counters_are_read() {
    in_namespace(|| {
        cable("left", "right", 1500);
        let mut ports = netio::PacketPort::open("left", 1).expect("a packet socket");
        let mut pool = pool();
        let mut links = Links::open().expect("netlink");

        send(
            &mut ports[0],
            &mut pool,
            &[pattern(1, 60), pattern(2, 1000)],
        );

        let left = links.find("left").expect("the device").counters;
        let right = links.find("right").expect("the device").counters;
        assert_eq!((left.tx_packets, left.tx_bytes), (2, 1060));
        assert_eq!((right.rx_packets, right.rx_bytes), (2, 1060));
    });
}

#[test]
fn offloads_are_disabled_and_queues_counted() {
    in_namespace(|| {
        cable_with("left", "right", 1500, 2);

        link::offload_off("left").expect("permitted");

        let (_, features) = run("ethtool", "-k left");
        for feature in [
            "tx-checksumming: off",
            "tx-tcp-segmentation: off",
            "tx-tcp6-segmentation: off",
            "generic-segmentation-offload: off",
            "tx-vlan-offload: off",
        ] {
            assert!(features.contains(feature), "{features}");
        }
        assert_eq!(
            link::driver("left").expect("the device").as_deref(),
            Some("veth")
        );
        let channels = link::channels("left").expect("the device");
        assert!(channels.receive >= 1 && channels.transmit >= 1);
        assert!(link::offload_off("middle").is_err());
    });
}
