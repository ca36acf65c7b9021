//! Log messages about frames that a bridge port received with an address of the router as their source.

use frame::InterfaceId;
use machine::{Duration, Instant};
use wire::Mac;

use super::Bridges;
use crate::feature::Effects;

/// Limit as in Linux (`net_ratelimit`): ten messages in five seconds.
const BURST: u32 = 10;
const WINDOW: Duration = Duration::from_secs(5);

/// Messages counted in the present window.
#[derive(Debug, Default)]
pub(super) struct OwnSources {
    began: Option<Instant>,
    logged: u32,
}

impl OwnSources {
    /// Counts a message. Returns whether it is within the limit.
    fn admits(&mut self, now: Instant) -> bool {
        let is_over = |began: Instant| now.saturating_since(began) >= WINDOW;
        if self.began.is_none_or(is_over) {
            (self.began, self.logged) = (Some(now), 0);
        }
        self.logged = self.logged.saturating_add(1);
        self.logged <= BURST
    }
}

impl Bridges {
    /// Logs that a port received a frame whose source is an address of the bridge or of a port.
    /// Each worker limits its reports; this limit holds for all workers together.
    pub(crate) fn report_own_source(
        &mut self,
        port: InterfaceId,
        mac: Mac,
        now: Instant,
        out: &mut Effects,
    ) {
        let one = self.ids.get(&port).and_then(|item| self.all.get(item));
        let number = one.and_then(|one| Some((one, one.number_of(port)?)));
        let Some((one, number)) = number.filter(|_| self.own_sources.admits(now)) else {
            return;
        };
        // RouterOS writes this address in lower case.
        let (name, mac) = (one.name_of(number), mac.to_string().to_lowercase());
        let message = format!(
            "{name}: bridge port received packet with own address as source address ({mac}), probably loop"
        );
        out.log("interface,warning", message);
    }
}
