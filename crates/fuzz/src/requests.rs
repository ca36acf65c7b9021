//! Fuzz targets of the binary API and REST.

use std::ops::ControlFlow;

use menu::{Kind, Menu, MenuShape, Property, Reason};
use script::{Done, Request, Rows};

use api::rest::{self, HttpRequest};
use api::{Action, Connection, Decoder, Limits, RUNNING};

/// Feeds a connection in pieces, whose length the first byte gives. Every login succeeds; commands end with the
/// next piece.
///
/// # Panics
/// More commands run than allowed, a command has no end, or a reply cannot be parsed.
pub fn sentences(bytes: &[u8]) {
    let Some((step, bytes)) = bytes.split_first() else {
        return;
    };
    let mut connection = Connection::new([7; 16], true);
    let (mut running, mut sent) = (Vec::new(), Vec::new());
    for piece in bytes.chunks(usize::from(*step).max(1)) {
        let mut actions = Vec::new();
        for number in running.drain(..) {
            let ended = match number % 3 {
                0 => Ok(Done::Empty),
                1 => Ok(Done::Ret(String::from("*1"))),
                _ => Err(Reason::NoItem.nowhere()),
            };
            connection.ended(number, &ended, &mut actions);
            assert!(!connection.wants(number), "it has ended");
        }
        connection.receive(piece, &mut actions);
        while !actions.is_empty() {
            let mut more = Vec::new();
            for action in actions {
                match action {
                    Action::Send(bytes) => sent.extend(bytes),
                    Action::Login { .. } => {
                        connection.admitted(true, &mut more);
                        connection.receive(&[], &mut more);
                    }
                    Action::Run { number, .. } => running.push(number),
                    Action::Stop(_) | Action::Leave | Action::Close => {}
                }
            }
            actions = more;
        }
        assert!(running.len() <= RUNNING, "{} run", running.len());
    }
    let mut answers = Decoder::new(Limits {
        bytes: usize::MAX,
        words: usize::MAX,
    });
    answers.push(&sent);
    while let Some(words) = answers.sentence().expect("the router's own sentences") {
        let known = ["!done", "!trap", "!fatal", "!empty", "!re"];
        let first = words.first().map(Vec::as_slice).unwrap_or_default();
        assert!(
            known.iter().any(|word| word.as_bytes() == first),
            "{words:?}"
        );
    }
}

static THINGS: Menu = Menu {
    properties: &[&[Property::new("name", Kind::Name, "its name")]],
    key: Some("name"),
    ..Menu::new("/thing", MenuShape::List, "things")
};

static STATE: Menu = Menu::new("/state", MenuShape::Settings, "one state");

static MENUS: &[&Menu] = &[&THINGS, &STATE];

/// Sends a REST request: a line with method, path and query, then the body.
///
/// # Panics
/// The response has no status or no JSON.
pub fn rest(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, body) = bytes.split_at(end.unwrap_or(bytes.len()));
    let line = String::from_utf8_lossy(line);
    let (method, url) = line.split_once(' ').unwrap_or((&line, ""));
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let asked = HttpRequest {
        method,
        path,
        query,
        body,
    };
    let mut answer = Whole::default();
    let mut run = |request: &Request, rows: &mut dyn Rows| run(request, rows);
    rest::answer(MENUS, &asked, &mut run, &mut answer);
    let status = answer.status.expect("an answer has a status");
    if status == 204 {
        assert!(answer.body.is_empty(), "{}", answer.body);
        return;
    }
    let read: Result<serde_json::Value, _> = serde_json::from_str(&answer.body);
    assert!(read.is_ok(), "{status} {}", answer.body);
}

/// Answers every request by its own fields, or as its length decides.
fn run(request: &Request, rows: &mut dyn Rows) -> Result<Done, menu::Refusal> {
    let fields: Vec<_> = request
        .arguments
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    for _ in 0..request.query.len() {
        let _ = rows.row(&fields);
    }
    match request.path.len() % 4 {
        0 => Err(Reason::NoItem.nowhere()),
        1 => Ok(Done::Ret(request.path.clone())),
        2 => Ok(Done::Empty),
        _ => Ok(Done::Nothing),
    }
}

/// A complete response.
#[derive(Default)]
struct Whole {
    status: Option<u16>,
    body: String,
}

impl rest::Answer for Whole {
    fn begin(&mut self, status: u16) {
        assert!(self.status.is_none(), "one status");
        self.status = Some(status);
    }

    fn write(&mut self, piece: &str) -> ControlFlow<()> {
        self.body.push_str(piece);
        ControlFlow::Continue(())
    }
}
