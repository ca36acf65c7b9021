//! Sessions that are ports of a bridge: by BCP (RFC 3518), or over a carrier of frames.

use machine::Instant;
use ppp::BridgeLink;

use super::Ppp;
use super::objects::owner_of_port;
use super::session::Login;
use crate::feature::{Effect, Effects};
use crate::object::{DynamicBridgePort, Made};

impl Ppp {
    /// Handles the end of BCP: makes the session a port of the bridge that its profile names.
    pub(super) fn bridge_up(
        &mut self,
        serial: u64,
        link: BridgeLink,
        now: Instant,
        out: &mut Effects,
    ) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let has_frames = session.setup.settings.carries_frames;
        let Some(login) = session.login.as_deref_mut() else {
            return;
        };
        // A carrier of frames needs no BCP around them.
        login.bridge = (!has_frames).then_some(link);
        let port = login.bridge_port();
        self.open(serial, now, out);
        if let Some(port) = port {
            out.object(owner_of_port(serial), Made::BridgePort(Box::new(port)));
        }
        self.come_up(serial, now, out);
    }

    /// Removes the session from its bridge.
    pub(super) fn bridge_down(&mut self, serial: u64, out: &mut Effects) {
        if self.login_mut(serial).is_some() {
            out.push(Effect::Gone(owner_of_port(serial)));
        }
    }
}

impl Login {
    fn bridge_port(&self) -> Option<DynamicBridgePort> {
        let profile = &self.grant.profile;
        Some(DynamicBridgePort {
            bridge: profile.bridge.clone()?,
            interface: self.interface.name.clone(),
            pvid: profile.bridge_vid,
            priority: profile.bridge_priority,
            path_cost: profile.bridge_cost,
            horizon: profile.bridge_horizon,
            learn: profile.bridge_learning,
            trusted: profile.bridge_trusted == Some(true),
        })
    }
}
