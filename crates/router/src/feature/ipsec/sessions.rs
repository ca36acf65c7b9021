//! Sessions of users that RADIUS servers accepted: session timeouts, and accounting
//! (`/ip/ipsec/settings accounting`; RFC 2866).

use core::net::IpAddr;
use std::collections::BTreeMap;

use ike::{ChildId, Event, SaId};
use machine::{Duration, Instant};
use menu::Store;
use service::radius::{
    Accept, Accounting, ErrorCause, Question, Request, RequestKind, SessionFacts, SessionRequest,
    Status, Through, Traffic,
};

use super::installed::{Both, sum};
use super::logins::Subject;
use super::{Ipsec, read};
use crate::drive::timers::Timers;
use crate::feature::Effects;

/// Sessions of accepted users, by IKE SA.
#[derive(Default)]
pub(super) struct Sessions {
    /// Whether accounting is on, and the interval of interim updates.
    accounting: bool,
    interim: Option<Duration>,
    all: BTreeMap<SaId, Session>,
    /// Times of the next interim update or session timeout.
    timers: Timers<SaId>,
}

/// Session of one user.
struct Session {
    /// Attributes of the user in accounting requests.
    about: Request,
    /// Time of the session timeout.
    until: Option<Instant>,
    interim: Option<Duration>,
    /// Time of the accounting start, and of the next interim update.
    begun: Option<Instant>,
    next: Option<Instant>,
    address: Option<IpAddr>,
    /// Traffic of removed SA pairs.
    gone: Both,
}

impl Session {
    fn facts(&self) -> SessionFacts<'_> {
        SessionFacts {
            user: &self.about.user,
            session: &self.about.session,
            address: self.address,
            calling: &self.about.calling,
        }
    }
}

impl Sessions {
    /// Reads the accounting settings.
    pub(super) fn read(&mut self, store: &Store) {
        let settings = store.settings(read::SETTINGS);
        self.accounting = settings.is_some_and(|item| item.is("accounting"));
        let nanos = settings.and_then(|item| item.get("interim-update")?.as_nanos());
        let nanos = nanos.and_then(|nanos| u64::try_from(nanos).ok());
        self.interim = nanos.filter(|nanos| *nanos > 0).map(Duration::from_nanos);
    }

    /// True if sessions are accounted.
    pub(super) const fn is_accounting(&self) -> bool {
        self.accounting
    }

    /// Opens the session of a user that a server accepted.
    pub(super) fn open(&mut self, sa: SaId, about: Request, accept: &Accept, now: Instant) {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let authorized = &accept.authorization;
        let about = Request {
            session: format!("{:08x}", sa.0),
            classes: accept.classes.clone(),
            ..about
        };
        let session = Session {
            about,
            until: authorized
                .session_timeout
                .map(|timeout| now + seconds(timeout)),
            interim: { authorized.interim.filter(|interim| *interim > 0) }.map(seconds),
            begun: None,
            next: None,
            address: None,
            gone: Both::default(),
        };
        self.all.insert(sa, session);
        self.reschedule(sa);
    }

    /// Sets the timer of a session.
    fn reschedule(&mut self, sa: SaId) {
        let session = self.all.get(&sa);
        let times = session.map(|session| [session.until, session.next]);
        let next = times.and_then(|times| times.into_iter().flatten().min());
        self.timers.set(sa, next);
    }

    /// Returns the user of an IKE SA.
    pub(super) fn user(&self, sa: SaId) -> Option<&str> {
        self.all.get(&sa).map(|session| session.about.user.as_str())
    }

    /// Moves the session to an IKE SA that replaces another one.
    pub(super) fn pass_on(&mut self, before: SaId, after: SaId) {
        if let Some(session) = self.all.remove(&before) {
            self.all.insert(after, session);
            self.reschedule(before);
            self.reschedule(after);
        }
    }

    /// Adds the traffic of an SA pair that is removed.
    fn lose(&mut self, sa: SaId, traffic: Both) {
        if let Some(session) = self.all.get_mut(&sa) {
            session.gone = sum(session.gone, traffic);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    /// Returns the accounting request of a session, where `live` is the traffic of its present SA
    /// pairs. Returns `None` if accounting is off.
    fn report(&mut self, sa: SaId, status: Status, live: Both, now: Instant) -> Option<Request> {
        let session = self.all.get_mut(&sa)?;
        let begun = session.begun?;
        let interim = self.interim.or(session.interim).filter(|_| self.accounting);
        session.next = interim.map(|interim| now + interim);
        self.reschedule(sa);
        if !self.accounting {
            return None;
        }
        let session = self.all.get(&sa)?;
        let (input, output) = sum(session.gone, live);
        let traffic = |(packets, bytes)| Traffic { packets, bytes };
        let seconds = now.saturating_since(begun).as_secs();
        let through = Through {
            address: session.address,
            input: traffic(input),
            output: traffic(output),
            ..Through::default()
        };
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        let accounting = Accounting::new(status, seconds, Some(through));
        Some(Request {
            question: Question::Accounting(accounting),
            ..session.about.clone()
        })
    }
}

impl Ipsec {
    /// Sends an accounting request. Its answer has no effect.
    fn account(&mut self, sa: SaId, status: Status, live: Both, out: &mut Effects) {
        let now = self.now;
        if let Some(report) = self.sessions.report(sa, status, live, now) {
            self.query_servers(Subject::Accounting(sa, status), report, None, out);
        }
    }

    /// Starts the session of an established IKE SA.
    pub(super) fn begin_session(&mut self, sa: SaId, out: &mut Effects) {
        let row = self.engine.peer(sa);
        let address = row.and_then(|row| row.leased);
        let now = self.now;
        let new = self.sessions.all.get_mut(&sa);
        if let Some(session) = new.filter(|session| session.begun.is_none()) {
            (session.begun, session.address) = (Some(now), address);
            self.account(sa, Status::Start, Both::default(), out);
        }
    }

    /// Adds the traffic of an SA pair to its session, before the pair is removed.
    pub(super) fn remember_traffic(&mut self, child: ChildId) {
        if let Some(pair) = self.installed.pair(child) {
            self.sessions.lose(pair.child.sa, pair.traffic());
        }
    }

    /// Ends the session of an IKE SA that ended.
    pub(super) fn end_session(&mut self, sa: SaId, out: &mut Effects) {
        self.forget_login(sa, out);
        let live = self.installed.traffic(sa);
        self.account(sa, Status::Stop, live, out);
        self.sessions.all.remove(&sa);
        self.sessions.reschedule(sa);
    }

    /// Ends or changes the sessions that a request of a RADIUS server is about. Of their authorization only the session
    /// timeout can change. Returns `None` without such a session.
    pub(super) fn request_sessions(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        let sessions = self.sessions.all.iter();
        let fits = sessions.filter(|(_, session)| request.sessions.fit(&session.facts()));
        let fits: Vec<_> = fits.map(|(sa, _)| *sa).collect();
        if fits.is_empty() {
            return None;
        }
        let timeout = request.authorization.session_timeout;
        match (request.kind, timeout) {
            (RequestKind::Disconnect, _) => {
                for sa in fits {
                    self.handle(Event::Kill(sa), now, out);
                }
            }
            (RequestKind::Change, None) => return Some(Err(ErrorCause::UnsupportedAttribute)),
            (RequestKind::Change, Some(seconds)) => {
                for sa in fits {
                    if let Some(session) = self.sessions.all.get_mut(&sa) {
                        let begun = session.begun.unwrap_or(now);
                        session.until = Some(begun + Duration::from_secs(seconds.into()));
                    }
                    self.sessions.reschedule(sa);
                }
            }
        }
        Some(Ok(()))
    }

    /// Sends interim updates that are due, and ends sessions whose time is over.
    pub(super) fn tick_sessions(&mut self, now: Instant, out: &mut Effects) {
        let due: Vec<_> = core::iter::from_fn(|| self.sessions.timers.due(now)).collect();
        for sa in due {
            let session = self.sessions.all.get(&sa);
            let is_over = session.is_some_and(|session| session.until.is_some_and(|at| at <= now));
            if is_over {
                if let Some(session) = self.sessions.all.get_mut(&sa) {
                    session.until = None;
                }
                self.handle(Event::Kill(sa), now, out);
            } else {
                let live = self.installed.traffic(sa);
                self.account(sa, Status::Interim, live, out);
            }
            self.sessions.reschedule(sa);
        }
    }
}
