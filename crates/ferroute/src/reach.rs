//! Where a router's state and its local socket are.

use std::path::PathBuf;

use crate::cli::Reach;

/// The state folder that a router uses, and the socket that it is reached by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder; none keeps nothing.
    pub(crate) state: Option<PathBuf>,
    /// The socket of the local console.
    pub(crate) control: PathBuf,
}

impl Place {
    /// What the options say, completed by what is usual for this user.
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

impl Place {
    /// The folder in which it is written down what was taken from devices.
    pub(crate) fn devices(&self) -> PathBuf {
        let name = || self.control.with_extension("devices");
        self.state
            .as_ref()
            .map_or_else(name, |state| state.join("devices"))
    }
}

/// Whether this process is root where it runs.
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

/// A folder for sockets, of this user alone.
pub(crate) fn runtime() -> PathBuf {
    if is_root() && std::path::Path::new("/run").is_dir() {
        return PathBuf::from("/run");
    }
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_lies_in_the_state_folder_unless_it_is_named() {
        let reach = |state: &str, control: Option<&str>| Reach {
            state: Some(state.into()),
            control: control.map(PathBuf::from),
        };

        assert_eq!(
            Place::of(&reach("/x", None)).control,
            PathBuf::from("/x/control.sock")
        );
        assert_eq!(
            Place::of(&reach("/x", Some("/y"))).control,
            PathBuf::from("/y")
        );
        assert_eq!(Place::of(&reach(":memory:", None)).state, None);
    }
}
