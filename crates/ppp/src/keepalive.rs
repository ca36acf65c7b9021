//! Detection of a dead peer, and probe of the MTU, both by LCP Echo-Requests.

use machine::{Duration, Instant};

use crate::settings::Keepalive;

/// Time between Echo-Requests.
const ECHO_INTERVAL: Duration = Duration::from_secs(1);
/// Echo-Requests of an MTU probe.
const PROBES: u8 = 3;
/// RouterOS: MTU after a probe without a reply.
pub(crate) const FALLBACK_MTU: u16 = 1480;

/// Reaction to the expiry of the keepalive timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Ask the owner whether packets have arrived.
    QueryTraffic,
    /// Ask the owner, and send an Echo-Request.
    SendEcho,
    /// The peer is dead.
    Dead,
}

/// Silence of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// The peer was heard within the timeout.
    None,
    /// The owner is asked whether packets have arrived.
    Queried,
    /// Echo-Requests without an answer.
    Echoes(u16),
}

/// Timer of the keepalive.
#[derive(Debug)]
pub(crate) struct KeepaliveTimer {
    settings: Keepalive,
    silence: Silence,
    expires: Instant,
}

impl KeepaliveTimer {
    pub(crate) fn new(settings: Keepalive, now: Instant) -> Self {
        let mut timer = Self {
            settings,
            silence: Silence::None,
            expires: now,
        };
        timer.heard(now);
        timer
    }

    pub(crate) const fn expires(&self) -> Instant {
        self.expires
    }

    /// A packet of the peer has arrived.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.silence = Silence::None;
        self.expires = now + self.settings.timeout.max(ECHO_INTERVAL);
    }

    /// No packet has arrived since the previous query. Returns true if an Echo-Request must be sent now.
    pub(crate) fn silent(&mut self, now: Instant) -> bool {
        if self.silence != Silence::Queried {
            return false;
        }
        self.count_echo(1, now);
        true
    }

    /// Handles the expiry of the timer.
    pub(crate) fn expire(&mut self, now: Instant) -> Expiry {
        match self.silence {
            Silence::None => {
                self.silence = Silence::Queried;
                self.expires = now + ECHO_INTERVAL;
                Expiry::QueryTraffic
            }
            Silence::Queried => {
                self.count_echo(1, now);
                Expiry::SendEcho
            }
            Silence::Echoes(count) if count >= self.settings.echoes => Expiry::Dead,
            Silence::Echoes(count) => {
                self.count_echo(count + 1, now);
                Expiry::SendEcho
            }
        }
    }

    fn count_echo(&mut self, count: u16, now: Instant) {
        self.silence = Silence::Echoes(count);
        self.expires = now + ECHO_INTERVAL;
    }
}

/// Probe of the MTU by an Echo-Request of full size.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) mtu: u16,
    pub(crate) id: u8,
    left: u8,
    expires: Instant,
}

impl Probe {
    /// Begins a probe; the owner sends the first Echo-Request.
    pub(crate) fn new(mtu: u16, id: u8, now: Instant) -> Self {
        Self {
            mtu,
            id,
            left: PROBES - 1,
            expires: now + ECHO_INTERVAL,
        }
    }

    pub(crate) const fn expires(&self) -> Instant {
        self.expires
    }

    /// Handles the expiry: returns true if another Echo-Request must be sent, false if the probe failed.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        self.expires = now + ECHO_INTERVAL;
        let left = self.left;
        self.left = left.saturating_sub(1);
        left > 0
    }
}
