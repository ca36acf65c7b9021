//! `/radius`: RADIUS servers for logins and their counters. The owner of the sockets sends the
//! requests of logins; `service/src/radius/` has the protocol.

pub(crate) mod questions;

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::Duration;
use menu::{Call, Changes, Id, Item, Reason, Reply, Row, Store, Value};
use service::radius::{Action, Count, Server};

use super::{Effects, Feature, View};

pub(super) const RADIUS: &str = "/radius";
const AAA: &str = "/user/aaa";

/// The RADIUS servers for logins, and request counters.
#[derive(Debug, Default)]
pub(crate) struct Radius {
    /// Servers in configured order.
    servers: Arc<[Server]>,
    counters: BTreeMap<u64, Counters>,
}

/// Counters of one server.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    requests: u64,
    resends: u64,
    accepts: u64,
    rejects: u64,
    challenges: u64,
    timeouts: u64,
    bad: u64,
    last_rtt: Option<Duration>,
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
        if !item.is("use-radius") || radius.servers.is_empty() {
            return None;
        }
        let interim = item.get("interim-update").and_then(Value::as_nanos);
        let interim = interim.and_then(|nanos| u64::try_from(nanos).ok());
        let excluded = item
            .get("exclude-groups")
            .map(Value::as_list)
            .unwrap_or_default();
        let identity = store.settings("/system/identity");
        Some(Self {
            servers: Arc::clone(&radius.servers),
            accounting: item.is("accounting"),
            interim: interim.filter(|nanos| *nanos > 0).map(Duration::from_nanos),
            router: identity.map_or("", |item| item.text("name")).to_owned(),
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

/// Returns the servers for a service, in configured order.
pub(super) fn servers(store: &Store, service: &str) -> Arc<[Server]> {
    let servers = store.items(RADIUS);
    servers.filter_map(|item| server(item, service)).collect()
}

/// Reads a server, if it serves this service.
fn server(item: &Item, service: &str) -> Option<Server> {
    let services = item.get("service").map(Value::as_list).unwrap_or_default();
    let is_asked = services.iter().any(|one| one.as_str() == Some(service));
    if item.is("disabled") || !is_asked || item.text("protocol") != "udp" {
        return None;
    }
    let port = |name| u16::try_from(item.number(name)?).ok();
    let timeout = item.get("timeout").and_then(Value::as_nanos)?;
    Some(Server {
        id: item.id.0,
        address: item.text("address").parse().ok()?,
        authentication: port("authentication-port")?,
        accounting: port("accounting-port")?,
        secret: menu::bytes::to_bytes(item.text("secret")),
        timeout: Duration::from_nanos(u64::try_from(timeout).ok()?),
        source: item.get("src-address").and_then(Value::as_address),
        realm: item.text("realm").to_owned(),
        needs_message_authenticator: item.text("require-message-auth") != "no",
    })
}

impl Feature for Radius {
    fn menus(&self) -> &'static [&'static str] {
        &[RADIUS]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        self.servers = servers(view.store, "login");
        self.counters
            .retain(|id, _| view.store.item(RADIUS, Id(*id)).is_some());
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match call.command {
            "monitor" => {
                let rows = call.items.iter().map(|item| self.row(item.0));
                Some(Ok(Reply {
                    rows: rows.collect(),
                    made: None,
                }))
            }
            "reset-counters" => {
                self.counters.clear();
                Some(Ok(Reply::default()))
            }
            _ => None,
        }
    }
}

impl Radius {
    /// Counts an action of a request.
    pub(crate) fn count(&mut self, action: &Action) {
        let (Action::Count(id, _) | Action::Answered(id, _)) = action else {
            return;
        };
        let of = self.counters.entry(*id).or_default();
        match action {
            Action::Answered(_, rtt) => of.last_rtt = Some(*rtt),
            Action::Count(_, count) => {
                *match count {
                    Count::Challenge => &mut of.challenges,
                    Count::Request => &mut of.requests,
                    Count::Resend => &mut of.resends,
                    Count::Accept => &mut of.accepts,
                    Count::Reject => &mut of.rejects,
                    Count::Timeout => &mut of.timeouts,
                    Count::Bad => &mut of.bad,
                } += 1;
            }
            _ => {}
        }
    }

    fn row(&self, id: u64) -> Row {
        let of = self.counters.get(&id).copied().unwrap_or_default();
        let ended = of.accepts + of.rejects + of.challenges + of.timeouts;
        let mut row = Row::default();
        for (name, count) in [
            ("pending", of.requests.saturating_sub(ended)),
            ("requests", of.requests),
            ("accepts", of.accepts),
            ("rejects", of.rejects),
            ("resends", of.resends),
            ("timeouts", of.timeouts),
            ("bad-replies", of.bad),
        ] {
            row.set(name, crate::live::number(count));
        }
        let rtt = of
            .last_rtt
            .map(|rtt| i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX));
        row.set("last-request-rtt", Value::Time(rtt.unwrap_or(0)));
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instance;
    use crate::drive::Setup;
    use script::Session;

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
            "/radius add service=ppp address=192.0.2.2 secret=two",
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
            "of other users nobody is asked: {said}"
        );
    }

    #[test]
    fn requests_and_answers_are_counted_per_server() {
        let made = Instance::new(&Setup::offline(menu::Clock::utc(0)), schema::store());
        let (mut router, _) = made.expect("memory for a small pool");
        run(&mut router, "/radius add service=login address=192.0.2.1");
        let counts = [Count::Request, Count::Resend, Count::Bad, Count::Reject];
        for count in counts {
            router.count_radius(&[Action::Count(1, count)]);
        }
        router.count_radius(&[Action::Answered(1, Duration::from_millis(30))]);

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
