//! The few things that the host plane asks of its namespace's kernel (rtnetlink(7)).

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
const LOOPBACK: u32 = 1;
/// The group of mirror devices; the kernel's own devices are in group 0.
const MIRRORS: u32 = 1;

/// The routing table of the router's own addresses.
const RT_TABLE_LOCAL: u8 = 255;

/// What leads packets to networks that no device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultRoute {
    /// Of IPv4.
    V4 {
        /// The source of packets of sockets that name none; `None` is the device's first address.
        source: Option<Ipv4Addr>,
    },
    /// Of IPv6.
    V6,
}

/// The network of an own IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LocalNetwork {
    first: Ipv4Addr,
    len: u8,
    source: Ipv4Addr,
    mtu: u32,
}

impl LocalNetwork {
    /// The network of an address with this prefix length; `None` if that is the address alone.
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

/// A socket to the kernel of the namespace that the calling thread is in.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens it.
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Brings the loopback up.
    pub(crate) fn loopback_up(&mut self) -> io::Result<()> {
        self.link_up(LOOPBACK, None)
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

    /// Makes a device one of those that go together with [`Self::remove_mirrors`].
    pub(crate) fn set_mirror(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes.push(LinkAttribute::Group(MIRRORS));
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Removes all mirrors at once. The kernel waits for its readers once for all of them, and once for each device
    /// that is removed by itself.
    pub(crate) fn remove_mirrors(&mut self) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.attributes.push(LinkAttribute::Group(MIRRORS));
        let asked = self.ask(RouteNetlinkMessage::DelLink(link), 0);
        unless(asked, Errno::NODEV)
    }

    /// Says what a device is, for who looks at it.
    pub(crate) fn set_alias(&mut self, index: u32, alias: &str) -> io::Result<()> {
        // The kernel's own limit (IFALIASZ).
        const BYTES_MAX: usize = 255;
        let alias = &alias[..alias.floor_char_boundary(BYTES_MAX)];
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.attributes
            .push(LinkAttribute::IfAlias(alias.to_owned()));
        self.ask(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Removes a device, even while somebody has it open; one that is gone already is no error.
    pub(crate) fn remove_link(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        let asked = self.ask(RouteNetlinkMessage::DelLink(link), 0);
        unless(asked, Errno::NODEV)
    }

    /// Gives a device an address; there is nothing to be found out about duplicates, as the router
    /// has done that.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr, len: u8) -> io::Result<()> {
        let message = address_message(index, address, len);
        self.ask(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Takes an address off a device; one that it does not have is no error.
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

    /// Routes everything of a family out of a device, but for what has a more special route; or no more.
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

    /// Makes an address one of the router's own on a device, or takes it away: a route, of which there may be many.
    pub(crate) fn set_local(&mut self, index: u32, address: IpAddr, own: bool) -> io::Result<()> {
        let mut message = route_message(index, address.is_ipv6(), RT_TABLE_LOCAL);
        message.header.kind = RouteType::Local;
        message.header.scope = RouteScope::Host;
        message.header.destination_prefix_length = if address.is_ipv4() { 32 } else { 128 };
        let destination = RouteAttribute::Destination(address.into());
        message.attributes.push(destination);
        self.set_route(message, own)
    }

    /// Leads a network of IPv4 to a device, or no more.
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

    /// Adds a route behind those that have the same destination, or removes it.
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

/// This error is none.
fn unless(asked: io::Result<()>, harmless: Errno) -> io::Result<()> {
    match asked {
        Err(error) if Errno::from_io_error(&error) == Some(harmless) => Ok(()),
        other => other,
    }
}

/// A route to everything, by a device.
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
