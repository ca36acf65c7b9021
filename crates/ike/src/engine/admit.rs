//! First messages of peers: who is answered, who must prove its address, and who takes whose place.

use core::net::{IpAddr, SocketAddr};

use machine::Instant;

use super::core::Context;
use super::sa::Sa;
use super::{Engine, STRANGERS, is_host};
use crate::config::Exchange;
use crate::event::{Action, Level, SaId, Why};
use crate::message::{Header, Version};
use crate::{v1, v2};

impl Engine {
    /// Answers a first message, if there is a peer for it and not too many are half done.
    pub(super) fn first(
        &mut self,
        header: &Header,
        bytes: &[u8],
        (ends, natt): ((SocketAddr, SocketAddr), bool),
        (now, out): (Instant, &mut Vec<Action>),
    ) {
        let exchange = match header.version {
            Version::One => v1::Sa::first_exchange(header.exchange),
            Version::Two => v2::is_first(header).then_some(Exchange::Ike2),
        };
        let Some(exchange) = exchange else {
            return self.core.count("unknown-spi");
        };
        let (local, remote) = (ends.0.ip(), ends.1.ip());
        let Some(id) = self.core.peer_for(local, remote, exchange) else {
            if self.stranger_at.is_none_or(|at| at + STRANGERS <= now) {
                self.stranger_at = Some(now);
                let version = match header.version {
                    Version::One => "IKEv1",
                    Version::Two => "IKEv2",
                };
                let text = format!("no {version} peer config for {remote}");
                self.context(now, out).log(Level::Error, text);
            }
            return self.core.count("no-peer");
        };
        let Some(peer) = self.core.peers.get(&id).cloned() else {
            return;
        };
        let settings = &self.core.settings;
        let is_proved = exchange == Exchange::Ike2 && self.gate.is_proved(bytes, ends.1, now);
        let of_address = self.half_open_of.get(&remote).copied().unwrap_or(0);
        let crowded = of_address >= settings.half_open_per_address;
        let full = self.half_open.len() >= settings.half_open;
        // Whoever has proved its address, or is the only one of a peer, takes the place of the oldest.
        let is_preferred = is_proved || exchange != Exchange::Ike2 && is_host(&peer);
        if self.sas.len() >= settings.sas
            || (full || crowded) && exchange != Exchange::Ike2 && !is_preferred
        {
            return self.core.count("too-many-half-open");
        }
        let busy =
            !is_proved && (full || crowded || self.half_open.len() >= settings.cookie_threshold);
        if (full || crowded) && is_preferred {
            self.drop_oldest(remote, crowded, now, out);
        }
        let sa_id = SaId(self.core.number());
        let mut cx = Context {
            core: &mut self.core,
            now,
            out,
        };
        let begun = if exchange == Exchange::Ike2 {
            let gate = busy.then_some(&*self.gate);
            v2::Sa::respond(
                sa_id,
                (id, peer),
                (ends, natt),
                (header, bytes),
                gate,
                &mut cx,
            )
            .map(|sa| Sa::Two(Box::new(sa)))
        } else if busy && !is_preferred {
            // IKEv1 has no cookies: who is not known must wait.
            return cx.core.count("too-many-half-open");
        } else {
            v1::Sa::respond(sa_id, (id, peer), (ends, natt), (header, bytes), &mut cx)
                .map(|sa| Sa::One(Box::new(sa)))
        };
        if let Some(sa) = begun {
            self.put(sa);
        }
    }

    /// Ends the oldest half-open SA that a peer has begun, of one address or of any.
    fn drop_oldest(
        &mut self,
        remote: IpAddr,
        of_address: bool,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let mut all = self.half_open.iter();
        let oldest = all.find(|(_, address)| !of_address || **address == remote);
        if let Some(id) = oldest.map(|(id, _)| *id) {
            self.core.count("half-open-displaced");
            self.close(id, Why::Unreachable, now, out);
        }
    }
}
