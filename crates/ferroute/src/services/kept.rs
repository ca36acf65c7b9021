//! Secrets of services that are made once and kept, sealed, in the state folder.

use router::store::{Secret, StateFolder};

/// The secret in this file of the state folder. It is made where it is not there; without a folder it is new at each
/// start. `is_whole` says whether a secret can be used. A secret that a version before kept in the clear is sealed.
///
/// # Errors
/// It cannot be read, made or written; with the name of the file.
pub(crate) fn secret(
    state: Option<&StateFolder>,
    name: &str,
    is_whole: impl Fn(&[u8]) -> bool,
    make: impl FnOnce() -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    let Some(state) = state else {
        return make();
    };
    let failed = |error| format!("{}: {error}", state.path.join(name).display());
    let write = |secret: &[u8]| {
        // A disk that takes nothing is no reason to do without the service.
        if let Err(error) = state.write_secret(name, secret) {
            tracing::warn!("{}: it is not kept", failed(error));
        }
    };
    match state.read_secret(name).map_err(failed)? {
        Secret::Sealed(secret) if is_whole(&secret) => return Ok(secret),
        Secret::Clear(secret) if is_whole(&secret) => {
            write(&secret);
            return Ok(secret);
        }
        Secret::Missing => {}
        Secret::Sealed(_) | Secret::Clear(_) | Secret::Unreadable => {
            state.put_secret_aside(name).map_err(failed)?;
            tracing::error!(
                "{} is damaged and put aside; a new one is made, which clients do not know yet",
                state.path.join(name).display()
            );
        }
    }
    let made = make()?;
    write(&made);
    Ok(made)
}
