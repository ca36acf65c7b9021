//! Informational exchange: deletions, notifications (RFC 2408, 4.8), dead peer detection (RFC 3706).

use machine::{Duration, Instant};

use super::quick::Quick;
use super::{Bad, ENCRYPTED, Sa, bodies, chain, exchange, kind};
use crate::config::Protocol;
use crate::engine::core::{Context, LIVENESS_TIMEOUT, Order};
use crate::event::{Child, ChildId, Level, State, Why};
use crate::message::{Chain, Delete, Header, Notify, Version};

const ARE_YOU_THERE: u16 = 36_136;
const I_AM_HERE: u16 = 36_137;
const INITIAL_CONTACT: u16 = 24_578;
/// First status type; lower types are errors (RFC 2408, 3.14.1).
const STATUS: u16 = 16_384;

impl Sa {
    /// Processes a message of the informational exchange.
    pub(super) fn informational(
        &mut self,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        if header.flags & ENCRYPTED == 0 {
            return self.in_clear(header, message, cx);
        }
        if self.recent.contains(&header.id) {
            return Err(Bad::Ignored("ike1-repeated"));
        }
        let iv = self
            .keys
            .as_ref()
            .map(|keys| keys.iv_of(header.id))
            .unwrap_or_default();
        let (plain, _) = self.open(header, &iv, message)?;
        let found = self.verified(header, &plain, &[&header.id.to_be_bytes()])?;
        self.remember(header.id);
        self.heard(cx.now);
        for body in bodies(&found, kind::NOTIFY) {
            self.notified(&Notify::read(Version::One, body)?, cx);
        }
        for body in bodies(&found, kind::DELETE) {
            self.deleted(&Delete::read(Version::One, body)?, cx)?;
        }
        Ok(())
    }

    /// Logs an unencrypted notification, which anybody can send; it has no other effect.
    fn in_clear(&self, header: &Header, message: &[u8], cx: &mut Context<'_>) -> Result<(), Bad> {
        let (_, body) = Header::read(message)?;
        for body in bodies(&chain(header.next, body)?, kind::NOTIFY) {
            let notify = Notify::read(Version::One, body)?;
            if notify.kind < STATUS && self.common.is_half_open() {
                let text = format!(
                    "the peer reports error {} ({})",
                    notify.kind,
                    name(notify.kind)
                );
                self.say(Level::Error, &text, cx);
            }
        }
        Err(Bad::Ignored("ike1-not-encrypted"))
    }

    fn notified(&mut self, notify: &Notify<'_>, cx: &mut Context<'_>) {
        let number = notify.data.try_into().ok().map(u32::from_be_bytes);
        match notify.kind {
            ARE_YOU_THERE => {
                // Sequence numbers increase, so that a replayed request gets no second answer (RFC 3706, 6).
                let Some(number) = number else {
                    return;
                };
                self.dead_peer.heard = Some(number);
                let cookies = super::keys::cookies(self.common.spis.0, self.common.spis.1);
                self.notify_about(1, &cookies, I_AM_HERE, &number.to_be_bytes(), cx);
            }
            I_AM_HERE if number == Some(self.dead_peer.sequence) => self.heard(cx.now),
            INITIAL_CONTACT => cx.core.orders.push_back(Order::OnlyOne(self.common.id)),
            error if error < STATUS => {
                let text = format!("the peer reports error {error} ({})", name(error));
                self.say(Level::Error, &text, cx);
                let why = if error == 18 {
                    Why::NoTraffic
                } else {
                    Why::NoProposal
                };
                self.refused(notify.spi, why, cx);
            }
            _ => {}
        }
    }

    fn deleted(&mut self, delete: &Delete, cx: &mut Context<'_>) -> Result<(), Bad> {
        for spi in &delete.spis {
            match cx.core.pair_out(self.common.id, *spi) {
                Some(child) => drop(cx.remove(child, Why::Deleted)),
                // The peer may have moved the pair to another IKE SA than this side.
                None => cx
                    .core
                    .orders
                    .push_back(Order::Deleted(self.common.id, *spi)),
            }
        }
        if delete.cookies.contains(&self.common.spis) {
            return Err(Bad::Over(Why::Deleted));
        }
        Ok(())
    }

    /// Sends payloads in a new informational exchange.
    fn inform(&mut self, payloads: &Chain, cx: &mut Context<'_>) {
        let id = self.fresh_id(cx);
        self.remember(id);
        let Some(keys) = &self.keys else {
            return;
        };
        let mut iv = keys.iv_of(id);
        let number = id.to_be_bytes();
        if let Some(bytes) = self.sealed(exchange::INFORMATIONAL, id, &mut iv, &[&number], payloads)
        {
            self.common.send(bytes, cx);
        }
    }

    fn notify_about(
        &mut self,
        protocol: u8,
        spi: &[u8],
        number: u16,
        data: &[u8],
        cx: &mut Context<'_>,
    ) {
        let notify = Notify {
            protocol,
            spi,
            kind: number,
            data,
        };
        let payloads = Chain::default().with(kind::NOTIFY, &notify.write(Version::One));
        self.inform(&payloads, cx);
    }

    /// Sends an error about a proposal with this SPI.
    pub(super) fn notify(&mut self, number: u16, spi: &[u8], cx: &mut Context<'_>) {
        self.notify_about(3, spi, number, &[], cx);
    }

    /// Sends a delete for a pair.
    pub(crate) fn delete_child(&mut self, child: &Child, cx: &mut Context<'_>) {
        self.delete(child.protocol, child.inbound.spi, cx);
    }

    /// Sends a delete for an unknown SPI that the peer uses, at most once a second.
    pub(crate) fn forget(&mut self, spi: u32, cx: &mut Context<'_>) {
        if self
            .forgot_at
            .is_none_or(|at| at + Duration::from_secs(1) <= cx.now)
        {
            self.forgot_at = Some(cx.now);
            self.delete(Protocol::Esp, spi, cx);
        }
    }

    fn delete(&mut self, protocol: Protocol, spi: u32, cx: &mut Context<'_>) {
        let protocol = super::offer::protocol_number(protocol);
        let delete = Delete {
            protocol,
            spis: vec![spi],
            cookies: Vec::new(),
        };
        let payloads = Chain::default().with(kind::DELETE, &delete.write(Version::One));
        self.inform(&payloads, cx);
    }

    /// Sends a delete for the IKE SA.
    pub(crate) fn say_goodbye(&mut self, cx: &mut Context<'_>) {
        if self.common.is_half_open() {
            return;
        }
        let delete = Delete {
            protocol: 1,
            spis: Vec::new(),
            cookies: vec![self.common.spis],
        };
        let payloads = Chain::default().with(kind::DELETE, &delete.write(Version::One));
        self.inform(&payloads, cx);
    }

    /// Returns policies whose quick mode is unfinished.
    pub(crate) fn unfinished(&self) -> Vec<crate::config::PolicyId> {
        let asking = self.quicks.values().filter(|quick| quick.is_asking());
        asking.map(Quick::policy).collect()
    }

    /// Returns the pairs of quick modes whose third message has not arrived.
    pub(crate) fn unconfirmed(&self) -> Vec<ChildId> {
        { self.quicks.values() }
            .filter_map(Quick::unconfirmed)
            .collect()
    }

    /// Returns the time of the next liveness check.
    pub(super) fn ask_at(&self) -> Option<Instant> {
        let (interval, _) = self.common.peer.profile.dpd?;
        let usable = self.dead_peer.known && self.common.state == State::Established;
        if !usable || interval.is_zero() {
            return None;
        }
        Some(match self.dead_peer.asked_at {
            _ if self.dead_peer.is_suspect => self.common.last_seen,
            Some(asked) => asked + interval.min(LIVENESS_TIMEOUT),
            None => self.common.last_seen + interval,
        })
    }

    /// Sends a liveness check (R-U-THERE) if it is due. Fails after `dpd-maximum-failures` unanswered ones.
    pub(super) fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        if self.ask_at().is_none_or(|at| at > cx.now) {
            return Ok(());
        }
        let most = self
            .common
            .peer
            .profile
            .dpd
            .map_or(1, |(_, most)| most.max(1));
        if self.dead_peer.asked >= most {
            return Err(Why::Unreachable);
        }
        if self.dead_peer.sequence == 0 {
            self.dead_peer.sequence = cx.core.random_u64() as u32 & 0x7fff_ffff;
        }
        self.dead_peer.sequence = self.dead_peer.sequence.wrapping_add(1);
        self.dead_peer.asked += 1;
        self.dead_peer.asked_at = Some(cx.now);
        self.dead_peer.is_suspect = false;
        let cookies = super::keys::cookies(self.common.spis.0, self.common.spis.1);
        let sequence = self.dead_peer.sequence.to_be_bytes();
        self.notify_about(1, &cookies, ARE_YOU_THERE, &sequence, cx);
        Ok(())
    }
}

/// Returns the name of an error type (RFC 2408, 3.14.1).
const fn name(number: u16) -> &'static str {
    match number {
        4 => "INVALID-COOKIE",
        14 => "NO-PROPOSAL-CHOSEN",
        16 => "PAYLOAD-MALFORMED",
        17 => "INVALID-KEY-INFORMATION",
        18 => "INVALID-ID-INFORMATION",
        23 => "INVALID-HASH-INFORMATION",
        24 => "AUTHENTICATION-FAILED",
        25 => "INVALID-SIGNATURE",
        _ => "unknown",
    }
}
