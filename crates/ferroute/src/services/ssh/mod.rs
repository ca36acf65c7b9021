//! SSH: the console and single commands, for users with a password or a key (RFC 4252, 4254).
//!
//! The protocol is the library's (`russh`); here is what it is asked for. A connection has a
//! handler (`guest.rs`), each of its channels a thread that runs a console or a command
//! (`channel.rs`). Bounded: connections that have not proved anything, in all and by source, the
//! time that they have for it, and the channels of a connection.

mod channel;
mod guest;
mod host_key;
mod suffix;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::server::Config;
use russh::{MethodKind, MethodSet, SshId};
use tokio::sync::Notify;

use super::{Conversation, Peer, Speaker, Stream};
use crate::core::Shared;
use guest::Guest;

/// How long somebody may take to log in.
const GRACE: Duration = Duration::from_secs(30);

/// Connections on which nobody has logged in yet.
const STRANGERS: usize = 32;

/// The same, from one address.
const STRANGERS_FROM: usize = 8;

/// How long a rejection takes at least, whatever its reason.
const REJECTION: Duration = Duration::from_secs(1);

/// How often a silent peer is asked whether it is still there; the third silence ends it.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// The speaker of SSH.
pub(crate) struct Ssh {
    shared: Arc<Shared>,
    config: Arc<Config>,
    strangers: Mutex<BTreeMap<IpAddr, usize>>,
}

impl Ssh {
    /// A speaker with the host key of the state folder, which is made when it is not there.
    pub(crate) fn new(shared: &Arc<Shared>, state: Option<&Path>) -> Result<Self, String> {
        let mut methods = MethodSet::empty();
        methods.push(MethodKind::PublicKey);
        methods.push(MethodKind::Password);
        let config = Config {
            // RouterOS: clients choose their dialect by this name.
            server_id: SshId::Standard("SSH-2.0-ROSSSH".into()),
            methods,
            auth_rejection_time: REJECTION,
            auth_rejection_time_initial: Some(Duration::ZERO),
            keys: vec![host_key::load(state)?],
            max_auth_attempts: 6,
            inactivity_timeout: None,
            keepalive_interval: Some(KEEPALIVE),
            nodelay: true,
            ..Config::default()
        };
        Ok(Self {
            shared: Arc::clone(shared),
            config: Arc::new(config),
            strangers: Mutex::default(),
        })
    }

    /// Room for one more who has not proved anything.
    fn stranger(self: &Arc<Self>, from: IpAddr) -> Option<Stranger> {
        let mut strangers = self
            .strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let here = strangers.get(&from).copied().unwrap_or(0);
        let all: usize = strangers.values().sum();
        if all >= STRANGERS || here >= STRANGERS_FROM {
            return None;
        }
        strangers.insert(from, here + 1);
        let ssh = Arc::clone(self);
        Some(Stranger { ssh, from })
    }

    async fn converse(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) {
        let from = peer.address.ip();
        let Some(stranger) = self.stranger(from) else {
            tracing::debug!("ssh: {from}: too many who have not logged in");
            return;
        };
        let known = Arc::new(Notify::new());
        let guest = Guest::new(&self.shared, from, (stranger, Arc::clone(&known)));
        let begun = russh::server::run_stream(Arc::clone(&self.config), stream, guest);
        let running = match tokio::time::timeout(GRACE, begun).await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return tracing::debug!("ssh: {from}: {error}"),
            Err(_) => return tracing::debug!("ssh: {from}: no greeting"),
        };
        let handle = running.handle();
        tokio::pin!(running);
        let ended = tokio::select! {
            ended = &mut running => Some(ended),
            () = known.notified() => None,
            () = tokio::time::sleep(GRACE) => {
                let reason = russh::Disconnect::ByApplication;
                let _ = handle.disconnect(reason, String::from("nobody logged in"), String::new()).await;
                None
            }
        };
        let ended = match ended {
            Some(ended) => ended,
            None => running.await,
        };
        if let Err(error) = ended {
            tracing::debug!("ssh: {from}: {error}");
        }
    }
}

impl Speaker for Ssh {
    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation {
        Box::pin(self.converse(stream, peer))
    }
}

/// The room that somebody takes who has not logged in yet.
struct Stranger {
    ssh: Arc<Ssh>,
    from: IpAddr,
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let strangers = self.ssh.strangers.lock();
        let mut strangers = strangers.unwrap_or_else(PoisonError::into_inner);
        let here = strangers.get(&self.from).copied().unwrap_or(0);
        match here {
            0 | 1 => strangers.remove(&self.from),
            _ => strangers.insert(self.from, here - 1),
        };
    }
}
