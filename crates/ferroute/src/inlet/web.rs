//! HTTP downloads that follow redirections, with or without TLS. Each runs in a thread of the caller.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use certificate::Check;
use script::{Interrupt, NameQuery};
use tool::{Fetch, Scheme};

use crate::host::HostPlane;
use crate::inlet::outgoing::{Answer, ConnectionParameters, Request, ask};
use crate::run::shared::Shared;
use router::tls;

/// Part of a download.
pub(crate) enum Piece<'a> {
    /// A page begins, with its length if known. Earlier pages were redirections.
    Begin(Option<u64>),
    /// Bytes of the page.
    Bytes(&'a [u8]),
}

/// Consumer of a download; an error aborts the download.
pub(crate) type Take<'a> = dyn FnMut(Piece<'_>) -> Result<(), String> + 'a;

/// Context of a download.
pub(crate) struct Download<'a> {
    /// Host plane of the sockets; `None` uses the machine's namespace.
    pub(crate) host: Option<&'a HostPlane>,
    pub(crate) shared: &'a Shared,
    /// Interrupt.
    pub(crate) stop: &'a Interrupt,
    /// Deadline.
    pub(crate) until: Instant,
    /// Use of the connection in a certificate's `trust-store`.
    pub(crate) store: &'static str,
}

impl Download<'_> {
    /// Downloads a page, following redirections. Returns the last response.
    ///
    /// # Errors
    /// The failure in words: of name resolution, connection, certificate, response, or of `take`.
    pub(crate) fn page(&self, fetch: &Fetch, take: &mut Take<'_>) -> Result<Answer, String> {
        let mut fetch = fetch.clone();
        loop {
            let answer = self.once(&fetch, take)?;
            let to = answer.leads().filter(|_| fetch.redirects > 0);
            let Some(to) = to else {
                return Ok(answer);
            };
            redirect(&mut fetch, to, answer.status)?;
        }
    }

    fn once(&self, fetch: &Fetch, take: &mut Take<'_>) -> Result<Answer, String> {
        let place = &fetch.place;
        let to = match fetch.address {
            Some(to) => to,
            None => self.resolve(&place.host, fetch.families)?,
        };
        // Single waits have no shorter limit; `ConnectionParameters` enforces the deadline.
        let parameters = ConnectionParameters {
            host: self.host,
            source: fetch.source,
            until: self.until,
            patience: fetch.patience,
            interrupt: self.stop,
        };
        let stream = parameters.connect(SocketAddr::new(to, place.port))?;
        let request = request(fetch);
        let mut begun = false;
        let mut each = |answer: &Answer, bytes: &[u8]| {
            if !begun {
                begun = true;
                let total = answer.field("content-length");
                take(Piece::Begin(total.and_then(|total| total.parse().ok())))?;
            }
            take(Piece::Bytes(bytes))
        };
        match place.scheme {
            Scheme::Http => ask(parameters.plain(stream), &request, &mut each),
            Scheme::Https => {
                let trust = self.shared.lock().trust();
                let config = tls::client(&trust, self.store, Check::of(fetch.check))?;
                ask(
                    parameters.secured(stream, &place.host, config)?,
                    &request,
                    &mut each,
                )
            }
        }
    }

    fn resolve(&self, name: &str, families: &'static [bool]) -> Result<IpAddr, String> {
        if let Ok(address) = name.parse() {
            return Ok(address);
        }
        let asked = NameQuery {
            name,
            families,
            server: None,
        };
        let found = crate::inlet::resolve::resolve(self.shared, self.host, &asked, self.stop);
        let found = found.map_err(|reason| reason.to_string())?;
        let first = found.first().copied();
        first.ok_or_else(|| "no address".to_owned())
    }
}

fn request(fetch: &Fetch) -> Request<'_> {
    let place = &fetch.place;
    let mut request = Request::get(&place.host, place.port, place.scheme.port());
    request.method = fetch.method;
    request.target = &place.target;
    request.fields.clone_from(&fetch.fields);
    request.body = &fetch.body;
    request.follows = fetch.redirects > 0;
    if let Some((user, password)) = &fetch.user {
        let pair = menu::bytes::to_bytes(&format!("{user}:{password}"));
        let proof = format!("Basic {}", STANDARD.encode(pair));
        request.fields.push(("Authorization".to_owned(), proof));
    }
    request
}

/// Changes a request to the target of a redirection (RFC 9110, 15.4). Credentials are not sent to another
/// server.
fn redirect(fetch: &mut Fetch, to: &str, status: u16) -> Result<(), String> {
    fetch.redirects -= 1;
    let place = fetch
        .place
        .lead(to)
        .map_err(|why| format!("invalid redirection: {why}"))?;
    if !place.is_beside(&fetch.place) {
        (fetch.user, fetch.address) = (None, None);
        fetch.fields.retain(|(name, _)| {
            let secret = ["authorization", "cookie"];
            !secret.contains(&name.to_ascii_lowercase().as_str())
        });
    }
    fetch.place = place;
    if status == 303 {
        (fetch.method, fetch.body) = ("GET", Vec::new());
    }
    Ok(())
}
