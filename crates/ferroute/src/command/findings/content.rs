//! Items identified by their values: an expression that finds an item of one configuration in a copy of it.

use menu::{Id, Item, Property, Store, Value, quote_always};

/// Returns a command that finds its items by their values, independent of their order: item numbers are valid in this
/// store only.
pub(crate) fn portable(store: &Store, command: &str) -> String {
    let path = command
        .split(' ')
        .next()
        .and_then(|path| path.rsplit_once('/'));
    let words = command.split(' ').enumerate().map(|(at, word)| {
        let (before, id) = word.split_once('*').unwrap_or((word, ""));
        let Ok(number) = u64::from_str_radix(id, 16) else {
            return word.to_owned();
        };
        // Elsewhere the text is part of a name.
        let names_item = matches!(before, "place-before=" | "destination=");
        if !(names_item || before.is_empty() && at == 1) {
            return word.to_owned();
        }
        let found = path.and_then(|(menu, _)| by_content(store, menu, Id(number)));
        let Some(found) = found else {
            return word.to_owned();
        };
        // Among equal items, each `remove` moves the rest one position up.
        let removes = path.is_some_and(|(_, name)| name == "remove");
        let place = if removes {
            found.place.min(1)
        } else {
            found.place
        };
        format!("{before}{}", found.expression(place))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// An item as a condition on its menu.
pub(super) struct Content {
    /// Expression such as `[find chain=input action=drop]`.
    find: String,
    /// Number of items that match the condition.
    alike: usize,
    /// Position of the item among the matches, from 0.
    pub(super) place: usize,
}

impl Content {
    /// Returns the expression for the match at a position.
    pub(super) fn expression(&self, place: usize) -> String {
        match self.alike {
            1 => self.find.clone(),
            _ => format!("[:pick {} {place}]", self.find),
        }
    }
}

/// Returns the condition that matches an item; `None` if the item does not exist.
pub(super) fn by_content(store: &Store, menu: &str, id: Id) -> Option<Content> {
    let item = store.item(menu, id)?;
    if let Some(name) = item.name() {
        let key = item.menu.key.unwrap_or("name");
        return Some(Content {
            find: format!("[find {key}={}]", quote(name)),
            alike: 1,
            place: 0,
        });
    }
    let own: Vec<_> = item
        .values()
        .filter(|(property, value)| tells(property, value))
        .collect();
    let mut alike: Vec<_> = store
        .items(menu)
        .filter(|other| {
            let mut own = own.iter();
            own.all(|(property, value)| other.get(property.name) == Some(value))
        })
        .collect();
    let mut find = String::from("[find");
    for (property, value) in &own {
        find.push_str(&format!(" {}={}", property.name, quote(&value.to_string())));
    }
    // Conditions `!property` exclude matches with additional values.
    while let Some(lacked) = alike.iter().find_map(|other| lacked(item, other)) {
        find.push_str(&format!(" !{lacked}"));
        alike.retain(|other| !is_set(other, lacked));
    }
    find.push(']');
    Some(Content {
        find,
        place: alike.iter().position(|other| other.id == id)?,
        alike: alike.len(),
    })
}

/// Returns true for values that distinguish items and have one spelling.
fn tells(property: &Property, value: &Value) -> bool {
    let spelled = match value {
        Value::Word(_)
        | Value::Text(_)
        | Value::Reference(_)
        | Value::Number(_)
        | Value::Address(_)
        | Value::Prefix(_)
        | Value::Mac(_)
        | Value::Not(_) => true,
        Value::List(list) => !list.iter().any(|value| matches!(value, Value::Time(_))),
        Value::Bool(value) => *value,
        _ => false,
    };
    let usual = property
        .default
        .is_some_and(|usual| usual == value.to_string());
    let hidden = property.read_only || property.sensitive || property.sealed;
    spelled && !usual && !hidden && !value.is_empty()
}

/// Returns a property that the other item has and this item lacks.
fn lacked(item: &Item, other: &Item) -> Option<&'static str> {
    let mut more = other
        .values()
        .filter(|(property, value)| tells(property, value));
    let lacked = more.find(|(property, _)| !is_set(item, property.name))?;
    Some(lacked.0.name)
}

/// Returns true if a bare property in a condition matches the item.
fn is_set(item: &Item, property: &str) -> bool {
    match item.get(property) {
        Some(Value::Bool(value)) => *value,
        Some(value) => !value.is_empty(),
        None => false,
    }
}

/// Quotes a text for a condition, unless it is a single word.
fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let letter = text.starts_with(|c: char| c.is_ascii_alphabetic());
    match letter && text.chars().all(plain) {
        true => text.to_owned(),
        false => quote_always(text),
    }
}
