//! `/tool/calculate`: one of the calculators of `calc`, which need no router.

use menu::{Reason, Row, Value};

use crate::{Column, Form, Given, Look, Next, Run, Tool, Turn};

static COLUMNS: [Column; 2] = [Column::new("name", "NAME"), Column::new("value", "VALUE")];

pub(crate) struct Calculate;

struct Calculated(calc::Rows);

impl Tool for Calculate {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Given<'_>) -> Result<Box<dyn Run>, Reason> {
        let name = given.text("calculator").unwrap_or_default();
        let values = given.text("values").unwrap_or_default();
        let failure = |why: String| Reason::failure(why);
        let pairs: Result<Vec<_>, Reason> = values
            .split_whitespace()
            .map(|word| {
                let wrong = || failure(format!("{word}: name=value is wanted"));
                word.split_once('=').ok_or_else(wrong)
            })
            .collect();
        let calculator = calc::named(&name).map_err(failure)?;
        let rows = calculator.run(&pairs?).map_err(failure)?;
        Ok(Box::new(Calculated(rows)))
    }
}

impl Run for Calculated {
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
