//! Network calculators: rates by layer, TCP windows, token buckets, tunnel overhead, wireless rates, IP
//! networks.
//!
//! Each calculator is an entry of [`CALCULATORS`]: name, arguments, and a pure function. Console, web page,
//! command line and documentation are generated from this list. Values are texts in users' notation: `1G`,
//! `1500`, `60ms`.

mod bucket;
mod network;
mod rates;
mod tunnel;
mod units;
mod window;
mod wireless;

pub use rates::WireRate;

/// A calculator.
#[derive(Debug)]
pub struct Calculator {
    /// The name.
    pub name: &'static str,
    /// One-sentence help.
    pub help: &'static str,
    /// The arguments.
    pub arguments: &'static [Argument],
    run: fn(&ArgumentValues<'_>) -> Result<Rows, String>,
}

/// An argument of a calculator.
#[derive(Debug)]
pub struct Argument {
    /// The name.
    pub name: &'static str,
    /// Description, with the unit.
    pub help: &'static str,
    /// The default; an argument without default is required.
    pub default: Option<&'static str>,
}

/// Results: names and values, in order.
pub type Rows = Vec<(String, String)>;

/// Parses bits per second: `700M`, `1G`, `64k`.
///
/// # Errors
/// Description of the accepted format.
pub fn bits_per_second(text: &str) -> Result<f64, String> {
    units::rate(text)
}

/// Returns the length of an IP packet of `length` bytes behind nested tunnels, written as for the calculator
/// `tunnel`, on a link with this MTU. The result may exceed the MTU: the packet is then sent in fragments.
///
/// # Errors
/// A tunnel or cipher is unknown.
pub fn encapsulated_length(layers: &str, length: u32, mtu: u32) -> Result<u32, String> {
    tunnel::encapsulated_length(layers, length, mtu)
}

const fn argument(name: &'static str, help: &'static str, default: &'static str) -> Argument {
    Argument {
        name,
        help,
        default: Some(default),
    }
}

/// All calculators.
pub static CALCULATORS: &[Calculator] = &[
    rates::RATES,
    rates::CAPACITY,
    window::WINDOW,
    bucket::BUCKET,
    tunnel::TUNNEL,
    wireless::WIRELESS,
    network::NETWORK,
];

/// Returns the calculator with this name.
///
/// # Errors
/// There is no such calculator; the message lists all calculators.
pub fn named(name: &str) -> Result<&'static Calculator, String> {
    let found = CALCULATORS.iter().find(|own| own.name == name);
    found.ok_or_else(|| {
        let names: Vec<_> = CALCULATORS.iter().map(|own| own.name).collect();
        format!("no calculator {name}: expected {}", names.join(", "))
    })
}

/// Runs a calculator with arguments of the form `name=value`.
///
/// # Errors Unknown calculator, or an error of [`Calculator::run`].
pub fn calculate<'a>(name: &str, words: impl Iterator<Item = &'a str>) -> Result<Rows, String> {
    let pairs = words.map(|word| {
        let wrong = || format!("{word}: expected name=value");
        word.split_once('=').ok_or_else(wrong)
    });
    let pairs: Result<Vec<_>, String> = pairs.collect();
    named(name)?.run(&pairs?)
}

impl Calculator {
    /// Runs the calculator with these arguments.
    ///
    /// # Errors
    /// An argument is unknown, missing or invalid; the message describes the accepted format.
    pub fn run(&self, values: &[(&str, &str)]) -> Result<Rows, String> {
        for (name, _) in values {
            if !self.arguments.iter().any(|own| own.name == *name) {
                let names: Vec<_> = self.arguments.iter().map(|own| own.name).collect();
                let names = names.join(", ");
                return Err(format!("{name}: {} takes {names}", self.name));
            }
        }
        (self.run)(&ArgumentValues {
            calculator: self,
            values,
        })
    }
}

/// The argument values of a run.
struct ArgumentValues<'a> {
    calculator: &'a Calculator,
    values: &'a [(&'a str, &'a str)],
}

impl<'a> ArgumentValues<'a> {
    /// Returns the text of an argument; its default if not given, otherwise empty.
    fn text(&self, name: &str) -> &'a str {
        let mut said = self.values.iter();
        if let Some((_, value)) = said.find(|(own, value)| *own == name && !value.is_empty()) {
            return value;
        }
        let mut arguments = self.calculator.arguments.iter();
        let own = arguments.find(|own| own.name == name);
        own.and_then(|own| own.default).unwrap_or_default()
    }

    /// Parses an argument.
    fn read<T>(&self, name: &str, read: fn(&str) -> Result<T, String>) -> Result<T, String> {
        let text = self.text(name);
        if text.is_empty() {
            return Err(format!("{name} is missing"));
        }
        read(text).map_err(|why| format!("{name}={text}: {why}"))
    }
}

fn row(name: impl Into<String>, value: impl Into<String>) -> (String, String) {
    (name.into(), value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_calculator_names_the_error_and_the_expected_form() {
        for calculator in CALCULATORS {
            let said = calculator
                .run(&[("nonsense", "1")])
                .expect_err("no such argument");
            assert!(said.contains(calculator.arguments[0].name), "{said}");
            for argument in calculator.arguments {
                let said = calculator.run(&[(argument.name, "?!")]);
                let said = said.expect_err(argument.name);
                assert!(
                    said.starts_with(argument.name),
                    "{}: {said}",
                    calculator.name
                );
            }
        }
        assert!(
            named("rate")
                .expect_err("no such")
                .contains("rates, capacity")
        );
    }

    #[test]
    fn calculator_names_are_unique() {
        let names: std::collections::BTreeSet<_> = CALCULATORS.iter().map(|own| own.name).collect();
        assert_eq!(names.len(), CALCULATORS.len());
    }
}
