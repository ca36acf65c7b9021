//! Content that stays the same while the router runs: the files of the page, and the descriptions of the menus.
//!
//! Each is compressed once, at its first request. Browsers keep it, ask again with its ETag (RFC 9110, 8.8.3), and
//! receive 304 until another version of the router has other content.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use api::rest::Fault;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderMap,
    HeaderName, HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY,
};
use hyper::{Response, StatusCode};
use menu::Menu;
use page::Asset;
use tokio::task::spawn_blocking;

use super::reply::{Pieces, refuse, text};

const JSON: &str = "application/json";
/// Path prefix of the properties of one menu.
const PROPERTIES: &str = "/properties";

/// Something to send.
#[derive(Clone, Copy)]
pub(super) enum Content {
    /// A file of the page.
    File(Asset),
    /// The index of the menus.
    Index,
    /// The properties of a menu.
    Properties(&'static Menu),
    /// The names of all properties.
    Searched,
    /// The commands that go on.
    Tools,
}

/// Compressed content.
#[derive(Clone)]
struct Prepared {
    gzip: Bytes,
    tag: HeaderValue,
}

/// Compressed contents by path; only existing paths have an entry.
static PREPARED: Mutex<BTreeMap<String, Prepared>> = Mutex::new(BTreeMap::new());

impl Content {
    /// Returns the content at a URL path.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            "/schema.json" => Some(Self::Index),
            "/properties.json" => Some(Self::Searched),
            "/tools.json" => Some(Self::Tools),
            path => match path.strip_prefix(PROPERTIES) {
                Some(menu) => page::menu(schema::ALL, menu).map(Self::Properties),
                None => page::asset(path).map(Self::File),
            },
        }
    }

    /// Returns true if users need no login.
    pub(super) const fn is_public(self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Answers a request with the content, or with 304 if the request's `If-None-Match` has the content's tag.
    pub(super) async fn answer(self, headers: &HeaderMap) -> Response<Pieces> {
        let Some(prepared) = self.prepared().await else {
            return refuse(&Fault::new(500, "the content could not be generated"));
        };
        let is_known = |value: &HeaderValue| {
            let tags = value.as_bytes().split(|byte| *byte == b',');
            tags.map(<[u8]>::trim_ascii)
                .any(|tag| tag == prepared.tag.as_bytes() || tag == b"*")
        };
        let mut response = if headers.get_all(IF_NONE_MATCH).iter().any(is_known) {
            text(StatusCode::NOT_MODIFIED, self.kind(), Bytes::new())
        } else if accepts_gzip(headers) {
            let mut response = text(StatusCode::OK, self.kind(), prepared.gzip);
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(CONTENT_ENCODING, gzip);
            response
        } else {
            text(StatusCode::OK, self.kind(), Bytes::from(self.text()))
        };
        let added = response.headers_mut();
        added.insert(ETAG, prepared.tag);
        for (name, value) in self.headers() {
            added.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn headers(self) -> impl Iterator<Item = (HeaderName, &'static str)> {
        let all = [
            (VARY, "accept-encoding"),
            // Other versions of the router have other content.
            (CACHE_CONTROL, "private, no-cache"),
            (CONTENT_SECURITY_POLICY, page::policy()),
            (REFERRER_POLICY, "no-referrer"),
        ];
        let count = if self.is_public() { all.len() } else { 2 };
        all.into_iter().take(count)
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::File(asset) => asset.kind,
            _ => JSON,
        }
    }

    fn path(self) -> String {
        match self {
            Self::File(asset) => asset.path.to_owned(),
            Self::Index => "/schema.json".to_owned(),
            Self::Properties(menu) => format!("{PROPERTIES}{}", menu.path),
            Self::Searched => "/properties.json".to_owned(),
            Self::Tools => "/tools.json".to_owned(),
        }
    }

    fn text(self) -> String {
        match self {
            Self::File(asset) => asset.text.to_owned(),
            Self::Index => page::describe(schema::ALL),
            Self::Properties(menu) => page::properties(menu),
            Self::Searched => page::searched(schema::ALL),
            Self::Tools => page::describe_tools(schema::ALL),
        }
    }

    /// Returns the compressed content, which the first request makes in a thread.
    async fn prepared(self) -> Option<Prepared> {
        let path = self.path();
        let all = || PREPARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = all().get(&path) {
            return Some(prepared.clone());
        }
        let made = spawn_blocking(move || compress(self.text().as_bytes()));
        let prepared = made.await.ok().flatten()?;
        all().insert(path, prepared.clone());
        Some(prepared)
    }
}

/// Answers with a text that is made for this request, compressed if the client takes that.
pub(super) fn packed(kind: &'static str, said: String, headers: &HeaderMap) -> Response<Pieces> {
    if !accepts_gzip(headers) {
        return text(StatusCode::OK, kind, Bytes::from(said));
    }
    let Some(gzip) = gzip(said.as_bytes(), Compression::fast()) else {
        return refuse(&Fault::new(500, "the answer could not be compressed"));
    };
    let mut response = text(StatusCode::OK, kind, gzip);
    let coding = HeaderValue::from_static("gzip");
    response.headers_mut().insert(CONTENT_ENCODING, coding);
    response
}

fn gzip(text: &[u8], level: Compression) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(text).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// Compresses a text. Its tag depends on the text alone.
fn compress(text: &[u8]) -> Option<Prepared> {
    let gzip = gzip(text, Compression::best())?;
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    // Weak: the compressed and the plain form share it.
    let tag = format!("W/\"{:016x}\"", hasher.finish());
    let tag = HeaderValue::try_from(tag).ok()?;
    Some(Prepared { gzip, tag })
}

/// Returns true if a client takes gzip (RFC 9110, 12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut codings = texts.flat_map(|text| text.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q="));
        let is_refused = weight.is_some_and(|weight| weight.parse() == Ok(0.0_f32));
        name.eq_ignore_ascii_case("gzip") && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_choose_the_coding() {
        let accepts = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(text));
            accepts_gzip(&headers)
        };
        assert!(accepts("gzip, deflate") && accepts("br;q=1.0, GZIP;q=0.5"));
        assert!(!accepts("gzip;q=0") && !accepts("identity") && !accepts("gzipped"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn paths_lead_to_contents_and_back() {
        for path in [
            "/",
            "/app.js",
            "/schema.json",
            "/properties.json",
            "/tools.json",
            "/properties/ip/address",
        ] {
            assert_eq!(Content::at(path).expect(path).path(), path);
        }
        for path in [
            "/none.js",
            "/properties",
            "/properties/none",
            "/properties/ip/address/",
        ] {
            assert!(Content::at(path).is_none(), "{path}");
        }
        assert!(Content::at("/").is_some_and(Content::is_public));
        assert!(!Content::at("/schema.json").is_some_and(Content::is_public));
    }
}
