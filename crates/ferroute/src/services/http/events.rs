//! Server-sent events of views: `GET /events?menu=…` ([`View::parse`] lists the parameters), or several views in one
//! stream: `GET /events?view=…&view=…`, each with the escaped parameters of a view. Browsers open few connections to
//! one server, so a page with many views uses one stream.
//!
//! A task prints each distinct view of a user for all subscribers, at most twice a second and, up to the longest
//! [`PERIOD`], with one part in [`SHARE`] of a core. Each subscriber receives the differences to its last message.
//! Streams end with the session.
//!
//! | event | data |
//! |---|---|
//! | message | `api::view::Snapshot::changes` |
//! | `period` | time between two messages in milliseconds, when it changes |
//! | `refused` | error of a view in a stream of several; the other views go on |
//!
//! In a stream of several views the names of events end with the number of the view, from 0: `changes 2`, `period 2`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use api::rest::Fault;
use api::view::{Counters, Snapshot, View};
use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, sleep_until};

use super::reply::{Pieces, refuse, response};
use super::{Access, MAX_QUEUED_PIECES};
use crate::run::shared::Shared;
use crate::services::admission::{CommandAdmission, CommandOwner, Listener};
use crate::session::access::LoginSession;

/// Shortest and longest time between two snapshots of a view.
const PERIOD: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// Reciprocal of the share of a core that a view may use.
const SHARE: u32 = 50;
/// Name of events with changes.
const CHANGES: &str = "changes";
/// Interval of comments without a change, which show that the router is alive.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Maximum number of views of a stream.
const MAX_VIEWS_PER_STREAM: usize = 16;
/// Maximum number of distinct views per user.
const MAX_VIEWS_PER_USER: usize = 32;

/// State of a view.
#[derive(Clone)]
enum State {
    /// The first snapshot is being collected.
    Waiting,
    Ready {
        snapshot: Arc<Snapshot>,
        period: Duration,
    },
    Refused(Fault),
}

/// Identity of a view: users with the same rights see the same rows.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    user: String,
    policies: Vec<&'static str>,
    view: View,
}

/// Views with subscribers.
#[derive(Default)]
pub(super) struct Views(Mutex<BTreeMap<Key, watch::Sender<State>>>);

/// What the task of a view needs to print it.
struct Printer {
    shared: Arc<Shared>,
    admission: Arc<CommandAdmission>,
    owner: CommandOwner,
    via: &'static str,
    entered: Weak<LoginSession>,
    view: View,
    /// Counters at the last snapshot, and the origin of their times.
    counters: Arc<Mutex<Counters>>,
    start: Instant,
}

impl Views {
    /// Answers a subscription: an error, or a stream of events.
    pub(super) async fn subscribe(
        self: &Arc<Self>,
        access: Access<'_>,
        query: &str,
    ) -> Response<Pieces> {
        let views = match parse(query) {
            Ok(views) => views,
            Err(fault) => return refuse(&fault),
        };
        let owner = CommandOwner::new(access.entered, access.via);
        let listener = match access.admission.listener(&owner) {
            Ok(listener) => Arc::new(listener),
            Err(reason) => return refuse(&Fault::new(503, reason.to_string())),
        };
        let is_one = query_is_one(query);
        let (sender, more) = channel(MAX_QUEUED_PIECES);
        for (number, view) in views.into_iter().enumerate() {
            let shortest = view.every().max(PERIOD.0);
            let states = self.states_of(&access, view);
            let mut subscriber = Subscriber {
                number: (!is_one).then_some(number),
                states,
                sender: sender.clone(),
                shortest,
                entered: Arc::downgrade(access.entered),
                _listener: Arc::clone(&listener),
            };
            // An error of the only view is the answer.
            if is_one && let Err(fault) = subscriber.begin().await {
                return refuse(&fault);
            }
            tokio::spawn(subscriber.follow());
        }
        let pieces = Pieces {
            first: None,
            more: Some((more, None)),
        };
        response(StatusCode::OK, "text/event-stream", pieces)
    }

    /// Returns the states of a view with the rights of the user.
    fn states_of(
        self: &Arc<Self>,
        access: &Access<'_>,
        view: View,
    ) -> Option<watch::Receiver<State>> {
        let key = Key {
            user: access.entered.user().to_owned(),
            policies: access.entered.policies(),
            view: view.clone(),
        };
        let printer = Printer {
            shared: Arc::clone(access.shared),
            admission: Arc::clone(access.admission),
            owner: CommandOwner::new(access.entered, access.via),
            via: access.via,
            entered: Arc::downgrade(access.entered),
            view,
            counters: Arc::default(),
            start: Instant::now(),
        };
        self.states(key, printer)
    }

    /// Returns the states of a view, whose task starts with its first subscriber. `None` if the user has too many
    /// views.
    fn states(self: &Arc<Self>, key: Key, printer: Printer) -> Option<watch::Receiver<State>> {
        let mut all = self.lock();
        if let Some(sender) = all.get(&key) {
            return Some(sender.subscribe());
        }
        if all.keys().filter(|other| other.user == key.user).count() >= MAX_VIEWS_PER_USER {
            return None;
        }
        let (sender, states) = watch::channel(State::Waiting);
        all.insert(key.clone(), sender.clone());
        tokio::spawn(Arc::clone(self).run(key, sender, printer));
        Some(states)
    }

    /// Prints a view until it has no subscriber, or until the session has ended.
    async fn run(self: Arc<Self>, key: Key, sender: watch::Sender<State>, printer: Printer) {
        let mut revision = printer.shared.revisions();
        loop {
            let began = tokio::time::Instant::now();
            revision.mark_unchanged();
            let Some(state) = printer.state().await else {
                break;
            };
            let period = match &state {
                State::Ready { period, .. } => *period,
                State::Waiting => PERIOD.0,
                State::Refused(_) => {
                    self.lock().remove(&key);
                    sender.send_replace(state);
                    return;
                }
            };
            if !matches!(state, State::Waiting) {
                sender.send_replace(state);
            }
            // A changed configuration shows sooner.
            let soonest = began + PERIOD.0.max(period / 4);
            let pause = async {
                tokio::select! {
                    () = sleep(period) => {}
                    _ = revision.changed() => sleep_until(soonest).await,
                }
            };
            tokio::select! {
                () = pause => {}
                () = sender.closed() => {
                    let mut all = self.lock();
                    if sender.receiver_count() == 0 {
                        all.remove(&key);
                        return;
                    }
                }
            }
        }
        self.lock().remove(&key);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, watch::Sender<State>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Printer {
    /// Prints the view in a thread. [`State::Waiting`] if no thread is free; `None` if the session has ended.
    async fn state(&self) -> Option<State> {
        let Ok(turn) = self.admission.turn(&self.owner).await else {
            return Some(State::Waiting);
        };
        let entered = self.entered.upgrade()?;
        let shortest = self.view.every().max(PERIOD.0);
        let (shared, view, via) = (Arc::clone(&self.shared), self.view.clone(), self.via);
        let (counters, start) = (Arc::clone(&self.counters), self.start);
        let printed = spawn_blocking(move || {
            let began = processor_time();
            let mut session = entered.session();
            session.via = via;
            let mut run = |request: &script::Request, rows: &mut dyn script::Rows| {
                shared.request(&mut session, request, rows)
            };
            let mut counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
            let now = start.elapsed();
            let collected = view.collect(schema::ALL, &mut run, &mut counters, now);
            drop(counters);
            drop(turn);
            let is_over = entered.is_over(Duration::ZERO);
            // Waiting for the router, or for a busy machine, is no load of the view.
            let spent = processor_time().saturating_sub(began);
            (!is_over).then(|| match collected {
                Ok(snapshot) => State::Ready {
                    snapshot: Arc::new(snapshot),
                    period: (spent * SHARE).clamp(shortest, PERIOD.1),
                },
                Err(fault) => State::Refused(fault),
            })
        });
        printed.await.ok().flatten()
    }
}

/// Returns the processor time that the calling thread has used.
fn processor_time() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or(0))
}

/// Returns true for a stream of a single view, whose events have no number.
fn query_is_one(query: &str) -> bool {
    !query.split('&').any(|part| part.starts_with("view="))
}

/// Parses the views of a stream.
///
/// # Errors
/// 400: a malformed view, or too many.
fn parse(query: &str) -> Result<Vec<View>, Fault> {
    if query_is_one(query) {
        return View::parse(query).map(|view| vec![view]);
    }
    let views = query.split('&').map(|part| {
        let view = part.strip_prefix("view=");
        let view = view.ok_or_else(|| Fault::new(400, format!("beside view= stands {part}")))?;
        View::parse(&api::unescape(view))
    });
    let views = views.collect::<Result<Vec<_>, _>>()?;
    match views.len() > MAX_VIEWS_PER_STREAM {
        true => {
            let text = format!("more than {MAX_VIEWS_PER_STREAM} views in a stream");
            Err(Fault::new(400, text))
        }
        false => Ok(views),
    }
}

/// Sending side of a view in a stream.
struct Subscriber {
    /// Number of the view in a stream of several.
    number: Option<usize>,
    /// States of the view; `None` if the user has too many views.
    states: Option<watch::Receiver<State>>,
    sender: Sender<Bytes>,
    /// Shortest period of the view.
    shortest: Duration,
    entered: Weak<LoginSession>,
    _listener: Arc<Listener>,
}

impl Subscriber {
    /// Waits for the first state.
    ///
    /// # Errors
    /// The view is refused, or the session has ended.
    async fn begin(&mut self) -> Result<(), Fault> {
        let too_many = || Fault::new(503, "too many open views of this user");
        let states = self.states.as_mut().ok_or_else(too_many)?;
        let first = states.wait_for(|state| !matches!(state, State::Waiting));
        match first.await.map(|state| state.clone()) {
            Ok(State::Refused(fault)) => Err(fault),
            Ok(_) => Ok(()),
            Err(_) => Err(Fault::new(503, "the session has ended")),
        }
    }

    /// Formats an event; events of a single view's changes have no name.
    fn event(&self, name: &str, data: &str) -> String {
        match self.number {
            Some(number) => format!("event: {name} {number}\ndata: {data}\n\n"),
            None if name == CHANGES => format!("data: {data}\n\n"),
            None => format!("event: {name}\ndata: {data}\n\n"),
        }
    }

    /// Sends the differences between snapshots until client, view or session end. A slow client receives the
    /// differences of several snapshots at once.
    async fn follow(mut self) {
        if let Err(fault) = self.begin().await {
            let text = self.event("refused", &fault.body());
            let _ = self.sender.send(Bytes::from(text)).await;
            return;
        }
        let Some(mut states) = self.states.take() else {
            return;
        };
        let mut before: Option<Arc<Snapshot>> = None;
        let mut last_period = self.shortest;
        loop {
            let state = states.borrow_and_update().clone();
            let State::Ready { snapshot, period } = state else {
                return;
            };
            let mut text = String::new();
            // Small variations are of no interest to users.
            if period.as_secs() != last_period.as_secs() {
                text = self.event("period", &period.as_millis().to_string());
                last_period = period;
            }
            if let Some(changes) = snapshot.changes(before.as_deref()) {
                text.push_str(&self.event(CHANGES, &changes));
            }
            before = Some(snapshot);
            if !text.is_empty() && self.sender.send(Bytes::from(text)).await.is_err() {
                return;
            }
            if !self.next(&mut states).await {
                return;
            }
        }
    }

    /// Waits for the next state, with heartbeats. Returns false at the end of client, view or session.
    async fn next(&self, states: &mut watch::Receiver<State>) -> bool {
        loop {
            tokio::select! {
                changed = states.changed() => {
                    return changed.is_ok() && self.entered.strong_count() > 0;
                }
                () = sleep(HEARTBEAT) => {
                    let heartbeat = Bytes::from_static(b":\n\n");
                    if self.entered.strong_count() == 0 || self.sender.send(heartbeat).await.is_err() {
                        return false;
                    }
                }
                () = self.sender.closed() => return false,
            }
        }
    }
}
