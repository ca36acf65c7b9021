//! Hosts at the ports of a bridge, without a bridge: only ports, and what is told to their switch.

use std::sync::Arc;

use frame::switch::{
    BridgeOffload, Group, HostKey, Member, MemberTags, Seat, Seats, Switched, VlanSeats,
};
use frame::{Pool, Port as _, Vector};
use netio::{Umem, XdpMode, XdpOffload, XdpPort};

use crate::common::*;

const RING: u32 = 256;

/// A cable with a host at one end and a port of the bridge at the other.
pub(crate) struct Cable {
    pub(crate) host: XdpPort,
    pub(crate) port: XdpPort,
}

/// Three hosts at a bridge's ports, whose hosts are known and whose VLAN is told.
pub(crate) struct Bed {
    pub(crate) pool: Pool,
    pub(crate) cables: Vec<Cable>,
    pub(crate) switch: Arc<dyn BridgeOffload>,
}

/// The address of a cable's host.
pub(crate) fn mac(cable: usize) -> [u8; 6] {
    [2, 0, 0, 0, 1, cable as u8]
}

pub(crate) fn group(number: usize) -> Group {
    Group::new(number).expect("a group")
}

impl Bed {
    /// None, and the reason is printed, where the kernel has no such maps.
    pub(crate) fn new() -> Option<Self> {
        // A kernel that takes no program that switches says why in the log.
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
            // Before it is asked it has no slots to receive into.
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

    /// All three are a bridge, with these tags, and all hosts are known in this VLAN.
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

    /// A VLAN of all three, that leaves some of them without a tag.
    pub(crate) fn vlan(&self, vid: u16, untagged: &[usize]) {
        let seats = VlanSeats {
            ingress: self.seats(&[0, 1, 2]),
            egress: self.seats(&[0, 1, 2]),
            untagged: self.seats(untagged),
        };
        self.switch.set_vlan(group(1), vid, &seats);
    }

    pub(crate) fn seat(&self, cable: usize) -> Seat {
        self.cables[cable].port.seat().expect("it was opened so")
    }

    pub(crate) fn seats(&self, cables: &[usize]) -> Seats {
        cables.iter().map(|cable| self.seat(*cable)).collect()
    }

    /// A frame from one host comes out at another as `expected`.
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

    /// Frames from this host come to the worker of its port as they were sent, and to nobody else.
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

/// A cable's host, in this VLAN.
pub(crate) fn host(cable: usize, vid: u16) -> HostKey {
    HostKey {
        group: group(1),
        vid,
        mac: mac(cable),
    }
}

/// A frame of this length between two hosts, of a content that tells `number`.
pub(crate) fn between(from: [u8; 6], to: [u8; 6], number: usize, len: usize) -> Vec<u8> {
    let mut frame = pattern(number, len);
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    frame
}

/// The same frame with a tag.
pub(crate) fn tagged(frame: &[u8], tag: u16) -> Vec<u8> {
    let mut tagged = frame[..12].to_vec();
    tagged.extend([0x81, 0]);
    tagged.extend(tag.to_be_bytes());
    tagged.extend(&frame[12..]);
    tagged
}
