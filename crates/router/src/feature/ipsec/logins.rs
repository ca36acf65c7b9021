//! Users that RADIUS servers authenticate by EAP (`auth-method=eap-radius`): relays EAP messages
//! between user and server (RFC 3579) until the server accepts the user and gives the session key.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use ike::{EapReply, Event, Id, SaId, Secret};
use machine::Instant;
use service::radius::{
    Accept, Accounting, Answer, Outcome, Port, Question, Request, Service, Status, SubscriberLine,
};

use super::Ipsec;
use crate::feature::radius::RadiusQuery;
use crate::feature::{Effect, Effects, Feature as _};

/// Codes and types of EAP (RFC 3748, 4 and 5).
const RESPONSE: u8 = 2;
const FAILURE: u8 = 4;
const IDENTITY: u8 = 1;

/// Service of the requests.
pub(super) const SERVICE: Service = Service::Ipsec;

/// Subject of a RADIUS request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Login of the user of an IKE SA.
    Login(SaId),
    /// Accounting of a session.
    Accounting(SaId, Status),
}

impl Subject {
    /// Returns the number of the request: the IKE SA, and in the low bits the kind of request.
    const fn number(self) -> u64 {
        match self {
            Self::Login(sa) => sa.0 << 2,
            Self::Accounting(sa, status) => sa.0 << 2 | status as u64,
        }
    }

    /// Returns the IKE SA of a login's number; `None` for accounting.
    const fn login(number: u64) -> Option<SaId> {
        match number & 3 {
            0 => Some(SaId(number >> 2)),
            _ => None,
        }
    }
}

/// Logins in progress, by IKE SA.
#[derive(Default)]
pub(super) struct Logins(BTreeMap<SaId, Talk>);

/// Returns the RADIUS request for a login.
fn about(talk: &Talk, question: Question) -> Request {
    let (calling, called) = talk.ends.clone();
    Request {
        service: SERVICE,
        question,
        user: talk.user.clone(),
        calling,
        called,
        router: String::new(),
        port: Port::of_service(SERVICE.name()),
        subscriber_line: SubscriberLine::default(),
        session: String::new(),
        classes: Vec::new(),
        timestamp: None,
    }
}

/// State of one login.
#[derive(Default)]
struct Talk {
    user: String,
    /// Addresses of the user and of this router as sent to the server.
    ends: (String, String),
    /// EAP identifier of the user's last message.
    number: u8,
    /// RADIUS State attribute to return, and the server that sent it.
    state: Vec<u8>,
    server: Option<u64>,
}

impl Logins {
    /// Handles an EAP message of a user. Returns the request, and the only server to ask.
    fn say(
        &mut self,
        sa: SaId,
        id: &Id,
        message: Vec<u8>,
        ends: (SocketAddr, SocketAddr),
    ) -> (Request, Option<u64>) {
        let talk = self.0.entry(sa).or_insert_with(|| Talk {
            user: id.to_string(),
            ..Talk::default()
        });
        if let [RESPONSE, number, _, _, rest @ ..] = &*message {
            talk.number = *number;
            if let [IDENTITY, user @ ..] = rest {
                talk.user = String::from_utf8_lossy(user).into_owned();
            }
        }
        talk.ends = (ends.1.ip().to_string(), ends.0.ip().to_string());
        let state = core::mem::take(&mut talk.state);
        (about(talk, Question::Eap { message, state }), talk.server)
    }

    /// Translates a RADIUS answer to the reply for the user. On acceptance also returns the request
    /// and the attributes of the session.
    fn reply(
        &mut self,
        sa: SaId,
        answer: Answer,
        has_servers: bool,
        out: &mut Effects,
    ) -> (EapReply, Option<(Request, Accept)>) {
        let mut talk = self.0.remove(&sa).unwrap_or_default();
        let failure = vec![FAILURE, talk.number, 0, 4];
        let user = &talk.user;
        let refused = match answer.outcome {
            Outcome::Challenge { eap, state } => {
                (talk.state, talk.server) = (state, answer.server);
                self.0.insert(sa, talk);
                return (EapReply::Message(eap), None);
            }
            Outcome::Accept(mut accept) if !accept.eap.is_empty() => match accept.keys.take() {
                Some(keys) => {
                    out.log("ipsec,info", format!("RADIUS accepts {user}"));
                    let eap = core::mem::take(&mut accept.eap);
                    let begins = Question::Accounting(Accounting::new(Status::Start, 0, None));
                    let about = about(&talk, begins);
                    return (
                        EapReply::Success(eap, Secret::new(keys.of_eap())),
                        Some((about, *accept)),
                    );
                }
                None => format!("RADIUS returns no EAP key for {user}"),
            },
            Outcome::Accept(_) => format!("RADIUS returns no EAP message for {user}"),
            Outcome::Reject(reject) => {
                out.log("ipsec,error", format!("RADIUS refuses {user}"));
                let eap = match reject.eap.is_empty() {
                    true => failure,
                    false => reject.eap,
                };
                return (EapReply::Failure(eap), None);
            }
            Outcome::Noted | Outcome::Nobody if !has_servers => {
                format!("RADIUS: no server has service=ipsec (/radius): {user}")
            }
            Outcome::Noted | Outcome::Nobody => format!("RADIUS: no server answers: {user}"),
        };
        out.log("ipsec,error", refused);
        (EapReply::Failure(failure), None)
    }
}

impl Ipsec {
    /// Sends a request to the RADIUS servers.
    pub(super) fn query_servers(
        &self,
        subject: Subject,
        request: Request,
        server: Option<u64>,
        out: &mut Effects,
    ) {
        out.push(Effect::QueryRadius(Box::new(RadiusQuery {
            feature: self.name(),
            number: subject.number(),
            request,
            server,
        })));
    }

    /// Forwards an EAP message of a user to the RADIUS servers.
    pub(super) fn ask_about(&mut self, sa: SaId, id: &Id, message: Vec<u8>, out: &mut Effects) {
        let row = self.engine.peer(sa);
        let Some(ends) = row.map(|row| (row.local, row.remote)) else {
            return;
        };
        let (request, server) = self.logins.say(sa, id, message, ends);
        self.query_servers(Subject::Login(sa), request, server, out);
    }

    /// Drops the login of an IKE SA that ended.
    pub(super) fn forget_login(&mut self, sa: SaId, out: &mut Effects) {
        if self.logins.0.remove(&sa).is_some() {
            let number = Subject::Login(sa).number();
            out.push(Effect::CancelRadius(self.name(), number));
        }
    }

    /// Passes an answer about a login to the user. Answers to accounting have no effect.
    pub(super) fn answer_user(
        &mut self,
        number: u64,
        answer: Answer,
        now: Instant,
        out: &mut Effects,
    ) {
        let Some(sa) = Subject::login(number) else {
            return;
        };
        let (reply, accepted) = self.logins.reply(sa, answer, self.has_servers, out);
        if let Some((about, accept)) = accepted {
            self.sessions.open(sa, about, &accept, now);
        }
        self.handle(Event::Eap(sa, reply), now, out);
    }
}
