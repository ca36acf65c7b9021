//! Settings of RADIUS for PPP users, `/ppp/aaa`.

use machine::Duration;
use menu::Item;

use crate::read;

/// Menu of the settings.
pub(super) const MENU: &str = "/ppp/aaa";

/// The settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Aaa {
    /// Users without a secret are authenticated by RADIUS.
    pub(super) use_radius: bool,
    /// Sessions are accounted by RADIUS.
    pub(super) accounting: bool,
    /// Interval of interim updates; `None` sends none, unless the server wants them.
    pub(super) interim: Option<Duration>,
    /// `NAS-Port-Id` is the circuit identifier where a client has one.
    pub(super) circuit_id: bool,
}

impl Aaa {
    /// Reads the settings.
    pub(super) fn read(item: &Item) -> Self {
        Self {
            use_radius: item.is("use-radius"),
            accounting: item.is("accounting"),
            interim: read::span(item, "interim-update").filter(|span| !span.is_zero()),
            circuit_id: item.is("use-circuit-id-in-nas-port-id"),
        }
    }
}
