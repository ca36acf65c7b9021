//! Network devices of the host through netlink: listing, monitoring, configuration (rtnetlink(7)).
//!
//! [`Links`] queries and changes devices; [`LinkMonitor`] reports changes. A device is identified by its index: a
//! device that was deleted and recreated under the same name gets another one.

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

/// Multicast group of link changes.
const RTNLGRP_LINK: u32 = 1;

/// Alternative name of a device, from `if_link.h`, since Linux 5.5.
const IFLA_ALT_IFNAME: u16 = 53;

/// Counters of a device's driver since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Received frames.
    pub rx_packets: u64,
    /// Sent frames.
    pub tx_packets: u64,
    /// Received bytes.
    pub rx_bytes: u64,
    /// Sent bytes.
    pub tx_bytes: u64,
    /// Damaged received frames.
    pub rx_errors: u64,
    /// Frames not sent because of a line or device error.
    pub tx_errors: u64,
    /// Received frames that were dropped.
    pub rx_dropped: u64,
    /// Frames dropped before transmission.
    pub tx_dropped: u64,
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Index.
    pub index: u32,
    /// Name in this namespace.
    pub name: String,
    /// Alternative names, which may be longer.
    pub alternatives: Vec<String>,
    /// MAC address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Permanent MAC address; virtual devices have none.
    pub permanent_mac: Option<[u8; 6]>,
    /// Index of the bridge, bond or similar device that it belongs to.
    pub master: Option<u32>,
    /// MTU in bytes, without the link-layer header.
    pub mtu: u32,
    /// Maximum MTU of the driver, if known.
    pub mtu_max: Option<u32>,
    /// Administratively up.
    pub up: bool,
    /// Up with carrier.
    pub running: bool,
    /// Loopback device.
    pub loopback: bool,
    /// Kind of a virtual device, such as `veth` or `tun`; `None` for hardware.
    pub kind: Option<String>,
    /// Counters of the driver.
    pub counters: LinkCounters,
}

impl Link {
    /// True if the device has this name or alternative name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.alternatives.iter().any(|other| other == name)
    }
}

/// Queries and changes devices in the network namespace of the thread that opened it.
#[derive(Debug)]
pub struct Links {
    netlink: Netlink,
}

impl Links {
    /// Opens a socket.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            netlink: Netlink::open()?,
        })
    }

    /// Lists all devices.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn list(&mut self) -> io::Result<Vec<Link>> {
        let request = RouteNetlinkMessage::GetLink(LinkMessage::default());
        let answers = self.netlink.dump(request)?;
        Ok(answers.iter().filter_map(link_of).collect())
    }

    /// Finds a device by name or alternative name.
    ///
    /// # Errors
    /// Returns `NotFound` if there is none, or another error of the kernel.
    pub fn find(&mut self, name: &str) -> io::Result<Link> {
        let mut message = LinkMessage::default();
        // For a short name the kernel searches names and alternative names.
        message.attributes.push(match sys::device_name(name) {
            Some(_) => LinkAttribute::IfName(name.to_owned()),
            None => LinkAttribute::Other(DefaultNla::new(IFLA_ALT_IFNAME, terminated(name))),
        });
        self.ask(message)?
            .as_ref()
            .and_then(link_of)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no device {name}")))
    }

    /// Finds a device of this namespace by index.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn find_index(&mut self, index: u32) -> io::Result<Option<Link>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        Ok(self.ask(message)?.as_ref().and_then(link_of))
    }

    /// True if the device exists and has an XDP program.
    ///
    /// # Errors
    /// Returns the kernel's error.
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

    /// Sets a device up or down.
    ///
    /// # Errors
    /// Returns the kernel's error: no such device, not permitted.
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
    /// Returns the kernel's error: no such device, not permitted, too long for the device.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        self.set(index, LinkAttribute::Mtu(mtu))
    }

    /// Sets a device's MAC address.
    ///
    /// # Errors
    /// Returns the kernel's error.
    pub fn set_mac(&mut self, index: u32, mac: [u8; 6]) -> io::Result<()> {
        self.set(index, LinkAttribute::Address(mac.to_vec()))
    }

    /// Adds an address with this prefix length to a device; an existing one is no error.
    ///
    /// # Errors
    /// Returns the kernel's error.
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

/// Change of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The device exists: at the start, created, or moved into this namespace.
    Appeared(Link),
    /// The names changed; other attributes may have changed, too.
    Renamed(Link),
    /// Attributes other than counters changed.
    Changed(Link),
    /// The device is gone; holds its last known state.
    Vanished(Link),
}

/// Monitors the devices of a network namespace.
#[derive(Debug)]
pub struct LinkMonitor {
    socket: Socket,
    links: Links,
    known: BTreeMap<u32, Link>,
}

impl LinkMonitor {
    /// Starts monitoring; the first `poll` reports all devices as appeared.
    ///
    /// # Errors
    /// Returns the kernel's error.
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

    /// Readable when `poll` has events.
    pub fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the socket, which is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }

    /// Devices as last reported.
    pub fn known(&self) -> impl Iterator<Item = &Link> {
        self.known.values()
    }

    /// Appends the events since the last call, in order; never blocks.
    ///
    /// # Errors
    /// Returns the kernel's error; the next call starts with a comparison of all devices.
    pub fn poll(&mut self, events: &mut Vec<LinkEvent>) -> io::Result<()> {
        if self.known.is_empty() {
            self.compare(events)?;
        }
        loop {
            let bytes = match self.socket.recv_from_full() {
                Ok((bytes, _from)) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Messages were lost; the comparison finds the changes.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.compare(events)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for message in Messages(&bytes).flatten() {
                if let NetlinkPayload::InnerMessage(message) = message.payload {
                    self.apply(&message, events);
                }
            }
        }
    }

    fn apply(&mut self, message: &RouteNetlinkMessage, events: &mut Vec<LinkEvent>) {
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

    /// Lists all devices and reports differences to the known ones.
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

/// Device in a message; `None` for other messages, such as a bridge's view of its ports.
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
            // Zero means that the driver has no limit.
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
