//! IKE_AUTH (RFC 7296, 1.2, 2.15, 2.16 and 2.19): identities, proofs, the first pair, EAP, and mode config.

use core::net::IpAddr;

use super::child::ChildRequest;
use super::proof::{Proof, Proving};
use super::prove::certificates;
use super::{
    OPENING_TIMEOUT, Reply, Request, Sa, Stage, bodies, body, error, exchange, kind, notified,
    notify, push_notify, refusal,
};
use crate::config::{Auth, EapMethod, GeneratePolicy, Id, NoSignature, PolicyId, RemoteId};
use crate::der;
use crate::describe;
use crate::eap;
use crate::engine::core::{Context, Order};
use crate::event::{Action, EapReply, Level, State, Why};
use crate::message::{
    Chain, Configuration, Identification, Payload, Version, id_body, payloads, read_id,
};
use crate::mode_config;

impl Sa {
    /// Returns the local ID: configured, or from the certificate, or the local address.
    fn own_id(&self) -> Vec<u8> {
        let identity = self.common.peer.identities.get(self.common.identity);
        let configured = identity.and_then(|identity| identity.my_id.clone());
        let named = || match &identity?.auth {
            Auth::Signature(certified) | Auth::EapRadius(certified) => {
                der::subject(certified.chain.first()?).map(Id::Dn)
            }
            Auth::Eap(login) if login.methods.contains(&EapMethod::MsChap2) => {
                Some(Id::UserFqdn(login.user.clone()))
            }
            Auth::Eap(login) => der::subject(login.certified.as_ref()?.chain.first()?).map(Id::Dn),
            _ => None,
        };
        let id = configured.or_else(named);
        id_body(&id.unwrap_or(Id::Address(self.common.local.ip())), 0, 0)
    }

    /// Initiator: sends its ID, its proof and the proposal of the first pair.
    pub(super) fn begin_auth(&mut self, cx: &mut Context<'_>) {
        self.stage = Stage::Auth;
        self.common.state = State::Message3;
        self.ids.0 = self.own_id();
        let mut chain = Chain::default().with(kind::ID_I, &self.ids.0);
        self.push_requests(&mut chain);
        let identity = self
            .common
            .peer
            .identities
            .get(self.common.identity)
            .cloned();
        if let Some(RemoteId::Is(id)) = identity.as_ref().map(|identity| &identity.remote_id) {
            chain.push(kind::ID_R, &id_body(id, 0, 0));
        }
        match self.auth() {
            Some(Auth::Eap(login)) => self.eap = Some(eap::Client::new(&login)),
            _ => match self.push_proof(&mut chain) {
                Ok(()) => {}
                Err(NoSignature::Pending) => {
                    return self.pending = Some(Proof::new(Proving::Begin, cx.now));
                }
                // Without AUTH the responder refuses.
                Err(NoSignature::Failed(why)) => self.say_unsigned(&why, cx),
            },
        }
        let remote = self.common.remote.ip();
        let others = cx.core.children.has_remote(remote);
        if self.common.peer.send_initial_contact && !others {
            push_notify(&mut chain, notify::INITIAL_CONTACT, &[]);
        }
        Self::push_mobike(&mut chain);
        let asks = identity
            .and_then(|identity| identity.mode_config)
            .filter(|config| !config.responder);
        if asks.is_some() {
            chain.push(kind::CP, &mode_config::request(Version::Two).write());
        }
        let wanted = self.first_wanted(asks.is_some(), cx);
        if let Some(wanted) = &wanted {
            self.push_wanted(wanted, false, &mut chain);
        }
        self.ask(
            exchange::AUTH,
            &chain,
            Request::Auth(wanted.map(Box::new)),
            cx,
        );
    }

    /// Returns the proposal of the first pair: of the first queued policy, or with mode config of a template.
    fn first_wanted(&mut self, asks: bool, cx: &mut Context<'_>) -> Option<ChildRequest> {
        while let Some((policy, _)) = self.common.wanted.pop_front() {
            if let Some(wanted) = self.wanted(policy, None, false, cx) {
                return Some(wanted);
            }
        }
        let policies = cx.core.policies_of(self.common.peer_id);
        if let Some((policy, _)) = policies.first() {
            return self.wanted(*policy, None, false, cx);
        }
        let template = self.template_of_asking(cx).filter(|_| asks)?;
        self.wanted(template, None, false, cx)
    }

    /// Returns the template for pairs of an initiator with mode config.
    fn template_of_asking(&self, cx: &Context<'_>) -> Option<PolicyId> {
        let identity = self.common.peer.identities.get(self.common.identity)?;
        if identity.generate_policy == GeneratePolicy::No {
            return None;
        }
        let (template, _) = cx.core.templates(&identity.template_group).next()?;
        Some(template)
    }

    /// Negotiates a pair again, if the responder removed that of the lease.
    pub(crate) fn open_leased(&mut self, cx: &mut Context<'_>) {
        let usable = self.common.state == State::Established && self.common.leased.is_some();
        if !usable || !cx.core.pairs_with(self.common.id).is_empty() {
            return;
        }
        if let Some(template) = self.template_of_asking(cx) {
            self.acquire(template, None, cx);
        }
    }

    /// Initiator: processes a response.
    pub(super) fn auth_response(
        &mut self,
        found: &[Payload<'_>],
        wanted: Option<Box<ChildRequest>>,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let has_auth = body(found, kind::AUTH).is_ok();
        if let Some(number) = error(found).filter(|_| !has_auth) {
            let text = format!("the peer refuses with {}", describe::error(number));
            self.say(Level::Error, &text, cx);
            let fatal = number == notify::AUTHENTICATION_FAILED;
            self.gone = true;
            return Err(if fatal {
                Why::Authentication
            } else {
                Why::Protocol
            });
        }
        // With EAP the responder sends AUTH in its first response, and again with the MSK.
        let proves = self.stage == Stage::Auth || self.msk.is_some();
        if proves && let Err(reason) = self.judge_responder(found) {
            self.say(
                Level::Error,
                &format!("authentication failed: {reason}"),
                cx,
            );
            return Err(Why::Authentication);
        }
        if self.eap.is_some() {
            return self.eap_step(found, wanted, cx);
        }
        self.read_mobike(found);
        self.establish(cx);
        if let Some(reply) = body(found, kind::CP)
            .ok()
            .and_then(|body| Configuration::read(body).ok())
        {
            let lease = mode_config::lease(&reply);
            self.common.leased = lease.address;
            cx.out.push(Action::Leased {
                sa: self.common.id,
                peer: self.common.peer_id,
                lease,
            });
        }
        if let Some(wanted) = wanted {
            let policy = wanted.policy_id();
            if let Err(why) = self.take_pair(&wanted, found, None, cx) {
                self.say(Level::Error, &format!("no child SA: {}", why.name()), cx);
                cx.core.orders.push_back(Order::Failed(policy, why));
            }
        }
        Ok(())
    }

    fn judge_responder(&mut self, found: &[Payload<'_>]) -> Result<(), String> {
        if self.msk.is_none() {
            self.ids.1 = body(found, kind::ID_R).map_err(|_| "no identity")?.to_vec();
        }
        let id = read_who(&self.ids.1).ok_or("unknown identity")?;
        self.judge(found, &id)?;
        self.common.remote_id = Some(id);
        Ok(())
    }

    /// Initiator: continues EAP; after its success sends AUTH with the MSK.
    fn eap_step(
        &mut self,
        found: &[Payload<'_>],
        wanted: Option<Box<ChildRequest>>,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        self.stage = Stage::Eap;
        self.common.state = State::Eap;
        let message = body(found, kind::EAP).map_err(|_| Why::Authentication)?;
        let mut chain = Chain::default();
        let challenge = cx.core.random(16);
        let client = self.eap.as_mut().ok_or(Why::Authentication)?;
        match client.step(message, &challenge) {
            eap::Step::Answer(answer) => chain.push(kind::EAP, &answer),
            eap::Step::Success(msk) => {
                self.msk = Some(msk);
                self.eap = None;
                let proof = self.push_proof(&mut chain);
                proof.map_err(|_| Why::Authentication)?;
            }
            eap::Step::Failure(reason) => {
                self.say(Level::Error, &format!("EAP failed: {reason}"), cx);
                return Err(Why::Authentication);
            }
        }
        self.ask(exchange::AUTH, &chain, Request::Auth(wanted), cx);
        Ok(())
    }

    /// Responder: selects the identity: the first that names the peer, else a wildcard.
    fn choose_identity(&mut self, id: &Id, with_eap: bool, found: &[Payload<'_>]) -> bool {
        let by_secret = body(found, kind::AUTH).is_ok_and(|proof| proof.first() == Some(&2));
        let fits = |auth: &Auth| match auth {
            Auth::Psk(_) => !with_eap && by_secret,
            Auth::Signature(_) => !with_eap && !by_secret,
            Auth::EapRadius(_) => with_eap,
            Auth::Eap(_) | Auth::PskXauth { .. } => false,
        };
        let identities = self.common.peer.identities.iter().enumerate();
        let mut fitting = identities.filter(|(_, one)| fits(&one.auth));
        let certificate = certificates(found).next();
        let named = fitting
            .clone()
            .find(|(_, one)| one.remote_id.names(id, certificate));
        let any = || fitting.find(|(_, one)| one.remote_id.may_be(id, certificate));
        match named.or_else(any) {
            Some((at, _)) => {
                self.common.identity = at;
                true
            }
            None => false,
        }
    }

    /// Responder: processes a request.
    pub(super) fn auth_request(&mut self, found: &[Payload<'_>], cx: &mut Context<'_>) -> Reply {
        match self.stage {
            Stage::Auth => self.first_request(found, cx),
            Stage::Eap => match body(found, kind::EAP) {
                Ok(message) => self.ask_server(message.to_vec(), cx),
                Err(_) => Reply::Over(refusal(notify::INVALID_SYNTAX), Why::Protocol),
            },
            _ => {
                let id = self.common.remote_id.clone();
                match id
                    .ok_or_else(String::new)
                    .and_then(|id| self.judge(found, &id))
                {
                    Ok(()) => self.finish_auth(None, cx),
                    Err(reason) => self.rejected(&reason, cx),
                }
            }
        }
    }

    fn rejected(&self, reason: &str, cx: &mut Context<'_>) -> Reply {
        self.say(
            Level::Error,
            &format!("authentication failed: {reason}"),
            cx,
        );
        Reply::Over(refusal(notify::AUTHENTICATION_FAILED), Why::Authentication)
    }

    fn first_request(&mut self, found: &[Payload<'_>], cx: &mut Context<'_>) -> Reply {
        self.ids.0 = body(found, kind::ID_I).unwrap_or_default().to_vec();
        let Some(id) = read_who(&self.ids.0) else {
            return Reply::Over(refusal(notify::INVALID_SYNTAX), Why::Protocol);
        };
        self.common.state = State::Message3;
        let with_eap = body(found, kind::AUTH).is_err();
        if !self.choose_identity(&id, with_eap, found) {
            return self.rejected(&format!("identity not found for peer: {id}"), cx);
        }
        self.ids.1 = self.own_id();
        if with_eap {
            self.common.remote_id = Some(id);
            self.common.state = State::Eap;
            self.stage = Stage::Eap;
            return self.offer_eap(cx);
        }
        if let Err(reason) = self.judge(found, &id) {
            return self.rejected(&reason, cx);
        }
        self.common.remote_id = Some(id);
        if notified(found, notify::INITIAL_CONTACT).is_some() {
            cx.core.orders.push_back(Order::OnlyOne(self.common.id));
        }
        self.finish_auth(None, cx)
    }

    /// Responder: proves its identity, and asks for that of the peer by EAP.
    fn offer_eap(&mut self, cx: &mut Context<'_>) -> Reply {
        let mut chain = Chain::default().with(kind::ID_R, &self.ids.1);
        if let Err(reason) = self.push_proof(&mut chain) {
            return self.unproven(reason, Proving::OfferEap, cx);
        }
        chain.push(kind::EAP, &eap::identity_request());
        Reply::Now(chain)
    }

    /// Responder without a proof: postpones the response until the key has signed, or refuses.
    fn unproven(&mut self, reason: NoSignature, step: Proving, cx: &mut Context<'_>) -> Reply {
        match reason {
            NoSignature::Pending => {
                self.pending = Some(Proof::new(step, cx.now));
                Reply::Later
            }
            NoSignature::Failed(why) => {
                self.say_unsigned(&why, cx);
                Reply::Over(refusal(notify::AUTHENTICATION_FAILED), Why::Authentication)
            }
        }
    }

    fn say_unsigned(&self, why: &str, cx: &mut Context<'_>) {
        self.say(Level::Error, &format!("no signature: {why}"), cx);
    }

    /// Repeats the step whose signature was not made yet.
    pub(super) fn prove_again(&mut self, cx: &mut Context<'_>) -> Result<(), Why> {
        let Some(proof) = self.pending.take_if(|proof| proof.again_at <= cx.now) else {
            return Ok(());
        };
        self.waiting = None;
        let reply = match proof.step {
            Proving::Begin => {
                self.begin_auth(cx);
                return Ok(());
            }
            Proving::OfferEap => self.offer_eap(cx),
            Proving::Finish(leased) => self.finish_auth(leased, cx),
        };
        self.reply(exchange::AUTH, reply, cx)
    }

    /// Responder: passes an EAP message to the RADIUS client.
    fn ask_server(&self, message: Vec<u8>, cx: &mut Context<'_>) -> Reply {
        cx.out.push(Action::Eap {
            sa: self.common.id,
            id: self
                .common
                .remote_id
                .clone()
                .unwrap_or(Id::KeyId(Vec::new())),
            message,
        });
        Reply::Later
    }

    /// Continues with the decision of the RADIUS server.
    pub(crate) fn eap(&mut self, reply: EapReply, cx: &mut Context<'_>) -> Result<(), Why> {
        if self.stage != Stage::Eap || self.waiting.take().is_none() {
            return Ok(());
        }
        self.over_at = cx.now + OPENING_TIMEOUT;
        let message = |bytes: &[u8]| Chain::default().with(kind::EAP, bytes);
        let reply = match reply {
            EapReply::Message(bytes) => Reply::Now(message(&bytes)),
            EapReply::Success(bytes, msk) => {
                self.stage = Stage::EapProof;
                self.msk = Some(msk);
                Reply::Now(message(&bytes))
            }
            EapReply::Failure(bytes) => {
                self.say(Level::Error, "EAP failed", cx);
                Reply::Over(message(&bytes), Why::Authentication)
            }
        };
        self.reply(exchange::AUTH, reply, cx)
    }

    /// Continues with the address of the pool.
    pub(crate) fn leased(
        &mut self,
        address: Option<IpAddr>,
        cx: &mut Context<'_>,
    ) -> Result<(), Why> {
        let waits = matches!(self.stage, Stage::Auth | Stage::EapProof);
        if !waits || self.waiting.take().is_none() {
            return Ok(());
        }
        let reply = self.finish_auth(Some(address), cx);
        self.reply(exchange::AUTH, reply, cx)
    }

    /// Responder: completes authentication. `leased` is the pool's answer, if the pool was asked.
    fn finish_auth(&mut self, leased: Option<Option<IpAddr>>, cx: &mut Context<'_>) -> Reply {
        let (first, plain) = self.opening.clone();
        let Ok(found) = payloads(first, &plain, &[]) else {
            return Reply::Over(refusal(notify::INVALID_SYNTAX), Why::Protocol);
        };
        let identity = self.common.peer.identities.get(self.common.identity);
        let config = identity
            .and_then(|identity| identity.mode_config.clone())
            .filter(|config| config.responder);
        let asked = body(&found, kind::CP)
            .ok()
            .and_then(|body| Configuration::read(body).ok());
        let mut given = None;
        if let (Some(config), Some(asked)) = (config, asked) {
            let address = match (&config.pool, leased) {
                (Some(pool), None) if config.address.is_none() => {
                    cx.out.push(Action::LeaseWanted {
                        sa: self.common.id,
                        pool: pool.clone(),
                        wish: mode_config::lease(&asked).address,
                    });
                    return Reply::Later;
                }
                (_, leased) => config.address.or(leased.flatten()),
            };
            self.common.leased = address;
            let system = &cx.core.settings.dns;
            given = Some(mode_config::reply(&config, address, system, Version::Two));
        }
        let mut chain = Chain::default();
        if self.msk.is_none() {
            chain.push(kind::ID_R, &self.ids.1);
        }
        if let Err(reason) = self.push_proof(&mut chain) {
            return self.unproven(reason, Proving::Finish(leased), cx);
        }
        self.read_mobike(&found);
        if self.is_mobile {
            Self::push_mobike(&mut chain);
        }
        self.establish(cx);
        match given {
            Some(_) if self.common.leased.is_none() => {
                push_notify(&mut chain, notify::NO_ADDRESS, &[]);
                return Reply::Now(chain);
            }
            Some(given) => chain.push(kind::CP, &given.write()),
            None => {}
        }
        if bodies(&found, kind::SA).next().is_some()
            && let Err((number, data)) = self.answer_pair(&found, None, &mut chain, cx)
        {
            push_notify(&mut chain, number, &data);
        }
        Reply::Now(chain)
    }
}

/// Returns the identity of an ID payload; `None` for address ranges.
fn read_who(body: &[u8]) -> Option<Id> {
    match read_id(body).ok()? {
        (Identification::Who(id), ..) => Some(id),
        _ => None,
    }
}
