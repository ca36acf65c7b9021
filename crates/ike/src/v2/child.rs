//! Child SAs: in IKE_AUTH, and by CREATE_CHILD_SA (RFC 7296, 1.3, 2.8, 2.9 and 2.17).
//!
//! If both sides rekey a pair at once, two pairs result; the initiator of the exchange with the lowest nonce
//! deletes its own (2.8.1).

use core::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use machine::{Duration, Instant};

use super::init::{read_nonce, read_value, write_value};
use super::offer::{Chosen, child as offers_of, choose_child};
use super::traffic::{is_within, range, selector};
use super::{Reply, Request, Sa, Task, body, error, exchange, kind, notified, notify, push_notify};
use crate::config::{Mode, Policy, PolicyId, Protocol, Secret, Selector};
use crate::crypto::Agreement;
use crate::describe;
use crate::engine::core::{Context, Order};
use crate::event::{Child, ChildId, Level, Sa as Direction, State, Why};
use crate::message::{
    Chain, Notify, Offer, Payload, Range, Version, read_offers, read_ranges, write_offers,
    write_ranges,
};
use crate::suite::Group;

/// Maximum number of selectors of a pair.
const MOST_SELECTORS: usize = 64;
/// Time after which the initiator has the responder's answer, unless it was lost.
const ANSWER_DELAY: Duration = Duration::from_secs(4);

/// A pair that this side requests.
pub(super) struct ChildRequest {
    policy_id: PolicyId,
    policy: Arc<Policy>,
    generated: bool,
    replaces: Option<ChildId>,
    spi: u32,
    nonce: Vec<u8>,
    agreement: Option<Agreement>,
    /// Local and remote traffic selectors.
    own: Vec<Range>,
    theirs: Vec<Range>,
    /// Pair from the peer's simultaneous rekey, and the lower nonce of that exchange.
    rival: Option<(ChildId, Vec<u8>)>,
    begun: Instant,
}

impl ChildRequest {
    pub(super) const fn policy_id(&self) -> PolicyId {
        self.policy_id
    }

    pub(super) fn is_for(&self, policy: PolicyId, replaces: Option<ChildId>) -> bool {
        self.policy_id == policy && self.replaces == replaces
    }
}

/// Error response: notify type and data.
type Refusal = (u16, Vec<u8>);

/// Nonces of initiator and responder, and the shared secret of a new key exchange.
pub(super) struct FreshKeys {
    nonces: (Vec<u8>, Vec<u8>),
    shared: Option<Secret>,
}

/// Parameters of a new pair.
struct ChildParameters<'a> {
    policy_id: PolicyId,
    policy: &'a Policy,
    generated: bool,
    replaces: Option<ChildId>,
    selectors: Vec<(Selector, Selector)>,
    payload: u8,
    mode: Mode,
    chosen: Chosen,
    spi: u32,
    original: Option<(IpAddr, IpAddr)>,
    /// True if this side sent the request.
    asked: bool,
    begun: Instant,
}

/// A peer's selectors after narrowing, with the policy.
pub(super) struct Allowed {
    pub(super) policy_id: PolicyId,
    pub(super) policy: Arc<Policy>,
    pub(super) generated: bool,
    pub(super) mode: Mode,
    pub(super) selectors: Vec<(Selector, Selector)>,
    pub(super) payload: u8,
}

/// Nonces of an exchange (initiator, responder), and the pair that it rekeys.
type Exchanged = ((Vec<u8>, Vec<u8>), Option<ChildId>);

const fn protocol_number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Ah => 2,
        Protocol::Esp => 3,
    }
}

impl Sa {
    /// Builds the request of a pair for a policy. `with_group`: the exchange has its own key exchange (PFS).
    pub(super) fn wanted(
        &self,
        id: PolicyId,
        replaces: Option<ChildId>,
        with_group: bool,
        cx: &mut Context<'_>,
    ) -> Option<ChildRequest> {
        let mut policy = (**cx.core.policies.get(&id)?).clone();
        let mut generated = policy.template.is_some();
        let mut traffic = Vec::new();
        if let Some(child) = replaces
            .and_then(|old| cx.core.children.get(&old))
            .map(|kept| &kept.child)
            && child.generated
            && let Some(selectors) = child.selectors.first()
        {
            traffic.clone_from(&child.selectors);
            (policy.source, policy.destination) = *selectors;
            (policy.mode, policy.protocol, generated) = (child.mode, child.payload, true);
        } else if generated && replaces.is_none() {
            // Mode config: requests everything, and the responder narrows it.
            let all = |selector: Selector| Selector {
                prefix: if selector.prefix.prefix_len() == 0 {
                    IpNet::V4(Default::default())
                } else {
                    selector.prefix
                },
                ..selector
            };
            (policy.source, policy.destination) = (all(policy.source), all(policy.destination));
            policy.mode = Mode::Tunnel;
        }
        if traffic.is_empty() {
            traffic.push((policy.source, policy.destination));
        }
        let (own, theirs) = ranges_of(&traffic, policy.protocol);
        let group = policy.proposal.pfs.filter(|_| with_group);
        Some(ChildRequest {
            policy_id: id,
            own,
            theirs,
            policy: Arc::new(policy),
            generated,
            replaces,
            spi: cx.core.random_spi(),
            nonce: cx.core.random(32),
            agreement: group.and_then(|group| Agreement::new(group, &mut cx.core.entropy)),
            rival: None,
            begun: cx.now,
        })
    }

    /// Appends the payloads that request a pair.
    pub(super) fn push_wanted(&self, wanted: &ChildRequest, fresh: bool, chain: &mut Chain) {
        let group = wanted.agreement.as_ref().map(Agreement::group);
        let offers = offers_of(&wanted.policy, wanted.spi, group);
        chain.push(kind::SA, &write_offers(Version::Two, &offers));
        if fresh {
            chain.push(kind::NONCE, &wanted.nonce);
        }
        if let Some(agreement) = &wanted.agreement {
            chain.push(kind::KE, &write_value(agreement));
        }
        chain.push(kind::TS_I, &write_ranges(&wanted.own));
        chain.push(kind::TS_R, &write_ranges(&wanted.theirs));
        if wanted.policy.mode == Mode::Transport {
            push_notify(chain, notify::TRANSPORT, &[]);
        }
    }

    /// Sends the request of a pair.
    pub(super) fn ask_child(
        &mut self,
        policy: PolicyId,
        replaces: Option<ChildId>,
        cx: &mut Context<'_>,
    ) {
        let old = replaces.and_then(|old| cx.core.children.get(&old));
        if replaces.is_some() && old.is_none_or(|old| old.replaced) {
            return;
        }
        let old = old.map(|old| {
            (
                protocol_number(old.child.protocol),
                old.child.inbound.spi.to_be_bytes(),
            )
        });
        let Some(wanted) = self.wanted(policy, replaces, true, cx) else {
            return;
        };
        let mut chain = Chain::default();
        if let Some((protocol, spi)) = old {
            let notify = Notify {
                protocol,
                spi: &spi,
                kind: notify::REKEY,
                data: &[],
            };
            chain.push(kind::NOTIFY, &notify.write(Version::Two));
        }
        self.push_wanted(&wanted, true, &mut chain);
        self.ask(
            exchange::CHILD,
            &chain,
            Request::Child(Box::new(wanted)),
            cx,
        );
    }

    /// Processes the response to a request of a pair.
    pub(super) fn child_response(
        &mut self,
        wanted: ChildRequest,
        found: &[Payload<'_>],
        cx: &mut Context<'_>,
    ) {
        let old = wanted
            .replaces
            .filter(|old| cx.core.children.contains_key(old));
        let taken = self.fresh(&wanted, found).and_then(|fresh| {
            let lowest = fresh.nonces.0.clone().min(fresh.nonces.1.clone());
            let lost = wanted
                .rival
                .as_ref()
                .is_some_and(|(_, rival)| lowest < *rival);
            if lost {
                return Ok(None);
            }
            self.take_pair(&wanted, found, Some(fresh), cx).map(Some)
        });
        match taken {
            // Simultaneous rekey: the peer's pair stays, this side deletes its own.
            Ok(None) => self.push_task(Task::Delete(wanted.policy.ipsec, wanted.spi, None)),
            Ok(Some(_)) => {
                if let Some(old) = old.and_then(|old| cx.core.children.get(&old)) {
                    let child = &old.child;
                    self.push_task(Task::Delete(
                        child.protocol,
                        child.inbound.spi,
                        Some(child.id),
                    ));
                }
            }
            Err(why) => {
                let gone = error(found) == Some(notify::NO_CHILD) && wanted.rival.is_none();
                if let Some(old) = old.filter(|_| gone) {
                    cx.remove(old, Why::Deleted);
                }
                if error(found) != Some(notify::TEMPORARY) && error(found) != Some(notify::NO_CHILD)
                {
                    self.say(Level::Error, &format!("no child SA: {}", why.name()), cx);
                }
                cx.core
                    .orders
                    .push_back(Order::Failed(wanted.policy_id, why));
            }
        }
    }

    /// Returns nonces and secret of an exchange that this side initiated.
    fn fresh(&self, wanted: &ChildRequest, found: &[Payload<'_>]) -> Result<FreshKeys, Why> {
        if let Some(number) = error(found) {
            return Err(reason(number));
        }
        let nonce = read_nonce(found).map_err(|_| Why::Protocol)?;
        let shared = match &wanted.agreement {
            None => None,
            Some(agreement) => {
                let (number, value) = body(found, kind::KE)
                    .and_then(read_value)
                    .map_err(|_| Why::Protocol)?;
                let value = Some(value).filter(|_| number == agreement.group().number());
                Some(
                    value
                        .and_then(|value| agreement.shared(value))
                        .ok_or(Why::Protocol)?,
                )
            }
        };
        Ok(FreshKeys {
            nonces: (wanted.nonce.clone(), nonce),
            shared,
        })
    }

    /// Installs the pair of a response. `fresh` is `None` in IKE_AUTH.
    pub(super) fn take_pair(
        &mut self,
        wanted: &ChildRequest,
        found: &[Payload<'_>],
        fresh: Option<FreshKeys>,
        cx: &mut Context<'_>,
    ) -> Result<ChildId, Why> {
        if let Some(number) = error(found) {
            return Err(reason(number));
        }
        let offers = body(found, kind::SA).and_then(|body| read_offers(Version::Two, body));
        let offers = offers.map_err(|_| Why::Protocol)?;
        let (_, chosen) =
            choose_child(&offers, &wanted.policy, fresh.is_some()).ok_or(Why::NoProposal)?;
        if chosen.group != wanted.agreement.as_ref().map(Agreement::group) {
            return Err(Why::NoProposal);
        }
        let ranges = |kind| {
            body(found, kind)
                .and_then(read_ranges)
                .map_err(|_| Why::Protocol)
        };
        let (own, theirs) = (ranges(kind::TS_I)?, ranges(kind::TS_R)?);
        let transport = notified(found, notify::TRANSPORT).is_some();
        let mode = if transport {
            Mode::Transport
        } else {
            Mode::Tunnel
        };
        if mode != wanted.policy.mode {
            return self.take_back(wanted, Why::NoTraffic);
        }
        let translated = mode == Mode::Transport && self.common.translated != (false, false);
        let fits = |said: &[Range], asked: &[Range]| {
            let within = |one| asked.iter().any(|asked| is_within(one, asked));
            !said.is_empty() && said.iter().all(within)
        };
        let fit = fits(&own, &wanted.own) && fits(&theirs, &wanted.theirs);
        if !translated && !fit {
            return self.take_back(wanted, Why::NoTraffic);
        }
        let mut selectors = vec![(wanted.policy.source, wanted.policy.destination)];
        if !translated {
            let all = own.iter().filter_map(selector);
            let all = all.flat_map(|own| {
                theirs
                    .iter()
                    .filter_map(selector)
                    .map(move |theirs| (own, theirs))
            });
            selectors = all.take(MOST_SELECTORS).collect();
        }
        let payload = { theirs.first() }.map_or(wanted.policy.protocol, |one| one.protocol);
        let made = ChildParameters {
            policy_id: wanted.policy_id,
            policy: &wanted.policy,
            generated: wanted.generated,
            replaces: wanted.replaces,
            selectors,
            payload,
            mode,
            chosen,
            spi: wanted.spi,
            original: None,
            asked: true,
            begun: wanted.begun,
        };
        Ok(self.have(&made, fresh, cx))
    }

    /// Deletes a pair that the responder installed but this side refuses.
    fn take_back(&mut self, wanted: &ChildRequest, why: Why) -> Result<ChildId, Why> {
        self.push_task(Task::Delete(wanted.policy.ipsec, wanted.spi, None));
        Err(why)
    }

    /// Derives the encryption and authentication keys of both directions: outbound, inbound.
    fn child_keys(
        &self,
        made: &ChildParameters<'_>,
        fresh: Option<FreshKeys>,
    ) -> ((Secret, Secret), (Secret, Secret)) {
        let suite = made.chosen.suite;
        let lens = (suite.encryption.key_len(), suite.authentication_len());
        let fresh = fresh.unwrap_or_else(|| FreshKeys {
            nonces: self.nonces.clone(),
            shared: None,
        });
        let nonces = (fresh.nonces.0.as_slice(), fresh.nonces.1.as_slice());
        let keys = self.keys.as_ref();
        let material =
            keys.map(|keys| keys.material(fresh.shared.as_ref(), nonces, 2 * (lens.0 + lens.1)));
        let material = material.unwrap_or_default();
        let mut rest = material.bytes();
        let mut take = |len| {
            let (head, tail) = rest.split_at_checked(len).unwrap_or_default();
            rest = tail;
            Secret::new(head)
        };
        // Keys of the initiator's direction come first (RFC 7296, 2.17).
        let first = (take(lens.0), take(lens.1));
        let second = (take(lens.0), take(lens.1));
        match made.asked {
            true => (first, second),
            false => (second, first),
        }
    }

    /// Derives the keys and installs a pair.
    fn have(
        &self,
        made: &ChildParameters<'_>,
        fresh: Option<FreshKeys>,
        cx: &mut Context<'_>,
    ) -> ChildId {
        let suite = made.chosen.suite;
        let (out, into) = self.child_keys(made, fresh);
        let direction = |spi, (encryption_key, authentication_key)| Direction {
            spi,
            encryption_key,
            authentication_key,
        };
        let lifetime = made.policy.proposal.lifetime;
        let soft = soft_lifetime(lifetime, made.asked, cx);
        let id = ChildId(cx.core.number());
        let traffic = self
            .common
            .traffic(&made.selectors, made.generated, made.mode);
        let others = cx.core.is_served(made.policy_id, traffic);
        let child = Child {
            id,
            sa: self.common.id,
            peer: self.common.peer_id,
            policy: made.policy_id,
            generated: made.generated,
            protocol: made.policy.ipsec,
            mode: made.mode,
            selectors: made.selectors.clone(),
            payload: made.payload,
            suite,
            inbound: direction(made.spi, into),
            outbound: direction(made.chosen.spi, out),
            local: self.common.local,
            remote: self.common.remote,
            natt: self.common.translated != (false, false),
            original: made.original,
            begun: made.begun,
            born: cx.now,
            soft,
            hard: lifetime,
            bytes: None,
            replaces: made.replaces,
            // The initiator knows that the peer has the pair. A responder waits until the old pair is deleted, or,
            // if both sides initiated at once, until its answer has arrived.
            active: made.asked || (made.replaces.is_none() && !others),
        };
        cx.install(child, Some(soft));
        if others && !made.asked && made.replaces.is_none() {
            cx.activate_later(id, ANSWER_DELAY);
        }
        id
    }

    /// Logs the peer's proposals and the configured one.
    fn log_proposal(&self, offers: &[Offer], policy: &Policy, cx: &mut Context<'_>) {
        let configured = describe::proposal(&policy.proposal);
        self.common.log_offers(Version::Two, offers, configured, cx);
    }

    /// Responder: processes CREATE_CHILD_SA.
    pub(super) fn child_request(&mut self, found: &[Payload<'_>], cx: &mut Context<'_>) -> Reply {
        let refuse = |(number, data): Refusal| {
            let mut chain = Chain::default();
            push_notify(&mut chain, number, &data);
            Reply::Now(chain)
        };
        let offers = body(found, kind::SA).and_then(|body| read_offers(Version::Two, body));
        let Ok(offers) = offers else {
            return refuse((notify::INVALID_SYNTAX, Vec::new()));
        };
        if offers.first().is_some_and(|offer| offer.protocol == 1) {
            return self.answer_renewal(&offers, found, cx);
        }
        // No new pairs while the IKE SA is being rekeyed or closed (RFC 7296, 2.25.2).
        let renews = matches!(
            self.asked.as_ref().map(|asked| &asked.request),
            Some(Request::Renew(_))
        );
        if renews || self.common.state != State::Established {
            return refuse((notify::TEMPORARY, Vec::new()));
        }
        let mut replaces = None;
        if let Some(notify) = notified(found, notify::REKEY) {
            let spi = notify.spi.try_into().map(u32::from_be_bytes).unwrap_or(0);
            let Some(old) = cx.core.pair_out(self.common.id, spi) else {
                return refuse((notify::NO_CHILD, Vec::new()));
            };
            let asked = self.asked.as_ref().map(|asked| &asked.request);
            let deletes = matches!(asked, Some(Request::Delete(Some(child))) if *child == old);
            if deletes || cx.core.children.get(&old).is_some_and(|old| old.replaced) {
                return refuse((notify::TEMPORARY, Vec::new()));
            }
            replaces = Some(old);
        }
        let Ok(nonce) = read_nonce(found) else {
            return refuse((notify::INVALID_SYNTAX, Vec::new()));
        };
        let nonces = (nonce, cx.core.random(32));
        let lowest = nonces.0.clone().min(nonces.1.clone());
        let mut chain = Chain::default();
        match self.answer_pair(found, Some((nonces, replaces)), &mut chain, cx) {
            Err(refusal) => refuse(refusal),
            Ok(child) => {
                self.meet_rival(replaces, child, lowest);
                Reply::Now(chain)
            }
        }
    }

    /// Records the peer's pair if both sides rekey the same pair.
    fn meet_rival(&mut self, replaces: Option<ChildId>, child: ChildId, lowest: Vec<u8>) {
        if let Some(Request::Child(wanted)) = self.asked.as_mut().map(|asked| &mut asked.request)
            && replaces.is_some()
            && wanted.replaces == replaces
        {
            wanted.rival = Some((child, lowest));
        }
    }

    /// Selects policy and proposal and installs a pair. Appends the response payloads. `exchange` holds nonces
    /// and replaced pair for CREATE_CHILD_SA.
    pub(super) fn answer_pair(
        &mut self,
        found: &[Payload<'_>],
        exchange: Option<Exchanged>,
        chain: &mut Chain,
        cx: &mut Context<'_>,
    ) -> Result<ChildId, Refusal> {
        let syntax = |_| (notify::INVALID_SYNTAX, Vec::new());
        let offers = body(found, kind::SA)
            .and_then(|body| read_offers(Version::Two, body))
            .map_err(syntax)?;
        let ranges = |kind| body(found, kind).and_then(read_ranges).map_err(syntax);
        let (asked_theirs, asked_own) = (ranges(kind::TS_I)?, ranges(kind::TS_R)?);
        let transport = notified(found, notify::TRANSPORT).is_some();
        let (own, theirs) = self.seen(&asked_own, &asked_theirs, transport);
        let Some(allowed) = self.allowed(&own, &theirs, transport, cx) else {
            self.say(Level::Error, "no policy for the peer's selectors", cx);
            return Err((notify::TS_UNACCEPTABLE, Vec::new()));
        };
        self.log_proposal(&offers, &allowed.policy, cx);
        let Some((mut offer, chosen)) = choose_child(&offers, &allowed.policy, exchange.is_some())
        else {
            self.say(Level::Error, "no suitable proposal found, phase 2", cx);
            return Err((notify::NO_PROPOSAL, Vec::new()));
        };
        let (agreement, shared) = agree(chosen.group, found, cx)?;
        let spi = cx.core.random_spi();
        offer.spi = spi.to_be_bytes().to_vec();
        chain.push(kind::SA, &write_offers(Version::Two, &[offer]));
        let (fresh, replaces) = match exchange {
            None => (None, None),
            Some((nonces, replaces)) => {
                chain.push(kind::NONCE, &nonces.1);
                (Some(FreshKeys { nonces, shared }), replaces)
            }
        };
        if let Some(agreement) = &agreement {
            chain.push(kind::KE, &write_value(agreement));
        }
        let substituted =
            allowed.mode == Mode::Transport && (own != asked_own || theirs != asked_theirs);
        let (mut said_own, mut said_theirs) = ranges_of(&allowed.selectors, allowed.payload);
        if substituted {
            // Transport mode: the response repeats the peer's own addresses (RFC 7296, 2.23.1).
            (said_own, said_theirs) = (asked_own.clone(), asked_theirs.clone());
        }
        chain.push(kind::TS_I, &write_ranges(&said_theirs));
        chain.push(kind::TS_R, &write_ranges(&said_own));
        if allowed.mode == Mode::Transport {
            push_notify(chain, notify::TRANSPORT, &[]);
        }
        let original = { asked_own.first() }.zip(asked_theirs.first());
        let original = original.filter(|_| substituted);
        let made = ChildParameters {
            policy_id: allowed.policy_id,
            policy: &allowed.policy,
            generated: allowed.generated,
            replaces,
            selectors: allowed.selectors.clone(),
            payload: allowed.payload,
            mode: allowed.mode,
            chosen,
            spi,
            original: original.map(|(own, theirs)| (own.addresses.0, theirs.addresses.0)),
            asked: false,
            begun: cx.now,
        };
        Ok(self.have(&made, fresh, cx))
    }

    /// Replaces host addresses by the endpoints of the packets, for transport mode through NAT (RFC 7296,
    /// 2.23.1).
    fn seen(&self, own: &[Range], theirs: &[Range], transport: bool) -> (Vec<Range>, Vec<Range>) {
        let put = |ranges: &[Range], translated: bool, end: IpAddr| {
            let ranges = ranges.iter().map(|range| {
                let host = range.addresses.0 == range.addresses.1;
                let addresses = if transport && translated && host {
                    (end, end)
                } else {
                    range.addresses
                };
                Range {
                    addresses,
                    ..*range
                }
            });
            ranges.collect()
        };
        let translated = self.common.translated;
        (
            put(own, translated.0, self.common.local.ip()),
            put(theirs, translated.1, self.common.remote.ip()),
        )
    }
}

/// Returns the distinct local and remote ranges of selectors.
fn ranges_of(selectors: &[(Selector, Selector)], protocol: u8) -> (Vec<Range>, Vec<Range>) {
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for (source, destination) in selectors {
        let (source, destination) = (range(source, protocol), range(destination, protocol));
        if !own.contains(&source) {
            own.push(source);
        }
        if !theirs.contains(&destination) {
            theirs.push(destination);
        }
    }
    (own, theirs)
}

/// Responder: returns its key pair and the shared secret, if a group was negotiated.
fn agree(
    group: Option<Group>,
    found: &[Payload<'_>],
    cx: &mut Context<'_>,
) -> Result<(Option<Agreement>, Option<Secret>), Refusal> {
    let Some(group) = group else {
        return Ok((None, None));
    };
    let syntax = (notify::INVALID_SYNTAX, Vec::new());
    let (number, value) = body(found, kind::KE)
        .and_then(read_value)
        .map_err(|_| syntax.clone())?;
    if number != group.number() {
        return Err((notify::INVALID_KE, group.number().to_be_bytes().to_vec()));
    }
    let agreement = Agreement::new(group, &mut cx.core.entropy).ok_or(syntax.clone())?;
    let shared = agreement.shared(value).ok_or(syntax)?;
    Ok((Some(agreement), Some(shared)))
}

/// Returns the age at which an SA is renewed: 75 to 80 % of its lifetime for the initiator, 90 % for the responder, so
/// that the responder acts only if the initiator does not.
fn soft_lifetime(lifetime: Duration, asked: bool, cx: &mut Context<'_>) -> Duration {
    let percent = match asked {
        true => 80 - (cx.core.random_u64() % 5) as u32,
        false => 90,
    };
    lifetime * percent / 100
}

/// Maps an error of the peer to a reason.
const fn reason(number: u16) -> Why {
    match number {
        notify::NO_PROPOSAL | notify::INVALID_KE => Why::NoProposal,
        notify::TS_UNACCEPTABLE => Why::NoTraffic,
        notify::AUTHENTICATION_FAILED => Why::Authentication,
        _ => Why::Protocol,
    }
}
