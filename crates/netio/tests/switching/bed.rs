//! Test bed: hosts at the ports of a bridge, with bridge offload.

use std::sync::Arc;

use frame::switch::{
    BridgeOffload, Group, HostKey, Member, MemberTags, SwitchPort, SwitchPorts, Switched, VlanPorts,
};
use frame::{Pool, Port as _, Vector};
use netio::{Umem, XdpMode, XdpOffload, XdpPort};

use crate::common::*;

const RING: u32 = 256;

/// A veth pair with a host at one end and a bridge port at the other.
pub(crate) struct Cable {
    pub(crate) host: XdpPort,
    pub(crate) port: XdpPort,
}

/// Three hosts at the ports of a bridge; hosts and VLAN are installed in the offload.
pub(crate) struct Bed {
    pub(crate) pool: Pool,
    pub(crate) cables: Vec<Cable>,
    pub(crate) switch: Arc<dyn BridgeOffload>,
}

/// MAC address of a cable's host.
pub(crate) fn mac(cable: usize) -> [u8; 6] {
    [2, 0, 0, 0, 1, cable as u8]
}

pub(crate) fn group(number: usize) -> Group {
    Group::new(number).expect("a group")
}

impl Bed {
    /// Returns `None`, after printing the reason, if the kernel has no such maps.
    pub(crate) fn new() -> Option<Self> {
        // If the kernel rejects a program with bridging, the log says why.
        let _ = tracing_subscriber::fmt().with_test_writer().try_init();
        let offload = match XdpOffload::new(0x0123_4567_89ab_cdef) {
            Ok(offload) => offload,
            Err(error) => {
                skip(&format!("maps that can be mapped: {error}"));
                return None;
            }
        };
        let mut pool = pool();
        let mut open = |device: &str, offload: Option<&XdpOffload>| {
            let umems = [Umem::of(&pool)];
            let ports = XdpPort::open(device, XdpMode::Generic, &umems, RING, offload);
            let mut port = ports.expect("an AF_XDP socket").pop().expect("one port");
            // The port lends its slots in the first call of `receive`.
            assert_eq!(port.receive(&mut pool, &mut Vector::new()), 0);
            assert_eq!(port.seat().is_some(), offload.is_some());
            port
        };
        let cables = (0..3).map(|number| {
            let (host, port) = (format!("host{number}"), format!("port{number}"));
            cable(&host, &port, 1500);
            Cable {
                host: open(&host, None),
                port: open(&port, Some(&offload)),
            }
        });
        let cables = cables.collect();
        let switch = offload.switch();
        Some(Self {
            pool,
            cables,
            switch,
        })
    }

    /// Makes all three ports a bridge with these tags, with all hosts known in this VLAN.
    pub(crate) fn bridge(&self, tags: Option<MemberTags>, vid: u16) {
        for number in 0..3 {
            self.switch
                .set_member(self.seat(number), Some(&self.member(tags)));
            self.switch.learn(&host(number, vid), self.seat(number));
        }
    }

    pub(crate) fn member(&self, tags: Option<MemberTags>) -> Member {
        Member {
            group: group(1),
            reaches: self.seats(&[0, 1, 2]),
            longest: 1514,
            learns: true,
            tags,
        }
    }

    /// Configures a VLAN with all three ports, some of them untagged.
    pub(crate) fn vlan(&self, vid: u16, untagged: &[usize]) {
        let seats = VlanPorts {
            ingress: self.seats(&[0, 1, 2]),
            egress: self.seats(&[0, 1, 2]),
            untagged: self.seats(untagged),
        };
        self.switch.set_vlan(group(1), vid, &seats);
    }

    pub(crate) fn seat(&self, cable: usize) -> SwitchPort {
        self.cables[cable].port.seat().expect("it was opened so")
    }

    pub(crate) fn seats(&self, cables: &[usize]) -> SwitchPorts {
        cables.iter().map(|cable| self.seat(*cable)).collect()
    }

    /// Asserts that frames from one host arrive at another one as `expected`.
    pub(crate) fn passes(
        &mut self,
        (from, to): (usize, usize),
        sent: &[Vec<u8>],
        expected: &[Vec<u8>],
    ) {
        send(&mut self.cables[from].host, &mut self.pool, sent);
        let out = &mut self.cables[to].host;
        let came = receive_bytes(out, &mut self.pool, expected.len());
        assert_eq!(came, expected);
    }

    /// Asserts that frames from this host reach the worker of its port unchanged, and no other host.
    pub(crate) fn is_asked(&mut self, from: usize, sent: &[Vec<u8>]) {
        send(&mut self.cables[from].host, &mut self.pool, sent);
        let port = &mut self.cables[from].port;
        let came = receive_bytes(port, &mut self.pool, sent.len());
        assert_eq!(came, sent);
        let marker = pattern(7, 60);
        for cable in &mut self.cables {
            let sent = std::slice::from_ref(&marker);
            send(&mut cable.port, &mut self.pool, sent);
            let came = receive_bytes(&mut cable.host, &mut self.pool, 1);
            assert_eq!(came, std::slice::from_ref(&marker));
        }
    }

    pub(crate) fn switched(&self) -> Vec<Switched> {
        let mut all = Vec::new();
        self.switch.take(&mut |switched| all.push(switched));
        all
    }
}

/// Key of a cable's host in this VLAN.
pub(crate) fn host(cable: usize, vid: u16) -> HostKey {
    HostKey {
        group: group(1),
        vid,
        mac: mac(cable),
    }
}

/// A frame of this length between two hosts, with contents that depend on `number`.
pub(crate) fn between(from: [u8; 6], to: [u8; 6], number: usize, len: usize) -> Vec<u8> {
    let mut frame = pattern(number, len);
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    frame
}

/// The frame with a tag inserted.
pub(crate) fn tagged(frame: &[u8], tag: u16) -> Vec<u8> {
    let mut tagged = frame[..12].to_vec();
    tagged.extend([0x81, 0]);
    tagged.extend(tag.to_be_bytes());
    tagged.extend(&frame[12..]);
    tagged
}
