//! Detects invalid argument values in a line being typed, for highlighting.

use menu::Store;

use crate::builtin::ArgumentKind;
use crate::spec::Parameter;
use crate::value::Value;

/// Endings that may complete a value of a type that cannot enumerate its values: address, range, duration or
/// rate.
const VALUE_ENDINGS: [&str; 34] = [
    "0",
    "1",
    ".0",
    ".0.0",
    ".0.0.0",
    "0.0",
    "0.0.0",
    "/0",
    "0/0",
    "-1",
    "-0.0.0.1",
    ":0",
    "::",
    "::/0",
    "s",
    "ms",
    "/1",
    ",1",
    "k",
    "00",
    ":00",
    "0:00",
    "00:00",
    ":00:00",
    "0:00:00",
    "00:00:00",
    ":00:00:00",
    "0:00:00:00",
    "00:00:00:00",
    ":00:00:00:00",
    "0:00:00:00:00",
    "00:00:00:00:00",
    ":00:00:00:00:00",
    "0:00:00:00:00:00",
];

/// True if the argument does not accept the value. An unfinished value is accepted if it may still become
/// valid.
pub(crate) fn is_wrong(store: &Store, parameter: &Parameter, typed: &str, ended: bool) -> bool {
    let quoted = typed.starts_with('"');
    // The value of escapes is only known at run time.
    if typed.contains(['\\', '\n']) || parameter.takes != ArgumentKind::Value {
        return false;
    }
    let text = match quoted {
        true => typed.trim_matches('"').to_owned(),
        false => plain(typed),
    };
    if takes(store, parameter, &text) || text.is_empty() && !ended {
        return false;
    }
    ended || quoted || !goes_on(store, parameter, &text)
}

/// Converts a bare word to the text that menus parse.
fn plain(word: &str) -> String {
    match Value::of_word(word) {
        Value::Time(nanos) => menu::time::units(nanos),
        Value::Bool(value) => (if value { "yes" } else { "no" }).to_owned(),
        Value::Str(text) => text.as_ref().to_owned(),
        value => value.to_string(),
    }
}

/// True if the argument accepts a complete value.
fn takes(store: &Store, parameter: &Parameter, text: &str) -> bool {
    let Some(property) = parameter.property else {
        let argument = parameter.argument;
        return argument.is_none_or(|own| own.kind.parse(own.name, text).is_ok());
    };
    // Checking a password is slow, and highlighting must not reveal anything about it.
    if property.sealed || property.sensitive {
        return true;
    }
    let old = parameter.names.map_or(&[][..], |menu| menu.old);
    let by_old_word = |old: &&menu::OldProperty| {
        old.name == property.name && old.value.is_none_or(|value| value == text)
    };
    // A reference of an item to itself cannot be resolved before the item exists.
    property.itself
        || old.iter().any(|old| by_old_word(&old))
        || store.parse(property, text).is_ok()
}

/// True if the text is the beginning of a valid value.
fn goes_on(store: &Store, parameter: &Parameter, text: &str) -> bool {
    let Some(kind) = parameter.kind() else {
        return true;
    };
    // Of several values, the last one is being typed.
    let last = text.rsplit([',', '!']).next().unwrap_or_default();
    let named = kind
        .spaces()
        .into_iter()
        .any(|space| store.names_from(space, last).next().is_some());
    named
        || kind.words().iter().any(|word| word.starts_with(last))
        || VALUE_ENDINGS.iter().any(|rest| {
            kind.parse(parameter.name, &format!("{text}{rest}")).is_ok() && !kind.refers()
        })
}
