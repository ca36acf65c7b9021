//! Default SSH host key, used while `/ip/ssh` has no other.

use access::HostKey;
use router::store::StateFolder;

use crate::services::stored_secret;

/// File within the state folder.
const FILE: &str = "ssh/host_ed25519";

/// Loads the key of the state folder, or generates one; without a folder it changes at each start.
pub(crate) fn load(state: Option<&StateFolder>) -> Result<HostKey, String> {
    let is_whole = |pem: &[u8]| HostKey::read(pem, "").is_ok();
    let pem = stored_secret::secret(state, FILE, is_whole, || {
        let seed = crate::session::access::random::<32>()?;
        HostKey::ed25519(&seed).to_pem().map(String::into_bytes)
    });
    pem.and_then(|pem| HostKey::read(&pem, ""))
        .map_err(|error| format!("the host key of SSH: {error}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use router::store::Key;

    use super::*;

    #[test]
    fn a_router_keeps_its_host_key_sealed() {
        let name = format!("ferroute-ssh-{}", std::process::id());
        let state = StateFolder {
            path: std::env::temp_dir().join(name),
            key: Key::new([7; 32], "a test"),
        };
        let file = state.path.join(FILE);

        let first = load(Some(&state)).expect("a key is made");
        let sealed = fs::read(&file).expect("it is there");
        let second = load(Some(&state)).expect("it is read");
        let other = load(None).expect("a key is made");
        // As earlier versions left it: unencrypted and world-readable.
        fs::write(&file, first.to_pem().expect("a key")).expect("our file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("our file");
        let third = load(Some(&state)).expect("it is taken over");
        let now = fs::read(&file).expect("it is there");
        let mode = fs::metadata(&file)
            .expect("it is there")
            .permissions()
            .mode();
        fs::write(&file, b"nothing").expect("our file");
        let fourth = load(Some(&state)).expect("a key is made");

        fs::remove_dir_all(&state.path).expect("it was made above");
        let is_clear = |bytes: &[u8]| bytes.windows(11).any(|bytes| bytes == b"PRIVATE KEY");
        assert!(!is_clear(&sealed) && !is_clear(&now));
        assert_eq!(mode & 0o777, 0o600, "it was read by others");
        assert_eq!(first.fingerprint(), second.fingerprint());
        assert_eq!(first.fingerprint(), third.fingerprint());
        assert_ne!(first.fingerprint(), other.fingerprint());
        assert_ne!(first.fingerprint(), fourth.fingerprint());
    }
}
