//! Commands that go on: `POST /run/tool/ping` with the arguments as JSON, answered by server-sent events
//! ([`api::stream`]).
//!
//! A command ends with its client: when the client closes the connection, takes nothing for a while, or loses its
//! session. A thread runs it; their number is bounded per user.

use std::sync::{Arc, Weak};
use std::time::Duration;

use api::rest::{Fault, HttpRequest};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::reply::{Pieces, Stop, refuse, response};
use super::{Access, Answer, MAX_BODY_BYTES, MAX_QUEUED_PIECES, Visitor, collect, turn_away};
use crate::services::admission::CommandOwner;
use crate::session::access::LoginSession;

/// Interval of comments, by which client and router notice that the other is gone.
const HEARTBEAT: Duration = Duration::from_secs(2);

impl Visitor {
    /// Runs a command that goes on.
    pub(super) async fn run(
        &self,
        request: Request<Incoming>,
        command: String,
    ) -> Response<Pieces> {
        let (entered, via) = match self.enter(request.headers()).await {
            Ok(known) => known,
            Err(fault) => return turn_away(request.headers(), &fault),
        };
        if request.method() != Method::POST {
            return refuse(&Fault::not_found());
        }
        let body = match collect(request.into_body(), MAX_BODY_BYTES).await {
            Ok(body) => body,
            Err(fault) => return refuse(&fault),
        };
        let access = Access {
            shared: &self.shared,
            admission: &self.admission,
            entered: &entered,
            via,
        };
        run(access, command, body).await
    }
}

/// Runs the command at `path` with the arguments in `body`; returns when the first rows are there.
async fn run(access: Access<'_>, path: String, body: Bytes) -> Response<Pieces> {
    let owner = CommandOwner::new(access.entered, access.via);
    let turn = match access.admission.stream(&owner).await {
        Ok(turn) => turn,
        Err(reason) => return refuse(&Fault::new(503, reason.to_string())),
    };
    let mut session = access.entered.session();
    session.via = access.via;
    let stop = Stop(session.interrupter());
    let (begun, begins) = oneshot::channel();
    let (tell, more) = channel(MAX_QUEUED_PIECES);
    let heart = tokio::spawn(beat(
        Arc::downgrade(access.entered),
        Stop(Arc::clone(&stop.0)),
        tell.clone(),
    ));
    let shared = Arc::clone(access.shared);
    spawn_blocking(move || {
        let asked = HttpRequest {
            method: "POST",
            path: &path,
            query: "",
            body: &body,
        };
        let mut run = |request: &script::Request, rows: &mut dyn script::Rows| {
            shared.request(&mut session, request, rows)
        };
        api::stream::answer(&asked, &mut run, &mut Answer::new(begun, tell));
        drop(turn);
        heart.abort();
    });
    let Ok(status) = begins.await else {
        return refuse(&Fault::new(500, "the command failed"));
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = match status {
        StatusCode::OK => "text/event-stream",
        _ => "application/json",
    };
    let pieces = Pieces {
        first: None,
        more: Some((more, Some(stop))),
    };
    response(status, kind, pieces)
}

/// Sends heartbeats, and stops the command at the end of its user's session.
async fn beat(entered: Weak<LoginSession>, stop: Stop, tell: Sender<Bytes>) {
    loop {
        tokio::select! {
            () = tell.closed() => return,
            () = sleep(HEARTBEAT) => {}
        }
        if entered.strong_count() == 0 {
            return drop(stop);
        }
        // A full queue has something better to send.
        let _ = tell.try_send(Bytes::from_static(b":\n\n"));
    }
}
