//! A PKCS #11 module with a session on its token.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use certificate::{KeySize, SignatureScheme};
use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::key;
use crate::sign::operation;

/// Interval of attempts to find a token that is not there.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

/// PIN of a token.
pub(crate) type Pin = Zeroizing<String>;

/// A PKCS #11 module; all calls block.
pub(crate) struct Module {
    path: PathBuf,
    /// Label of the wanted token; `None`: the first one.
    wanted: Option<String>,
    pin: Option<Pin>,
    open: Option<OpenToken>,
    /// The PIN was refused: another attempt may lock the token.
    refusal: Option<Fault>,
    /// Last failed search for the token.
    missed: Option<(Instant, Fault)>,
}

/// An initialised module with a session, logged in.
struct OpenToken {
    // Closed before the library is finalised: the order of the fields.
    session: Session,
    library: Pkcs11,
    label: String,
}

impl Module {
    pub(crate) const fn new(path: PathBuf, wanted: Option<String>, pin: Option<Pin>) -> Self {
        Self {
            path,
            wanted,
            pin,
            open: None,
            refusal: None,
            missed: None,
        }
    }

    /// Returns true if the token was there at the last operation.
    pub(crate) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Signs by the private key of a public key.
    pub(crate) fn sign(
        &mut self,
        public_key: &[u8],
        scheme: SignatureScheme,
        message: &[u8],
    ) -> Result<Vec<u8>, Fault> {
        let (mechanism, bytes) = operation(scheme, message);
        self.on_token(|session| {
            let key = key::find(session, public_key)?;
            Ok(session.sign(&mechanism, key, &bytes)?)
        })
    }

    /// Returns for each public key whether the token has its private key.
    pub(crate) fn holds(&mut self, public_keys: &[Vec<u8>]) -> Result<Vec<bool>, Fault> {
        self.on_token(|session| {
            let found = public_keys
                .iter()
                .map(|public_key| match key::find(session, public_key) {
                    Ok(_) => Ok(true),
                    Err(Fault::NoKey) => Ok(false),
                    Err(fault) => Err(fault),
                });
            found.collect()
        })
    }

    /// Generates a key pair, and returns its public key.
    pub(crate) fn generate(&mut self, size: KeySize, label: &str) -> Result<Vec<u8>, Fault> {
        key::generate(&self.opened()?.session, size, label)
    }

    /// Checks a PIN, by default the stored PIN, by a login. Returns the label of the token.
    pub(crate) fn verify(&mut self, pin: Option<&str>) -> Result<String, Fault> {
        let before = self.pin.clone();
        let outcome = self.reinstall(pin);
        if pin.is_some() && outcome.is_err() {
            self.pin = before;
            // The stored PIN was not refused.
            self.refusal = None;
            self.close();
        }
        outcome
    }

    /// Loads the module again and logs in with a PIN, by default the stored PIN.
    pub(crate) fn reinstall(&mut self, pin: Option<&str>) -> Result<String, Fault> {
        self.close();
        if let Some(pin) = pin {
            self.pin = Some(Zeroizing::new(pin.to_owned()));
            self.refusal = None;
        }
        self.missed = None;
        Ok(self.opened()?.label.clone())
    }

    /// Performs an operation; a second time in a new session if the session may be stale.
    fn on_token<T>(
        &mut self,
        operation: impl Fn(&Session) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let was_open = self.is_open();
        let outcome = operation(&self.opened()?.session);
        match outcome {
            Err(fault) if was_open && fault.may_be_stale() => {
                self.close();
                let outcome = operation(&self.opened()?.session);
                outcome.inspect_err(|fault| self.close_if_lost(fault))
            }
            outcome => outcome.inspect_err(|fault| self.close_if_lost(fault)),
        }
    }

    fn close_if_lost(&mut self, fault: &Fault) {
        if matches!(fault, Fault::Absent(_) | Fault::Refused(_)) {
            self.close();
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            drop(open.session);
            // A module that cannot end is loaded anew all the same.
            let _ = open.library.finalize();
        }
    }

    /// Returns the session, and opens it if it is not open.
    fn opened(&mut self) -> Result<&OpenToken, Fault> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        if self.open.is_none() {
            if let Some((at, fault)) = &self.missed
                && at.elapsed() < SEARCH_INTERVAL
            {
                return Err(fault.clone());
            }
            match self.open() {
                Ok(open) => self.open = Some(open),
                Err(fault) => {
                    self.missed = Some((Instant::now(), fault.clone()));
                    self.refusal = matches!(fault, Fault::Pin(_)).then(|| fault.clone());
                    return Err(fault);
                }
            }
        }
        self.open.as_ref().ok_or(Fault::NoKey)
    }

    fn open(&self) -> Result<OpenToken, Fault> {
        let library = Pkcs11::new(&self.path).map_err(|error| {
            Fault::Absent(format!("{} cannot be loaded: {error}", self.path.display()))
        })?;
        match library.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)) {
            Ok(()) | Err(Error::Pkcs11(RvError::CryptokiAlreadyInitialized, _)) => {}
            Err(error) => {
                let why = Fault::from(error).text();
                let path = self.path.display();
                return Err(Fault::Absent(format!(
                    "the token is not there: {path} does not start: {why}"
                )));
            }
        }
        let opened = self.find(&library).and_then(|(slot, label)| {
            let session = self.login(&library, slot)?;
            Ok((session, label))
        });
        match opened {
            Ok((session, label)) => Ok(OpenToken {
                session,
                library,
                label,
            }),
            Err(fault) => {
                let _ = library.finalize();
                Err(fault)
            }
        }
    }

    /// Finds the token by its label.
    fn find(&self, library: &Pkcs11) -> Result<(Slot, String), Fault> {
        let slots = library.get_slots_with_token();
        let slots = slots.map_err(|error| Fault::Absent(format!("the token's slots: {error}")))?;
        let tokens = slots.into_iter().filter_map(|slot| {
            let token = library.get_token_info(slot).ok()?;
            let label = token.label().trim_end().to_owned();
            token.token_initialized().then_some((slot, label))
        });
        let is_wanted = |label: &str| self.wanted.as_deref().is_none_or(|wanted| wanted == label);
        let mut tokens = tokens.filter(|(_, label)| is_wanted(label));
        tokens.next().ok_or_else(|| {
            let named = self
                .wanted
                .as_ref()
                .map(|label| format!(" with the label {label}"));
            let named = named.unwrap_or_default();
            Fault::Absent(format!(
                "the token is not there: {} has no token{named}",
                self.path.display()
            ))
        })
    }

    fn login(&self, library: &Pkcs11, slot: Slot) -> Result<Session, Fault> {
        // A write-protected token still signs.
        let session = match library.open_rw_session(slot) {
            Ok(session) => session,
            Err(_) => library.open_ro_session(slot)?,
        };
        if !library.get_token_info(slot)?.login_required() {
            return Ok(session);
        }
        let pin = self.pin.as_ref().ok_or_else(|| {
            Fault::Pin(String::from(
                "the token's PIN is not known: /certificate/card-reinstall pin=... stores it",
            ))
        })?;
        match session.login(UserType::User, Some(&AuthPin::new(pin.as_str().into()))) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => Ok(session),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.close();
    }
}
