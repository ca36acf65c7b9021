//! Admission of first messages: which peers get an answer, when they need a cookie, and which half-open SA
//! gives way.

use core::net::IpAddr;

use machine::Instant;

use super::core::{Context, Datagram};
use super::sa::Sa;
use super::{Engine, is_host};
use crate::config::Exchange;
use crate::event::{Action, Level, SaId, Why};
use crate::message::Version;
use crate::{v1, v2};

/// Occupancy of the table of half-open SAs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Light,
    /// Above the cookie threshold: IKEv2 demands cookies.
    Busy,
    /// Full: a verified peer displaces the oldest entry.
    Full,
    /// The table of IKE SAs itself is full.
    Over,
}

impl Engine {
    /// Answers a first message if a peer is configured for it and the limits allow it.
    pub(super) fn first(&mut self, datagram: &Datagram<'_>, now: Instant, out: &mut Vec<Action>) {
        let Datagram {
            header,
            bytes,
            path,
        } = *datagram;
        let exchange = match header.version {
            Version::One => v1::Sa::first_exchange(header.exchange),
            Version::Two => v2::is_first(header).then_some(Exchange::Ike2),
        };
        let Some(exchange) = exchange else {
            return self.core.count("unknown-spi");
        };
        let (local, remote) = (path.local.ip(), path.remote.ip());
        let Some(id) = self.core.peer_for(local, remote, exchange) else {
            let mut cx = self.context(now, out);
            if cx.tells_of_stranger() {
                let version = match header.version {
                    Version::One => "IKEv1",
                    Version::Two => "IKEv2",
                };
                let text = format!("no {version} peer config for {remote}");
                cx.log(Level::Error, text);
            }
            return self.core.count("no-peer");
        };
        let Some(peer) = self.core.peers.get(&id).cloned() else {
            return;
        };
        let is_proved = exchange == Exchange::Ike2 && self.gate.is_proved(bytes, path.remote, now);
        // Senders with a cookie, and peers with a host address, displace the oldest half-open SA.
        let is_preferred = is_proved || exchange != Exchange::Ike2 && is_host(&peer);
        let load = self.load(remote);
        if load == Load::Over || load == Load::Full && exchange != Exchange::Ike2 && !is_preferred {
            return self.core.count("too-many-half-open");
        }
        if load == Load::Full && is_preferred {
            self.drop_oldest(remote, now, out);
        }
        let busy = load != Load::Light && !is_proved;
        let sa_id = SaId(self.core.number());
        let mut cx = Context {
            core: &mut self.core,
            now,
            out,
        };
        let begun = if exchange == Exchange::Ike2 {
            let gate = busy.then_some(&*self.gate);
            v2::Sa::respond(sa_id, id, peer, datagram, gate, &mut cx)
                .map(|sa| Sa::Two(Box::new(sa)))
        } else if busy && !is_preferred {
            // IKEv1 has no cookies: unverified senders have to wait.
            return cx.core.count("too-many-half-open");
        } else {
            v1::Sa::respond(sa_id, id, peer, datagram, &mut cx).map(|sa| Sa::One(Box::new(sa)))
        };
        if let Some(sa) = begun {
            self.put(sa);
        }
    }

    /// Returns the occupancy of the half-open table for a sender.
    fn load(&self, remote: IpAddr) -> Load {
        let settings = &self.core.settings;
        if self.sas.len() >= settings.sas {
            return Load::Over;
        }
        match self.half_open.len() {
            _ if self.is_crowded(remote) => Load::Full,
            count if count >= settings.half_open => Load::Full,
            count if count >= settings.cookie_threshold => Load::Busy,
            _ => Load::Light,
        }
    }

    fn is_crowded(&self, remote: IpAddr) -> bool {
        let of_address = self.half_open_of.get(&remote).copied().unwrap_or(0);
        of_address >= self.core.settings.half_open_per_address
    }

    /// Closes the oldest half-open responder SA: of this address if it exceeds its limit, else of any address.
    fn drop_oldest(&mut self, remote: IpAddr, now: Instant, out: &mut Vec<Action>) {
        let of_address = self.is_crowded(remote);
        let mut all = self.half_open.iter();
        let oldest = all.find(|(_, address)| !of_address || **address == remote);
        if let Some(id) = oldest.map(|(id, _)| *id) {
            self.core.count("half-open-displaced");
            self.close(id, Why::Unreachable, now, out);
        }
    }
}
