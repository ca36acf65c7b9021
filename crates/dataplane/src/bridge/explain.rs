//! The tracer's bridging: runs the decisions of [`super::decide`] and of the bridge's rules for one
//! frame.

use frame::{Frame, InterfaceId};

use super::decide::{self, BridgeDestination, Class, FloodKind, Leaves, Source};
use super::{Bridge, BridgePort, filter, flood, guard, link, tags};
use crate::drop::DropReason;
use crate::interface::Above;
use crate::out::OutId;
use crate::rule::{Marks, Readdress, Verdict};
use crate::walk::decide::Detoured;
use crate::walk::decide::Watcher;
use crate::walk::decide::bridged::{Hook, TracedFrame};
use crate::walk::decide::detour;
use crate::walk::decide::detour::{DetourEnd, Ports};
use crate::walk::{Context, Exit, Memory, Stage, name};

/// The result of bridging a frame.
pub(crate) enum Bridged {
    /// The frame goes up to the router, on the bridge's interface.
    Up(InterfaceId),
    /// The frame leaves by this port and out.
    Sent(InterfaceId, OutId),
    /// A rule answers it (`action=arp-reply`) by its ingress port.
    Answered(InterfaceId),
}

/// Decides about a frame received by this interface, if it is a bridge port.
///
/// # Errors
/// The frame's exit.
pub(crate) fn explain<W: Watcher>(
    cx: &Context<'_>,
    port: InterfaceId,
    frame: &mut Frame,
    memory: &mut Memory,
    tracer: &mut W,
) -> Option<Result<Bridged, Exit>> {
    let line = cx.interfaces.get(port)?;
    if line.above != Above::Bridge {
        return None;
    }
    let id = cx.interfaces.above(port);
    let bridge = cx.interfaces.bridges().get(id.slot());
    let bridge = bridge.as_ref().and_then(|bridge| bridge.as_ref());
    let source = bridge
        .filter(|bridge| bridge.id == id && line.running)
        .and_then(|bridge| Source::port(bridge, port, cx.interfaces));
    let decided = match source {
        Some(source) => decide_from(cx, &source, frame, memory, tracer),
        None => Err(Exit::Drop(DropReason::InterfaceDown)),
    };
    if let Err(exit) = &decided
        && *exit != Exit::Flood
    {
        tracer.left(Stage::Bridging, exit);
    }
    Some(decided)
}

/// Decides about a frame that the router sends by the bridge in this slot. Returns the egress port
/// and its out, or `None` if copies leave by several ports.
///
/// # Errors
/// The frame's exit.
pub(crate) fn explain_down<W: Watcher>(
    cx: &Context<'_>,
    slot: u32,
    frame: &mut Frame,
    memory: &mut Memory,
    tracer: &mut W,
) -> Result<Option<(InterfaceId, OutId)>, Exit> {
    let bridge = cx.interfaces.bridges().get(slot as usize);
    let bridge = bridge.as_ref().and_then(|bridge| bridge.as_ref());
    let decided = match bridge {
        Some(bridge) => decide_from(cx, &Source::router(bridge), frame, memory, tracer),
        None => Err(Exit::Drop(DropReason::EgressDown)),
    };
    match decided {
        Ok(Bridged::Sent(port, out)) => Ok(Some((port, out))),
        Ok(Bridged::Up(_) | Bridged::Answered(_)) | Err(Exit::Flood) => Ok(None),
        Err(exit) => {
            tracer.left(Stage::Bridging, &exit);
            Err(exit)
        }
    }
}

fn decide_from<W: Watcher>(
    cx: &Context<'_>,
    source: &Source<'_>,
    frame: &mut Frame,
    memory: &mut Memory,
    tracer: &mut W,
) -> Result<Bridged, Exit> {
    let looked = filter::with_tables(cx, source);
    let source = looked.as_ref().unwrap_or(source);
    let head = decide::head(frame.bytes()).ok_or(Exit::Drop(DropReason::EthernetLength))?;
    let mut walk = Walk {
        cx,
        source,
        marks: Marks::default(),
        memory,
        tracer,
        detoured: None,
    };
    if !source.is_router()
        && let Some(Verdict::Drop(_)) = walk.ask(Hook::Chip, InterfaceId::NONE, frame)
    {
        return Err(Exit::Drop(Hook::Chip.reason()));
    }
    if source.keeps(&head) {
        return Err(super::receive::heard(cx, source, frame.bytes())
            .unwrap_or(Exit::Drop(DropReason::BridgeReserved)));
    }
    if walk.arrives(frame)? {
        return Ok(Bridged::Answered(source.interface));
    }
    walk.detours(frame)?;
    let head = decide::head(frame.bytes()).unwrap_or(head);
    let class = decide::admit(source, &head).map_err(Exit::Drop)?;
    guard::check(source.bridge.guards, source.trust, frame.bytes()).map_err(Exit::Drop)?;
    walk.comes_in(&class);
    let hosts = cx.interfaces.bridges().hosts();
    let place = hosts.place(&source.key(&class, head.to));
    match decide::find(cx.interfaces, hosts, source, &head, &class, place) {
        BridgeDestination::Nowhere(reason) => Err(Exit::Drop(reason)),
        BridgeDestination::Up => walk.rises(&class, frame),
        BridgeDestination::Port(id) => walk.leaves(&class, id, frame),
        BridgeDestination::Many(many) => walk.spreads(&class, many, frame),
    }
}

/// The state of a trace through a bridge.
struct Walk<'a, W> {
    cx: &'a Context<'a>,
    source: &'a Source<'a>,
    marks: Marks,
    memory: &'a mut Memory,
    tracer: &'a mut W,
    /// The decisions of the IP tables about the packet, if they apply.
    detoured: Option<Detoured>,
}

impl<W: Watcher> Walk<'_, W> {
    /// Evaluates `dstnat`. Returns true if a rule answers the frame.
    fn arrives(&mut self, frame: &mut Frame) -> Result<bool, Exit> {
        if self.source.is_router() {
            return Ok(false);
        }
        let to = match self.ask(Hook::Dstnat, InterfaceId::NONE, frame) {
            Some(Verdict::Drop(_)) => return Err(Exit::Drop(Hook::Dstnat.reason())),
            Some(Verdict::Readdress(Readdress::ArpReply(mac))) => {
                self.tracer.passed(Stage::Bridging, || {
                    format!("is rule_events that it is at {mac}")
                });
                return Ok(true);
            }
            Some(Verdict::Readdress(Readdress::Destination(mac))) => mac.0,
            Some(Verdict::Readdress(Readdress::Redirect)) => self.own(),
            _ => return Ok(false),
        };
        readdress(frame, to);
        Ok(false)
    }

    /// Returns the MAC address of the bridge's interface.
    fn own(&self) -> [u8; 6] {
        let [_, _, own @ ..] = self.source.own.to_be_bytes();
        own
    }

    /// Passes a packet that is not for the router through the IP tables before the bridging
    /// decision (RouterOS: `use-ip-firewall`).
    fn detours(&mut self, frame: &mut Frame) -> Result<(), Exit> {
        let source = self.source;
        let is_passing = |frame: &Frame| {
            let head = decide::head(frame.bytes());
            head.is_some_and(|head| head.to != source.own && !source.keeps(&head))
        };
        if !source.applied.detours || !source.is_open() || !is_passing(frame) {
            return Ok(());
        }
        let entered = detour::explain_entry(
            self.cx,
            frame,
            source.bridge.id,
            source.interface,
            self.memory,
            self.tracer,
        );
        match entered {
            Ok(detoured) => self.detoured = detoured,
            Err(DetourEnd::Routed) => readdress(frame, self.own()),
            Err(DetourEnd::Ends(exit)) => return Err(exit),
        }
        Ok(())
    }

    fn comes_in(&mut self, class: &Class) {
        let (cx, source) = (self.cx, self.source);
        let (bridge, from) = (source.bridge.id, source.interface);
        self.tracer.passed(Stage::Bridging, || {
            let comes = format!("comes into {} by {}", name(cx, bridge), name(cx, from));
            match class.vid() {
                0 => comes,
                vid => format!("{comes}, in VLAN {vid}"),
            }
        });
    }

    fn rises(&mut self, class: &Class, frame: &mut Frame) -> Result<Bridged, Exit> {
        let bridge = self.source.bridge;
        let how = decide::rises(self.source, class).map_err(Exit::Drop)?;
        retag(frame, class, how, bridge)?;
        self.goes_on(&[Hook::Input], InterfaceId::NONE, frame)?;
        self.tracer
            .passed(Stage::Bridging, || "goes up to the router".to_owned());
        frame.rise(self.source.interface, bridge.id);
        Ok(Bridged::Up(bridge.id))
    }

    fn leaves(
        &mut self,
        class: &Class,
        id: InterfaceId,
        frame: &mut Frame,
    ) -> Result<Bridged, Exit> {
        let number = self.source.bridge.number(id);
        let number = number.ok_or(Exit::Drop(DropReason::EgressDown))?;
        let how = decide::leaves(self.source, class, number).map_err(Exit::Drop)?;
        let line = self.cx.interfaces.get(id).filter(|line| line.running);
        let line = line.ok_or(Exit::Drop(DropReason::EgressDown))?;
        retag(frame, class, how, self.source.bridge)?;
        frame.egress = id;
        self.leaves_by_rules(id, frame)?;
        if link::bytes_on_link(frame) > flood::longest(&line) {
            return Err(Exit::Drop(DropReason::BridgeTooBig));
        }
        if line.under != id && !flood::put_own_tags(self.cx, frame) {
            return Err(Exit::Drop(DropReason::NoBuffer));
        }
        frame.l3 = link::packet_at(frame.bytes()) as u16;
        let cx = self.cx;
        self.tracer
            .passed(Stage::Bridging, || leaves_by(&name(cx, id), how));
        let group = |port: &BridgePort| port.switched.map(|at| at.group);
        let from = self.source.switched.and_then(group);
        if from.is_some() && from == group(&self.source.bridge.ports()[number]) {
            self.tracer.passed(Stage::Bridging, || SWITCHED.to_owned());
        }
        Ok(Bridged::Sent(id, line.out))
    }

    fn spreads(
        &mut self,
        class: &Class,
        many: FloodKind,
        frame: &mut Frame,
    ) -> Result<Bridged, Exit> {
        let (cx, source) = (self.cx, self.source);
        let ports: Vec<_> = flood::targets(cx, source, frame.bytes(), *class, many).collect();
        let rises = many != FloodKind::Unknown && !source.is_router();
        if ports.is_empty() && !rises {
            return Err(Exit::Drop(DropReason::BridgeNowhere));
        }
        let (mut names, mut refused) = (Vec::new(), None);
        for (number, _) in ports {
            let port = source.bridge.ports()[number].interface;
            match self.leaves_by_rules(port, frame) {
                Ok(()) => names.push(name(cx, port)),
                Err(exit) => refused = Some(exit),
            }
        }
        self.tracer
            .passed(Stage::Bridging, || match names.is_empty() {
                true => "no port takes a copy".to_owned(),
                false => format!("copies leave by {}", names.join(", ")),
            });
        match refused {
            _ if rises && decide::rises(source, class).is_ok() => self.rises(class, frame),
            // Rules dropped every copy.
            Some(exit) if names.is_empty() => Err(exit),
            _ => Err(Exit::Flood),
        }
    }

    fn leaves_by_rules(&mut self, port: InterfaceId, frame: &mut Frame) -> Result<(), Exit> {
        let through = filter::through(self.source);
        self.goes_on(&[through], port, frame)?;
        if let Some(detoured) = self.detoured {
            let ports = Ports {
                bridge: self.source.bridge.id,
                ingress: self.source.interface,
                egress: port,
            };
            detour::explain_exit(self.cx, frame, &detoured, ports, self.memory, self.tracer)?;
        }
        self.goes_on(&[Hook::Srcnat], port, frame)
    }

    /// Evaluates the rules of hooks behind the bridging decision.
    fn goes_on(&mut self, hooks: &[Hook], egress: InterfaceId, frame: &Frame) -> Result<(), Exit> {
        for hook in hooks {
            if let Some(Verdict::Drop(_)) = self.ask(*hook, egress, frame) {
                return Err(Exit::Drop(hook.reason()));
            }
        }
        Ok(())
    }

    fn ask(&mut self, hook: Hook, egress: InterfaceId, frame: &Frame) -> Option<Verdict> {
        let rules = self.source.applied.rules?;
        self.tracer.asks(Stage::Bridging);
        let frame = TracedFrame {
            bytes: frame.bytes(),
            ports: filter::port_pair(self.source, egress),
            marks: &mut self.marks,
        };
        rules.explain(self.cx, hook, frame, &mut self.memory.rules, self.tracer)
    }
}

const SWITCHED: &str =
    "is switched below the router once both hosts are known: no rule, queue or sniffer sees it";

fn leaves_by(port: &str, how: Leaves) -> String {
    match how {
        Leaves::AsItIs => format!("leaves by {port}"),
        Leaves::Tagged => format!("leaves by {port}, with a tag"),
        Leaves::Untagged => format!("leaves by {port}, without a tag"),
    }
}

/// Replaces the destination MAC address of a frame.
fn readdress(frame: &mut Frame, to: [u8; 6]) {
    if let Some(place) = frame.bytes_mut().first_chunk_mut() {
        *place = to;
    }
}

fn retag(frame: &mut Frame, class: &Class, how: Leaves, bridge: &Bridge) -> Result<(), Exit> {
    match tags::retag(frame, class, how, bridge.ethertype) {
        true => Ok(()),
        false => Err(Exit::Drop(DropReason::NoBuffer)),
    }
}
