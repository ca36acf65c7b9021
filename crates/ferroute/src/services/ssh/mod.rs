//! SSH: the console and single commands, for users with a password or a key (RFC 4252, 4254).
//!
//! The protocol is the library's (`russh`); here is what it is asked for. A connection has a
//! handler (`guest.rs`), each of its channels a thread that runs a console or a command
//! (`channel.rs`), at most as many as `guest.rs` says.

mod channel;
mod guest;
mod host_key;
mod suffix;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use russh::server::Config;
use russh::{MethodKind, MethodSet, SshId};

use super::{Conversation, Peer, Speaker, Stream};
use crate::core::Shared;
use guest::Guest;

/// How long a rejection takes at least, whatever its reason.
const REJECTION: Duration = Duration::from_secs(1);

/// How often a silent peer is asked whether it is still there; the third silence ends it.
const KEEPALIVE: Duration = Duration::from_secs(60);

/// The speaker of SSH.
pub(crate) struct Ssh {
    shared: Arc<Shared>,
    config: Arc<Config>,
}

impl Ssh {
    /// A speaker with the host key of the state folder, which is made when it is not there.
    pub(crate) fn new(shared: &Arc<Shared>, state: Option<&Path>) -> Result<Self, String> {
        let config = Config {
            // RouterOS: clients choose their dialect by this name.
            server_id: SshId::Standard("SSH-2.0-ROSSSH".into()),
            methods: methods(),
            auth_rejection_time: REJECTION,
            auth_rejection_time_initial: Some(Duration::ZERO),
            keys: vec![host_key::load(state)?],
            // It counts what clients ask before they try a password, each of their keys too.
            max_auth_attempts: 16,
            inactivity_timeout: None,
            keepalive_interval: Some(KEEPALIVE),
            nodelay: true,
            ..Config::default()
        };
        Ok(Self {
            shared: Arc::clone(shared),
            config: Arc::new(config),
        })
    }

    async fn converse(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) {
        let from = peer.address.ip();
        let guest = Guest::new(&self.shared, peer);
        let begun = russh::server::run_stream(Arc::clone(&self.config), stream, guest);
        let ended = match begun.await {
            Ok(running) => running.await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!("ssh: {from}: {error}");
        }
    }
}

/// What somebody may prove with who they are.
fn methods() -> MethodSet {
    MethodSet::from(&[MethodKind::PublicKey, MethodKind::Password][..])
}

impl Speaker for Ssh {
    fn serve(self: Arc<Self>, stream: Box<dyn Stream>, peer: Peer) -> Conversation {
        Box::pin(self.converse(stream, peer))
    }
}
