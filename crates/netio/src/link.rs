//! The machine's devices as netlink tells them: listed, followed, set up (rtnetlink(7)).
//!
//! [`Links`] asks and changes; [`LinkMonitor`] follows. A device is known by its index, which is
//! never used again: one that was deleted and made anew under the same name has another.

mod ethtool;
mod modes;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use core::net::IpAddr;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE, NetlinkPayload};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage, LinkXdp, Prop, Stats64, XdpAttached,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

pub use ethtool::{Channels, channels, driver, offload_off};
pub(crate) use ethtool::{FLAG_LRO, FLAG_RXVLAN, clear_flags, flags_on, restore_flags};
pub use modes::{Ethtool, LinkChange, LinkModes};

use crate::netlink::{Messages, Netlink};
use crate::sys;

/// The multicast group that tells changes of devices.
const RTNLGRP_LINK: u32 = 1;

/// A device's alternative name: from `if_link.h`, since Linux 5.5.
const IFLA_ALT_IFNAME: u16 = 53;

/// What a device's driver has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames that arrived damaged.
    pub rx_errors: u64,
    /// Frames that could not be sent for an error of the line or device.
    pub tx_errors: u64,
    /// Frames dropped on arrival.
    pub rx_dropped: u64,
    /// Frames dropped before they were sent.
    pub tx_dropped: u64,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The kernel's number for it.
    pub index: u32,
    /// Its name in this namespace.
    pub name: String,
    /// Its other names, which may be longer.
    pub alternatives: Vec<String>,
    /// Its Ethernet address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// The Ethernet address that its maker gave it; virtual devices have none.
    pub permanent_mac: Option<[u8; 6]>,
    /// The number of the bridge, bond or the like that it is a port of.
    pub master: Option<u32>,
    /// The most bytes of a packet, without the link-layer header.
    pub mtu: u32,
    /// The most that its driver takes as MTU, if it says so.
    pub mtu_max: Option<u32>,
    /// Whether it is switched on.
    pub up: bool,
    /// Whether it is on and has a carrier.
    pub running: bool,
    /// Whether it is the stack's way to itself.
    pub loopback: bool,
    /// What made it, such as `veth` or `tun`; none for hardware.
    pub kind: Option<String>,
    /// What its driver counted.
    pub counters: LinkCounters,
}

impl Link {
    /// Whether this is one of its names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alternatives.iter().any(|other| other == name)
    }
}

/// Asks about devices and changes them, in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Links {
    netlink: Netlink,
}

impl Links {
    /// Opens a socket for questions.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            netlink: Netlink::open()?,
        })
    }

    /// All devices.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn list(&mut self) -> io::Result<Vec<Link>> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.netlink.dump(request)?;
        Ok(answers.iter().filter_map(link_of).collect())
    }

    /// The device of this name, which may be an alternative one.
    ///
    /// # Errors
    /// `NotFound` when there is none, or what else the kernel says.
    pub fn find(&mut self, name: &str) -> io::Result<Link> {
        let mut message = LinkMessage::default();
        // The kernel looks for a short name among those of both kinds.
        message.attributes.push(match sys::device_name(name) {
            Some(_) => LinkAttribute::IfName(name.to_owned()),
            None => LinkAttribute::Other(DefaultNla::new(IFLA_ALT_IFNAME, terminated(name))),
        });
        self.ask(message)?
            .as_ref()
            .and_then(link_of)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no device {name}")))
    }

    /// The device of this number; none when there is none in this namespace.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn find_index(&mut self, index: u32) -> io::Result<Option<Link>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        Ok(self.ask(message)?.as_ref().and_then(link_of))
    }

    /// Whether a device's frames go through a program of XDP before anybody else gets them; not those of one
    /// that is not there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn has_program(&mut self, index: u32) -> io::Result<bool> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let said = match self.ask(message)? {
            Some(RouteNetlinkMessage::NewLink(link)) => link.attributes,
            _ => Vec::new(),
        };
        let is_program = |said: &LinkXdp| matches!(said, LinkXdp::Attached(attached) if *attached != XdpAttached::None);
        Ok(said.iter().any(|attribute| match attribute {
            LinkAttribute::Xdp(said) => said.iter().any(is_program),
            _ => false,
        }))
    }

    fn ask(&mut self, message: LinkMessage) -> io::Result<Option<RouteNetlinkMessage>> {
        match self.netlink.query(RouteNetlinkMessage::GetLink(message)) {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            answer => answer,
        }
    }

    /// Switches a device on or off.
    ///
    /// # Errors
    /// What the kernel says: no such device, not permitted.
    pub fn set_up(&mut self, index: u32, up: bool) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Up;
        if up {
            message.header.flags = LinkFlags::Up;
        }
        self.netlink
            .change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sets a device's MTU in bytes.
    ///
    /// # Errors
    /// What the kernel says: no such device, not permitted, too long for the device.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        self.set(index, LinkAttribute::Mtu(mtu))
    }

    /// Sets a device's Ethernet address.
    ///
    /// # Errors
    /// As `set_mtu`.
    pub fn set_mac(&mut self, index: u32, mac: [u8; 6]) -> io::Result<()> {
        self.set(index, LinkAttribute::Address(mac.to_vec()))
    }

    /// Gives a device an address of this prefix length; one that it has is no error.
    ///
    /// # Errors
    /// As `set_mtu`.
    pub fn add_address(&mut self, index: u32, address: IpAddr, len: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.index = index;
        message.header.prefix_len = len;
        message.header.family = match address {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        };
        message.attributes.push(AddressAttribute::Address(address));
        if address.is_ipv4() {
            message.attributes.push(AddressAttribute::Local(address));
        }
        let request = RouteNetlinkMessage::NewAddress(message);
        self.netlink.change(request, NLM_F_CREATE | NLM_F_REPLACE)
    }

    fn set(&mut self, index: u32, attribute: LinkAttribute) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes.push(attribute);
        self.netlink
            .change(RouteNetlinkMessage::SetLink(message), 0)
    }
}

fn terminated(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

/// What happened to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// It is there: at the start, made, or moved into this namespace.
    Appeared(Link),
    /// It has other names now; more of it may have changed.
    Renamed(Link),
    /// Something of it changed, not only its counters.
    Changed(Link),
    /// It is gone: this is how it was last seen.
    Vanished(Link),
}

/// Follows the devices of a network namespace.
#[derive(Debug)]
pub struct LinkMonitor {
    socket: Socket,
    links: Links,
    known: BTreeMap<u32, Link>,
}

impl LinkMonitor {
    /// Begins to follow; the first `poll` tells all devices as appeared.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, 0))?;
        socket.add_membership(RTNLGRP_LINK)?;
        socket.set_non_blocking(true)?;
        Ok(Self {
            socket,
            links: Links::open()?,
            known: BTreeMap::new(),
        })
    }

    /// Readable when `poll` has something to tell.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the socket, which is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }

    /// The devices as last told.
    pub fn known(&self) -> impl Iterator<Item = &Link> {
        self.known.values()
    }

    /// Appends what happened since the last call, in order; never blocks.
    ///
    /// # Errors
    /// What the kernel says; the next call begins with a comparison of all devices.
    pub fn poll(&mut self, events: &mut Vec<LinkEvent>) -> io::Result<()> {
        if self.known.is_empty() {
            self.compare(events)?;
        }
        loop {
            let bytes = match self.socket.recv_from_full() {
                Ok((bytes, _from)) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Messages were lost: what they said shows in the comparison.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.compare(events)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for message in Messages(&bytes).flatten() {
                if let NetlinkPayload::InnerMessage(message) = message.payload {
                    self.told(&message, events);
                }
            }
        }
    }

    fn told(&mut self, message: &RouteNetlinkMessage, events: &mut Vec<LinkEvent>) {
        let Some(link) = link_of(message) else {
            return;
        };
        if matches!(message, RouteNetlinkMessage::DelLink(_)) {
            if let Some(link) = self.known.remove(&link.index) {
                events.push(LinkEvent::Vanished(link));
            }
        } else {
            self.saw(link, events);
        }
    }

    fn saw(&mut self, link: Link, events: &mut Vec<LinkEvent>) {
        let before = self.known.insert(link.index, link.clone());
        match before {
            None => events.push(LinkEvent::Appeared(link)),
            Some(before)
                if (&before.name, &before.alternatives) != (&link.name, &link.alternatives) =>
            {
                events.push(LinkEvent::Renamed(link));
            }
            Some(mut before) => {
                before.counters = link.counters;
                if before != link {
                    events.push(LinkEvent::Changed(link));
                }
            }
        }
    }

    /// Lists all devices and tells what differs from what was known.
    fn compare(&mut self, events: &mut Vec<LinkEvent>) -> io::Result<()> {
        let links = self.links.list()?;
        let gone: Vec<u32> = self
            .known
            .keys()
            .filter(|index| links.iter().all(|link| link.index != **index))
            .copied()
            .collect();
        let gone = gone.iter().filter_map(|index| self.known.remove(index));
        events.extend(gone.map(LinkEvent::Vanished));
        for link in links {
            self.saw(link, events);
        }
        Ok(())
    }
}

/// The device that a message tells about; none if it is about something else, such as a bridge's
/// view of its ports.
fn link_of(message: &RouteNetlinkMessage) -> Option<Link> {
    let (RouteNetlinkMessage::NewLink(message) | RouteNetlinkMessage::DelLink(message)) = message
    else {
        return None;
    };
    if u8::from(message.header.interface_family) != libc::AF_UNSPEC as u8 {
        return None;
    }
    let flags = message.header.flags;
    let mut link = Link {
        index: message.header.index,
        name: String::new(),
        alternatives: Vec::new(),
        mac: None,
        permanent_mac: None,
        master: None,
        mtu: 0,
        mtu_max: None,
        up: flags.contains(LinkFlags::Up),
        running: flags.contains(LinkFlags::Running | LinkFlags::LowerUp),
        loopback: flags.contains(LinkFlags::Loopback),
        kind: None,
        counters: LinkCounters::default(),
    };
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => link.name.clone_from(name),
            LinkAttribute::PropList(list) => link
                .alternatives
                .extend(list.iter().filter_map(alternative)),
            LinkAttribute::Address(bytes) => link.mac = bytes.as_slice().try_into().ok(),
            LinkAttribute::PermAddress(bytes) => {
                link.permanent_mac = bytes.as_slice().try_into().ok();
            }
            LinkAttribute::Controller(index) => link.master = (*index != 0).then_some(*index),
            LinkAttribute::Mtu(mtu) => link.mtu = *mtu,
            // Zero is a driver that does not say.
            LinkAttribute::MaxMtu(mtu) => link.mtu_max = (*mtu != 0).then_some(*mtu),
            LinkAttribute::Stats64(counters) => link.counters = counters_of(counters),
            LinkAttribute::LinkInfo(infos) => link.kind = kind_of(infos),
            _ => {}
        }
    }
    Some(link)
}

fn alternative(property: &Prop) -> Option<String> {
    match property {
        Prop::AltIfName(name) => Some(name.clone()),
        _ => None,
    }
}

fn kind_of(infos: &[LinkInfo]) -> Option<String> {
    infos.iter().find_map(|info| match info {
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    })
}

fn counters_of(counters: &Stats64) -> LinkCounters {
    LinkCounters {
        rx_packets: counters.rx_packets,
        tx_packets: counters.tx_packets,
        rx_bytes: counters.rx_bytes,
        tx_bytes: counters.tx_bytes,
        rx_errors: counters.rx_errors,
        tx_errors: counters.tx_errors,
        rx_dropped: counters.rx_dropped,
        tx_dropped: counters.tx_dropped,
    }
}
