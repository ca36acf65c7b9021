//! Searching and slicing of strings and arrays.

use menu::{Reason, bytes};

use super::invalid;
use crate::ast::Command;
use crate::language::argument;
use crate::machine::{CollectedOutput, Machine, Result, Stop};
use crate::regex::Regex;
use crate::value::Value;

impl Machine<'_> {
    /// `:find "abc" "b"`: returns the position of a substring or an array element.
    pub(super) fn search(&mut self, command: &Command) -> Result<Value> {
        let all = self.value_of(command, "in")?;
        let weight = all.weight();
        let key = self.holding(weight, |machine| machine.value_of(command, "key"))?;
        // RouterOS: the search begins after `from`.
        let from = self.number_of(command, "from", -1)?.saturating_add(1);
        let from = usize::try_from(from).unwrap_or(0);
        let found = match &all {
            Value::Array(elements) => elements
                .iter()
                .skip(from)
                .position(|(_, value)| value.equals(&key))
                .map(|at| at + from),
            text => position(&text.text(), &key.text(), from),
        };
        let found = found.and_then(|at| i64::try_from(at).ok());
        Ok(found.map_or(Value::Nil, Value::Num))
    }

    /// `:pick "abcde" 1 3`: returns a slice of a string or an array.
    pub(super) fn pick(&mut self, command: &Command) -> Result<Value> {
        let all = self.value_of(command, "counter")?;
        let begin = self.number_of(command, "begin", 0)?.max(0);
        let begin = usize::try_from(begin).unwrap_or(usize::MAX);
        let end = self.value_of(command, "end")?;
        let single = end.is_none() && argument(command, "end").is_none();
        let end = match end.to_num() {
            None if end.is_none() && !single => usize::MAX,
            None if end.is_none() => begin.saturating_add(1),
            Some(number) => usize::try_from(number.max(0)).unwrap_or(usize::MAX),
            None => return Err(invalid("end").at(command.at).into()),
        };
        let limit = |len: usize| (begin.min(len), end.min(len).max(begin.min(len)));
        Ok(match all {
            Value::Array(elements) => {
                let (from, to) = limit(elements.len());
                match elements.get(from..to).unwrap_or_default() {
                    [(_, value)] if single => value.clone(),
                    [] if single => Value::Nothing,
                    piece => Value::array(piece.to_vec()),
                }
            }
            text => Value::str(piece(&text.text(), limit)),
        })
    }

    /// `:range 1 5`: returns an array of consecutive numbers.
    pub(super) fn range(&mut self, command: &Command) -> Result<Value> {
        let from = self.number_of(command, "from", 0)?;
        let to = self.number_of(command, "to", 0)?;
        let count = usize::try_from(from.abs_diff(to)).unwrap_or(usize::MAX);
        self.charge(count.saturating_mul(2 * size_of::<Value>()))?;
        Ok(if from <= to {
            Value::list((from..=to).map(Value::Num))
        } else {
            Value::list((to..=from).rev().map(Value::Num))
        })
    }

    /// `:grep pattern="…" script={…}`: returns the lines of the script's output that match.
    pub(super) fn grep(&mut self, command: &Command) -> Result<Value> {
        let pattern = self.text_of(command, "pattern")?.unwrap_or_default();
        let Some(regex) = Regex::new(&bytes::to_bytes(&pattern)) else {
            return Err(invalid("pattern").at(command.at).into());
        };
        if argument(command, "filename").is_some() {
            let text = "grep searches the output of a script, not files";
            return Err(Reason::failure(text).at(command.at).into());
        }
        let before = usize::try_from(self.number_of(command, "before", 0)?).unwrap_or(0);
        let after = usize::try_from(self.number_of(command, "after", 0)?).unwrap_or(0);
        let printed = self.captured(command, "script")?;
        let lines: Vec<_> = printed.lines().collect();
        let mut wanted = vec![false; lines.len()];
        for (index, line) in lines.iter().enumerate() {
            if regex.matches(&bytes::to_bytes(line)) {
                let last = index.saturating_add(after).min(lines.len() - 1);
                let around = index.saturating_sub(before)..=last;
                wanted.get_mut(around).unwrap_or_default().fill(true);
            }
        }
        let found = lines.iter().zip(wanted).filter(|(_, wanted)| *wanted);
        let found: Vec<_> = found.map(|(line, _)| *line).collect();
        if argument(command, "as-array").is_some() {
            return Ok(Value::list(found.into_iter().map(Value::str)));
        }
        Ok(Value::str(found.join("\n")))
    }

    /// Runs the code of an argument and returns its output, or its value if it prints nothing.
    pub(super) fn captured(&mut self, command: &Command, name: &str) -> Result<String> {
        let code = self.code_of(command, name)?;
        let mut text = CollectedOutput::new(usize::MAX);
        let value = self.printing_to(&mut text, |machine| machine.block(&code));
        let value = match value {
            Err(Stop::Return(value)) => value,
            other => other?,
        };
        self.charge(text.text.len())?;
        if text.text.is_empty() {
            return Ok(value.to_string());
        }
        Ok(text.text)
    }

    /// Runs the code of `execute` and returns its output, followed by the error that ended it, if any.
    /// RouterOS: for API programs `as-string` returns the text of a failure, with its command and line, as the
    /// result; the command itself succeeds.
    pub(crate) fn execute_to_text(&mut self, command: &Command) -> Result<String> {
        let mut text = CollectedOutput::new(usize::MAX);
        let ended = self.code_of(command, "script").and_then(|code| {
            self.printing_to(&mut text, |machine| match machine.block(&code) {
                Err(Stop::Refused(refusal)) if refusal.reason != Reason::Interrupted => {
                    let explained = machine.explained(&refusal);
                    machine.print(&format!("{explained}\n"))?;
                    Ok(Value::Nothing)
                }
                Err(Stop::Return(value)) => Ok(value),
                ended => ended,
            })
        });
        let value = match ended {
            // The script has a syntax error.
            Err(Stop::Refused(refusal)) if refusal.reason != Reason::Interrupted => {
                return Ok(refusal.to_string());
            }
            ended => ended?,
        };
        match text.text.trim_end_matches('\n') {
            "" => Ok(value.to_string()),
            printed => Ok(printed.to_owned()),
        }
    }

    pub(super) fn line_ends(&mut self, name: &str, command: &Command) -> Result<Value> {
        let text = self.text_of(command, "input")?.unwrap_or_default();
        let plain = text.replace("\r\n", "\n");
        Ok(Value::str(if name == "tolf" {
            plain
        } else {
            plain.replace('\n', "\r\n")
        }))
    }
}

/// Returns the byte position of `key` in a text, at or after `from`.
fn position(text: &str, key: &str, from: usize) -> Option<usize> {
    if key.is_empty() {
        return None;
    }
    // Fast path: without mapped non-UTF-8 bytes, offsets in the text and in the bytes agree.
    if !has_raw(text) && !has_raw(key) {
        let rest = text.as_bytes().get(from..)?;
        return find_bytes(rest, key.as_bytes()).map(|at| at + from);
    }
    let (text, key) = (bytes::to_bytes(text), bytes::to_bytes(key));
    find_bytes(text.get(from..)?, &key).map(|at| at + from)
}

fn find_bytes(text: &[u8], key: &[u8]) -> Option<usize> {
    let first = *key.first()?;
    let mut at = 0;
    while let Some(skip) = text.get(at..)?.iter().position(|byte| *byte == first) {
        at += skip;
        if text.get(at..)?.starts_with(key) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn has_raw(text: &str) -> bool {
    // U+EF80 to U+EFFF stand for bytes that are not UTF-8; these are their first two bytes in UTF-8.
    let mut pairs = text.as_bytes().windows(2);
    pairs.any(|pair| pair[0] == 0xee && pair[1] >= 0xbe)
}

/// Returns a byte range of a text. `limit` maps the length to the range.
fn piece(text: &str, limit: impl Fn(usize) -> (usize, usize)) -> String {
    if !has_raw(text) {
        let (from, to) = limit(text.len());
        if let Some(piece) = text.get(from..to) {
            return piece.to_owned();
        }
    }
    let all = bytes::to_bytes(text);
    let (from, to) = limit(all.len());
    bytes::from_bytes(all.get(from..to).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_and_pick_work_on_arbitrary_bytes() {
        let odd = bytes::from_bytes(b"a\xff\xfeb\xc3\xa4c");
        assert_eq!(position(&odd, "b", 0), Some(3));
        assert_eq!(position(&odd, &bytes::from_bytes(b"\xfe"), 0), Some(2));
        assert_eq!(bytes::to_bytes(&piece(&odd, |_| (1, 4))), b"\xff\xfeb");
        assert_eq!(bytes::to_bytes(&piece("xäy", |_| (1, 2))), b"\xc3");
        assert_eq!(piece("abcde", |_| (1, 3)), "bc");
        assert_eq!(position("aab", "a", 1), Some(1));
        assert_eq!(position("aab", "", 0), None);
        assert_eq!(position("aab", "b", 99), None);
        assert_eq!(position("aaab", "aab", 0), Some(1));
    }
}
