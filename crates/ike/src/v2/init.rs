//! IKE_SA_INIT (RFC 7296, 1.2, 2.6 and 2.23): proposals, key exchange, nonces, NAT detection, cookies.

use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::keys::{Agreed, Keys};
use super::offer::{choose_ike, ike};
use super::{
    INITIATOR, PendingRequest, RESPONSE, Request, Sa, Stage, body, exchange, kind, notified,
    notifies, notify,
};
use super::{push_notify, refusal};
use crate::config::{Auth, Peer, PeerId};
use crate::crypto::{Agreement, digest};
use crate::describe;
use crate::engine::core::{Common, Context, Datagram, Path, Resend};
use crate::event::{Level, SaId, Side, State, Why};
use crate::gate::{CHALLENGE_BYTES, Gate};
use crate::message::{Chain, Fault, Header, Payload, Version, payloads, read_offers, write_offers};
use crate::suite::{Group, Hash};

/// Maximum number of attempts of an initiator: for a cookie, and for another group.
const MAX_ATTEMPTS: u8 = 4;

/// Returns true for a request that starts an IKE SA.
pub(crate) const fn is_first(header: &Header) -> bool {
    header.exchange == exchange::INIT
        && header.id == 0
        && header.flags & (INITIATOR | RESPONSE) == INITIATOR
}

/// Returns the NAT detection hash of an endpoint (RFC 7296, 2.23).
fn nat_hash(spis: (u64, u64), end: SocketAddr) -> Vec<u8> {
    let (initiator, responder) = (spis.0.to_be_bytes(), spis.1.to_be_bytes());
    let address = match end.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    digest(
        Hash::Sha1,
        &[&initiator, &responder, &address, &end.port().to_be_bytes()],
    )
}

/// Parses a KE payload: group number and public value.
pub(super) fn read_value(body: &[u8]) -> Result<(u16, &[u8]), Fault> {
    let (number, rest) = body.split_first_chunk::<2>().ok_or(Fault::Short)?;
    Ok((
        u16::from_be_bytes(*number),
        rest.get(2..).ok_or(Fault::Short)?,
    ))
}

/// Encodes a KE payload.
pub(super) fn write_value(agreement: &Agreement) -> Vec<u8> {
    let number = agreement.group().number().to_be_bytes();
    [&number[..], &[0, 0], agreement.public()].concat()
}

/// Returns a nonce of valid length (RFC 7296, 3.9).
pub(super) fn read_nonce(found: &[Payload<'_>]) -> Result<Vec<u8>, Fault> {
    let nonce = body(found, kind::NONCE)?;
    (16..=256)
        .contains(&nonce.len())
        .then(|| nonce.to_vec())
        .ok_or(Fault::Value)
}

impl Sa {
    /// Initiates an IKE SA with a peer.
    pub(crate) fn initiate(
        id: SaId,
        peer_id: PeerId,
        peer: Arc<Peer>,
        path: Path,
        cx: &mut Context<'_>,
    ) -> Result<Self, Why> {
        let group = *peer.profile.groups.first().ok_or(Why::NoProposal)?;
        let common = Common::new(id, peer_id, peer, Side::Initiator, path, cx.now);
        let mut sa = Self::new(common, cx.now);
        let usable = sa.common.peer.identities.iter().position(|identity| {
            matches!(
                identity.auth,
                Auth::Psk(_) | Auth::Signature(_) | Auth::Eap(_)
            )
        });
        sa.common.identity = usable.ok_or(Why::Authentication)?;
        sa.common.spis.0 = cx.core.random_u64();
        sa.nonces.0 = cx.core.random(32);
        sa.agreement = Agreement::new(group, &mut cx.core.entropy);
        sa.send_first(cx);
        Ok(sa)
    }

    fn send_first(&mut self, cx: &mut Context<'_>) {
        let mut chain = Chain::default();
        if !self.cookie.is_empty() {
            push_notify(&mut chain, notify::COOKIE, &self.cookie);
        }
        chain.push(
            kind::SA,
            &write_offers(Version::Two, &ike(&self.common.peer.profile, None)),
        );
        self.push_init(&mut chain, Side::Initiator);
        let bytes = chain.message(&self.header(exchange::INIT, false, 0));
        self.init.0 = bytes.clone();
        self.common.state = State::Message1;
        self.asked = Some(PendingRequest {
            id: 0,
            request: Request::Init,
            resend: Resend::new(vec![bytes.clone()], cx.now),
        });
        self.next_out = 1;
        self.common.send(bytes, cx);
    }

    /// Appends the payloads of both roles: KE, nonce, NAT detection, supported extensions.
    fn push_init(&self, chain: &mut Chain, side: Side) {
        if let Some(agreement) = &self.agreement {
            chain.push(kind::KE, &write_value(agreement));
        }
        let nonce = if side == Side::Initiator {
            &self.nonces.0
        } else {
            &self.nonces.1
        };
        chain.push(kind::NONCE, nonce);
        self.push_ends(chain);
        push_notify(chain, notify::FRAGMENTS, &[]);
        // SHA-1, SHA-256, SHA-384 and SHA-512 (RFC 7427, 7).
        push_notify(chain, notify::HASHES, &[0, 1, 0, 2, 0, 3, 0, 4]);
    }

    /// Appends the NAT detection hashes of both endpoints (RFC 7296, 2.23).
    pub(super) fn push_ends(&self, chain: &mut Chain) {
        let spis = self.common.spis;
        let (local, remote) = (self.common.local, self.common.remote);
        push_notify(chain, notify::NAT_SOURCE, &nat_hash(spis, local));
        push_notify(chain, notify::NAT_DESTINATION, &nat_hash(spis, remote));
    }

    /// Detects NAT from the peer's NAT detection hashes.
    pub(super) fn read_ends(&mut self, found: &[Payload<'_>], spis: (u64, u64)) {
        let own = nat_hash(spis, self.common.local);
        let theirs = nat_hash(spis, self.common.remote);
        let said = notifies(found).any(|one| one.kind == notify::NAT_SOURCE);
        let same = |number: u16, hash: &[u8]| {
            notifies(found).any(|one| one.kind == number && one.data == hash)
        };
        let own_same = same(notify::NAT_DESTINATION, &own);
        let theirs_same = same(notify::NAT_SOURCE, &theirs);
        self.common.translated = (said && !own_same, said && !theirs_same);
    }

    /// Detects NAT and the peer's extensions.
    fn read_init(&mut self, found: &[Payload<'_>], spis: (u64, u64)) {
        self.read_ends(found, spis);
        self.fragments = notified(found, notify::FRAGMENTS).is_some();
        let hashes = notified(found, notify::HASHES).map_or(&[][..], |notify| notify.data);
        let hashes = hashes.chunks_exact(2).filter_map(|number| match number {
            [0, 2] => Some(Hash::Sha256),
            [0, 3] => Some(Hash::Sha384),
            [0, 4] => Some(Hash::Sha512),
            _ => None,
        });
        self.hashes = hashes.collect();
    }

    fn set_keys(&mut self, agreed: Agreed, value: &[u8]) -> Result<(), Fault> {
        let agreement = self.agreement.as_ref().ok_or(Fault::Value)?;
        let shared = agreement.shared(value).ok_or(Fault::Value)?;
        let nonces = (self.nonces.0.as_slice(), self.nonces.1.as_slice());
        self.keys = Some(Keys::new(agreed, &shared, nonces, self.common.spis));
        self.common.suite = Some((agreed.cipher, agreed.integrity, agreed.prf, agreed.group));
        self.agreement = None;
        Ok(())
    }

    /// Processes an IKE_SA_INIT message of an existing SA.
    pub(super) fn init_message(
        &mut self,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let is_response = header.flags & RESPONSE != 0;
        if self.common.side == Side::Responder {
            // Repeated request: the response was lost.
            let again = !is_response && self.stage == Stage::Auth && message == self.init.0;
            for message in self.answered.clone().into_iter().filter(|_| again) {
                self.common.send(message, cx);
            }
            return Ok(());
        }
        if !is_response || self.stage != Stage::Init || header.id != 0 {
            cx.core.count("ike2-unexpected");
            return Ok(());
        }
        let taken =
            Header::read(message).and_then(|(header, body)| payloads(header.next, body, &[]));
        let found = match taken {
            Ok(found) => found,
            Err(fault) => {
                cx.core.count(fault.name());
                return Ok(());
            }
        };
        if let Some(error) = super::error(&found) {
            return self.refused_first(error, &found, cx);
        }
        if let Some(cookie) = notified(&found, notify::COOKIE) {
            self.cookie = cookie.data.to_vec();
            return self.try_again(cx);
        }
        self.finish_init(header, message, &found, cx)
            .or_else(|fault| {
                cx.core.count(fault.name());
                Ok(())
            })
    }

    fn try_again(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        self.tries += 1;
        if self.tries > MAX_ATTEMPTS {
            return Err(Why::Protocol);
        }
        self.send_first(cx);
        Ok(())
    }

    /// Processes a refusal: another group or a cookie starts again, other errors end the SA.
    fn refused_first(
        &mut self,
        error: u16,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let wish =
            notified(found, notify::INVALID_KE).and_then(|notify| notify.data.try_into().ok());
        let group = wish.map(u16::from_be_bytes).and_then(Group::of);
        let current = self.agreement.as_ref().map(Agreement::group);
        let known = group.filter(|group| self.common.peer.profile.groups.contains(group));
        match known.filter(|group| error == notify::INVALID_KE && Some(*group) != current) {
            Some(group) => {
                self.agreement = Agreement::new(group, &mut cx.core.entropy);
                self.try_again(cx)
            }
            None => {
                let text = format!("the peer refuses with {}", describe::error(error));
                self.say(Level::Error, &text, cx);
                let configured = describe::profile(&self.common.peer.profile);
                self.say(Level::Debug, &configured, cx);
                Err(Why::NoProposal)
            }
        }
    }

    fn finish_init(
        &mut self,
        header: &Header,
        message: &[u8],
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Fault> {
        let offers = read_offers(Version::Two, body(found, kind::SA)?)?;
        let peer = self.common.peer.clone();
        let sent = self.agreement.as_ref().map(Agreement::group);
        let (_, agreed) = choose_ike(&offers, &peer.profile, sent).ok_or(Fault::Value)?;
        let (number, value) = read_value(body(found, kind::KE)?)?;
        if Some(agreed.group) != sent || number != agreed.group.number() || header.responder == 0 {
            return Err(Fault::Value);
        }
        self.nonces.1 = read_nonce(found)?;
        self.common.spis.1 = header.responder;
        self.set_keys(agreed, value)
            .inspect_err(|_| self.common.spis.1 = 0)?;
        self.read_init(found, self.common.spis);
        self.init.1 = message.to_vec();
        self.asked = None;
        if self.common.translated != (false, false) {
            self.common.move_to_4500();
        }
        self.say(Level::Info, "new ike2 SA (I)", cx);
        self.begin_auth(cx);
        Ok(())
    }

    /// Responds to the first message of a peer; `None` if no SA results.
    pub(crate) fn respond(
        id: SaId,
        peer_id: PeerId,
        peer: Arc<Peer>,
        datagram: &Datagram<'_>,
        gate: Option<&Gate>,
        cx: &mut Context<'_>,
    ) -> Option<Self> {
        let common = Common::new(id, peer_id, peer, Side::Responder, datagram.path, cx.now);
        let mut sa = Self::new(common, cx.now);
        sa.common.spis.0 = datagram.header.initiator;
        sa.common.count(datagram.bytes.len());
        match sa.answer_first(datagram.header, datagram.bytes, gate, cx) {
            Ok(true) => Some(sa),
            Ok(false) => None,
            Err(fault) => {
                cx.core.count(fault.name());
                None
            }
        }
    }

    /// Answers a first message. Returns false if only an error or a cookie was sent.
    fn answer_first(
        &mut self,
        header: &Header,
        message: &[u8],
        gate: Option<&Gate>,
        cx: &mut Context<'_>,
    ) -> Result<bool, Fault> {
        let (_, rest) = Header::read(message)?;
        let found = payloads(header.next, rest, &[])?;
        let nonce = read_nonce(&found)?;
        if let Some(gate) = gate
            && !gate.is_proved(message, self.common.remote, cx.now)
        {
            cx.core.count("ike2-cookie");
            let mut answer = [0; CHALLENGE_BYTES];
            if gate.challenge(message, self.common.remote, cx.now, &mut answer) {
                self.common.send(answer.to_vec(), cx);
            }
            return Ok(false);
        }
        let offers = read_offers(Version::Two, body(&found, kind::SA)?)?;
        let (number, value) = read_value(body(&found, kind::KE)?)?;
        let peer = self.common.peer.clone();
        let configured = describe::profile(&peer.profile);
        let tells = cx.tells_of_stranger();
        if tells {
            self.common
                .log_offers(Version::Two, &offers, configured, cx);
        }
        let Some((chosen, agreed)) = choose_ike(&offers, &peer.profile, Group::of(number)) else {
            if tells {
                self.say(Level::Error, "no suitable proposal found, phase 1", cx);
            }
            self.answer_clear(&refusal(notify::NO_PROPOSAL), cx);
            return Ok(false);
        };
        if agreed.group.number() != number {
            let mut chain = Chain::default();
            push_notify(
                &mut chain,
                notify::INVALID_KE,
                &agreed.group.number().to_be_bytes(),
            );
            self.answer_clear(&chain, cx);
            return Ok(false);
        }
        self.common.spis.1 = cx.core.random_u64();
        self.nonces = (nonce, cx.core.random(32));
        self.agreement = Agreement::new(agreed.group, &mut cx.core.entropy);
        let mut chain = Chain::default().with(kind::SA, &write_offers(Version::Two, &[chosen]));
        self.push_init(&mut chain, Side::Responder);
        self.push_requests(&mut chain);
        self.set_keys(agreed, value)?;
        self.read_init(&found, (header.initiator, 0));
        self.init.0 = message.to_vec();
        self.init.1 = self.answer_clear(&chain, cx);
        self.answered = vec![self.init.1.clone()];
        self.next_in = 1;
        self.stage = Stage::Auth;
        self.common.state = State::Message2;
        self.say(Level::Info, "new ike2 SA (R)", cx);
        Ok(true)
    }

    /// Sends an unencrypted response.
    fn answer_clear(&mut self, chain: &Chain, cx: &mut Context<'_>) -> Vec<u8> {
        let bytes = chain.message(&self.header(exchange::INIT, true, 0));
        self.common.send(bytes.clone(), cx);
        bytes
    }
}
