//! Users of EAP whom RADIUS servers know (`auth-method=eap-radius`): what they say goes to a server, and what that
//! says goes to them (RFC 3579), until it lets them in and gives the key of the session.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::service::Service;
use ike::{Auth, EapReply, Entropy, Event, Id, SaId, Secret};
use machine::{Duration, Instant};
use menu::Store;
use service::radius::{Accept, Outcome, Question, Request, Server};

use super::Ipsec;
use crate::feature::Effects;
use crate::feature::radius::questions::{Answer, PORTS, Questions};
use crate::feature::radius::servers;

/// The service of answers.
const SERVICE: &str = "ipsec-radius";
/// Codes and types of EAP (RFC 3748, 4 and 5).
const RESPONSE: u8 = 2;
const FAILURE: u8 = 4;
const IDENTITY: u8 = 1;

/// See the module.
pub(super) struct Logins {
    servers: Arc<[Server]>,
    /// The name of this router.
    router: String,
    talks: BTreeMap<SaId, Talk>,
    questions: Questions<SaId>,
    /// When the time is over that a server gave.
    until: BTreeMap<SaId, Instant>,
}

/// What was said so far.
#[derive(Default)]
struct Talk {
    user: String,
    /// The number of the user's last message.
    number: u8,
    /// What the server wants to hear again, and which it is.
    state: Vec<u8>,
    server: Option<u64>,
}

impl Logins {
    pub(super) fn new(entropy: Entropy) -> Self {
        Self {
            servers: Arc::default(),
            router: String::new(),
            talks: BTreeMap::new(),
            questions: Questions::new(entropy),
            until: BTreeMap::new(),
        }
    }

    /// Reads whom to ask.
    pub(super) fn read(&mut self, store: &Store) {
        self.servers = servers(store, "ipsec");
        let identity = store.settings("/system/identity");
        self.router = identity.map_or("", |item| item.text("name")).to_owned();
    }

    /// An IKE SA has taken the place of another one.
    pub(super) fn pass_on(&mut self, before: SaId, after: SaId) {
        if let Some(until) = self.until.remove(&before) {
            self.until.insert(after, until);
        }
    }

    /// An IKE SA is over.
    pub(super) fn forget(&mut self, sa: SaId) {
        self.talks.remove(&sa);
        self.until.remove(&sa);
        self.questions.forget(sa);
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let over = self.until.values().min().copied();
        self.questions.deadline().into_iter().chain(over).min()
    }

    /// IKE SAs whose time is over.
    fn over(&self, now: Instant) -> Vec<SaId> {
        let over = self.until.iter().filter(|(_, until)| **until <= now);
        over.map(|(sa, _)| *sa).collect()
    }

    /// A user says something. Gives what is answered at once.
    fn say(
        &mut self,
        (sa, id): (SaId, &Id),
        (message, ends): (Vec<u8>, (SocketAddr, SocketAddr)),
        now: Instant,
        out: &mut Effects,
    ) -> Option<Answer> {
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
        let request = Request {
            question: Question::Eap {
                message,
                state: core::mem::take(&mut talk.state),
            },
            user: talk.user.clone(),
            calling: ends.1.ip().to_string(),
            called: ends.0.ip().to_string(),
            router: self.router.clone(),
            port: "ipsec",
            session: String::new(),
            classes: Vec::new(),
        };
        self.questions.ask(sa, (servers, request), now, out)
    }

    /// What an answer is to the user.
    fn reply(&mut self, sa: SaId, answer: Answer, now: Instant, out: &mut Effects) -> EapReply {
        let mut talk = self.talks.remove(&sa).unwrap_or_default();
        let user = talk.user.clone();
        let failure = vec![FAILURE, talk.number, 0, 4];
        match answer.outcome {
            Outcome::Challenge { eap, state } => {
                (talk.state, talk.server) = (state, answer.server);
                self.talks.insert(sa, talk);
                EapReply::Message(eap)
            }
            Outcome::Accept(Accept {
                eap,
                key: Some(key),
                session_timeout,
                ..
            }) if !eap.is_empty() => {
                out.log("ipsec,info", format!("RADIUS lets {user} in"));
                if let Some(seconds) = session_timeout {
                    let until = now + Duration::from_secs(seconds.into());
                    self.until.insert(sa, until);
                }
                EapReply::Success(eap, Secret::new(key.0))
            }
            Outcome::Accept(_) => {
                let what = "RADIUS lets in without a key of EAP";
                out.log("ipsec,error", format!("{what}: {user}"));
                EapReply::Failure(failure)
            }
            Outcome::Reject { eap } => {
                out.log("ipsec,error", format!("RADIUS refuses {user}"));
                EapReply::Failure(if eap.is_empty() { failure } else { eap })
            }
            Outcome::Noted | Outcome::Nobody => {
                let why = match self.servers.is_empty() {
                    true => "no server is asked about ipsec (/radius)",
                    false => "no server answers",
                };
                out.log("ipsec,error", format!("RADIUS: {why}: {user}"));
                EapReply::Failure(failure)
            }
        }
    }
}

impl Ipsec {
    /// What has to be heard so that users can be asked about.
    pub(super) fn login_service(&self) -> Option<Service> {
        let peers = self.read.peers.values();
        let mut identities = peers.flat_map(|peer| &peer.identities);
        let asks = identities.any(|identity| matches!(identity.auth, Auth::EapRadius(_)));
        asks.then(|| Questions::<SaId>::service(SERVICE))
    }

    /// A user says something by EAP.
    pub(super) fn ask_about(&mut self, sa: SaId, id: &Id, message: Vec<u8>, out: &mut Effects) {
        let row = self.engine.peers().find(|row| row.id == sa);
        let Some(ends) = row.map(|row| (row.local, row.remote)) else {
            return;
        };
        let now = self.now;
        if let Some(answer) = self.logins.say((sa, id), (message, ends), now, out) {
            self.tell_user(sa, answer, now, out);
        }
    }

    /// Hears an answer; says whether it is to a question.
    pub(super) fn hear_server(
        &mut self,
        (port, from): (u16, SocketAddr),
        bytes: &[u8],
        now: Instant,
        out: &mut Effects,
    ) -> bool {
        if !PORTS.contains(&port) || !self.logins.questions.has(port) {
            return false;
        }
        if let Some((sa, answer)) = self.logins.questions.hear((port, from), bytes, now, out) {
            self.tell_user(sa, answer, now, out);
        }
        true
    }

    /// Goes on where no server answers, and ends what is over.
    pub(super) fn tick_logins(&mut self, now: Instant, out: &mut Effects) {
        for (sa, answer) in self.logins.questions.tick(now, out) {
            self.tell_user(sa, answer, now, out);
        }
        for sa in self.logins.over(now) {
            self.logins.forget(sa);
            self.handle(Event::Kill(sa), now, out);
        }
    }

    fn tell_user(&mut self, sa: SaId, answer: Answer, now: Instant, out: &mut Effects) {
        let reply = self.logins.reply(sa, answer, now, out);
        self.handle(Event::Eap(sa, reply), now, out);
    }
}
