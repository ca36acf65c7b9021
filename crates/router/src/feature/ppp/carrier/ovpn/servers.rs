//! Servers of OpenVPN: their items, machines and listeners.

use machine::{Duration, Instant, Machine};
use openvpn::{Renegotiation, ServerEvent, ServerSettings, TlsConfig, Transport};

use super::settings::Server;
use super::{CarrierOutput, Ovpn, SERVER, SERVICE, tls};
use crate::feature::stream::{StreamForm, StreamRequest};
use crate::feature::{Effect, View};
use crate::intent::ItemId;

/// Sessions of a server at once.
const MAX_SESSIONS: usize = 65_536;

/// A server item that works.
pub(super) struct ServerEntry {
    pub(super) settings: Server,
    pub(super) machine: openvpn::Server,
}

impl Ovpn {
    /// Brings the servers in line with their items.
    pub(super) fn configure_servers(&mut self, view: &View<'_>, out: &mut CarrierOutput<'_>) {
        let items = view.store.items(SERVER);
        let mut wanted: Vec<(ItemId, Server)> = items
            .filter_map(|item| Some((item.id.0, Server::read(item)?)))
            .collect();
        wanted.sort_by_key(|(id, _)| *id);
        // A server that ends or moves leaves its port to another one.
        for id in self.servers.keys().copied().collect::<Vec<_>>() {
            let place = self.servers.get(&id).map(|entry| entry.settings.place());
            let stays = { wanted.iter() }
                .any(|(other, settings)| *other == id && Some(settings.place()) == place);
            if !stays {
                self.end_server(id, view.now, out);
            }
        }
        self.faults
            .retain(|id, _| wanted.iter().any(|(other, _)| other == id));
        for (id, settings) in wanted {
            match self.ready(id, &settings, view) {
                Ok(tls) => {
                    self.faults.remove(&id);
                    self.run_server(id, settings, tls, view.now, out);
                }
                Err(fault) => {
                    self.end_server(id, view.now, out);
                    if self.faults.get(&id) != Some(&fault) {
                        let message = format!("{}: {fault}", settings.name);
                        out.effects.log("ovpn,error", message);
                        self.faults.insert(id, fault);
                    }
                }
            }
        }
    }

    /// Returns the TLS configuration of a server that can run.
    ///
    /// # Errors
    /// The reason why the server cannot run.
    fn ready(&self, id: ItemId, settings: &Server, view: &View<'_>) -> Result<TlsConfig, String> {
        if let Some(missing) = settings.common.missing {
            return Err(missing.to_owned());
        }
        let (transport, port) = settings.place();
        let other = self.listening.get(&(transport, port));
        let other = other.filter(|other| **other != id);
        if let Some(other) = other.and_then(|other| self.servers.get(other)) {
            let word = match transport {
                Transport::Udp => "UDP",
                Transport::Tcp => "TCP",
            };
            return Err(format!(
                "{word} port {port} belongs to the server {}: set another port",
                other.settings.name
            ));
        }
        tls::server(
            view.store,
            &self.trust.load(),
            &settings.common.certificate,
            settings.requires_certificate,
            settings.common.only_tls12,
        )
    }

    /// Begins a server, or changes the settings of a running one for sessions that begin later.
    fn run_server(
        &mut self,
        id: ItemId,
        settings: Server,
        tls: TlsConfig,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) {
        let of_machine = server_settings(&settings, tls);
        if let Some(entry) = self.servers.get_mut(&id) {
            entry.settings = settings;
            let event = ServerEvent::Configure(Box::new(of_machine));
            self.feed_server(id, event, now, out);
            return;
        }
        self.listening.insert(settings.place(), id);
        listen(&settings, true, out);
        let machine = openvpn::Server::new(of_machine, self.rng.split());
        self.servers.insert(id, ServerEntry { settings, machine });
    }

    /// Ends a server and its sessions.
    fn end_server(&mut self, id: ItemId, now: Instant, out: &mut CarrierOutput<'_>) {
        if !self.servers.contains_key(&id) {
            return;
        }
        self.feed_server(id, ServerEvent::Shutdown, now, out);
        self.end_connections_of(id, now);
        if let Some(entry) = self.servers.remove(&id) {
            self.listening.remove(&entry.settings.place());
            listen(&entry.settings, false, out);
        }
        self.timers.set(super::TimerId::Server(id), None);
    }

    /// Runs the due timers of a server, with what its sessions have carried meanwhile.
    pub(super) fn tick_server(&mut self, item: ItemId, now: Instant, out: &mut CarrierOutput<'_>) {
        let Some(entry) = self.servers.get(&item) else {
            return;
        };
        for session in entry.machine.due(now) {
            let link = self.ends.links.find_mut(super::End::Server(item, session));
            if let Some(traffic) = link.map(|(_, link)| link.traffic()) {
                self.feed_server(item, ServerEvent::Traffic(session, traffic), now, out);
            }
        }
        let mut actions = Vec::new();
        if let Some(entry) = self.servers.get_mut(&item) {
            entry.machine.tick(now, &mut actions);
        }
        self.of_server(item, actions, now, out);
    }
}

/// Opens or closes the listener of a server by TCP.
fn listen(settings: &Server, on: bool, out: &mut CarrierOutput<'_>) {
    if let (Transport::Tcp, port) = settings.place() {
        out.effects.push(Effect::Stream(StreamRequest::Listen {
            service: SERVICE,
            port,
            on,
            tls: None,
            form: StreamForm::OpenVpn,
            is_shared: false,
        }));
    }
}

/// Returns the settings of a server's machine.
fn server_settings(settings: &Server, tls: TlsConfig) -> ServerSettings {
    ServerSettings {
        tls,
        device: settings.common.device,
        mtu: settings.common.mtu,
        ciphers: settings.common.ciphers.clone(),
        digests: settings.common.digests.clone(),
        renegotiation: Renegotiation {
            after: settings.renegotiation.map(Duration::from_secs),
            bytes: None,
        },
        max_sessions: MAX_SESSIONS,
    }
}
