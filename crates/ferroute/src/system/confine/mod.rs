//! Confinement of the process by itself: capabilities, file access (Landlock) and system calls (seccomp).
//!
//! Threads inherit restrictions, so the main thread confines itself after opening privileged resources and
//! before starting threads. The host plane's thread needs more rights for a moment, and confines itself.

mod calls;

use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use crate::cli::location::Location;

/// Capabilities of a running router: devices and sockets, ports of services, XDP programs, locked memory,
/// priorities.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE);

/// Newest set of restricted file accesses; older kernels restrict fewer.
const FILE_ACCESS_ABI: ABI = ABI::V3;

/// Remaining rights of a router's threads.
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    /// Writable folders and files.
    written: Vec<PathBuf>,
    /// Folders in which sockets are created and own files removed.
    sockets: Vec<PathBuf>,
}

impl Confinement {
    /// Returns the rights of a router with this location, which writes captures into these folders.
    pub(crate) fn of(place: &Location, captures: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut written: Vec<_> = ["/proc/sys/net", "/dev/net/tun", "/dev/null"]
            .map(PathBuf::from)
            .into();
        written.extend(place.state.clone());
        written.push(place.devices());
        written.extend(captures);
        let folder = |path: &Path| match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Self {
            written,
            sockets: vec![folder(&place.control), folder(&place.devices())],
        }
    }

    /// Drops all other rights of the calling thread and its future threads. Unsupported restrictions are logged
    /// and skipped.
    pub(crate) fn enter(&self) {
        let done = |result: rustix::io::Result<()>| result.map_err(|error| error.to_string());
        let steps = [
            ("capabilities", done(give_up_capabilities())),
            ("no_new_privs", done(set_no_new_privs(true))),
            ("Landlock", self.restrict_to_files()),
            ("seccomp", calls::restrict()),
        ];
        for (what, done) in steps {
            if let Err(error) = done {
                tracing::warn!("{what}: {error}; the router runs with more rights than it needs");
            }
        }
    }

    fn restrict_to_files(&self) -> Result<(), String> {
        match self.restrict_files() {
            Ok(RulesetStatus::NotEnforced) => Err(String::from("this kernel does not support it")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Restricts writing to these folders and forbids execution. Reading stays permitted.
    fn restrict_files(&self) -> Result<RulesetStatus, RulesetError> {
        let all = AccessFs::from_write(FILE_ACCESS_ABI) | AccessFs::Execute;
        let rules = Ruleset::default().handle_access(all)?.create()?;
        let write = AccessFs::from_write(FILE_ACCESS_ABI);
        let rules = allow(rules, &self.written, write)?;
        let sockets = AccessFs::MakeSock | AccessFs::RemoveFile | AccessFs::RemoveDir;
        let restricted = allow(rules, &self.sockets, sockets)?.restrict_self()?;
        Ok(restricted.ruleset)
    }
}

/// Permits an access below the existing paths.
fn allow(
    rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let mut rules = rules;
    for path in paths {
        let Ok(opened) = PathFd::new(path) else {
            continue;
        };
        let access = match path.is_dir() {
            true => access,
            false => access & AccessFs::from_file(FILE_ACCESS_ABI),
        };
        rules = rules.add_rule(PathBeneath::new(opened, access))?;
    }
    Ok(rules)
}

/// Drops all other capabilities, in the bounding set as well if permitted.
fn give_up_capabilities() -> rustix::io::Result<()> {
    let all = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    for capability in all.filter(|capability| !KEPT_CAPABILITIES.contains(*capability)) {
        // Capabilities unknown to the kernel give an error, which ends the list.
        match capability_is_in_bounding_set(capability) {
            Ok(true) => {
                let _ = remove_capability_from_bounding_set(capability);
            }
            Ok(false) => {}
            Err(_) => break,
        }
    }
    let _ = clear_ambient_capability_set();
    let permitted = capabilities(None)?
        .permitted
        .intersection(KEPT_CAPABILITIES);
    set_capabilities(
        None,
        CapabilitySets {
            effective: permitted,
            permitted,
            inheritable: CapabilitySet::empty(),
        },
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::Reach;

    /// The test uses its own thread, which ends with its rules.
    #[test]
    fn files_can_be_written_only_in_the_state_folders() {
        let among = std::env::temp_dir().join(format!("ferroute-confine-{}", std::process::id()));
        let [state, other] = ["state", "other"].map(|name| among.join(name));
        for folder in [&state, &other] {
            fs::create_dir_all(folder).expect("a folder of our own");
        }
        let place = Location::of(&Reach {
            state: state.to_str().map(str::to_owned),
            control: None,
        });

        let write = |folder: &Path| fs::write(folder.join("file"), "text").is_ok();
        let (status, own, others, read) = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let status = Confinement::of(&place, []).restrict_files().expect("rules");
                let read = fs::read_dir(&other).is_ok();
                (status, write(&state), write(&other), read)
            });
            thread.join().expect("no panic")
        });

        fs::remove_dir_all(&among).expect("it is ours");
        // A kernel without Landlock restricts nothing.
        let restricts = status != RulesetStatus::NotEnforced;
        assert_eq!((own, others, read), (true, !restricts, true));
    }
}
