//! Least privilege, kept by the process itself: what a thread that runs the router may still do.
//!
//! A thread hands what it has lost on to those that it starts, so the main thread confines itself once all is
//! opened that takes more, before it starts any. The host plane's thread needs more than that for a moment, and
//! confines itself.

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

use crate::reach::Place;

/// What a running router needs: its devices and sockets, the ports of its services, XDP programs, rings in
/// locked memory, and whose turn the processor is.
const KEPT: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE);

/// The newest accesses to files that are restricted; a kernel that knows fewer restricts those.
const FILES: ABI = ABI::V3;

/// What is left to a router's threads.
#[derive(Clone, Debug)]
pub(crate) struct Confinement {
    /// Folders in which everything may be written, made and removed, and files that may be written.
    written: Vec<PathBuf>,
    /// Folders in which sockets are made, and files and folders of ours removed.
    sockets: Vec<PathBuf>,
}

impl Confinement {
    /// Of a router at this place, which writes captures into these folders.
    pub(crate) fn of(place: &Place, captures: impl IntoIterator<Item = PathBuf>) -> Self {
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

    /// Takes from the calling thread, and from all that it will start, what a running router does without. What the
    /// kernel does not know, or does not let anybody give up, is said and left.
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
            Ok(RulesetStatus::NotEnforced) => Err(String::from("this kernel does without it")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Files are written in their places alone, and none is executed. All may be read.
    fn restrict_files(&self) -> Result<RulesetStatus, RulesetError> {
        let all = AccessFs::from_write(FILES) | AccessFs::Execute;
        let rules = Ruleset::default().handle_access(all)?.create()?;
        let write = AccessFs::from_write(FILES);
        let rules = allow(rules, &self.written, write)?;
        let sockets = AccessFs::MakeSock | AccessFs::RemoveFile | AccessFs::RemoveDir;
        let restricted = allow(rules, &self.sockets, sockets)?.restrict_self()?;
        Ok(restricted.ruleset)
    }
}

/// Allows this beneath those of the paths that are there.
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
            false => access & AccessFs::from_file(FILES),
        };
        rules = rules.add_rule(PathBeneath::new(opened, access))?;
    }
    Ok(rules)
}

/// Keeps what the router needs of what it has, in the bounding set too where that may be changed.
fn give_up_capabilities() -> rustix::io::Result<()> {
    let all = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    for capability in all.filter(|capability| !KEPT.contains(*capability)) {
        // Those that the kernel does not know are an error, and end the list.
        match capability_is_in_bounding_set(capability) {
            Ok(true) => {
                let _ = remove_capability_from_bounding_set(capability);
            }
            Ok(false) => {}
            Err(_) => break,
        }
    }
    let _ = clear_ambient_capability_set();
    let permitted = capabilities(None)?.permitted.intersection(KEPT);
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

    /// In a thread of its own, which ends with its rules.
    #[test]
    fn files_are_written_where_the_router_has_its_state_alone() {
        let among = std::env::temp_dir().join(format!("ferroute-confine-{}", std::process::id()));
        let [state, other] = ["state", "other"].map(|name| among.join(name));
        for folder in [&state, &other] {
            fs::create_dir_all(folder).expect("a folder of our own");
        }
        let place = Place::of(&Reach {
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
