//! Formats errors of the operating system.

const NUMBER: &str = " (os error ";

/// Removes the numbers that Rust's standard library appends to operating system errors: `No route to host (os
/// error 113)` becomes `No route to host`.
pub fn without_error_numbers(text: impl Into<String>) -> String {
    let mut text = text.into();
    let mut from = 0;
    while let Some(found) = text[from..].find(NUMBER) {
        let start = from + found;
        let digits = start + NUMBER.len();
        let length = text[digits..].find(|c: char| !c.is_ascii_digit());
        match length.filter(|length| text[digits + length..].starts_with(')')) {
            Some(length) => {
                text.replace_range(start..=digits + length, "");
                from = start;
            }
            None => from = digits,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_error_numbers_are_removed_from_texts() {
        for (text, words) in [
            ("No route to host (os error 113)", "No route to host"),
            ("a (os error 2): b (os error 13) c", "a: b c"),
            ("a (os error x) (os error 2", "a (os error x) (os error 2"),
            ("(os error 2)", "(os error 2)"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_error_numbers(text), words);
        }
    }
}
