//! Commands on the configuration as a whole: safe mode, files, backups, resets, revisions.
//!
//! The language calls them by [`menu::Live::manage`], with the configuration.

mod backup;
mod certificate;
mod configuration;
mod file;
mod host_key;
mod key;
mod lease;
mod mail;
mod openvpn;
#[cfg(test)]
mod owners;
mod reset;
mod safe_mode;
mod scratch;
#[cfg(test)]
mod tests;
mod wireguard;

use std::sync::Arc;

use menu::{By, Call, Caller, Changes, Output, Policies, Reason, Reply, Row, Store, Value};

use crate::clock::DayClock;
use crate::drive::Control;
use crate::files::Files;

pub use safe_mode::Holder;

/// State beside the configuration.
#[derive(Debug)]
pub(crate) struct Manage {
    pub(crate) files: Files,
    safe: Option<safe_mode::Taken>,
    unconfirmed: Option<configuration::Unconfirmed>,
    /// Messages for sessions, by session number.
    notices: Vec<(u64, String)>,
    /// Why changes of the configuration cannot be stored; empty if they can.
    pub(crate) storage_fault: String,
}

/// Maximum number of waiting messages.
const NOTICES: usize = 64;

impl Manage {
    /// State of a router without a folder: its files are in memory.
    pub(crate) fn new(clock: &DayClock) -> Self {
        Self {
            files: Files::memory(clock.clone()),
            safe: None,
            unconfirmed: None,
            notices: Vec::new(),
            storage_fault: String::new(),
        }
    }

    /// Queues a message for a session.
    fn tell(&mut self, session: u64, text: String) {
        if self.notices.len() == NOTICES {
            self.notices.remove(0);
        }
        self.notices.push((session, text));
    }
}

impl Control {
    /// Sets the files of the router.
    pub fn set_files(&mut self, files: Files) {
        let before = std::mem::replace(&mut self.manage.files, files);
        self.manage.files.take_disks(before);
    }

    pub(crate) fn run_manage(
        &mut self,
        store: &mut Store,
        call: &Call<'_>,
        caller: &Caller<'_>,
        out: &mut dyn Output,
    ) -> Option<Result<Reply, Reason>> {
        let whole = matches!(
            (call.menu.path, call.command),
            ("/system/backup", "load")
                | ("/system", "reset-configuration")
                | (
                    "/system/configuration",
                    "accept" | "apply" | "revert" | "cancel" | "confirm"
                )
                | ("/safe-mode", _)
        );
        if whole && store.is_open() {
            let text = "not possible in a file that is one transaction";
            return Some(Err(Reason::failure(text)));
        }
        let mut desk = CommandContext {
            control: self,
            store,
            caller,
            call,
            out,
        };
        if let Err(reason) = desk.permit_file() {
            return Some(Err(reason));
        }
        Some(match (call.menu.path, call.command) {
            ("/safe-mode", command) => desk.safe_mode(command),
            ("/file", command) => desk.file(command),
            ("/system/backup", "save") => desk.save(),
            ("/system/backup", "load") => desk.load(),
            ("/system", "reset-configuration") => desk.reset(),
            ("/system/configuration", command) => desk.configuration(command),
            ("/certificate", _) => desk.certificate(),
            ("/ip/ssh", _) => desk.host_key(),
            ("/tool/e-mail", _) => desk.send_mail(),
            ("/ip/dhcp-server/lease" | "/ipv6/dhcp-server/binding", "make-static") => {
                desk.make_static()
            }
            ("/user/ssh-keys", "import") => desk.import_key(),
            ("/interface/ovpn-client", "import-ovpn-configuration") => desk.import_openvpn(),
            ("/interface/ovpn-server/server", "export-client-configuration") => {
                desk.export_openvpn()
            }
            ("/interface/wireguard", "wg-import") => desk.import_wireguard(),
            ("/interface/wireguard", "wg-export") => desk.export_wireguard(),
            (_, "reset-mac-address") => desk.reset_mac_addresses(),
            _ => return None,
        })
    }

    /// Returns a message for a session, once.
    pub(crate) fn take_notice(&mut self, session: u64) -> Option<String> {
        let mut notices = self.manage.notices.iter();
        let index = notices.position(|(other, _)| *other == session)?;
        Some(self.manage.notices.remove(index).1)
    }

    /// Handles the changes that one of these commands made.
    pub(crate) fn follow(&mut self, store: &Store, changes: Option<Arc<Changes>>) {
        if let Some(changes) = changes {
            self.apply_changes(store, &changes);
        }
    }
}

/// A command that reads configuration from a file.
struct FileCommand {
    menu: &'static str,
    command: &'static str,
    /// Argument with the name of the file.
    argument: &'static str,
    /// Ending that the name may lack.
    ending: &'static str,
}

const fn of_file(
    menu: &'static str,
    command: &'static str,
    argument: &'static str,
    ending: &'static str,
) -> FileCommand {
    FileCommand {
        menu,
        command,
        argument,
        ending,
    }
}

/// Commands that read configuration from a file, besides `/import`.
const FILE_COMMANDS: [FileCommand; 8] = [
    of_file("/certificate", "import", "file-name", ""),
    of_file(
        "/interface/ovpn-client",
        "import-ovpn-configuration",
        "file-name",
        ".ovpn",
    ),
    of_file("/interface/wireguard", "wg-import", "config-file", ".conf"),
    of_file("/ip/ssh", "import-host-key", "private-key-file", ""),
    of_file("/system", "reset-configuration", "run-after-reset", ".rsc"),
    of_file("/system/backup", "load", "name", ".backup"),
    of_file("/system/configuration", "apply", "file", ".rsc"),
    of_file("/user/ssh-keys", "import", "public-key-file", ".pub"),
];

/// A command, with everything that it needs.
struct CommandContext<'a> {
    control: &'a mut Control,
    store: &'a mut Store,
    caller: &'a Caller<'a>,
    call: &'a Call<'a>,
    out: &'a mut dyn Output,
}

impl CommandContext<'_> {
    /// The value of an argument.
    fn argument(&self, name: &str) -> Option<&Value> {
        let mut arguments = self.call.arguments.iter();
        arguments
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    /// The text of an argument.
    fn text(&self, name: &str) -> Option<String> {
        self.argument(name).map(ToString::to_string)
    }

    /// Whether an argument is `yes`.
    fn is(&self, name: &str) -> bool {
        self.argument(name)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    /// The text of a required argument.
    fn needed(&self, name: &'static str) -> Result<String, Reason> {
        self.text(name)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| Reason::Missing(vec![name]))
    }

    /// Refuses a command of a script that reads configuration from a file, if the owner of the file may not run the
    /// command.
    fn permit_file(&self) -> Result<(), Reason> {
        let call = (self.call.menu.path, self.call.command);
        let mut commands = FILE_COMMANDS.iter();
        let Some(of) = commands.find(|of| (of.menu, of.command) == call) else {
            return Ok(());
        };
        let Some(name) = self.text(of.argument).filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let needed = Policies::needed(self.call.menu, self.call.command);
        match self.policies_with(&name, of.ending)?.contains(needed) {
            true => Ok(()),
            false => Err(Reason::Denied),
        }
    }

    /// Returns the policies for running a file: the caller's policies; in a script, the common policies of the caller
    /// and the file's owner.
    fn policies_with(&self, file: &str, ending: &str) -> Result<Policies, Reason> {
        let policies = self.caller.policies;
        if !self.caller.is_script {
            return Ok(policies);
        }
        let names = [file.to_owned(), format!("{file}{ending}")];
        let files = &self.control.manage.files;
        let name = names.iter().find(|name| files.entry(name).is_some());
        let owner = name.map(|name| self.control.rights_by_file(self.store, name));
        Ok(owner
            .transpose()?
            .map_or(policies, |owner| policies.and(owner.now())))
    }

    /// Removes the configured link addresses of ports: they use the device's own address again.
    fn reset_mac_addresses(&mut self) -> Result<Reply, Reason> {
        let mark = self.store.begin();
        for id in self.call.items {
            let reset = self.store.reset(self.call.menu, *id, &["mac-address"]);
            if let Err(reason) = reset {
                self.store.rollback(mark);
                return Err(reason);
            }
        }
        let by = By::user(self.caller.user, self.control.clock.now());
        let changes = self.store.commit_by(mark, by)?;
        self.control.follow(self.store, changes);
        Ok(Reply::default())
    }

    /// Returns user, time and text of a transaction.
    fn by(&self, action: impl Into<String>) -> By {
        By::user(self.caller.user, self.control.clock.now()).doing(action)
    }

    fn say(&mut self, line: &str) -> Result<(), Reason> {
        match self.out.write(&format!("{line}\n")) {
            std::ops::ControlFlow::Continue(()) => Ok(()),
            std::ops::ControlFlow::Break(()) => Err(Reason::Interrupted),
        }
    }

    /// Refuses arguments that RouterOS supports and this router does not.
    fn without(&self, names: &[&'static str]) -> Result<(), Reason> {
        match names.iter().find(|name| self.is(name)) {
            Some(name) => Err(Reason::failure(format!("{name} is not supported"))),
            None => Ok(()),
        }
    }

    /// Reads a file; its name may lack the ending.
    fn read(&self, name: &str, ending: &str) -> Result<Vec<u8>, Reason> {
        let files = &self.control.manage.files;
        with_ending(name, ending, |name| menu::Files::read(files, name))
    }

    fn write(&mut self, name: &str, contents: &[u8]) -> Result<(), Reason> {
        menu::Files::write(&mut self.control.manage.files, name, contents)
    }
}

/// Reads a file without checking rights; its name may lack the ending.
fn read_file(files: &Files, name: &str, ending: &str) -> Result<Vec<u8>, Reason> {
    with_ending(name, ending, |name| files.contents(name))
}

fn with_ending(
    name: &str,
    ending: &str,
    read: impl Fn(&str) -> Result<Vec<u8>, Reason>,
) -> Result<Vec<u8>, Reason> {
    read(name).or_else(
        |reason| match name.ends_with(ending) || reason == Reason::Denied {
            true => Err(reason),
            false => read(&format!("{name}{ending}")),
        },
    )
}

/// Builds a reply with one row.
fn one(row: Row) -> Reply {
    Reply {
        rows: vec![row],
        made: None,
    }
}
