//! Reads the items of the menus of PPTP.

use std::sync::Arc;

use menu::Item;
use ppp::Role;

use super::super::clients::{ClientSettings, Remote};
use super::super::units::Units;
use crate::feature::ppp::dial::{self, Dial};
use crate::intent::Name;
use crate::read;

/// Settings of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) dial: Arc<Dial>,
    remote: Remote,
    is_on_demand: bool,
    units: Units,
}

impl Client {
    /// Reads an item; `None` for a disabled or incomplete item.
    pub(super) fn read(item: &Item) -> Option<Self> {
        if item.is("disabled") {
            return None;
        }
        Some(Self {
            dial: Arc::new(Dial::read(item)?),
            remote: Remote::read(item)?,
            is_on_demand: item.is("dial-on-demand"),
            units: Units::read(item),
        })
    }

    /// Returns the PPP settings of a session.
    pub(super) fn of_ppp(&self) -> ppp::Settings {
        ppp::Settings {
            methods: self.dial.methods,
            ..self.units.of_ppp(Role::Client)
        }
    }
}

impl ClientSettings for Client {
    const TOPICS: &'static str = "pptp,ppp";
    const NO_IPV6: Option<&'static str> = Some("PPTP needs an IPv4 address of the server");

    fn dial(&self) -> &Dial {
        &self.dial
    }

    fn remote(&self) -> &Remote {
        &self.remote
    }

    fn is_on_demand(&self) -> bool {
        self.is_on_demand
    }
}

/// Settings of the server.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) is_enabled: bool,
    pub(super) profile: Name,
    /// PPP settings that its sessions share.
    pub(super) of_ppp: Arc<ppp::Settings>,
}

impl Server {
    /// Reads the settings. `identity` is the name of this router.
    pub(super) fn read(item: &Item, identity: &str) -> Self {
        let of_ppp = ppp::Settings {
            methods: dial::methods(item, "authentication"),
            local_name: identity.into(),
            ..Units::read(item).of_ppp(Role::Server)
        };
        Self {
            is_enabled: item.is("enabled"),
            profile: read::name(item, "default-profile").unwrap_or_else(|| "default".into()),
            of_ppp: Arc::new(of_ppp),
        }
    }
}
