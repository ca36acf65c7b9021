//! OpenVPN sessions: `/interface/ovpn-client`, and bindings and dynamic interfaces of `/interface/ovpn-server`.
//!
//! An item without an open session is idle. The feature that has the sessions (`feature/ppp/`) announces it again with
//! this kind while its session is open.

use std::sync::Arc;

use dataplane::encap::ovpn::{self as encap, Session};
use dataplane::out::OutId;
use menu::Item;
use openvpn::{Bits, Cipher};
use wire::Mac;

use super::{Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::compile::layout::made_mac;
use crate::intent::{Class, Interface};
use crate::read;

/// Menu of clients.
pub(crate) const CLIENT_MENU: &str = "/interface/ovpn-client";
/// Menu of server interfaces.
pub(crate) const SERVER_MENU: &str = "/interface/ovpn-server";

/// Property of clients with the key that protects control packets, for [`openvpn::protection_from_text`].
pub(crate) const CONTROL_KEY: &str = "control-key";
/// Ciphers of this router with their words, the preferred ones first.
pub(crate) const CIPHERS: [(&str, Cipher); 7] = [
    ("aes256-gcm", Cipher::AesGcm(Bits::B256)),
    ("aes192-gcm", Cipher::AesGcm(Bits::B192)),
    ("aes128-gcm", Cipher::AesGcm(Bits::B128)),
    ("aes256-cbc", Cipher::AesCbc(Bits::B256)),
    ("aes192-cbc", Cipher::AesCbc(Bits::B192)),
    ("aes128-cbc", Cipher::AesCbc(Bits::B128)),
    ("null", Cipher::None),
];

pub(super) const KIND: Registration = Registration {
    menus: &[CLIENT_MENU, SERVER_MENU],
    read,
};

/// Default MTU of a session in bytes (RouterOS).
const MTU: u32 = 1500;

/// An open session.
#[derive(Clone, Debug)]
pub(crate) struct Ovpn {
    /// Its keys and addresses.
    pub(crate) session: Arc<Session>,
    /// The session carries Ethernet frames (`mode=ethernet`).
    pub(crate) has_frames: bool,
    /// Link address of such a session; `None` generates one.
    pub(crate) mac: Option<Mac>,
    /// The session has a key for sending: packets may pass.
    pub(crate) has_key: bool,
}

impl PartialEq for Ovpn {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session)
            && (self.has_frames, self.mac, self.has_key)
                == (other.has_frames, other.mac, other.has_key)
    }
}

impl Eq for Ovpn {}

impl Kind for Ovpn {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = self.has_frames;
        if self.has_frames {
            let own = made_mac(site.layout.base(), site.id);
            entry.link.mac = self.mac.unwrap_or(own);
        }
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled && self.has_key;
        let tunnel = encap::Ovpn {
            id: site.id,
            session: Arc::clone(&self.session),
            has_frames: self.has_frames,
        };
        entry.tunnel = (!entry.disabled).then(|| tunnel.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        match self.has_frames {
            true => IfType::Tunnel,
            false => IfType::Ppp,
        }
    }

    fn follows_first_port(&self) -> bool {
        self.has_frames && self.mac.is_none()
    }
}

/// Reads an item. The interface is idle until its session is open.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    Some(Interface {
        mtu: MTU,
        ..read::interface_of(item, Idle, Class::Ppp)?
    })
}
