//! `:serialize` and `:deserialize`.

use std::sync::Arc;

use menu::Reason;

use super::{invalid, json, rows};
use crate::ast::{Binary, Command, Expr, Node};
use crate::job;
use crate::language::argument;
use crate::machine::{Machine, Result};
use crate::value::Value;

/// Serialisation options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Writes JSON on several lines.
    pub(super) pretty: bool,
    /// Keeps strings as strings, even those that look like numbers.
    pub(super) plain_text: bool,
    /// Rows have no header line.
    pub(super) plain_rows: bool,
    /// Reads rows as an array of arrays with keys.
    pub(super) array: bool,
    /// Takes an array of rows with named fields instead of columns.
    pub(super) remap: bool,
    /// Quotes all strings.
    pub(super) wrap: bool,
    /// Accepts columns of different lengths.
    pub(super) ignore_size: bool,
    /// Delimiter between fields.
    pub(super) delimiter: String,
    /// Order of the columns.
    pub(super) order: Vec<String>,
}

impl Machine<'_> {
    pub(super) fn serialize(&mut self, command: &Command) -> Result<Value> {
        let value = self.value_of(command, "value")?;
        // Reserve memory for the output: an escape may turn one byte into six.
        self.charge(value.weight().saturating_mul(2))?;
        let mut options = self.serial_options(command)?;
        let order = self.value_of(command, "order")?.to_array();
        options.order = order.iter().map(|(_, name)| name.to_string()).collect();
        let to = self.text_of(command, "to")?;
        let text = match to.as_deref() {
            Some("json") => Ok(json::write(&value, &options)),
            Some("dsv") => rows::write(&value, &options),
            Some(_) => Err(Reason::no_match("to")),
            None => Err(Reason::Missing(vec!["to"])),
        };
        let text = text.map_err(|reason| reason.at(command.at))?;
        // RouterOS: output that is written to a file is not returned as well.
        match self.text_of(command, "file-name")? {
            Some(name) if !self.checking => {
                self.permit_builtin("import")?;
                self.with(|access| job::write_file(access.live, &name, &text))?;
                Ok(Value::Nothing)
            }
            _ => Ok(Value::str(text)),
        }
    }

    pub(super) fn deserialize(&mut self, command: &Command) -> Result<Value> {
        let text = self.value_of(command, "value")?.text();
        // Values take more memory than their text: an empty value takes two bytes of text.
        self.charge(text.len().saturating_mul(size_of::<Value>()))?;
        let options = self.serial_options(command)?;
        let from = self.text_of(command, "from")?;
        let value = match from.as_deref() {
            Some("json") => json::read(&text, &options).ok_or_else(|| invalid("value")),
            Some("dsv") => Ok(rows::read(&text, &options)),
            Some(_) => Err(Reason::no_match("from")),
            None => Err(Reason::Missing(vec!["from"])),
        };
        value.map_err(|reason| reason.at(command.at).into())
    }

    fn serial_options(&mut self, command: &Command) -> Result<Options> {
        let mut options = Options {
            delimiter: ",".to_owned(),
            ..Options::default()
        };
        if let Some(delimiter) = self.text_of(command, "delimiter")? {
            if delimiter.is_empty() || delimiter.chars().count() > 3 {
                return Err(invalid("delimiter").at(command.at).into());
            }
            options.delimiter = delimiter.to_string();
        }
        for word in self.option_words(command)? {
            match &*word {
                "json.pretty" => options.pretty = true,
                "json.no-string-conversion" => options.plain_text = true,
                "dsv.plain" => options.plain_rows = true,
                "dsv.array" => options.array = true,
                "dsv.remap" => options.remap = true,
                "dsv.wrap-strings" => options.wrap = true,
                "dsv.ignore-size" => options.ignore_size = true,
                _ => return Err(Reason::no_match("options").at(command.at).into()),
            }
        }
        Ok(options)
    }

    /// Returns the words of the `options` argument: bare, in a string, or in parentheses.
    fn option_words(&mut self, command: &Command) -> Result<Vec<Arc<str>>> {
        let given = argument(command, "options").and_then(|argument| argument.value.as_ref());
        let Some(expr) = given else {
            return Ok(Vec::new());
        };
        if let Node::Variable(_) = expr.node {
            let value = self.eval(expr)?.to_array();
            return Ok(value.iter().map(|(_, word)| word.text()).collect());
        }
        let mut text = String::new();
        if spelled(expr, &mut text) {
            return Ok(text.split(',').map(Arc::from).collect());
        }
        let value = self.eval(expr)?.to_array();
        Ok(value.iter().map(|(_, word)| word.text()).collect())
    }
}

/// Rebuilds the text of `(json.pretty,json.no-string-conversion)` from its expression: here dots and dashes
/// belong to the words, and names are not variables.
fn spelled(expr: &Expr, text: &mut String) -> bool {
    let (left, mark, right) = match &expr.node {
        Node::Word(word) | Node::Variable(word) => {
            text.push_str(word);
            return true;
        }
        Node::Group(inner) => return spelled(inner, text),
        Node::Binary(Binary::Comma, left, right) => (left, ',', right),
        Node::Binary(Binary::Concat, left, right) => (left, '.', right),
        Node::Binary(Binary::Subtract, left, right) => (left, '-', right),
        _ => return false,
    };
    let first = spelled(left, text);
    text.push(mark);
    first && spelled(right, text)
}
