//! Fetches pages for `/tool/fetch`, each in a thread for as long as that takes. How many there are, control decides.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use netio::Waker;
use router::Instance;
use script::{Asked, Interrupt};
use tool::{Fetch, Fetched, Page};

use crate::core::Shared;
use crate::host::HostPlane;
use crate::outgoing::{Answer, Request, Road, ask};

/// How often it is told how far one is.
const EVERY: Duration = Duration::from_millis(500);
/// The longest time that one may take that has no other.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// See the module.
pub(crate) struct PageFetches {
    host: Option<Arc<HostPlane>>,
    tell: Sender<(u64, Fetched)>,
    told: Receiver<(u64, Fetched)>,
    /// What stops each.
    stops: BTreeMap<u64, Arc<Interrupt>>,
    /// Wakes the control thread.
    wake: Waker,
}

/// What is to begin: the ticket and the page.
type Begin = (u64, Fetch);

impl PageFetches {
    /// Fetches from the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            host,
            tell,
            told,
            stops: BTreeMap::new(),
            wake,
        }
    }

    /// Tells control how far they are; gives those that are to begin.
    pub(crate) fn follow(&mut self, instance: &mut Instance) -> Vec<Begin> {
        for (ticket, fetched) in self.told.try_iter() {
            if fetched.end.is_some() {
                self.stops.remove(&ticket);
            }
            instance.control().hear_fetch(ticket, fetched);
        }
        self.stops.retain(|ticket, stop| {
            let waits = instance.control().is_fetched(*ticket);
            if !waits {
                stop.close();
            }
            waits
        });
        instance.control().take_fetches()
    }

    /// Begins, and does not wait for what comes of it.
    pub(crate) fn begin(&mut self, shared: &Arc<Shared>, new: Vec<Begin>) {
        for (ticket, fetch) in new {
            let shared = Arc::clone(shared);
            let stop = Arc::new(Interrupt::default());
            self.stops.insert(ticket, Arc::clone(&stop));
            let (tell, wake, host) = (self.tell.clone(), self.wake.clone(), self.host.clone());
            let begun = thread::Builder::new()
                .name("fetch".to_owned())
                .spawn(move || {
                    let mut told = |fetched: Fetched| {
                        let _ = tell.send((ticket, fetched));
                        wake.wake();
                    };
                    let mut fetching = Fetching {
                        host: host.as_deref(),
                        shared: &shared,
                        stop: &stop,
                        until: Instant::now() + fetch.duration.unwrap_or(LONGEST),
                        fetched: Fetched::default(),
                        data: Vec::new(),
                        last: Instant::now(),
                        tell: &mut told,
                    };
                    let end = fetching.run(&fetch);
                    let fetched = Fetched {
                        end: Some(end),
                        ..fetching.fetched
                    };
                    told(fetched);
                });
            if let Err(error) = begun {
                let end = Some(Err(error.to_string()));
                let fetched = Fetched {
                    end,
                    ..Fetched::default()
                };
                let _ = self.tell.send((ticket, fetched));
                self.wake.wake();
            }
        }
    }
}

struct Fetching<'a> {
    host: Option<&'a HostPlane>,
    shared: &'a Shared,
    stop: &'a Interrupt,
    until: Instant,
    fetched: Fetched,
    data: Vec<u8>,
    /// When it was last told how far it is.
    last: Instant,
    tell: &'a mut dyn FnMut(Fetched),
}

impl Fetching<'_> {
    /// Fetches a page, and those that it leads to.
    fn run(&mut self, fetch: &Fetch) -> Result<Page, String> {
        let mut fetch = fetch.clone();
        loop {
            let answer = self.once(&fetch)?;
            let leads = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
            let target = answer
                .field("location")
                .filter(|_| leads && fetch.redirects > 0);
            let Some(target) = target else {
                return Ok(Page {
                    status: answer.status,
                    reason: answer.reason,
                    fields: answer.fields,
                    data: std::mem::take(&mut self.data),
                });
            };
            redirect(&mut fetch, target, answer.status)?;
        }
    }

    fn once(&mut self, fetch: &Fetch) -> Result<Answer, String> {
        let to = match fetch.address {
            Some(to) => to,
            None => self.resolve(&fetch.host)?,
        };
        // Nothing is waited for longer than that; `Road` has one end for all of it.
        let road = Road {
            host: self.host,
            source: fetch.source,
            until: self.until,
            patience: fetch.patience,
            interrupt: self.stop,
        };
        let stream = road.connect(SocketAddr::new(to, fetch.port))?;
        let mut request = Request::get(&fetch.host, fetch.port);
        request.method = fetch.method;
        request.target = &fetch.target;
        request.fields.clone_from(&fetch.fields);
        request.body = &fetch.body;
        if let Some((user, password)) = &fetch.user {
            let pair = menu::bytes::to_bytes(&format!("{user}:{password}"));
            let proof = format!("Basic {}", STANDARD.encode(pair));
            request.fields.push(("Authorization".to_owned(), proof));
        }
        self.data.clear();
        (self.fetched.bytes, self.fetched.total) = (0, None);
        ask(&mut road.plain(stream), &request, &mut |piece| {
            self.fetched.bytes += piece.len() as u64;
            if self.fetched.bytes > fetch.most {
                return Err(format!("more than {} bytes", fetch.most));
            }
            self.data.extend(piece);
            if self.last.elapsed() >= EVERY {
                self.last = Instant::now();
                (self.tell)(self.fetched.clone());
            }
            Ok(())
        })
    }

    fn resolve(&self, name: &str) -> Result<IpAddr, String> {
        if let Ok(address) = name.parse() {
            return Ok(address);
        }
        let asked = Asked {
            name,
            families: &[true, false],
            server: None,
        };
        let found = crate::resolve::resolve(self.shared, self.host, &asked, self.stop);
        let found = found.map_err(|reason| reason.to_string())?;
        found
            .first()
            .copied()
            .ok_or_else(|| "no address".to_owned())
    }
}

/// Goes on at the page that another one leads to (RFC 9110, 15.4). A secret goes to no other host.
fn redirect(fetch: &mut Fetch, target: &str, status: u16) -> Result<(), String> {
    fetch.redirects -= 1;
    if target
        .chars()
        .any(|letter| letter.is_control() || letter == ' ')
    {
        return Err("malformed answer".to_owned());
    }
    if let Some((scheme, rest)) = target.split_once("://") {
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(format!(
                "the page leads to {scheme}, which is not supported here"
            ));
        }
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(80)),
            _ => (authority, 80),
        };
        let host = host.trim_matches(['[', ']']);
        if !host.eq_ignore_ascii_case(&fetch.host) || port != fetch.port {
            (fetch.user, fetch.address) = (None, None);
            fetch.fields.retain(|(name, _)| {
                let secret = ["authorization", "cookie"];
                !secret.contains(&name.to_ascii_lowercase().as_str())
            });
        }
        (fetch.host, fetch.port) = (host.to_owned(), port);
        fetch.target = path.to_owned();
    } else if target.starts_with('/') {
        fetch.target = target.to_owned();
    } else {
        let path = fetch.target.split('?').next().unwrap_or("/");
        let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
        fetch.target = format!("{folder}{target}");
    }
    if status == 303 {
        (fetch.method, fetch.body) = ("GET", Vec::new());
    }
    Ok(())
}
