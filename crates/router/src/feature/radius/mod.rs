//! `/radius`: RADIUS servers, requests of features to them, and counters. `service/src/radius/` has the protocol; the
//! owner of sockets sends the requests of logins.
//!
//! ```text
//! feature ─▶ Effect::QueryRadius ─▶ Dispatch ─▶ Effect::Datagram ─▶ server
//! feature ◀─ radius_answered ◀─ Effect::RadiusAnswer ◀─ Dispatch ◀─ hear ◀─┘
//! ```
//! Requests of servers (`/radius/incoming`) are in `incoming.rs`, reports of ended sessions in `reports.rs`,
//! Accounting-On and -Off in `marks.rs`.

mod counters;
mod dispatch;
mod incoming;
mod marks;
mod reports;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::DropReason;
use frame::InterfaceId;
use machine::{Duration, Instant, Rng};
use menu::{Call, Changes, Id, Item, Menu, Reason, Reply, Row, Store, Value};
use service::radius::{
    Action, ErrorCause, LineId, Server, Service, TLS_PORT, TLS_SECRET, TlsServer,
};

pub use self::dispatch::SecureOrder;
pub(crate) use self::dispatch::{RadiusAnswer, RadiusQuery};
pub(crate) use self::incoming::IncomingRequest;

use self::dispatch::Dispatch;
use self::incoming::{IncomingRequests, RequestContext};
use super::hear::{ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View};
use crate::clock::DayClock;
use crate::records::{Kind, Recalled};
use crate::running::Running;

pub(super) const RADIUS: &str = "/radius";
const INCOMING: &str = "/radius/incoming";
const IDENTITY: &str = "/system/identity";
const AAA: &str = "/user/aaa";

/// The RADIUS servers, and requests of features to them.
#[derive(Debug)]
pub(crate) struct Radius {
    /// Servers in configured order.
    configured: Vec<ConfiguredServer>,
    /// Servers with a known address.
    servers: Vec<Server>,
    /// Resolved address of each server given by name; `None` until DNS answers.
    names: BTreeMap<Arc<str>, Option<IpAddr>>,
    /// Name of this router.
    identity: String,
    clock: DayClock,
    dispatch: Dispatch,
    incoming: IncomingRequests,
    /// State of the connection to each server over TLS, by item id.
    states: BTreeMap<u64, String>,
}

/// Server as configured.
#[derive(Debug)]
struct ConfiguredServer {
    /// Address or name.
    host: Arc<str>,
    /// Settings; the address is filled in.
    server: Server,
}

/// Login settings of `/user/aaa`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aaa {
    /// Servers in configured order.
    pub servers: Arc<[Server]>,
    /// Whether accounting is on.
    pub accounting: bool,
    /// Interval of interim updates.
    pub interim: Option<Duration>,
    /// Identity of this router.
    pub router: String,
    default_group: String,
    excluded: Vec<String>,
}

impl Aaa {
    /// Reads the settings. Returns `None` if logins do not use RADIUS.
    pub(crate) fn of(store: &Store, radius: &Radius) -> Option<Self> {
        let item = store.settings(AAA)?;
        let servers = radius.servers.iter();
        let servers = servers.filter(|server| server.services.contains(&Service::Login));
        let servers: Arc<[Server]> = servers.cloned().collect();
        if !item.is("use-radius") || servers.is_empty() {
            return None;
        }
        let interim = item.get("interim-update").and_then(Value::as_nanos);
        let interim = interim.and_then(|nanos| u64::try_from(nanos).ok());
        let excluded = item
            .get("exclude-groups")
            .map(Value::as_list)
            .unwrap_or_default();
        Some(Self {
            servers,
            accounting: item.is("accounting"),
            interim: interim.filter(|nanos| *nanos > 0).map(Duration::from_nanos),
            router: radius.identity.clone(),
            default_group: item.text("default-group").to_owned(),
            excluded: excluded.iter().map(ToString::to_string).collect(),
        })
    }

    /// Returns the group of a user for whom the server sent group `said`. RouterOS:
    /// `exclude-groups` are ignored like a missing group.
    pub fn group(&self, said: Option<&str>) -> String {
        let said = said.filter(|group| self.excluded.iter().all(|excluded| excluded != group));
        said.unwrap_or(&self.default_group).to_owned()
    }
}

/// Reads a server, if any service of this router uses it.
fn server(item: &Item) -> Option<ConfiguredServer> {
    let words = item.get("service").map(Value::as_list).unwrap_or_default();
    let serves = |service: &Service| {
        words
            .iter()
            .any(|word| word.as_str() == Some(service.name()))
    };
    let services: Vec<_> = Service::ALL.into_iter().filter(serves).collect();
    if item.is("disabled") || services.is_empty() {
        return None;
    }
    let is_tls = item.text("protocol") == "radsec";
    // Servers over TLS have one port, which replaces the defaults of UDP.
    let port = |name, default| match u16::try_from(item.number(name)?).ok()? {
        port if is_tls && port == default => Some(TLS_PORT),
        port => Some(port),
    };
    let timeout = if is_tls { "radsec-timeout" } else { "timeout" };
    let timeout = item.get(timeout).and_then(Value::as_nanos)?;
    let certificate = Some(item.text("certificate")).filter(|name| !matches!(*name, "" | "none"));
    let tls = is_tls.then(|| TlsServer {
        id: item.id.0,
        host: item.text("address").to_owned(),
        certificate: certificate.map(str::to_owned),
    });
    let server = Server {
        id: item.id.0,
        services,
        called: item.text("called-id").to_owned(),
        domain: item.text("domain").to_owned(),
        address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        authentication: port("authentication-port", 1812)?,
        accounting: port("accounting-port", 1813)?,
        secret: match is_tls {
            true => TLS_SECRET.to_vec(),
            false => menu::bytes::to_bytes(item.text("secret")),
        },
        timeout: Duration::from_nanos(u64::try_from(timeout).ok()?),
        is_backup: item.is("accounting-backup"),
        source: item.get("src-address").and_then(Value::as_address),
        nas_address: None,
        realm: item.text("realm").to_owned(),
        // TLS authenticates all answers.
        needs_message_authenticator: !is_tls && item.text("require-message-auth") != "no",
        tls: tls.map(Arc::new),
    };
    let host = item.text("address").into();
    Some(ConfiguredServer { host, server })
}

impl Radius {
    /// Creates a client without servers. `rng` must be unpredictable.
    pub(crate) fn new(rng: Rng, clock: DayClock) -> Self {
        Self {
            configured: Vec::new(),
            servers: Vec::new(),
            names: BTreeMap::new(),
            identity: String::new(),
            clock,
            dispatch: Dispatch::new(rng),
            incoming: IncomingRequests::default(),
            states: BTreeMap::new(),
        }
    }

    /// Requests the addresses of servers given by name.
    fn resolve_names(&mut self, out: &mut Effects) {
        let hosts = self.configured.iter().map(|configured| &configured.host);
        let is_name = |host: &&Arc<str>| host.parse::<IpAddr>().is_err();
        let wanted: BTreeSet<_> = hosts.filter(is_name).cloned().collect();
        let mut names = core::mem::take(&mut self.names);
        names.retain(|name, _| {
            let stays = wanted.contains(name);
            if !stays {
                let name = Arc::clone(name);
                out.push(Effect::Resolve {
                    name,
                    wanted: false,
                });
            }
            stays
        });
        for name in wanted {
            names.entry(name).or_insert_with_key(|name| {
                let name = Arc::clone(name);
                out.push(Effect::Resolve { name, wanted: true });
                None
            });
        }
        self.names = names;
    }

    /// Passes the servers with known addresses to the client.
    fn set_servers(&mut self, now: Instant, out: &mut Effects) {
        let before = core::mem::take(&mut self.servers);
        for ConfiguredServer { host, server } in &self.configured {
            let named = || self.names.get(host).copied().flatten();
            let Some(address) = host.parse().ok().or_else(named) else {
                continue;
            };
            let same = before.iter().find(|same| same.address == address);
            self.servers.push(Server {
                address,
                nas_address: same.and_then(|same| same.nas_address),
                ..server.clone()
            });
        }
        self.dispatch.set_servers(self.servers.clone(), now, out);
    }

    /// Returns the addresses of all servers if the address of this router towards one of them is not known yet.
    pub(crate) fn servers_to_locate(&self) -> Vec<IpAddr> {
        let servers = || self.servers.iter();
        match servers().any(|server| server.nas_address.is_none()) {
            true => servers().map(|server| server.address).collect(),
            false => Vec::new(),
        }
    }

    /// Sets the address of this router towards each server (NAS-IP-Address).
    pub(crate) fn set_sources(
        &mut self,
        source: impl Fn(IpAddr) -> Option<IpAddr>,
        now: Instant,
        out: &mut Effects,
    ) {
        let mut has_moved = false;
        for server in &mut self.servers {
            let source = source(server.address);
            has_moved |= core::mem::replace(&mut server.nas_address, source) != source;
        }
        if has_moved {
            self.dispatch.set_servers(self.servers.clone(), now, out);
        }
    }

    /// Sends a request of a feature.
    pub(crate) fn query(&mut self, mut query: RadiusQuery, now: Instant, out: &mut Effects) {
        query.request.router.clone_from(&self.identity);
        let timestamp = u32::try_from(self.clock.unix_seconds());
        query.request.timestamp = timestamp.ok().filter(|seconds| *seconds > 0);
        if query.request.is_accounting() {
            // Servers learn of the start of accounting before the first session.
            let clock = self.clock.unix_seconds();
            self.dispatch.send_marks(&self.identity, clock, now, out);
        }
        self.dispatch.query(query, now, out);
    }

    /// Drops a request of a feature.
    pub(crate) fn cancel(
        &mut self,
        feature: &'static str,
        number: u64,
        now: Instant,
        out: &mut Effects,
    ) {
        self.dispatch.cancel(feature, number, now, out);
    }

    /// Records whether sessions of a service are accounted.
    pub(crate) fn set_accounting(&mut self, service: Service, is_on: bool) {
        self.dispatch.set_accounting(service, is_on);
    }

    /// Sends Accounting-Off to all servers, at an orderly end of the router.
    pub(crate) fn say_farewell(&mut self, now: Instant, out: &mut Effects) {
        let clock = self.clock.unix_seconds();
        self.dispatch.say_farewell(&self.identity, clock, now, out);
    }

    /// True if a server has yet to acknowledge Accounting-Off, or the end of a session.
    pub(crate) fn is_parting(&self) -> bool {
        self.dispatch.is_parting()
    }

    /// Stores the reports of ended sessions that no server has acknowledged.
    pub(crate) fn write_reports(&mut self, out: &mut Effects) {
        self.dispatch.write_reports(out);
    }

    /// Responds to a request of a server that features have carried out; `result` is `None` if no feature has such a
    /// session.
    pub(crate) fn respond(
        &mut self,
        incoming: &IncomingRequest,
        result: Option<Result<(), ErrorCause>>,
        out: &mut Effects,
    ) {
        let result = result.unwrap_or(Err(ErrorCause::SessionContextNotFound));
        self.incoming.respond(incoming, result, out);
    }

    /// Returns the orders to the owner of connections over TLS; each is returned once.
    pub(crate) fn take_orders(&mut self) -> Vec<SecureOrder> {
        self.dispatch.take_orders()
    }

    /// Handles a packet from a connection over TLS.
    pub(crate) fn receive_secure(
        &mut self,
        line: LineId,
        from: SocketAddr,
        bytes: &[u8],
        now: Instant,
        out: &mut Effects,
    ) {
        self.dispatch.receive_secure(line, from, bytes, now, out);
    }

    /// Records the state of a connection over TLS; logs a failure.
    pub(crate) fn set_state(
        &mut self,
        server: u64,
        text: String,
        is_failure: bool,
        out: &mut Effects,
    ) {
        let configured = { self.configured.iter() }.find(|of| of.server.id == server);
        let Some(configured) = configured else {
            return;
        };
        if is_failure {
            let message = format!("RadSec server {}: {text}", configured.host);
            out.log("radius,error", message);
        }
        self.states.insert(server, text);
    }

    /// Counts an action of a login's request, and keeps an unanswered report.
    pub(crate) fn count<K>(&mut self, action: &Action<K>, now: Instant, out: &mut Effects) {
        self.dispatch.counters.count(action);
        if let Action::Unanswered(_, report) = action {
            self.dispatch.keep(report.clone(), now, out);
        }
    }
}

impl Feature for Radius {
    fn menus(&self) -> &'static [&'static str] {
        &[RADIUS, INCOMING, IDENTITY, AAA]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, out: &mut Effects) {
        let aaa = view.store.settings(AAA);
        let is_on = aaa.is_some_and(|item| item.is("use-radius") && item.is("accounting"));
        self.set_accounting(Service::Login, is_on);
        let identity = view.store.settings(IDENTITY);
        identity
            .map_or("", |item| item.text("name"))
            .clone_into(&mut self.identity);
        let settings = view.store.settings(INCOMING);
        self.incoming.read(settings.map(|item| &**item));
        let items = view.store.items(RADIUS);
        self.configured = items.filter_map(|item| server(item)).collect();
        let ids: Vec<u64> = self.configured.iter().map(|of| of.server.id).collect();
        self.dispatch.set_configured(&ids, view.now);
        self.resolve_names(out);
        let configured = &self.configured;
        let is_tls = |id: &u64| {
            let mut secure = configured.iter().filter(|of| of.server.tls.is_some());
            secure.any(|of| of.server.id == *id)
        };
        self.states.retain(|id, _| is_tls(id));
        let counters = &mut self.dispatch.counters;
        counters.retain(|id| view.store.item(RADIUS, Id(id)).is_some());
        self.set_servers(view.now, out);
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], now: Instant, out: &mut Effects) {
        let Some(known) = self.names.get_mut(name) else {
            return;
        };
        // Keeps the present address as long as it is among the resolved ones.
        let keeps = known.filter(|address| addresses.contains(address));
        let address = keeps.or(addresses.first().copied());
        if core::mem::replace(known, address) != address {
            self.set_servers(now, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        self.dispatch.tick(now, out);
        let clock = self.clock.unix_seconds();
        self.dispatch.send_marks(&self.identity, clock, now, out);
    }

    fn recall(&mut self, recalled: &Recalled<'_>, now: Instant) -> bool {
        recalled.key.kind == Kind::AccountingReport && self.dispatch.recall(recalled, now)
    }

    fn deadline(&self) -> Option<Instant> {
        self.dispatch.deadline()
    }

    fn services(&self) -> Vec<dataplane::service::Service> {
        let has_servers = !self.configured.is_empty();
        let answers = has_servers.then(Dispatch::service);
        answers.into_iter().chain(self.incoming.service()).collect()
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let Some((from, to, bytes)) = heard.datagram() else {
            return ReceiveOutcome::Bad(DropReason::RadiusMalformed);
        };
        if heard.service == incoming::SERVICE {
            let context = RequestContext {
                servers: &self.servers,
                identity: &self.identity,
                unix_seconds: self.clock.unix_seconds(),
                now: running.now,
            };
            let received = self.incoming.receive(from, to, bytes, &context, out);
            return received.map_or_else(ReceiveOutcome::Bad, |()| ReceiveOutcome::Taken);
        }
        match self
            .dispatch
            .receive(to.port(), from, bytes, running.now, out)
        {
            true => ReceiveOutcome::Taken,
            false => ReceiveOutcome::NotMine,
        }
    }

    fn lay_out(&mut self, _: &BTreeSet<InterfaceId>, running: &Running<'_>, out: &mut Effects) {
        self.set_sources(|server| running.source(server), running.now, out);
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        if let Some(state) = self.states.get(&id.0).filter(|_| menu.path == RADIUS) {
            row.set("status", Value::text(state.as_str()));
        }
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            (RADIUS, "monitor") => {
                let items = call.items.iter();
                let rows = items.map(|item| self.dispatch.counters.row(item.0));
                Some(Ok(Reply {
                    rows: rows.collect(),
                    made: None,
                }))
            }
            (RADIUS, "reset-counters") => {
                self.dispatch.counters.reset();
                Some(Ok(Reply::default()))
            }
            (INCOMING, "monitor") => Some(Ok(Reply {
                rows: vec![self.incoming.row()],
                made: None,
            })),
            (INCOMING, "reset-counters") => {
                self.incoming.reset();
                Some(Ok(Reply::default()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instance;
    use crate::drive::Setup;
    use script::Session;
    use service::radius::Count;

    fn run(router: &mut Instance, text: &str) -> String {
        let mut out = String::new();
        if let Err(refusal) = router.run(&mut Session::new("admin"), text, &mut out) {
            out.push_str(&refusal.to_string());
        }
        out
    }

    #[test]
    fn login_servers_follow_the_configuration() {
        let made = Instance::new(&Setup::offline(menu::Clock::utc(0)), schema::store());
        let (mut router, _) = made.expect("memory for a small pool");
        run(
            &mut router,
            "/radius add service=login address=192.0.2.1 secret=one timeout=1s realm=r",
        );
        run(
            &mut router,
            "/radius add service=wireless address=192.0.2.2 secret=two",
        );
        run(
            &mut router,
            "/radius add service=ppp,login address=192.0.2.3 secret=three",
        );
        run(
            &mut router,
            "/radius add service=login address=192.0.2.4 disabled=yes",
        );
        assert_eq!(router.login_servers(), None);
        run(&mut router, "/user group add name=helpers policy=read");
        run(
            &mut router,
            "/user aaa set use-radius=yes default-group=helpers exclude-groups=full interim-update=1m",
        );

        let aaa = router.login_servers().expect("servers are asked");

        let addresses: Vec<_> = aaa
            .servers
            .iter()
            .map(|of| of.address.to_string())
            .collect();
        assert_eq!(addresses, ["192.0.2.1", "192.0.2.3"]);
        let first = &aaa.servers[0];
        assert_eq!(
            (first.secret.as_slice(), first.timeout),
            (&b"one"[..], Duration::from_secs(1))
        );
        assert_eq!((first.realm.as_str(), first.authentication), ("r", 1812));
        assert_eq!(aaa.interim, Some(Duration::from_secs(60)));
        assert_eq!(aaa.group(Some("write")), "write");
        assert_eq!(
            (aaa.group(Some("full")), aaa.group(None)),
            ("helpers".into(), "helpers".into())
        );
        let said = run(&mut router, "/radius print where address=192.0.2.2");
        assert!(
            said.contains(";;; no effect: "),
            "wireless clients are not authenticated: {said}"
        );
    }

    #[test]
    fn requests_and_answers_are_counted_per_server() {
        let made = Instance::new(&Setup::offline(menu::Clock::utc(0)), schema::store());
        let (mut router, _) = made.expect("memory for a small pool");
        run(&mut router, "/radius add service=login address=192.0.2.1");
        let counts = [Count::Request, Count::Resend, Count::Bad, Count::Reject];
        for count in counts {
            router.count_radius(&[Action::<()>::Count(1, count)]);
        }
        router.count_radius(&[Action::<()>::Answered(1, Duration::from_millis(30))]);

        let said = run(&mut router, "/radius monitor 0 once");
        for line in [
            "pending: 0",
            "requests: 1",
            "rejects: 1",
            "resends: 1",
            "bad-replies: 1",
            "30ms",
        ] {
            assert!(said.contains(line), "{line} in {said}");
        }
        run(&mut router, "/radius reset-counters");
        assert!(run(&mut router, "/radius monitor 0 once").contains("requests: 0"));
    }
}
