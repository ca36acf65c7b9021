//! Netlink requests of the host plane to its namespace's kernel (rtnetlink(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::io::Errno;

/// The loopback is always the first device of a namespace.
const LOOPBACK_INDEX: u32 = 1;
/// Link group of mirror devices; the kernel's own devices are in group 0.
const MIRROR_GROUP: u32 = 1;

/// Routing table of local addresses.
const RT_TABLE_LOCAL: u8 = 255;

/// Default route to a mirror device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultRoute {
    /// IPv4.
    V4 {
        /// Source address of sockets without one; `None` selects the device's first address.
        source: Option<Ipv4Addr>,
    },
    /// IPv6.
    V6,
}

/// Network of a local IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LocalNetwork {
    first: Ipv4Addr,
    len: u8,
    source: Ipv4Addr,
    mtu: u32,
}

impl LocalNetwork {
    /// Returns the network of an address; `None` for a /32.
    pub(crate) fn of(source: Ipv4Addr, len: u8, mtu: u32) -> Option<Self> {
        let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
        (len < 32).then(|| Self {
            first: Ipv4Addr::from_bits(source.to_bits() & mask),
            len,
            source,
            mtu,
        })
    }
}

/// Netlink socket of the calling thread's namespace.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens the socket.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Brings the loopback device up.
    pub(crate) fn loopback_up(&mut self) -> io::Result<()> {
        self.link_up(LOOPBACK_INDEX, None)
    }

    /// Brings a device up, with this MTU in bytes.
    pub(crate) fn link_up(&mut self, index: u32, mtu: Option<u32>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        link.attributes.extend(mtu.map(LinkAttribute::Mtu));
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Adds a device to the link group that [`Self::remove_mirrors`] removes.
    pub(crate) fn set_mirror(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes.push(LinkAttribute::Group(MIRROR_GROUP));
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Removes all mirrors in one request. The kernel then waits once for its readers; separate requests wait
    /// once each.
    pub(crate) fn remove_mirrors(&mut self) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::Group(MIRROR_GROUP));
        let asked = self.ask(RouteNetlinkMessage::DelLink(link), 0);
        unless(asked, Errno::NODEV)
    }

    /// Sets the alias of a device, which `ip link` shows.
    pub(crate) fn set_alias(&mut self, index: u32, alias: &str) -> io::Result<()> {
        // Limit of the kernel (IFALIASZ).
        const MAX_ALIAS_BYTES: usize = 255;
        let alias = &alias[..alias.floor_char_boundary(MAX_ALIAS_BYTES)];
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes
            .push(LinkAttribute::IfAlias(alias.to_owned()));
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Removes a device, even if it is open. A missing one is no error.
    pub(crate) fn remove_link(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        let asked = self.ask(RouteNetlinkMessage::DelLink(link), 0);
        unless(asked, Errno::NODEV)
    }

    /// Adds an address to a device, without duplicate address detection: the router has done that.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr, len: u8) -> io::Result<()> {
        let message = address_message(index, address, len);
        self.ask(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Removes an address from a device. A missing one is no error.
    pub(crate) fn remove_address(
        &mut self,
        index: u32,
        address: IpAddr,
        len: u8,
    ) -> io::Result<()> {
        let message = address_message(index, address, len);
        let asked = self.ask(RouteNetlinkMessage::DelAddress(message), 0);
        unless(asked, Errno::ADDRNOTAVAIL)
    }

    /// Adds or removes the default route of a family to a device.
    pub(crate) fn set_default(
        &mut self,
        index: u32,
        route: &DefaultRoute,
        wanted: bool,
    ) -> io::Result<()> {
        let (ipv6, source) = match route {
            DefaultRoute::V4 { source } => (false, source.map(IpAddr::V4)),
            DefaultRoute::V6 => (true, None),
        };
        let mut message = route_message(index, ipv6, RouteHeader::RT_TABLE_MAIN);
        message.attributes.extend(source.map(source_of));
        if !wanted {
            return self.set_route(message, false);
        }
        self.ask(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Adds or removes a route of type `local`; a device may have many.
    pub(crate) fn set_local(&mut self, index: u32, address: IpAddr, own: bool) -> io::Result<()> {
        let mut message = route_message(index, address.is_ipv6(), RT_TABLE_LOCAL);
        message.header.kind = RouteType::Local;
        message.header.scope = RouteScope::Host;
        message.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        let destination = RouteAttribute::Destination(address.into());
        message.attributes.push(destination);
        self.set_route(message, own)
    }

    /// Adds or removes the route of an IPv4 network to a device.
    pub(crate) fn set_network(
        &mut self,
        index: u32,
        network: &LocalNetwork,
        wanted: bool,
    ) -> io::Result<()> {
        let mut message = route_message(index, false, RouteHeader::RT_TABLE_MAIN);
        message.header.destination_prefix_length = network.len;
        let first = IpAddr::V4(network.first);
        let attributes = [
            RouteAttribute::Destination(first.into()),
            source_of(network.source.into()),
            RouteAttribute::Metrics(vec![RouteMetric::Mtu(network.mtu)]),
        ];
        message.attributes.extend(attributes);
        self.set_route(message, wanted)
    }

    /// Appends a route after those with the same destination, or removes it.
    fn set_route(&mut self, message: RouteMessage, wanted: bool) -> io::Result<()> {
        match wanted {
            true => {
                let new = RouteNetlinkMessage::NewRoute(message);
                unless(self.ask(new, NLM_F_CREATE | NLM_F_APPEND), Errno::EXIST)
            }
            false => {
                let old = RouteNetlinkMessage::DelRoute(message);
                unless(self.ask(old, 0), Errno::SRCH)
            }
        }
    }

    fn ask(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            if let NetlinkPayload::Error(error) = answer.payload {
                return match error.code {
                    None => Ok(()),
                    Some(code) => Err(io::Error::from_raw_os_error(-code.get())),
                };
            }
        }
    }
}

/// Turns a harmless error into success.
fn unless(asked: io::Result<()>, harmless: Errno) -> io::Result<()> {
    match asked {
        Err(error) if Errno::from_io_error(&error) == Some(harmless) => Ok(()),
        other => other,
    }
}

/// Builds a default route to a device.
fn route_message(index: u32, ipv6: bool, table: u8) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: match ipv6 {
            true => AddressFamily::Inet6,
            false => AddressFamily::Inet,
        },
        table,
        protocol: RouteProtocol::Static,
        scope: match ipv6 {
            true => RouteScope::Universe,
            false => RouteScope::Link,
        },
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    message.attributes.push(RouteAttribute::Oif(index));
    message
}

fn source_of(address: IpAddr) -> RouteAttribute {
    RouteAttribute::PrefSource(address.into())
}

fn address_message(index: u32, address: IpAddr, len: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.index = index;
    message.header.prefix_len = len;
    message.header.family = match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    };
    if address.is_ipv6() {
        message.header.flags = AddressHeaderFlags::Nodad;
    }
    message.attributes.push(AddressAttribute::Local(address));
    message.attributes.push(AddressAttribute::Address(address));
    message
}
