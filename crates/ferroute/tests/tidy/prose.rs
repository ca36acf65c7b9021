//! Measures of the prose in comments: sentences without nouns, pointer comments, meaningless names of types, and tuple
//! parameters.
//!
//! Counts doc comments of sources, not those of tests. `CONTRIBUTING.md` has the rules.

/// Names of types that have no meaning for other readers.
const NAMES: [&str; 41] = [
    "Asked", "Branches", "Carried", "Deed", "Desk", "Due", "Dug", "Errand", "Fate", "Found",
    "Given", "Ground", "Heard", "Held", "Kept", "Known", "Laid", "Lane", "Left", "Lent", "Lobby",
    "Looks", "Noted", "One", "Own", "Place", "Places", "Relaid", "Run", "Seat", "Seen", "Shape",
    "Sheet", "Spent", "Stay", "Told", "Touched", "Wanted", "Way", "Ways", "Whom",
];

/// Function words: pronouns, particles, and forms of be, have and do.
const PARTICLES: &str = "a an the of to in on by for with from at as and or but nor not no none if then than that this \
    these those which what who whom whose it its itself they them their themselves he she his her one ones another \
    other others all any some each every both either neither is are was were be been being has have had do does did \
    may might can could shall should will would must so such there here where when while until since after before \
    behind above below out up down into over again once alone first last else yet only own same more most less much \
    many few about between among through without within because how whether also too";

/// Minimum number of words of a judged sentence.
const JUDGED_WORDS: usize = 9;

/// Findings of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Number of judged sentences.
    pub judged: usize,
    /// Sentences whose words are particles to two thirds.
    pub particles: Vec<String>,
    /// Doc comments that only point elsewhere: "The same", "See the module".
    pub pointers: Vec<String>,
    /// Types whose name is in [`NAMES`].
    pub names: Vec<String>,
    /// Functions with a tuple pattern as a parameter.
    pub tuples: Vec<String>,
}

/// Returns true if the measures leave a file out: tests, benchmarks and examples.
pub(crate) fn is_test(path: &str) -> bool {
    let folders = ["/tests/", "/benches/", "/examples/"];
    folders.iter().any(|folder| path.contains(folder))
        || path.ends_with("tests.rs")
        || path.ends_with("testing.rs")
}

impl Findings {
    /// Measures a source file.
    pub(crate) fn of(text: &str) -> Self {
        let mut findings = Self::default();
        let mut block = String::new();
        for line in text.lines().chain([""]) {
            let line = line.trim_start();
            let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
            match doc {
                Some(doc) => block = format!("{block} {}", doc.trim()),
                None => findings.judge(std::mem::take(&mut block).trim()),
            }
        }
        findings.look_at_code(text);
        findings
    }

    /// Judges a doc comment.
    fn judge(&mut self, comment: &str) {
        let points = ["The same", "See the module", "See this module"];
        if points.iter().any(|begin| comment.starts_with(begin)) {
            self.pointers.push(comment.to_owned());
        }
        for sentence in sentences(&without_code(comment)) {
            let words: Vec<_> = words(sentence).collect();
            if words.len() < JUDGED_WORDS {
                continue;
            }
            self.judged += 1;
            let particles = words.iter().filter(|word| is_particle(word)).count();
            // Two thirds as in prose measures elsewhere: 0.66 of the words.
            if particles * 100 >= words.len() * 66 {
                self.particles.push(sentence.trim().to_owned());
            }
        }
    }

    /// Searches the code for names of types and tuple parameters.
    fn look_at_code(&mut self, text: &str) {
        let code: Vec<_> = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect();
        let code = code.join("\n");
        let mut before = "";
        for word in code.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if word.is_empty() {
                continue;
            }
            let declares = ["struct", "enum", "trait", "type"].contains(&before);
            if declares && NAMES.contains(&word) {
                self.names.push(word.to_owned());
            }
            before = word;
        }
        let mut rest = &*code;
        while let Some((_, function)) = rest.split_once("fn ") {
            rest = function;
            let name = function.split(['(', '<']).next().unwrap_or_default();
            if parameters(function).is_some_and(has_tuple) {
                self.tuples.push(name.to_owned());
            }
        }
    }
}

/// Returns the text with code in backquotes replaced by one word.
fn without_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(number, part)| if number % 2 == 1 { "CODE" } else { part });
    parts.collect()
}

/// Splits a text after punctuation that ends a clause.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.match_indices(['.', '!', '?', ':', ';']);
        let end = ends
            .map(|(at, mark)| at + mark.len())
            .find(|end| rest[*end..].starts_with(char::is_whitespace));
        let (sentence, others) = rest.split_at(end.unwrap_or(rest.len()));
        rest = others.trim_start();
        Some(sentence)
    })
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    let words = sentence.split(|c: char| !c.is_ascii_alphabetic() && c != '\'');
    words.filter(|word| !word.is_empty())
}

fn is_particle(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    PARTICLES
        .split_whitespace()
        .any(|particle| particle == word)
}

/// Returns the parameter list of a function whose name begins the text; `None` if it has none.
fn parameters(function: &str) -> Option<&str> {
    let name = function.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let open = match function[name..].starts_with('<') {
        true => name + end_of_generics(&function[name..])?,
        false => name,
    };
    let list = function[open..].trim_start().strip_prefix('(')?;
    let mut depth = 1;
    for (at, c) in list.char_indices() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some(&list[..at]);
        }
    }
    None
}

/// Returns the length of a generic parameter list that begins the text.
fn end_of_generics(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        depth += match c {
            '<' => 1,
            // The `>` of `->` closes no generic list.
            '>' if before != '-' => -1,
            _ => 0,
        };
        before = c;
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Returns true if a parameter is a tuple pattern with at least two names.
fn has_tuple(list: &str) -> bool {
    let mut depth = 0;
    let mut begin = 0;
    let mut parameters = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parameters.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parameters.push(&list[begin..]);
    parameters.iter().any(|parameter| {
        let pattern = parameter.trim_start().strip_prefix('(');
        pattern
            .and_then(|pattern| pattern.split_once(')'))
            .is_some_and(|(names, rest)| names.contains(',') && rest.trim_start().starts_with(':'))
    })
}

#[test]
fn sentences_without_nouns_are_found() {
    let findings = Findings::of(
        "/// What it is to be for those that are there when it is not.\n\
         /// Returns the ingress interface of a packet from its link header and tag.\n\
         fn x() {}\n",
    );
    assert_eq!(findings.judged, 2);
    assert_eq!(
        findings.particles,
        ["What it is to be for those that are there when it is not."]
    );
}

#[test]
fn pointers_names_and_tuples_are_found() {
    let findings = Findings::of(
        "/// See the module.\n\
         struct Told;\n\
         // struct Kept;\n\
         /// The same for IPv6.\n\
         fn pair<F: Fn(u8) -> u8>(one: u8, (two, three): (u8, u8)) {}\n\
         fn plain(of: (u8, u8), Some(x): Option<u8>) {}\n",
    );
    assert_eq!(findings.pointers, ["See the module.", "The same for IPv6."]);
    assert_eq!(findings.names, ["Told"]);
    assert_eq!(findings.tuples, ["pair"]);
}
