//! Quick mode: pairs of SAs (RFC 2409, 5.5).
//!
//! ```text
//!  initiator                                responder
//!  HASH(1) SA Ni [KE] IDci IDcr ▶                        installs the inbound SA
//!  installs both SAs          ◀ HASH(2) SA Nr [KE] IDci IDcr
//!  HASH(3) ▶                                             uses the outbound SA
//! ```

mod end;

use core::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use machine::{Duration, Instant};

use super::offer::{Phase2, asked_mode, choose_phase2, phase2, protocol_number};
use super::parts::{
    RESPONDER_LIFETIME, asked_policy, claimed_lifetime, hashed, newest, read_selector, selector_id,
};
use super::{Bad, Last, MAX_QUICK_MODES, Natt, Sa, bodies, body, exchange, kind};
use crate::config::{GeneratePolicy, Id, Mode, Policy, PolicyId, Selector};
use crate::crypto::{Agreement, equal};
use crate::describe;
use crate::engine::core::{Common, Context, Order, Resend};
use crate::event::{Child, ChildId, Level, Sa as Direction, Side, State, Why};
use crate::message::{
    Attribute, Chain, Header, Notify, Offer, Payload, Version, address, id_body, read_offers,
    write_attributes, write_offers,
};

/// Time that a finished exchange is kept, to repeat its response.
const RESPONSE_LIFETIME: Duration = Duration::from_secs(60);
/// Time that the initiator keeps a replaced pair.
const REPLACED_LIFETIME: Duration = Duration::from_secs(15);
/// Delay before the initiator uses a replacement under which nothing arrived: covers the loss of two third
/// messages.
const CAUTION_DELAY: Duration = Duration::from_secs(4);

/// Notify types NO-PROPOSAL-CHOSEN and INVALID-ID-INFORMATION.
const NO_PROPOSAL: u16 = 14;
const INVALID_ID: u16 = 18;

/// The selected proposal of the initiator, and its parameters.
struct ChosenOffer {
    offer: Offer,
    agreed: Phase2,
}

/// One quick mode exchange.
pub(super) struct Quick {
    side: Side,
    policy_id: PolicyId,
    policy: Arc<Policy>,
    generated: bool,
    /// Local and remote selector.
    selectors: (Selector, Selector),
    replaces: Option<ChildId>,
    /// Nonces of initiator and responder.
    nonces: (Vec<u8>, Vec<u8>),
    /// IDci and IDcr.
    ids: (Vec<u8>, Vec<u8>),
    agreement: Option<Agreement>,
    /// Local and remote SPI.
    pub(super) spis: (u32, u32),
    mode: Mode,
    iv: Vec<u8>,
    last: Last,
    pub(super) resend: Option<Resend>,
    pub(super) child: Option<ChildId>,
    original: Option<(IpAddr, IpAddr)>,
    begun: Instant,
    over_at: Instant,
}

impl Quick {
    /// Returns true for an unfinished exchange of this policy.
    pub(super) fn is_for(&self, policy: PolicyId) -> bool {
        self.policy_id == policy && self.resend.is_some()
    }

    /// Returns the time of the next timer.
    pub(super) fn due(&self) -> Instant {
        self.resend
            .as_ref()
            .map_or(self.over_at, |resend| resend.at.min(self.over_at))
    }

    /// Returns true if this side initiated and has no answer.
    pub(super) fn is_asking(&self) -> bool {
        self.side == Side::Initiator && self.child.is_none()
    }

    /// Returns true if this side initiated an exchange with these selectors and has no answer.
    pub(super) fn asks_for(&self, selectors: (Selector, Selector)) -> bool {
        self.is_asking() && self.selectors == selectors
    }

    /// Responder: returns the pair if the third message has not arrived.
    pub(super) fn unconfirmed(&self) -> Option<ChildId> {
        self.resend.as_ref().and(self.child)
    }

    /// Returns the policy.
    pub(super) const fn policy(&self) -> PolicyId {
        self.policy_id
    }
}

impl Sa {
    /// Parses a message and verifies its HASH; `first` are the leading bytes of the hashed data.
    pub(super) fn verified<'a>(
        &self,
        header: &Header,
        plain: &'a [u8],
        before: &[&[u8]],
    ) -> Result<Vec<Payload<'a>>, Bad> {
        let keys = self.keys.as_ref().ok_or(Bad::Ignored("ike1-no-keys"))?;
        let (found, hash, bytes) =
            hashed(header.next, plain).map_err(|_| Bad::Ignored("ike1-undecipherable"))?;
        let mut parts = before.to_vec();
        parts.push(bytes);
        if !equal(hash, &keys.authenticate(&parts)) {
            return Err(Bad::Ignored("ike1-hash"));
        }
        Ok(found)
    }

    /// Prepends the HASH to payloads and encrypts them.
    pub(super) fn sealed(
        &self,
        number: u8,
        id: u32,
        iv: &mut Vec<u8>,
        before: &[&[u8]],
        payloads: &Chain,
    ) -> Option<Vec<u8>> {
        let keys = self.keys.as_ref()?;
        let mut parts = before.to_vec();
        parts.push(payloads.bytes());
        let hash = keys.authenticate(&parts);
        self.seal(number, id, iv, &payloads.behind(kind::HASH, &hash))
    }

    /// Returns `None` without UDP encapsulation, and `Some(true)` for the draft's mode numbers.
    fn encapsulation(&self) -> Option<bool> {
        let translated = self.common.translated.0 || self.common.translated.1;
        translated.then_some(self.natt == Natt::Draft)
    }

    /// Starts quick mode for a policy.
    pub(super) fn begin_quick(
        &mut self,
        id: PolicyId,
        replaces: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        if let Some((policy, is_generated)) = asked_policy(id, replaces, cx) {
            self.begin_quick_for(id, policy, is_generated, replaces, cx);
        }
    }

    /// Starts quick mode for a policy, or for a policy generated from a template.
    pub(super) fn begin_quick_for(
        &mut self,
        id: PolicyId,
        policy: Policy,
        is_generated: bool,
        replaces: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        let number = self.fresh_id(cx);
        let mut quick = Quick {
            side: Side::Initiator,
            policy_id: id,
            generated: is_generated,
            selectors: (policy.source, policy.destination),
            replaces,
            nonces: (cx.core.random(32), Vec::new()),
            ids: (
                selector_id(&policy.source, policy.protocol),
                selector_id(&policy.destination, policy.protocol),
            ),
            agreement: policy
                .proposal
                .pfs
                .and_then(|group| Agreement::new(group, &mut cx.core.entropy)),
            spis: (cx.core.random_spi(), 0),
            mode: policy.mode,
            iv: self.first_iv(number),
            last: Last::default(),
            resend: None,
            child: None,
            original: None,
            begun: cx.now,
            over_at: cx.now + RESPONSE_LIFETIME * 2,
            policy: Arc::new(policy),
        };
        let offers = phase2(
            &quick.policy,
            quick.mode,
            self.encapsulation(),
            quick.spis.0,
        );
        if offers.iter().all(|offer| offer.transforms.is_empty()) {
            cx.core.orders.push_back(Order::Failed(id, Why::NoProposal));
            return;
        }
        let mut payloads = Chain::default().with(kind::SA, &write_offers(Version::One, &offers));
        payloads.push(kind::NONCE, &quick.nonces.0);
        if let Some(agreement) = &quick.agreement {
            payloads.push(kind::KE, agreement.public());
        }
        payloads.push(kind::ID, &quick.ids.0);
        payloads.push(kind::ID, &quick.ids.1);
        self.push_original(&quick, &mut payloads);
        let mut iv = core::mem::take(&mut quick.iv);
        let before = [&number.to_be_bytes()[..]];
        if let Some(bytes) = self.sealed(exchange::QUICK, number, &mut iv, &before, &payloads) {
            quick.resend = Some(Resend::new(vec![bytes.clone()], cx.now));
            self.common.send(bytes, cx);
        }
        quick.iv = iv;
        self.quicks.insert(number, quick);
    }

    /// Appends NAT-OA payloads, for transport mode through NAT (RFC 3947, 5.2).
    fn push_original(&self, quick: &Quick, payloads: &mut Chain) {
        if quick.mode != Mode::Transport || self.encapsulation().is_none() {
            return;
        }
        let number = if self.natt == Natt::Rfc {
            kind::NAT_OA
        } else {
            kind::NAT_OA_DRAFT
        };
        let (local, remote) = (self.common.local.ip(), self.common.remote.ip());
        let (first, second) = match quick.side {
            Side::Initiator => (local, remote),
            Side::Responder => (remote, local),
        };
        for address in [first, second] {
            payloads.push(number, &id_body(&Id::Address(address), 0, 0));
        }
    }

    /// Returns the addresses of the NAT-OA payloads: local and remote.
    fn read_original(&self, side: Side, found: &[Payload<'_>]) -> Option<(IpAddr, IpAddr)> {
        let number = if self.natt == Natt::Rfc {
            kind::NAT_OA
        } else {
            kind::NAT_OA_DRAFT
        };
        let mut addresses = bodies(found, number).map(|body| address(body.get(4..)?));
        let first = addresses.next()??;
        // The drafts send only the sender's own address.
        let second = addresses.next().flatten();
        match (side, second) {
            (Side::Initiator, Some(second)) => Some((first, second)),
            (Side::Responder, Some(second)) => Some((second, first)),
            (_, None) => Some((self.common.local.ip(), first)),
        }
    }

    /// Processes a message of quick mode.
    pub(super) fn quick(
        &mut self,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        let id = header.id;
        let Some(mut quick) = self.quicks.remove(&id) else {
            return self.answer_quick(header, message, cx);
        };
        let taken = match quick.last.again(message) {
            Some(answer) => {
                if let Some(answer) = answer {
                    self.common.send(answer, cx);
                }
                Ok(())
            }
            None if quick.resend.is_none() => Err(Bad::Ignored("ike1-unexpected")),
            None => match quick.side {
                Side::Initiator => self.finish_quick(&mut quick, header, message, cx),
                Side::Responder => self.confirm_quick(&mut quick, header, message, cx),
            },
        };
        self.quicks.insert(id, quick);
        taken
    }

    /// Returns the initialisation vector of the first message of an exchange.
    pub(super) fn first_iv(&self, id: u32) -> Vec<u8> {
        let keys = self.keys.as_ref();
        keys.map(|keys| keys.iv_of(id)).unwrap_or_default()
    }

    /// Returns the identities of a message, peer first; without ID payloads the hosts themselves.
    fn identities(&self, found: &[Payload<'_>]) -> (Vec<u8>, Vec<u8>) {
        let mut ids = bodies(found, kind::ID);
        let of = |address| id_body(&Id::Address(address), 0, 0);
        match (ids.next(), ids.next()) {
            (Some(theirs), Some(own)) => (theirs.to_vec(), own.to_vec()),
            _ => (of(self.common.remote.ip()), of(self.common.local.ip())),
        }
    }

    /// Responder: processes the first message.
    fn answer_quick(
        &mut self,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        self.may_answer(header.id)?;
        let (plain, iv) = self.open(header, &self.first_iv(header.id), message)?;
        let number = header.id.to_be_bytes();
        let found = self.verified(header, &plain, &[&number])?;
        self.heard(cx.now);
        let offers = read_offers(Version::One, body(&found, kind::SA)?)?;
        let nonce = body(&found, kind::NONCE)?.to_vec();
        let ids = self.identities(&found);
        let (their_selector, payload) = read_selector(&ids.0)?;
        let (own_selector, _) = read_selector(&ids.1)?;
        let mode = asked_mode(&offers).ok_or(Bad::Ignored("ike1-mode"))?;
        let spi = offers
            .first()
            .map_or_else(Vec::new, |offer| offer.spi.clone());
        let Some((policy_id, policy, generated)) =
            self.policy_for(own_selector, their_selector, payload, mode, cx)
        else {
            let text =
                format!("no policy for {own_selector:?} {their_selector:?} protocol {payload}");
            self.refuse_quick(header, INVALID_ID, &spi, &text, cx);
            return Err(Bad::Ignored("ike1-no-policy"));
        };
        let check = self.common.peer.profile.proposal_check;
        let configured = describe::proposal(&policy.proposal);
        self.common
            .log_offers(Version::One, &offers, configured, cx);
        let Some((chosen, agreed)) = choose_phase2(&offers, &policy, mode, check) else {
            let text = "no suitable proposal found, phase 2";
            self.refuse_quick(header, NO_PROPOSAL, &spi, text, cx);
            return Err(Bad::Ignored("ike1-no-proposal"));
        };
        let selectors = (policy.source, policy.destination);
        let alike = [selectors];
        let traffic = self.common.traffic(&alike, generated, mode);
        let quick = Quick {
            side: Side::Responder,
            replaces: newest(policy_id, traffic, cx),
            policy_id,
            policy,
            generated,
            selectors,
            nonces: (nonce, cx.core.random(32)),
            ids,
            agreement: agreed
                .group
                .and_then(|group| Agreement::new(group, &mut cx.core.entropy)),
            spis: (cx.core.random_spi(), chosen.spi32().unwrap_or(0)),
            mode,
            iv,
            last: Last::default(),
            resend: None,
            child: None,
            original: self.read_original(Side::Responder, &found),
            begun: cx.now,
            over_at: cx.now + RESPONSE_LIFETIME * 2,
        };
        let chosen = ChosenOffer {
            offer: chosen,
            agreed,
        };
        self.send_answer(quick, chosen, header, message, &found, cx)
    }

    /// Responder: refuses an exchange that the SA cannot answer, or has answered already.
    fn may_answer(&self, id: u32) -> Result<(), Bad> {
        let usable = matches!(self.common.state, State::Established | State::Expired);
        match usable && !self.recent.contains(&id) && self.quicks.len() < MAX_QUICK_MODES {
            true => Ok(()),
            false => Err(Bad::Ignored("ike1-unexpected")),
        }
    }

    /// Responder: logs why it refuses an exchange and notifies the peer.
    fn refuse_quick(
        &mut self,
        header: &Header,
        code: u16,
        spi: &[u8],
        reason: &str,
        cx: &mut Context<'_>,
    ) {
        self.say(Level::Error, reason, cx);
        self.notify(code, spi, cx);
        self.remember(header.id);
    }

    /// Responder: sends the second message; the inbound SA is installed before the peer can use it.
    fn send_answer(
        &mut self,
        mut quick: Quick,
        chosen: ChosenOffer,
        header: &Header,
        message: &[u8],
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        let shared = match &quick.agreement {
            None => None,
            Some(agreement) => {
                let shared = agreement.shared(body(found, kind::KE)?);
                Some(shared.ok_or(Bad::Ignored("ike1-public-value"))?)
            }
        };
        let ChosenOffer { offer, agreed } = chosen;
        let offer = Offer {
            spi: quick.spis.0.to_be_bytes().to_vec(),
            ..offer
        };
        let mut payloads = Chain::default().with(kind::SA, &write_offers(Version::One, &[offer]));
        payloads.push(kind::NONCE, &quick.nonces.1);
        if let Some(agreement) = &quick.agreement {
            payloads.push(kind::KE, agreement.public());
        }
        payloads.push(kind::ID, &quick.ids.0);
        payloads.push(kind::ID, &quick.ids.1);
        self.push_original(&quick, &mut payloads);
        if self.common.peer.profile.proposal_check == crate::config::ProposalCheck::Claim {
            let lifetime = agreed.lifetime.as_secs();
            let said = write_attributes(&[Attribute::number(1, 1), Attribute::number(2, lifetime)]);
            let notify = Notify {
                protocol: protocol_number(quick.policy.ipsec),
                spi: &quick.spis.0.to_be_bytes(),
                kind: RESPONDER_LIFETIME,
                data: &said,
            };
            payloads.push(kind::NOTIFY, &notify.write(Version::One));
        }
        let number = header.id.to_be_bytes();
        let mut iv = core::mem::take(&mut quick.iv);
        let before = [&number[..], &quick.nonces.0];
        let bytes = self.sealed(exchange::QUICK, header.id, &mut iv, &before, &payloads);
        let bytes = bytes.ok_or(Bad::Ignored("ike1-no-keys"))?;
        quick.iv = iv;
        quick.child = Some(self.install(&quick, &agreed, shared.as_ref(), cx));
        quick.last.set(message, Some(bytes.clone()));
        quick.resend = Some(Resend::new(vec![bytes.clone()], cx.now));
        self.common.send(bytes, cx);
        self.quicks.insert(header.id, quick);
        Ok(())
    }

    /// Initiator: processes the second message and sends the third.
    fn finish_quick(
        &mut self,
        quick: &mut Quick,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        let (plain, mut iv) = self.open(header, &quick.iv, message)?;
        let number = header.id.to_be_bytes();
        let found = self.verified(header, &plain, &[&number, &quick.nonces.0])?;
        self.heard(cx.now);
        let offers = read_offers(Version::One, body(&found, kind::SA)?)?;
        let policy = quick.policy.clone();
        let check = crate::config::ProposalCheck::Obey;
        let (chosen, mut agreed) = choose_phase2(&offers, &policy, quick.mode, check)
            .filter(|(_, agreed)| agreed.group == policy.proposal.pfs)
            .ok_or(Bad::Ignored("ike1-not-offered"))?;
        let ids: Vec<_> = bodies(&found, kind::ID).collect();
        let same = ids.is_empty() || ids == [quick.ids.0.as_slice(), quick.ids.1.as_slice()];
        if !same && quick.mode == Mode::Tunnel {
            return Err(Bad::Ignored("ike1-other-selectors"));
        }
        quick.nonces.1 = body(&found, kind::NONCE)?.to_vec();
        quick.spis.1 = chosen.spi32().unwrap_or(0);
        quick.original = self.read_original(Side::Initiator, &found);
        let shared = match &quick.agreement {
            None => None,
            Some(agreement) => {
                let shared = agreement.shared(body(&found, kind::KE)?);
                Some(shared.ok_or(Bad::Ignored("ike1-public-value"))?)
            }
        };
        if let Some(claimed) = claimed_lifetime(&found) {
            agreed.lifetime = agreed.lifetime.min(claimed);
        }
        let keys = self.keys.as_ref().ok_or(Bad::Ignored("ike1-no-keys"))?;
        let hash = keys.authenticate(&[&[0], &number, &quick.nonces.0, &quick.nonces.1]);
        let last = Chain::default().with(kind::HASH, &hash);
        let bytes = self.seal(exchange::QUICK, header.id, &mut iv, &last);
        let bytes = bytes.ok_or(Bad::Ignored("ike1-no-keys"))?;
        quick.iv = iv;
        quick.resend = None;
        quick.over_at = cx.now + RESPONSE_LIFETIME;
        quick.last.set(message, Some(bytes.clone()));
        let child = self.install(quick, &agreed, shared.as_ref(), cx);
        quick.child = Some(child);
        self.common.send(bytes, cx);
        match quick
            .replaces
            .and_then(|old| cx.core.children.get_mut(&old))
        {
            None => cx.activate(child),
            Some(old) => {
                old.hard_at = old.hard_at.min(cx.now + REPLACED_LIFETIME);
                let old = old.child.id;
                cx.core.reschedule(old);
                cx.activate_later(child, CAUTION_DELAY);
            }
        }
        self.remember(header.id);
        Ok(())
    }

    /// Responder: processes the third message.
    fn confirm_quick(
        &mut self,
        quick: &mut Quick,
        header: &Header,
        message: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<(), Bad> {
        let (plain, iv) = self.open(header, &quick.iv, message)?;
        let keys = self.keys.as_ref().ok_or(Bad::Ignored("ike1-no-keys"))?;
        let (_, hash, _) =
            hashed(header.next, &plain).map_err(|_| Bad::Ignored("ike1-undecipherable"))?;
        let number = header.id.to_be_bytes();
        let wanted = keys.authenticate(&[&[0], &number, &quick.nonces.0, &quick.nonces.1]);
        if !equal(hash, &wanted) {
            return Err(Bad::Ignored("ike1-hash"));
        }
        self.heard(cx.now);
        quick.iv = iv;
        quick.resend = None;
        quick.over_at = cx.now + RESPONSE_LIFETIME;
        quick.last.set(message, None);
        if let Some(child) = quick.child {
            cx.activate(child);
        }
        self.remember(header.id);
        Ok(())
    }

    /// Installs the negotiated pair; outbound traffic does not use it yet.
    fn install(
        &self,
        quick: &Quick,
        agreed: &Phase2,
        shared: Option<&crate::config::Secret>,
        cx: &mut Context<'_>,
    ) -> ChildId {
        let protocol = protocol_number(quick.policy.ipsec);
        let nonces = (quick.nonces.0.as_slice(), quick.nonces.1.as_slice());
        let lens = (
            agreed.suite.encryption.key_len(),
            agreed.suite.authentication_len(),
        );
        let direction = |spi| {
            let keys = self.keys.as_ref();
            let material =
                keys.map(|keys| keys.material(shared, protocol, spi, nonces, lens.0 + lens.1));
            let material = material.unwrap_or_default();
            let (encryption, authentication) = material
                .bytes()
                .split_at_checked(lens.0)
                .unwrap_or_default();
            Direction {
                spi,
                encryption_key: crate::config::Secret::new(encryption),
                authentication_key: crate::config::Secret::new(authentication),
            }
        };
        let percent = match quick.side {
            Side::Initiator => 80 - (cx.core.random_u64() % 5) as u32,
            Side::Responder => 90,
        };
        let soft = agreed.lifetime * percent / 100;
        let id = ChildId(cx.core.number());
        let child = Child {
            id,
            sa: self.common.id,
            peer: self.common.peer_id,
            policy: quick.policy_id,
            generated: quick.generated,
            protocol: quick.policy.ipsec,
            mode: agreed.mode,
            selectors: vec![quick.selectors],
            payload: quick.policy.protocol,
            suite: agreed.suite,
            inbound: direction(quick.spis.0),
            outbound: direction(quick.spis.1),
            local: self.common.local,
            remote: self.common.remote,
            natt: agreed.natt,
            original: quick
                .original
                .filter(|_| agreed.natt && agreed.mode == Mode::Transport),
            begun: quick.begun,
            born: cx.now,
            soft,
            hard: agreed.lifetime,
            bytes: None,
            replaces: quick.replaces,
            active: false,
        };
        cx.install(child, Some(soft));
        id
    }

    /// Returns the policy for a peer's proposal: a policy with equal selectors, or one generated from a
    /// template.
    fn policy_for(
        &self,
        own: Selector,
        theirs: Selector,
        payload: u8,
        mode: Mode,
        cx: &Context<'_>,
    ) -> Option<(PolicyId, Arc<Policy>, bool)> {
        let Common {
            local,
            remote,
            translated,
            ..
        } = &self.common;
        // Transport mode behind NAT: the peer sends its private address, which no policy contains.
        let seen = |selector: &Selector, hidden: bool, end: IpAddr| {
            let prefix = if hidden && mode == Mode::Transport {
                IpNet::from(end)
            } else {
                selector.prefix
            };
            Selector {
                prefix,
                ..*selector
            }
        };
        let own_seen = seen(&own, translated.0, local.ip());
        let theirs_seen = seen(&theirs, translated.1, remote.ip());
        let policies = cx.core.policies_of(self.common.peer_id).into_iter();
        let mut policies =
            policies.filter(|(_, policy)| policy.mode == mode && policy.protocol == payload);
        let found = policies.find(|(_, policy)| {
            let here = policy.source == own || policy.source == own_seen;
            here && (policy.destination == theirs || policy.destination == theirs_seen)
        });
        if let Some((id, policy)) = found {
            return Some((id, policy, false));
        }
        let identity = self.common.peer.identities.get(self.common.identity)?;
        let (mut own, mut theirs) = (own_seen, theirs_seen);
        match identity.generate_policy {
            GeneratePolicy::No => return None,
            GeneratePolicy::PortOverride => (own.port, theirs.port) = (0, 0),
            GeneratePolicy::PortStrict => {}
        }
        if !self.may_be_at(&theirs) {
            return None;
        }
        let allows = |allowed: &Selector, asked: &Selector| {
            let any = allowed.prefix.prefix_len() == 0;
            (any || allowed.prefix.contains(&asked.prefix))
                && (allowed.port == 0 || allowed.port == asked.port)
        };
        let mut templates = cx.core.templates(&identity.template_group);
        let (id, template) = templates.find(|(_, template)| {
            let protocol = template.protocol == 0 || template.protocol == payload;
            protocol && allows(&template.source, &own) && allows(&template.destination, &theirs)
        })?;
        let policy = Policy {
            source: own,
            destination: theirs,
            protocol: payload,
            mode,
            ..(**template).clone()
        };
        Some((id, Arc::new(policy), true))
    }
}
