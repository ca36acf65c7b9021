//! Values that their argument does not take, while they are being typed.

use menu::Store;

use crate::builtin::Takes;
use crate::spec::Parameter;
use crate::value::Value;

/// What may follow for a value to be whole, of the types that cannot list their values: the rest of an
/// address, a range, a span of time or a rate.
const RESTS: [&str; 34] = [
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

/// Whether a value as it stands in a text is none of what the argument takes. What has not ended may still
/// become one.
pub(crate) fn is_wrong(store: &Store, parameter: &Parameter, typed: &str, ended: bool) -> bool {
    let quoted = typed.starts_with('"');
    // What escapes stand for is known when it runs.
    if typed.contains(['\\', '\n']) || parameter.takes != Takes::Value {
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

/// A bare word as menus read it.
fn plain(word: &str) -> String {
    match Value::of_word(word) {
        Value::Time(nanos) => menu::time::units(nanos),
        Value::Bool(value) => (if value { "yes" } else { "no" }).to_owned(),
        Value::Str(text) => text.as_ref().to_owned(),
        value => value.to_string(),
    }
}

/// Whether the argument takes a whole value.
fn takes(store: &Store, parameter: &Parameter, text: &str) -> bool {
    let Some(property) = parameter.property else {
        let argument = parameter.argument;
        return argument.is_none_or(|own| own.kind.parse(own.name, text).is_ok());
    };
    // A password is sealed, which takes long; nobody is told by a colour what it should be.
    if property.sealed || property.sensitive {
        return true;
    }
    let old = parameter.names.map_or(&[][..], |menu| menu.old);
    let by_old_word =
        |old: &&menu::Old| old.name == property.name && old.value.is_none_or(|value| value == text);
    // An item that names itself is not there yet.
    property.itself
        || old.iter().any(|old| by_old_word(&old))
        || store.parse(property, text).is_ok()
}

/// Whether what has been typed begins a value.
fn goes_on(store: &Store, parameter: &Parameter, text: &str) -> bool {
    let Some(kind) = parameter.kind() else {
        return true;
    };
    // Of several values the last one is being typed.
    let last = text.rsplit([',', '!']).next().unwrap_or_default();
    let named = kind
        .spaces()
        .into_iter()
        .any(|space| store.names_from(space, last).next().is_some());
    named
        || kind.words().iter().any(|word| word.starts_with(last))
        || RESTS.iter().any(|rest| {
            kind.parse(parameter.name, &format!("{text}{rest}")).is_ok() && !kind.refers()
        })
}
