//! Parses the modules of a crate: the names that they define and the names that they use.

use super::tokens::{Token, tokens};
use super::{Crate, Module, Sources, Use};

/// Keywords that precede the name of an item.
const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "union", "trait", "type", "const", "static",
];
/// Keywords of items that end with a brace block or a semicolon.
const BLOCKS: [&str; 8] = [
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "mod",
    "macro_rules",
];
/// Keywords of items that end with a semicolon.
const STATEMENTS: [&str; 5] = ["use", "type", "const", "static", "let"];

/// Parses a module with its own file. Submodules are files in `folder`. Returns the module's index in the crate; `None`
/// if the file contains tests or does not exist.
pub(crate) fn read(
    read: &mut Crate,
    sources: &Sources<'_>,
    path: &str,
    folder: &str,
    parent: Option<usize>,
) -> Option<usize> {
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    let source = sources.get(path).filter(|_| !is_test)?;
    read.files.push(path.to_owned());
    let mut reader = Reader {
        sources,
        file: read.files.len() - 1,
        tokens: tokens(source),
        at: 0,
    };
    Some(reader.module(read, folder, parent))
}

/// Parses the tokens of a file.
struct Reader<'a> {
    sources: &'a Sources<'a>,
    file: usize,
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn word(&self, ahead: usize) -> Option<&'a str> {
        match self.peek(ahead) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is_sign(&self, ahead: usize, sign: u8) -> bool {
        self.peek(ahead) == Some(Token::Sign(sign))
    }

    fn is_separator(&self, ahead: usize) -> bool {
        self.peek(ahead) == Some(Token::Separator)
    }

    /// Parses a module up to its closing brace or the end of the file. Returns its index in the crate.
    fn module(&mut self, read: &mut Crate, folder: &str, parent: Option<usize>) -> usize {
        let place = read.modules.len();
        read.modules.push(Module {
            file: self.file,
            parent,
            ..Module::default()
        });
        let mut depth = 0;
        let mut is_public = false;
        let mut path = None;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign(b'#') if self.is_sign(1, b'[') => path = self.attribute().or(path),
                Token::Sign(b'}') if depth == 0 => break,
                Token::Word("pub") => {
                    is_public = true;
                    self.visibility();
                    continue;
                }
                Token::Word("use") if self.word(1).is_some() || self.is_separator(1) => {
                    self.at += 1;
                    self.bind(&mut read.modules[place].uses, Vec::new(), is_public);
                }
                Token::Word("mod") if self.word(1).is_some() => {
                    self.declaration(read, place, folder, path.take());
                }
                Token::Word(word) => self.name(read, place, word, depth == 0),
                Token::Sign(sign) => {
                    depth += usize::from(sign == b'{');
                    depth -= usize::from(sign == b'}');
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            is_public = false;
        }
        self.at += 1;
        place
    }

    /// Skips `pub` and its restriction.
    fn visibility(&mut self) {
        self.at += 1;
        if self.is_sign(0, b'(') {
            self.group();
        }
    }

    /// Skips a bracketed group of tokens. Returns the tokens between the brackets.
    fn group(&mut self) -> &[Token<'a>] {
        let begin = self.at + 1;
        let mut depth = 0_usize;
        while let Some(token) = self.peek(0) {
            self.at += 1;
            match token {
                Token::Sign(b'(' | b'[' | b'{') => depth += 1,
                Token::Sign(b')' | b']' | b'}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        &self.tokens[begin..self.at - 1]
    }

    /// Skips an attribute, and the following item if it belongs to tests only. Returns the value of a `path` attribute.
    fn attribute(&mut self) -> Option<&'a str> {
        self.at += 1;
        match self.group() {
            [Token::Word("cfg"), _, Token::Word("test"), ..] => {
                self.skip_item();
                None
            }
            [Token::Word("path"), _, Token::Text(path)] => Some(*path),
            _ => None,
        }
    }

    /// Skips an item, a field, a variant, an arm of a `match` or a statement.
    fn skip_item(&mut self) {
        while self.is_sign(0, b'#') {
            self.at += 1;
            self.group();
        }
        if self.word(0) == Some("pub") {
            self.visibility();
        }
        let words: Vec<_> = (0..).map_while(|ahead| self.word(ahead)).collect();
        let is_block = words.iter().any(|word| BLOCKS.contains(word));
        let is_statement = !is_block && words.iter().any(|word| STATEMENTS.contains(word));
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign(b'{') => {
                    self.group();
                    if !is_statement {
                        return;
                    }
                }
                Token::Sign(b'(' | b'[') => {
                    self.group();
                }
                Token::Sign(b')' | b']' | b'}') => return,
                Token::Sign(b';') => return self.at += 1,
                Token::Sign(b',') if !is_block && !is_statement => return self.at += 1,
                _ => self.at += 1,
            }
        }
    }

    /// Parses `mod name;` or `mod name { … }`.
    fn declaration(&mut self, read: &mut Crate, place: usize, folder: &str, path: Option<&str>) {
        let name = self.word(1).unwrap_or_default();
        self.at += 2;
        let within = format!("{folder}/{name}");
        let is_block = self.is_sign(0, b'{');
        self.at += 1;
        let child = if is_block {
            Some(self.module(read, &within, Some(place)))
        } else {
            let beside = |path: &str| {
                let (here, _) = read.files[self.file].rsplit_once('/').unwrap_or_default();
                format!("{here}/{path}")
            };
            let files = match path {
                Some(path) => vec![beside(path)],
                None => vec![format!("{within}.rs"), format!("{within}/mod.rs")],
            };
            let mut files = files.iter();
            files.find_map(|file| self::read(read, self.sources, file, &within, Some(place)))
        };
        if let Some(child) = child {
            read.modules[place].children.insert(name.to_owned(), child);
        }
    }

    /// Parses one tree of a `use` declaration; `path` contains the segments before it.
    fn bind(&mut self, uses: &mut Vec<Use>, mut path: Vec<String>, is_public: bool) {
        let mut name = None;
        while let Some(token) = self.peek(0) {
            match token {
                // A leading `::` means that the first segment is a crate.
                Token::Separator if path.is_empty() => path.push("::".to_owned()),
                Token::Separator => {}
                Token::Word("self") if !path.is_empty() => {}
                Token::Word("as") => name = self.word(1),
                Token::Word(_) if name.is_some() => {}
                Token::Word(word) => path.push(word.to_owned()),
                Token::Sign(b'*') => name = Some("*"),
                Token::Sign(b'{') => return self.branches(uses, &path, is_public),
                _ => break,
            }
            self.at += 1;
        }
        let name = name.or(path.last().map(String::as_str));
        let name = name.unwrap_or_default().to_owned();
        uses.push(Use {
            name,
            path,
            is_public,
        });
    }

    /// Parses the trees between the braces of a `use` declaration.
    fn branches(&mut self, uses: &mut Vec<Use>, path: &[String], is_public: bool) {
        self.at += 1;
        while self.peek(0).is_some() && !self.is_sign(0, b'}') {
            self.bind(uses, path.to_vec(), is_public);
            self.at += usize::from(self.is_sign(0, b','));
        }
        self.at += 1;
    }

    /// Parses a word and the path that begins with it.
    fn name(&mut self, read: &mut Crate, place: usize, word: &str, is_item: bool) {
        let module = &mut read.modules[place];
        if is_item && ITEMS.contains(&word) {
            let name = self.word(1).filter(|name| !ITEMS.contains(name));
            module.items.extend(name.map(str::to_owned));
        }
        if word == "macro_rules" {
            let name = self.word(2).unwrap_or_default().to_owned();
            module.items.insert(name.clone());
            read.macros.insert(name, self.file);
        }
        let before = self.at.checked_sub(1).map(|before| self.tokens[before]);
        let mut path = vec![word.to_owned()];
        self.at += 1;
        while self.is_separator(0)
            && let Some(word) = self.word(1)
        {
            path.push(word.to_owned());
            self.at += 2;
        }
        if !matches!(before, Some(Token::Separator | Token::Sign(b'.'))) {
            module.words.insert(word.to_owned());
            module
                .paths
                .extend(Some(path).filter(|path| path.len() > 1));
        }
    }
}
