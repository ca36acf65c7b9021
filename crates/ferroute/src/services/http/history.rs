//! History of traffic and load: `GET /history`, for users who may read.
//!
//! | parameter | meaning |
//! |---|---|
//! | `span` | `seconds` (five minutes; default) or `minutes` (a day) |
//! | `since` | number of the last sample that the client has: `last` of an earlier answer |
//! | `interface` | name of an interface whose samples are wanted; may be repeated |
//! | `list` | `yes` lists the interfaces of the configuration with their current rates |

use std::sync::Arc;

use api::rest::Fault;
use hyper::body::Incoming;
use hyper::{Request, Response};
use router::history::{MAX_INTERFACES, Query, Span};
use tokio::task::spawn_blocking;

use super::content::packed;
use super::reply::{Pieces, refuse};
use super::{CommandOwner, Visitor, turn_away};

impl Visitor {
    /// Returns the history.
    pub(super) async fn history(&self, request: &Request<Incoming>) -> Response<Pieces> {
        let headers = request.headers();
        let (entered, via) = match self.enter(headers).await {
            Ok(known) => known,
            Err(fault) => return turn_away(headers, &fault),
        };
        if !entered.policies().contains(&"read") {
            return refuse(&Fault::new(403, "the policy read is missing"));
        }
        let query = match parse(request.uri().query().unwrap_or_default()) {
            Ok(query) => query,
            Err(fault) => return refuse(&fault),
        };
        let turn = match self.admission.turn(&CommandOwner::new(&entered, via)).await {
            Ok(turn) => turn,
            Err(reason) => return refuse(&Fault::new(503, reason.to_string())),
        };
        let shared = Arc::clone(&self.shared);
        let said = spawn_blocking(move || {
            let said = shared.read().history(&query);
            drop(turn);
            said
        });
        match said.await {
            Ok(said) => packed("application/json", said, headers),
            Err(_) => refuse(&Fault::new(500, "the history could not be generated")),
        }
    }
}

/// Parses the parameters.
///
/// # Errors
/// 400: an unknown or malformed parameter, or too many interfaces.
fn parse(query: &str) -> Result<Query, Fault> {
    let mut parsed = Query {
        span: Span::Seconds,
        since: 0,
        interfaces: Vec::new(),
        list: false,
    };
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let value = api::unescape(value);
        let wrong = |wanted: &str| Fault::new(400, format!("{name} is {value}; expected {wanted}"));
        match (name, value.as_str()) {
            ("span", "seconds") => parsed.span = Span::Seconds,
            ("span", "minutes") => parsed.span = Span::Minutes,
            ("span", _) => return Err(wrong("seconds or minutes")),
            ("since", number) => parsed.since = number.parse().map_err(|_| wrong("a number"))?,
            ("list", "yes") => parsed.list = true,
            ("list", _) => return Err(wrong("yes")),
            ("interface", _) if parsed.interfaces.len() < MAX_INTERFACES => {
                parsed.interfaces.push(value);
            }
            ("interface", _) => {
                let text = format!("more than {MAX_INTERFACES} interfaces");
                return Err(Fault::new(400, text));
            }
            _ => return Err(Fault::new(400, format!("unknown parameter {name}"))),
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_parameters_are_named() {
        let query =
            parse("span=minutes&since=7&interface=a%20b&interface=c&list=yes").expect("valid");
        assert_eq!(
            (query.span, query.since, query.list),
            (Span::Minutes, 7, true)
        );
        assert_eq!(query.interfaces, ["a b", "c"]);
        for wrong in ["span=hours", "since=x", "list=no", "size=1"] {
            let fault = parse(wrong).expect_err(wrong);
            let name = wrong.split('=').next().unwrap_or_default();
            assert!(fault.body().contains(name), "{wrong}: {}", fault.body());
        }
        assert!(parse(&"interface=a&".repeat(MAX_INTERFACES + 1)).is_err());
    }
}
