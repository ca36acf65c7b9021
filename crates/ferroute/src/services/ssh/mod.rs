//! SSH server: console, single commands and files (`sftp.rs`, `scp.rs`), for users with a password or a key
//! (RFC 4252, 4254).
//!
//! The library `russh` implements the protocol. A connection has a handler (`guest.rs`), each of its channels a
//! thread that runs a console or a command (`channel.rs`); `guest.rs` bounds their number. TCP forwarding
//! (`forward.rs`), host key and algorithms (`settings.rs`) follow `/ip/ssh`.

mod channel;
mod files;
mod forward;
mod guest;
mod host_key;
mod scp;
mod settings;
mod sftp;
mod suffix;

use std::sync::{Arc, PoisonError, RwLock};

use access::HostKey;
use menu::{Item, Store};
use router::kept_host_key;
use router::store::StateFolder;
use russh::server::Config;

use super::{Conversation, Peer, Speaker, Stream};
use crate::run::shared::Shared;
use guest::Guest;
use settings::Forwards;

/// SSH server of the router.
pub(crate) struct Ssh {
    shared: Arc<Shared>,
    /// Default host key, used while the settings have no other.
    first: HostKey,
    terms: RwLock<Terms>,
    forwards: Arc<Forwards>,
}

/// Parameters of new connections.
struct Terms {
    /// Settings item that they were derived from.
    of: Option<Arc<Item>>,
    config: Arc<Config>,
}

impl Ssh {
    /// Creates the server, with the default host key of the state folder.
    pub(crate) fn new(shared: &Arc<Shared>, state: Option<&StateFolder>) -> Result<Self, String> {
        let first = host_key::load(state)?;
        let mut instance = shared.lock();
        instance.set_host_key(first.clone());
        drop(instance);
        let terms = Terms {
            of: None,
            config: Arc::new(settings::config(None, &first)),
        };
        Ok(Self {
            shared: Arc::clone(shared),
            first,
            terms: RwLock::new(terms),
            forwards: Arc::default(),
        })
    }

    fn config(&self) -> Arc<Config> {
        let terms = self.terms.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&terms.config)
    }

    async fn converse(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) {
        let from = peer.address.ip();
        let config = self.config();
        let guest = Guest::new(&self.shared, peer, &config, &self.forwards);
        let begun = russh::server::run_stream(config, stream, guest);
        let ended = match begun.await {
            Ok(running) => running.await,
            Err(error) => Err(error),
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

    fn follow(&self, store: &Store) {
        let settings = store.settings("/ip/ssh");
        let mut terms = self.terms.write().unwrap_or_else(PoisonError::into_inner);
        let same = match (&terms.of, settings) {
            (Some(before), Some(settings)) => Arc::ptr_eq(before, settings),
            _ => false,
        };
        if same {
            return;
        }
        let key = kept_host_key(store);
        let key = key.as_ref().unwrap_or(&self.first);
        let item = settings.map(|item| &**item);
        self.forwards
            .set(item.map_or("no", |item| item.text("forwarding-enabled")));
        *terms = Terms {
            of: settings.cloned(),
            config: Arc::new(settings::config(item, key)),
        };
    }
}
