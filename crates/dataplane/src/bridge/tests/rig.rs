//! A test router whose bridge ports are scripted by the test.

use std::sync::Arc;

use frame::{InterfaceId, Offload};
use wire::Mac;

use crate::bridge::{Bridge, BridgePort};
use crate::drop::DropReason;
use crate::interface::{Above, Details, Interface};
use crate::out::OutId;
use crate::rings::Command;
use crate::service::{FrameContent, Match, Service, ServiceId, Services};
use crate::snapshot::PortBinding;
use crate::table::{Adjacency, Host, HostKey, HostKind};
use crate::testing::{RATE, Rig, TestPort, Udp4, ethernet, gateway};

pub(crate) const BRIDGE: InterfaceId = InterfaceId(50);
/// MAC address of the bridge.
pub(crate) const OWN: [u8; 6] = [2, 0, 0, 0, 0xb, 0xb];
/// Number of the port of `ether2`, which is no bridge port.
pub(crate) const WIRE: u16 = 1000;
/// Interface and port number of the first bridge port.
const FIRST: u32 = 20;
const FIRST_NUMBER: u16 = 3;

pub(crate) struct Switch {
    pub(crate) rig: Rig,
    ports: u16,
}

impl Switch {
    /// Creates a bridge with this many ports and RouterOS's defaults.
    pub(crate) fn new(ports: u16) -> Self {
        Self::with_workers(ports, 1)
    }

    pub(crate) fn with_workers(ports: u16, workers: usize) -> Self {
        let mut rig = Rig::with_workers(workers);
        for place in 0..ports {
            let (id, number) = (Self::port(place), FIRST_NUMBER + place);
            let line = Interface {
                above: Above::Bridge,
                out: OutId::port(number),
                under: id,
                mac: Mac([2, 0, 0, 0, 0xc, place as u8]),
                ..bridge_line()
            };
            put_line(&rig, id, line, &format!("port{place}"));
            rig.interfaces.set_above(id, BRIDGE);
            rig.snapshot.ports.push(PortBinding {
                interface: id,
                workers: vec![0],
                ..PortBinding::default()
            });
            let port = TestPort::default();
            rig.ports.push(port.clone());
            rig.command(Command::Attach {
                number,
                port: Box::new(port),
            });
        }
        put_line(&rig, BRIDGE, bridge_line(), "bridge1");
        let all = (0..ports).map(|place| BridgePort {
            interface: Self::port(place),
            ..BridgePort::default()
        });
        let bridge = Bridge::new(BRIDGE, all);
        rig.interfaces.bridges().set(BRIDGE, Some(Arc::new(bridge)));
        rig.publish();
        rig.settle();
        Self { rig, ports }
    }

    /// Returns the interface of a port.
    pub(crate) fn port(place: u16) -> InterfaceId {
        InterfaceId(FIRST + u32::from(place))
    }

    /// Replaces the bridge by the result of `make`.
    pub(crate) fn set(&mut self, make: impl FnOnce(&Bridge) -> Bridge) {
        let bridges = self.rig.interfaces.bridges();
        let bridge = {
            let before = bridges.get(BRIDGE.slot()).expect("a page");
            make(before.as_ref().expect("a bridge"))
        };
        bridges.set(BRIDGE, Some(Arc::new(bridge)));
    }

    /// Registers a service for frames with this LLC address.
    pub(crate) fn hear_llc(&mut self, address: u8) -> ServiceId {
        let what = Match::Frame(FrameContent::Llc(address));
        self.serve(Service::new("stp", [what], RATE))
    }

    /// Registers a service of control.
    pub(crate) fn serve(&mut self, service: Service) -> ServiceId {
        let id = ServiceId::new(9).expect("there are few");
        let mut services = Services::clone(&self.rig.snapshot.services);
        services.add(id, &service).expect("nobody has it");
        self.rig.snapshot.services = Arc::new(services);
        self.rig.publish();
        id
    }

    /// Returns the drops by bridging, without the router's drops of broadcasts.
    pub(crate) fn drops(&self) -> Vec<(DropReason, u64)> {
        let mut drops = self.rig.drops();
        drops.retain(|(reason, _)| reason.name().starts_with("bridge-"));
        drops
    }

    /// Changes the bridge.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Bridge)) {
        self.set(|before| {
            let mut bridge = before.clone();
            change(&mut bridge);
            bridge
        });
    }

    /// Adds a host behind a port.
    pub(crate) fn knows(&mut self, mac: [u8; 6], place: u16) {
        let [a, b, c, d, e, f] = mac;
        let key = HostKey {
            bridge: BRIDGE,
            vid: 0,
            mac: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        };
        let host = Host {
            port: Self::port(place),
            kind: HostKind::Static,
            seen: 0,
        };
        assert!(self.rig.interfaces.bridges().hosts().set(&key, host));
    }

    pub(crate) fn arrive(&mut self, place: u16, frame: &[u8]) {
        self.arrive_unfinished(place, frame.to_vec(), Offload::FINISHED);
    }

    pub(crate) fn arrive_unfinished(&mut self, place: u16, frame: Vec<u8>, offload: Offload) {
        let number = FIRST_NUMBER + place;
        self.rig.arrive_unfinished(number, frame, offload);
    }

    /// Returns the frames sent since the last call, with their ports.
    pub(crate) fn sent(&mut self) -> Vec<(u16, Vec<u8>)> {
        let mut all = Vec::new();
        for place in 0..self.ports {
            let sent = self.rig.sent(FIRST_NUMBER + place);
            all.extend(sent.into_iter().map(|frame| (place, frame)));
        }
        let wire = self.rig.sent(1);
        all.extend(wire.into_iter().map(|frame| (WIRE, frame)));
        all
    }

    /// Receives a frame at a port. Returns the frames sent, with their ports.
    pub(crate) fn pass(&mut self, place: u16, frame: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.arrive(place, frame);
        self.rig.settle();
        self.sent()
    }

    /// Sends a frame from the router by the bridge.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let mut frame = self.rig.pool.alloc_from(bytes).expect("room");
        frame.egress = BRIDGE;
        frame.l3 = 14;
        self.rig.command(Command::Transmit(frame));
        self.rig.settle();
    }

    /// Returns a packet to the bridge's MAC address that is routed to the gateway behind `ether2`.
    pub(crate) fn to_gateway(&self) -> Vec<u8> {
        ethernet(OWN, 0x0800, &Udp4::default().packet())
    }

    /// Moves the gateway behind the bridge.
    pub(crate) fn lead_through_the_bridge(&mut self) {
        let through = Adjacency {
            egress: BRIDGE,
            out: OutId::bridge(BRIDGE),
            ..gateway()
        };
        self.rig.writer.set_next_hop(self.rig.gateway, &through);
    }

    /// Receives a packet for the gateway at `ether1`.
    pub(crate) fn arrive_on_wire(&mut self) {
        self.rig.arrive(Udp4::default().frame());
    }
}

fn bridge_line() -> Interface {
    Interface {
        running: true,
        ethernet: true,
        ipv4: true,
        ipv6: true,
        mac: Mac(OWN),
        mtu: 1500,
        out: OutId::bridge(BRIDGE),
        under: BRIDGE,
        ..Interface::default()
    }
}

pub(crate) fn put_line(rig: &Rig, id: InterfaceId, line: Interface, name: &str) {
    rig.interfaces.set(id, &line);
    let details = Details {
        name: name.into(),
        ..Details::default()
    };
    rig.interfaces.set_details(id, Arc::new(details));
}

/// Returns a frame of 60 bytes with these MAC addresses and this content.
pub(crate) fn frame(to: [u8; 6], from: [u8; 6], behind: &[u8]) -> Vec<u8> {
    let mut frame = [&to[..], &from, behind].concat();
    frame.resize(60, 0);
    frame
}

/// Returns a frame from the router to a host.
pub(crate) fn from_router(to: [u8; 6]) -> Vec<u8> {
    frame(to, OWN, &[0x88, 0xb5])
}
