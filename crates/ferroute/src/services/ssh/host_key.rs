//! The key by which clients know the router again, as long as `/ip/ssh` has no other.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use access::HostKey;
use router::private::close_to_others;

/// The folder within the state folder.
const FOLDER: &str = "ssh";
const FILE: &str = "host_ed25519";

/// The key of the state folder, made when it is not there; without a folder it is new at each
/// start.
pub(crate) fn load(state: Option<&Path>) -> Result<HostKey, String> {
    let failed = |error: String| format!("the host key of SSH: {error}");
    let Some(folder) = state.map(|state| state.join(FOLDER)) else {
        return make().map_err(failed);
    };
    let file = folder.join(FILE);
    close_to_others(&file).map_err(failed)?;
    match fs::read(&file) {
        Ok(pem) => {
            HostKey::read(&pem, "").map_err(|error| failed(format!("{}: {error}", file.display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = make().map_err(failed)?;
            keep(&folder, &key).map_err(failed)?;
            Ok(key)
        }
        Err(error) => Err(failed(format!("{}: {error}", file.display()))),
    }
}

fn make() -> Result<HostKey, String> {
    let seed = crate::access::random::<32>()?;
    Ok(HostKey::ed25519(&seed))
}

/// Keeps the key for the router's user alone.
fn keep(folder: &Path, key: &HostKey) -> Result<(), String> {
    let pem = key.to_pem()?;
    let write = || -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder)?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(folder.join(FILE))?;
        file.write_all(pem.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_router_keeps_its_host_key() {
        let state = std::env::temp_dir().join(format!("ferroute-ssh-{}", std::process::id()));

        let first = load(Some(&state)).expect("a key is made");
        let file = state.join(FOLDER).join(FILE);
        let open = fs::Permissions::from_mode(0o644);
        fs::set_permissions(&file, open).expect("our file");
        let second = load(Some(&state)).expect("it is read");
        let other = load(None).expect("a key is made");

        let mode = fs::metadata(&file)
            .expect("it is there")
            .permissions()
            .mode();
        fs::remove_dir_all(&state).expect("it was made above");
        assert_eq!(mode & 0o777, 0o600, "it was read by others");
        assert_eq!(first.fingerprint(), second.fingerprint());
        assert_ne!(first.fingerprint(), other.fingerprint());
    }
}
