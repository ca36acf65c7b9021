//! Raw files over REST: `GET` and `PUT` of `/rest/file/NAME` with `application/octet-stream`. With other types
//! the path is a row of `/file`.

use std::sync::Arc;

use api::rest::Fault;
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use menu::Reason;
use script::Session;
use tokio::task::spawn_blocking;

use super::reply::{Pieces, refuse, text};
use crate::run::shared::Shared;

/// Media type of raw files.
const RAW_TYPE: &str = "application/octet-stream";
/// Maximum file length, equal to the router's limit.
pub(super) const MAX_FILE_BYTES: usize = 64 << 20;

/// A file transfer.
pub(super) enum Transfer {
    Download(String),
    Upload(String),
}

impl Transfer {
    /// Returns the transfer of a request; `path` follows `/rest`.
    pub(super) fn of(method: &Method, path: &str, headers: &HeaderMap) -> Option<Self> {
        let name = api::unescape(path.strip_prefix("/file/")?);
        let says = |header| {
            let value = headers
                .get(header)
                .and_then(|value: &HeaderValue| value.to_str().ok());
            value.is_some_and(|value| value.split([',', ';']).any(|word| word.trim() == RAW_TYPE))
        };
        match *method {
            Method::GET if says(ACCEPT) => Some(Self::Download(name)),
            Method::PUT if says(CONTENT_TYPE) => Some(Self::Upload(name)),
            _ => None,
        }
    }

    /// Transfers the file with the rights of the session's user.
    pub(super) async fn run(
        self,
        shared: Arc<Shared>,
        session: Session,
        body: Bytes,
    ) -> Response<Pieces> {
        let moved = spawn_blocking(move || {
            let mut instance = shared.lock();
            let mut files = instance.remote_files(&session.caller())?;
            match self {
                Self::Download(name) => files.read(&name).map(|bytes| Some((name, bytes))),
                Self::Upload(name) => files.write(&name, &body).map(|()| None),
            }
        });
        match moved.await {
            Ok(Ok(Some((name, bytes)))) => given(&name, bytes),
            Ok(Ok(None)) => text(
                StatusCode::CREATED,
                "application/json",
                Bytes::from_static(b"{}"),
            ),
            Ok(Err(reason)) => refuse(&fault(&reason)),
            Err(_) => refuse(&Fault::new(500, "the file was not transferred")),
        }
    }
}

/// Builds the response for a download.
fn given(name: &str, bytes: Vec<u8>) -> Response<Pieces> {
    let mut response = text(StatusCode::OK, RAW_TYPE, Bytes::from(bytes));
    let leaf = name.rsplit('/').next().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let leaf = leaf.replace(|c| !plain(c), "_");
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{leaf}\"")) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}

fn fault(reason: &Reason) -> Fault {
    let said = reason.to_string();
    let status = match reason {
        Reason::Denied => 403,
        Reason::NoItem => 404,
        _ if said.ends_with("no such file") => 404,
        _ => 400,
    };
    Fault::new(status, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_request_tells_bytes_from_rows() {
        let headers = |name, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            headers
        };
        let asks = |method, path, headers: &HeaderMap| match Transfer::of(&method, path, headers) {
            Some(Transfer::Download(name)) => format!("get {name}"),
            Some(Transfer::Upload(name)) => format!("put {name}"),
            None => String::new(),
        };
        let bytes = headers(ACCEPT, "application/octet-stream;q=1, */*");
        assert_eq!(
            asks(Method::GET, "/file/flash/a%20b.rsc", &bytes),
            "get flash/a b.rsc"
        );
        assert_eq!(asks(Method::GET, "/file", &bytes), "");
        assert_eq!(
            asks(Method::GET, "/file/a", &headers(ACCEPT, "application/json")),
            ""
        );
        let bytes = headers(CONTENT_TYPE, "application/octet-stream");
        assert_eq!(asks(Method::PUT, "/file/a", &bytes), "put a");
        assert_eq!(asks(Method::PUT, "/ip/address", &bytes), "");
    }
}
