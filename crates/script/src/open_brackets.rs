//! Detects whether a command being typed continues on the next line.

/// Returns the brackets and the quote still open at the end of a text, outermost first, as the continuation
/// prompt of the console shows them; `None` if the command is complete.
///
/// A trailing backslash continues the line as well: the result is then empty but not `None`.
pub fn open_brackets(text: &str) -> Option<String> {
    let mut open = String::new();
    let mut rest = text;
    let mut at_start = true;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        let quoted = open.ends_with('"');
        match character {
            '\\' => {
                // Blanks between the backslash and the line end belong to the continuation.
                let line = rest.trim_start_matches([' ', '\t', '\r']);
                match line.strip_prefix('\n') {
                    None if line.is_empty() => return Some(open),
                    Some(next) => rest = next,
                    None => rest = without_first(rest),
                }
            }
            '"' if quoted => _ = open.pop(),
            // Inside a string only `$[` and `$(` open a bracket.
            '$' if quoted => {
                if let Some(bracket @ ('[' | '(')) = rest.chars().next() {
                    open.push(bracket);
                    rest = &rest[1..];
                }
            }
            _ if quoted => {}
            '"' | '[' | '(' | '{' => open.push(character),
            ']' | ')' | '}' => _ = open.pop(),
            '#' if at_start => rest = &rest[rest.find('\n').unwrap_or(rest.len())..],
            _ => {}
        }
        at_start =
            matches!(character, '\n' | ';' | '{' | '(') || (at_start && character.is_whitespace());
    }
    (!open.is_empty()).then_some(open)
}

fn without_first(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_brackets_are_reported() {
        for (text, open) in [
            ("/ip address print", None),
            (":do {", Some("{")),
            (":do { :put [", Some("{[")),
            (":put \"a { b", Some("\"")),
            (":put \"a \\\" b\"", None),
            (":put \"$[/system identity", Some("\"[")),
            ("add a=1 \\", Some("")),
            ("add a=1 \\ ", Some("")),
            (":put {a;\n# } {\n b", Some("{")),
            ("# it's { a comment", None),
            (":do { } ", None),
        ] {
            assert_eq!(open_brackets(text).as_deref(), open, "{text}");
        }
    }
}
