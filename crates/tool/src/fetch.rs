//! `/tool/fetch`: downloads or uploads by HTTP or HTTPS. The router's owner holds the sockets; the tool polls the
//! progress until the transfer has ended.

use std::net::IpAddr;
use std::task::Waker;
use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::nothing;
use crate::url::{Scheme, Url};
use crate::{Form, Invocation, Look, Next, RunningTool, Tool, Turn};

/// Default idle timeout.
const IDLE: Duration = Duration::from_secs(10);
/// Poll interval.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum length of data returned to a script, in bytes. RouterOS: 64,512.
const USER_MOST: u64 = 64_512;
/// Maximum file size in bytes; a file is kept in memory until it is complete.
const FILE_MOST: u64 = 64 << 20;

/// Request for a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// URL.
    pub place: Url,
    /// Address to connect to instead of resolving the host name.
    pub address: Option<IpAddr>,
    /// Address families for resolving the host name, preferred first: `true` for IPv4, `false` for IPv6.
    pub families: &'static [bool],
    /// Certificate verification: a word of `check-certificate`.
    pub check: &'static str,
    /// HTTP method.
    pub method: &'static str,
    /// Additional header fields.
    pub fields: Vec<(String, String)>,
    /// Request body.
    pub body: Vec<u8>,
    /// User and password.
    pub user: Option<(String, String)>,
    /// Source address, if set.
    pub source: Option<IpAddr>,
    /// Maximum number of redirects.
    pub redirects: u32,
    /// Idle timeout.
    pub patience: Duration,
    /// Total timeout.
    pub duration: Option<Duration>,
    /// Destination file; `None` returns the data to the caller.
    pub file: Option<String>,
    /// Maximum length of the data in bytes.
    pub most: u64,
    /// Discard the data and only count it, without limit.
    pub discards: bool,
}

impl Fetch {
    /// Creates a GET request without certificate verification, data and redirects.
    pub fn get(place: Url) -> Self {
        Self {
            place,
            address: None,
            families: &[true, false],
            check: "no",
            method: "GET",
            fields: Vec::new(),
            body: Vec::new(),
            user: None,
            source: None,
            redirects: 0,
            patience: IDLE,
            duration: None,
            file: None,
            most: USER_MOST,
            discards: false,
        }
    }
}

/// Progress of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Received bytes.
    pub bytes: u64,
    /// Total length, if known.
    pub total: Option<u64>,
    /// Result, once the transfer has ended.
    pub end: Option<Result<Page, String>>,
}

/// HTTP response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Status code.
    pub status: u16,
    /// Reason phrase.
    pub reason: String,
    /// Header fields.
    pub fields: Vec<(String, String)>,
    /// Body.
    pub data: Vec<u8>,
}

/// Service that runs transfers.
pub trait Fetches {
    /// Starts a transfer; returns its ticket. Wakes `news` when it has ended.
    ///
    /// # Errors
    /// Fails if too many transfers are running.
    fn begin(&mut self, fetch: Fetch, news: &Waker) -> Result<u64, Reason>;

    /// Returns the progress; `None` for an unknown ticket. Once a transfer has ended, writes its file and removes it.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    fn look(&mut self, ticket: u64) -> Result<Option<Fetched>, Reason>;

    /// Cancels a transfer.
    fn forget(&mut self, ticket: u64);
}

/// The fetch tool.
pub(crate) struct FetchTool;

struct Fetching {
    fetch: Fetch,
    /// Data to return to the user: none, the body, or the body and header.
    gives: Gives,
    ticket: Option<u64>,
    began: Duration,
    value: Vec<(&'static str, Value)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    Nothing,
    Data,
    All,
}

impl Tool for FetchTool {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let output = given.text("output");
        let gives = match output.as_deref() {
            Some("user") => Gives::Data,
            Some("user-with-headers") => Gives::All,
            _ => Gives::Nothing,
        };
        let mut fetch = request(given, output.as_deref())?;
        if fetch.file.is_none() && gives == Gives::Nothing {
            (fetch.discards, fetch.most) = (true, u64::MAX);
        }
        Ok(Box::new(Fetching {
            fetch,
            gives,
            ticket: None,
            began: Duration::ZERO,
            value: Vec::new(),
        }))
    }
}

impl RunningTool for Fetching {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let missing = || Reason::failure("fetch needs a running router");
        let fetches = turn.router.fetches().ok_or_else(missing)?;
        let Some(ticket) = self.ticket else {
            self.began = turn.now;
            self.ticket = Some(fetches.begin(self.fetch.clone(), turn.news)?);
            return Ok(nothing(Next::News(turn.now.saturating_add(LOOK))));
        };
        let Some(fetched) = fetches.look(ticket)? else {
            return Ok(nothing(Next::Over));
        };
        let took = turn.now.saturating_sub(self.began);
        let page = match &fetched.end {
            None => {
                let rows = Some(vec![row(&cells("downloading", &fetched, took))]);
                let next = Next::News(turn.now.saturating_add(LOOK));
                return Ok(Look { rows, next });
            }
            Some(Ok(page)) => page,
            Some(Err(why)) => return Err(Reason::failure(why.clone())),
        };
        self.ticket = None;
        if !(200..300).contains(&page.status) {
            // RouterOS: same wording.
            let why = format!("Fetch failed with status {}", page.status);
            return Err(Reason::failure(why));
        }
        let mut value = cells("finished", &fetched, took);
        if self.gives != Gives::Nothing {
            value.push(("data", Value::text(menu::bytes::from_bytes(&page.data))));
        }
        if self.gives == Gives::All {
            let lines = page.fields.iter();
            let lines = lines.map(|(name, text)| Value::text(format!("{name}: {text}")));
            value.push(("http-headers", Value::List(lines.collect())));
        }
        self.value = value;
        Ok(Look {
            rows: Some(vec![row(&self.value)]),
            next: Next::Over,
        })
    }

    fn stop(&mut self, turn: &mut Turn<'_>) {
        if let (Some(ticket), Some(fetches)) = (self.ticket.take(), turn.router.fetches()) {
            fetches.forget(ticket);
        }
    }
}

fn row(cells: &[(&'static str, Value)]) -> Row {
    let mut row = Row::default();
    for (name, value) in cells {
        row.set(name, value.clone());
    }
    row
}

fn cells(status: &'static str, fetched: &Fetched, took: Duration) -> Vec<(&'static str, Value)> {
    let kib = |bytes: u64| Value::Kib(i64::try_from(bytes.div_ceil(1_024)).unwrap_or(i64::MAX));
    let seconds = i64::try_from(took.as_secs()).unwrap_or(0);
    vec![
        ("status", Value::Word(status)),
        ("downloaded", kib(fetched.bytes)),
        ("total", kib(fetched.total.unwrap_or(fetched.bytes))),
        (
            "duration",
            Value::Time(seconds.saturating_mul(1_000_000_000)),
        ),
    ]
}

/// Builds the request from the arguments.
fn request(given: &Invocation<'_>, output: Option<&str>) -> Result<Fetch, Reason> {
    let text = |name: &str| given.text(name);
    if given.is_set("upload") {
        return Err(Reason::failure("upload is not supported here"));
    }
    let place = place(given)?;
    let body = menu::bytes::to_bytes(&text("http-data").unwrap_or_default());
    let keeps = given.value("keep-result").and_then(Value::as_bool) != Some(false);
    let file = match output {
        Some("none" | "user" | "user-with-headers") => None,
        _ => keeps.then(|| text("dst-path").unwrap_or_else(|| name_of(&place.target))),
    };
    Ok(Fetch {
        address: text("address").and_then(|address| address.parse().ok()),
        families: match text("ip-type").as_deref() {
            Some("ipv4") => &[true],
            Some("ipv6") => &[false],
            _ => &[true, false],
        },
        check: match text("check-certificate").as_deref() {
            Some("yes") => "yes",
            Some("yes-without-crl") => "yes-without-crl",
            _ => "no",
        },
        method: method(text("http-method").as_deref(), !body.is_empty()),
        fields: fields(given)?,
        user: { text("user").map(|user| (user, text("password").unwrap_or_default())) }
            .or_else(|| place.user.clone()),
        source: given.value("src-address").and_then(Value::as_address),
        redirects: given.number("http-max-redirect-count").unwrap_or(0),
        patience: given.span("idle-timeout").unwrap_or(IDLE),
        duration: given.span("duration"),
        most: if file.is_some() { FILE_MOST } else { USER_MOST },
        discards: false,
        place,
        body,
        file,
    })
}

/// URL from the `url` argument, or from `mode`, `address`, `host` and `src-path` as in older versions.
fn place(given: &Invocation<'_>) -> Result<Url, Reason> {
    let text = |name: &str| given.text(name);
    let url = text("url").unwrap_or_default();
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_owned()), rest),
        None => (None, &*url),
    };
    let mode = scheme
        .or_else(|| text("mode"))
        .unwrap_or_else(|| "http".to_owned());
    let unsupported = || Reason::failure(format!("mode={mode} is not supported here"));
    let scheme = Scheme::of(&mode).ok_or_else(unsupported)?;
    let mut place =
        Url::with(scheme, rest).map_err(|why| Reason::failure(format!("url: {why}")))?;
    let named = |name| text(name).filter(|host| !host.is_empty());
    if let Some(host) = named("host") {
        place.host = host;
    } else if place.host.is_empty() {
        place.host = named("address").ok_or(Reason::Missing(vec!["url"]))?;
    }
    if let (Some(path), "/") = (text("src-path"), &*place.target) {
        place.target = if path.starts_with('/') {
            path
        } else {
            format!("/{path}")
        };
    }
    place.port = given.number("port").unwrap_or(place.port);
    place.host = word(place.host, "host")?;
    place.target = word(place.target, "src-path")?;
    Ok(place)
}

/// RouterOS: the default method with data is POST.
fn method(given: Option<&str>, sends: bool) -> &'static str {
    match given {
        Some("post") => "POST",
        Some("put") => "PUT",
        Some("delete") => "DELETE",
        Some("head") => "HEAD",
        Some("patch") => "PATCH",
        None if sends => "POST",
        _ => "GET",
    }
}

/// Default name of the destination file.
fn name_of(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    match path.rsplit('/').next().unwrap_or_default() {
        "" => "index.html".to_owned(),
        name => name.to_owned(),
    }
}

/// Checks a text for the request header: no character may end its line.
fn word(text: String, name: &'static str) -> Result<String, Reason> {
    match text
        .chars()
        .any(|letter| letter.is_control() || letter == ' ')
    {
        true => Err(Reason::no_match(name)),
        false => Ok(text),
    }
}

/// Parses a list of `Name: value` header fields.
fn fields(given: &Invocation<'_>) -> Result<Vec<(String, String)>, Reason> {
    let listed = given.value("http-header-field").map(Value::as_list);
    let mut fields = Vec::new();
    for field in listed.unwrap_or_default() {
        let field = field.to_string();
        let wrong = || Reason::no_match("http-header-field");
        let (name, value) = field.split_once(':').ok_or_else(wrong)?;
        let (name, value) = (name.trim(), value.trim());
        let is_name = |letter: char| letter.is_ascii_graphic() && letter != ':';
        if name.is_empty() || !name.chars().all(is_name) || value.chars().any(char::is_control) {
            return Err(wrong());
        }
        fields.push((name.to_owned(), value.to_owned()));
    }
    Ok(fields)
}
