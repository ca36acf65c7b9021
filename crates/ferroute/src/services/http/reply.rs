//! Responses: pieces of a body that come as they are made, and errors.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use api::rest::Fault;
use hyper::body::{Body, Bytes, Frame};
use hyper::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use script::Interrupt;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::timeout;

/// Timeout of a client that takes nothing.
pub(super) const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Stops a command once nobody waits for its response.
pub(super) struct Stop(pub(super) Arc<Interrupt>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Sends a piece from a thread of the runtime. Returns `Break` if the client is gone, or takes nothing for
/// [`SEND_TIMEOUT`].
pub(super) fn send(sender: &Sender<Bytes>, piece: Bytes) -> ControlFlow<()> {
    let sent = Handle::current().block_on(timeout(SEND_TIMEOUT, sender.send(piece)));
    match sent {
        Ok(Ok(())) => ControlFlow::Continue(()),
        Ok(Err(_)) | Err(_) => ControlFlow::Break(()),
    }
}

/// Body: one piece, or a stream of pieces.
pub(super) struct Pieces {
    pub(super) first: Option<Bytes>,
    pub(super) more: Option<(Receiver<Bytes>, Option<Stop>)>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        match &mut self.more {
            Some((more, _)) => more
                .poll_recv(context)
                .map(|piece| piece.map(|piece| Ok(Frame::data(piece)))),
            None => Poll::Ready(None),
        }
    }
}

pub(super) fn text(status: StatusCode, kind: &'static str, text: Bytes) -> Response<Pieces> {
    let pieces = Pieces {
        first: Some(text),
        more: None,
    };
    response(status, kind, pieces)
}

pub(super) fn response(status: StatusCode, kind: &'static str, pieces: Pieces) -> Response<Pieces> {
    let mut response = Response::new(pieces);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if status != StatusCode::NO_CONTENT {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if status == StatusCode::UNAUTHORIZED {
        let ask = HeaderValue::from_static("Basic realm=\"ferroute\"");
        headers.insert(WWW_AUTHENTICATE, ask);
    }
    response
}

pub(super) fn refuse(fault: &Fault) -> Response<Pieces> {
    let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::BAD_REQUEST);
    text(status, "application/json", Bytes::from(fault.body()))
}
