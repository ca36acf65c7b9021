//! RADIUS for sessions: authentication of users without a secret, accounting, and requests of servers that end or
//! change sessions (RFC 2865, 2866, 5176).

use std::net::IpAddr;

use machine::{Duration, Instant};
use ppp::{Claim, CloseReason, DownReason, Event, Method, MppeKeys, Proof, Response, StartKey};
use service::radius::{
    Accept, Accounting, Answer, Authentic, Authorization, ErrorCause, Key, Outcome, Port, PortType,
    Question, Request, RequestKind, Service, SessionFacts, SessionRequest, Status, SubscriberLine,
    TerminateCause, Through, Traffic,
};

use super::Ppp;
use super::carrier::LinkEnd;
use super::login::Refusal;
use super::objects;
use super::session::{Login, Session};
use crate::feature::radius::RadiusQuery;
use crate::feature::{Effect, Effects};
use crate::intent::Name;

/// Name of the feature, to which answers come.
pub(super) const FEATURE: &str = "ppp";
/// Query numbers per session: of the session itself (access), and of the accounting states.
const QUERIES: u64 = 4;

/// A session that is accounted.
struct Accounted<'a> {
    serial: u64,
    session: &'a Session,
    login: &'a Login,
}

/// A user whom a RADIUS server is asked about.
#[derive(Debug)]
pub(super) struct PendingUser {
    user: Name,
    method: Method,
    /// Challenge of MS-CHAP version 1, from which its keys derive.
    challenge: Option<[u8; 8]>,
}

/// Returns the keys of MPPE that a RADIUS server sent (RFC 2548, 2.4.1 to 2.4.3).
fn keys(pending: &PendingUser, accept: &Accept) -> Option<MppeKeys> {
    let long = |key: &Key| key.0.first_chunk::<16>().copied();
    match (pending.method, pending.challenge) {
        (Method::MsChap1, Some(challenge)) => {
            let keys = accept.ms_chap_keys.as_ref()?;
            Some(MppeKeys::of_hashes(keys.lm, &keys.nt, &challenge))
        }
        (Method::MsChap2, _) => {
            let keys = accept.keys.as_ref()?;
            Some(MppeKeys {
                transmit: StartKey::new(long(&keys.send)?),
                receive: StartKey::new(long(&keys.receive)?),
            })
        }
        _ => None,
    }
}

impl Ppp {
    /// Asks RADIUS servers about the claim of a user.
    pub(super) fn query_access(&mut self, serial: u64, claim: &Claim, out: &mut Effects) {
        let user = Name::from(&*claim.user());
        let question = match &claim.response {
            Response::Pap { password } => Question::Access {
                password: password.bytes().to_vec(),
            },
            Response::Chap {
                id,
                challenge,
                digest,
            } => Question::Chap {
                id: *id,
                challenge: challenge.to_vec(),
                response: *digest,
            },
            Response::MsChap1 {
                id,
                challenge,
                response,
            } => Question::MsChap1 {
                id: *id,
                challenge: challenge.to_vec(),
                response: Box::new(*response),
            },
            Response::MsChap2 {
                id,
                challenge,
                response,
            } => Question::MsChap2 {
                id: *id,
                challenge: challenge.to_vec(),
                response: Box::new(*response),
            },
        };
        let Some(session) = self.sessions.get(&serial) else {
            return;
        };
        let request = self.request(serial, session, &user, question);
        if let Some(session) = self.sessions.get_mut(&serial) {
            session.pending = Some(PendingUser {
                user,
                method: claim.method(),
                challenge: match &claim.response {
                    Response::MsChap1 { challenge, .. } => Some(*challenge),
                    _ => None,
                },
            });
        }
        query(serial * QUERIES, request, out);
    }

    /// Drops the request about the user of a session that has ended.
    pub(super) fn cancel_access(serial: u64, session: &Session, out: &mut Effects) {
        if session.pending.is_some() {
            out.push(Effect::CancelRadius(FEATURE, serial * QUERIES));
        }
    }

    /// Handles the answer to a request. Answers to accounting need no action.
    pub(super) fn answered(
        &mut self,
        number: u64,
        answer: Answer,
        now: Instant,
        out: &mut Effects,
    ) {
        let (serial, query) = (number / QUERIES, number % QUERIES);
        let session = self.sessions.get_mut(&serial).filter(|_| query == 0);
        let Some(pending) = session.and_then(|session| session.pending.take()) else {
            return;
        };
        let user = &pending.user;
        let event = match answer.outcome {
            Outcome::Accept(accept) => self.accepted(serial, &pending, *accept, out),
            Outcome::Reject(reject) => {
                let event = self.refuse(serial, user, &Refusal::Authentication, out);
                let text = reject.ms_chap_error.or(reject.message);
                text.map_or(event, |text| Event::Refused(text.into()))
            }
            Outcome::Nobody => self.refuse(serial, user, &Refusal::RadiusTimeout, out),
            Outcome::Challenge { .. } | Outcome::Noted => {
                self.refuse(serial, user, &Refusal::Authentication, out)
            }
        };
        self.feed(serial, event, now, out);
    }

    fn accepted(
        &mut self,
        serial: u64,
        pending: &PendingUser,
        accept: Accept,
        out: &mut Effects,
    ) -> Event<'static> {
        let user = &pending.user;
        let proof = match pending.method {
            Method::MsChap2 => {
                let success = accept.ms_chap2_success.as_deref();
                success.and_then(|text| Proof::from_success(text.as_bytes()))
            }
            _ => Some(Proof::default()),
        };
        let proof = proof.map(|proof| proof.with_keys(keys(pending, &accept)));
        let session = self.sessions.get(&serial);
        let default = session.and_then(|session| match &session.setup.end {
            LinkEnd::Server { profile, .. } => Some(profile.clone()),
            LinkEnd::Client(_) => None,
        });
        let (Some(proof), Some(default)) = (proof, default) else {
            return self.refuse(serial, user, &Refusal::RadiusProof, out);
        };
        let group = accept.authorization.group.as_deref().map(Name::from);
        let group = group.filter(|group| self.profiles.has(group));
        let profile = self
            .profiles
            .merged(group.as_ref().unwrap_or(&default), &default);
        let grant = super::grant::Grant::of_radius(user.clone(), profile, &accept);
        self.admit(serial, grant, proof, out)
    }

    /// Starts the accounting of a session.
    pub(super) fn start_accounting(&mut self, serial: u64, now: Instant, out: &mut Effects) {
        if !(self.aaa.use_radius && self.aaa.accounting) {
            return;
        }
        let interim = self.aaa.interim;
        if let Some(login) = self.login_mut(serial) {
            login.is_accounted = true;
            login.interim = login.grant.interim.or(interim);
            login.next_interim = login.interim.map(|interval| now + interval);
        }
        self.account(serial, Status::Start, now, out);
    }

    /// Sends an interim update, if one is due.
    pub(super) fn update_accounting(&mut self, serial: u64, now: Instant, out: &mut Effects) {
        let Some(login) = self.login_mut(serial) else {
            return;
        };
        if login.next_interim.is_some_and(|at| at <= now) {
            login.next_interim = login.interim.map(|interval| now + interval);
            self.account(serial, Status::Interim, now, out);
        }
    }

    fn account(&self, serial: u64, status: Status, now: Instant, out: &mut Effects) {
        if let Some(session) = self.sessions.get(&serial)
            && let Some(login) = session.login.as_deref()
        {
            let of = Accounted {
                serial,
                session,
                login,
            };
            self.send_accounting(&of, status, None, now, out);
        }
    }

    /// Sends the end of an accounted session.
    pub(super) fn stop_accounting(
        &self,
        serial: u64,
        session: &Session,
        login: &Login,
        reason: &DownReason,
        now: Instant,
        out: &mut Effects,
    ) {
        if login.is_accounted {
            let of = Accounted {
                serial,
                session,
                login,
            };
            self.send_accounting(&of, Status::Stop, Some(reason), now, out);
        }
    }

    fn send_accounting(
        &self,
        of: &Accounted<'_>,
        status: Status,
        reason: Option<&DownReason>,
        now: Instant,
        out: &mut Effects,
    ) {
        let Accounted {
            serial,
            session,
            login,
        } = of;
        let opened = login.opened.unwrap_or(now);
        let seconds = now.saturating_since(opened).as_secs();
        let traffic = login.traffic();
        let counted = |traffic: dataplane::counters::Traffic| Traffic {
            packets: traffic.packets,
            bytes: traffic.bytes,
        };
        let accounting = Accounting {
            status,
            seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            authentic: match login.grant.is_local() {
                true => Authentic::Local,
                false => Authentic::Radius,
            },
            cause: reason.map(cause),
            through: Some(Through {
                address: login.leases.remote.map(IpAddr::V4),
                input: counted(traffic.received),
                output: counted(traffic.sent),
                ..Through::default()
            }),
        };
        let user = &login.grant.user;
        let request = Request {
            classes: login.grant.classes.clone(),
            ..self.request(*serial, session, user, Question::Accounting(accounting))
        };
        query(serial * QUERIES + status as u64, request, out);
    }

    /// Returns a request about the user of a session. The name of the router and the time are filled in later.
    fn request(&self, serial: u64, session: &Session, user: &str, question: Question) -> Request {
        let setup = &session.setup;
        let circuit = setup.circuit_id.as_deref().filter(|_| self.aaa.circuit_id);
        // Clients with an IP address call through tunnels.
        let kind = match setup.caller_id.parse::<IpAddr>() {
            Ok(_) => PortType::Virtual,
            Err(_) => PortType::Ethernet,
        };
        Request {
            service: Service::Ppp,
            question,
            user: user.to_owned(),
            calling: setup.caller_id.to_string(),
            called: setup.called_id.to_string(),
            router: String::new(),
            port: Port {
                kind,
                number: Some(setup.number),
                id: circuit.unwrap_or(&setup.port).to_owned(),
            },
            subscriber_line: SubscriberLine {
                circuit_id: setup.circuit_id.as_deref().map(str::to_owned),
                remote_id: setup.remote_id.as_deref().map(str::to_owned),
            },
            session: self.accounting_id(session.carrier, serial),
            classes: Vec::new(),
            timestamp: None,
        }
    }

    /// Ends or changes sessions for a RADIUS server.
    pub(super) fn requested(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        let serials = self.sessions_of(request);
        if serials.is_empty() {
            return None;
        }
        for serial in serials {
            match request.kind {
                RequestKind::Disconnect => self.close(serial, CloseReason::Radius, now, out),
                RequestKind::Change => self.change(serial, &request.authorization, now, out),
            }
        }
        Some(Ok(()))
    }

    /// Returns the sessions that a request is about.
    fn sessions_of(&self, request: &SessionRequest) -> Vec<u64> {
        let keys = &request.sessions;
        let candidates: Vec<u64> = match (&keys.session, &keys.user, keys.address) {
            (Some(session), _, _) => serial_of(session).into_iter().collect(),
            (None, Some(user), _) => self.sessions_of_user(user).collect(),
            (None, None, Some(address)) => {
                self.addresses.get(&address).copied().into_iter().collect()
            }
            (None, None, None) => self.sessions.keys().copied().collect(),
        };
        let fits = |serial: &u64| {
            let session = self
                .sessions
                .get(serial)
                .filter(|session| session.is_server());
            let session = session.and_then(|session| Some((session, session.login.as_deref()?)));
            session.is_some_and(|(session, login)| {
                let id = self.accounting_id(session.carrier, *serial);
                keys.fit(&SessionFacts {
                    user: &login.grant.user,
                    session: &id,
                    address: login.leases.remote.map(IpAddr::V4),
                    calling: &session.setup.caller_id,
                })
            })
        };
        candidates.into_iter().filter(fits).collect()
    }

    /// Changes the settings of an open session. RouterOS: not its address, its pool or its routes.
    fn change(
        &mut self,
        serial: u64,
        authorization: &Authorization,
        now: Instant,
        out: &mut Effects,
    ) {
        let Some(login) = self.login_mut(serial) else {
            return;
        };
        let grant = &mut login.grant;
        grant.set_limits(authorization);
        if !authorization.address_lists.is_empty() {
            grant.address_lists = names(&authorization.address_lists);
        }
        if authorization.rate_limit.is_some() {
            grant.rate_limit = authorization.rate_limit.as_deref().map(Into::into);
        }
        grant.set_filters(&authorization.filters);
        login.set_check(now);
        if !authorization.address_lists.is_empty() {
            out.push(Effect::Gone(objects::owner_of_lists(serial)));
            login.make_list_entries(serial, out);
        }
        if authorization.rate_limit.is_some() {
            out.push(Effect::Gone(objects::owner_of_queue(serial)));
            self.make_queue(serial, out);
        }
        if !authorization.filters.is_empty() {
            self.make_rules(serial, out);
        }
        self.set_timer(serial);
    }
}

/// Converts names of lists.
pub(super) fn names(list: &[String]) -> Vec<Name> {
    list.iter().map(|name| Name::from(name.as_str())).collect()
}

/// Converts a timeout of an answer; zero is none.
pub(super) fn seconds(value: Option<u32>) -> Option<Duration> {
    let value = value.filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(value.into()))
}

/// Returns the number of a session from its accounting id.
fn serial_of(id: &str) -> Option<u64> {
    u64::from_str_radix(id.get(5..)?, 16).ok()
}

fn query(number: u64, request: Request, out: &mut Effects) {
    out.push(Effect::QueryRadius(Box::new(RadiusQuery {
        feature: FEATURE,
        number,
        request,
        server: None,
    })));
}

const fn cause(reason: &DownReason) -> TerminateCause {
    match reason.cause() {
        ppp::TerminateCause::PeerRequest => TerminateCause::UserRequest,
        ppp::TerminateCause::HungUp => TerminateCause::LostCarrier,
        ppp::TerminateCause::IdleTimeout => TerminateCause::IdleTimeout,
        ppp::TerminateCause::SessionTimeout => TerminateCause::SessionTimeout,
        ppp::TerminateCause::Reset => TerminateCause::AdminReset,
        ppp::TerminateCause::Reboot => TerminateCause::AdminReboot,
        ppp::TerminateCause::PortError => TerminateCause::PortError,
        ppp::TerminateCause::NasError => TerminateCause::NasError,
        ppp::TerminateCause::NasRequest => TerminateCause::NasRequest,
    }
}
