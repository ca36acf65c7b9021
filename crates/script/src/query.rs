//! API queries: conditions on rows, in postfix notation.
//!
//! A query word pushes whether the row has a property (`name`), lacks it (`-name`), or how it compares
//! (`name=x`, `<name=x`, `>name=x`); `#` and operators work on the stack. A row passes if no false value
//! remains on the stack.

use std::cmp::Ordering;

use menu::{Kind, Menu, Row, RowFilter, Value};

use crate::items::looked_up;

/// Maximum total length in bytes of the words of a query.
const BYTES: usize = 16 << 10;

/// A parsed query.
#[derive(Debug, Default)]
pub(crate) struct Query {
    words: Vec<Word>,
    /// True if the query has operators. Otherwise all words must hold.
    operators: bool,
}

#[derive(Debug)]
enum Word {
    Compare(Compare),
    Operators(Vec<Operator>),
}

/// A comparison of a cell.
#[derive(Debug)]
struct Compare {
    name: String,
    test: Test,
    text: String,
    /// The text parsed as the property's type, if it is valid.
    value: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Test {
    Has,
    Lacks,
    Equal,
    Less,
    Greater,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// Pushes a copy of the value at this index; index 0 is the top.
    Copy(usize),
    /// Replaces the whole stack by the value at this index.
    Only(usize),
    Not,
    And,
    Or,
}

impl Query {
    /// Parses the words of a query, given without the leading question mark. Returns `None` if a word is
    /// invalid or the query is too long.
    pub(crate) fn read(menu: &'static Menu, words: &[String]) -> Option<Self> {
        if words.iter().map(String::len).sum::<usize>() > BYTES {
            return None;
        }
        let mut query = Self::default();
        for word in words {
            query.words.push(match word.strip_prefix('#') {
                Some(operators) => {
                    query.operators = true;
                    Word::Operators(read_operators(operators)?)
                }
                None => Word::Compare(Compare::read(menu, word)),
            });
        }
        Some(query)
    }

    /// Adds the condition that a property is set and, for a Boolean one, true.
    pub(crate) fn also(&mut self, menu: &'static Menu, name: &str) {
        let flag = menu.property(name).is_none_or(|p| p.kind == Kind::Bool);
        let word = if flag {
            format!("{name}=yes")
        } else {
            name.to_owned()
        };
        self.words.push(Word::Compare(Compare::read(menu, &word)));
    }

    /// Calls `run` with the row filter of the query. The filter lists equalities for lookup, and does not
    /// reveal secrets through comparisons if `without_secrets` is set.
    pub(crate) fn with_filter<T>(
        &self,
        menu: &'static Menu,
        without_secrets: bool,
        run: impl FnOnce(&RowFilter<'_>) -> T,
    ) -> T {
        if self.words.is_empty() {
            return run(&RowFilter {
                without_secrets,
                ..RowFilter::default()
            });
        }
        let equals = self.words.iter().filter_map(|word| match word {
            Word::Compare(compare) if compare.test == Test::Equal => {
                looked_up(menu, &compare.name, &compare.text)
            }
            _ => None,
        });
        let equals = if self.operators {
            Vec::new()
        } else {
            equals.collect()
        };
        let test = |row: &Row| self.holds(menu, row);
        run(&RowFilter {
            equals,
            test: Some(&test),
            without_secrets,
        })
    }

    /// True if a row passes the query.
    fn holds(&self, menu: &'static Menu, row: &Row) -> bool {
        let mut stack = Vec::with_capacity(self.words.len());
        for word in &self.words {
            match word {
                Word::Compare(compare) => stack.push(compare.holds(menu, row)),
                Word::Operators(operators) => {
                    operators.iter().for_each(|op| op.apply(&mut stack));
                }
            }
        }
        stack.iter().all(|value| *value)
    }
}

impl Operator {
    /// Applies the operator to the stack. Missing operands count as true.
    fn apply(self, stack: &mut Vec<bool>) {
        let at = |stack: &[bool], index: usize| {
            let place = stack.len().checked_sub(index.saturating_add(1));
            place
                .and_then(|place| stack.get(place))
                .copied()
                .unwrap_or(true)
        };
        match self {
            Self::Copy(index) => stack.push(at(stack, index)),
            Self::Only(index) => {
                let value = at(stack, index);
                stack.clear();
                stack.push(value);
            }
            Self::Not => {
                let value = stack.pop().unwrap_or(true);
                stack.push(!value);
            }
            Self::And | Self::Or => {
                let (b, a) = (stack.pop().unwrap_or(true), stack.pop().unwrap_or(true));
                stack.push(if self == Self::And { a && b } else { a || b });
            }
        }
    }
}

fn read_operators(text: &str) -> Option<Vec<Operator>> {
    let mut operators = Vec::new();
    let mut rest = text;
    // True if an index directly precedes the current character.
    let mut indexed = false;
    while let Some(c) = rest.chars().next() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let (index, after) = rest.split_at(digits);
            let index = index.parse().ok()?;
            operators.push(match after.is_empty() {
                true => Operator::Only(index),
                false => Operator::Copy(index),
            });
            (rest, indexed) = (after, true);
            continue;
        }
        match c {
            '!' => operators.push(Operator::Not),
            '&' => operators.push(Operator::And),
            '|' => operators.push(Operator::Or),
            '.' if indexed => {}
            '.' => operators.push(Operator::Copy(0)),
            _ => return None,
        }
        (rest, indexed) = (rest.get(c.len_utf8()..)?, false);
    }
    Some(operators)
}

impl Compare {
    fn read(menu: &'static Menu, word: &str) -> Self {
        let (test, rest) = match word.as_bytes().first() {
            Some(b'-') => (Test::Lacks, word.get(1..)),
            Some(b'<') => (Test::Less, word.get(1..)),
            Some(b'>') => (Test::Greater, word.get(1..)),
            Some(b'=') => (Test::Equal, word.get(1..)),
            _ => (Test::Has, Some(word)),
        };
        let rest = rest.unwrap_or_default();
        let (name, text, test) = match rest.split_once('=') {
            Some((name, text)) if test == Test::Has => (name, text, Test::Equal),
            Some((name, text)) if test != Test::Lacks => (name, text, test),
            _ => (rest, "", test),
        };
        let property = menu.property(name);
        let value = property.and_then(|p| p.kind.parse(name, text).ok());
        Self {
            name: name.to_owned(),
            test,
            text: text.to_owned(),
            value,
        }
    }

    fn holds(&self, menu: &'static Menu, row: &Row) -> bool {
        let flag = || {
            let flag = menu.flags.iter().any(|flag| flag.name == self.name);
            flag.then_some(Value::Bool(false))
        };
        let cell = match self.name.as_str() {
            ".id" => row.id.map(|id| Value::text(id.to_string())),
            name => row.get(name).cloned().or_else(flag),
        };
        match (self.test, cell) {
            (Test::Lacks, cell) => cell.is_none(),
            (_, None) => false,
            (Test::Has, Some(_)) => true,
            (Test::Equal, Some(cell)) => self.equals(&cell),
            (Test::Less, Some(cell)) => self.order(&cell) == Ordering::Less,
            (Test::Greater, Some(cell)) => self.order(&cell) == Ordering::Greater,
        }
    }

    fn equals(&self, cell: &Value) -> bool {
        match cell {
            Value::Bool(value) => match self.text.as_str() {
                "true" | "yes" => *value,
                "false" | "no" => !*value,
                _ => false,
            },
            cell => {
                let told = format!("{cell:#}");
                let is_same = self.value.as_ref() == Some(cell);
                is_same || told == self.text || cell.to_string() == self.text
            }
        }
    }

    /// Compares a cell with the value of the query: as integers if both are, as typed values if the types
    /// agree, otherwise as the text that API clients receive.
    fn order(&self, cell: &Value) -> Ordering {
        let text = format!("{cell:#}");
        let numbers = (text.parse::<i64>(), self.text.parse::<i64>());
        if let (Ok(a), Ok(b)) = numbers {
            return a.cmp(&b);
        }
        match &self.value {
            Some(value) if std::mem::discriminant(value) == std::mem::discriminant(cell) => {
                cell.cmp(value)
            }
            _ => text.cmp(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use menu::{Id, MenuShape, Property};

    static MENU: Menu = Menu {
        properties: &[&[
            Property::new("type", Kind::Text, "its type"),
            Property::new("distance", Kind::COUNTER, "how far"),
            Property::new("comment", Kind::Text, "a note"),
            Property::new("age", Kind::SPAN, "how old"),
            Property::new("disabled", Kind::Bool, "whether it counts"),
        ]],
        flags: &[menu::Flag::new('D', "dynamic", 0)],
        ..Menu::new("/thing", MenuShape::List, "things")
    };

    fn row() -> Row {
        let mut row = Row {
            id: Some(Id(0x1f)),
            ..Row::default()
        };
        row.set("type", Value::text("vlan"));
        row.set("distance", Value::Number(10));
        row.set("comment", Value::text(""));
        row.set("age", Value::Time(60_000_000_000));
        row.set("disabled", Value::Bool(false));
        row
    }

    fn passes(words: &[&str]) -> bool {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let query = Query::read(&MENU, &words).expect("a query");
        query.with_filter(&MENU, false, |filter| filter.accepts(&row()))
    }

    #[test]
    fn a_query_word_tests_presence_or_compares_a_value() {
        assert!(passes(&["type"]));
        assert!(!passes(&["-type"]));
        assert!(passes(&["-name"]));
        assert!(passes(&["type=vlan"]));
        assert!(passes(&["=type=vlan"]));
        assert!(passes(&[".id=*1F"]));
        assert!(passes(&["disabled=no"]) && passes(&["disabled=false"]));
        assert!(passes(&["dynamic=false"]));
        assert!(passes(&[">distance=9"]), "numbers compare as numbers");
        assert!(!passes(&["<distance=9"]));
        assert!(passes(&["<age=1h"]), "spans compare as spans");
        assert!(!passes(&[">comment="]));
    }

    #[test]
    fn operators_work_on_the_stack() {
        assert!(passes(&["type=ether", "type=vlan", "#|"]));
        assert!(!passes(&["type=ether", "type=vlan"]));
        assert!(!passes(&["type=vlan", "distance=10", "#&!"]));
        assert!(passes(&["type=ether", "#!"]));
        assert!(passes(&["type=ether", "type=vlan", "#0"]), "the top alone");
        assert!(!passes(&["type=ether", "type=vlan", "#1"]));
        assert!(passes(&["type=vlan", "#.&"]));
        assert!(passes(&["#|||"]), "below the stack all is true");
        assert!(passes(&["type=ether", "type=vlan", "#1.!|", "#0"]));
    }

    #[test]
    fn malformed_queries_are_refused() {
        for word in ["#~", "#x", "#99999999999999999999999"] {
            assert!(Query::read(&MENU, &[word.to_owned()]).is_none(), "{word}");
        }
        assert!(Query::read(&MENU, &["x".repeat(BYTES + 1)]).is_none());
    }
}
