//! Items of clients of tunnels, such as `/interface/l2tp-client`: when they dial, and to which address.

use core::fmt::Debug;
use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{Duration, Instant};
use menu::Item;

use super::LinkId;
use crate::drive::timers::Timers;
use crate::feature::ppp::dial::Dial;
use crate::feature::{Effect, Effects};
use crate::intent::ItemId;

/// Delay before the first and the longest before a further attempt.
const FIRST_DELAY: Duration = Duration::from_secs(2);
const MAX_DELAY: Duration = Duration::from_secs(32);

/// The server of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::feature) enum Remote {
    /// `connect-to` is an address.
    Address(IpAddr),
    /// `connect-to` is a DNS name.
    Name(Arc<str>),
}

impl Remote {
    /// Reads `connect-to`.
    pub(in crate::feature) fn read(item: &Item) -> Option<Self> {
        let remote = item.get("connect-to")?;
        Some(match remote.as_address() {
            Some(address) => Self::Address(address),
            None => Self::Name(remote.as_str()?.into()),
        })
    }
}

/// Settings of a client item.
pub(in crate::feature) trait ClientSettings: Debug + PartialEq {
    /// Topics of its log lines, without the severity: `l2tp,ppp`.
    const TOPICS: &'static str;
    /// Log line of a client whose server has an IPv6 address; `None` if it may have one.
    const NO_IPV6: Option<&'static str>;

    /// Returns the settings that all services share.
    fn dial(&self) -> &Dial;

    /// Returns the server.
    fn remote(&self) -> &Remote;

    /// Returns whether it dials for packets only (`dial-on-demand`).
    fn is_on_demand(&self) -> bool;

    /// Returns a setting that this router does not implement, as the log names it.
    fn missing(&self) -> Option<&'static str> {
        None
    }
}

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing to do: no address yet, a missing feature, or on demand without packets.
    Idle,
    /// Waits for the next attempt.
    Waiting,
    /// The tunnel or its session is being opened.
    Dialling,
    /// The session is open.
    Linked(LinkId),
}

/// A client item.
#[derive(Debug)]
struct ClientItem<S> {
    /// Its settings; `None` for a disabled or removed item whose session is ending.
    settings: Option<Arc<S>>,
    state: State,
    /// Resolved address of the server.
    remote: Option<IpAddr>,
    delay: Duration,
    /// A packet was routed to its interface since the last session; for clients that dial on demand.
    is_demanded: bool,
}

impl<S: ClientSettings> ClientItem<S> {
    /// Returns true for settings that this router does not implement.
    fn is_lacking(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| settings.missing().is_some())
    }

    fn waits_for_packets(&self) -> bool {
        let settings = self.settings.as_ref();
        settings.is_some_and(|settings| settings.is_on_demand()) && !self.is_demanded
    }
}

/// A step of a client that the carrier takes.
#[derive(Debug)]
pub(in crate::feature) enum Step {
    /// End the client's connection, without a session.
    Hangup(ItemId),
    /// Let PPP end the session.
    Close(LinkId),
    /// Open a connection to this address, and a session.
    Dial(ItemId, IpAddr),
}

/// All client items.
#[derive(Debug)]
pub(in crate::feature) struct Clients<S> {
    all: BTreeMap<ItemId, ClientItem<S>>,
    names: BTreeSet<(Arc<str>, ItemId)>,
    timers: Timers<ItemId>,
}

impl<S: ClientSettings> Clients<S> {
    pub(in crate::feature) fn new() -> Self {
        Self {
            all: BTreeMap::new(),
            names: BTreeSet::new(),
            timers: Timers::default(),
        }
    }

    /// Returns true if there is an enabled client.
    pub(in crate::feature) fn any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Returns the settings of a client.
    pub(in crate::feature) fn settings(&self, id: ItemId) -> Option<&Arc<S>> {
        self.all.get(&id)?.settings.as_ref()
    }

    /// Returns the settings of the first client whose server has this address.
    pub(in crate::feature) fn of_server(&self, remote: IpAddr) -> Option<&S> {
        let mut all = self.all.values();
        let client = all.find(|client| client.remote == Some(remote))?;
        client.settings.as_deref()
    }

    /// Returns the address of a client's server.
    pub(in crate::feature) fn server(&self, id: ItemId) -> Option<IpAddr> {
        self.all.get(&id)?.remote
    }

    /// Applies changed settings of an item; `None` for a disabled or removed item.
    pub(in crate::feature) fn set(
        &mut self,
        id: ItemId,
        settings: Option<S>,
        now: Instant,
        out: &mut Effects,
    ) -> Option<Step> {
        let settings = settings.map(Arc::new);
        let before = self.all.get(&id);
        let before = before.and_then(|client| client.settings.clone());
        if before == settings {
            return None;
        }
        // The new name is requested before the old one is released, so that an unchanged one stays resolved.
        if let Some(name) = name_of(settings.as_deref()) {
            self.names.insert((Arc::clone(name), id));
            out.push(resolve(name, true));
        }
        if let Some(name) = name_of(before.as_deref()) {
            if name_of(settings.as_deref()) != Some(name) {
                self.names.remove(&(Arc::clone(name), id));
            }
            out.push(resolve(name, false));
        }
        let client = self.all.entry(id).or_insert(ClientItem {
            settings: None,
            state: State::Idle,
            remote: None,
            delay: FIRST_DELAY,
            is_demanded: false,
        });
        let is_same_name = name_of(settings.as_deref()).is_some()
            && name_of(settings.as_deref()) == name_of(before.as_deref());
        client.remote = match settings.as_deref().map(S::remote) {
            Some(Remote::Address(address)) => Some(*address),
            Some(Remote::Name(_)) => client.remote.filter(|_| is_same_name),
            None => None,
        };
        (client.settings, client.delay) = (settings, FIRST_DELAY);
        match client.state {
            State::Linked(link) => Some(Step::Close(link)),
            state => {
                self.begin(id, now, out);
                (state == State::Dialling).then_some(Step::Hangup(id))
            }
        }
    }

    /// Lets a client without a session dial at the next tick, or says why it does not.
    fn begin(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        client.state = State::Idle;
        let Some(settings) = &client.settings else {
            self.all.remove(&id);
            return self.timers.set(id, None);
        };
        let label = &settings.dial().name;
        let why = match client.remote {
            _ if settings.missing().is_some() => settings.missing(),
            None => Some("resolving the name of the server..."),
            Some(IpAddr::V6(_)) if S::NO_IPV6.is_some() => S::NO_IPV6,
            Some(_) if client.waits_for_packets() => Some("waiting for packets..."),
            Some(_) => None,
        };
        let severity = match settings.missing() {
            Some(_) => "error",
            None => "info",
        };
        out.log(
            format!("{},{severity}", S::TOPICS),
            format!("{label}: {}", why.unwrap_or("initializing...")),
        );
        if why.is_none() {
            client.state = State::Waiting;
        }
        self.timers.set(id, why.is_none().then_some(now));
    }

    /// Returns the next client that has to dial now.
    pub(in crate::feature) fn due(&mut self, now: Instant) -> Option<Step> {
        while let Some(id) = self.timers.due(now) {
            let Some(client) = self.all.get_mut(&id) else {
                continue;
            };
            let is_ready = client.settings.is_some() && client.state == State::Waiting;
            if let (true, Some(remote)) = (is_ready, client.remote) {
                client.state = State::Dialling;
                return Some(Step::Dial(id, remote));
            }
        }
        None
    }

    /// Returns when a client has to dial next.
    pub(in crate::feature) fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    /// Notes the link of a client. Returns false if the client has changed meanwhile.
    pub(in crate::feature) fn linked(&mut self, id: ItemId, link: LinkId) -> bool {
        match self.all.get_mut(&id) {
            Some(client) if client.state == State::Dialling => {
                client.state = State::Linked(link);
                true
            }
            _ => false,
        }
    }

    /// Notes that the session of a client is open: the next attempt comes soon after its end.
    pub(in crate::feature) fn opened(&mut self, id: ItemId) {
        if let Some(client) = self.all.get_mut(&id) {
            client.delay = FIRST_DELAY;
        }
    }

    /// Notes the end of an attempt or of a session: the client dials again later.
    pub(in crate::feature) fn ended(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        let Some(client) = self.all.get_mut(&id) else {
            return;
        };
        client.is_demanded = false;
        if client.settings.is_none() || client.waits_for_packets() || client.is_lacking() {
            return self.begin(id, now, out);
        }
        client.state = State::Waiting;
        let at = now + client.delay;
        client.delay = MAX_DELAY.min(client.delay * 2);
        self.timers.set(id, Some(at));
    }

    /// Dials a client that dials on demand, for a packet.
    pub(in crate::feature) fn demand(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        let client = self.all.get_mut(&id);
        if let Some(client) = client.filter(|client| client.waits_for_packets()) {
            client.is_demanded = true;
            if client.state == State::Idle {
                self.begin(id, now, out);
            }
        }
    }

    /// Handles the addresses of a name: clients without a session follow them.
    pub(in crate::feature) fn resolved(
        &mut self,
        name: &str,
        addresses: &[IpAddr],
        now: Instant,
        out: &mut Effects,
    ) {
        let from = (Arc::from(name), 0);
        let of_name = self.names.range(from..);
        let of_name = of_name.take_while(|(own, _)| **own == *name);
        for id in of_name.map(|(_, id)| *id).collect::<Vec<_>>() {
            let Some(client) = self.all.get_mut(&id) else {
                continue;
            };
            let in_use = client.remote.filter(|address| addresses.contains(address));
            let v4 = addresses.iter().find(|address| address.is_ipv4());
            client.remote = in_use
                .or(v4.or(addresses.first()).copied())
                .or(client.remote);
            if client.state == State::Idle && client.remote.is_some() && in_use.is_none() {
                self.begin(id, now, out);
            }
        }
    }

    /// Returns the state of a client without a session, as `monitor` shows it.
    pub(in crate::feature) fn status(&self, id: ItemId) -> Option<&'static str> {
        let client = self.all.get(&id)?;
        Some(match client.state {
            State::Idle if client.waits_for_packets() => "waiting for packets...",
            State::Idle | State::Waiting => "disconnected",
            State::Dialling => "dialing",
            State::Linked(_) => "verifying password...",
        })
    }
}

fn name_of<S: ClientSettings>(settings: Option<&S>) -> Option<&Arc<str>> {
    match settings?.remote() {
        Remote::Name(name) => Some(name),
        Remote::Address(_) => None,
    }
}

fn resolve(name: &Arc<str>, wanted: bool) -> Effect {
    let name = Arc::clone(name);
    Effect::Resolve { name, wanted }
}
