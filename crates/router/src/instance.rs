//! A router as a value: configuration and running state.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use access::{Answer, Attempt, Login, Refused, Service};
use certificate::Trust;
use frame::Offloads;
use ipnet::IpNet;
use machine::Instant;
use menu::{By, Clock, Grant, Id, Output, Reason, Refusal, Store};
use script::{ExclusiveSite, Session};
use tool::Router;

use dataplane::Worker;

use crate::Holder;
use crate::drive::{Control, PortNews, Queue, Setup};
use crate::feature::mail::{Letter, Sent};
use crate::feature::radius::Aaa;
use crate::feature::{Effect, Effects};
use crate::files::RemoteFiles;
use crate::history;
use crate::intent::ItemState;
use crate::kind::{self, is_virtual_radio, veth};

/// Interface of `/interface/veth`, whose other end is a device of the host for a container. The fields configure that
/// device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veth {
    /// Name of both ends.
    pub name: String,
    /// Addresses of the device.
    pub addresses: Vec<IpNet>,
    /// Link address of the device; `None` keeps its own.
    pub mac: Option<[u8; 6]>,
}

/// A router: the store of its configuration, and control.
///
/// It owns no thread and no socket. Its owner calls [`Control::poll`] when a worker hands something over and when
/// [`Control::deadline`] has come, reports devices to it, and runs commands.
#[derive(Debug)]
pub struct Instance {
    store: Store,
    control: Control,
    /// Noted last login of each user.
    logins: BTreeMap<Id, LastLogin>,
}

/// Note about a user's last login: time in seconds since 1970, and source address.
#[derive(Debug)]
struct LastLogin {
    when: i64,
    from: Vec<IpAddr>,
}

/// Prefix of notes about last logins; the number of the user's item follows.
const LOGIN: &str = "login ";

/// Note that exists while the router runs: left behind by an unclean stop.
const RUNNING: &str = "running";

/// Note that exists until the first password was printed: number of the user's item, and the hashed password.
const UNTOLD: &str = "untold password";

/// Minimum seconds between two notes about one user.
const NOTED: i64 = 60;

impl Instance {
    /// Creates a router with the configuration in `store`, and its workers.
    ///
    /// # Errors
    /// The kernel has no memory left, or there are too many workers.
    pub fn new(setup: &Setup, store: Store) -> std::io::Result<(Self, Vec<Worker>)> {
        let (mut control, workers) = Control::build(setup)?;
        control.load(&store);
        let instance = Self {
            store,
            control,
            logins: BTreeMap::new(),
        };
        Ok((instance, workers))
    }

    /// Returns all metrics in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        self.control.metrics(&self.store)
    }

    /// Returns the history of traffic and load as JSON, with current rates.
    pub fn history(&self, query: &history::Query) -> String {
        self.control.history(query)
    }

    /// Returns the graphs that a client may see.
    pub fn graph_index(&self, client: IpAddr) -> history::pictures::GraphIndex {
        self.control.graph_index(client)
    }

    /// Returns a graph of `/tool/graphing`; `None` if it does not exist or the client may not see it.
    pub fn graph(
        &self,
        kind: history::pictures::GraphKind,
        name: &str,
        client: IpAddr,
    ) -> Option<history::pictures::Graph> {
        self.control.graph(kind, name, client)
    }

    /// Whether all configured ports have a device.
    pub fn has_its_ports(&self) -> bool {
        self.control.missed.is_empty()
    }

    /// The configuration.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The running half.
    pub fn control(&mut self) -> &mut Control {
        &mut self.control
    }

    /// Returns the currently trusted authorities. TLS clients call this for each connection.
    pub fn trust(&self) -> Arc<Trust> {
        self.control.features.certificates.trust()
    }

    /// Returns the mails to send; each is returned once. The caller reports each result with [`Self::mail_sent`].
    pub fn take_letters(&mut self) -> Vec<Letter> {
        let features = &mut self.control.features;
        let name = self.control.intent.identity.to_string();
        features.mails.take(&mut features.log, &name)
    }

    /// Records the result of a mail.
    pub fn mail_sent(&mut self, sent: Sent) {
        let features = &mut self.control.features;
        features.mails.sent(sent, &mut features.log);
    }

    /// Sets the SSH host key that the program has generated; a key of `/ip/ssh` takes precedence.
    pub fn set_host_key(&mut self, key: access::HostKey) {
        self.control.features.ssh.set_first(key, &self.store);
    }

    /// Returns the RADIUS servers for users unknown to this router; `None` without such servers.
    pub fn login_servers(&self) -> Option<Aaa> {
        Aaa::of(&self.store, &self.control.features.radius)
    }

    /// Counts RADIUS events, and keeps unanswered reports.
    pub fn count_radius<K>(&mut self, actions: &[service::radius::Action<K>]) {
        self.control.count_radius(actions);
    }

    /// Ends a session; returns whether it existed.
    pub fn end_session(&self, login: u64) -> bool {
        self.control.features.access.end(login)
    }

    /// Returns the revocation list of an authority in `/certificate`, in DER, by item number.
    pub fn revocation_list(&mut self, id: Id) -> Option<Vec<u8>> {
        let clock = self.control.clock.now();
        let certificates = &mut self.control.features.certificates;
        certificates.list(&self.store, id, clock)
    }

    /// Sets the name servers of the host: the router uses them if `/ip/dns` has no server.
    pub fn set_machine_servers(&mut self, servers: Vec<SocketAddr>) {
        self.control.set_machine_servers(servers);
    }

    /// Returns the due script jobs: the owner runs each beside other work. Call this after each poll.
    pub fn due_jobs(&mut self) -> Vec<script::Job> {
        self.control.due_jobs(&self.store)
    }

    /// Returns when [`Control::poll`] is due next, apart from packets of workers.
    pub fn deadline(&self) -> Option<Instant> {
        self.control.deadline()
    }

    /// Lends configuration and running state to a script command that runs on another thread.
    pub fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut self.control);
    }

    /// While `read_only` is set, only the owner of the open transaction can commit: [`Store::set_read_only`].
    pub const fn set_read_only(&mut self, read_only: bool) {
        self.store.set_read_only(read_only);
    }

    /// Whether a transaction is open that lets other sessions only read.
    pub const fn is_read_only(&self) -> bool {
        self.store.is_read_only()
    }

    /// Rolls back a transaction whose thread panicked.
    pub fn abandon(&mut self) {
        self.store.abandon();
    }

    /// Handles due work at `now` ([`Control::poll`]). Reverts an unconfirmed configuration in time, and writes
    /// addresses that rules listed without a timeout into the configuration.
    pub fn poll(&mut self, now: Instant) -> bool {
        let busy = self.control.poll(now);
        self.control.answer_snmp(&self.store);
        // Changes wait until the transaction of the read-only phase ends.
        if self.is_read_only() {
            return busy;
        }
        self.control.take_back_unconfirmed(&mut self.store);
        self.control.keep_addresses(&mut self.store);
        self.control.expire_addresses(&mut self.store);
        busy
    }

    /// Returns the holder of safe mode, as a session sees it.
    pub fn safe_mode(&self, session: u64) -> Holder {
        self.control.safe_mode(session)
    }

    /// Handles a broken session: reverts its changes of safe mode.
    pub fn session_lost(&mut self, session: u64) {
        self.control.session_lost(&mut self.store, session);
    }

    /// Handles a closed session: keeps its changes of safe mode.
    pub fn session_left(&mut self, session: u64) {
        self.control.session_left(&mut self.store, session);
    }

    /// Returns a message for a session, once.
    pub fn notice(&mut self, session: u64) -> Option<String> {
        self.control.take_notice(session)
    }

    /// Runs console commands: each is a transaction, durable and in force when it returns. Nothing else runs meanwhile,
    /// so commands cannot wait: use [`script::run_at`] for commands that do.
    ///
    /// # Errors
    /// The first refused command; earlier commands stay applied.
    pub fn run(
        &mut self,
        session: &mut Session,
        text: &str,
        out: &mut dyn Output,
    ) -> Result<(), Refusal> {
        script::run(&mut self.store, &mut self.control, session, text, out)
    }

    /// Runs console commands as [`Instance::run`] does; answers in JSON, in the format of REST.
    ///
    /// # Errors
    /// As for [`Instance::run`].
    pub fn run_json(
        &mut self,
        session: &mut Session,
        text: &str,
        out: &mut dyn Output,
    ) -> Result<(), Refusal> {
        script::run_json_at(
            &mut ExclusiveSite::new(&mut self.store, &mut self.control),
            session,
            text,
            out,
        )
    }

    /// Runs a configuration file as one transaction, unless it contains commands that wait.
    ///
    /// # Errors
    /// The first refused command, with its position.
    pub fn import(
        &mut self,
        session: &mut Session,
        text: &str,
        out: &mut dyn Output,
    ) -> Result<(), Refusal> {
        script::import(&mut self.store, &mut self.control, session, text, out)
    }

    /// Replaces the configuration by that of another store, with the fewest changes, as one transaction.
    ///
    /// # Errors
    /// The refusal; nothing has changed then.
    pub fn replace(&mut self, wanted: &Store) -> Result<(), Reason> {
        if let Some(changes) = crate::replace::reach(&mut self.store, wanted, By::default())? {
            self.control.apply_changes(&self.store, &changes);
        }
        Ok(())
    }

    /// Starts a login attempt. The slow password check runs without the router: [`Attempt::password`].
    pub fn attempt(&self, user: &str, address: IpAddr, service: Service) -> Attempt {
        let access = &self.control.features.access;
        access.attempt(&self.store, user, address, service)
    }

    /// Returns when the password of an attempt may be checked.
    ///
    /// # Errors
    /// Too many attempts wait already.
    pub fn turn(&mut self, attempt: &Attempt, now: Instant) -> Result<Instant, Refused> {
        self.control.features.access.turn(attempt, now)
    }

    /// Admits or refuses a login; logs both.
    ///
    /// # Errors
    /// The authentication failed, or there are too many sessions.
    pub fn admit(&mut self, answer: Answer) -> Result<Login, Refused> {
        let (mut lines, clock) = (Vec::new(), self.control.clock.now());
        let access = &mut self.control.features.access;
        let admitted = access.admit(&self.store, answer, clock, &mut lines);
        self.control.features.log.add_all(lines);
        if let Some(user) = admitted.as_ref().ok().and_then(|login| login.item) {
            self.note_login(user, clock);
        }
        admitted
    }

    /// Notes time and address of a login; frequent logins of a user are noted at intervals.
    fn note_login(&mut self, user: Id, clock: Clock) {
        let from: Vec<_> = self.control.features.access.known(user).collect();
        let noted = self.logins.get(&user);
        let soon = noted.is_some_and(|noted| {
            noted.from == from && (0..NOTED).contains(&(clock.unix_seconds - noted.when))
        });
        if soon {
            return;
        }
        let name = format!("{LOGIN}{}", user.0);
        let mut text = format!("{} {}", clock.unix_seconds, clock.offset_seconds);
        for address in &from {
            let _ = write!(text, " {address}");
        }
        let when = clock.unix_seconds;
        self.logins.insert(user, LastLogin { when, from });
        if let Err(reason) = self.store.note(&name, Some(&text)) {
            let message = format!("a login is not kept: {reason}");
            self.control.features.log.add("system,error", message);
        }
    }

    /// Logs the messages of the start, and how the router stopped before; notes that the router runs.
    pub fn begin(&mut self, notes: &BTreeMap<String, String>, said: &[String]) {
        if notes.contains_key(RUNNING) {
            // RouterOS: this text.
            let message = "router was rebooted without proper shutdown";
            self.control
                .features
                .log
                .add("system,error,critical", message);
        }
        self.show_storage_fault();
        let topics = match self.store.fault() {
            Some(_) => "system,error,critical",
            None => "system,warning",
        };
        for line in said.iter().flat_map(|text| text.lines()) {
            self.control.features.log.add(topics, line);
        }
        if !notes.contains_key(RUNNING) {
            // A disk error is reported elsewhere.
            let _ = self.store.note(RUNNING, Some("yes"));
        }
    }

    /// Lets the store do deferred work. Call this every few seconds. Returns whether the store copied the whole
    /// configuration.
    pub fn rest(&mut self) -> bool {
        let copied = self.store.rest();
        self.show_storage_fault();
        copied
    }

    /// Passes the storage error to the features.
    fn show_storage_fault(&mut self) {
        let fault = self.store.fault().unwrap_or_default();
        let shown = &mut self.control.manage.storage_fault;
        if shown != fault {
            fault.clone_into(shown);
        }
    }

    /// Notes a clean stop, and lets the store finish its work.
    pub fn end(&mut self) {
        self.control.store_history();
        let _ = self.store.note(RUNNING, None);
        self.store.settle_journal();
    }

    /// Restores the notes from before the start.
    pub fn recall(&mut self, notes: &BTreeMap<String, String>) {
        for (name, text) in notes {
            let id = name.strip_prefix(LOGIN).and_then(|id| id.parse().ok());
            let Some(user) = id.map(Id) else { continue };
            let mut words = text.split(' ');
            let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
            let (Some(unix_seconds), Some(offset)) = (number(), number()) else {
                continue;
            };
            let from: Vec<IpAddr> = words.filter_map(|word| word.parse().ok()).collect();
            if self.store.item("/user", user).is_none() {
                // The note is no longer needed. If its removal fails, the next start removes it.
                let _ = self.store.note(name, None);
                continue;
            }
            let when = Clock {
                unix_seconds,
                offset_seconds: i32::try_from(offset).unwrap_or(0),
                ..Clock::utc(0)
            };
            let access = &mut self.control.features.access;
            access.recall(user, when);
            for address in from.iter().rev() {
                access.remember(user, *address);
            }
            let when = unix_seconds;
            self.logins.insert(user, LastLogin { when, from });
        }
    }

    /// Admits a user at the machine itself; `quiet` for a single command.
    ///
    /// # Errors
    /// There are too many sessions.
    pub fn admit_locally(&mut self, user: &str, quiet: bool) -> Result<Login, Refused> {
        let (mut lines, clock) = (Vec::new(), self.control.clock.now());
        let access = &mut self.control.features.access;
        let admitted = access.local(&self.store, user, quiet, clock, &mut lines);
        self.control.features.log.add_all(lines);
        admitted
    }

    /// Returns the current grant of a user; an empty grant for an unknown user.
    pub fn grant(&self, user: &str) -> Grant {
        self.control.features.access.grant(&self.store, user)
    }

    /// Records the end of a session.
    pub fn leave(&mut self, login: &Login) {
        let mut lines = Vec::new();
        self.control.features.access.leave(login.id, &mut lines);
        self.control.features.log.add_all(lines);
    }

    /// Sets this password for user `admin` if no other user could log in from the network to manage users, or if the
    /// previous first password was never printed; that one becomes invalid. Returns true if it was set: after printing
    /// it, the caller calls [`Self::first_password_is_told`]. `notes` are the notes at the start.
    ///
    /// # Errors
    /// The store cannot write the password.
    pub fn give_first_password(
        &mut self,
        notes: &BTreeMap<String, String>,
        password: &str,
    ) -> Result<bool, Reason> {
        let untold = notes.get(UNTOLD).map(String::as_str);
        let admin = access::without_password(&self.store).or_else(|| self.given_to(untold?));
        let Some(admin) = admin else {
            // A password that was changed since is known to the user.
            if untold.is_some() {
                self.first_password_is_told()?;
            }
            return Ok(false);
        };
        let menu = self.store.menu("/user").ok_or(Reason::NoItem)?;
        let owner = self
            .store
            .item(menu.path, admin)
            .and_then(|item| item.name());
        let seal = Some(self.store.seal(owner, password)?);
        let sealed = seal.as_ref().map(ToString::to_string).unwrap_or_default();
        // The note precedes the password: after a crash in between, the next start generates another password.
        self.store
            .note(UNTOLD, Some(&format!("{} {sealed}", admin.0)))?;
        let mark = self.store.begin();
        if let Err(reason) = self.store.set(menu, admin, &[("password", seal)]) {
            self.store.rollback(mark);
            return Err(reason);
        }
        self.store.commit(mark)?;
        Ok(true)
    }

    /// Returns the user who still has the password of the note.
    fn given_to(&self, untold: &str) -> Option<Id> {
        let (user, seal) = untold.split_once(' ')?;
        let user = Id(user.parse().ok()?);
        let item = self.store.item("/user", user)?;
        (item.text("password") == seal).then_some(user)
    }

    /// Records that the first password was printed.
    ///
    /// # Errors
    /// The store cannot write this: the next start generates another password.
    pub fn first_password_is_told(&mut self) -> Result<(), Reason> {
        self.store.note(UNTOLD, None)
    }

    /// Adds a port that the host maps by this name (`ether1`). A name without a fixed port belongs to a virtual access
    /// point, once the configuration contains it. Returns the port's number.
    ///
    /// # Errors
    /// The name is taken.
    pub fn attach_port(
        &mut self,
        name: &str,
        news: PortNews,
        offloads: Offloads,
        queues: Vec<Queue>,
    ) -> Result<u16, Reason> {
        self.control.expect_port(name);
        if self.store.port_kind(name).is_none() {
            return Ok(self.control.attach_port(name, news, offloads, queues));
        }
        let mark = self.store.begin();
        let mac = (news.mac != wire::Mac::ZERO).then_some(news.mac.0);
        if let Err(reason) = self.store.ensure_port(name, mac) {
            self.store.rollback(mark);
            return Err(reason);
        }
        match self.store.commit(mark) {
            Ok(None) => {}
            Ok(Some(changes)) => self.control.apply_changes(&self.store, &changes),
            // The port works even if the disk fails.
            Err(Reason::Storage(_)) if self.store.fault().is_some() => {}
            Err(reason) => return Err(reason),
        }
        Ok(self.control.attach_port(name, news, offloads, queues))
    }

    /// Opens the session of a PPPoE client as if a server had answered, in a router that examines a configuration.
    /// Returns true if the interface adds a default route; `None` if it is no PPPoE client.
    pub fn assume_session(&mut self, interface: &str) -> Option<bool> {
        let item = self.store.named("interface", interface)?;
        let wanted = ItemState::Interface(Some(kind::assumed(item)?));
        let adds_route = item.is("add-default-route");
        let mut effects = Effects::default();
        effects.push(Effect::Item(item.id.0, wanted));
        self.control.carry_out(effects);
        Some(adds_route)
    }

    /// Returns the files of the router for a remote user.
    ///
    /// # Errors
    /// The user lacks policy `ftp`.
    pub fn remote_files(&mut self, caller: &menu::Caller<'_>) -> Result<RemoteFiles<'_>, Reason> {
        let files = &mut self.control.manage.files;
        files.act_for(caller);
        RemoteFiles::new(files, caller.policies)
    }

    /// Returns the interfaces whose other end is a device of the host, for a container.
    pub fn veths(&self) -> Vec<Veth> {
        let items = self.store.items(veth::MENU);
        let veth = |item: &menu::Item| {
            let addresses = item.get("address").map(menu::Value::as_list);
            let addresses = addresses.unwrap_or_default().iter();
            Some(Veth {
                name: item.name()?.to_owned(),
                addresses: addresses.filter_map(menu::Value::as_prefix).collect(),
                mac: item
                    .get("container-mac-address")
                    .and_then(menu::Value::as_mac),
            })
        };
        items.filter_map(|item| veth(item)).collect()
    }

    /// Whether a device may have this port name: a fixed port name, or a virtual access point in the configuration.
    pub fn is_port_name(&self, name: &str) -> bool {
        let item = self.store.named("interface", name);
        self.store.port_kind(name).is_some()
            || item.is_some_and(|item| is_virtual_radio(item) || item.menu.path == veth::MENU)
    }
}

#[cfg(test)]
mod tests;
