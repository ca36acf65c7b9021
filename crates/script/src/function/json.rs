//! Serialises values as JSON and parses JSON (RFC 8259), with RouterOS's deviations.

use menu::json;

use super::serial::Options;
use crate::value::Value;

/// Maximum nesting of arrays and objects.
const NESTED: usize = Value::NESTED;

/// Serialises a value as JSON.
pub(super) fn write(value: &Value, options: &Options) -> String {
    let mut out = String::new();
    write_value(value, options, 0, &mut out);
    out
}

fn write_value(value: &Value, options: &Options, depth: usize, out: &mut String) {
    match value {
        Value::Nothing | Value::Nil => out.push_str("null"),
        Value::Bool(_) | Value::Num(_) => out.push_str(&value.to_string()),
        // RouterOS: a string that looks like a number becomes a number with six decimal places.
        Value::Str(text) if !options.plain_text => match decimal(text) {
            Some(number) => out.push_str(&format!("{number:.6}")),
            None => json::string(text, out),
        },
        Value::Array(elements) => {
            let keyed = elements.iter().any(|(key, _)| key.is_some());
            let (open, close) = if keyed { ('{', '}') } else { ('[', ']') };
            out.push(open);
            for (index, (key, value)) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                indent(options, depth + 1, out);
                if keyed {
                    let own = key.clone().unwrap_or_else(|| index.to_string());
                    json::string(&own, out);
                    out.push_str(if options.pretty { ": " } else { ":" });
                }
                write_value(value, options, depth + 1, out);
            }
            if !elements.is_empty() {
                indent(options, depth, out);
            }
            out.push(close);
        }
        other => json::string(&other.text(), out),
    }
}

fn indent(options: &Options, depth: usize, out: &mut String) {
    if options.pretty {
        out.push('\n');
        out.push_str(&"    ".repeat(depth));
    }
}

/// Parses a decimal number: digits with at most one dot.
fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if digits.len() > 30 || !plain(whole) || !plain(fraction) {
        return None;
    }
    text.parse().ok()
}

/// Parses JSON text. Returns `None` if it is invalid; a trailing comma is accepted.
pub(super) fn read(text: &str, options: &Options) -> Option<Value> {
    let mut reader = Reader {
        text,
        at: 0,
        plain: options.plain_text,
    };
    let value = reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    plain: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Skips white space, then consumes `byte` if it is next.
    fn takes(&mut self, byte: u8) -> bool {
        self.space();
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.space();
        match self.peek()? {
            b'{' if depth < NESTED => self.object(depth),
            b'[' if depth < NESTED => self.array(depth),
            b'"' => {
                let text = self.string()?;
                Some(if self.plain {
                    Value::str(text)
                } else {
                    Value::of_word(&text)
                })
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                let words = [
                    ("true", Value::Bool(true)),
                    ("false", Value::Bool(false)),
                    ("null", Value::Nil),
                ];
                let rest = self.text.get(self.at..)?;
                let (word, value) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
                self.at += word.len();
                Some(value)
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut elements = Vec::new();
        while !self.takes(b'}') {
            (self.peek()? == b'"').then_some(())?;
            let key = self.string()?;
            self.takes(b':').then_some(())?;
            let value = self.value(depth + 1)?;
            elements.push((Some(key), value));
            if !self.takes(b',') {
                self.takes(b'}').then_some(())?;
                break;
            }
        }
        // Of duplicate keys the last one wins.
        elements.reverse();
        elements.sort_by(|(a, _), (b, _)| a.cmp(b));
        elements.dedup_by(|(a, _), (b, _)| a == b);
        Some(Value::array(elements))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut elements = Vec::new();
        while !self.takes(b']') {
            elements.push(self.value(depth + 1)?);
            if !self.takes(b',') {
                self.takes(b']').then_some(())?;
                break;
            }
        }
        Some(Value::list(elements))
    }

    /// Parses a number. A number that is not a 64-bit integer stays a string.
    fn number(&mut self) -> Option<Value> {
        let rest = self.text.get(self.at..)?;
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
            .unwrap_or(rest.len());
        let text = rest.get(..end)?;
        text.parse::<f64>().ok()?;
        self.at += end;
        Some(text.parse().map_or_else(|_| Value::str(text), Value::Num))
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let plain = rest.find(['"', '\\'])?;
            text.push_str(rest.get(..plain)?);
            self.at += plain + 1;
            if rest.as_bytes().get(plain) == Some(&b'"') {
                return Some(text);
            }
            let escape = self.peek()?;
            self.at += 1;
            text.push(match escape {
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                same @ (b'"' | b'\\' | b'/') => char::from(same),
                b'u' => self.unicode()?,
                _ => return None,
            });
        }
    }

    /// Parses `\uXXXX`; two surrogates form one character.
    fn unicode(&mut self) -> Option<char> {
        let first = self.unit()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or('\u{fffd}'));
        }
        let rest = self.text.get(self.at..)?;
        if !rest.starts_with("\\u") {
            return Some('\u{fffd}');
        }
        self.at += 2;
        let second = self.unit()?;
        let low = second.wrapping_sub(0xdc00);
        let code = (low < 0x400).then(|| 0x1_0000 + ((first - 0xd800) << 10) + low);
        Some(code.and_then(char::from_u32).unwrap_or('\u{fffd}'))
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.at += 4;
        u32::from_str_radix(digits, 16).ok().filter(|_| plain)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain() -> Options {
        Options {
            plain_text: true,
            ..Options::default()
        }
    }

    #[test]
    fn values_are_written_as_the_router_writes_them() {
        let map = |pairs: &[(&str, Value)]| {
            let mut elements = Vec::new();
            for (key, value) in pairs {
                Value::insert(&mut elements, (*key).to_owned(), value.clone());
            }
            Value::array(elements)
        };
        let usual = Options::default();
        let cases = [
            (Value::Num(123), "123"),
            (Value::str("text"), "\"text\""),
            (Value::Bool(true), "true"),
            (Value::Nil, "null"),
            (Value::Nothing, "null"),
            (Value::of_word("192.168.1.1"), "\"192.168.1.1\""),
            (Value::of_word("1h30m15s"), "\"01:30:15\""),
            (Value::list([1, 2, 3].map(Value::Num)), "[1,2,3]"),
            (Value::array(Vec::new()), "[]"),
            (Value::str("123"), "123.000000"),
            (
                map(&[("z", Value::Num(1)), ("a", Value::str("1234"))]),
                "{\"a\":1234.000000,\"z\":1}",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(write(&value, &usual), expected);
        }
        assert_eq!(write(&Value::str("123"), &plain()), "\"123\"");
        let pretty = Options {
            pretty: true,
            ..Options::default()
        };
        assert_eq!(
            write(&map(&[("a", Value::Num(1))]), &pretty),
            "{\n    \"a\": 1\n}"
        );
    }

    #[test]
    fn json_strings_get_types_from_their_form() {
        let usual = Options::default();
        let read_usual = |text| read(text, &usual);
        let kind = |text| read_usual(text).map(|value| value.type_name());

        assert_eq!(kind("\"192.168.1.1\""), Some("ip"));
        assert_eq!(kind("\"01:30:00\""), Some("time"));
        assert_eq!(kind("\"123\""), Some("num"));
        assert_eq!(
            read("\"123\"", &plain()).map(|v| v.type_name()),
            Some("str")
        );
        assert_eq!(
            read_usual("[1,2,3,]").map(|v| v.to_string()),
            Some("1;2;3".into())
        );
        assert_eq!(
            read_usual(
                " {\"b\": [true, null], \"a\":{\"x\":-1.5e3}, \"b\": \"\\u00e4\\ud83d\\ude00\"} "
            )
            .map(|v| v.to_string()),
            Some("a=x=-1.5e3;b=ä😀".into())
        );
        for bad in [
            "{invalid}",
            "[1",
            "{\"a\"}",
            "\"",
            "\"\\x\"",
            "",
            "1 2",
            "--1",
            "nul",
            "[,]",
        ] {
            assert!(read_usual(bad).is_none(), "{bad}");
        }
        assert!(read_usual(&"[".repeat(100_000)).is_none());
    }

    proptest! {
        #[test]
        fn written_values_parse_to_the_same_values(text in "\\PC*", number: i64, flag: bool) {
            let value = Value::list([Value::str(text), Value::Num(number), Value::Bool(flag)]);
            let again = read(&write(&value, &plain()), &plain());
            prop_assert!(again.is_some_and(|again| again.equals(&value)));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[\\[\\]{}\",:\\\\u0-9a-f.tn-]*") {
            let _ = read(&text, &Options::default());
        }
    }
}
