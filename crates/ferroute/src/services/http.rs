//! HTTP at `www` and `www-ssl`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use super::{Conversation, Peer, Speaker, Stream};

/// How long a peer may take for the head of a request, and be silent between two.
const HEAD: Duration = Duration::from_secs(30);

/// The longest head of a request in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// The speaker of HTTP.
pub(crate) struct Http;

impl Speaker for Http {
    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation {
        Box::pin(async move {
            let answer = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            if let Err(error) = served {
                tracing::debug!("{}: {}: {error}", peer.service, peer.address);
            }
        })
    }
}

fn answer(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let (status, kind, text) = match request.uri().path() {
        "/" => (StatusCode::OK, "text/plain", "ferroute\n"),
        _ => (
            StatusCode::NOT_FOUND,
            "application/json",
            "{\"error\":404,\"message\":\"Not Found\"}",
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
