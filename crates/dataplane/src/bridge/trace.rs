//! What bridging decides about a frame, for the tracer: the decisions of [`super::decide`], one after the other.

use frame::InterfaceId;

use super::decide::{self, Class, Leaves, Many, Source, To};
use super::{Bridge, flood, guard};
use crate::drop::DropReason;
use crate::interface::Above;
use crate::trace::Tracer;
use crate::walk::{Context, Exit, Stage, name};

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
pub(crate) fn trace<T: Tracer>(
    cx: &Context<'_>,
    port: InterfaceId,
    bytes: &[u8],
    tracer: &mut T,
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
        Some(source) => decide_from(cx, &source, bytes, tracer),
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
pub(crate) fn trace_down<T: Tracer>(
    cx: &Context<'_>,
    slot: u32,
    bytes: &[u8],
    tracer: &mut T,
) -> Result<Option<InterfaceId>, Exit> {
    let bridge = cx.interfaces.bridges().get(slot as usize);
    let bridge = bridge.as_ref().and_then(|bridge| bridge.as_ref());
    let decided = match bridge {
        Some(bridge) => decide_from(cx, &Source::router(bridge), bytes, tracer),
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

fn decide_from<T: Tracer>(
    cx: &Context<'_>,
    source: &Source<'_>,
    bytes: &[u8],
    tracer: &mut T,
) -> Result<Bridged, Exit> {
    let head = decide::head(bytes).ok_or(Exit::Drop(DropReason::EthernetLength))?;
    if source.keeps(&head) {
        return Err(super::receive::heard(cx, source, bytes)
            .unwrap_or(Exit::Drop(DropReason::BridgeReserved)));
    }
    let class = decide::admit(source, &head).map_err(Exit::Drop)?;
    guard::look(source.bridge.guards, source.trust, bytes).map_err(Exit::Drop)?;
    let (bridge, hosts) = (source.bridge, cx.interfaces.bridges().hosts());
    let from = name(cx, source.interface);
    tracer.passed(Stage::Bridging, || match class.vid {
        0 => format!("comes into {} by {from}", name(cx, bridge.id)),
        vid => format!(
            "comes into {} by {from}, in VLAN {vid}",
            name(cx, bridge.id)
        ),
    });
    let place = hosts.place(&source.key(&class, head.to));
    let to = decide::find((cx.interfaces, hosts), source, &head, &class, place);
    let goes_up = |tracer: &mut T| {
        let how = decide::rises(source, &class).map_err(Exit::Drop)?;
        tracer.passed(Stage::Bridging, || "goes up to the router".to_owned());
        let bytes = retagged(bytes, &class, how, bridge);
        Ok(Bridged::Up(bridge.id, bytes))
    };
    match to {
        To::Nowhere(reason) => Err(Exit::Drop(reason)),
        To::Up => goes_up(tracer),
        To::Port(id) => {
            let number = bridge
                .number(id)
                .ok_or(Exit::Drop(DropReason::EgressDown))?;
            let how = decide::leaves(source, &class, number).map_err(Exit::Drop)?;
            tracer.passed(Stage::Bridging, || leaves_by(&name(cx, id), how));
            Ok(Bridged::Sent(id))
        }
        To::Many(many) => {
            let ports = flood::targets(cx, source, bytes, (class, many));
            let ports = ports.map(|(number, _)| name(cx, bridge.ports()[number].interface));
            let ports: Vec<_> = ports.collect();
            let rises = many != Many::Unknown && !source.is_router();
            if ports.is_empty() && !rises {
                return Err(Exit::Drop(DropReason::BridgeNowhere));
            }
            tracer.passed(Stage::Bridging, || match ports.is_empty() {
                true => "no port takes a copy".to_owned(),
                false => format!("copies leave by {}", ports.join(", ")),
            });
            match rises && decide::rises(source, &class).is_ok() {
                true => goes_up(tracer),
                false => Err(Exit::Flood),
            }
        }
    }
}

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
