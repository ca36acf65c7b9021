//! Location of a router: its state folder and its local socket.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use clap::Args;

/// Location of a running router.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Reach {
    /// State folder of the router, or :memory: to store nothing. Default: /var/lib/ferroute, or the user's
    /// state folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<String>,
    /// Socket of the local console. Default: control.sock in the state folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
}

/// State folder and console socket of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// State folder; `None` stores nothing.
    pub(crate) state: Option<PathBuf>,
    /// Socket of the local console.
    pub(crate) control: PathBuf,
}

/// Maximum length of a socket path without its final zero (unix(7)).
const SOCKET_PATH_BYTES: usize = 107;

impl Location {
    /// Rejects a socket path that is too long, and a state folder that other users may have written.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(state) = &self.state {
            trusted(state, rustix::process::geteuid().as_raw())?;
        }
        let path = &self.control;
        match path.as_os_str().len() <= SOCKET_PATH_BYTES {
            true => Ok(()),
            false => Err(format!(
                "{}: the path of a socket has at most {SOCKET_PATH_BYTES} bytes; --control selects another path",
                path.display()
            )),
        }
    }

    /// Returns the location of the options, completed by the user's defaults.
    pub(crate) fn of(reach: &Reach) -> Self {
        let state = match reach.state.as_deref() {
            Some(":memory:") => None,
            Some(dir) => Some(PathBuf::from(dir)),
            None => Some(default_state()),
        };
        let control = reach.control.clone().unwrap_or_else(|| match &state {
            Some(dir) => dir.join("control.sock"),
            None => runtime().join("ferroute.sock"),
        });
        Self { state, control }
    }
}

impl Location {
    /// Returns the folder with the records of taken devices.
    pub(crate) fn devices(&self) -> PathBuf {
        let name = || self.control.with_extension("devices");
        self.state
            .as_ref()
            .map_or_else(name, |state| state.join("devices"))
    }
}

/// Rejects a state folder that other users may have written; a missing folder will be created.
fn trusted(state: &Path, own: u32) -> Result<(), String> {
    let Ok(found) = std::fs::metadata(state) else {
        return Ok(());
    };
    let path = state.display();
    if found.uid() != own {
        return Err(format!(
            "{path}: the folder belongs to user {}, but the router runs as user {own}: its files may be forged; \
             check them, then `chown -R {own} {path}`, or select another folder with --state",
            found.uid()
        ));
    }
    if found.mode() & 0o022 != 0 {
        return Err(format!(
            "{path}: other users may write to the folder: its files may be forged; \
             check them, then `chmod go-w {path}`, or select another folder with --state"
        ));
    }
    Ok(())
}

/// Returns true if the process is root in its user namespace.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn default_state() -> PathBuf {
    if is_root() {
        return PathBuf::from("/var/lib/ferroute");
    }
    let from = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let base = from("XDG_STATE_HOME").or_else(|| Some(from("HOME")?.join(".local/state")));
    base.unwrap_or_else(runtime).join("ferroute")
}

/// Returns the runtime folder of this user for sockets.
pub(crate) fn runtime() -> PathBuf {
    if is_root() && Path::new("/run").is_dir() {
        return PathBuf::from("/run");
    }
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let session = session.filter(|folder| folder.is_absolute());
    session.unwrap_or_else(|| own_folder(&std::env::temp_dir()))
}

/// Returns a private folder in a world-writable one; if another user owns that name, an unusable path.
fn own_folder(among: &Path) -> PathBuf {
    let uid = rustix::process::geteuid().as_raw();
    let folder = among.join(format!("ferroute-{uid}"));
    let _ = std::fs::DirBuilder::new().mode(0o700).create(&folder);
    let is_ours = |found: &std::fs::Metadata| {
        found.is_dir() && found.uid() == uid && found.mode() & 0o022 == 0
    };
    match std::fs::symlink_metadata(&folder) {
        Ok(found) if is_ours(&found) => folder,
        _ => PathBuf::from("/dev/null/ferroute"),
    }
}

/// Returns the socket of a lab's router.
pub(crate) fn of_lab(name: &str) -> PathBuf {
    runtime().join(format!("ferroute-lab-{name}.sock"))
}

/// Returns a hint how to reach the routers of running labs, as the end of a message; empty without any.
pub(crate) fn labs() -> String {
    labs_in(&runtime())
}

fn labs_in(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_lab = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        let lab = name.and_then(|name| name.strip_prefix("ferroute-lab-"));
        // Sockets of killed routers remain.
        lab.is_some_and(|lab| lab.ends_with(".sock")) && UnixStream::connect(path).is_ok()
    };
    let mut sockets: Vec<_> = entries.map(|entry| entry.path()).filter(is_lab).collect();
    sockets.sort();
    let named = sockets
        .iter()
        .map(|path| format!(", or a lab's --control {}", path.display()));
    named.collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_socket_lies_in_the_state_folder_unless_it_is_named() {
        let reach = |state: &str, control: Option<&str>| Reach {
            state: Some(state.into()),
            control: control.map(PathBuf::from),
        };

        assert_eq!(
            Location::of(&reach("/x", None)).control,
            PathBuf::from("/x/control.sock")
        );
        assert_eq!(
            Location::of(&reach("/x", Some("/y"))).control,
            PathBuf::from("/y")
        );
        assert_eq!(Location::of(&reach(":memory:", None)).state, None);
        let long = format!("/{}", "x".repeat(100));
        assert!(Location::of(&reach(&long, None)).check().is_err());
        assert!(Location::of(&reach(&long, Some("/y"))).check().is_ok());
    }

    #[test]
    fn a_folder_writable_by_others_is_not_used_for_sockets() {
        let among = std::env::temp_dir().join(format!("ferroute-own-{}", std::process::id()));
        std::fs::create_dir_all(&among).expect("a folder of our own");
        let ours = own_folder(&among);
        let again = own_folder(&among);
        let mode = std::fs::metadata(&ours).map(|found| found.mode() & 0o777);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&ours, open).expect("it is ours");

        let refused = own_folder(&among);

        std::fs::remove_dir_all(&among).expect("it is ours");
        assert!(ours.starts_with(&among) && ours == again);
        assert_eq!(mode.ok(), Some(0o700));
        assert_eq!(refused, Path::new("/dev/null/ferroute"));
    }

    #[test]
    fn only_labs_whose_router_listens_are_named() {
        let folder = std::env::temp_dir().join(format!("ferroute-labs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder of our own");
        let [home, dead, other] = ["ferroute-lab-home.sock", "ferroute-lab-dead.sock", "x.sock"]
            .map(|name| folder.join(name));
        let _home = UnixListener::bind(&home).expect("a socket");
        let _other = UnixListener::bind(&other).expect("a socket");
        drop(UnixListener::bind(&dead).expect("a socket"));

        let named = labs_in(&folder);

        std::fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(named, format!(", or a lab's --control {}", home.display()));
        assert_eq!(labs_in(&folder), "");
    }

    #[test]
    fn a_state_folder_writable_by_others_is_refused_with_advice() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("ferroute-trust-{}", std::process::id()));
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(trusted(&folder, own), Ok(()), "it will be made");
        std::fs::create_dir(&folder).expect("a folder");
        let with = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&folder, mode).expect("it is ours");
            trusted(&folder, own)
        };

        let answers = [0o700, 0o755, 0o775, 0o757].map(with);
        let strange = trusted(&folder, own + 1);
        std::fs::remove_dir(&folder).expect("it is empty");

        let path = folder.display();
        let [closed, shown, group, all] = answers;
        assert_eq!((closed, shown), (Ok(()), Ok(())));
        for refused in [group, all] {
            let refused = refused.expect_err("others may write");
            assert!(
                refused.contains(&format!("`chmod go-w {path}`")),
                "{refused}"
            );
        }
        let strange = strange.expect_err("it is another's");
        assert!(strange.contains("`chown -R"), "{strange}");
    }
}
