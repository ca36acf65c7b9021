//! Protection against cross-site requests of browsers.
//!
//! A browser with a stored HTTP Basic password adds it to every request to the router, whichever page caused
//! it. It sends the page's origin in `Origin` (Fetch, 3.2) with every request except GET and HEAD, and in
//! `Sec-Fetch-Site` (Fetch Metadata, 2.3) with every request to a secure origin. Without CORS permission a page
//! sends only bodies of form types, neither `application/json` nor `application/octet-stream`. Other programs
//! send neither header.

use api::rest::Fault;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, ORIGIN, TRANSFER_ENCODING};

/// Header that tells whether the same origin, the user, or no browser caused the request.
const SITE_HEADER: &str = "sec-fetch-site";

/// Body types that pages cannot send to other origins without permission: commands and files.
const PROTECTED_TYPES: [&str; 2] = ["application/json", "application/octet-stream"];

/// Rejects a request with HTTP Basic that a foreign page sent or may have sent.
///
/// # Errors
/// 403: foreign origin. 415: declared body type other than JSON and files.
pub(super) fn check(headers: &HeaderMap) -> Result<(), Fault> {
    if is_foreign(headers) {
        let text = "the request comes from another origin";
        return Err(Fault::new(403, text));
    }
    let has_body = headers.contains_key(TRANSFER_ENCODING)
        || headers
            .get(CONTENT_LENGTH)
            .is_some_and(|length| length != "0");
    let Some(kind) = headers.get(CONTENT_TYPE).filter(|_| has_body) else {
        return Ok(());
    };
    let kind = String::from_utf8_lossy(kind.as_bytes());
    let essence = kind.split(';').next().unwrap_or_default().trim();
    match PROTECTED_TYPES
        .iter()
        .any(|own| essence.eq_ignore_ascii_case(own))
    {
        true => Ok(()),
        false => Err(Fault::new(
            415,
            format!("the body is {essence}; expected Content-Type: application/json"),
        )),
    }
}

fn is_foreign(headers: &HeaderMap) -> bool {
    let site = headers.get(SITE_HEADER);
    if site.is_some_and(|site| site != "same-origin" && site != "none") {
        return true;
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return false;
    };
    let text = |value: Option<&hyper::header::HeaderValue>| {
        let text = value.and_then(|value| value.to_str().ok());
        text.unwrap_or_default().to_ascii_lowercase()
    };
    let (origin, host) = (text(Some(origin)), text(headers.get(HOST)));
    // The scheme may differ if a proxy in front of the router terminates TLS.
    let authority = ["http://", "https://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme));
    authority.is_none_or(|authority| authority.is_empty() || authority != host)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn status(lines: &[(&'static str, &'static str)]) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("192.168.88.1"));
        for (name, value) in lines {
            let name = HeaderName::from_static(name);
            headers.insert(name, HeaderValue::from_static(value));
        }
        check(&headers).map_or_else(|fault| fault.status(), |()| 200)
    }

    #[test]
    fn requests_of_foreign_pages_are_refused() {
        for foreign in [
            ("origin", "http://evil.example"),
            ("origin", "http://192.168.88.1:8080"),
            ("origin", "http://192.168.88.1.evil.example"),
            ("origin", "null"),
            ("origin", ""),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(status(&[foreign]), 403, "{foreign:?}");
        }
        for own in [
            ("origin", "http://192.168.88.1"),
            ("origin", "https://192.168.88.1"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "none"),
            ("user-agent", "curl/8.14.1"),
        ] {
            assert_eq!(status(&[own]), 200, "{own:?}");
        }
    }

    #[test]
    fn files_come_from_programs_and_from_no_foreign_page() {
        let bytes = ("content-type", "application/octet-stream");
        let length = ("content-length", "7");
        assert_eq!(status(&[bytes, length]), 200);
        assert_eq!(
            status(&[bytes, length, ("origin", "http://evil.example")]),
            403
        );
        assert_eq!(
            status(&[bytes, length, ("sec-fetch-site", "cross-site")]),
            403
        );
    }

    #[test]
    fn bodies_that_a_form_can_send_are_refused() {
        let body = ("content-length", "2");
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "text/plain; application/json",
        ] {
            assert_eq!(status(&[body, ("content-type", kind)]), 415, "{kind}");
            let chunked = ("transfer-encoding", "chunked");
            assert_eq!(status(&[chunked, ("content-type", kind)]), 415, "{kind}");
            assert_eq!(status(&[("content-type", kind)]), 200, "{kind}, no body");
        }
        for kind in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(status(&[body, ("content-type", kind)]), 200, "{kind}");
        }
        assert_eq!(status(&[body]), 200, "no type");
    }
}
