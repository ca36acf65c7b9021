//! A running router: assembles threads, sockets and devices.

pub(crate) mod config;
pub(crate) mod devices;
pub(crate) mod fair_lock;
pub(crate) mod patterns;
pub(crate) mod shared;
pub(crate) mod workers;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant as SystemInstant;

use machine::Duration;
use netio::{Umem, WaitSet, Waker};
use router::Instance;
use router::drive::{Secrets, Setup};
use router::files::Files;
use router::mirror::MirrorChanges;
use rustix::fs::Mode;
use signal_hook::iterator::Signals;

use crate::cli::Run;
use crate::cli::location::Location;
use crate::host::{HostPlane, mirrors::Mirrors};
use crate::inlet::adlists::AdLists;
use crate::inlet::bandwidth::BandwidthTests;
use crate::inlet::fetches::PageFetches;
use crate::inlet::mails::Mails;
use crate::inlet::names::Names;
use crate::inlet::probes::Probes;
use crate::inlet::radsec::RadSec;
use crate::inlet::streams::{Exchange, Streams};
use crate::inlet::syslog::Syslog;
use crate::inlet::token::TokenReports;
use crate::run::patterns::Patterns;
use crate::run::shared::{Shared, local_clock};
use crate::run::workers::Workers;
use crate::services::{self, Services};
use crate::session::control::Server;
use crate::system::confine::Confinement;
use crate::system::heap::Heap;
use crate::system::notify::notify;
use crate::system::resources::Watch;
use devices::Devices;

/// Runs a router in the foreground until it is stopped.
pub(crate) fn run(run: &Run) -> Result<u8, String> {
    logging(run);
    let mut stop = WaitSet::new().map_err(|error| format!("eventfd: {error}"))?;
    let signals = signals()?;
    let router = start(run, None)?;
    let waker = stop.waker();
    thread::spawn(move || { signals }.forever().for_each(|_| waker.wake()));
    for port in router.ports_in_words() {
        tracing::info!("{port}");
    }
    tracing::info!(
        "ready: ferroute console --control {}",
        router.place.control.display()
    );
    notify("READY=1");
    while !stop
        .wait(None)
        .map_err(|error| format!("eventfd: {error}"))?
        .by_waker
    {}
    notify("STOPPING=1");
    drop(router);
    Ok(0)
}

/// Registers the termination signals. The main thread waits for them only after startup: threads started
/// earlier would keep rights that the router drops.
fn signals() -> Result<Signals, String> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(|error| format!("signals: {error}"))
}

/// A running router. Dropping stops it and restores the devices.
pub(crate) struct Running {
    // Drop order: clients must not reach a stopping router.
    server: Option<Server>,
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    control: Option<JoinHandle<Outside>>,
    workers: Option<Workers>,
    place: Location,
    ports: Vec<String>,
}

impl Running {
    /// Describes each port with its device and driver.
    pub(crate) fn ports_in_words(&self) -> Vec<String> {
        self.ports.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server = None;
        self.stop.store(true, Ordering::SeqCst);
        self.shared.wake.wake();
        let outside = self.control.take().and_then(|control| control.join().ok());
        self.shared.lock().end();
        // Workers close the ports before the devices are restored.
        self.workers = None;
        drop(outside);
    }
}

/// Starts a router; `default` is the configuration of a router without one. The calling thread keeps only the
/// rights that a running router needs.
pub(crate) fn start(run: &Run, default: Option<&str>) -> Result<Running, String> {
    // Only the router's user may access its files, whatever the inherited umask.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let place = Location::of(&run.reach);
    place.check()?;
    let specs = devices::parse(&run.ports)?;
    let mut store = schema::store();
    store.set_seal(crate::session::access::seal, crate::session::access::opens);
    for spec in &specs {
        if store.port_kind(&spec.name).is_none() {
            // A virtual access point, whose device is searched once the configuration is loaded.
            continue;
        }
        store
            .ensure_port(&spec.name, None)
            .map_err(|error| format!("port {}: {error}", spec.name))?;
    }
    let state = place.state.as_deref();
    let state = state.map(|folder| config::state_folder(folder, run));
    let state = state.transpose()?;
    let (notes, said) = config::load(&mut store, state.as_ref(), run, default)?;

    let started = SystemInstant::now();
    let setup = Setup {
        workers: usize::from(run.workers),
        sizes: crate::system::memory::sizes(run),
        seed: seed(),
        secrets: Secrets::System,
        now: machine::Instant::ZERO,
        clock: local_clock(&store),
    };
    let (mut instance, mut workers) =
        Instance::new(&setup, store).map_err(|error| format!("memory for packets: {error}"))?;
    if let Some(spec) = { specs.iter() }.find(|spec| !instance.is_port_name(&spec.name)) {
        return Err(devices::misnamed(&spec.name));
    }
    if let Some(board) = run.board {
        instance.control().set_board(board);
    }
    instance.recall(&notes);
    if let Some(state) = &state {
        let (log, kept) = config::leases(state)?;
        instance.control().recall_leases(log, kept);
        let (log, kept) = config::records(state)?;
        instance.control().recall_records(log, kept);
        let (log, kept) = config::traffic(state)?;
        instance.control().recall_history(log, kept);
    }
    instance.begin(&notes, &said);
    print_new(&mut instance);
    if let Some(state) = &place.state {
        instance
            .control()
            .set_files(Files::open(&state.join("files"))?);
    }

    let mut waiting = WaitSet::new().map_err(|error| format!("eventfd: {error}"))?;
    let memory = workers
        .iter_mut()
        .map(|worker| Umem::of(worker.pool()))
        .collect();
    let written = devices::captures(&specs);
    let confinement = Confinement::of(&place, written.into_iter().chain(run.token_folder.clone()));
    let mut devices = Devices::new(specs, run, &place, memory)?;
    devices.learn(instance.control(), seed());
    waiting
        .add(devices.fd())
        .map_err(|error| format!("netlink: {error}"))?;
    devices.follow(&mut instance)?;
    let ports = devices.in_words();
    // Printed once, and not by a router that fails to start.
    if !run.no_host || run.listen.is_some() {
        crate::session::access::first_password(&mut instance, &notes, &mut io::stderr())?;
    }
    let host = host_plane(run, &confinement).map(Arc::new);
    confinement.enter();
    let token = TokenReports::start(run, state.as_ref(), waiting.waker())?;
    crate::session::hashing::open();
    let exchange = Arc::new(Exchange::new(instance.control().workers().streams()));
    let workers = Workers::start(workers, &waiting.waker(), exchange.passed(), started)
        .map_err(|error| format!("worker threads: {error}"))?;
    let sleepers = Arc::clone(workers.sleepers());
    let shared = Shared::new(
        instance,
        waiting.waker(),
        sleepers,
        host.clone(),
        place.state.clone(),
        started,
    );
    let shared = Arc::new(shared);
    let mirrors = first_mirrors(host.as_deref(), &shared, &waiting.waker());
    let stop = Arc::new(AtomicBool::new(false));
    let resources = Watch::new(place.state.as_deref().unwrap_or(std::path::Path::new("/")));
    let offers = services::offers(&shared, state.as_ref())?;
    let names = Names::new(host.clone(), waiting.waker());
    let patterns = Patterns::new(waiting.waker());
    let probes = Probes::new(host.clone(), waiting.waker());
    let fetches = PageFetches::new(host.clone(), waiting.waker());
    let bandwidth = BandwidthTests::new(host.clone(), waiting.waker());
    let adlists = AdLists::new(waiting.waker());
    let mails = Mails::new(host.clone(), waiting.waker());
    let radsec = RadSec::new(waiting.waker());
    let streams = Streams::new(host.clone(), waiting.waker(), exchange);
    let sharing = streams.sharing();
    let services = Services::new(offers, run.listen, &shared, state.as_ref(), sharing)?;
    let control = {
        let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
        let body = move || {
            let mut outside = Outside {
                waiting,
                devices,
                mirrors,
                services,
                host,
                resources,
                rested: started,
                names,
                patterns,
                probes,
                fetches,
                bandwidth,
                adlists,
                mails,
                radsec,
                streams,
                token,
                syslog: Syslog::default(),
                heap: Heap::default(),
            };
            while !stop.load(Ordering::SeqCst) {
                outside.round(&shared);
            }
            outside.end_accounting(&shared);
            say_farewell(&shared);
            outside.devices.close(shared.lock().control());
            shared.after_change(&mut shared.lock());
            if let Some(host) = &outside.host {
                host.remove_mirrors();
            }
            outside
        };
        thread::Builder::new()
            .name(String::from("router"))
            .spawn(body)
    };
    let control = control.map_err(|error| format!("control thread: {error}"))?;
    let mut running = Running {
        server: None,
        stop,
        shared,
        control: Some(control),
        workers: Some(workers),
        place,
        ports,
    };
    running.server = Some(Server::start(&running.place.control, &running.shared)?);
    log_effects(&running.shared);
    Ok(running)
}

/// Logs the number of commands without effect. Runs beside forwarding, since a long configuration takes a
/// while.
fn log_effects(shared: &Shared) {
    if let Some(line) = shared.effects() {
        shared.lock().control().log().add("system,warning", line);
        shared.wake.wake();
    }
}

/// Prints the new entries of the log.
fn print_new(instance: &mut Instance) {
    for entry in instance.control().log().take_new() {
        print_log(&entry.topics, &entry.message);
    }
}

/// Time for the workers to send farewell messages, and interval of checks.
const FAREWELL_TIME: Duration = Duration::from_millis(100);
const FAREWELL_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Time for RADIUS servers to acknowledge the end of sessions, and interval of checks. What they have not acknowledged
/// is stored and sent after the next start.
const ACCOUNTING_TIME: Duration = Duration::from_secs(1);
const ACCOUNTING_CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Sends farewell messages to the neighbours while the ports are still open.
fn say_farewell(shared: &Arc<Shared>) {
    let until = SystemInstant::now() + FAREWELL_TIME;
    let mut instance = shared.lock();
    instance.control().say_farewell();
    loop {
        shared.after_change(&mut instance);
        if instance.control().workers().is_heard() || SystemInstant::now() >= until {
            return;
        }
        thread::park_timeout(FAREWELL_CHECK_INTERVAL);
    }
}

fn host_plane(run: &Run, confinement: &Confinement) -> Option<HostPlane> {
    if run.no_host {
        return None;
    }
    match HostPlane::new(confinement) {
        Ok(host) => Some(host),
        Err(error) => {
            tracing::warn!("{error}; the router's own TCP and UDP services cannot be reached");
            None
        }
    }
}

/// Creates the mirrors of the initial configuration, so that services are reachable once the router reports
/// ready.
fn first_mirrors(host: Option<&HostPlane>, shared: &Shared, wake: &Waker) -> Mirrors {
    let mut mirrors = Mirrors::default();
    let next = |mirrors: &mut Mirrors| {
        let mut instance = shared.lock();
        mirrors.take(instance.control(), shared.now())
    };
    while let Some(host) = host
        && let Some(changes) = next(&mut mirrors)
    {
        mirrors.follow(host, changes, shared, wake);
    }
    mirrors
}

/// Maximum sleep of the control thread.
const MAX_SLEEP: Duration = Duration::from_secs(1);

/// Interval of checks whether workers have released ports to reopen.
const RELEASE_CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Idle time after which the store does deferred work, such as snapshots.
const IDLE_TIME: Duration = Duration::from_secs(2);

/// State of the control thread besides the router.
struct Outside {
    waiting: WaitSet,
    devices: Devices,
    mirrors: Mirrors,
    services: Services,
    host: Option<Arc<HostPlane>>,
    resources: Watch,
    /// Time of the store's last deferred work.
    rested: SystemInstant,
    names: Names,
    patterns: Patterns,
    probes: Probes,
    token: TokenReports,
    fetches: PageFetches,
    bandwidth: BandwidthTests,
    adlists: AdLists,
    mails: Mails,
    radsec: RadSec,
    streams: Streams,
    syslog: Syslog,
    heap: Heap,
}

impl Outside {
    /// One round: links, mirrors, punted packets, timers; then a sleep until more work arrives. While a transaction
    /// only lets readers in, the work that follows or changes the configuration waits for its end.
    fn round(&mut self, shared: &Arc<Shared>) {
        let (jobs, datagrams, asks, radius, streams, probes, fetches, mirrors);
        let servers = self.names.look();
        let wait = {
            let mut instance = shared.read();
            let busy = shared.set_time(&mut instance);
            jobs = match instance.is_read_only() {
                true => Vec::new(),
                false => self.follow_configuration(&mut instance),
            };
            asks = self.names.follow(&mut instance, servers);
            radius = self.radsec.follow(&mut instance);
            streams = self.streams.follow(&mut instance);
            self.patterns.follow(&mut instance);
            probes = self.probes.follow(&mut instance);
            fetches = self.fetches.follow(&mut instance);
            self.bandwidth.follow(shared.now(), &mut instance);
            self.adlists.follow(&mut instance);
            self.mails.follow(shared, &mut instance);
            let control = instance.control();
            if let Some(resources) = self.resources.look() {
                control.set_resources(resources);
            }
            mirrors = match self.host {
                Some(_) => self.mirrors.take(control, shared.now()),
                None => None,
            };
            let control = instance.control();
            for entry in control.log().take_new() {
                print_log(&entry.topics, &entry.message);
            }
            datagrams = control.log().take_datagrams();
            let until = control.deadline().map(|at| at - shared.now());
            control.set_closed_services(self.services.closed());
            shared.after_change(&mut instance);
            let until = match self.devices.is_waiting() {
                true => Some(
                    until
                        .unwrap_or(RELEASE_CHECK_INTERVAL)
                        .min(RELEASE_CHECK_INTERVAL),
                ),
                false => until,
            };
            if busy { Some(Duration::ZERO) } else { until }
        };
        let mut wait = wait;
        if self.mirror(shared, mirrors) {
            wait = Some(Duration::ZERO);
        }
        self.heap.trim();
        self.syslog.send(shared, self.host.as_ref(), &datagrams);
        self.names.put(asks, shared);
        self.radsec.put(radius, shared);
        self.streams.put(streams, shared);
        self.probes.begin(shared, probes);
        self.fetches.begin(shared, fetches);
        self.patterns.begin();
        self.adlists.begin(self.host.as_ref(), shared);
        for job in jobs {
            if let Err(error) = crate::session::jobs::start(shared, job) {
                tracing::error!("{error}");
            }
        }
        // `/system/resource` is never older than this.
        let wait = wait.map_or(MAX_SLEEP, |wait| wait.min(MAX_SLEEP));
        if let Err(error) = self.waiting.wait(Some(wait)) {
            tracing::error!("waiting: {error}");
        }
    }
}

impl Outside {
    /// Brings devices and services in line with the configuration, and lets the store rest. Returns the scripts that
    /// are due.
    fn follow_configuration(&mut self, instance: &mut Instance) -> Vec<script::Job> {
        self.token.follow(instance);
        if let Err(error) = self.devices.follow(instance) {
            tracing::error!("{error}");
        }
        if self.rested.elapsed() >= IDLE_TIME {
            self.rested = SystemInstant::now();
            if instance.rest() {
                self.heap.expect_leftovers();
            }
        }
        self.heap.follow(instance.store().revision());
        self.services.follow(self.host.as_deref(), instance.store());
        instance.due_jobs()
    }

    /// Reports the end of accounted sessions to RADIUS servers while the ports are still open, and stores the reports
    /// that they do not acknowledge.
    fn end_accounting(&mut self, shared: &Arc<Shared>) {
        let until = SystemInstant::now() + ACCOUNTING_TIME;
        shared.lock().control().end_accounting();
        loop {
            let mut instance = shared.lock();
            shared.set_time(&mut instance);
            let orders = self.radsec.follow(&mut instance);
            shared.after_change(&mut instance);
            let is_ending = instance.control().is_accounting_ending();
            if !is_ending || SystemInstant::now() >= until {
                instance.control().store_reports();
                return;
            }
            drop(instance);
            self.radsec.put(orders, shared);
            if let Err(error) = self.waiting.wait(Some(ACCOUNTING_CHECK_INTERVAL)) {
                tracing::error!("waiting: {error}");
            }
        }
    }

    /// Starts mirror changes and takes over finished ones. Returns true if more may be pending.
    fn mirror(&mut self, shared: &Shared, changes: Option<MirrorChanges>) -> bool {
        let (host, wake) = (self.host.as_deref(), self.waiting.waker());
        host.is_some_and(|host| {
            if let Some(changes) = changes {
                self.mirrors.begin(host, changes, &wake);
            }
            self.mirrors.settle(host, shared, &wake)
        })
    }
}

/// Prints a log entry; RouterOS topics determine the severity.
fn print_log(topics: &str, message: &str) {
    // A line break would forge an entry.
    let (topics, message) = (menu::visible(topics), menu::visible(message));
    let has = |topic| topics.split(',').any(|t| t == topic);
    if has("error") || has("critical") {
        tracing::error!("{topics} {message}");
    } else if has("warning") {
        tracing::warn!("{topics} {message}");
    } else if has("debug") {
        tracing::debug!("{topics} {message}");
    } else {
        tracing::info!("{topics} {message}");
    }
}

fn logging(run: &Run) {
    use crate::cli::LogLevel;
    let level = match run.log {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false);
    log.with_writer(io::stderr)
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .init();
}

fn seed() -> u64 {
    // The standard library seeds this from the kernel.
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one(std::process::id())
}
