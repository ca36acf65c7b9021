//! REST API: maps methods and paths to commands, and answers in JSON.
//!
//! `GET` is `print`, `PUT` is `add`, `PATCH` is `set`, `DELETE` is `remove`; `POST` runs any command. Values
//! are strings in both directions. Rows are sent as they arrive, so that a long menu never occupies memory as a
//! whole.

use std::ops::ControlFlow;

use menu::{Menu, MenuShape, Reason, Refusal, json};
use script::{Done, Request, Rows};

use crate::body;
use crate::connection::message;

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    /// The method in upper case.
    pub method: &'a str,
    /// The undecoded path after `/rest`, with its leading slash.
    pub path: &'a str,
    /// The query string.
    pub query: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// Receives an answer: the status, then the body in pieces.
pub trait Answer {
    /// Receives the status.
    fn begin(&mut self, status: u16);

    /// Receives a piece of the body.
    fn write(&mut self, piece: &str) -> ControlFlow<()>;
}

/// Runs a request.
pub type RequestRunner<'a> = dyn FnMut(&Request, &mut dyn Rows) -> Result<Done, Refusal> + 'a;

/// An error answer: status and detail text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    status: u16,
    detail: Option<String>,
}

/// Number of bytes buffered before the status is sent, so that an early error can still change it.
const BUFFERED_BYTES: usize = 64 << 10;

/// Answers a request.
pub fn answer(
    menus: &'static [&'static Menu],
    asked: &HttpRequest<'_>,
    run: &mut RequestRunner<'_>,
    out: &mut dyn Answer,
) {
    let fault = match served(menus, asked, run, out) {
        Ok(()) => return,
        Err(fault) => fault,
    };
    out.begin(fault.status);
    let _ = out.write(&fault.body());
}

fn served(
    menus: &'static [&'static Menu],
    asked: &HttpRequest<'_>,
    run: &mut RequestRunner<'_>,
    out: &mut dyn Answer,
) -> Result<(), Fault> {
    let mut request = Request::default();
    body::read(asked.body, &mut request).map_err(|why| Fault::new(400, why))?;
    let path: Vec<_> = asked.path.split('/').filter(|w| !w.is_empty()).collect();
    let path: Vec<_> = path.into_iter().map(body::unescape).collect();
    if asked.method == "POST" {
        request.path = format!("/{}", path.join("/"));
        return command(&request, run, out);
    }
    let (menu, item) = place(menus, &path)?;
    let one = |name: &str| [(String::from(".id"), name.to_owned())];
    match (asked.method, item) {
        ("GET", None) => {
            body::filters(asked.query, &mut request);
            print(menu, request, run, out)
        }
        ("GET", Some(item)) => {
            body::filters(asked.query, &mut request);
            request.arguments.extend(one(&item));
            let object = found(menu, request, run)?;
            whole(200, &object, out)
        }
        ("PUT", None) if menu.takes("add") => {
            request.path = format!("{}/add", menu.path);
            let done = run(&request, &mut DiscardRows).map_err(|refusal| Fault::of(&refusal))?;
            let Done::Ret(id) = done else {
                return whole(201, "{}", out);
            };
            let object = found(menu, chosen(&id), run)?;
            whole(201, &object, out)
        }
        ("PATCH", item) if item.is_some() == menu.has_rows() => {
            request.path = format!("{}/set", menu.path);
            let chosen = item.map_or_else(Request::default, |item| {
                request.arguments.extend(one(&item));
                chosen(&item)
            });
            run(&request, &mut DiscardRows).map_err(|refusal| Fault::of_item(&refusal))?;
            let object = found(menu, chosen, run)?;
            whole(200, &object, out)
        }
        ("DELETE", Some(item)) if menu.takes("remove") => {
            request.path = format!("{}/remove", menu.path);
            request.arguments.extend(one(&item));
            run(&request, &mut DiscardRows).map_err(|refusal| Fault::of_item(&refusal))?;
            out.begin(204);
            Ok(())
        }
        (method, _) => {
            let command = match method {
                "PUT" => "add",
                "PATCH" => "set",
                "DELETE" => "remove",
                other => other,
            };
            Err(Fault::new(
                406,
                format!("no such command or directory ({command})"),
            ))
        }
    }
}

/// Builds a request for the row with a given id or name.
fn chosen(item: &str) -> Request {
    Request {
        arguments: vec![(String::from(".id"), item.to_owned())],
        ..Request::default()
    }
}

/// Resolves a path to a menu, and an optional last word to an item.
fn place(
    menus: &'static [&'static Menu],
    words: &[String],
) -> Result<(&'static Menu, Option<String>), Fault> {
    let menu = |words: &[String]| {
        // Empty words are not ignored.
        let whole = words.iter().all(|word| !word.is_empty());
        let found = script::menu_at(menus, &words.join("/")).filter(|_| whole);
        found.filter(|menu| menu.shape != MenuShape::Folder)
    };
    let unknown = |words: &[String]| {
        let word = words.last().map_or("", String::as_str);
        Fault::new(404, format!("no such command or directory ({word})"))
    };
    if let Some(menu) = menu(words) {
        return Ok((menu, None));
    }
    match words.split_last() {
        Some((item, rest)) => match menu(rest) {
            Some(menu) if menu.has_rows() => Ok((menu, Some(item.clone()))),
            _ => Err(unknown(words)),
        },
        None => Err(unknown(words)),
    }
}

/// Answers with all rows, or with a single set of values.
fn print(
    menu: &'static Menu,
    mut request: Request,
    run: &mut RequestRunner<'_>,
    out: &mut dyn Answer,
) -> Result<(), Fault> {
    request.path = format!("{}/print", menu.path);
    if !menu.has_rows() {
        // RouterOS: a status menu without values is answered by an empty list.
        let object = one_row(&request, run)?;
        return whole(200, object.as_deref().unwrap_or("[]"), out);
    }
    let mut list = JsonArrayWriter::new(out);
    let done = run(&request, &mut list);
    list.end(done)
}

/// Returns the row that a request for a single item finds.
fn found(
    menu: &'static Menu,
    mut request: Request,
    run: &mut RequestRunner<'_>,
) -> Result<String, Fault> {
    request.path = format!("{}/print", menu.path);
    one_row(&request, run)?.ok_or_else(Fault::not_found)
}

fn one_row(request: &Request, run: &mut RequestRunner<'_>) -> Result<Option<String>, Fault> {
    let mut row = FirstRow(None);
    run(request, &mut row).map_err(|refusal| Fault::of_item(&refusal))?;
    Ok(row.0)
}

fn command(
    request: &Request,
    run: &mut RequestRunner<'_>,
    out: &mut dyn Answer,
) -> Result<(), Fault> {
    let mut list = JsonArrayWriter::new(out);
    let done = run(request, &mut list);
    list.end(done)
}

fn whole(status: u16, text: &str, out: &mut dyn Answer) -> Result<(), Fault> {
    out.begin(status);
    let _ = out.write(text);
    Ok(())
}

/// Formats a row as a JSON object.
pub(crate) fn object(fields: &[(&str, String)]) -> String {
    let mut text = String::from("{");
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        json::string(name, &mut text);
        text.push(':');
        json::string(value, &mut text);
    }
    text.push('}');
    text
}

/// Discards rows.
struct DiscardRows;

impl Rows for DiscardRows {
    fn row(&mut self, _fields: &[(&str, String)]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Keeps the first row as JSON.
struct FirstRow(Option<String>);

impl Rows for FirstRow {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        self.0.get_or_insert_with(|| object(fields));
        ControlFlow::Continue(())
    }
}

/// Writes rows as a JSON array. The beginning is buffered.
struct JsonArrayWriter<'a> {
    out: &'a mut dyn Answer,
    text: String,
    any: bool,
    begun: bool,
}

impl<'a> JsonArrayWriter<'a> {
    fn new(out: &'a mut dyn Answer) -> Self {
        let text = String::new();
        Self {
            out,
            text,
            any: false,
            begun: false,
        }
    }

    fn flush(&mut self) -> ControlFlow<()> {
        if !std::mem::replace(&mut self.begun, true) {
            self.out.begin(200);
        }
        self.out.write(&std::mem::take(&mut self.text))
    }

    /// Ends the answer. An error can be reported only if nothing was sent yet.
    fn end(mut self, done: Result<Done, Refusal>) -> Result<(), Fault> {
        match done {
            Err(refusal) if !self.begun => return Err(Fault::of(&refusal)),
            Ok(Done::Ret(value)) if !self.any => {
                self.text.push_str("{\"ret\":");
                json::string(&value, &mut self.text);
                self.text.push('}');
            }
            _ => self.text.push_str(if self.any { "]" } else { "[]" }),
        }
        let _ = self.flush();
        Ok(())
    }
}

impl Rows for JsonArrayWriter<'_> {
    fn row(&mut self, fields: &[(&str, String)]) -> ControlFlow<()> {
        let first = !std::mem::replace(&mut self.any, true);
        self.text.push_str(if first { "[" } else { "," });
        self.text.push_str(&object(fields));
        if self.text.len() < BUFFERED_BYTES {
            return ControlFlow::Continue(());
        }
        self.flush()
    }
}

impl Fault {
    /// Creates an error with detail text.
    pub fn new(status: u16, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into());
        Self { status, detail }
    }

    /// The login failed.
    pub const fn unauthorized() -> Self {
        Self {
            status: 401,
            detail: None,
        }
    }

    /// The resource does not exist.
    pub const fn not_found() -> Self {
        Self {
            status: 404,
            detail: None,
        }
    }

    /// The command took too long.
    pub fn too_slow() -> Self {
        Self::new(400, "Session closed")
    }

    /// The status.
    pub const fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn of(refusal: &Refusal) -> Self {
        match &refusal.reason {
            Reason::Interrupted => Self::too_slow(),
            Reason::NoItem => Self::new(404, message(refusal)),
            Reason::Unknown(text) if text.starts_with("no such command") => {
                Self::new(404, message(refusal))
            }
            _ => Self::new(400, message(refusal)),
        }
    }

    /// Converts a refusal of a request for an item in a path that may not exist.
    fn of_item(refusal: &Refusal) -> Self {
        match refusal.reason {
            Reason::NoItem => Self::not_found(),
            _ => Self::of(refusal),
        }
    }

    /// Returns the error as JSON.
    pub fn body(&self) -> String {
        let reason = match self.status {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            406 => "Not Acceptable",
            413 => "Payload Too Large",
            415 => "Unsupported Media Type",
            503 => "Service Unavailable",
            500 => "Internal Server Error",
            _ => "Bad Request",
        };
        let mut text = String::from("{");
        if let Some(detail) = &self.detail {
            text.push_str("\"detail\":");
            json::string(detail, &mut text);
            text.push(',');
        }
        text.push_str(&format!(
            "\"error\":{},\"message\":\"{reason}\"}}",
            self.status
        ));
        text
    }
}

#[cfg(test)]
mod tests;
