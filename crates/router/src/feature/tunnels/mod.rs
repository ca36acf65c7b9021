//! Tunnels between two addresses: `/interface/eoip`, `gre`, `ipip`, their variants over IPv6, and `6to4`.
//!
//! ```text
//! item ─▶ Settings ─┐
//! DNS name ─────────┼─▶ Interface with a Between ─▶ layout
//! path to remote ───┘   keepalives ─▶ Hold
//! ```
//! The remote end may be a DNS name, which is resolved again when its TTL ends. The path to the remote end gives the
//! local address and the MTU where the item leaves them open; it is looked up again when routes or interfaces that it
//! depends on change.

mod keepalive;
pub(crate) mod read;

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::encap::between::KeepaliveCounter;
use frame::InterfaceId;
use machine::Instant;
use menu::{Changes, Id, Item, Menu, Row, Value};

use self::keepalive::Watch;
use self::read::{Remote, Settings, pick};
use super::hear::Outgoing;
use super::{Effect, Effects, Feature, View, each_item};
use crate::drive::timers::Timers;
use crate::intent::{Interface, ItemId, ItemState};
use crate::kind::tunnel::MENUS;
use crate::paths::{Path, PathTable};
use crate::running::Running;

/// MTU assumed while no route leads to the remote end.
const USUAL_MTU: u32 = 1500;
/// Reason of a tunnel that is held down.
const SILENT: &str = "the other end sends no keepalives";

/// All tunnels and the paths to their remote ends.
#[derive(Debug, Default)]
pub(crate) struct Tunnels {
    all: BTreeMap<ItemId, Tunnel>,
    paths: PathTable,
    /// Tunnels that need a path, by remote end.
    by_remote: BTreeSet<(IpAddr, ItemId)>,
    /// Tunnels with a DNS name, by name.
    by_name: BTreeSet<(Arc<str>, ItemId)>,
    /// Times of the next keepalives.
    keepalives: Timers<ItemId>,
}

/// A tunnel.
#[derive(Debug)]
struct Tunnel {
    settings: Settings,
    remote: Option<IpAddr>,
    /// MTU of the path; keeps the last known value while no route leads to the remote end.
    path_mtu: u32,
    heard: KeepaliveCounter,
    watch: Option<Watch>,
    /// The interface as last announced.
    announced: Option<Interface>,
}

impl Tunnel {
    /// Returns the remote end if the interface depends on the path to it.
    fn followed_remote(&self) -> Option<IpAddr> {
        let needs_path = self.settings.local.is_none() || self.settings.mtu.is_none();
        self.remote.filter(|_| needs_path)
    }

    /// Returns the DNS name of the remote end.
    fn remote_name(&self) -> Option<&Arc<str>> {
        self.settings.remote.as_ref()?.name()
    }

    /// Returns the time of the next keepalive, while the remote end is known.
    fn deadline(&self) -> Option<Instant> {
        let watch = self.watch.as_ref().filter(|_| self.remote.is_some());
        watch.map(Watch::deadline)
    }

    /// Announces the interface if it changed.
    fn announce(&mut self, id: ItemId, out: &mut Effects) {
        let interface = { &self.settings }.interface(self.remote, self.path_mtu, &self.heard);
        if self.announced.as_ref() != Some(&interface) {
            self.announced = Some(interface.clone());
            out.push(Effect::Item(id, ItemState::Interface(Some(interface))));
        }
    }

    /// Updates the MTU of the path. Ignores a path through the tunnel itself.
    fn follow_path(&mut self, path: Option<&Path>) {
        let egress = path.and_then(|path| path.egress.as_ref());
        let egress = egress.filter(|egress| *egress.interface != *self.settings.name());
        self.path_mtu = egress.map_or(self.path_mtu, |egress| egress.mtu);
    }

    /// Changes the remote end and restarts the keepalive timeout.
    fn move_to(&mut self, id: ItemId, remote: Option<IpAddr>, out: &mut Effects) {
        if core::mem::replace(&mut self.remote, remote) == remote {
            return;
        }
        self.heard = KeepaliveCounter::default();
        if let Some(watch) = &mut self.watch
            && watch.restart()
        {
            out.push(hold(id, false));
        }
    }
}

impl Tunnels {
    /// The paths to remote ends.
    pub(crate) const fn paths_mut(&mut self) -> &mut PathTable {
        &mut self.paths
    }

    /// Looks up the paths that changes concern. Announces the tunnels whose path changed.
    pub(crate) fn look_up_paths(&mut self, running: &Running<'_>, out: &mut Effects) {
        for remote in self.paths.look_up(running) {
            let of_remote = self.by_remote.range((remote, 0)..=(remote, ItemId::MAX));
            for (_, id) in of_remote {
                if let Some(tunnel) = self.all.get_mut(id) {
                    tunnel.follow_path(self.paths.get(remote));
                    tunnel.announce(*id, out);
                }
            }
        }
    }

    fn put(&mut self, id: ItemId, item: &Item, out: &mut Effects) {
        let Some(settings) = Settings::read(item) else {
            self.remove(id, out);
            return out.push(Effect::Item(id, ItemState::Interface(None)));
        };
        let before = self.all.remove(&id);
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
        let kept = before.as_ref().filter(|_| is_same_end);
        let kept = kept.map(|before| (before.heard.clone(), before.path_mtu));
        let (heard, path_mtu) = kept.unwrap_or((KeepaliveCounter::default(), USUAL_MTU));
        let mut tunnel = Tunnel {
            watch: Watch::read(item)
                .filter(|_| !settings.is_disabled() && settings.has_keepalives()),
            settings,
            remote,
            path_mtu,
            heard,
            announced: None,
        };
        tunnel.follow_path(remote.and_then(|remote| self.paths.get(remote)));
        tunnel.announce(id, out);
        // Follows the new name and path before it releases the old ones, so that an unchanged one
        // is not looked up again.
        let name = tunnel.remote_name().cloned();
        if let Some(remote) = tunnel.followed_remote() {
            self.paths.follow(remote);
        }
        if let Some(name) = &name {
            out.push(resolve(name, true));
        }
        if let Some(before) = before {
            self.release(id, &before, out);
        }
        self.by_name.extend(name.map(|name| (name, id)));
        { &mut self.by_remote }.extend(tunnel.followed_remote().map(|remote| (remote, id)));
        self.keepalives.set(id, tunnel.deadline());
        self.all.insert(id, tunnel);
    }

    /// Removes a tunnel.
    fn remove(&mut self, id: ItemId, out: &mut Effects) {
        if let Some(tunnel) = self.all.remove(&id) {
            self.release(id, &tunnel, out);
        }
        self.keepalives.set(id, None);
    }

    /// Releases the name, the path and the hold of a removed tunnel.
    fn release(&mut self, id: ItemId, tunnel: &Tunnel, out: &mut Effects) {
        if tunnel.watch.as_ref().is_some_and(|watch| watch.is_held) {
            out.push(hold(id, false));
        }
        if let Some(name) = tunnel.remote_name() {
            self.by_name.remove(&(Arc::clone(name), id));
            out.push(resolve(name, false));
        }
        if let Some(remote) = tunnel.followed_remote() {
            self.by_remote.remove(&(remote, id));
            self.paths.release(remote);
        }
    }

    /// Moves a tunnel with a DNS name to the address that [`pick`] chooses.
    fn move_to_picked(&mut self, id: ItemId, addresses: &[IpAddr], out: &mut Effects) {
        let Some(tunnel) = self.all.get_mut(&id) else {
            return;
        };
        let before = tunnel.followed_remote();
        let remote = pick(tunnel.settings.menu, addresses, tunnel.remote);
        tunnel.move_to(id, remote, out);
        let now = tunnel.followed_remote();
        if before != now {
            if let Some(before) = before {
                self.by_remote.remove(&(before, id));
                self.paths.release(before);
            }
            if let Some(now) = now {
                self.by_remote.insert((now, id));
                self.paths.follow(now);
            }
        }
        tunnel.follow_path(remote.and_then(|remote| self.paths.get(remote)));
        tunnel.announce(id, out);
        self.keepalives.set(id, tunnel.deadline());
    }

    /// Sends a keepalive if it is due, and holds the tunnel down or releases it.
    fn keep_alive(&mut self, id: ItemId, now: Instant, out: &mut Effects) {
        let Some(tunnel) = self.all.get_mut(&id) else {
            return;
        };
        let (Some(watch), Some(remote)) = (&mut tunnel.watch, tunnel.remote) else {
            return;
        };
        let Some(changed) = watch.advance(tunnel.heard.count(), now) else {
            return;
        };
        if changed {
            out.push(hold(id, watch.is_held));
        }
        let source = || self.paths.get(remote)?.source;
        let Some(local) = tunnel.settings.local.or_else(source) else {
            return;
        };
        if let Some(bytes) = keepalive::packet(tunnel.settings.carries, local, remote) {
            out.send(Outgoing::packet(InterfaceId::NONE, bytes));
        }
    }
}

/// Returns the effect that holds a tunnel down, or releases it.
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
                    out.push(Effect::Item(id, ItemState::Interface(None)));
                }
            });
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Effects) {
        while let Some(id) = self.keepalives.due(now) {
            self.keep_alive(id, now, out);
            let deadline = self.all.get(&id).and_then(Tunnel::deadline);
            self.keepalives.set(id, deadline);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.paths.is_stale() {
            true => Some(Instant::ZERO),
            false => self.keepalives.deadline(),
        }
    }

    fn lay_out(&mut self, others: &BTreeSet<InterfaceId>, _: &Running<'_>, _: &mut Effects) {
        self.paths.interfaces_changed(others);
    }

    fn annotate(&self, _: &'static Menu, id: Id, row: &mut Row) {
        if let Some(remote) = self.all.get(&id.0).and_then(|tunnel| tunnel.remote) {
            row.set("current-remote-address", Value::Address(remote));
        }
    }

    fn resolved(&mut self, name: &str, addresses: &[IpAddr], _: Instant, out: &mut Effects) {
        let from = (Arc::from(name), 0);
        let of_name = self.by_name.range(from..);
        let of_name = of_name.take_while(|(own, _)| **own == *name);
        for id in of_name.map(|(_, id)| *id).collect::<Vec<_>>() {
            self.move_to_picked(id, addresses, out);
        }
    }
}
