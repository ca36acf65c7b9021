//! `/tool/fetch`: gets a page or sends one, by HTTP with or without TLS. The router's owner has the sockets; what is
//! fetched is looked at again and again until it has ended.

use std::net::IpAddr;
use std::task::Waker;
use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::nothing;
use crate::place::{Place, Scheme};
use crate::{Form, Given, Look, Next, Run, Tool, Turn};

/// How long it may wait for anything, unless it is said.
const IDLE: Duration = Duration::from_secs(10);
/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes that a script can be given at most. RouterOS: 64,512.
const USER_MOST: u64 = 64_512;
/// Bytes of a file at most, as it is held in memory until it is whole.
const FILE_MOST: u64 = 64 << 20;

/// What is fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Where it is.
    pub place: Place,
    /// The host's address, if it is another than the host's name says.
    pub address: Option<IpAddr>,
    /// Which addresses of the host's name are taken: of IPv4, of IPv6; in this order.
    pub families: &'static [bool],
    /// How much of the server's certificate is looked at: a word of `check-certificate`.
    pub check: &'static str,
    /// `GET` and the like.
    pub method: &'static str,
    /// Further lines of the request's head.
    pub fields: Vec<(String, String)>,
    /// What is sent.
    pub body: Vec<u8>,
    /// User and password.
    pub user: Option<(String, String)>,
    /// The address that it is fetched from, if that is said.
    pub source: Option<IpAddr>,
    /// Pages that lead to others at most.
    pub redirects: u32,
    /// How long it may wait for anything.
    pub patience: Duration,
    /// How long all of it may take.
    pub duration: Option<Duration>,
    /// The file that it goes to; without one who asked is given it.
    pub file: Option<String>,
    /// Bytes at most.
    pub most: u64,
    /// Whether the page is only counted: its bytes are neither kept nor limited.
    pub discards: bool,
}

impl Fetch {
    /// Gets a page: nobody is proved, nothing is sent or kept, no other page is followed.
    pub fn get(place: Place) -> Self {
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

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Bytes that have come.
    pub bytes: u64,
    /// How many there are, if that is known.
    pub total: Option<u64>,
    /// What came of it, once it has ended: the status of the page, lines of its head, and what it says.
    pub end: Option<Result<Page, String>>,
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its status, and the reason behind it.
    pub status: u16,
    /// The same in words.
    pub reason: String,
    /// The lines of its head.
    pub fields: Vec<(String, String)>,
    /// What it says.
    pub data: Vec<u8>,
}

/// What fetches pages.
pub trait Fetches {
    /// Begins; gives a ticket. `news` is woken when it has ended.
    ///
    /// # Errors
    /// Too many are under way.
    fn begin(&mut self, fetch: Fetch, news: &Waker) -> Result<u64, Reason>;

    /// How far it is; none if there is no such. One that has ended is forgotten with that, and its file written.
    ///
    /// # Errors
    /// The file cannot be written.
    fn look(&mut self, ticket: u64) -> Result<Option<Fetched>, Reason>;

    /// Forgets one; what is under way ends soon.
    fn forget(&mut self, ticket: u64);
}

/// See the module.
pub(crate) struct FetchTool;

struct Fetching {
    fetch: Fetch,
    /// What the user is given: nothing, what the page says, or its head, too.
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

    fn start(&self, given: &mut Given<'_>) -> Result<Box<dyn Run>, Reason> {
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

impl Run for Fetching {
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
            // RouterOS: the same words.
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

/// The request that the arguments describe.
fn request(given: &Given<'_>, output: Option<&str>) -> Result<Fetch, Reason> {
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

/// Where it is: by the URL, or by `mode`, `address`, `host` and `src-path` as older versions had it.
fn place(given: &Given<'_>) -> Result<Place, Reason> {
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
        Place::with(scheme, rest).map_err(|why| Reason::failure(format!("url: {why}")))?;
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

/// RouterOS: what is sent is posted.
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

/// The file that a page goes to where nobody says one.
fn name_of(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    match path.rsplit('/').next().unwrap_or_default() {
        "" => "index.html".to_owned(),
        name => name.to_owned(),
    }
}

/// A word that stands in the head of a request: nothing in it may end the line that it is on.
fn word(text: String, name: &'static str) -> Result<String, Reason> {
    match text
        .chars()
        .any(|letter| letter.is_control() || letter == ' ')
    {
        true => Err(Reason::no_match(name)),
        false => Ok(text),
    }
}

/// `Name: value`, several of them in a list.
fn fields(given: &Given<'_>) -> Result<Vec<(String, String)>, Reason> {
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
