//! Configuration files of WireGuard as `wg-quick` and the apps use them: sections of lines `Name =
//! value`.

use std::fmt::Write as _;

/// Appends a section with the non-empty lines.
pub(crate) fn section(text: &mut String, name: &str, lines: &[(&str, String)]) {
    // Writing to a string never fails.
    _ = writeln!(text, "[{name}]");
    for (name, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        _ = writeln!(text, "{name} = {value}");
    }
}

/// Formats host and port as the `Endpoint` property.
pub(crate) fn endpoint(host: &str, port: i64) -> String {
    match host {
        "" => String::new(),
        host if host.contains(':') => format!("[{host}]:{port}"),
        host => format!("{host}:{port}"),
    }
}

/// A parsed section.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) is_peer: bool,
    pub(crate) lines: Vec<Line>,
}

/// A line of a section.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Line number in the text, from 1.
    pub(crate) number: usize,
    /// Name in lower case.
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Parses a text: one `[Interface]` section, and one `[Peer]` section per peer.
///
/// # Errors
///
/// The invalid line, in words.
pub(crate) fn read(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim).unwrap_or_default();
            let is_peer = name.eq_ignore_ascii_case("peer");
            if !is_peer && !name.eq_ignore_ascii_case("interface") {
                return Err(format!(
                    "line {number}: {line} is neither [Interface] nor [Peer]"
                ));
            }
            let lines = Vec::new();
            sections.push(Section { is_peer, lines });
            continue;
        }
        let parts = line.split_once('=').zip(sections.last_mut());
        let Some(((name, value), section)) = parts else {
            return Err(format!(
                "line {number}: {line} is not a line Name = value of a section"
            ));
        };
        section.lines.push(Line {
            number,
            name: name.trim().to_ascii_lowercase(),
            value: value.trim().to_owned(),
        });
    }
    match sections.iter().filter(|one| !one.is_peer).count() {
        1 => Ok(sections),
        count => Err(format!(
            "there are {count} sections [Interface], but one is required"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_sections_parse_to_the_same_lines() {
        let mut text = String::from("# a comment\n");
        section(
            &mut text,
            "Interface",
            &[("PrivateKey", "AA==".into()), ("DNS", String::new())],
        );
        section(
            &mut text,
            "Peer",
            &[("AllowedIPs", "::/0, 10.0.0.0/8".into())],
        );
        let line = |number, name: &str, value: &str| Line {
            number,
            name: name.into(),
            value: value.into(),
        };
        let sections = [
            (false, line(3, "privatekey", "AA==")),
            (true, line(5, "allowedips", "::/0, 10.0.0.0/8")),
        ];
        let sections = sections.map(|(is_peer, line)| Section {
            is_peer,
            lines: vec![line],
        });
        assert_eq!(read(&text), Ok(sections.into()));
        assert_eq!(endpoint("2001:db8::1", 7), "[2001:db8::1]:7");
    }

    #[test]
    fn invalid_files_are_refused_with_the_line() {
        for (text, says) in [
            ("", "0 sections"),
            ("[Peer]\n", "0 sections"),
            ("[Interface]\n[Interface]\n", "2 sections"),
            ("Address = 10.0.0.1\n", "line 1"),
            ("[Interface]\nrubbish\n", "line 2: rubbish"),
            ("[Interface]\n\n[Route]\n", "line 3: [Route]"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(says), "{refused}");
        }
    }
}
