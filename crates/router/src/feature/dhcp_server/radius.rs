//! RADIUS for leases (`use-radius`): servers of `/radius` with `service=dhcp` grant dynamic leases and account them.
//!
//! ```text
//! request ─▶ needs a grant ─▶ Access-Request (user: MAC address) ─▶ accept ─▶ machine: lease with the server's terms
//!                                                                └▶ reject ─▶ machine: the client loses its lease
//! lease bound ─▶ Start ─▶ Interim-Update … ─▶ lease ended ─▶ Stop
//! ```

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use core::time::Duration;
use dataplane::DropReason;
use machine::Instant;
use menu::Item;
use service::dhcp::server::{Event, Grant, Lease, Request, ServerId, client_id_text};
use service::radius::{
    Accounting, Answer, Authentic, Authorization, ErrorCause, Outcome, Port, PortType, Question,
    RequestKind, Service, SessionFacts, SessionRequest, Status, SubscriberLine, TerminateCause,
    Through,
};
use wire::Mac;

use super::super::hear::ReceiveOutcome;
use super::DhcpServers;
use crate::clock::DayClock;
use crate::drive::timers::Timers;
use crate::feature::radius::RadiusQuery;
use crate::feature::{Effect, Effects};
use crate::read::span;

/// Name of the feature, to which answers come.
pub(super) const FEATURE: &str = "dhcp-server";
/// Service of its requests.
pub(super) const SERVICE: Service = Service::Dhcp;
/// Query numbers per subject: of access, and of the accounting states.
const QUERIES: u64 = 4;
/// Maximum number of requests that wait for a server.
const MAX_PENDING: usize = 65_536;

/// Use of RADIUS by a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RadiusUse {
    /// None.
    #[default]
    No,
    /// Accounts leases.
    Accounting,
    /// Grants and accounts leases.
    Yes,
}

impl RadiusUse {
    /// Reads a server.
    pub(super) fn read(item: &Item) -> Self {
        match item.text("use-radius") {
            "yes" => Self::Yes,
            "accounting" => Self::Accounting,
            _ => Self::No,
        }
    }
}

/// Requests that wait for RADIUS servers, and accounted leases.
#[derive(Debug)]
pub(super) struct LeaseRadius {
    /// Whether leases are accounted, with the interval of interim updates.
    accounting: bool,
    interim: Option<Duration>,
    password: Password,
    pending: BTreeMap<u64, Request>,
    clients: BTreeMap<(ServerId, Mac), u64>,
    accounted: BTreeMap<u64, Accounted>,
    timers: Timers<u64>,
    /// Number of the last query.
    number: u64,
    clock: DayClock,
}

/// Password of requests (`radius-password`).
#[derive(Debug)]
enum Password {
    SameAsUser,
    Text(Vec<u8>),
}

/// An accounted lease.
#[derive(Debug)]
struct Accounted {
    /// Number of its queries.
    number: u64,
    /// Acct-Session-Id.
    session: String,
    begun: Instant,
    interim: Option<Duration>,
}

impl LeaseRadius {
    pub(super) fn new(clock: DayClock) -> Self {
        Self {
            accounting: true,
            interim: None,
            password: Password::Text(Vec::new()),
            pending: BTreeMap::new(),
            clients: BTreeMap::new(),
            accounted: BTreeMap::new(),
            timers: Timers::default(),
            number: 0,
            clock,
        }
    }

    /// Reads `/ip/dhcp-server/config`.
    pub(super) fn read(&mut self, config: &Item) {
        self.accounting = config.is("accounting");
        self.interim = span(config, "interim-update").filter(|span| !span.is_zero());
        self.password = match config.text("radius-password") {
            "same-as-user" => Password::SameAsUser,
            "empty" => Password::Text(Vec::new()),
            text => Password::Text(menu::bytes::to_bytes(text)),
        };
    }

    /// True if leases of servers with RADIUS are accounted.
    pub(super) const fn is_accounting(&self) -> bool {
        self.accounting
    }

    /// Returns the time of the next interim update.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    /// Returns the Acct-Session-Id of a lease.
    fn session(&self, lease: u64) -> &str {
        self.accounted.get(&lease).map_or("", |of| &of.session)
    }

    fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }
}

/// Client of a server, as RADIUS knows it.
struct RadiusClient<'a> {
    server: ServerId,
    mac: Mac,
    id: Option<&'a [u8]>,
}

impl RadiusClient<'_> {
    /// Returns the Calling-Station-Id. RouterOS: the client id, by default `1:` and the MAC address without leading
    /// zeros.
    fn calling(&self) -> String {
        match self.id {
            Some(id) => client_id_text(id),
            None => client_id_text(&[&[1], &self.mac.0[..]].concat()),
        }
    }
}

impl DhcpServers {
    /// Asks RADIUS servers about a request. A repeated request takes the place of the one that waits.
    pub(super) fn query_grant(&mut self, asked: Request, out: &mut Effects) -> ReceiveOutcome {
        let mac = asked.message.mac().unwrap_or_default();
        let client = (asked.server, mac);
        if let Some(number) = self.radius.clients.get(&client) {
            self.radius.pending.insert(*number, asked);
            return ReceiveOutcome::Taken;
        }
        if self.radius.pending.len() >= MAX_PENDING {
            return ReceiveOutcome::Bad(DropReason::RadiusRequests);
        }
        let number = self.radius.next_number();
        let password = match &self.radius.password {
            Password::SameAsUser => mac.to_string().into_bytes(),
            Password::Text(text) => text.clone(),
        };
        let of = RadiusClient {
            server: asked.server,
            mac,
            id: asked.message.options.get(service::dhcp::code::CLIENT_ID),
        };
        let request = self.radius_request(&of, Question::Access { password });
        self.radius.clients.insert(client, number);
        self.radius.pending.insert(number, asked);
        query(number * QUERIES, request, out);
        ReceiveOutcome::Taken
    }

    fn radius_request(
        &self,
        client: &RadiusClient<'_>,
        question: Question,
    ) -> service::radius::Request {
        let server = self.all.get(&client.server);
        let text = |name: Option<&crate::intent::Name>| name.map(ToString::to_string);
        service::radius::Request {
            service: SERVICE,
            question,
            // RouterOS: the MAC address in capital letters.
            user: client.mac.to_string(),
            calling: client.calling(),
            called: text(server.map(|of| &of.name)).unwrap_or_default(),
            router: String::new(),
            port: Port {
                kind: PortType::Ethernet,
                number: None,
                id: text(server.map(|of| &of.interface)).unwrap_or_default(),
            },
            session: String::new(),
            subscriber_line: SubscriberLine::default(),
            classes: Vec::new(),
            timestamp: None,
        }
    }

    /// Handles the answer to a request. Answers to accounting need no action.
    pub(super) fn granted(&mut self, number: u64, answer: Answer, now: Instant, out: &mut Effects) {
        let pending = number
            .is_multiple_of(QUERIES)
            .then(|| self.radius.pending.remove(&(number / QUERIES)))
            .flatten();
        let Some(mut asked) = pending.map(Box::new) else {
            return;
        };
        let mac = asked.message.mac().unwrap_or_default();
        self.radius.clients.remove(&(asked.server, mac));
        let server = self.all.get(&asked.server).map(|one| one.name.to_string());
        let server = server.unwrap_or_default();
        let event = match answer.outcome {
            Outcome::Accept(accept) => {
                asked.grant = Some(Arc::new(grant(&accept.authorization, accept.classes)));
                Event::Request(asked)
            }
            Outcome::Nobody => {
                let message = format!("{server} radius timeout for {mac}");
                out.log("dhcp,warning", message);
                Event::Unanswered(asked)
            }
            Outcome::Reject(_) | Outcome::Challenge { .. } | Outcome::Noted => {
                let message = format!("{server} radius authentication failed for {mac}");
                out.log("dhcp,warning", message);
                Event::Denied(asked)
            }
        };
        if let Some(why) = self.event(event, now, out) {
            out.push(Effect::Lost(super::packets::reason(why), 1));
        }
    }

    /// Begins the accounting of a bound lease.
    pub(super) fn start_accounting(&mut self, id: u64, out: &mut Effects) {
        let Some(lease) = self.machine.lease(id) else {
            return;
        };
        let server = lease.server.and_then(|server| self.all.get(&server));
        let uses = server.map_or(RadiusUse::No, |server| server.radius);
        if uses == RadiusUse::No || !self.radius.accounting {
            return;
        }
        let seconds = self.radius.clock.unix_seconds();
        let number = self.radius.next_number();
        let interim = self.radius.interim;
        let accounted = Accounted {
            number,
            session: format!("{:08x}{:04x}", seconds & 0xffff_ffff, number & 0xffff),
            begun: self.now,
            interim,
        };
        let lease = lease.clone();
        self.radius.timers.set(id, interim.map(|of| self.now + of));
        self.radius.accounted.insert(id, accounted);
        self.account(&lease, Status::Start, out);
    }

    /// Sends the interim updates that are due.
    pub(super) fn update_accounting(&mut self, now: Instant, out: &mut Effects) {
        while let Some(id) = self.radius.timers.due(now) {
            let interim = self.radius.accounted.get(&id).and_then(|of| of.interim);
            self.radius.timers.set(id, interim.map(|of| now + of));
            if let Some(lease) = self.machine.lease(id).cloned() {
                self.account(&lease, Status::Interim, out);
            }
        }
    }

    /// Ends the accounting of a lease.
    pub(super) fn stop_accounting(&mut self, lease: &Lease, out: &mut Effects) {
        self.account(lease, Status::Stop, out);
        self.radius.timers.set(lease.id, None);
        self.radius.accounted.remove(&lease.id);
    }

    fn account(&self, lease: &Lease, status: Status, out: &mut Effects) {
        let (Some(accounted), Some(server)) = (self.radius.accounted.get(&lease.id), lease.server)
        else {
            return;
        };
        let grant = lease.grant.as_deref();
        let seconds = self.now.saturating_since(accounted.begun).as_secs();
        let accounting = Accounting {
            status,
            seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
            authentic: match grant {
                Some(_) => Authentic::Radius,
                None => Authentic::Local,
            },
            cause: Some(TerminateCause::LostCarrier),
            through: Some(Through {
                address: lease.address.map(IpAddr::V4),
                ..Through::default()
            }),
        };
        let client = RadiusClient {
            server,
            mac: lease.client.mac,
            id: lease.client.id.as_deref(),
        };
        let request = service::radius::Request {
            session: accounted.session.clone(),
            classes: grant.map_or_else(Vec::new, |grant| grant.classes.to_vec()),
            ..self.radius_request(&client, Question::Accounting(accounting))
        };
        query(accounted.number * QUERIES + status as u64, request, out);
    }

    /// Ends or changes granted leases for a RADIUS server.
    pub(super) fn requested(
        &mut self,
        request: &SessionRequest,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        let keys = &request.sessions;
        let fits = |lease: &&Lease| {
            let client = RadiusClient {
                server: lease.server.unwrap_or_default(),
                mac: lease.client.mac,
                id: lease.client.id.as_deref(),
            };
            lease.grant.is_some()
                && keys.fit(&SessionFacts {
                    user: &lease.client.mac.to_string(),
                    session: self.radius.session(lease.id),
                    address: lease.address.map(IpAddr::V4),
                    calling: &client.calling(),
                })
        };
        let ids: Vec<u64> = match keys.address {
            Some(address) => {
                let lease = self.machine.lease_at(address).filter(fits);
                lease.map(|lease| lease.id).into_iter().collect()
            }
            None => {
                let leases = self.machine.leases().values().filter(fits);
                leases.map(|lease| lease.id).collect()
            }
        };
        if ids.is_empty() {
            return None;
        }
        for id in ids {
            match request.kind {
                RequestKind::Disconnect => _ = self.event(Event::Remove(id), now, out),
                RequestKind::Change => {
                    let changed = &request.authorization;
                    self.machine
                        .change_grant(id, |grant| change(grant, changed));
                    self.renew(id, out);
                }
            }
        }
        Some(Ok(()))
    }
}

/// Returns the terms of an access accept.
fn grant(from: &Authorization, classes: Vec<Vec<u8>>) -> Grant {
    let seconds = from.session_timeout.filter(|seconds| *seconds > 0);
    let mut grant = Grant {
        address: from.ipv4.address,
        pool: from.ipv4.pool.as_deref().map(Into::into),
        lease_time: seconds.map(|seconds| Duration::from_secs(seconds.into())),
        classes: classes.into(),
        ..Grant::default()
    };
    change(&mut grant, from);
    grant
}

/// Changes the rate limit and the address lists of a lease, where a server sent them.
fn change(grant: &mut Grant, from: &Authorization) {
    if let Some(limit) = &from.rate_limit {
        grant.rate_limit = Some(limit.as_str().into());
    }
    if !from.address_lists.is_empty() {
        let lists = from.address_lists.iter();
        grant.lists = lists.map(|list| list.as_str().into()).collect();
    }
}

fn query(number: u64, request: service::radius::Request, out: &mut Effects) {
    out.push(Effect::QueryRadius(Box::new(RadiusQuery {
        feature: FEATURE,
        number,
        request,
        server: None,
    })));
}
