//! Tunnels between two addresses: `/interface/eoip`, `gre`, `ipip`, their variants over IPv6, and `6to4`.
//!
//! ```text
//! item ─▶ Settings ─┐
//! DNS name ─────────┼─▶ Interface with a Between ─▶ layout
//! path to remote ───┘   keepalives ─▶ Hold
//! ```
//! The remote end may be a DNS name, which is resolved again when its TTL ends. Control looks up the path to each
//! remote end when routes or interfaces change: it gives the local address and the MTU where the item leaves them open.

mod keepalive;
pub(crate) mod read;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::encap::between::Heard;
use frame::InterfaceId;
use machine::Instant;
use menu::{Changes, Id, Item, Menu, Row, Value};

use self::keepalive::Watch;
use self::read::{Remote, Settings, pick};
use super::hear::Outgoing;
use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{Interface, ItemId, Name, Wanted};
use crate::kind::tunnel::MENUS;
use crate::running::Running;

/// MTU of a path that no route leads.
const USUAL_MTU: u32 = 1500;
/// Why a tunnel is held down.
const SILENT: &str = "the other end sends no keepalives";

/// The route to a remote end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// The address that this router uses towards it.
    source: Option<IpAddr>,
    /// The interface that packets leave by, and its MTU.
    interface: Name,
    mtu: u32,
}

impl Path {
    /// Looks up the path to `remote`; `None` without a route.
    pub(crate) fn find(running: &Running<'_>, remote: IpAddr) -> Option<Self> {
        let interface = running.leads_to(remote)?.clone();
        let (_, laid) = running.layout.named(&interface)?;
        Some(Self {
            source: running.source(remote),
            mtu: laid.link.mtu,
            interface,
        })
    }
}

/// The feature of tunnels.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    all: BTreeMap<ItemId, Tunnel>,
    paths: BTreeMap<IpAddr, Path>,
    /// Whether paths may have changed.
    asks: bool,
}

/// One tunnel.
#[derive(Debug)]
struct Tunnel {
    settings: Settings,
    remote: Option<IpAddr>,
    /// MTU of the path; the last known one while no route leads to the remote end.
    path_mtu: u32,
    heard: Heard,
    watch: Option<Watch>,
    /// The interface as it was announced last.
    announced: Option<Interface>,
}

impl Tunnel {
    /// Whether the interface depends on the path to the remote end.
    fn needs_path(&self) -> bool {
        self.settings.local.is_none() || self.settings.mtu.is_none()
    }

    /// Announces the interface if it changed.
    fn announce(&mut self, id: ItemId, out: &mut Effects) {
        let interface = { &self.settings }.interface(self.remote, self.path_mtu, &self.heard);
        if self.announced.as_ref() != Some(&interface) {
            self.announced = Some(interface.clone());
            out.push(Effect::Item(id, Wanted::Interface(Some(interface))));
        }
    }

    /// Takes over the MTU of the path. A path through the tunnel itself counts for nothing.
    fn follow_path(&mut self, paths: &BTreeMap<IpAddr, Path>) {
        let path = self.remote.and_then(|remote| paths.get(&remote));
        let path = path.filter(|path| *path.interface != *self.settings.name());
        self.path_mtu = path.map_or(self.path_mtu, |path| path.mtu);
    }

    /// Changes the remote end; its silence is counted from now on.
    fn move_to(&mut self, id: ItemId, remote: Option<IpAddr>, out: &mut Effects) {
        if core::mem::replace(&mut self.remote, remote) == remote {
            return;
        }
        self.heard = Heard::default();
        if let Some(watch) = &mut self.watch
            && watch.restart()
        {
            out.push(hold(id, false));
        }
    }
}

impl Tunnels {
    /// Returns the remote ends whose paths are to be looked up, once after a change.
    pub(crate) fn take_asked(&mut self) -> Option<BTreeSet<IpAddr>> {
        let asks = core::mem::take(&mut self.asks);
        let open = self.all.values().filter(|tunnel| tunnel.needs_path());
        asks.then(|| open.filter_map(|tunnel| tunnel.remote).collect())
    }

    /// Has paths looked up again, as routes or interfaces changed.
    pub(crate) fn routes_changed(&mut self) {
        self.asks |= self.all.values().any(Tunnel::needs_path);
    }

    /// Takes over the paths to remote ends.
    pub(crate) fn set_paths(&mut self, paths: BTreeMap<IpAddr, Path>, out: &mut Effects) {
        if self.paths == paths {
            return;
        }
        self.paths = paths;
        for (id, tunnel) in &mut self.all {
            tunnel.follow_path(&self.paths);
            tunnel.announce(*id, out);
        }
    }

    fn put(&mut self, id: ItemId, item: &Item, out: &mut Effects) {
        let settings = Settings::read(item);
        // Asked for before the item's former name is released, so that a name that stays is not looked up anew.
        let remote = settings
            .as_ref()
            .and_then(|settings| settings.remote.as_ref());
        if let Some(name) = remote.and_then(Remote::name) {
            out.push(resolve(name, true));
        }
        let before = self.remove(id, out);
        let Some(settings) = settings else {
            return out.push(Effect::Item(id, Wanted::Interface(None)));
        };
        let in_use = before.as_ref().and_then(|before| {
            let same = before.settings.remote == settings.remote;
            before.remote.filter(|_| same)
        });
        let remote = match &settings.remote {
            Some(Remote::Address(address)) => Some(*address),
            Some(Remote::Name(_)) => in_use,
            None => None,
        };
        let is_same_end = before
            .as_ref()
            .is_some_and(|before| before.remote == remote);
        let heard = before
            .filter(|_| is_same_end)
            .map(|before| (before.heard, before.path_mtu));
        let (heard, path_mtu) = heard.unwrap_or((Heard::default(), USUAL_MTU));
        let mut tunnel = Tunnel {
            watch: Watch::read(item)
                .filter(|_| !settings.is_disabled() && settings.has_keepalives()),
            settings,
            remote,
            path_mtu,
            heard,
            announced: None,
        };
        tunnel.follow_path(&self.paths);
        tunnel.announce(id, out);
        self.asks |= tunnel.needs_path();
        self.all.insert(id, tunnel);
    }

    /// Forgets a tunnel, and releases its name and its hold.
    fn remove(&mut self, id: ItemId, out: &mut Effects) -> Option<Tunnel> {
        let tunnel = self.all.remove(&id)?;
        if tunnel.watch.as_ref().is_some_and(|watch| watch.is_held) {
            out.push(hold(id, false));
        }
        if let Some(name) = tunnel.settings.remote.as_ref().and_then(Remote::name) {
            out.push(resolve(name, false));
        }
        Some(tunnel)
    }
}

/// Holds a tunnel down, or releases it.
const fn hold(item: ItemId, is_held: bool) -> Effect {
    Effect::Hold {
        item,
        why: SILENT,
        is_held,
    }
}

fn resolve(name: &Arc<str>, wanted: bool) -> Effect {
    let name = Arc::clone(name);
    Effect::Resolve { name, wanted }
}

impl Feature for Tunnels {
    fn menus(&self) -> &'static [&'static str] {
        &MENUS
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        for menu in MENUS {
            each_item(view, menu, changes, |id, item| match item {
                Some(item) => self.put(id, item, out),
                None => {
                    self.remove(id, out);
                    out.push(Effect::Item(id, Wanted::Interface(None)));
                }
            });
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        for (id, tunnel) in &mut self.all {
            let (Some(watch), Some(remote)) = (&mut tunnel.watch, tunnel.remote) else {
                continue;
            };
            let Some(changed) = watch.advance(tunnel.heard.count(), now) else {
                continue;
            };
            if changed {
                out.push(hold(*id, watch.is_held));
            }
            let source = || self.paths.get(&remote)?.source;
            let Some(local) = tunnel.settings.local.or_else(source) else {
                continue;
            };
            if let Some(bytes) = keepalive::packet(tunnel.settings.carries, local, remote) {
                out.send(Outgoing::packet(InterfaceId::NONE, bytes));
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if self.asks {
            return Some(Instant::ZERO);
        }
        let known = self.all.values().filter(|tunnel| tunnel.remote.is_some());
        let watches = known.filter_map(|tunnel| tunnel.watch.as_ref());
        watches.map(Watch::deadline).min()
    }

    fn lay_out(&mut self, _: &BTreeSet<InterfaceId>, _: &Running<'_>, _: &mut Effects) {
        self.routes_changed();
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        if let Some(remote) = self.all.get(&id.0).and_then(|tunnel| tunnel.remote) {
            row.set("current-remote-address", Value::Address(remote));
        }
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], _: Instant, out: &mut Effects) {
        let of_name = |tunnel: &Tunnel| {
            let own = tunnel.settings.remote.as_ref().and_then(Remote::name);
            own.is_some_and(|own| **own == *name)
        };
        let mut moved = false;
        for (id, tunnel) in self.all.iter_mut().filter(|(_, tunnel)| of_name(tunnel)) {
            let remote = pick(tunnel.settings.menu, addresses, tunnel.remote);
            moved |= remote != tunnel.remote;
            tunnel.move_to(*id, remote, out);
            tunnel.follow_path(&self.paths);
            tunnel.announce(*id, out);
        }
        if moved {
            self.routes_changed();
        }
    }
}
