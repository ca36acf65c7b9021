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
    let words = words(&asked.values)?;
    let rows = calc::calculate(name, words.iter().map(String::as_str))?;
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in rows {
        let _ = writeln!(text, "{name:<width$}  {value}");
    }
    output::text(text)?;
    Ok(0)
}

/// Returns the arguments as `name=value`: options may also be written `--name value` and `--name=value`.
fn words(given: &[String]) -> Result<Vec<String>, String> {
    let mut given = given.iter();
    let mut words = Vec::new();
    while let Some(word) = given.next() {
        let Some(option) = word.strip_prefix("--") else {
            words.push(word.clone());
            continue;
        };
        if option.contains('=') {
            words.push(option.to_owned());
            continue;
        }
        let value = given.next();
        let value = value.ok_or_else(|| format!("--{option}: expected a value"))?;
        words.push(format!("{option}={value}"));
    }
    Ok(words)
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

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn options_and_pairs_are_alike() {
        let of = |given: &[&str]| {
            words(
                &given
                    .iter()
                    .map(|word| (*word).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let wanted = Ok(vec!["packet=40".to_owned(), "speed=1G".to_owned()]);
        assert_eq!(of(&["packet=40", "speed=1G"]), wanted);
        assert_eq!(of(&["--packet", "40", "--speed=1G"]), wanted);
        assert_eq!(
            of(&["--packet"]),
            Err("--packet: expected a value".to_owned())
        );
    }
}
