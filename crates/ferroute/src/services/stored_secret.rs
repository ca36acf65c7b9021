//! Generated secrets of services, encrypted in the state folder.

use router::store::{Secret, StateFolder};

/// Loads a secret from the state folder, or generates and stores it; without a folder it changes at each start.
/// `is_whole` validates a stored secret. Unencrypted secrets of earlier versions are encrypted.
///
/// # Errors
/// The file cannot be read, created or written; the error names it.
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
        // The service runs even if the secret cannot be stored.
        if let Err(error) = state.write_secret(name, secret) {
            tracing::warn!("{}: the secret is not stored", failed(error));
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
                "{} is damaged and was set aside; the router generates a new one, which clients do not know yet",
                state.path.join(name).display()
            );
        }
    }
    let made = make()?;
    write(&made);
    Ok(made)
}
