//! All tunnels of a router.
//!
//! A datagram finds its tunnel by the number that this end assigned. Limits: tunnels of an address, tunnels that are
//! half open, and sessions of the server.

mod requests;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Instant, Machine, Rng};

use crate::dialect::{Dialect, VersionThree};
use crate::digest::Integrity;
use crate::event::{Action, CallIds, Event, Fault, Path, Pseudowire, Reason, Server, SessionId};
use crate::half_open::HalfOpens;
use crate::header::{Control, Data, Header};
use crate::message::result;
use crate::secret::Secret;
use crate::tunnel::{Context, Identity, Tunnel};

/// Maximum number of tunnels with one address.
const MAX_TUNNELS_OF_ADDRESS: usize = 8192;

/// Timer of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A timer of a tunnel.
    Tunnel,
    /// The end of the oldest half-open tunnel.
    HalfOpen,
}

/// All tunnels of a router.
#[derive(Debug)]
pub struct Endpoint {
    settings: Server,
    tunnels: BTreeMap<u32, Tunnel>,
    half_open: HalfOpens,
    timers: BTreeSet<(Instant, u32)>,
    /// Due time of each tunnel, as in `timers`.
    due: BTreeMap<u32, Instant>,
    clients: BTreeMap<u64, u32>,
    /// Tunnels of the server by the address of the other end.
    addresses: BTreeMap<IpAddr, BTreeSet<u32>>,
    /// Sessions of the server, opening ones included.
    sessions: usize,
    /// The session number of version 3 that was assigned last.
    last_session: u32,
    /// Number of this router in messages of version 3.
    router_id: u32,
    rng: Rng,
}

impl Endpoint {
    /// Returns an endpoint without tunnels. Numbers and challenges come from `rng`.
    pub fn new(settings: Server, mut rng: Rng) -> Self {
        Self {
            settings,
            tunnels: BTreeMap::new(),
            half_open: HalfOpens::default(),
            timers: BTreeSet::new(),
            due: BTreeMap::new(),
            clients: BTreeMap::new(),
            addresses: BTreeMap::new(),
            sessions: 0,
            last_session: rng.next_u32(),
            router_id: rng.next_u32(),
            rng,
        }
    }

    /// Number of the server's sessions, opening ones included.
    pub const fn session_count(&self) -> usize {
        self.sessions
    }

    /// Number of tunnels, without those that are half open.
    pub fn tunnel_count(&self) -> usize {
        self.tunnels.len()
    }

    /// Returns the state of a client's tunnel: whether there is one.
    pub fn is_dialling(&self, client: u64) -> bool {
        self.clients.contains_key(&client)
    }

    fn receive(
        &mut self,
        path: &Path,
        datagram: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        match Header::parse(datagram)? {
            Header::Data(data) => self.receive_data(path, &data, now, out),
            Header::Control(control) if control.tunnel == 0 => {
                self.request(path, &control, now, out)
            }
            Header::Control(control) if self.half_open.contains(control.tunnel) => {
                self.receive_half_open(path, &control, now, out)
            }
            Header::Control(control) => self.receive_control(path, &control, now, out),
        }
    }

    fn receive_control(
        &mut self,
        path: &Path,
        control: &Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let id = control.tunnel;
        let tunnel = self.tunnels.get(&id).ok_or(Fault::Tunnel)?;
        path.check(&tunnel.path)?;
        let from = out.len();
        let run = |tunnel: &mut Tunnel, cx: &mut Context<'_>| tunnel.receive(control, path, cx);
        let received = self.run(id, now, out, run).unwrap_or(Ok(()));
        let opened = out.get(from..).unwrap_or_default().iter();
        let opened = opened.filter_map(|action| match action {
            Action::Opened(opened) if opened.client.is_none() => Some((
                opened.session,
                { opened.pseudowire.as_ref() }.map(|own| own.circuit_id.clone()),
            )),
            _ => None,
        });
        for (session, circuit) in opened.collect::<Vec<_>>() {
            let circuit = circuit.filter(|circuit| !circuit.is_empty());
            if self.settings.one_session_per_host || circuit.is_some() {
                let circuit = circuit.filter(|_| !self.settings.one_session_per_host);
                let mut replaced = Vec::new();
                self.replace(path, session, circuit.as_deref(), now, &mut replaced);
                // The owner removes the earlier sessions first.
                out.splice(from..from, replaced);
            }
        }
        received
    }

    fn receive_data(
        &mut self,
        path: &Path,
        data: &Data<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let CallIds { tunnel, session } = data.ids;
        let tunnel = self.tunnels.get_mut(&tunnel).ok_or(Fault::Tunnel)?;
        path.check(&tunnel.path)?;
        tunnel.receive_data(session, now)?;
        let mut cx = Context {
            now,
            rng: &mut self.rng,
            has_room: false,
            last_session: &mut self.last_session,
            actions: out,
        };
        tunnel.follow(path, &mut cx);
        out.push(Action::Packet(data.ids, data.packet.to_vec()));
        Ok(())
    }

    /// Closes the other sessions of the host at the other end of a path: all, or those of a circuit.
    fn replace(
        &mut self,
        path: &Path,
        but: SessionId,
        circuit: Option<&str>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let ids = self.addresses.get(&path.address());
        let of_host = |id: &u32| {
            let tunnel = self.tunnels.get(id);
            tunnel.is_some_and(|tunnel| tunnel.path.has_host_of(path))
        };
        let ids = ids.into_iter().flatten().copied().filter(of_host);
        for id in ids.collect::<Vec<_>>() {
            let but = (id == but.tunnel).then_some(but.session);
            self.run(id, now, out, |tunnel, cx| {
                tunnel.replace_calls(but, circuit, cx);
            });
        }
    }

    /// Lets a tunnel run; then sends what it has to send, and follows its sessions, its timers and its end. `None`
    /// without such a tunnel.
    fn run<R>(
        &mut self,
        id: u32,
        now: Instant,
        out: &mut Vec<Action>,
        run: impl FnOnce(&mut Tunnel, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let max = self.settings.max_sessions.map(|max| max as usize);
        let has_room = max.is_none_or(|max| self.sessions < max);
        let tunnel = self.tunnels.get_mut(&id)?;
        let (before, client) = (tunnel.call_count(), tunnel.client);
        let mut cx = Context {
            now,
            rng: &mut self.rng,
            has_room,
            last_session: &mut self.last_session,
            actions: out,
        };
        let returned = run(tunnel, &mut cx);
        tunnel.flush(&mut cx);
        match client {
            None => self.sessions = (self.sessions + tunnel.call_count()).saturating_sub(before),
            Some(client) if tunnel.client.is_none() => _ = self.clients.remove(&client),
            Some(_) => {}
        }
        let due = tunnel.deadline();
        match tunnel.is_over(now) {
            true => self.forget(id),
            false => self.set_timer(id, Some(due)),
        }
        Some(returned)
    }

    fn set_timer(&mut self, id: u32, due: Option<Instant>) {
        let before = match due {
            Some(due) => self.due.insert(id, due),
            None => self.due.remove(&id),
        };
        if before == due {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, id));
        }
        self.timers.extend(due.map(|due| (due, id)));
    }

    fn forget(&mut self, id: u32) {
        self.set_timer(id, None);
        let Some(tunnel) = self.tunnels.remove(&id) else {
            return;
        };
        if let Some(client) = tunnel.client {
            self.clients.remove(&client);
        }
        let address = tunnel.path.address();
        if let Some(ids) = self.addresses.get_mut(&address) {
            ids.remove(&id);
            if ids.is_empty() {
                self.addresses.remove(&address);
            }
        }
    }

    /// Returns an unused tunnel number; `None` if all are in use.
    fn free_tunnel(&mut self, dialect: &Dialect) -> Option<u32> {
        let (first, largest) = (self.rng.next_u32(), dialect.largest_number());
        let all = (0..=u32::from(u16::MAX)).map(|step| first.wrapping_add(step) & largest);
        let is_used = |id: &u32| self.tunnels.contains_key(id) || self.half_open.contains(*id);
        let mut free = all.filter(|id| *id != 0 && !is_used(id));
        free.next()
    }

    /// Returns the version of a new tunnel, with its messages' needs.
    fn dialect(&mut self, pseudowire: Option<Pseudowire>, secret: Option<&Secret>) -> Dialect {
        let Some(pseudowire) = pseudowire else {
            return Dialect::Two;
        };
        Dialect::Three(Box::new(VersionThree {
            integrity: Integrity::new(pseudowire.digest, secret, &mut self.rng),
            pseudowire,
            router_id: self.router_id,
        }))
    }

    fn dial(
        &mut self,
        client: u64,
        path: Path,
        pseudowire: Option<Pseudowire>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        self.hang_up(client, now, out);
        let secret = self.settings.secrets.of(path.address()).cloned();
        let dialect = self.dialect(pseudowire, secret.as_ref());
        if dialect.lacks_digest() {
            return out.push(Action::Failed(client, Reason::Authentication));
        }
        let Some(id) = self.free_tunnel(&dialect) else {
            return out.push(Action::Failed(client, Reason::Full));
        };
        let identity = Identity {
            host_name: &self.settings.host_name,
            dialect,
            secret,
        };
        let mut cx = Context {
            now,
            rng: &mut self.rng,
            has_room: false,
            last_session: &mut self.last_session,
            actions: out,
        };
        let tunnel = Tunnel::dial(id, client, path, identity, &mut cx);
        self.tunnels.insert(id, tunnel);
        self.clients.insert(client, id);
        self.run(id, now, out, |_, _| ());
    }

    fn hang_up(&mut self, client: u64, now: Instant, out: &mut Vec<Action>) {
        if let Some(id) = self.clients.remove(&client) {
            self.stop(id, result::CLEARED, now, out);
        }
    }

    /// Ends a tunnel without events for the owner.
    fn stop(&mut self, id: u32, code: u16, now: Instant, out: &mut Vec<Action>) {
        self.run(id, now, out, |tunnel, _| {
            tunnel.stop((code, 0), now);
            tunnel.forget_calls();
            tunnel.client = None;
        });
    }

    fn configure(&mut self, settings: Server, now: Instant, out: &mut Vec<Action>) {
        let ends = self.settings.is_enabled && !settings.is_enabled;
        self.settings = settings;
        if !ends {
            return;
        }
        self.half_open.clear();
        let all = self.addresses.values().flatten().copied();
        for id in all.collect::<Vec<_>>() {
            self.run(id, now, out, |tunnel, cx| {
                tunnel.stop((result::SHUTTING_DOWN, 0), now);
                tunnel.end(&Reason::Disabled, cx);
            });
        }
    }
}

impl Machine for Endpoint {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(settings) => self.configure(settings, now, out),
            Event::Received { path, datagram } => {
                if let Err(fault) = self.receive(&path, datagram, now, out) {
                    out.push(Action::Ignored(fault));
                }
            }
            Event::Dial {
                client,
                path,
                pseudowire,
            } => self.dial(client, path, pseudowire, now, out),
            Event::Hangup(client) => self.hang_up(client, now, out),
            Event::Close(session) => {
                let run = |tunnel: &mut Tunnel, cx: &mut Context<'_>| {
                    tunnel.close_call(session.session, cx)
                };
                self.run(session.tunnel, now, out, run);
            }
            Event::Shutdown => {
                let all = self.tunnels.keys().copied();
                for id in all.collect::<Vec<_>>() {
                    self.stop(id, result::SHUTTING_DOWN, now, out);
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.half_open.expire(now);
        while let Some((due, id)) = self.timers.first().copied() {
            if due > now {
                break;
            }
            self.run(id, now, out, Tunnel::tick);
            // A timer that is still due would run forever.
            if self.due.get(&id) == Some(&due) {
                self.set_timer(id, None);
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let tunnel = self.timers.first().map(|(at, _)| (*at, Timer::Tunnel));
        let half_open = self.half_open.deadline().map(|at| (at, Timer::HalfOpen));
        let all = tunnel.into_iter().chain(half_open);
        all.min_by_key(|(at, _)| *at)
    }
}
