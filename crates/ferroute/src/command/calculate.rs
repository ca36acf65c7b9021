//! `ferroute calc`: the calculators of `calc`, on the console `/tool/calculate`.

use std::fmt::Write as _;

use crate::cli::Calc;
use crate::cli::output;

/// Runs `ferroute calc`; returns the exit code.
pub(crate) fn calculate(asked: &Calc) -> Result<u8, String> {
    let Some(name) = &asked.name else {
        output::text(list())?;
        return Ok(0);
    };
    let rows = calc::calculate(name, asked.values.iter().map(String::as_str))?;
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:<width$}  {value}");
    }
    output::text(text)?;
    Ok(0)
}

/// Lists all calculators with their arguments.
fn list() -> String {
    let mut text = String::new();
    for calculator in calc::CALCULATORS {
        let _ = writeln!(text, "{:<10}{}", calculator.name, calculator.help);
        for argument in calculator.arguments {
            let default = argument.default.unwrap_or_default();
            let _ = writeln!(
                text,
                "          {}={default}  {}",
                argument.name, argument.help
            );
        }
    }
    text
}
