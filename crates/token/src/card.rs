//! The token as its users see it: operations with deadlines, and jobs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use certificate::{KeySize, SignatureScheme, Token, TokenJob};
use tokio::runtime::{Handle, RuntimeFlavor};
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::module::{Module, Pin};

/// Time for an operation.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the generation of a key pair: smart cards take a minute for long RSA keys.
const GENERATION_TIMEOUT: Duration = Duration::from_secs(180);
/// Maximum number of waiting operations, and of waiting jobs.
const MAX_OPERATIONS: usize = 64;
const MAX_JOBS: usize = 256;

/// Which token a router uses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// PKCS #11 module, a shared library.
    pub module: PathBuf,
    /// Label of the token; `None`: the first token of the module.
    pub label: Option<String>,
    /// PIN of earlier runs.
    pub pin: Option<Zeroizing<String>>,
}

/// What happened to the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The token is there and accepts the PIN.
    Found,
    /// The token cannot be used, for this reason.
    Lost(String),
    /// A login with this PIN succeeded: it is the PIN to store.
    Pin(Zeroizing<String>),
}

/// Receiver of events; called on the token's thread.
type Report = Box<dyn FnMut(Event) + Send>;
type Operation = Box<dyn FnOnce(&mut Worker) + Send>;

/// A token, and the threads that use it.
pub struct Card {
    operations: SyncSender<Operation>,
    jobs: SyncSender<TokenJob>,
}

/// State of the thread `token`.
struct Worker {
    module: Module,
    report: Report,
    /// Failure that was reported last.
    reported: Option<String>,
    is_found: bool,
}

impl Card {
    /// Starts the threads. The thread `token` loads the module for the first operation; with a PIN of an earlier run it
    /// looks for the token at once. It also calls `report`.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(settings: Settings, report: Report) -> std::io::Result<Self> {
        let (operations, receiver) = sync_channel::<Operation>(MAX_OPERATIONS);
        let (jobs, job_receiver) = sync_channel::<TokenJob>(MAX_JOBS);
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        named("token").spawn(move || run_operations(settings, report, &receiver))?;
        named("token-jobs").spawn(move || job_receiver.into_iter().for_each(|job| job()))?;
        Ok(Self { operations, jobs })
    }

    /// Performs an operation on the token's thread and waits for it.
    fn perform<T: Send + 'static>(
        &self,
        timeout: Duration,
        operation: impl FnOnce(&mut Module) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, String> {
        let (sender, receiver) = sync_channel(1);
        let is_abandoned = Arc::new(AtomicBool::new(false));
        let abandoned = Arc::clone(&is_abandoned);
        let queued: Operation = Box::new(move |worker| {
            if !abandoned.load(Ordering::Relaxed) {
                let outcome = operation(&mut worker.module);
                worker.observe(outcome.as_ref().err());
                let _ = sender.send(outcome);
            }
        });
        self.operations
            .try_send(queued)
            .map_err(|error| match error {
                TrySendError::Full(_) => {
                    format!("the token is busy: {MAX_OPERATIONS} operations wait for it")
                }
                TrySendError::Disconnected(_) => String::from("the token's thread has ended"),
            })?;
        match wait(&receiver, timeout) {
            Ok(outcome) => outcome.map_err(|fault| fault.text()),
            Err(error) => {
                is_abandoned.store(true, Ordering::Relaxed);
                Err(match error {
                    RecvTimeoutError::Timeout => {
                        format!("the token did not answer in {} s", timeout.as_secs())
                    }
                    RecvTimeoutError::Disconnected => String::from("the token's thread has ended"),
                })
            }
        }
    }
}

/// Waits for an outcome. Tells a runtime of async tasks that its thread blocks.
fn wait<T>(receiver: &Receiver<T>, timeout: Duration) -> Result<T, RecvTimeoutError> {
    let is_of_runtime = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    match is_of_runtime {
        true => tokio::task::block_in_place(|| receiver.recv_timeout(timeout)),
        false => receiver.recv_timeout(timeout),
    }
}

fn run_operations(settings: Settings, report: Report, operations: &Receiver<Operation>) {
    let is_known = settings.pin.is_some();
    let mut worker = Worker {
        module: Module::new(settings.module, settings.label, settings.pin),
        report,
        reported: None,
        is_found: false,
    };
    if is_known {
        let outcome = worker.module.holds(&[]);
        worker.observe(outcome.as_ref().err());
    }
    for operation in operations {
        operation(&mut worker);
    }
}

impl Worker {
    /// Reports a change of the token's state, once.
    fn observe(&mut self, fault: Option<&Fault>) {
        match fault {
            None | Some(Fault::NoKey) if self.module.is_open() => {
                if !self.is_found {
                    (self.report)(Event::Found);
                }
                (self.is_found, self.reported) = (true, None);
            }
            Some(fault) => {
                let text = fault.text();
                if self.reported.as_ref() != Some(&text) {
                    (self.report)(Event::Lost(text.clone()));
                }
                (self.is_found, self.reported) = (self.module.is_open(), Some(text));
            }
            None => {}
        }
    }
}

impl Token for Card {
    fn sign(
        &self,
        public_key: &[u8],
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Vec<u8>, String> {
        let (public_key, message) = (public_key.to_vec(), message.to_vec());
        self.perform(OPERATION_TIMEOUT, move |module| {
            module.sign(&public_key, scheme, &message)
        })
    }

    fn holds(&self, public_keys: &[Vec<u8>]) -> Result<Vec<bool>, String> {
        let public_keys = public_keys.to_vec();
        self.perform(OPERATION_TIMEOUT, move |module| module.holds(&public_keys))
    }

    fn generate(&self, size: KeySize, label: &str) -> Result<Vec<u8>, String> {
        let label = label.to_owned();
        self.perform(GENERATION_TIMEOUT, move |module| {
            module.generate(size, &label)
        })
    }

    fn verify(&self, pin: Option<&str>) -> Result<String, String> {
        let pin: Option<Pin> = pin.map(|pin| Zeroizing::new(pin.to_owned()));
        self.perform(OPERATION_TIMEOUT, move |module| {
            module.verify(pin.as_deref().map(String::as_str))
        })
    }

    fn reinstall(&self, pin: Option<&str>) -> Result<String, String> {
        let pin: Option<Pin> = pin.map(|pin| Zeroizing::new(pin.to_owned()));
        let stored = pin.clone();
        let label = self.perform(OPERATION_TIMEOUT, move |module| {
            module.reinstall(pin.as_deref().map(String::as_str))
        })?;
        if let Some(pin) = stored {
            let report: Operation = Box::new(move |worker| (worker.report)(Event::Pin(pin)));
            self.operations
                .try_send(report)
                .map_err(|_| String::from("the token is busy: its PIN is not stored"))?;
        }
        Ok(label)
    }

    fn spawn(&self, job: TokenJob) -> Result<(), String> {
        self.jobs
            .try_send(job)
            .map_err(|_| format!("the token is busy: {MAX_JOBS} jobs wait for it"))
    }
}

impl std::fmt::Debug for Card {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Card")
    }
}
