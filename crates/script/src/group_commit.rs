//! Group commit: the changes of a script are stored in groups, so that many commands wait for the disk only
//! once.

use menu::Refusal;

use crate::ast::{Command, Target};
use crate::builtin::WAITING;
use crate::evaluated_command::lend;
use crate::machine::{Machine, Result, finish};

impl Machine<'_> {
    /// Stores the pending changes of this run. They are stored at the latest before the script ends and before
    /// a command that acts outside the configuration. Changes that cannot be stored are rolled back.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.unsettled) {
            return Ok(());
        }
        let stored = lend(self.site, |store, live| {
            store.sync().map_err(|unstored| {
                if let Some(changes) = &unstored.taken_back {
                    live.changed(store, changes);
                }
                unstored.reason
            })
        })?;
        stored.map_err(|reason| reason.nowhere().into())
    }

    /// Runs `run` with grouped changes. Stores the pending changes afterwards, even if `run` fails.
    pub(crate) fn in_groups<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> std::result::Result<T, Refusal>,
    ) -> std::result::Result<T, Refusal> {
        let outer = std::mem::replace(&mut self.groups, true);
        let result = run(self);
        self.groups = outer;
        let settled = self.settle().or_else(finish);
        result.and_then(|value| settled.map(|()| value))
    }
}

/// True if a command does more than change and read the configuration.
pub(crate) fn acts_outside(command: &Command) -> bool {
    match command.target {
        Target::Menu(menu, name) => {
            name == "print" || menu.commands.iter().any(|own| own.name == name)
        }
        Target::Export(_) => true,
        Target::Builtin(builtin) => {
            let acts = ["import", "undo", "redo", "password"];
            builtin.of.is_some() || WAITING.contains(&builtin.name) || acts.contains(&builtin.name)
        }
    }
}
