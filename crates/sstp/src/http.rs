//! The HTTP preamble of a connection ([MS-SSTP], 3.1.4.1), and the request to an HTTP proxy (RFC 9110, 9.3.6).

use core::fmt;

/// End of a head.
pub(crate) const END: &[u8] = b"\r\n\r\n";
/// Maximum length of a head in bytes.
pub(crate) const MAX_HEAD: usize = 4096;
/// Method of an SSTP connection.
const METHOD: &str = "SSTP_DUPLEX_POST";
/// First bytes of an SSTP connection, by which a server tells it from other requests of its port.
pub const FIRST_BYTES: &[u8] = b"SSTP_DUPLEX_POST ";
/// Path of an SSTP connection.
const PATH: &str = "/sra_{BA195980-CD49-458b-9E23-C84EE0ADCD75}/";
/// Length of the endless bodies of both directions.
const LENGTH: &str = "18446744073709551615";

/// Reason why a server refuses a request: the status of its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The request is no HTTP request.
    BadRequest,
    /// The path is not that of SSTP.
    NotFound,
    /// The method is not that of SSTP.
    MethodNotAllowed,
    /// The version is not HTTP/1.1.
    Version,
}

impl Refusal {
    /// Returns the response to the request.
    pub fn response(self) -> Vec<u8> {
        let allow = match self {
            Self::MethodNotAllowed => "Allow: SSTP_DUPLEX_POST\r\n",
            _ => "",
        };
        format!("HTTP/1.1 {self}\r\n{allow}Content-Length: 0\r\nConnection: close\r\n\r\n")
            .into_bytes()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::Version => "505 HTTP Version Not Supported",
        })
    }
}

/// Returns the request of a client. `correlation` identifies the connection in logs of the server.
pub fn request(host: &str, correlation: u128) -> Vec<u8> {
    format!(
        "{METHOD} {PATH} HTTP/1.1\r\nSSTPCORRELATIONID: {{{}}}\r\nContent-Length: {LENGTH}\r\nHost: {host}\r\n\r\n",
        guid(correlation)
    )
    .into_bytes()
}

/// Returns a GUID.
fn guid(value: u128) -> String {
    let digits = format!("{value:032X}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    let parts = parts.map(|range| digits.get(range).unwrap_or_default());
    parts.join("-")
}

/// Returns the response that accepts a connection.
pub fn acceptance() -> Vec<u8> {
    format!("HTTP/1.1 200\r\nContent-Length: {LENGTH}\r\nServer: Microsoft-HTTPAPI/2.0\r\n\r\n")
        .into_bytes()
}

/// Checks the head of a client's request.
///
/// # Errors
/// The request asks for something else than an SSTP connection.
pub fn check_request(head: &[u8]) -> Result<(), Refusal> {
    let text = core::str::from_utf8(head).map_err(|_| Refusal::BadRequest)?;
    let line = text.lines().next().unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(path), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refusal::BadRequest);
    };
    match version {
        "HTTP/1.1" => {}
        other if other.starts_with("HTTP/") => return Err(Refusal::Version),
        _ => return Err(Refusal::BadRequest),
    }
    match (path.eq_ignore_ascii_case(PATH), method == METHOD) {
        (false, _) => Err(Refusal::NotFound),
        (true, false) => Err(Refusal::MethodNotAllowed),
        (true, true) => Ok(()),
    }
}

/// Returns the status of a response: 200. `None` if the head is no HTTP response.
pub fn status(head: &[u8]) -> Option<u16> {
    let text = core::str::from_utf8(head).ok()?;
    let mut words = text.lines().next()?.split(' ');
    let version = words.next()?;
    let status = words.next()?;
    let is_status = status.len() == 3 && status.bytes().all(|digit| digit.is_ascii_digit());
    (version.starts_with("HTTP/1.") && is_status).then(|| status.parse().ok())?
}

/// Returns the request to an HTTP proxy for a connection to `server`, which is an address or name with a port.
pub fn proxy_request(server: &str) -> Vec<u8> {
    format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_accepts_the_request_of_a_client() {
        let request = request("vpn.example.com", 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff);
        assert_eq!(check_request(&request), Ok(()));
        let text = String::from_utf8(request).expect("text");
        assert!(text.contains("\r\nSSTPCORRELATIONID: {00112233-4455-6677-8899-AABBCCDDEEFF}\r\n"));
        assert!(text.contains("\r\nHost: vpn.example.com\r\n"));
        assert_eq!(status(&acceptance()), Some(200));
    }

    #[test]
    fn another_request_is_refused_with_its_status() {
        let cases: [(&[u8], Refusal); 6] = [
            (b"GET / HTTP/1.1\r\n\r\n", Refusal::NotFound),
            (
                b"GET /sra_{BA195980-CD49-458b-9E23-C84EE0ADCD75}/ HTTP/1.1\r\n\r\n",
                Refusal::MethodNotAllowed,
            ),
            (
                b"SSTP_DUPLEX_POST /sra_{BA195980-CD49-458b-9E23-C84EE0ADCD75}/ HTTP/1.0\r\n\r\n",
                Refusal::Version,
            ),
            (b"\x16\x03\x01\xff\r\n\r\n", Refusal::BadRequest),
            (b"\r\n\r\n", Refusal::BadRequest),
            (b"a b c d\r\n\r\n", Refusal::BadRequest),
        ];
        for (head, refusal) in cases {
            assert_eq!(check_request(head), Err(refusal));
            let expected = refusal.to_string()[..3].parse().ok();
            assert_eq!(status(&refusal.response()), expected);
        }
    }

    #[test]
    fn only_an_http_response_has_a_status() {
        for head in [
            &b""[..],
            b"HTTP/1.1",
            b"HTTP/1.1 2000 OK",
            b"SSH-2.0 200",
            b"HTTP/2 200",
            b"HTTP/1.1 +20 x",
        ] {
            assert_eq!(status(head), None, "{head:?}");
        }
        assert_eq!(status(b"HTTP/1.0 407 Proxy\r\n\r\n"), Some(407));
    }
}
