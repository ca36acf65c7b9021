//! An SSH connection: authentication and channels.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::{Access, Service};
use russh::keys::PublicKey;
use russh::server::{
    Auth, ChannelOpenHandle, Config, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey,
};
use russh::{Channel, ChannelId, ChannelOpenFailure, MethodKind, MethodSet, Pty};
use tokio::task::spawn_blocking;

use super::channel::{Open, Size, Work};
use super::forward::Relays;
use super::scp::Scp;
use super::settings::Forwards;
use super::suffix::Suffix;
use crate::run::shared::Shared;
use crate::services::Peer;
use crate::session::access::{LoginSession, Proof};

/// Maximum number of channels per connection.
const MAX_CHANNELS: usize = 8;

/// Maximum number of password attempts per connection.
const MAX_PASSWORD_ATTEMPTS: u32 = 3;

/// Handler of an SSH connection.
pub(crate) struct Guest {
    shared: Arc<Shared>,
    peer: Peer,
    /// Password attempts so far.
    tried: u32,
    entered: Option<Arc<LoginSession>>,
    suffix: Suffix,
    channels: BTreeMap<ChannelId, Open>,
    /// Permitted authentication methods.
    methods: MethodSet,
    forwards: Arc<Forwards>,
    relays: Relays,
}

impl Guest {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        peer: Peer,
        config: &Config,
        forwards: &Arc<Forwards>,
    ) -> Self {
        Self {
            methods: config.methods.clone(),
            forwards: Arc::clone(forwards),
            relays: Relays::default(),
            shared: Arc::clone(shared),
            peer,
            tried: 0,
            entered: None,
            suffix: Suffix::default(),
            channels: BTreeMap::new(),
        }
    }

    async fn prove(&mut self, login: &str, proof: Proof) -> Auth {
        let (name, suffix) = Suffix::split(login);
        let user = name.to_owned();
        let entered = self.peer.log_in(&self.shared, user, proof, Service::Ssh);
        let Some(entered) = entered.await else {
            return self.reject();
        };
        self.entered = Some(Arc::new(entered));
        self.suffix = suffix;
        Auth::Accept
    }

    /// Rejects an attempt and tells the methods that remain.
    fn reject(&self) -> Auth {
        let mut methods = self.methods.clone();
        if self.tried >= MAX_PASSWORD_ATTEMPTS {
            methods.remove(MethodKind::Password);
        }
        Auth::Reject {
            proceed_with_methods: Some(methods),
            partial_success: false,
        }
    }

    fn channel(&mut self, id: ChannelId) -> Option<&mut Open> {
        self.channels.get_mut(&id)
    }

    /// Logs why a connection is not forwarded.
    fn refuse(&self, why: &str) {
        let from = self.peer.address.ip();
        tracing::debug!("ssh: {from}: forwarding refused: {why}");
    }

    /// Starts the work of a channel, once.
    fn start(&mut self, id: ChannelId, work: Work, session: &mut Session) -> Done {
        let suffix = self.suffix;
        let entered = self.entered.clone();
        let shared = Arc::clone(&self.shared);
        let begun = match (self.channels.get_mut(&id), entered) {
            (Some(open), Some(entered)) => open.start(&shared, entered, suffix, work),
            _ => false,
        };
        match begun {
            true => session.channel_success(id),
            false => session.channel_failure(id),
        }
    }
}

/// Result type of the library's handlers.
type Done = Result<(), russh::Error>;

fn in_words(key: &PublicKey) -> String {
    key.to_openssh().unwrap_or_default()
}

impl Handler for Guest {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        if self.tried >= MAX_PASSWORD_ATTEMPTS {
            return Ok(self.reject());
        }
        self.tried += 1;
        let proof = Proof::Password(password.as_bytes().to_vec());
        Ok(self.prove(user, proof).await)
    }

    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, Self::Error> {
        let (name, _) = Suffix::split(user);
        let (name, key) = (name.to_owned(), in_words(offer.public_key));
        let shared = Arc::clone(&self.shared);
        // No task may wait for the router's lock.
        let known = spawn_blocking(move || {
            let instance = shared.lock();
            Access::is_key(instance.store(), &name, &key)
        });
        match known.await {
            Ok(true) => Ok(Auth::Accept),
            _ => Ok(self.reject()),
        }
    }

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let key = in_words(key.public_key);
        Ok(self.prove(user, Proof::Key(key)).await)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Done {
        // Many clients use a channel per command without closing it.
        self.channels.retain(|_, open| !open.is_over());
        if self.channels.len() >= MAX_CHANNELS {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        self.channels.insert(channel.id(), Open::new(channel));
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _from: &str,
        _from_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Done {
        if !self.forwards.local() {
            self.refuse("forwarding-enabled does not permit local");
            reply
                .reject(ChannelOpenFailure::AdministrativelyProhibited)
                .await;
            return Ok(());
        }
        self.relays
            .connect(&self.shared, host, port, channel, reply);
        Ok(())
    }

    async fn tcpip_forward(
        &mut self,
        address: &str,
        port: &mut u32,
        session: &mut Session,
    ) -> Result<bool, Self::Error> {
        if !self.forwards.remote() {
            self.refuse("forwarding-enabled does not permit remote");
            return Ok(false);
        }
        let handle = session.handle();
        let listening = self.relays.listen(&self.shared, address, *port, handle);
        match listening.await {
            Ok(own) => {
                *port = own.into();
                Ok(true)
            }
            Err(why) => {
                self.refuse(&why);
                Ok(false)
            }
        }
    }

    async fn cancel_tcpip_forward(
        &mut self,
        address: &str,
        port: u32,
        _session: &mut Session,
    ) -> Result<bool, Self::Error> {
        Ok(self.relays.cancel(address, port))
    }

    async fn pty_request(
        &mut self,
        channel: ChannelId,
        _term: &str,
        columns: u32,
        rows: u32,
        _pix_width: u32,
        _pix_height: u32,
        _modes: &[(Pty, u32)],
        session: &mut Session,
    ) -> Done {
        if let Some(open) = self.channel(channel) {
            open.size = Some(Size::of(columns, rows));
        }
        session.channel_success(channel)
    }

    async fn window_change_request(
        &mut self,
        channel: ChannelId,
        columns: u32,
        rows: u32,
        _pix_width: u32,
        _pix_height: u32,
        _session: &mut Session,
    ) -> Done {
        let suffix = self.suffix;
        if let Some(open) = self.channel(channel) {
            open.resize(Size::of(columns, rows).with(suffix));
        }
        Ok(())
    }

    async fn env_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        _value: &str,
        session: &mut Session,
    ) -> Done {
        session.channel_failure(channel)
    }

    async fn shell_request(&mut self, channel: ChannelId, session: &mut Session) -> Done {
        self.start(channel, Work::Console, session)
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Done {
        let command = menu::bytes::from_bytes(command);
        let work = match Scp::of(&command) {
            Some(scp) => Work::Scp(scp),
            None => Work::Command(command),
        };
        self.start(channel, work, session)
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Done {
        match name {
            "sftp" => self.start(channel, Work::Sftp, session),
            _ => session.channel_failure(channel),
        }
    }

    async fn data(&mut self, channel: ChannelId, data: &[u8], _session: &mut Session) -> Done {
        if let Some(open) = self.channel(channel)
            && !open.input(data).await
        {
            self.channels.remove(&channel);
        }
        Ok(())
    }

    async fn channel_eof(&mut self, channel: ChannelId, _session: &mut Session) -> Done {
        if let Some(open) = self.channel(channel) {
            open.end_of_input();
        }
        Ok(())
    }

    async fn channel_close(&mut self, channel: ChannelId, _session: &mut Session) -> Done {
        self.channels.remove(&channel);
        Ok(())
    }
}
