//! Test bed: two hosts and the ports of a router between them, with offloaded flows.

use std::sync::Arc;

use frame::shortcut::{
    AddressPair, FlowOffload, Handler, LaneSelector, LaneTraffic, Rules, Shortcut, ShortcutPath,
    Shortcuts,
};
use frame::{InterfaceId, Pool, Port};
use netio::{Umem, XdpMode, XdpOffload, XdpPort};

use crate::common::*;

const RING: u32 = 256;
pub(crate) const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const ROUTER: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub(crate) const OUT: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub(crate) const NEXT: [u8; 6] = [2, 0, 0, 0, 0, 4];

/// `left ── near [ router ] far ── right`, with the offload of the router's ports.
pub(crate) struct Bed {
    pub(crate) pool: Pool,
    pub(crate) left: XdpPort,
    pub(crate) near: XdpPort,
    pub(crate) far: XdpPort,
    pub(crate) right: XdpPort,
    /// The control plane's view.
    pub(crate) shortcuts: Arc<dyn Shortcuts>,
}

impl Bed {
    /// Returns `None`, after printing the reason, if the kernel has no such maps.
    pub(crate) fn new() -> Option<Self> {
        cable("left", "near", 1500);
        cable("far", "right", 1500);
        let shortcuts = match XdpOffload::new(0x0123_4567_89ab_cdef) {
            Ok(shortcuts) => shortcuts,
            Err(error) => {
                skip(&format!("maps that can be mapped: {error}"));
                return None;
            }
        };
        let mut pool = pool();
        let mut open = |device: &str, shortcuts: Option<&XdpOffload>| {
            let umems = [Umem::of(&pool)];
            let ports = XdpPort::open(device, XdpMode::Generic, &umems, RING, shortcuts);
            let mut ports = ports.expect("an AF_XDP socket");
            let mut port = ports.pop().expect("one port");
            // The port lends its slots in the first call of `receive`.
            assert_eq!(port.receive(&mut pool, &mut frame::Vector::new()), 0);
            assert_eq!(port.offload().is_some(), shortcuts.is_some());
            port
        };
        Some(Self {
            left: open("left", None),
            near: open("near", Some(&shortcuts)),
            far: open("far", Some(&shortcuts)),
            right: open("right", None),
            pool,
            shortcuts: shortcuts.shortcuts(),
        })
    }

    /// Installs a shortcut for packets like this one on the near port.
    pub(crate) fn learn(&mut self, packet: &Packet) {
        let straight = self.straight(packet);
        self.near().begin();
        self.near().install(&straight);
    }

    /// Offload of the near port.
    pub(crate) fn near(&mut self) -> &mut dyn FlowOffload {
        self.near.offload().expect("it was opened with shortcuts")
    }

    pub(crate) fn straight(&mut self, packet: &Packet) -> Shortcut {
        Shortcut {
            between: packet.between(),
            connection: None,
            lane: self.lane(),
        }
    }

    pub(crate) fn lane(&mut self) -> ShortcutPath {
        ShortcutPath {
            ingress: InterfaceId(1),
            to: ROUTER,
            egress: InterfaceId(2),
            device: self.far.offload().expect("as the near one").device(),
            link: link(NEXT, OUT),
            mtu: 1000,
            handler: Handler::FastPath,
            rules: Rules::default(),
        }
    }

    /// Asserts that these frames are forwarded as `expected`.
    pub(crate) fn passes(&mut self, sent: &[Vec<u8>], expected: &[Vec<u8>]) {
        send(&mut self.left, &mut self.pool, sent);
        let came = receive_bytes(&mut self.right, &mut self.pool, expected.len());
        assert_eq!(came, expected);
    }

    /// Asserts that these frames reach the router unchanged and are not forwarded.
    pub(crate) fn is_asked(&mut self, sent: &[Vec<u8>]) {
        send(&mut self.left, &mut self.pool, sent);
        let came = receive_bytes(&mut self.near, &mut self.pool, sent.len());
        assert_eq!(came, sent);
        let marker = pattern(7, 60);
        send(&mut self.far, &mut self.pool, std::slice::from_ref(&marker));
        assert_eq!(receive_bytes(&mut self.right, &mut self.pool, 1), [marker]);
    }

    pub(crate) fn went(&self, which: LaneSelector) -> Vec<LaneTraffic> {
        let mut all = Vec::new();
        self.shortcuts.take(which, &mut |went| all.push(went));
        all
    }
}

pub(crate) fn link(to: [u8; 6], from: [u8; 6]) -> [u8; 12] {
    let mut link = [0; 12];
    link[..6].copy_from_slice(&to);
    link[6..].copy_from_slice(&from);
    link
}

#[derive(Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) source: u128,
    pub(crate) destination: u128,
    pub(crate) ipv6: bool,
    pub(crate) ttl: u8,
    /// Length of the payload after the header.
    pub(crate) payload: usize,
}

pub(crate) const PLAIN4: Packet = Packet {
    source: 0x0a00_0001,
    destination: 0xc000_0207,
    ipv6: false,
    ttl: 64,
    payload: 30,
};

pub(crate) const PLAIN6: Packet = Packet {
    source: 0x2001_0db8_0000_0001_0002_0003_0004_0005,
    destination: 0x2001_0db8_ffff_0001_0002_0003_0004_0006,
    ipv6: true,
    ..PLAIN4
};

impl Packet {
    pub(crate) fn between(&self) -> AddressPair {
        AddressPair {
            source: self.source,
            destination: self.destination,
            ipv6: self.ipv6,
        }
    }

    /// The frame as sent to the router.
    pub(crate) fn frame(&self) -> Vec<u8> {
        self.behind(link(ROUTER, FROM))
    }

    /// The frame as forwarded by the router.
    pub(crate) fn forwarded(&self) -> Vec<u8> {
        let ttl = self.ttl - 1;
        Self { ttl, ..*self }.behind(link(NEXT, OUT))
    }

    pub(crate) fn behind(&self, link: [u8; 12]) -> Vec<u8> {
        let mut frame = link.to_vec();
        if self.ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((self.payload as u16).to_be_bytes());
            frame.extend([17, self.ttl]);
            frame.extend(self.source.to_be_bytes());
            frame.extend(self.destination.to_be_bytes());
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((20 + self.payload as u16).to_be_bytes());
            // Identification, and DF.
            frame.extend([0xbe, 0xef, 0x40, 0, self.ttl, 17, 0, 0]);
            frame.extend((self.source as u32).to_be_bytes());
            frame.extend((self.destination as u32).to_be_bytes());
            let sum = checksum(&frame[14..]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame.extend((0..self.payload).map(|at| at as u8));
        frame
    }
}

pub(crate) fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// A changed frame; the IPv4 checksum is updated.
pub(crate) fn changed(packet: &Packet, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = packet.frame();
    change(&mut frame);
    if !packet.ipv6 && frame[12..14] == [8, 0] {
        let end = 14 + usize::from(frame[14] & 15) * 4;
        if frame.len() >= end {
            frame[24..26].fill(0);
            let sum = checksum(&frame[14..end]);
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
    }
    frame
}
