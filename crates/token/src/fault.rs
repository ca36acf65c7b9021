//! Failures of a token, in words for users.

use cryptoki::error::{Error, RvError};

/// Reason for which an operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The module cannot be loaded, or it has no token: pulled out, or not inserted yet.
    Absent(String),
    /// The PIN is wrong, locked, or not known.
    Pin(String),
    /// The token does not have the private key.
    NoKey,
    /// The module refused the operation.
    Refused(String),
}

impl Fault {
    /// Words for logs and commands.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Absent(text) | Self::Pin(text) | Self::Refused(text) => text.clone(),
            Self::NoKey => {
                String::from("the token does not have the private key of this certificate")
            }
        }
    }

    /// True if a new session may help: a token that was pulled out and inserted again has new sessions.
    pub(crate) const fn may_be_stale(&self) -> bool {
        matches!(self, Self::NoKey | Self::Refused(_))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Pkcs11(
                RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange,
                _,
            ) => Self::Pin(String::from("the token refuses the PIN")),
            Error::Pkcs11(RvError::PinLocked, _) => Self::Pin(String::from(
                "the token's PIN is locked after too many wrong ones",
            )),
            Error::Pkcs11(RvError::TokenNotPresent | RvError::DeviceRemoved, _) => {
                Self::Absent(String::from("the token was pulled out"))
            }
            Error::Pkcs11(error, function) => {
                let name = format!("{error:?}");
                Self::Refused(format!("the token refuses: {function} ends with {name}"))
            }
            other => Self::Refused(format!("the token's module: {other}")),
        }
    }
}
