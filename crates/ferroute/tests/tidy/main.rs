//! Tests the rules of `CONTRIBUTING.md` that a program can check, on the sources and documents.
//!
//! `clippy.toml` bans clocks and sleeps; `crates/{ferroute,lab,netio}` have their own `clippy.toml`, which permits
//! them.

mod imports;
mod prose;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use imports::{Crate, Sources};
use prose::Findings;

/// Maximum number of characters of a line in a comment or document.
const LINE: usize = 120;
/// Maximum number of lines of a function.
const FUNCTION: usize = 70;
/// Maximum number of lines of a file.
const FILE: usize = 700;

/// Number of longer functions by crate. Lower a number when a function becomes shorter; never raise it.
const LONG_FUNCTIONS: [(&str, usize); 10] = [
    ("api", 1),
    ("conntrack", 2),
    ("dataplane", 1),
    ("ferroute", 1),
    ("menu", 2),
    ("router", 3),
    ("script", 5),
    ("fuzz", 1),
    ("sim", 1),
    ("wire", 2),
];
/// Number of longer files by crate. Lower a number when a file becomes shorter; never raise it.
const LONG_FILES: [(&str, usize); 5] = [
    ("frame", 1),
    ("menu", 1),
    ("router", 1),
    ("service", 1),
    ("sim", 1),
];

/// Maximum number of files in a crate's largest circle of imports; 0 for a crate that is not listed. Lower a number
/// when a circle becomes smaller; never raise it.
const CIRCLES: [(&str, usize); 26] = [
    ("bench", 8),
    ("btest", 2),
    ("calc", 7),
    ("certificate", 2),
    ("conntrack", 12),
    ("console", 2),
    ("dataplane", 5),
    ("esp", 9),
    ("ferroute", 9),
    ("fib", 6),
    ("firewall", 21),
    ("frame", 5),
    ("ike", 17),
    ("kernels", 10),
    ("menu", 19),
    ("netio", 4),
    ("offload", 9),
    ("packet", 2),
    ("queue", 8),
    ("router", 22),
    ("schema", 4),
    ("script", 29),
    ("service", 5),
    ("sim", 3),
    ("tool", 9),
    ("wire", 2),
];

/// Particle sentences per 1,000 that every crate may have, even if [`PROSE`] allows fewer.
const PARTICLES_PER_1000: usize = 30;

/// Maximum by crate: particle sentences, pointer comments, types with meaningless names, functions with tuple
/// parameters; 0 for a crate that is not listed. Lower a number when you correct one; never raise it.
const PROSE: [(&str, [usize; 4]); 5] = [
    ("doctor", [3, 0, 0, 0]),
    ("ferroute", [26, 0, 1, 0]),
    ("fib", [9, 0, 0, 0]),
    ("firewall", [18, 0, 0, 0]),
    ("lab", [6, 0, 0, 0]),
];

/// Crates that use no file, socket or process outside of their tests.
const PURE: [&str; 19] = [
    "access",
    "api",
    "btest",
    "conntrack",
    "console",
    "dataplane",
    "fib",
    "firewall",
    "frame",
    "generator",
    "kernels",
    "machine",
    "menu",
    "packet",
    "schema",
    "script",
    "service",
    "tool",
    "wire",
];
const IMPURE_PATHS: [&str; 6] = [
    "std::fs",
    "std::process",
    "net::TcpListener",
    "net::TcpStream",
    "net::UdpSocket",
    "net::UnixStream",
];

/// Banned words, in lower case: they are empty, or the field has a better term.
const BANNED: [&str; 16] = [
    "blacklist",
    "whitelist",
    "basically",
    "blazing",
    "cutting-edge",
    "fixme",
    "in order to",
    "leverage",
    "leverages",
    "of course",
    "seamless",
    "seamlessly",
    "todo",
    "utilise",
    "utilize",
    "what is so of",
];

/// Maximum number of lines of documents.
const DOCUMENTS: [(&str, usize); 2] = [("README.md", 120), ("ARCHITECTURE.md", 250)];

/// A text file of the repository, with its relative path.
struct Text {
    path: String,
    text: String,
}

impl Text {
    /// Returns the lines, numbered from 1.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Returns the name of the crate that contains the file.
    fn of_crate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the relative paths of all files and folders of the repository, except build results and hidden ones. Paths
/// of folders end with a slash.
fn tree() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("a folder is readable") {
            let entry = entry.expect("a folder is readable");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            // No hidden folder but `.ci` contains sources.
            if name == "target" || (name.starts_with('.') && name != ".ci") {
                continue;
            }
            let path = format!("{folder}{name}");
            if entry.file_type().expect("a file has a type").is_dir() {
                folders.push(format!("{path}/"));
                found.push(format!("{path}/"));
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn texts(tree: &[String], wanted: impl Fn(&str) -> bool) -> Vec<Text> {
    let wanted = tree.iter().filter(|path| wanted(path));
    let texts = wanted.map(|path| Text {
        text: fs::read_to_string(root().join(path)).expect("sources are UTF-8"),
        path: path.clone(),
    });
    let texts: Vec<_> = texts.collect();
    assert!(!texts.is_empty(), "there are sources to look at");
    texts
}

fn sources(tree: &[String]) -> Vec<Text> {
    texts(tree, |path| {
        let ours = path.starts_with("crates/") || path.starts_with("fuzz/");
        ours && path.ends_with(".rs")
    })
}

fn documents(tree: &[String]) -> Vec<Text> {
    texts(tree, |path| {
        let ours = !path.contains('/') || path.starts_with("docs/");
        ours && path.ends_with(".md")
    })
}

/// Returns the comment of a line that begins with `//`.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.starts_with("//").then_some(line)
}

fn assert_none(complaints: &[String], rule: &str) {
    let list = complaints.join("\n");
    assert!(complaints.is_empty(), "{rule}:\n{list}");
}

#[test]
fn lines_of_comments_and_documents_are_at_most_120_characters() {
    let tree = tree();
    let mut complaints = Vec::new();
    let mut measure = |text: &Text, (number, line): (usize, &str)| {
        let length = line.chars().count();
        if length > LINE {
            complaints.push(format!("{}:{number}: {length} characters", text.path));
        }
    };
    for text in sources(&tree) {
        for (number, line) in text.lines().filter(|(_, line)| comment(line).is_some()) {
            measure(&text, (number, line));
        }
    }
    for text in documents(&tree) {
        text.lines().for_each(|line| measure(&text, line));
    }
    assert_none(&complaints, "break these lines");
}

#[test]
fn documents_have_no_more_lines_than_allowed() {
    for (path, most) in DOCUMENTS {
        let text = fs::read_to_string(root().join(path)).expect("the document is there");
        let lines = text.lines().count();
        assert!(
            lines <= most,
            "{path} has {lines} lines; {most} are the most"
        );
    }
}

/// Returns the code spans of a document that have the form of a file or folder of the repository.
fn named(text: &str) -> Vec<&str> {
    const ENDINGS: [&str; 7] = [".rs", ".md", ".toml", ".sh", ".service", ".conf", "/"];
    let spans = text.split('`').skip(1).step_by(2);
    let plain = |span: &&str| {
        let part = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        span.chars().all(part) && !span.starts_with(['/', '.'])
    };
    let of_form = |span: &&str| ENDINGS.iter().any(|ending| span.ends_with(ending));
    spans.filter(plain).filter(of_form).collect()
}

/// Returns the targets of a document's links within the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

#[test]
fn files_are_recognised_by_their_form() {
    let text = "`a.rs`, `b/c.md` and `d/`; not `e`, `f::g`, `/etc/h.conf` or `x.rs y.rs`; [i](j.md), [k](https://l)";

    assert_eq!(named(text), ["a.rs", "b/c.md", "d/"]);
    assert_eq!(links(text).collect::<Vec<_>>(), ["j.md"]);
}

#[test]
fn words_are_found_only_as_whole_words() {
    assert!(has_word("it is todo.", "todo"));
    assert!(!has_word("a todolist, and `to-todo`", "todo"));
}

#[test]
fn files_named_in_documents_exist() {
    let tree = tree();
    // A document may omit the first folders of a path.
    let exists = |name: &str| {
        tree.iter().any(|path| {
            let rest = path.strip_suffix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        })
    };
    let mut complaints = Vec::new();
    for text in documents(&tree) {
        // Code blocks are not code spans.
        let prose: String = text.text.split("```").step_by(2).collect();
        for name in named(&prose).into_iter().filter(|name| !exists(name)) {
            complaints.push(format!("{}: `{name}`", text.path));
        }
        let folder = root().join(&text.path);
        let folder = folder.parent().expect("a file is in a folder");
        for target in links(&prose).filter(|target| !folder.join(target).exists()) {
            complaints.push(format!("{}: ({target})", text.path));
        }
    }
    assert_none(&complaints, "documents name what does not exist");
}

/// Returns true if the text contains the word or phrase, not as part of another word. Both are in lower case.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(word).any(|(at, _)| {
        !part(text[..at].chars().next_back()) && !part(text[at + word.len()..].chars().next())
    })
}

#[test]
fn comments_and_documents_use_no_banned_word() {
    let tree = tree();
    let mut complaints = Vec::new();
    let mut look = |text: &Text, number: usize, prose: &str| {
        let prose = prose.to_lowercase();
        for word in BANNED.iter().filter(|word| has_word(&prose, word)) {
            complaints.push(format!("{}:{number}: {word}", text.path));
        }
    };
    for text in sources(&tree) {
        for (number, line) in text.lines() {
            look(&text, number, comment(line).unwrap_or_default());
        }
    }
    for text in documents(&tree) {
        for (number, line) in text.lines() {
            look(&text, number, line);
        }
    }
    assert_none(&complaints, "say it otherwise");
}

/// Returns the functions of a formatted source: the first line number and the number of lines of each.
fn functions(text: &Text) -> Vec<(usize, usize)> {
    let lines: Vec<_> = text.text.lines().collect();
    let begins = |line: &str| {
        let mut words = line.split_whitespace().peekable();
        let before = |word: &&str| {
            word.starts_with("pub")
                || matches!(*word, "const" | "async" | "unsafe" | "extern" | "\"C\"")
        };
        while words.next_if(before).is_some() {}
        words.next() == Some("fn")
    };
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        // A declaration without a body ends on its line.
        if line.ends_with(';') || line.ends_with('}') {
            continue;
        }
        let rest = &lines[at..];
        let declared = |line: &str| line.starts_with(&format!("{indent})")) && line.ends_with(';');
        let last = rest.iter().position(|line| *line == end || declared(line));
        if let Some(last) = last {
            found.push((at + 1, last + 1));
        }
    }
    found
}

#[test]
fn functions_are_recognised_with_their_lengths() {
    let text = Text {
        path: "crates/x/src/lib.rs".to_owned(),
        text: "pub(crate) const fn a(\n) -> u8 {\n    0\n}\n\ntrait T {\n    fn b();\n    fn c() {\n    }\n}\n".to_owned(),
    };

    assert_eq!(functions(&text), [(1, 4), (8, 2)]);
    assert_eq!(text.of_crate(), Some("x"));
}

/// Fails, with the findings, if a crate has more of them than allowed.
fn assert_no_more(found: &BTreeMap<String, Vec<String>>, allowed: &[(&str, usize)], what: &str) {
    let allowed: BTreeMap<_, _> = allowed.iter().copied().collect();
    for (name, list) in found {
        let most = allowed.get(name.as_str()).copied().unwrap_or_default();
        let count = list.len();
        let list = list.join("\n");
        assert!(
            count <= most,
            "{name} has {count} {what}; {most} are the most:\n{list}"
        );
    }
}

#[test]
fn the_number_of_long_functions_does_not_grow() {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    let mut seen = 0;
    for text in sources(&tree()) {
        for (begin, count) in functions(&text) {
            seen += 1;
            if count > FUNCTION
                && let Some(name) = text.of_crate()
            {
                let place = format!("{}:{begin}: {count} lines", text.path);
                found.entry(name.to_owned()).or_default().push(place);
            }
        }
    }
    assert!(seen > 1_000, "only {seen} functions were recognised");
    assert_no_more(&found, &LONG_FUNCTIONS, "functions over 70 lines");
}

#[test]
fn the_number_of_long_files_does_not_grow() {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for text in sources(&tree()) {
        let count = text.text.lines().count();
        if count > FILE
            && let Some(name) = text.of_crate()
        {
            let place = format!("{}: {count} lines", text.path);
            found.entry(name.to_owned()).or_default().push(place);
        }
    }
    assert_no_more(&found, &LONG_FILES, "files over 700 lines");
}

#[test]
fn circles_of_imports_do_not_grow() {
    let texts = sources(&tree());
    let by_path = texts
        .iter()
        .map(|text| (text.path.as_str(), text.text.as_str()));
    let by_path: Sources<'_> = by_path.collect();
    let allowed = BTreeMap::from(CIRCLES);
    let mut complaints = Vec::new();
    let mut crates = 0;
    for text in &texts {
        let is_root = text.path.ends_with("/src/lib.rs") || text.path.ends_with("/src/main.rs");
        let Some(name) = text.of_crate().filter(|_| is_root) else {
            continue;
        };
        crates += 1;
        let read = Crate::read(&by_path, &text.path);
        let circle = read.largest_circle();
        let most = allowed.get(name).copied().unwrap_or_default();
        println!(
            "{name}: {} of {} files, at most {most}",
            circle.len(),
            read.files.len()
        );
        if circle.len() > most {
            let count = circle.len();
            complaints.push(format!("{name}: {count} files, at most {most}"));
            complaints.extend(read.within(&circle));
        }
    }
    assert!(crates > 30, "only {crates} crates were recognised");
    assert_none(
        &complaints,
        "files of a crate import each other in larger circles",
    );
}

#[test]
fn the_figures_of_prose_do_not_grow() {
    let mut of_crates = BTreeMap::<String, [usize; 5]>::new();
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for text in sources(&tree()) {
        let Some(name) = text.of_crate().filter(|_| !prose::is_test(&text.path)) else {
            continue;
        };
        let findings = Findings::of(&text.text);
        let lists = [
            findings.particles,
            findings.pointers,
            findings.names,
            findings.tuples,
        ];
        let counts = of_crates.entry(name.to_owned()).or_default();
        counts[0] += findings.judged;
        for (count, list) in counts[1..].iter_mut().zip(&lists) {
            *count += list.len();
        }
        let lines = lists.iter().flatten();
        let lines = lines.map(|finding| format!("{}: {finding}", text.path));
        found.entry(name.to_owned()).or_default().extend(lines);
    }
    let allowed = BTreeMap::from(PROSE);
    let mut complaints = Vec::new();
    for (name, counts) in &of_crates {
        let [judged, ref findings @ ..] = *counts;
        println!("(\"{name}\", {findings:?}), of {judged}");
        let most = allowed.get(name.as_str()).copied().unwrap_or_default();
        // A crate may always have [`PARTICLES_PER_1000`], even if its bound is lower.
        let particles = most[0].max(judged * PARTICLES_PER_1000 / 1_000);
        let bounds = [particles, most[1], most[2], most[3]];
        if findings
            .iter()
            .zip(bounds)
            .any(|(count, most)| *count > most)
        {
            complaints.push(format!("{name}: {findings:?}, at most {bounds:?}"));
            complaints.extend(found[name].iter().cloned());
        }
    }
    assert_none(
        &complaints,
        "write plain words: sentences of particles, pointer comments, names of types, tuples as parameters",
    );
}

#[test]
fn pure_crates_use_no_file_socket_or_process() {
    let mut complaints = Vec::new();
    for text in sources(&tree()) {
        let pure = text.of_crate().is_some_and(|name| PURE.contains(&name));
        let within = |part: &str| text.path.contains(part);
        let test = within("/tests/") || within("/examples/") || text.path.ends_with("/tests.rs");
        if !pure || test {
            continue;
        }
        // Test modules are at the end of a file.
        let code = text.lines().take_while(|(_, line)| {
            line.trim() != "#[cfg(test)]" && !line.starts_with("mod tests")
        });
        for (number, line) in code.filter(|(_, line)| comment(line).is_none()) {
            for path in IMPURE_PATHS.iter().filter(|path| line.contains(*path)) {
                complaints.push(format!("{}:{number}: {path}", text.path));
            }
        }
    }
    assert_none(&complaints, "these crates are pure");
}

#[test]
fn every_foreign_library_has_its_reason() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest is there");
    let reasons = fs::read_to_string(root().join("docs/libraries.md")).expect("the page is there");
    let listed = manifest.split("[workspace.dependencies]").nth(1);
    let listed = listed.and_then(|rest| rest.split("\n[").next());
    let foreign = listed
        .expect("the manifest lists libraries")
        .lines()
        .filter(|line| !line.contains("path = "))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with('#'));
    let missing: Vec<_> = foreign
        .filter(|name| !has_word(&reasons, name))
        .map(str::to_owned)
        .collect();
    assert_none(&missing, "docs/libraries.md says nothing of");
}
