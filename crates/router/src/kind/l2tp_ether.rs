//! `/interface/l2tp-ether`: Ethernet in sessions of L2TPv3 (RFC 3931, RFC 4719), static ones (`unmanaged-mode=yes`) and
//! those with a control connection. The latter are idle until the feature that has the control connections
//! (`feature/l2tp_ether/`) announces them with an open session.

use core::net::{IpAddr, Ipv4Addr};

use dataplane::encap::l2tp_ether::{Cookie, L2tpEther as Session};
use dataplane::out::OutId;
use frame::InterfaceId;
use menu::{Item, Value};
use service::neighbour::Mode;
use wire::Mac;

use super::{AnyKind, Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::compile::layout::made_mac;
use crate::intent::{Class, Interface, Name};
use crate::read;

/// Menu of the interfaces.
pub(crate) const MENU: &str = "/interface/l2tp-ether";
/// Name of the kind in names of dynamic interfaces.
pub(crate) const NAME: &str = "l2tp-ether";
/// UDP port of static sessions.
const PORT: u16 = 1701;
/// MTU of dynamic interfaces, in bytes.
const MTU: u32 = 1500;

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

/// An interface with an open session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct L2tpEther {
    /// Its link address; `None` generates one from its number.
    mac: Option<Mac>,
    /// Settings of the session; the layout adds the interface's id.
    session: Session,
}

impl Kind for L2tpEther {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        let own = made_mac(site.layout.base(), site.id);
        entry.link.mac = self.mac.unwrap_or(own);
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
        let session = Session {
            id: site.id,
            ..self.session.clone()
        };
        entry.tunnel = (!entry.disabled).then(|| session.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Tunnel
    }

    fn follows_first_port(&self) -> bool {
        self.mac.is_none()
    }

    fn l2mtu(&self) -> Option<u32> {
        // Frames of any length pass: outer packets are fragmented.
        Some(65_535)
    }
}

/// An item with a control connection, and without a session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Closed {
    /// Its link address; `None` generates one from its number.
    mac: Option<Mac>,
}

impl Kind for Closed {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        Idle.lay_out(entry, site);
    }

    fn if_type(&self, class: Class) -> IfType {
        Idle.if_type(class)
    }

    fn has_traffic(&self) -> bool {
        Idle.has_traffic()
    }
}

/// Reads an item. Items without a static session have none.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    let mac = item.get("mac-address").and_then(Value::as_mac).map(Mac);
    let kind = match static_session(item) {
        Some(session) => L2tpEther { mac, session }.into(),
        None => AnyKind::from(Closed { mac }),
    };
    read::interface_of(item, kind, Class::Other)
}

/// Returns the kind of an item with an open session; `closed` is the kind of the item without one.
pub(crate) fn open(session: Session, closed: &AnyKind) -> AnyKind {
    let closed = closed.downcast::<Closed>();
    AnyKind::from(L2tpEther {
        mac: closed.and_then(|closed| closed.mac),
        session,
    })
}

/// Returns the dynamic interface of a session.
pub(crate) fn dynamic(session: Session, name: Name) -> Interface {
    Interface {
        name,
        disabled: false,
        mtu: MTU,
        arp: Mode::Enabled,
        arp_timeout: None,
        kind: L2tpEther { mac: None, session }.into(),
        class: Class::Other,
    }
}

/// Returns the open session of an interface.
pub(crate) fn session(interface: &Interface) -> Option<&Session> {
    let open = interface.kind.downcast::<L2tpEther>();
    open.map(|open| &open.session)
}

/// Returns the static session of an item; `None` for `unmanaged-mode=no`.
fn static_session(item: &Item) -> Option<Session> {
    let address = |name| match item.get(name).and_then(Value::as_address) {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    };
    let number = |name| {
        let number = item.number(name)?;
        u32::try_from(number).ok().filter(|number| *number != 0)
    };
    if !item.is("unmanaged-mode") {
        return None;
    }
    Some(Session {
        id: InterfaceId::NONE,
        local: address("local-address").unwrap_or(Ipv4Addr::UNSPECIFIED),
        remote: address("connect-to")?,
        remote_port: PORT,
        in_udp: item.text("l2tp-proto-version") == "l2tpv3-udp",
        local_session: number("local-session-id")?,
        remote_session: number("remote-session-id")?,
        local_cookie: cookie(item.text("peer-cookie"))?,
        remote_cookie: cookie(item.text("send-cookie"))?,
        local_sublayer: item.is("use-l2-specific-sublayer"),
        remote_sublayer: item.is("use-l2-specific-sublayer"),
        protected: item.is("use-ipsec"),
        fast: item.is("allow-fast-path"),
    })
}

/// Reads a cookie in hexadecimal digits.
fn cookie(digits: &str) -> Option<Cookie> {
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes = (0..digits.len()).step_by(2).map(byte);
    Cookie::new(&bytes.collect::<Option<Vec<_>>>()?)
}
