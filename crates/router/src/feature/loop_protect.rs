//! Loop protection, `loop-protect=on` of interfaces: holds an interface down for a time if it is
//! part of a loop. `service::loop_protect` decides.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::service::{FrameContent, Match, Rate, Scope, Service};
use frame::InterfaceId;
use machine::{Duration, Instant, Machine};
use menu::{Changes, Id, Item, Menu, Row, Value};
use service::loop_protect::{Action, Config, Event, LoopProtect, PAYLOAD};
use wire::{EtherType, Mac};

use super::hear::{How, Outgoing, ReceiveOutcome, ReceivedPacket};
use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{ItemId, Name};
use crate::kind;
use crate::read;
use crate::running::Running;

const SERVICE: &str = "loop-protect";
/// Limit of loop-protect frames: one frame reveals a loop.
const RATE: Rate = Rate {
    per_second: 1_000,
    burst: 64,
};
/// Reason in the row of an interface that is held down.
const WHY: &str = "loop-protect: it is part of a loop";

/// Loop protection of interfaces.
#[derive(Debug, Default)]
pub(crate) struct LoopProtection {
    machine: LoopProtect,
    /// Protected interfaces that exist, by item.
    there: BTreeMap<ItemId, (InterfaceId, Name)>,
}

impl Feature for LoopProtection {
    fn menus(&self) -> &'static [&'static str] {
        &kind::MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        if changes.is_none() {
            *self = Self::default();
        }
        for menu in kind::MENUS {
            each_item(view, menu, changes, |id, item| {
                match item.and_then(config) {
                    Some(config) => self.feed(Event::Protect(id, config), view.now, out),
                    None => self.leave(id, view.now, out),
                }
            });
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.do_(actions, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, _)| at)
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        // Only kinds of interfaces with this property can be protected.
        if menu.property("loop-protect-status").is_none() {
            return;
        }
        let status = match (self.machine.is_protected(id.0), self.machine.is_off(id.0)) {
            (_, true) => "disable",
            (true, false) => "on",
            (false, false) => "off",
        };
        row.set("loop-protect-status", Value::Word(status));
    }

    fn services(&self) -> Vec<Service> {
        if self.machine.is_empty() {
            return Vec::new();
        }
        let its = Match::Frame(FrameContent::EtherType(EtherType::LOOP_PROTECT.0));
        vec![Service {
            scope: Scope::Asked,
            ..Service::new(SERVICE, [its], RATE)
        }]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let laid = running.layout.interfaces.get(&heard.interface);
        if let Some(laid) = laid {
            let received = Event::Received {
                by: laid.item,
                source: heard.source_mac(),
            };
            self.feed(received, running.now, out);
        }
        ReceiveOutcome::Taken
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        if self.machine.is_empty() {
            return;
        }
        for id in others {
            let Some(laid) = running.layout.interfaces.get(id) else {
                continue;
            };
            let item = laid.item;
            if !self.machine.is_protected(item) {
                continue;
            }
            let before = self.there.insert(item, (*id, laid.name.clone()));
            if before.is_none_or(|(before, _)| before != *id) {
                out.push(hear(*id, true));
            }
            let link = Event::Link(item, laid.link.mac, laid.link.running);
            self.feed(link, running.now, out);
        }
    }
}

impl LoopProtection {
    fn leave(&mut self, item: ItemId, now: Instant, out: &mut Effects) {
        self.feed(Event::Leave(item), now, out);
        if let Some((id, _)) = self.there.remove(&item) {
            out.push(hear(id, false));
        }
    }

    fn feed(&mut self, event: Event, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.do_(actions, out);
    }

    fn do_(&mut self, actions: Vec<Action>, out: &mut Effects) {
        let name = |item| { self.there.get(&item) }.map_or("", |(_, name)| &**name);
        for action in actions {
            match action {
                Action::Send(item) => {
                    if let Some((interface, _)) = self.there.get(&item) {
                        out.send(Outgoing {
                            interface: *interface,
                            bytes: PAYLOAD.to_vec(),
                            how: How::Frame(Mac::BROADCAST, EtherType::LOOP_PROTECT),
                        });
                    }
                }
                Action::SwitchOff {
                    interface,
                    sender,
                    source,
                } => {
                    // RouterOS uses this text.
                    let message = format!(
                        "{} received loop protect packet originated from {source} ({})",
                        name(interface),
                        name(sender)
                    );
                    out.log("interface,warning", message);
                    out.push(hold(interface, true));
                }
                Action::SwitchOn(interface) => {
                    let message = format!("{} is enabled again by loop protect", name(interface));
                    out.log("interface,info", message);
                    out.push(hold(interface, false));
                }
            }
        }
    }
}

fn hear(interface: InterfaceId, on: bool) -> Effect {
    Effect::Hear {
        service: SERVICE,
        interface,
        on,
    }
}

fn hold(item: ItemId, is_held: bool) -> Effect {
    Effect::Hold {
        item,
        why: WHY,
        is_held,
    }
}

/// Reads the settings of an interface. Returns `None` if it is not protected. RouterOS: `default`
/// is off.
fn config(item: &Item) -> Option<Config> {
    let is_on = item.text("loop-protect") == "on" && !item.is("disabled");
    let span = |name| read::span(item, name).unwrap_or(Duration::ZERO);
    is_on.then(|| Config {
        send_interval: span("loop-protect-send-interval"),
        disable_time: span("loop-protect-disable-time"),
    })
}
