//! The token with private keys (`--token-module`): its threads, its stored PIN, and its log.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use netio::Waker;
use router::Instance;
use router::store::{Secret, StateFolder};
use token::{Card, Event, Settings};
use zeroize::Zeroizing;

use crate::cli::Run;

/// File within the state folder with the PIN, encrypted.
const FILE: &str = "token/pin";

/// What happened to the token, for the router's log.
pub(crate) struct TokenReports(Option<Receiver<Event>>);

impl TokenReports {
    /// Starts the token of `--token-module`, if there is one. The thread that loads the module inherits the confinement
    /// of the caller.
    ///
    /// # Errors
    /// A thread cannot be started, or the stored PIN cannot be read.
    pub(crate) fn start(
        run: &Run,
        state: Option<&StateFolder>,
        wake: Waker,
    ) -> Result<Self, String> {
        let Some(module) = run.token_module.clone() else {
            return Ok(Self(None));
        };
        let settings = Settings {
            module,
            label: run.token_label.clone(),
            pin: state.map(stored_pin).transpose()?.flatten(),
        };
        let (sender, receiver) = channel();
        let state = state.cloned();
        let report = move |event: Event| {
            if let (Event::Pin(pin), Some(state)) = (&event, &state)
                && let Err(error) = state.write_secret(FILE, pin.as_bytes())
            {
                tracing::warn!("the PIN of the token is not stored: {error}");
            }
            let _ = sender.send(event);
            wake.wake();
        };
        let card = Card::start(settings, Box::new(report));
        let card = card.map_err(|error| format!("threads of the token: {error}"))?;
        certificate::set_token(Arc::new(card));
        Ok(Self(Some(receiver)))
    }

    /// Writes reports to the router's log.
    pub(crate) fn follow(&self, instance: &mut Instance) {
        for event in self.0.iter().flat_map(Receiver::try_iter) {
            let (topics, text) = match event {
                Event::Found => ("certificate,info", String::from("the token is there")),
                Event::Lost(why) => ("certificate,error", format!("token: {why}")),
                Event::Pin(_) => (
                    "certificate,info",
                    String::from("the token accepts the PIN, which is stored"),
                ),
            };
            instance.control().log().add(topics, text);
        }
    }
}

fn stored_pin(state: &StateFolder) -> Result<Option<Zeroizing<String>>, String> {
    let secret = state
        .read_secret(FILE)
        .map_err(|error| format!("the PIN of the token: {error}"))?;
    let bytes = match secret {
        Secret::Sealed(bytes) | Secret::Clear(bytes) => bytes,
        Secret::Missing => return Ok(None),
        Secret::Unreadable => {
            tracing::error!(
                "the stored PIN of the token is damaged: /certificate/card-reinstall pin=... stores it again"
            );
            return Ok(None);
        }
    };
    Ok(String::from_utf8(bytes).ok().map(Zeroizing::new))
}
