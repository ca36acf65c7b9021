//! The tracer: records the decision of every stage and every rule about a packet, in words.
//!
//! Stages are generic over the tracer; the one of production does nothing and costs nothing. A
//! traced packet runs the forwarding code with a separate connection tracker: connections that it
//! begins or is assumed to belong to exist only in its trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use frame::{InterfaceId, Pool, Sizes};
use machine::Rng;

use crate::connection::{self, ConnectionCopy, ExpectedConnection, Tick};
use crate::drop::DropReason;
use crate::interface::InterfaceTable;
use crate::nat::Mappings;
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::rule::{
    self, ArpMatch, Chain, Clock, LinkMatch, List, Match, Matcher, Rule, RuleCounters, StpMatch,
    Subject, Watch,
};
use crate::service::Services;
use crate::snapshot::Snapshot;
use crate::table::Fib;
pub use crate::tracer::{Assumed, Silent, Tracer};
use crate::walk::explain::{self, Follower};
use crate::walk::{self, Context, Exit, Memory, Stage};

/// The decision of a stage or a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The stage.
    pub stage: Stage,
    /// The rule, for decisions of rules.
    pub rule: Option<Tried>,
    /// The lookup, for decisions of routing.
    pub sought: Option<Sought>,
    /// The decision, in words for users.
    pub decision: String,
}

/// A routing lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sought {
    /// Number of the table.
    pub table: u16,
    /// The destination; IPv4 in the low 32 bits.
    pub destination: u128,
}

/// A rule that was evaluated for the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Number of the rule in control.
    pub number: u32,
    /// Name of its chain.
    pub chain: Arc<str>,
    /// The first property that did not match; `None` if the rule matched.
    pub failed: Option<&'static str>,
}

/// A tracer that records decisions.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// Decisions, in the packet's order.
    pub lines: Vec<Line>,
    /// Assumptions about the packet.
    pub assumed: Assumed,
    asking: Option<Stage>,
    sought: Option<Sought>,
    marked: Option<(InterfaceId, u32)>,
    /// The services of control, for names of punts.
    services: Arc<Services>,
}

impl Recorder {
    fn tell(&mut self, stage: Stage, decision: String) {
        self.lines.push(Line {
            stage,
            rule: None,
            sought: self.sought.take_if(|_| stage == Stage::Routing),
            decision,
        });
    }
}

impl Tracer for Recorder {
    fn passed(&mut self, stage: Stage, decision: impl FnOnce() -> String) {
        self.tell(stage, decision());
    }

    fn left(&mut self, stage: Stage, exit: &Exit) {
        let decision = match exit {
            Exit::Punt(PuntReason::Service { id, .. }) => {
                format!("the service {} takes it", self.services.name(*id))
            }
            exit => exit.to_string(),
        };
        self.tell(stage, decision);
    }

    fn looked_up(&mut self, table: u16, destination: u128) {
        self.sought = Some(Sought { table, destination });
    }

    fn asks(&mut self, stage: Stage) {
        self.asking = Some(stage);
    }

    fn marked(&mut self, ingress: InterfaceId, mark: u32) {
        self.marked = Some((ingress, mark));
    }

    fn noticed(&mut self, stage: Stage, notice: impl FnOnce() -> Option<String>) {
        if let Some(notice) = notice() {
            self.tell(stage, notice);
        }
    }

    fn assumed(&self) -> Assumed {
        self.assumed
    }
}

impl Watch for Recorder {
    const COMMITS: bool = false;

    fn tried(
        &mut self,
        chain: &Chain,
        rule: &Rule,
        failed: Option<&Matcher>,
        _subject: &Subject<'_>,
    ) {
        let failed = failed.map(|matcher| property(&matcher.what));
        self.lines.push(Line {
            stage: self.asking.unwrap_or(Stage::Ingress),
            rule: Some(Tried {
                number: rule.id,
                chain: Arc::clone(&chain.name),
                failed,
            }),
            sought: None,
            decision: match failed {
                None => "matched".to_owned(),
                Some(failed) => format!("not matched: {failed}"),
            },
        });
    }

    fn log(&mut self, _chain: &Chain, _rule: &Rule, _subject: &Subject<'_>) {}

    fn sniff(&mut self, _rule: &Rule, _subject: &Subject<'_>) {}

    fn keep(&mut self, _list: &List, _address: u128, _ipv6: bool) {}
}

/// Returns the rule property that a matcher belongs to.
const fn property(what: &Match) -> &'static str {
    match what {
        Match::Never => "invalid",
        Match::SourceMac(_) => "src-mac-address",
        Match::Link(what) => property_of_link(what),
        Match::InInterface(_) => "in-interface",
        Match::OutInterface(_) => "out-interface",
        Match::InInterfaceList(_) => "in-interface-list",
        Match::OutInterfaceList(_) => "out-interface-list",
        Match::InBridgePort(_) => "in-bridge-port",
        Match::OutBridgePort(_) => "out-bridge-port",
        Match::InBridgePortList(_) => "in-bridge-port-list",
        Match::OutBridgePortList(_) => "out-bridge-port-list",
        Match::Source(_) => "src-address",
        Match::Destination(_) => "dst-address",
        Match::SourceType(_) => "src-address-type",
        Match::DestinationType(_) => "dst-address-type",
        Match::SourceList(_) => "src-address-list",
        Match::DestinationList(_) => "dst-address-list",
        Match::Ttl(_) => "ttl",
        Match::Dscp(_) => "dscp",
        Match::Tos(_) => "tos",
        Match::PacketSize(..) => "packet-size",
        Match::TlsHost(_) => "tls-host",
        Match::Ipv4Options(_) => "ipv4-options",
        Match::Headers(_) => "headers",
        Match::Fragment(_) => "fragment",
        Match::Protocol(_) => "protocol",
        Match::DestinationPort(_) => "dst-port",
        Match::SourcePort(_) => "src-port",
        Match::Port(_) => "port",
        Match::TcpFlags { .. } => "tcp-flags",
        Match::TcpMss(..) => "tcp-mss",
        Match::Icmp(_) => "icmp-options",
        Match::IngressPriority(_) => "ingress-priority",
        Match::Priority(_) => "priority",
        Match::PacketMark(_) => "packet-mark",
        Match::RoutingMark(_) => "routing-mark",
        Match::Realm(_) => "realm",
        Match::Hotspot { .. } => "hotspot",
        Match::ConnectionMark(_) => "connection-mark",
        Match::ConnectionState(_) => "connection-state",
        Match::ConnectionNatState(_) => "connection-nat-state",
        // The action does not apply.
        Match::Mapped => "action",
        Match::ConnectionBytes { .. } => "connection-bytes",
        Match::ConnectionLimit(_) => "connection-limit",
        Match::ConnectionRate { .. } => "connection-rate",
        Match::Ipsec { .. } => "ipsec-policy",
        Match::ConnectionType(_) => "connection-type",
        Match::Content(_) => "content",
        Match::Time(_) => "time",
        Match::Psd(_) => "psd",
        Match::Layer7(_) => "layer7-protocol",
        Match::Random(_) => "random",
        Match::Nth(_) => "nth",
        Match::PerConnection { .. } => "per-connection-classifier",
        Match::Limit(_) => "limit",
        Match::DstLimit(_) => "dst-limit",
    }
}

/// Returns the rule property that a frame matcher belongs to.
const fn property_of_link(what: &LinkMatch) -> &'static str {
    match what {
        LinkMatch::InBridge(_) => "in-bridge",
        LinkMatch::OutBridge(_) => "out-bridge",
        LinkMatch::InBridgeList(_) => "in-bridge-list",
        LinkMatch::OutBridgeList(_) => "out-bridge-list",
        LinkMatch::Source(_) => "src-mac-address",
        LinkMatch::Destination(_) => "dst-mac-address",
        // IP matchers imply this one.
        LinkMatch::Kind(..) | LinkMatch::Carries(_) => "mac-protocol",
        LinkMatch::For(_) => "packet-type",
        LinkMatch::VlanId(..) => "vlan-id",
        LinkMatch::VlanPriority(_) => "vlan-priority",
        LinkMatch::VlanEncap(..) => "vlan-encap",
        LinkMatch::Sap(_) => "802.3-sap",
        LinkMatch::SnapType(_) => "802.3-type",
        LinkMatch::Arp(what) => match what {
            ArpMatch::Opcode(_) => "arp-opcode",
            ArpMatch::Hardware(_) => "arp-hardware-type",
            ArpMatch::Protocol(..) => "arp-packet-type",
            ArpMatch::Gratuitous(_) => "arp-gratuitous",
            ArpMatch::Source(..) => "arp-src-address",
            ArpMatch::Destination(..) => "arp-dst-address",
            ArpMatch::SourceMac(_) => "arp-src-mac-address",
            ArpMatch::DestinationMac(_) => "arp-dst-mac-address",
        },
        LinkMatch::Stp(what) => match what {
            StpMatch::Kind(_) => "stp-type",
            StpMatch::Flags(_) => "stp-flags",
            StpMatch::RootPriority(..) => "stp-root-priority",
            StpMatch::Root(_) => "stp-root-address",
            StpMatch::RootCost(..) => "stp-root-cost",
            StpMatch::SenderPriority(..) => "stp-sender-priority",
            StpMatch::Sender(_) => "stp-sender-address",
            StpMatch::Port(..) => "stp-port",
            StpMatch::Time(0, ..) => "stp-msg-age",
            StpMatch::Time(1, ..) => "stp-max-age",
            StpMatch::Time(2, ..) => "stp-hello-time",
            StpMatch::Time(..) => "stp-forward-delay",
        },
    }
}

/// The result of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Decisions, stage by stage.
    pub lines: Vec<Line>,
    /// The end of the packet's walk.
    pub end: End,
    /// The fields that queues match: ingress interface and packet mark; `None` if the packet passes
    /// no queues.
    pub marked: Option<(InterfaceId, u32)>,
    /// The egress interfaces.
    pub egress: Egress,
}

/// The egress interfaces of a traced packet, also if its next hop has no link address yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Egress {
    /// The interface that routing chose, or the port that a bridge chose.
    pub interface: Option<InterfaceId>,
    /// The interfaces below, from the top: bridge ports, bond slaves, and the egress interfaces of
    /// outer packets of tunnels and IPsec.
    pub below: Vec<InterfaceId>,
}

impl Egress {
    /// Adds an interface. The first is the packet's own egress.
    pub(crate) fn add(&mut self, id: InterfaceId) {
        match self.interface {
            None => self.interface = Some(id),
            Some(above) if above == id || self.below.last() == Some(&id) => {}
            Some(_) => self.below.push(id),
        }
    }
}

/// The end of a traced packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// This interface sends the packet.
    Sent(InterfaceId),
    /// Any other exit: dropped, punted, delivered.
    Exit(Exit),
}

/// Walks a frame received on `ingress` through the stages, and commits nothing: no counter changes,
/// and nothing is sent.
pub fn trace_packet(tables: WorkerTables<'_>, frame: &[u8], ingress: InterfaceId) -> Walked {
    trace(tables, &Question::new(frame, ingress))
}

/// The tables by which workers forward packets.
#[derive(Clone, Copy, Debug)]
pub struct WorkerTables<'a> {
    /// Rules and settings.
    pub snapshot: &'a Snapshot,
    /// The interfaces.
    pub interfaces: &'a InterfaceTable,
    /// Routes and next hops.
    pub fib: &'a Fib,
}

/// The packet of a trace and its circumstances.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The frame, from its link header on.
    pub frame: &'a [u8],
    /// The ingress interface.
    pub ingress: InterfaceId,
    /// Assumptions about the packet.
    pub assumed: Assumed,
    /// Time of reception.
    pub clock: Clock,
    /// Endpoint-independent NAT mappings, if there are any; the trace adds none.
    pub mappings: Option<&'a Arc<Mappings>>,
    /// The packet's connection, if it exists.
    pub known: Option<&'a ConnectionCopy>,
    /// The expectation that the packet's new connection fulfils, if there is one.
    pub awaited: Option<&'a ExpectedConnection>,
    /// Connections of outer packets. Without the table, outer packets begin new connections.
    pub connections: Option<&'a connection::Table>,
    /// Outs of interfaces with queues, by interface slot.
    pub behind_queues: Option<&'a BTreeMap<u32, OutId>>,
}

impl<'a> Question<'a> {
    /// Creates a question about a frame without further assumptions.
    pub fn new(frame: &'a [u8], ingress: InterfaceId) -> Self {
        Self {
            frame,
            ingress,
            assumed: Assumed::default(),
            clock: Clock::default(),
            mappings: None,
            known: None,
            awaited: None,
            connections: None,
            behind_queues: None,
        }
    }
}

/// Connections that a trace has room for: the packet's connection, the connection that may expect
/// it, and the connections of outer packets.
const CONNECTIONS: u32 = 2 + explain::OUTER_PACKETS as u32;

/// Pool of a trace: one slot for the frame, one for a longer copy, and slots for fragments.
const SLOTS: Sizes = Sizes {
    small: 64,
    medium: 16,
    large: 4,
};

/// Walks the packet of a question, with its assumptions, through the stages, and commits nothing.
pub fn trace(tables: WorkerTables<'_>, question: &Question<'_>) -> Walked {
    let WorkerTables {
        snapshot,
        interfaces,
        fib,
    } = tables;
    let mut recorder = Recorder {
        assumed: question.assumed,
        services: Arc::clone(&snapshot.services),
        ..Recorder::default()
    };
    let cx = Context {
        snapshot,
        interfaces,
        fib,
        now: question.clock.now,
        midnight_ms: walk::UNKNOWN_TIME,
    };
    let mut egress = Egress::default();
    let memory = memory(snapshot, question).zip(Pool::new(SLOTS).ok());
    let end = memory.and_then(|(mut memory, mut pool)| {
        let mut frame = pool.alloc_from(question.frame)?;
        let mut follower = Follower {
            cx: &cx,
            question,
            memory: &mut memory,
            pool: &mut pool,
            frame: &mut frame,
            egress: &mut egress,
            watch: &mut recorder,
        };
        let end = follower.follow();
        pool.free(frame);
        Some(end)
    });
    let end = match (end, egress.interface) {
        (Some(Ok(())), Some(interface)) => End::Sent(interface),
        (Some(Err(exit)), _) => End::Exit(exit),
        (Some(Ok(())), None) | (None, _) => End::Exit(Exit::Drop(DropReason::NoBuffer)),
    };
    Walked {
        lines: recorder.lines,
        marked: recorder.marked,
        end,
        egress,
    }
}

/// Builds the firewall state of a worker with only the packet's connection in it.
fn memory(snapshot: &Snapshot, question: &Question<'_>) -> Option<Memory> {
    let settings = connection::Settings {
        entries_max: CONNECTIONS,
        ..snapshot.firewall.settings.clone()
    };
    let mut rng = Rng::seeded(0);
    let (table, trackers) = connection::trackers(1, &settings, &mut rng).ok()?;
    if let Some(mappings) = question.mappings {
        table.set_mappings(Arc::clone(mappings));
    }
    let mut rules = rule::Worker::new(Arc::<RuleCounters>::default(), 0);
    rules.clock = question.clock;
    let mut tracker = trackers.into_iter().next()?;
    if let Some(known) = question.known {
        tracker.adopt(known).then_some(())?;
    }
    if let Some(awaited) = question.awaited {
        let now = Tick::of(question.clock.now);
        tracker.adopt_awaited(awaited, now).then_some(())?;
    }
    Some(Memory { rules, tracker })
}
