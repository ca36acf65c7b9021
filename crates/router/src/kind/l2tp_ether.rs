//! `/interface/l2tp-ether` with `unmanaged-mode=yes`: Ethernet in static sessions of L2TPv3 (RFC 3931, RFC 4719). Items
//! with a control connection or `use-ipsec=yes` are idle.

use core::net::{IpAddr, Ipv4Addr};

use dataplane::encap::l2tp_ether::{Cookie, L2tpEther as Session};
use dataplane::out::OutId;
use frame::InterfaceId;
use menu::{Item, Value};
use wire::Mac;

use super::{AnyKind, Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::compile::layout::made_mac;
use crate::intent::{Class, Interface};
use crate::read;

const MENU: &str = "/interface/l2tp-ether";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read,
};

/// A static session.
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

/// Reads an item. Items without a static session are idle.
fn read(item: &Item) -> Option<Interface> {
    let kind = session(item).map(|session| L2tpEther {
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        session,
    });
    let kind = kind.map_or_else(|| AnyKind::from(Idle), AnyKind::from);
    read::interface_of(item, kind, Class::Other)
}

/// Returns the static session of an item; `None` for `unmanaged-mode=no` and `use-ipsec=yes`.
fn session(item: &Item) -> Option<Session> {
    let address = |name| match item.get(name).and_then(Value::as_address) {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    };
    let number = |name| {
        let number = item.number(name)?;
        u32::try_from(number).ok().filter(|number| *number != 0)
    };
    // Frames that the configuration wants encrypted never leave in clear.
    if !item.is("unmanaged-mode") || item.is("use-ipsec") {
        return None;
    }
    Some(Session {
        id: InterfaceId::NONE,
        local: address("local-address").unwrap_or(Ipv4Addr::UNSPECIFIED),
        remote: address("connect-to")?,
        in_udp: item.text("l2tp-proto-version") == "l2tpv3-udp",
        local_session: number("local-session-id")?,
        remote_session: number("remote-session-id")?,
        local_cookie: cookie(item.text("peer-cookie"))?,
        remote_cookie: cookie(item.text("send-cookie"))?,
        has_sublayer: item.is("use-l2-specific-sublayer"),
        fast: item.is("allow-fast-path"),
    })
}

/// Reads a cookie in hexadecimal digits.
fn cookie(digits: &str) -> Option<Cookie> {
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes = (0..digits.len()).step_by(2).map(byte);
    Cookie::new(&bytes.collect::<Option<Vec<_>>>()?)
}
