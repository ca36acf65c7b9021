//! The simulated world: nodes, lines, and virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use dataplane::Worker;
use frame::{Offloads, Sizes};
use machine::{Duration, Instant, Rng};
use menu::{Menu, Reason, Store};
use router::Instance;
use router::drive::{Control, PortNews, Secrets, Setup};
use script::{Interrupt, Session, Site};
use tool::Router;
use wire::Mac;

use crate::host::{Host, HostConfig};
use crate::line::{Fault, Line};
use crate::port::SimPort;

/// A node of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(usize);

/// One end of a line: node and port. A host has port 0 only.
type End = (NodeId, usize);

struct RouterNode {
    instance: Instance,
    workers: Vec<Worker>,
    ports: Vec<RouterPort>,
}

struct RouterPort {
    name: String,
    port: SimPort,
    news: PortNews,
}

enum Node {
    Router(Box<RouterNode>),
    Host(Box<Host>),
}

/// A frame in transit: arrival time, sequence of sending, destination.
type Flying = Reverse<(Instant, u64, End, Vec<u8>)>;

/// Nodes, the lines between them, and frames in transit.
pub struct World {
    now: Instant,
    rng: Rng,
    seed: u64,
    nodes: Vec<Node>,
    /// Per end: the ends that receive its frames, and the line's properties.
    lines: BTreeMap<End, (Vec<End>, Line)>,
    /// Ends of cut lines: frames are lost, and routers see the link down.
    cut: Vec<End>,
    flying: BinaryHeap<Flying>,
    sent: u64,
    digest: u64,
    /// Counters of line faults.
    pub fault: Fault,
}

impl World {
    /// Creates an empty world. Its whole history is determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            now: Instant::from_secs(1),
            rng: Rng::seeded(seed),
            seed,
            nodes: Vec::new(),
            lines: BTreeMap::new(),
            cut: Vec::new(),
            flying: BinaryHeap::new(),
            sent: 0,
            digest: 0xcbf2_9ce4_8422_2325,
            fault: Fault::default(),
        }
    }

    /// Returns a digest of all frames sent, with time and place.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns the number of frames sent by all nodes.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the seed, for messages of failing tests.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Adds a router with `ports` ports (`ether1` and so on) and this configuration.
    ///
    /// # Panics
    /// The configuration is refused.
    pub fn router(&mut self, configuration: &str, ports: usize, workers: usize) -> NodeId {
        let setup = Setup {
            workers,
            sizes: Sizes::LEAST,
            seed: self.rng.next_u64(),
            secrets: Secrets::Seed,
            now: self.now,
            clock: time_of_day(self.now),
        };
        let made = Instance::new(&setup, schema::store());
        let (instance, workers) = made.expect("memory for a router");
        let mut node = RouterNode {
            instance,
            workers,
            ports: Vec::new(),
        };
        let id = NodeId(self.nodes.len());
        for number in 0..ports {
            let news = PortNews {
                up: true,
                mac: Mac([2, 0xf0, 0, id.0 as u8, 0, number as u8 + 1]),
                mtu: 65_535,
            };
            node.ports.push(RouterPort {
                name: format!("ether{}", number + 1),
                port: SimPort::default(),
                news,
            });
            node.attach(number);
        }
        node.import(configuration);
        self.nodes.push(Node::Router(Box::new(node)));
        id
    }

    /// Adds a host.
    pub fn host(&mut self, config: HostConfig) -> NodeId {
        let id = NodeId(self.nodes.len());
        let mac = Mac([2, 0xb0, 0, id.0 as u8, 0, 1]);
        self.nodes
            .push(Node::Host(Box::new(Host::new(mac, config))));
        id
    }

    /// Connects two ports by a line.
    pub fn join(&mut self, a: (NodeId, usize), b: (NodeId, usize), line: Line) {
        self.share(&[a, b], line);
    }

    /// Connects several ports to a shared segment.
    pub fn share(&mut self, ends: &[(NodeId, usize)], line: Line) {
        for end in ends {
            let others = ends.iter().filter(|other| *other != end).copied();
            self.lines.insert(*end, (others.collect(), line));
        }
    }

    /// Cuts or restores the line of a port: links go down or up at both ends.
    pub fn cut(&mut self, end: (NodeId, usize), cut: bool) {
        let mut ends = vec![end];
        ends.extend(self.lines.get(&end).into_iter().flat_map(|(far, _)| far));
        for end in ends {
            self.cut.retain(|other| *other != end);
            if cut {
                self.cut.push(end);
            }
            if let Node::Router(router) = &mut self.nodes[end.0.0] {
                router.turn(end.1, !cut);
            }
        }
    }

    /// Removes the device of a port, or brings it back.
    pub fn unplug(&mut self, end: (NodeId, usize), gone: bool) {
        let Node::Router(router) = &mut self.nodes[end.0.0] else {
            return;
        };
        let port = &router.ports[end.1];
        port.port.clear();
        if gone {
            let name = port.name.clone();
            router.instance.control().detach_port(&name);
        } else {
            router.attach(end.1);
        }
    }

    /// Returns a host. Frames that it wants to send leave with the next time step.
    pub fn at(&mut self, id: NodeId) -> &mut Host {
        match &mut self.nodes[id.0] {
            Node::Host(host) => host,
            Node::Router(_) => panic!("{id:?} is a router"),
        }
    }

    /// Returns the control of a router.
    pub fn control(&mut self, id: NodeId) -> &mut Control {
        self.node(id).instance.control()
    }

    /// Runs commands on a router and returns their output. Time advances while a script waits.
    ///
    /// # Panics
    /// A command is refused.
    pub fn run_on(&mut self, id: NodeId, commands: &str) -> String {
        let done = self.try_on(id, commands);
        done.unwrap_or_else(|refusal| panic!("{commands}: {refusal}"))
    }

    /// Runs commands on a router and returns their output.
    ///
    /// # Errors
    /// The refusal of a command.
    pub fn try_on(&mut self, id: NodeId, commands: &str) -> Result<String, String> {
        let mut out = String::new();
        let scripting = self.node(id).instance.control().scripting();
        let mut session = scripting.session("admin");
        let mut visit = Visit { world: self, id };
        let done = script::run_at(&mut visit, &mut session, commands, &mut out);
        done.map(|()| out).map_err(|refusal| refusal.to_string())
    }

    fn node(&mut self, id: NodeId) -> &mut RouterNode {
        match &mut self.nodes[id.0] {
            Node::Router(router) => router,
            Node::Host(_) => panic!("{id:?} is a host"),
        }
    }

    /// Advances time.
    pub fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            self.settle();
            self.run_events();
            let Some(next) = self.next().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.land();
        }
        self.now = end;
        self.settle();
        self.run_events();
    }

    /// Runs scheduled scripts that are due. Time advances while a script waits.
    fn run_events(&mut self) {
        for number in 0..self.nodes.len() {
            let Node::Router(router) = &mut self.nodes[number] else {
                continue;
            };
            for job in router.instance.due_jobs() {
                let id = NodeId(number);
                job.run(&mut Visit { world: self, id });
            }
        }
    }

    /// Advances time until a condition holds. Returns false if it never does within `span`.
    pub fn run_until(
        &mut self,
        span: Duration,
        mut is_true: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let end = self.now + span;
        while self.now < end {
            self.run(Duration::from_millis(10));
            if is_true(self) {
                return true;
            }
        }
        false
    }

    fn next(&mut self) -> Option<Instant> {
        let flying = self.flying.peek().map(|Reverse((at, ..))| *at);
        let nodes = self.nodes.iter_mut().filter_map(|node| match node {
            Node::Router(router) => router.deadline(),
            Node::Host(host) => host.deadline(),
        });
        // An expired deadline without effect would stop time.
        let later = |at: Instant| at.max(self.now + Duration::from_nanos(1));
        nodes.chain(flying).map(later).min()
    }

    /// Delivers frames whose arrival time has come.
    fn land(&mut self) {
        while let Some(Reverse((at, ..))) = self.flying.peek()
            && *at <= self.now
            && let Some(Reverse((_, _, end, bytes))) = self.flying.pop()
        {
            if self.cut.contains(&end) {
                self.fault.lost += 1;
                continue;
            }
            match &mut self.nodes[end.0.0] {
                Node::Router(router) => router.ports[end.1].port.arrive(bytes),
                Node::Host(host) => host.receive(&bytes, self.now),
            }
        }
    }

    /// Steps all nodes until none has anything left to do at this time.
    fn settle(&mut self) {
        let mut leaving = Vec::new();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            match node {
                Node::Router(router) => router.settle(self.now, |port, bytes| {
                    leaving.push(((NodeId(index), port), bytes));
                }),
                Node::Host(host) => {
                    host.tick(self.now);
                    let sent = host.leave().into_iter();
                    leaving.extend(sent.map(|bytes| ((NodeId(index), 0), bytes)));
                }
            }
        }
        for (end, bytes) in leaving {
            self.send(end, bytes);
        }
    }

    fn send(&mut self, from: End, bytes: Vec<u8>) {
        let Some((to, line)) = self.lines.get(&from).cloned() else {
            return;
        };
        self.note(from, &bytes);
        if self.cut.contains(&from) {
            self.fault.lost += 1;
            return;
        }
        for to in to {
            for after in line.arrivals(bytes.len(), &mut self.rng, &mut self.fault) {
                self.sent += 1;
                let frame = (self.now + after, self.sent, to, bytes.clone());
                self.flying.push(Reverse(frame));
            }
        }
    }

    /// Adds a frame with time and origin to the digest.
    fn note(&mut self, from: End, bytes: &[u8]) {
        let mut mix = |value: u64| {
            // FNV-1a (Fowler, Noll, Vo), in words.
            self.digest = (self.digest ^ value).wrapping_mul(0x0100_0000_01b3);
        };
        mix(self.now.as_nanos());
        mix((from.0.0 as u64) << 8 | from.1 as u64);
        bytes.iter().for_each(|byte| mix(u64::from(*byte)));
    }
}

/// A console session on a router of the world.
struct Visit<'a> {
    world: &'a mut World,
    id: NodeId,
}

impl Site for Visit<'_> {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        self.world.node(self.id).instance.lend(run);
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.world.now.as_nanos())
    }

    fn wait(&mut self, until: Duration, _: &Interrupt) -> Result<(), Reason> {
        self.world.run(until.saturating_sub(self.now()));
        Ok(())
    }
}

impl RouterNode {
    fn import(&mut self, configuration: &str) {
        let (mut session, mut out) = (Session::new("admin"), String::new());
        let done = self.instance.import(&mut session, configuration, &mut out);
        done.unwrap_or_else(|refusal| panic!("{refusal} in {configuration}"));
    }

    fn attach(&mut self, number: usize) {
        let RouterPort { name, port, news } = &self.ports[number];
        // One queue, on one worker: the others get their flows from it.
        let worker = (number % self.workers.len()) as u16;
        let queue = (worker, Box::new(port.clone()) as Box<dyn frame::Port>);
        let attached = self
            .instance
            .attach_port(name, *news, Offloads::default(), vec![queue]);
        attached.expect("a port's name");
    }

    fn turn(&mut self, number: usize, up: bool) {
        let port = &mut self.ports[number];
        port.news.up = up;
        self.instance.control().port_news(&port.name, port.news);
    }

    /// Returns the next deadline of control or a worker.
    fn deadline(&mut self) -> Option<Instant> {
        let workers = self.workers.iter_mut().filter_map(Worker::deadline);
        workers.chain(self.instance.deadline()).min()
    }

    fn settle(&mut self, now: Instant, mut leave: impl FnMut(usize, Vec<u8>)) {
        self.instance.control().set_clock(time_of_day(now));
        // Bounded: an endless exchange between two parties is a bug.
        for _ in 0..10_000 {
            let mut idle = !self.instance.poll(now);
            // The program does this in a thread of its own.
            if let Some(joining) = self.instance.control().take_joining() {
                self.instance.control().hear_joined(&joining.run());
                idle = false;
            }
            for worker in &mut self.workers {
                // The world begins at midnight.
                worker.set_unix_ms(now.as_nanos() / 1_000_000);
                idle &= worker.step(now).is_idle();
            }
            for (number, port) in self.ports.iter().enumerate() {
                for bytes in port.port.leave() {
                    leave(number, bytes);
                }
            }
            if idle {
                return;
            }
        }
        panic!("a router does not come to rest at {now:?}");
    }
}

/// The world begins on 1970-01-01 00:00:00 UTC.
fn time_of_day(now: Instant) -> menu::Clock {
    menu::Clock {
        nanos: (now.as_nanos() % 1_000_000_000) as u32,
        ..menu::Clock::utc(i64::try_from(now.as_nanos() / 1_000_000_000).unwrap_or(0))
    }
}
