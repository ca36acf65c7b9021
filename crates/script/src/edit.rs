//! `edit`: opens a property of an item in the terminal's editor.

use menu::{Editing, Menu, Reason};

use crate::ast::{Argument, Command, Expr, Node, Target};
use crate::machine::{Machine, Result, Stop};
use crate::terminal::nobody;
use crate::value::Value;

pub(crate) const NAME: &str = "edit";

impl Machine<'_> {
    /// Shows a property in the editor and sets it to the saved text. If the value is refused, the editor stays
    /// open and shows the reason.
    pub(crate) fn edit_at_terminal(
        &mut self,
        menu: &'static Menu,
        command: &Command,
    ) -> Result<Value> {
        let ready = self.ready(command)?;
        let missing = || Reason::Missing(vec!["value-name"]).at(command.at);
        let name = ready.text("value-name").ok_or_else(missing)?;
        let property = menu.property(&name).filter(|p| !p.read_only);
        let property = property.ok_or_else(|| Reason::no_match("value-name").at(command.at))?;
        if property.sealed || property.sensitive && !self.sees_secrets() {
            let text = format!("the value of {name} is hidden; use set to change it");
            return Err(Reason::failure(text).at(command.at).into());
        }
        let old = self.with(|access| access.get(menu, &ready))?;
        let ids = match menu.has_rows() {
            true => self.with(|access| access.selected(menu, &ready, "number"))?,
            false => Vec::new(),
        };
        if self.passes_over() {
            return Ok(Value::Nothing);
        }
        let old = match old {
            Value::Array(values) => {
                let texts: Vec<_> = values.iter().map(|(_, value)| value.to_string()).collect();
                texts.join(",")
            }
            old => old.to_string(),
        };
        let title = format!("{}/{name}", menu.path);
        let (mut text, mut note) = (old.clone(), String::new());
        loop {
            let editing = Editing {
                title: &title,
                text: &text,
                note: &note,
            };
            let began = self.site.now();
            let terminal = self.out.terminal().ok_or_else(|| nobody().at(command.at))?;
            let saved = terminal.edit(&editing);
            self.rested(self.site.now().saturating_sub(began));
            let Some(saved) = saved.filter(|saved| *saved != old) else {
                return Ok(Value::Nothing);
            };
            self.charge(saved.len())?;
            let number = ids.first().map(|id| ("numbers", id.to_string()));
            let value = (property.name, saved.clone());
            let set = set(menu, command, number.into_iter().chain([value]));
            match self.menu_command(menu, "set", &set) {
                Err(Stop::Refused(refusal)) if refusal.reason != Reason::Interrupted => {
                    (text, note) = (saved, refusal.reason.to_string());
                }
                done => return done,
            }
        }
    }
}

/// Builds the `set` command that assigns these values.
fn set(
    menu: &'static Menu,
    command: &Command,
    values: impl Iterator<Item = (&'static str, String)>,
) -> Command {
    let at = command.at;
    let argument = |(name, text): (&str, String)| Argument {
        at,
        name: name.to_owned(),
        value: Some(Expr {
            at,
            node: Node::Text(text),
        }),
        negated: false,
    };
    Command {
        at,
        target: Target::Menu(menu, "set"),
        arguments: values.map(argument).collect(),
    }
}
