//! Whether a command that is being typed goes on in the next line.

/// The brackets and the quote that are still open at the end of a text, outermost first, as the
/// console's continuation prompt shows them; none when the command is complete.
///
/// A backslash at the very end continues the line, too: nothing is open then, but more is to come.
pub fn open_brackets(text: &str) -> Option<String> {
    let mut open = String::new();
    let mut characters = text.chars().peekable();
    let mut at_start = true;
    while let Some(character) = characters.next() {
        let quoted = open.ends_with('"');
        match character {
            '\\' if characters.next().is_none() => return Some(open),
            '\\' => {}
            '"' if quoted => _ = open.pop(),
            // Inside a string only an expression in brackets opens anything: `$[` and `$(`.
            '$' if quoted => {
                if let Some(bracket) = characters.next_if(|c| matches!(c, '[' | '(')) {
                    open.push(bracket);
                }
            }
            _ if quoted => {}
            '"' | '[' | '(' | '{' => open.push(character),
            ']' | ')' | '}' => _ = open.pop(),
            '#' if at_start => while characters.next_if(|c| *c != '\n').is_some() {},
            _ => {}
        }
        at_start = matches!(character, '\n' | ';') || (at_start && character.is_whitespace());
    }
    (!open.is_empty()).then_some(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_shown() {
        for (text, open) in [
            ("/ip address print", None),
            (":do {", Some("{")),
            (":do { :put [", Some("{[")),
            (":put \"a { b", Some("\"")),
            (":put \"a \\\" b\"", None),
            (":put \"$[/system identity", Some("\"[")),
            ("add a=1 \\", Some("")),
            ("# it's { a comment", None),
            (":do { } ", None),
        ] {
            assert_eq!(open_brackets(text).as_deref(), open, "{text}");
        }
    }
}
