//! Users that RADIUS servers authenticate by EAP (`auth-method=eap-radius`): relays EAP messages
//! between user and server (RFC 3579) until the server accepts the user and gives the session key.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::service::Service;
use ike::{Auth, EapReply, Event, Id, SaId, Secret};
use machine::Instant;
use menu::Store;
use service::radius::{Accept, Outcome, Question, Request, Server, Status};

use super::Ipsec;
use crate::feature::Effects;
use crate::feature::radius::questions::{Answer, Questions};
use crate::feature::radius::servers;

/// Name of the service that receives RADIUS answers.
const SERVICE: &str = "ipsec-radius";
/// Codes and types of EAP (RFC 3748, 4 and 5).
const RESPONSE: u8 = 2;
const FAILURE: u8 = 4;
const IDENTITY: u8 = 1;

/// Subject of a RADIUS request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asked {
    /// Login of the user of an IKE SA.
    Login(SaId),
    /// Accounting of a session, with its Acct-Status-Type.
    Told(SaId, u32),
}

/// Logins in progress.
#[derive(Default)]
pub(super) struct Logins {
    servers: Arc<[Server]>,
    /// Identity of this router (`/system/identity`).
    router: String,
    talks: BTreeMap<SaId, Talk>,
}

/// Returns the RADIUS request for a login.
fn about(talk: &Talk, router: &str, question: Question) -> Request {
    let (calling, called) = talk.ends.clone();
    Request {
        question,
        user: talk.user.clone(),
        calling,
        called,
        router: router.to_owned(),
        port: "ipsec",
        session: String::new(),
        classes: Vec::new(),
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
    /// Reads the RADIUS servers and the identity of the router.
    pub(super) fn read(&mut self, store: &Store) {
        self.servers = servers(store, "ipsec");
        let identity = store.settings("/system/identity");
        self.router = identity.map_or("", |item| item.text("name")).to_owned();
    }

    /// Handles an EAP message of a user. Returns the servers to ask and the request.
    fn say(
        &mut self,
        (sa, id): (SaId, &Id),
        (message, ends): (Vec<u8>, (SocketAddr, SocketAddr)),
    ) -> (Vec<Server>, Request) {
        let talk = self.talks.entry(sa).or_insert_with(|| Talk {
            user: id.to_string(),
            ..Talk::default()
        });
        if let [RESPONSE, number, _, _, rest @ ..] = &*message {
            talk.number = *number;
            if let [IDENTITY, user @ ..] = rest {
                talk.user = String::from_utf8_lossy(user).into_owned();
            }
        }
        let its = |server: &&Server| talk.server.is_none_or(|its| its == server.id);
        let servers: Vec<_> = self.servers.iter().filter(its).cloned().collect();
        talk.ends = (ends.1.ip().to_string(), ends.0.ip().to_string());
        let state = core::mem::take(&mut talk.state);
        let request = about(talk, &self.router, Question::Eap { message, state });
        (servers, request)
    }

    /// Translates a RADIUS answer to the reply for the user. On acceptance also returns the request
    /// and the attributes of the session.
    fn reply(
        &mut self,
        sa: SaId,
        answer: Answer,
        out: &mut Effects,
    ) -> (EapReply, Option<(Request, Accept)>) {
        let mut talk = self.talks.remove(&sa).unwrap_or_default();
        let failure = vec![FAILURE, talk.number, 0, 4];
        let user = &talk.user;
        let refused = match answer.outcome {
            Outcome::Challenge { eap, state } => {
                (talk.state, talk.server) = (state, answer.server);
                self.talks.insert(sa, talk);
                return (EapReply::Message(eap), None);
            }
            Outcome::Accept(mut accept) if !accept.eap.is_empty() => match accept.key.take() {
                Some(key) => {
                    out.log("ipsec,info", format!("RADIUS accepts {user}"));
                    let eap = core::mem::take(&mut accept.eap);
                    let begins = Question::Accounting {
                        status: Status::Start,
                        seconds: 0,
                        through: None,
                    };
                    let about = about(&talk, &self.router, begins);
                    return (
                        EapReply::Success(eap, Secret::new(key.0)),
                        Some((about, accept)),
                    );
                }
                None => format!("RADIUS returns no EAP key for {user}"),
            },
            Outcome::Accept(_) => format!("RADIUS returns no EAP message for {user}"),
            Outcome::Reject { eap } => {
                out.log("ipsec,error", format!("RADIUS refuses {user}"));
                let eap = if eap.is_empty() { failure } else { eap };
                return (EapReply::Failure(eap), None);
            }
            Outcome::Noted | Outcome::Nobody if self.servers.is_empty() => {
                format!("RADIUS: no server has service=ipsec (/radius): {user}")
            }
            Outcome::Noted | Outcome::Nobody => format!("RADIUS: no server answers: {user}"),
        };
        out.log("ipsec,error", refused);
        (EapReply::Failure(failure), None)
    }
}

impl Ipsec {
    /// Returns the RADIUS service if an identity logs users in by RADIUS.
    pub(super) fn login_service(&self) -> Option<Service> {
        let peers = self.read.peers.values();
        let mut identities = peers.flat_map(|peer| &peer.identities);
        let asks = identities.any(|identity| matches!(identity.auth, Auth::EapRadius(_)));
        asks.then(|| Questions::<Asked>::service(SERVICE))
    }

    /// Forwards an EAP message of a user to the RADIUS servers.
    pub(super) fn ask_about(&mut self, sa: SaId, id: &Id, message: Vec<u8>, out: &mut Effects) {
        let row = self.engine.peer(sa);
        let Some(ends) = row.map(|row| (row.local, row.remote)) else {
            return;
        };
        let now = self.now;
        let asked = self.logins.say((sa, id), (message, ends));
        if let Some(answer) = self.questions.ask(Asked::Login(sa), asked, now, out) {
            self.tell_user(sa, answer, now, out);
        }
    }

    /// Drops the login of an IKE SA that ended.
    pub(super) fn forget_login(&mut self, sa: SaId) {
        self.logins.talks.remove(&sa);
        self.questions.forget(Asked::Login(sa));
    }

    /// Handles a datagram from a RADIUS server. Returns whether its port belongs to an open
    /// request.
    pub(super) fn hear_server(
        &mut self,
        at: (u16, SocketAddr),
        bytes: &[u8],
        now: Instant,
        out: &mut Effects,
    ) -> bool {
        let is_its = self.questions.has(at.0);
        if let Some((Asked::Login(sa), answer)) = self.questions.hear(at, bytes, now, out) {
            self.tell_user(sa, answer, now, out);
        }
        is_its
    }

    /// Retries or fails requests that no server answered in time.
    pub(super) fn tick_logins(&mut self, now: Instant, out: &mut Effects) {
        for (asked, answer) in self.questions.tick(now, out) {
            if let Asked::Login(sa) = asked {
                self.tell_user(sa, answer, now, out);
            }
        }
    }

    fn tell_user(&mut self, sa: SaId, answer: Answer, now: Instant, out: &mut Effects) {
        let (reply, accepted) = self.logins.reply(sa, answer, out);
        if let Some((about, accept)) = accepted {
            let servers = Arc::clone(&self.logins.servers);
            self.sessions.open(sa, (about, servers), &accept, now);
        }
        self.handle(Event::Eap(sa, reply), now, out);
    }
}
