//! Warnings and refusals for configuration that has no effect in ferroute yet.

use menu::{Cause, Change, Changes, Item, Menu, NoEffectReason, Store};

use crate::evaluated_command::RouterAccess;
use crate::machine::{self, Machine};

/// Refusal text for a command that is not implemented.
pub(super) fn refusal(menu: &Menu, name: &str) -> String {
    let path = menu.path.trim_end_matches('/');
    format!("{path}/{name} has no effect here yet")
}

/// Maximum number of changes of one command that are checked, and of warnings that a script run remembers.
const MAX_WARNINGS: usize = 1_000;

/// Log topics of the warnings.
const TOPICS: &str = "system,warning";

/// A warning about an enabled item without effect: the line for the console and the log entry.
pub(crate) struct NoEffectWarning {
    pub(crate) line: String,
    entry: String,
}

/// True if the item is enabled.
fn is_in_use(item: &Item) -> bool {
    let enabled = item.get("enabled").and_then(menu::Value::as_bool);
    !item.is("disabled") && enabled != Some(false)
}

/// Returns the added or changed item. Ignores items that the router added along with another item.
fn asked_of(change: &Change) -> Option<&Item> {
    let item = change.after.as_deref()?;
    (change.before.is_some() || change.menu.grows()).then_some(item)
}

/// Returns a warning if a change enables an item that has no effect: the item is new, was disabled, or lacked
/// something else before.
fn in_vain(store: &Store, change: &Change) -> Option<NoEffectWarning> {
    let item = asked_of(change).filter(|item| is_in_use(item))?;
    let lack = store.no_effect_reason(item)?;
    if let Some(before) = change.before.as_deref().filter(|item| is_in_use(item))
        && store.no_effect_reason(before).as_ref() == Some(&lack)
    {
        return None;
    }
    Some(said_of(store, item, &lack))
}

fn said_of(store: &Store, item: &Item, lack: &NoEffectReason) -> NoEffectWarning {
    let path = store.shown_path(item.menu);
    let path = path.trim_start_matches('/').replace('/', " ");
    let title = item.title();
    let named = format!("{path} {title}");
    let named = named.trim_end();
    let none = "no effect here yet";
    let line = match &lack.cause {
        Cause::Menu => format!("{path} has {none}"),
        Cause::Named(..) => format!("{path} has {none}: {lack}"),
        Cause::Item(_) | Cause::Values(_) => format!("{path}: {lack} has {none}"),
    };
    NoEffectWarning {
        line,
        entry: format!("{named} has {none}: {lack}"),
    }
}

impl RouterAccess<'_> {
    /// Logs a warning for each changed item without effect, without duplicates. Returns the warnings that are
    /// not in `told`.
    pub(super) fn log_in_vain(
        &mut self,
        changes: &Changes,
        told: &[String],
    ) -> Vec<NoEffectWarning> {
        let mut fresh: Vec<NoEffectWarning> = Vec::new();
        for change in changes.list.iter().take(MAX_WARNINGS) {
            if let Some(one) = in_vain(self.store, change) {
                let known = told.contains(&one.line) || fresh.iter().any(|f| f.line == one.line);
                if !known {
                    self.live.log(TOPICS, &one.entry);
                    fresh.push(one);
                }
            }
        }
        fresh
    }
}

/// Returns one log entry for a file that was run as one transaction: the number of items without effect and the
/// lacking features.
pub(crate) fn of_file(store: &Store, changes: &Changes) -> Option<(&'static str, String)> {
    let mut count = 0_usize;
    let mut areas: Vec<&str> = Vec::new();
    let items = changes.list.iter().filter_map(asked_of);
    for lack in items.filter_map(|item| store.no_effect_reason(item)) {
        count += 1;
        if !areas.contains(&lack.area) {
            areas.push(lack.area);
        }
    }
    let all = changes.list.len();
    let what = areas.join(", ");
    let list = menu::EFFECTS;
    let text =
        format!("{count} of {all} changed items have no effect yet: {what}; {list} lists them");
    (count > 0).then_some((TOPICS, text))
}

impl Machine<'_> {
    /// Reports warnings: as output at a terminal, otherwise as remarks beside the output, so that programs do
    /// not parse them. A run reports each line once.
    pub(super) fn note_in_vain(&mut self, fresh: Vec<NoEffectWarning>) -> machine::Result<()> {
        let has_terminal = self.out.terminal().is_some();
        for NoEffectWarning { line, .. } in fresh {
            let shown = menu::visible(&line);
            if !has_terminal {
                self.remark(&shown)?;
            } else if self.session.imports == 0 {
                self.print(&format!("{shown}\n"))?;
            }
            if self.lacking.len() < MAX_WARNINGS {
                self.lacking.push(line);
            }
        }
        Ok(())
    }
}
