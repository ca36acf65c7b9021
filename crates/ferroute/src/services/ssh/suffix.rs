//! Terminal options after `+` in a login name.
//!
//! RouterOS: `admin+ct80w` is the user `admin` on a terminal without colours (`c`), without detection (`t`),
//! and 80 columns wide (`80w`); `e` is a dumb terminal, `25h` the height.

/// Terminal options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suffix {
    /// No colours.
    pub(crate) plain: bool,
    /// No escape sequences.
    pub(crate) dumb: bool,
    /// Width that overrides the terminal's.
    pub(crate) columns: Option<u16>,
    /// Height that overrides the terminal's.
    pub(crate) rows: Option<u16>,
}

impl Suffix {
    /// Splits a login into user name and options. Invalid options belong to the name.
    pub(crate) fn split(login: &str) -> (&str, Self) {
        let found = login.split_once('+');
        match found.and_then(|(name, words)| Some((name, Self::parse(words)?))) {
            Some((name, suffix)) => (name, suffix),
            None => (login, Self::default()),
        }
    }

    fn parse(words: &str) -> Option<Self> {
        let mut suffix = Self::default();
        let mut digits = String::new();
        for letter in words.chars() {
            if letter.is_ascii_digit() {
                digits.push(letter);
                continue;
            }
            let number = std::mem::take(&mut digits);
            match (letter, number.parse::<u16>()) {
                ('w', Ok(columns)) => suffix.columns = Some(columns),
                ('h', Ok(rows)) => suffix.rows = Some(rows),
                ('c', Err(_)) if number.is_empty() => suffix.plain = true,
                ('e', Err(_)) if number.is_empty() => suffix.dumb = true,
                ('t', Err(_)) if number.is_empty() => {}
                _ => return None,
            }
        }
        digits.is_empty().then_some(suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_of_a_user_name_sets_the_terminal() {
        let plain = Suffix {
            plain: true,
            columns: Some(511),
            rows: Some(4098),
            ..Suffix::default()
        };
        let dumb = Suffix {
            plain: true,
            dumb: true,
            columns: Some(1024),
            rows: None,
        };

        assert_eq!(Suffix::split("admin+ct511w4098h"), ("admin", plain));
        assert_eq!(Suffix::split("admin+cet1024w"), ("admin", dumb));
        assert_eq!(Suffix::split("admin"), ("admin", Suffix::default()));
        assert_eq!(Suffix::split("a+b"), ("a+b", Suffix::default()));
        assert_eq!(Suffix::split("a+80"), ("a+80", Suffix::default()));
        assert_eq!(Suffix::split("a+99999w"), ("a+99999w", Suffix::default()));
    }
}
