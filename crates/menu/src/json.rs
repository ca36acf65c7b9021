//! Rows in the format of RouterOS's REST API: JSON objects whose values are all strings.

use crate::{Menu, Row, Value, bytes};

/// Returns the cells of a row as names and texts for API and REST, `.id` first. Booleans are `true` and
/// `false`; unset flags of the menu are `false`. `wanted` selects and orders the names.
pub fn fields(menu: &'static Menu, row: &Row, wanted: &[&str]) -> Vec<(&'static str, String)> {
    let mut fields = Vec::with_capacity(row.cells.len() + 4);
    if let Some(id) = row.id {
        fields.push((".id", id.to_string()));
    }
    // RouterOS: `.about` describes a problem of the item, and is present only if there is one.
    if let Some(about) = row.get(Row::ABOUT).filter(|about| !about.is_empty()) {
        fields.push((Row::ABOUT, text(false, about)));
    }
    // RouterOS has no such field, and some clients fail on unknown fields: it is returned only on request.
    if let Some(lack) = row
        .get(Row::NO_EFFECT)
        .filter(|_| wanted.contains(&Row::NO_EFFECT))
    {
        fields.push((Row::NO_EFFECT, text(false, lack)));
    }
    for property in menu.properties() {
        if let Some(value) = row.get(property.name) {
            // RouterOS: an empty comment is left out.
            if property.name == "comment" && value.is_empty() {
                continue;
            }
            fields.push((
                property.name,
                text(property.kind == crate::Kind::Presence, value),
            ));
        }
    }
    // Further cells of a row are for views that declare them.
    let others = row.cells.iter().filter(|_| !menu.is_configuration());
    for (name, value) in others {
        let told = [Row::ABOUT, Row::NO_EFFECT].contains(name);
        let known = told || menu.property(name).is_some();
        if !known && !menu.flags.iter().any(|flag| flag.name == *name) {
            fields.push((name, text(false, value)));
        }
    }
    for flag in menu.flags {
        let shown = !menu.unnumbered_dynamic || row.is(flag.name);
        if shown && menu.property(flag.name).is_none() {
            fields.push((flag.name, row.is(flag.name).to_string()));
        }
    }
    if wanted.is_empty() {
        return fields;
    }
    let find = |name: &&str| fields.iter().find(|(field, _)| field == name).cloned();
    wanted.iter().filter_map(find).collect()
}

/// Returns the row as a JSON object.
pub fn object(menu: &'static Menu, row: &Row, wanted: &[&str]) -> String {
    let mut out = String::from("{");
    for (index, (name, value)) in fields(menu, row, wanted).iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(name, &mut out);
        out.push(':');
        string(value, &mut out);
    }
    out.push('}');
    out
}

/// Appends a JSON string. A text with bytes that are not UTF-8 is written as Latin-1, one character per byte,
/// so that the document is valid and the client receives every byte.
pub fn string(text: &str, out: &mut String) {
    out.push('"');
    match text.chars().any(|c| bytes::raw(c).is_some()) {
        true => bytes::to_bytes(text)
            .into_iter()
            .for_each(|byte| character(char::from(byte), out)),
        false => text.chars().for_each(|c| character(c, out)),
    }
    out.push('"');
}

fn character(c: char, out: &mut String) {
    match c {
        '"' | '\\' => out.extend(['\\', c]),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => out.push(c),
    }
}

fn text(presence: bool, value: &Value) -> String {
    match value {
        Value::Bool(_) if presence => String::new(),
        Value::Bool(value) => value.to_string(),
        // RouterOS: API clients get numbers without units.
        value => format!("{value:#}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Id, Kind, MenuShape, Property};

    static MENU: Menu = Menu {
        properties: &[&[Property::new("name", Kind::Name, "Name")]],
        ..Menu::new("/items", MenuShape::List, "Items")
    };

    #[test]
    fn a_text_that_is_not_utf_8_keeps_every_byte() {
        let mut out = String::new();
        string(&bytes::from_bytes(b"\xe9\0\xc3\xa9\"\xff"), &mut out);
        assert_eq!(out, "\"\u{e9}\\u0000\u{c3}\u{a9}\\\"\u{ff}\"");

        let mut out = String::new();
        string("Tamás", &mut out);
        assert_eq!(out, "\"Tamás\"");
    }

    #[test]
    fn json_rows_contain_the_fault_of_an_item() {
        let mut row = Row {
            id: Some(Id(1)),
            ..Row::default()
        };
        row.set("name", Value::text("a"));
        assert_eq!(object(&MENU, &row, &[]), r#"{".id":"*1","name":"a"}"#);

        row.set(Row::ABOUT, Value::text("no such interface"));

        let all = object(&MENU, &row, &[]);
        let about = r#"".about":"no such interface""#;
        assert_eq!(all, format!(r#"{{".id":"*1",{about},"name":"a"}}"#));
        assert_eq!(object(&MENU, &row, &[".about"]), format!("{{{about}}}"));
    }
}
