//! `/tool/calculate`: the calculators of crate `calc`, which need no router.

use menu::{Reason, Row, Value};

use crate::{Column, Form, Invocation, Look, Next, RunningTool, Tool, Turn};

static COLUMNS: [Column; 2] = [Column::new("name", "NAME"), Column::new("value", "VALUE")];

pub(crate) struct Calculate;

struct Calculated(calc::Rows);

impl Tool for Calculate {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let name = given.text("calculator").unwrap_or_default();
        let values = given.text("values").unwrap_or_default();
        let rows = calc::calculate(&name, values.split_whitespace());
        let rows = rows.map_err(Reason::failure)?;
        Ok(Box::new(Calculated(rows)))
    }
}

impl RunningTool for Calculated {
    fn look(&mut self, _: &mut Turn<'_>) -> Result<Look, Reason> {
        let rows = self.0.iter().map(|(name, value)| {
            let mut row = Row::default();
            row.set("name", Value::text(&**name));
            row.set("value", Value::text(&**value));
            row
        });
        Ok(Look {
            rows: Some(rows.collect()),
            next: Next::Over,
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_menu_offers_all_calculators() {
        let store = schema::store();
        let menu = store.menu("/tool").expect("a menu");
        let command = menu.commands.iter().find(|own| own.name == "calculate");
        let argument = command.expect("a command").arguments.iter();
        let words = argument.clone().find(|own| own.name == "calculator");
        let names: Vec<_> = calc::CALCULATORS.iter().map(|own| own.name).collect();
        assert_eq!(words.expect("an argument").kind.words(), names);
    }
}
