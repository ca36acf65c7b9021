//! The intermediate form, compared with RouterOS's answers to `:put [:parse …]`.
//!
//! The scripts are not part of the project; without them the test says so and passes.

mod beside;
mod whole;

use std::collections::BTreeMap;
use std::path::Path;

use beside::shared;

/// The menus that this router declares.
fn menus() -> &'static [&'static menu::Menu] {
    static MENUS: std::sync::LazyLock<&'static [&'static menu::Menu]> =
        std::sync::LazyLock::new(|| schema::store().menus());
    *MENUS
}

/// The answer of a parser to a script: the form, or the error with its position.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    /// The form as bytes; RouterOS's answers were stored as text, so only the UTF-8 part counts.
    text: String,
    refused: bool,
}

impl Answer {
    fn of_router(text: &str) -> Self {
        let words = [
            "syntax error",
            "expected ",
            "missing closing ",
            "bad command name",
            "invalid ",
        ];
        let refused = words.iter().any(|word| text.starts_with(word)) && text.ends_with(')');
        let text = text.to_owned();
        Self { text, refused }
    }

    fn of_ours(menus: &'static [&'static menu::Menu], bytes: &[u8]) -> Self {
        let text = menu::bytes::from_bytes(bytes);
        let (text, refused) = match script::parse_text(menus, &text) {
            Ok(form) => (form, false),
            Err(refusal) => (refusal.to_string(), true),
        };
        let bytes = menu::bytes::to_bytes(&text);
        let text = String::from_utf8_lossy(&bytes)
            .trim_end_matches('\n')
            .to_owned();
        Self { text, refused }
    }

    /// Position of the error.
    fn place(&self) -> Option<&str> {
        self.refused
            .then(|| self.text.rsplit_once(" (").map(|(_, place)| place))?
    }

    /// The menus that the form names and that are not declared.
    fn undeclared(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for piece in self.text.split("(evl /").skip(1) {
            let end = piece.find(|c: char| {
                !(c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '/'))
            });
            let Some((path, _)) = piece[..end.unwrap_or(piece.len())].rsplit_once('/') else {
                continue;
            };
            let path = format!("/{path}");
            let under = format!("{path}/");
            let known = |menu: &&&menu::Menu| menu.path == path || menu.path.starts_with(&under);
            if !menus().iter().any(|menu| known(&menu)) && !missing.contains(&path) {
                missing.push(path);
            }
        }
        missing
    }
}

/// The reason for which two answers differ.
fn cause(router: &Answer, ours: &Answer) -> &'static str {
    match (router.refused, ours.refused) {
        (true, false) => "accepted, RouterOS refuses",
        (false, true) => "refused, RouterOS accepts",
        (true, true) if router.place() == ours.place() => "other words of an error",
        (true, true) => "another place of an error",
        (false, false) if !router.undeclared().is_empty() => "menus that are not declared",
        (false, false)
            if ours.text.contains("bad command name")
                && ours.text.matches("bad command name").count()
                    > router.text.matches("bad command name").count() =>
        {
            "commands that are not declared"
        }
        (false, false) => "another form",
    }
}

/// The texts around the first difference.
fn difference(router: &str, ours: &str) -> String {
    let same = router
        .char_indices()
        .zip(ours.chars())
        .find(|((_, a), b)| a != b)
        .map_or(router.len().min(ours.len()), |((index, _), _)| index);
    let from = (0..=same.saturating_sub(50))
        .rev()
        .find(|at| router.is_char_boundary(*at))
        .unwrap_or(0);
    let piece = |text: &str| -> String {
        text.get(from..)
            .unwrap_or_default()
            .chars()
            .take(140)
            .collect()
    };
    format!(
        "    RouterOS: {:?}\n    ours:     {:?}",
        piece(router),
        piece(ours)
    )
}

/// Parses all scripts with these menus and prints the differences. Returns the number of scripts, how many
/// agree on acceptance and error position, and how many are equal.
fn compare(menus: &'static [&'static menu::Menu], folder: &Path) -> (usize, usize, usize) {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is readable")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "rsc"))
        .collect();
    names.sort();
    let (mut placed, mut same) = (0, 0);
    let mut causes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in &names {
        let router = std::fs::read(path.with_extension("il")).expect("each script has its answer");
        let router = String::from_utf8_lossy(&router);
        let router = Answer::of_router(router.trim_end_matches('\n'));
        let ours = Answer::of_ours(menus, &std::fs::read(path).expect("the script is readable"));
        placed += usize::from(router.refused == ours.refused && router.place() == ours.place());
        same += usize::from(router == ours);
        if router != ours {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let undeclared = router.undeclared().join(" ");
            let line = format!(
                "  {name} {undeclared}\n{}",
                difference(&router.text, &ours.text)
            );
            causes.entry(cause(&router, &ours)).or_default().push(line);
        }
    }
    for (cause, lines) in &causes {
        eprintln!("{cause}: {}\n{}", lines.len(), lines.join("\n"));
    }
    let all = names.len();
    eprintln!("{all} scripts: {placed} agree on accept, refuse and place; {same} are the same");
    (all, placed, same)
}

#[test]
fn scripts_parse_as_in_routeros() {
    let Some(folder) = shared("scripts_parse_as_in_routeros", "corpus/parse") else {
        return;
    };
    let (all, placed, same) = compare(menus(), &folder);
    assert!(
        placed * 100 >= all * 97 && same * 100 >= all * 95,
        "{placed} and {same} of {all}"
    );
}

#[test]
fn scripts_with_all_menus_parse_as_in_routeros() {
    let Some(folder) = shared(
        "scripts_with_all_menus_parse_as_in_routeros",
        "corpus/parse",
    ) else {
        return;
    };
    let test = "scripts_with_all_menus_parse_as_in_routeros";
    let Some(tree) = shared(test, "facts/routeros-7.24-tree.json") else {
        return;
    };
    let (all, placed, same) = compare(whole::menus(menus(), &tree), &folder);
    assert!(
        placed * 1_000 >= all * 995 && same * 100 >= all * 96,
        "{placed} and {same} of {all}"
    );
}
