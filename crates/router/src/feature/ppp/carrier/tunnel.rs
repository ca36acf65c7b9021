//! Carriers over IP: clients that dial an address or name, and one server. A protocol implements [`Tunnel`]; what all
//! of them do alike is the implementation of [`Carrier`] here.

use core::fmt::Debug;
use core::net::IpAddr;
use std::collections::BTreeSet;

use dataplane::service::Service;
use frame::InterfaceId;
use machine::Instant;
use menu::{Changes, Id, Item, Menu, Row, Store};

use super::clients::{ClientSettings, Clients, Step};
use super::links::{LinkState, Links};
use super::{Carrier, CarrierOutput, LinkEvent, LinkId};
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::stream::StreamEvent;
use crate::feature::{Effects, View, concerns, each_item};
use crate::intent::ItemId;
use crate::kind::AnyKind;
use crate::running::Running;

/// What the carriers over IP have in common.
#[derive(Debug)]
pub(super) struct Ends<S, L: LinkState> {
    /// Client items.
    pub(super) clients: Clients<S>,
    /// Links of clients and of the server.
    pub(super) links: Links<L>,
}

impl<S: ClientSettings, L: LinkState> Default for Ends<S, L> {
    fn default() -> Self {
        Self {
            clients: Clients::new(),
            links: Links::default(),
        }
    }
}

/// A protocol of a carrier over IP.
pub(super) trait Tunnel: Debug + Send {
    /// Settings of its clients.
    type Client: ClientSettings;
    /// State of its links.
    type Link: LinkState;

    /// Name of the service, and of the protocol in logs: `l2tp`.
    const SERVICE: &'static str;
    /// Menus whose changes the carrier follows: those of clients, of server interfaces, then those of the server.
    const MENUS: &'static [&'static str];
    /// Menu of the clients.
    const CLIENT_MENU: &'static str;
    /// Menu of the server interfaces.
    const BINDING_MENU: &'static str;

    /// Returns clients and links.
    fn ends(&self) -> &Ends<Self::Client, Self::Link>;

    /// Returns clients and links.
    fn ends_mut(&mut self) -> &mut Ends<Self::Client, Self::Link>;

    /// Services whose packets the carrier receives.
    fn services(&self) -> Vec<Service>;

    /// Reads the settings of the server, and what both roles share.
    fn configure(&mut self, view: &View<'_>, out: &mut CarrierOutput<'_>);

    /// Reads a client item; `None` for a disabled or incomplete item.
    fn read_client(
        &mut self,
        id: ItemId,
        item: Option<&Item>,
        store: &Store,
    ) -> Option<Self::Client>;

    /// Handles a packet of one of its services.
    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome;

    /// Handles an event of a TCP connection that it requested.
    fn stream(&mut self, _event: &StreamEvent, _now: Instant, _out: &mut CarrierOutput<'_>) {}

    /// Opens a connection of a client to this address, and a session.
    fn dial(&mut self, client: ItemId, remote: IpAddr, now: Instant, out: &mut CarrierOutput<'_>);

    /// Ends the connection of a client that has no session.
    fn hang_up(&mut self, client: ItemId, now: Instant, out: &mut CarrierOutput<'_>);

    /// Handles due timers of the protocol.
    fn run_timers(&mut self, now: Instant, out: &mut CarrierOutput<'_>);

    /// Returns when a timer of the protocol is due next.
    fn next_timer(&self) -> Option<Instant>;

    /// Sends a PPP packet, from the protocol field on. Does nothing for an unknown link.
    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects);

    /// Returns the interface kind of an open session.
    fn kind(&self, link: &Self::Link) -> Option<AnyKind>;

    /// Returns the name of a link's encryption, as [`Carrier::encoding`].
    fn encoding(&self, _link: &Self::Link) -> String {
        String::new()
    }

    /// Tells the other end of a link that it ends; the link is removed.
    fn closed(&mut self, id: LinkId, link: Self::Link, now: Instant, out: &mut CarrierOutput<'_>);

    /// Handles the keys of an authenticated session.
    fn authenticated(
        &mut self,
        _link: LinkId,
        _keys: Option<&ppp::MppeKeys>,
        _now: Instant,
        _out: &mut CarrierOutput<'_>,
    ) {
    }

    /// Handles interfaces that were added, changed or removed.
    fn interfaces_changed(&mut self, _running: &Running<'_>, _out: &mut CarrierOutput<'_>) {}

    /// Adds the carrier's cells to the `monitor` page of a client.
    fn monitor(&self, _item: Id, _row: &mut Row) {}

    /// Adds cells to the row of a client.
    fn annotate(&self, _item: Id, _row: &mut Row) {}
}

/// Carries out a step of a client.
fn take_step<T: Tunnel>(of: &mut T, step: Step, now: Instant, out: &mut CarrierOutput<'_>) {
    match step {
        Step::Hangup(client) => of.hang_up(client, now, out),
        Step::Close(link) => out.events.push(LinkEvent::Close(link)),
        Step::Dial(client, remote) => of.dial(client, remote, now, out),
    }
}

/// Adds the link of a new session of a client. Returns `None`, and keeps no link, if the client has changed meanwhile.
pub(super) fn add_link<T: Tunnel>(of: &mut T, link: T::Link) -> Option<LinkId> {
    let client = link.client();
    let ends = of.ends_mut();
    let id = ends.links.add(link);
    let is_linked = client.is_none_or(|client| ends.clients.linked(client, id));
    if !is_linked {
        ends.links.remove(id);
    }
    is_linked.then_some(id)
}

/// Notes the failure of a client, with its reason for the log.
pub(super) fn failed<T: Tunnel>(
    of: &mut T,
    client: ItemId,
    reason: &dyn core::fmt::Display,
    now: Instant,
    out: &mut Effects,
) {
    let clients = &mut of.ends_mut().clients;
    if let Some(settings) = clients.settings(client) {
        let message = format!("{}: terminating... - {reason}", settings.dial().name);
        out.log(format!("{},ppp,info", T::SERVICE), message);
    }
    clients.ended(client, now, out);
}

impl<T: Tunnel> Carrier for T {
    fn service(&self) -> &'static str {
        T::SERVICE
    }

    fn menus(&self) -> &'static [&'static str] {
        T::MENUS
    }

    fn client_menu(&self) -> Option<&'static str> {
        Some(T::CLIENT_MENU)
    }

    fn binding_menu(&self) -> Option<&'static str> {
        Some(T::BINDING_MENU)
    }

    fn services(&self) -> Vec<Service> {
        Tunnel::services(self)
    }

    fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut CarrierOutput<'_>,
    ) {
        let own = |menu: &&str| **menu != *T::CLIENT_MENU && **menu != *T::BINDING_MENU;
        let of_server: Vec<_> = T::MENUS.iter().copied().filter(own).collect();
        if concerns(&of_server, changes) {
            self.configure(view, out);
        }
        let mut changed = Vec::new();
        each_item(view, T::CLIENT_MENU, changes, |id, item| {
            changed.push((id, self.read_client(id, item, view.store)));
        });
        for (id, settings) in changed {
            let clients = &mut self.ends_mut().clients;
            if let Some(step) = clients.set(id, settings, view.now, out.effects) {
                take_step(self, step, view.now, out);
            }
        }
    }

    fn interfaces_changed(
        &mut self,
        _: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) {
        Tunnel::interfaces_changed(self, running, out);
    }

    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome {
        match heard.service == T::SERVICE {
            true => Tunnel::receive(self, heard, running, out),
            false => ReceiveOutcome::NotMine,
        }
    }

    fn stream(&mut self, event: &StreamEvent, now: Instant, out: &mut CarrierOutput<'_>) {
        if event.stream().service == T::SERVICE {
            Tunnel::stream(self, event, now, out);
        }
    }

    fn tick(&mut self, now: Instant, out: &mut CarrierOutput<'_>) {
        while let Some(step) = self.ends_mut().clients.due(now) {
            take_step(self, step, now, out);
        }
        self.run_timers(now, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let timers = [self.next_timer(), self.ends().clients.deadline()];
        timers.into_iter().flatten().min()
    }

    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects) {
        Tunnel::send(self, link, packet, out);
    }

    fn kind(&self, link: LinkId) -> Option<AnyKind> {
        Tunnel::kind(self, self.ends().links.get(link)?)
    }

    fn encoding(&self, link: LinkId) -> String {
        let link = self.ends().links.get(link);
        link.map_or_else(String::new, |link| Tunnel::encoding(self, link))
    }

    fn authenticated(
        &mut self,
        link: LinkId,
        keys: Option<&ppp::MppeKeys>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        Tunnel::authenticated(self, link, keys, now, out);
    }

    fn opened(&mut self, link: LinkId) {
        let ends = self.ends_mut();
        if let Some(client) = ends.links.get(link).and_then(LinkState::client) {
            ends.clients.opened(client);
        }
    }

    fn close(&mut self, id: LinkId, now: Instant, out: &mut Effects) {
        let Some(link) = self.ends_mut().links.remove(id) else {
            return;
        };
        let client = link.client();
        // A closed link has no further events.
        let out = &mut CarrierOutput::new(out);
        self.closed(id, link, now, out);
        if let Some(client) = client {
            self.ends_mut().clients.ended(client, now, out.effects);
        }
    }

    fn resolved(
        &mut self,
        name: &str,
        addresses: &[IpAddr],
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let clients = &mut self.ends_mut().clients;
        clients.resolved(name, addresses, now, out.effects);
    }

    fn dial(&mut self, item: Id, now: Instant, out: &mut CarrierOutput<'_>) {
        self.ends_mut().clients.demand(item.0, now, out.effects);
    }

    fn client_status(&self, item: Id) -> Option<&'static str> {
        self.ends().clients.status(item.0)
    }

    fn monitor(&self, item: Id, row: &mut Row) {
        Tunnel::monitor(self, item, row);
    }

    fn annotate(&self, menu: &'static Menu, id: Id, _: Instant, row: &mut Row) {
        if menu.path == T::CLIENT_MENU {
            Tunnel::annotate(self, id, row);
        }
    }
}
