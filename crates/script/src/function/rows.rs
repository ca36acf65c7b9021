//! Serialises values as delimiter-separated rows (`dsv`) and parses such rows.

use std::collections::BTreeSet;

use menu::Reason;

use super::serial::Options;
use crate::value::{Elements, Value};

/// Serialises an array as rows. The array holds named columns, rows with named fields (`dsv.remap`), or plain
/// rows.
pub(super) fn write(value: &Value, options: &Options) -> Result<String, Reason> {
    let elements = value.to_array();
    let named = |(key, _): &(Option<String>, Value)| key.is_some();
    if !options.remap && !elements.iter().any(named) {
        let rows = elements.iter().map(|(_, row)| {
            let fields = row.to_array();
            let fields = fields.iter().map(|(_, field)| field_text(field, options));
            line(fields.collect(), options)
        });
        return Ok(rows.collect::<Vec<_>>().join("\n"));
    }
    let names = names(&elements, options);
    let columns = names
        .iter()
        .map(|name| column(&elements, name, options))
        .collect::<Vec<_>>();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    if !options.ignore_size && columns.iter().any(|column| column.len() != rows) {
        return Err(Reason::failure("array size mismatch"));
    }
    let mut text = line(names, options);
    for row in 0..rows {
        let fields = columns.iter().map(|column| {
            let field = column.get(row);
            field.map_or_else(String::new, |field| field_text(field, options))
        });
        text.push('\n');
        text.push_str(&line(fields.collect(), options));
    }
    Ok(text)
}

/// Returns the column names: as given by the `order` argument, otherwise the keys of the array; for `dsv.remap`
/// the field names of all rows, sorted.
fn names(elements: &Elements, options: &Options) -> Vec<String> {
    if !options.order.is_empty() {
        return options.order.clone();
    }
    let keys = |elements: &Elements| {
        let keys = elements.iter().filter_map(|(key, _)| key.clone());
        keys.collect::<Vec<_>>()
    };
    if !options.remap {
        return keys(elements);
    }
    let all: BTreeSet<_> = elements
        .iter()
        .flat_map(|(_, row)| keys(&row.to_array()))
        .collect();
    all.into_iter().collect()
}

fn column(elements: &Elements, name: &str, options: &Options) -> Vec<Value> {
    let key = Value::str(name);
    if options.remap {
        let cells = elements.iter().map(|(_, row)| row.element(&key).cloned());
        return cells.map(Option::unwrap_or_default).collect();
    }
    let found = elements
        .iter()
        .find(|(own, _)| own.as_deref() == Some(name));
    let fields = found
        .map(|(_, column)| column.to_array())
        .unwrap_or_default();
    fields.into_iter().map(|(_, field)| field).collect()
}

fn line(fields: Vec<String>, options: &Options) -> String {
    fields.join(&options.delimiter)
}

/// Returns the text of a field. Quotes it if `dsv.wrap-strings` is set or the field contains the delimiter, a
/// quote or a newline.
fn field_text(field: &Value, options: &Options) -> String {
    let text = field.text();
    let wrapped = options.wrap && matches!(field, Value::Str(_));
    let odd = text.contains(&*options.delimiter) || text.contains(['"', '\n']);
    if wrapped || odd {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_string()
}

/// Parses rows to an array.
pub(super) fn read(text: &str, options: &Options) -> Value {
    let mut rows = split(text, &options.delimiter);
    if options.plain_rows {
        return Value::list(rows.map(|fields| Value::list(fields.into_iter().map(Value::str))));
    }
    let names = rows.next().unwrap_or_default();
    if options.array {
        return Value::list(rows.map(|fields| {
            let mut elements = Vec::new();
            for (name, field) in names.iter().zip(fields) {
                Value::insert(&mut elements, name.clone(), Value::of_word(&field));
            }
            Value::array(elements)
        }));
    }
    let mut columns: Vec<Vec<Value>> = names.iter().map(|_| Vec::new()).collect();
    for fields in rows {
        let mut fields = fields.into_iter();
        for column in &mut columns {
            let field = fields.next().unwrap_or_default();
            column.push(Value::of_word(&field));
        }
    }
    let mut elements = Vec::new();
    for (name, column) in names.into_iter().zip(columns) {
        Value::insert(&mut elements, name, Value::list(column));
    }
    Value::array(elements)
}

/// Splits the text into rows and fields. A quoted field may contain delimiters and newlines.
fn split<'a>(text: &'a str, delimiter: &'a str) -> impl Iterator<Item = Vec<String>> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let mut fields = Vec::new();
        loop {
            let (field, after) = field(rest?, delimiter);
            fields.push(field);
            // A newline ends the row even if the delimiter is a newline.
            if !after.starts_with('\n')
                && let Some(next) = after.strip_prefix(delimiter)
            {
                rest = Some(next);
                continue;
            }
            let next = after.strip_prefix('\r').unwrap_or(after);
            // Ignore the text between the closing quote of the last field and the end of the line.
            let end = next.find('\n').map(|at| at + 1);
            rest = end
                .and_then(|end| next.get(end..))
                .filter(|rest| !rest.is_empty());
            return Some(fields);
        }
    })
}

/// Splits off the first field. Returns it unquoted, with the rest of the text.
fn field<'a>(text: &'a str, delimiter: &str) -> (String, &'a str) {
    if let Some(mut rest) = text.strip_prefix('"') {
        let mut field = String::new();
        while let Some((piece, after)) = rest.split_once('"') {
            field.push_str(piece);
            match after.strip_prefix('"') {
                Some(more) => {
                    field.push('"');
                    rest = more;
                }
                None => return (field, after),
            }
        }
    }
    let ends = [text.find(delimiter), text.find('\n')];
    let end = ends.into_iter().flatten().min();
    let (field, after) = text.split_at(end.unwrap_or(text.len()));
    match field.strip_suffix('\r') {
        Some(shorter) if after.is_empty() || after.starts_with('\n') => (shorter.to_owned(), after),
        _ => (field.to_owned(), after),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn options(delimiter: &str) -> Options {
        Options {
            delimiter: delimiter.to_owned(),
            ..Options::default()
        }
    }

    #[test]
    fn dsv_examples_of_the_manual_are_read_and_written() {
        let text = "a;b;c\n1;2;3\n4;5;6";
        let array = Options {
            array: true,
            ..options(";")
        };
        let plain = Options {
            plain_rows: true,
            ..options(";")
        };
        assert_eq!(read(text, &array).to_string(), "a=1;b=2;c=3;a=4;b=5;c=6");
        assert_eq!(read(text, &plain).len(), 3);
        let columns = read(text, &options(";"));
        assert_eq!(columns.to_string(), "a=1;4;b=2;5;c=3;6");
        assert_eq!(write(&columns, &options(";")).as_deref(), Ok(text));
        let ordered = Options {
            order: ["c", "a"].map(str::to_owned).to_vec(),
            ..options(";")
        };
        assert_eq!(write(&columns, &ordered).as_deref(), Ok("c;a\n3;1\n6;4"));
        let lines = Options {
            plain_rows: true,
            ..options("\n")
        };
        assert_eq!(read("one,1\r\n{x}\n", &lines).to_string(), "one,1;{x}");
        assert_eq!(read("one,1\r\n{x}\n", &lines).len(), 2);
        let remap = Options {
            remap: true,
            ..options("#")
        };
        let rows = read(
            "x#y\n1#2\n3#",
            &Options {
                array: true,
                ..options("#")
            },
        );
        assert_eq!(write(&rows, &remap).as_deref(), Ok("x#y\n1#2\n3#"));
    }

    #[test]
    fn columns_of_different_lengths_are_refused_unless_asked_for() {
        let mut elements = Vec::new();
        Value::insert(
            &mut elements,
            "a".into(),
            Value::list([1, 2].map(Value::Num)),
        );
        Value::insert(&mut elements, "b".into(), Value::list([Value::Num(3)]));
        let value = Value::array(elements);

        assert_eq!(
            write(&value, &options(",")),
            Err(Reason::failure("array size mismatch"))
        );
        let ignore = Options {
            ignore_size: true,
            ..options(",")
        };
        assert_eq!(write(&value, &ignore).as_deref(), Ok("a,b\n1,3\n2,"));
    }

    proptest! {
        #[test]
        fn plain_rows_are_read_back_as_they_were_written(
            rows in prop::collection::vec(prop::collection::vec("[a-z,\"\n;]{1,5}", 1..4), 1..4)
        ) {
            let value = Value::list(rows.iter().map(|row| Value::list(row.iter().map(|f| Value::str(f.as_str())))));
            let text = write(&value, &options(",")).expect("rows can be written");
            let plain = Options { plain_rows: true, ..options(",") };
            prop_assert!(read(&text, &plain).equals(&value), "{text}");
        }

        #[test]
        fn no_text_makes_the_parser_panic(text: String, delimiter in "[,;\n\"\r]{1,3}") {
            let _ = read(&text, &options(&delimiter));
        }
    }
}
