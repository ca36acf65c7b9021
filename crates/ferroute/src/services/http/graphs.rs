//! Pages of `/tool/graphing`: `GET /graphs`, without a login, for the clients that the items allow.
//!
//! RouterOS's paths: `/graphs/`, `/graphs/iface/NAME/`, `/graphs/queue/NAME/`, `/graphs/cpu/`, `/graphs/ram/`,
//! `/graphs/hdd/`; below each the pictures of the periods, here as SVG (`daily.svg`).

use std::sync::Arc;

use api::rest::Fault;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue};
use page::{Chart, GraphUnit};
use router::history::pictures::{Graph, GraphIndex, GraphKind, Picture};
use tokio::task::spawn_blocking;

use super::Visitor;
use super::content::packed;
use super::reply::{Pieces, refuse};

/// Styles only; no script, no other site.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// A request below `/graphs`.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Index,
    Graph {
        kind: GraphKind,
        name: String,
        /// Name of a period, for its picture alone.
        period: Option<String>,
    },
}

impl Visitor {
    /// Answers a request; `rest` is the path behind `/graphs`.
    pub(super) async fn graphs(&self, rest: &str, headers: &HeaderMap) -> Response<Pieces> {
        let Some(request) = parse(rest) else {
            return refuse(&Fault::not_found());
        };
        let (shared, client) = (Arc::clone(&self.shared), self.peer.address.ip());
        // No task may wait for the router's lock.
        let made = spawn_blocking(move || match request {
            Request::Index => {
                let index = shared.read().graph_index(client);
                Some(("text/html; charset=utf-8", index_page(&index)))
            }
            Request::Graph { kind, name, period } => {
                let graph = shared.read().graph(kind, &name, client)?;
                answer(&graph, period.as_deref())
            }
        });
        match made.await {
            Ok(Some((media, text))) => {
                let mut response = packed(media, text, headers);
                let added = response.headers_mut();
                added.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                added.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
                response
            }
            Ok(None) => refuse(&Fault::not_found()),
            Err(_) => refuse(&Fault::new(500, "the graph could not be drawn")),
        }
    }
}

/// Parses the path behind `/graphs`; `None` for other paths.
fn parse(rest: &str) -> Option<Request> {
    let mut words = rest
        .split('/')
        .filter(|word| !word.is_empty())
        .map(api::unescape);
    let Some(kind) = words.next() else {
        return Some(Request::Index);
    };
    let kind = GraphKind::ALL.into_iter().find(|own| own.path() == kind)?;
    let name = match kind {
        GraphKind::Interface | GraphKind::Queue => words.next()?,
        _ => String::new(),
    };
    let period = words.next();
    let period = match period {
        Some(file) => Some(file.strip_suffix(".svg")?.to_owned()),
        None => None,
    };
    words
        .next()
        .is_none()
        .then_some(Request::Graph { kind, name, period })
}

/// Returns RouterOS's title of a graph.
fn title(kind: GraphKind, name: &str) -> String {
    match kind {
        GraphKind::Interface => format!("Interface <{name}> Statistics"),
        GraphKind::Queue => format!("Queue <{name}> Statistics"),
        GraphKind::Processor => "CPU Usage".to_owned(),
        GraphKind::Memory => "Memory Usage".to_owned(),
        GraphKind::Disk => "Disk Usage".to_owned(),
    }
}

fn index_page(index: &GraphIndex) -> String {
    let titles: Vec<_> = { index.graphs.iter() }
        .map(|(kind, name)| {
            let name_in_path = match name.is_empty() {
                true => String::new(),
                false => format!("{}/", escape(name)),
            };
            (
                format!("/graphs/{}/{name_in_path}", kind.path()),
                title(*kind, name),
            )
        })
        .collect();
    let links = titles
        .iter()
        .map(|(path, title)| (path.clone(), title.as_str()));
    page::graph_page(
        "Traffic and system resource graphing",
        &page::graph_links(links),
        index.refresh_seconds,
    )
}

/// Escapes a name for a path (RFC 3986, 2.1).
fn escape(name: &str) -> String {
    let mut escaped = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte));
            }
            byte => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn chart<'a>(kind: GraphKind, picture: &'a Picture) -> Chart<'a> {
    let (unit, labels): (_, &[&str]) = match kind {
        GraphKind::Interface | GraphKind::Queue => (GraphUnit::Bits, &["In", "Out"]),
        GraphKind::Processor => (GraphUnit::Percent, &["Usage"]),
        GraphKind::Memory | GraphKind::Disk => (GraphUnit::Bytes, &["Usage"]),
    };
    Chart {
        heading: picture.heading,
        length: picture.length,
        samples: &picture.samples,
        unit,
        labels,
    }
}

/// Returns the media type and text of a graph's page, or of the picture of one period; `None` for unknown periods.
fn answer(graph: &Graph, period: Option<&str>) -> Option<(&'static str, String)> {
    if let Some(period) = period {
        let mut pictures = graph.pictures.iter();
        let picture = pictures.find(|picture| picture.period == period)?;
        return Some((
            "image/svg+xml",
            page::chart_svg(&chart(graph.kind, picture)),
        ));
    }
    let pictures = graph.pictures.iter();
    let sections = pictures.map(|picture| page::chart_section(&chart(graph.kind, picture)));
    let body: String = sections.collect();
    let title = title(graph.kind, &graph.name);
    let text = page::graph_page(&title, &body, graph.refresh_seconds);
    Some(("text/html; charset=utf-8", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_routeros() {
        let graph = |kind, name: &str, period: Option<&str>| {
            Some(Request::Graph {
                kind,
                name: name.to_owned(),
                period: period.map(str::to_owned),
            })
        };
        assert_eq!(parse("/"), Some(Request::Index));
        assert_eq!(
            parse("/iface/a%20b/"),
            graph(GraphKind::Interface, "a b", None)
        );
        let daily = graph(GraphKind::Queue, "q", Some("daily"));
        assert_eq!(parse("/queue/q/daily.svg"), daily);
        assert_eq!(parse("/cpu"), graph(GraphKind::Processor, "", None));
        for wrong in ["/iface", "/cpu/daily.gif", "/disk/", "/ram/daily.svg/x"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(escape("a b/ü"), "a%20b%2F%C3%BC");
    }
}
