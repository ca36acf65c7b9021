//! A router as a value: its configuration and what runs of it.

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
use crate::files::RemoteFiles;
use crate::kind::{is_virtual_radio, veth};

/// An interface whose other end is a device of the machine, `/interface/veth`: the device is as the container is to
/// have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Veth {
    /// What both ends are called.
    pub name: String,
    /// The addresses of the device.
    pub addresses: Vec<IpNet>,
    /// Its link address; none leaves it as it is.
    pub mac: Option<[u8; 6]>,
}

/// A router: the store of its configuration, and control.
///
/// It owns no thread and no socket. Its owner calls [`Control::poll`] when a worker hands something
/// over and when [`Control::deadline`] has come, tells it of devices, and runs commands.
#[derive(Debug)]
pub struct Instance {
    store: Store,
    control: Control,
    /// What was noted of the last login of each user.
    logins: BTreeMap<Id, Noted>,
}

/// What is kept of a user's last login: when it was, in seconds since 1970, and where logins of that
/// user come from.
#[derive(Debug)]
struct Noted {
    when: i64,
    from: Vec<IpAddr>,
}

/// How the notes begin that say when a user logged in, and from where: the number of the user's item
/// follows.
const LOGIN: &str = "login ";

/// The note that the router has not stopped yet.
const RUNNING: &str = "running";

/// The note that nobody was told the first password: the number of its user's item and its seal.
const UNTOLD: &str = "untold password";

/// Seconds between two notes about one user, at least.
const NOTED: i64 = 60;

impl Instance {
    /// A router with the configuration in `store`, and its workers.
    ///
    /// # Errors
    /// What the kernel says when it has no memory, or that there are too many workers.
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

    /// What is counted, as Prometheus reads it.
    pub fn metrics(&self) -> String {
        self.control.metrics(&self.store)
    }

    /// Whether all ports that are configured are there.
    pub fn has_its_ports(&self) -> bool {
        self.control.missed.is_empty()
    }

    /// The configuration.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// What runs.
    pub fn control(&mut self) -> &mut Control {
        &mut self.control
    }

    /// Whom the router believes at this moment: who connects somewhere by TLS asks for each connection.
    pub fn trust(&self) -> Arc<Trust> {
        self.control.features.certificates.trust()
    }

    /// The mails that are to be sent now, each once; [`Self::mail_sent`] hears of each.
    pub fn take_letters(&mut self) -> Vec<Letter> {
        let features = &mut self.control.features;
        let name = self.control.intent.identity.to_string();
        features.mails.take(&mut features.log, &name)
    }

    /// Hears what came of a mail.
    pub fn mail_sent(&mut self, sent: Sent) {
        let features = &mut self.control.features;
        features.mails.sent(sent, &mut features.log);
    }

    /// Takes over the host key of SSH that the program has made; `/ip/ssh` may have another.
    pub fn set_host_key(&mut self, key: access::HostKey) {
        self.control.features.ssh.set_first(key, &self.store);
    }

    /// Who is asked about users that this router does not know; none where nobody is.
    pub fn login_servers(&self) -> Option<Aaa> {
        Aaa::of(&self.store, &self.control.features.radius)
    }

    /// Counts what was done about questions to servers.
    pub fn count_radius(&mut self, actions: &[service::radius::Action]) {
        let radius = &mut self.control.features.radius;
        actions.iter().for_each(|action| radius.count(action));
    }

    /// Ends a session. Says whether there is such a session.
    pub fn end_session(&self, login: u64) -> bool {
        self.control.features.access.end(login)
    }

    /// The list of what an authority of `/certificate` has revoked, in DER, by the number of its item.
    pub fn revocation_list(&mut self, id: Id) -> Option<Vec<u8>> {
        let clock = self.control.clock.now();
        let certificates = &mut self.control.features.certificates;
        certificates.list(&self.store, id, clock)
    }

    /// Tells which servers the machine underneath asks for names: they are asked where `/ip/dns` has
    /// none.
    pub fn set_machine_servers(&mut self, servers: Vec<SocketAddr>) {
        self.control.set_machine_servers(servers);
    }

    /// The scripts whose time has come: the owner runs each beside everything else. To be asked for
    /// after a poll.
    pub fn due_jobs(&mut self) -> Vec<script::Job> {
        self.control.due_jobs(&self.store)
    }

    /// When [`Control::poll`] is next worth calling, if no worker hands anything over before.
    pub fn deadline(&self) -> Option<Instant> {
        self.control.deadline()
    }

    /// Lends the configuration and what runs of it, for a command of a script that runs elsewhere.
    pub fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut self.control);
    }

    /// While `read_only` is set, commits of others than the owner of the open transaction fail:
    /// [`Store::set_read_only`].
    pub const fn set_read_only(&mut self, read_only: bool) {
        self.store.set_read_only(read_only);
    }

    /// Whether a transaction is under way and only lets readers in.
    pub const fn is_read_only(&self) -> bool {
        self.store.is_read_only()
    }

    /// Rolls back a transaction whose thread panicked.
    pub fn abandon(&mut self) {
        self.store.abandon();
    }

    /// Does what is due at `now`: see [`Control::poll`]. What was applied and not confirmed in time
    /// is taken back, and what rules put into lists for ever becomes configuration.
    pub fn poll(&mut self, now: Instant) -> bool {
        let busy = self.control.poll(now);
        self.control.answer_snmp(&self.store);
        // Changes wait for the end of the transaction that lets a reader in.
        if self.is_read_only() {
            return busy;
        }
        self.control.take_back_unconfirmed(&mut self.store);
        self.control.keep_addresses(&mut self.store);
        self.control.expire_addresses(&mut self.store);
        busy
    }

    /// Who is in safe mode, as a session sees it.
    pub fn safe_mode(&self, session: u64) -> Holder {
        self.control.safe_mode(session)
    }

    /// A session has ended without leaving: what it holds in safe mode is taken back.
    pub fn session_lost(&mut self, session: u64) {
        self.control.session_lost(&mut self.store, session);
    }

    /// A session leaves: what it holds in safe mode is kept.
    pub fn session_left(&mut self, session: u64) {
        self.control.session_left(&mut self.store, session);
    }

    /// What a session is to be told, once.
    pub fn notice(&mut self, session: u64) -> Option<String> {
        self.control.take_notice(session)
    }

    /// Runs commands as the console does: each is a transaction, durable and in force when it
    /// returns. Nothing else goes on meanwhile, so they can not wait: see [`script::run_at`].
    ///
    /// # Errors
    /// The first refusal; what was run before it stays.
    pub fn run(
        &mut self,
        session: &mut Session,
        text: &str,
        out: &mut dyn Output,
    ) -> Result<(), Refusal> {
        script::run(&mut self.store, &mut self.control, session, text, out)
    }

    /// As [`Instance::run`], with the answer in JSON, in the shape of REST.
    ///
    /// # Errors
    /// As [`Instance::run`].
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

    /// Runs a file of configuration: as a whole or not at all, unless it has commands that wait.
    ///
    /// # Errors
    /// The first refusal, with its place.
    pub fn import(
        &mut self,
        session: &mut Session,
        text: &str,
        out: &mut dyn Output,
    ) -> Result<(), Refusal> {
        script::import(&mut self.store, &mut self.control, session, text, out)
    }

    /// Makes the configuration that of another store, with the least change, as one transaction.
    ///
    /// # Errors
    /// Why not; nothing has changed then.
    pub fn replace(&mut self, wanted: &Store) -> Result<(), Reason> {
        if let Some(changes) = crate::replace::reach(&mut self.store, wanted, By::default())? {
            self.control.apply_changes(&self.store, &changes);
        }
        Ok(())
    }

    /// Begins an attempt to log in. What is slow about it is done without the router: see
    /// [`Attempt::password`].
    pub fn attempt(&self, user: &str, address: IpAddr, service: Service) -> Attempt {
        let access = &self.control.features.access;
        access.attempt(&self.store, user, address, service)
    }

    /// When the password of an attempt may be looked at.
    ///
    /// # Errors
    /// Too many wait already.
    pub fn turn(&mut self, attempt: &Attempt, now: Instant) -> Result<Instant, Refused> {
        self.control.features.access.turn(attempt, now)
    }

    /// Lets somebody in, or not; either way the log says so.
    ///
    /// # Errors
    /// Nothing was proved, or there are too many sessions.
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

    /// Keeps when a user logged in and from where; a program that comes every second is noted now and
    /// then.
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
        self.logins.insert(user, Noted { when, from });
        if let Err(reason) = self.store.note(&name, Some(&text)) {
            let message = format!("a login is not kept: {reason}");
            self.control.features.log.add("system,error", message);
        }
    }

    /// Says in the log what there is to say of the start and of how the router stopped before it, and notes that
    /// it runs.
    pub fn begin(&mut self, notes: &BTreeMap<String, String>, said: &[String]) {
        if notes.contains_key(RUNNING) {
            // RouterOS: the same words.
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
            // A disk that takes nothing is told of elsewhere.
            let _ = self.store.note(RUNNING, Some("yes"));
        }
    }

    /// Lets the store do work that can wait. Called every few seconds. Returns whether the store copied the whole
    /// configuration for it.
    pub fn rest(&mut self) -> bool {
        let copied = self.store.rest();
        self.show_storage_fault();
        copied
    }

    /// Passes on to the features why changes cannot be stored.
    fn show_storage_fault(&mut self) {
        let fault = self.store.fault().unwrap_or_default();
        let shown = &mut self.control.manage.storage_fault;
        if shown != fault {
            fault.clone_into(shown);
        }
    }

    /// Notes that the router stops as it was told to, and lets the store finish its work.
    pub fn end(&mut self) {
        let _ = self.store.note(RUNNING, None);
        self.store.settle_journal();
    }

    /// Takes up what was noted beside the configuration before the router was started.
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
                // Nobody asks any more. If it cannot be forgotten now, it is the next time.
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
            self.logins.insert(user, Noted { when, from });
        }
    }

    /// Lets in whoever sits at the machine itself; `quiet` for a single command.
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

    /// What the user of this name is granted, at every moment; nothing if there is none.
    pub fn grant(&self, user: &str) -> Grant {
        self.control.features.access.grant(&self.store, user)
    }

    /// Hears that a session is over.
    pub fn leave(&mut self, login: &Login) {
        let mut lines = Vec::new();
        self.control.features.access.leave(login.id, &mut lines);
        self.control.features.log.add_all(lines);
    }

    /// Gives the user `admin` this password if nobody could log in from the network to manage users,
    /// or if nobody was told the one that was given before, which is void then. Says whether it did:
    /// whoever tells it calls [`Self::first_password_is_told`] afterwards. `notes` are those that were
    /// there at the start.
    ///
    /// # Errors
    /// The store cannot keep it.
    pub fn give_first_password(
        &mut self,
        notes: &BTreeMap<String, String>,
        password: &str,
    ) -> Result<bool, Reason> {
        let untold = notes.get(UNTOLD).map(String::as_str);
        let admin = access::without_password(&self.store).or_else(|| self.given_to(untold?));
        let Some(admin) = admin else {
            // Whoever has set another since knows it.
            if untold.is_some() {
                self.first_password_is_told()?;
            }
            return Ok(false);
        };
        let menu = self.store.menu("/user").ok_or(Reason::NoItem)?;
        let property = menu.property("password").ok_or(Reason::NoItem)?;
        let seal = self.store.parse(property, password)?;
        let sealed = seal.as_ref().map(ToString::to_string).unwrap_or_default();
        // Before the password is there: whatever happens in between, the next start makes another.
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

    /// The user who still has the password of the note.
    fn given_to(&self, untold: &str) -> Option<Id> {
        let (user, seal) = untold.split_once(' ')?;
        let user = Id(user.parse().ok()?);
        let item = self.store.item("/user", user)?;
        (item.text("password") == seal).then_some(user)
    }

    /// Hears that somebody was told the first password.
    ///
    /// # Errors
    /// The store cannot keep that: the next start makes another.
    pub fn first_password_is_told(&mut self) -> Result<(), Reason> {
        self.store.note(UNTOLD, None)
    }

    /// Takes a port that the machine maps by this name (`ether1`). A name that no port has by itself is that of a
    /// virtual access point, whenever the configuration has one. Returns its number.
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
            // A disk that takes nothing is no reason to do without the port.
            Err(Reason::Storage(_)) if self.store.fault().is_some() => {}
            Err(reason) => return Err(reason),
        }
        Ok(self.control.attach_port(name, news, offloads, queues))
    }

    /// The files of the router for a user who moves them from afar.
    ///
    /// # Errors
    /// The user lacks policy `ftp`.
    pub fn remote_files(&mut self, caller: &menu::Caller<'_>) -> Result<RemoteFiles<'_>, Reason> {
        let files = &mut self.control.manage.files;
        files.act_for(caller);
        RemoteFiles::new(files, caller.policies)
    }

    /// The interfaces whose other end is to be a device of the machine, for a container.
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

    /// Whether a device may stand for an interface of this name: it is one that ports have by themselves, or that of
    /// a virtual access point of the configuration.
    pub fn is_port_name(&self, name: &str) -> bool {
        let item = self.store.named("interface", name);
        self.store.port_kind(name).is_some()
            || item.is_some_and(|item| is_virtual_radio(item) || item.menu.path == veth::MENU)
    }
}

#[cfg(test)]
mod tests;
