//! What bridging decides about a frame, for the tracer: the decisions of [`super::decide`], one after the other.

use frame::InterfaceId;

use super::decide::{self, Class, Leaves, Many, Source, To};
use super::{Bridge, BridgePort, filter, flood, guard};
use crate::drop::DropReason;
use crate::interface::Above;
use crate::rule::{Marks, Readdress, Verdict};
use crate::walk::guarded::Watcher;
use crate::walk::guarded::bridged::Hook;
use crate::walk::{Context, Exit, Memory, Stage, name};

/// What a frame comes to in a bridge.
pub(crate) enum Bridged {
    /// It goes up to the router, as this frame of this interface.
    Up(InterfaceId, Vec<u8>),
    /// It leaves by this port.
    Sent(InterfaceId),
}

/// Decides about a frame that comes by this interface, if that is a port of a bridge.
///
/// # Errors
/// The frame's end.
pub(crate) fn trace<W: Watcher>(
    cx: &Context<'_>,
    port: InterfaceId,
    bytes: &[u8],
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
        Some(source) => decide_from(cx, &source, bytes, memory, tracer),
        None => Err(Exit::Drop(DropReason::InterfaceDown)),
    };
    if let Err(exit) = &decided
        && *exit != Exit::Flood
    {
        tracer.left(Stage::Bridging, exit);
    }
    Some(decided)
}

/// Decides about a frame that the router sends by the bridge in this slot: the port that it leaves by, if that is one.
///
/// # Errors
/// The frame's end.
pub(crate) fn trace_down<W: Watcher>(
    cx: &Context<'_>,
    slot: u32,
    bytes: &[u8],
    memory: &mut Memory,
    tracer: &mut W,
) -> Result<Option<InterfaceId>, Exit> {
    let bridge = cx.interfaces.bridges().get(slot as usize);
    let bridge = bridge.as_ref().and_then(|bridge| bridge.as_ref());
    let decided = match bridge {
        Some(bridge) => decide_from(cx, &Source::router(bridge), bytes, memory, tracer),
        None => Err(Exit::Drop(DropReason::EgressDown)),
    };
    match decided {
        Ok(Bridged::Sent(port)) => Ok(Some(port)),
        Ok(Bridged::Up(..)) | Err(Exit::Flood) => Ok(None),
        Err(exit) => {
            tracer.left(Stage::Bridging, &exit);
            Err(exit)
        }
    }
}

fn decide_from<W: Watcher>(
    cx: &Context<'_>,
    source: &Source<'_>,
    bytes: &[u8],
    memory: &mut Memory,
    tracer: &mut W,
) -> Result<Bridged, Exit> {
    let looked = filter::looked_at(cx, source);
    let source = looked.as_ref().unwrap_or(source);
    let head = decide::head(bytes).ok_or(Exit::Drop(DropReason::EthernetLength))?;
    let mut walk = Walk {
        cx,
        source,
        marks: Marks::default(),
        memory,
        tracer,
    };
    if !source.is_router()
        && let Some(Verdict::Drop(_)) = walk.ask(Hook::Chip, InterfaceId::NONE, bytes)
    {
        return Err(Exit::Drop(Hook::Chip.reason()));
    }
    if source.keeps(&head) {
        return Err(super::receive::heard(cx, source, bytes)
            .unwrap_or(Exit::Drop(DropReason::BridgeReserved)));
    }
    let mut bytes = bytes.to_vec();
    if walk.arrives(&mut bytes)? {
        return Ok(Bridged::Sent(source.interface));
    }
    let head = decide::head(&bytes).unwrap_or(head);
    let class = decide::admit(source, &head).map_err(Exit::Drop)?;
    guard::look(source.bridge.guards, source.trust, &bytes).map_err(Exit::Drop)?;
    walk.comes_in(&class);
    let hosts = cx.interfaces.bridges().hosts();
    let place = hosts.place(&source.key(&class, head.to));
    match decide::find((cx.interfaces, hosts), source, &head, &class, place) {
        To::Nowhere(reason) => Err(Exit::Drop(reason)),
        To::Up => walk.rises(&class, &bytes),
        To::Port(id) => walk.leaves(&class, id, &bytes),
        To::Many(many) => walk.spreads(&class, many, &bytes),
    }
}

/// A frame on its way.
struct Walk<'a, W> {
    cx: &'a Context<'a>,
    source: &'a Source<'a>,
    marks: Marks,
    memory: &'a mut Memory,
    tracer: &'a mut W,
}

impl<W: Watcher> Walk<'_, W> {
    /// Asks `dstnat`: whether the frame is answered.
    fn arrives(&mut self, bytes: &mut [u8]) -> Result<bool, Exit> {
        if self.source.is_router() {
            return Ok(false);
        }
        let [_, _, own @ ..] = self.source.own.to_be_bytes();
        let to = match self.ask(Hook::Dstnat, InterfaceId::NONE, bytes) {
            Some(Verdict::Drop(_)) => return Err(Exit::Drop(Hook::Dstnat.reason())),
            Some(Verdict::Readdress(Readdress::ArpReply(mac))) => {
                self.tracer
                    .passed(Stage::Bridging, || format!("is told that it is at {mac}"));
                return Ok(true);
            }
            Some(Verdict::Readdress(Readdress::Destination(mac))) => mac.0,
            Some(Verdict::Readdress(Readdress::Redirect)) => own,
            _ => return Ok(false),
        };
        if let Some(place) = bytes.first_chunk_mut() {
            *place = to;
        }
        Ok(false)
    }

    fn comes_in(&mut self, class: &Class) {
        let (cx, source) = (self.cx, self.source);
        let (bridge, from) = (source.bridge.id, source.interface);
        self.tracer.passed(Stage::Bridging, || {
            let comes = format!("comes into {} by {}", name(cx, bridge), name(cx, from));
            match class.vid {
                0 => comes,
                vid => format!("{comes}, in VLAN {vid}"),
            }
        });
    }

    fn rises(&mut self, class: &Class, bytes: &[u8]) -> Result<Bridged, Exit> {
        let bridge = self.source.bridge;
        let how = decide::rises(self.source, class).map_err(Exit::Drop)?;
        self.goes_on(&[Hook::Input], InterfaceId::NONE, bytes)?;
        self.tracer
            .passed(Stage::Bridging, || "goes up to the router".to_owned());
        let bytes = retagged(bytes, class, how, bridge);
        Ok(Bridged::Up(bridge.id, bytes))
    }

    fn leaves(&mut self, class: &Class, id: InterfaceId, bytes: &[u8]) -> Result<Bridged, Exit> {
        let number = self.source.bridge.number(id);
        let number = number.ok_or(Exit::Drop(DropReason::EgressDown))?;
        let how = decide::leaves(self.source, class, number).map_err(Exit::Drop)?;
        self.leaves_by_rules(id, bytes)?;
        let cx = self.cx;
        self.tracer
            .passed(Stage::Bridging, || leaves_by(&name(cx, id), how));
        let group = |port: &BridgePort| port.switched.map(|at| at.group);
        let from = self.source.switched.and_then(group);
        if from.is_some() && from == group(&self.source.bridge.ports()[number]) {
            self.tracer.passed(Stage::Bridging, || SWITCHED.to_owned());
        }
        Ok(Bridged::Sent(id))
    }

    fn spreads(&mut self, class: &Class, many: Many, bytes: &[u8]) -> Result<Bridged, Exit> {
        let (cx, source) = (self.cx, self.source);
        let ports: Vec<_> = flood::targets(cx, source, bytes, (*class, many)).collect();
        let rises = many != Many::Unknown && !source.is_router();
        if ports.is_empty() && !rises {
            return Err(Exit::Drop(DropReason::BridgeNowhere));
        }
        let mut names = Vec::new();
        for (number, _) in ports {
            let port = source.bridge.ports()[number].interface;
            if self.leaves_by_rules(port, bytes).is_ok() {
                names.push(name(cx, port));
            }
        }
        self.tracer
            .passed(Stage::Bridging, || match names.is_empty() {
                true => "no port takes a copy".to_owned(),
                false => format!("copies leave by {}", names.join(", ")),
            });
        match rises && decide::rises(source, class).is_ok() {
            true => self.rises(class, bytes),
            false => Err(Exit::Flood),
        }
    }

    fn leaves_by_rules(&mut self, port: InterfaceId, bytes: &[u8]) -> Result<(), Exit> {
        let hooks = [filter::through(self.source), Hook::Srcnat];
        self.goes_on(&hooks, port, bytes)
    }

    /// Asks the rules of hooks behind the decision.
    fn goes_on(&mut self, hooks: &[Hook], egress: InterfaceId, bytes: &[u8]) -> Result<(), Exit> {
        for hook in hooks {
            if let Some(Verdict::Drop(_)) = self.ask(*hook, egress, bytes) {
                return Err(Exit::Drop(hook.reason()));
            }
        }
        Ok(())
    }

    fn ask(&mut self, hook: Hook, egress: InterfaceId, bytes: &[u8]) -> Option<Verdict> {
        let rules = self.source.looks.rules?;
        self.tracer.asks(Stage::Bridging);
        let way = filter::between(self.source, egress);
        let worker = &mut self.memory.rules;
        rules.explain(
            self.cx,
            hook,
            bytes,
            (way, &mut self.marks),
            worker,
            self.tracer,
        )
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

/// A frame as it goes up.
fn retagged(bytes: &[u8], class: &Class, how: Leaves, bridge: &Bridge) -> Vec<u8> {
    const ADDRESSES: usize = 12;
    let mut frame = bytes.to_vec();
    let [a, b] = bridge.ethertype.to_be_bytes();
    let [c, d] = class.vid.to_be_bytes();
    match (how, class.tagged) {
        (Leaves::AsItIs, _) | (Leaves::Untagged, false) => {}
        (Leaves::Tagged, false) => _ = frame.splice(ADDRESSES..ADDRESSES, [a, b, c, d]),
        (Leaves::Tagged, true) => frame[ADDRESSES + 2] = frame[ADDRESSES + 2] & 0xf0 | c,
        (Leaves::Untagged, true) => _ = frame.drain(ADDRESSES..ADDRESSES + 4),
    }
    if how == Leaves::Tagged {
        frame[ADDRESSES + 3] = d;
    }
    frame
}
