//! What is said where something has no effect here.

use menu::{Cause, Change, Changes, Item, Lack, Menu, Store};

use crate::machine::{self, Machine};
use crate::ready::Loan;

/// What a command answers that nothing here carries out.
pub(super) fn refusal(menu: &Menu, name: &str) -> String {
    let path = menu.path.trim_end_matches('/');
    format!("{path}/{name} has no effect here yet")
}

/// Changes of one command that are looked at, and lines that one run of a script remembers.
const MOST: usize = 1_000;

/// The topics of what the log says of it.
const TOPICS: &str = "system,warning";

/// Something that was put into use and has no effect: what the console says, and what the log says.
pub(crate) struct InVain {
    pub(crate) line: String,
    entry: String,
}

/// Whether an item is to do something, as far as it says.
fn is_in_use(item: &Item) -> bool {
    let enabled = item.get("enabled").and_then(menu::Value::as_bool);
    !item.is("disabled") && enabled != Some(false)
}

/// The item that a change made or changed, unless it came by itself with another: nobody asked anything of it.
fn asked_of(change: &Change) -> Option<&Item> {
    let item = change.after.as_deref()?;
    (change.before.is_some() || change.menu.grows()).then_some(item)
}

/// What a change puts into use that has no effect: what is new, is enabled, or had one before.
fn in_vain(store: &Store, change: &Change) -> Option<InVain> {
    let item = asked_of(change).filter(|item| is_in_use(item))?;
    let lack = store.lack(item)?;
    if let Some(before) = change.before.as_deref().filter(|item| is_in_use(item))
        && store.lack(before).as_ref() == Some(&lack)
    {
        return None;
    }
    Some(said_of(store, item, &lack))
}

fn said_of(store: &Store, item: &Item, lack: &Lack) -> InVain {
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
    InVain {
        line,
        entry: format!("{named} has {none}: {lack}"),
    }
}

impl Loan<'_> {
    /// Writes to the log what changes put into use that has no effect, each thing once. Gives what was
    /// not `told` before.
    pub(super) fn log_in_vain(&mut self, changes: &Changes, told: &[String]) -> Vec<InVain> {
        let mut fresh: Vec<InVain> = Vec::new();
        for change in changes.list.iter().take(MOST) {
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

/// What the log says of a file that was run as one transaction: one line of all that has no effect.
pub(crate) fn of_file(store: &Store, changes: &Changes) -> Option<(&'static str, String)> {
    let mut count = 0_usize;
    let mut areas: Vec<&str> = Vec::new();
    let items = changes.list.iter().filter_map(asked_of);
    for lack in items.filter_map(|item| store.lack(item)) {
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
    /// Reports what was put into use and has no effect: in the output at a terminal, else as a remark beside it, so
    /// that programs read no such line. A run reports each line once.
    pub(super) fn note_in_vain(&mut self, fresh: Vec<InVain>) -> machine::Result<()> {
        let has_terminal = self.out.terminal().is_some();
        for InVain { line, .. } in fresh {
            let shown = menu::visible(&line);
            if !has_terminal {
                self.remark(&shown)?;
            } else if self.session.imports == 0 {
                self.print(&format!("{shown}\n"))?;
            }
            if self.lacking.len() < MOST {
                self.lacking.push(line);
            }
        }
        Ok(())
    }
}
