//! Joins the page's own ES modules into one script, so that a browser loads the page with few requests.
//!
//! Each module becomes a function that returns its exports, in the order in which modules import each other. The
//! bundler reads only what the page's modules use, and refuses everything else by name:
//!
//! | line of a module | line of the bundle |
//! |---|---|
//! | `import { a, b } from "./dom.js";` | `const { a, b } = $dom;` |
//! | `import * as api from "./api.js";` | `const api = $api;` |
//! | `export function`, `export async function`, `export const`, `export class` | without `export` |
//! | a line that is only comment, `//` or `/** … */` | none |
//!
//! Comments are recognised by lines, so a text between backticks must end on its line.
//!
//! Imports by `import("./vendor/…")` stay as they are: libraries are loaded when a view needs them.

use core::fmt;

/// A module: a file of `assets/`.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    /// File name, such as `dom.js`.
    pub name: &'static str,
    /// Source text.
    pub text: &'static str,
}

/// Reason why modules cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleError {
    /// A module imports a file that is no module of the page.
    UnknownModule {
        /// The importing module.
        module: String,
        /// The missing file.
        imported: String,
    },
    /// Modules import each other in a circle that contains this module.
    Circle(String),
    /// A line has a form of `import` or `export` that the bundler does not read.
    UnsupportedLine {
        /// The module.
        module: String,
        /// The line.
        line: String,
    },
}

impl fmt::Display for BundleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownModule { module, imported } => {
                write!(out, "{module} imports {imported}, which is no module")
            }
            Self::Circle(module) => write!(out, "{module} imports itself by other modules"),
            Self::UnsupportedLine { module, line } => {
                write!(out, "{module}: unsupported line: {line}")
            }
        }
    }
}

/// Returns one script with the module `entry` and all modules that it imports, each once.
///
/// # Errors
/// See [`BundleError`].
pub fn bundle(modules: &[Module], entry: &str) -> Result<String, BundleError> {
    let mut bundler = Bundler {
        modules,
        states: vec![State::Unread; modules.len()],
        text: String::new(),
    };
    bundler.append(entry, entry)?;
    Ok(bundler.text)
}

/// Progress of a module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unread,
    /// The imports of the module are being appended.
    Open,
    Appended,
}

struct Bundler<'a> {
    modules: &'a [Module],
    /// By position in `modules`.
    states: Vec<State>,
    text: String,
}

impl Bundler<'_> {
    /// Appends a module behind the modules that it imports.
    fn append(&mut self, name: &str, importer: &str) -> Result<(), BundleError> {
        let all = self.modules;
        let unknown = || BundleError::UnknownModule {
            module: importer.to_owned(),
            imported: name.to_owned(),
        };
        let position = all.iter().position(|module| module.name == name);
        let position = position.ok_or_else(unknown)?;
        match self.states[position] {
            State::Appended => return Ok(()),
            State::Open => return Err(BundleError::Circle(name.to_owned())),
            State::Unread => self.states[position] = State::Open,
        }
        let module = all[position];
        let mut body = String::with_capacity(module.text.len());
        let mut exports = Vec::new();
        let mut is_comment = false;
        for line in module.text.lines() {
            let trimmed = line.trim();
            is_comment = is_comment || trimmed.starts_with("/**");
            if is_comment || trimmed.is_empty() || trimmed.starts_with("//") {
                is_comment = is_comment && !trimmed.ends_with("*/");
                continue;
            }
            let unsupported = || BundleError::UnsupportedLine {
                module: name.to_owned(),
                line: line.to_owned(),
            };
            if line.matches('`').count() % 2 == 1 {
                return Err(unsupported());
            }
            if let Some(rest) = line.strip_prefix("import ") {
                let (binding, imported) = read_import(rest).ok_or_else(unsupported)?;
                self.append(imported, name)?;
                body.push_str(&format!("const {binding} = {};\n", variable(imported)));
                continue;
            }
            let rest = line.strip_prefix("export ");
            if let Some(rest) = rest {
                exports.push(read_export(rest).ok_or_else(unsupported)?);
            }
            body.push_str(rest.unwrap_or(line));
            body.push('\n');
        }
        let (variable, exports) = (variable(name), exports.join(", "));
        let wrapped = format!(
            "// {name}\nconst {variable} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"
        );
        self.text.push_str(&wrapped);
        self.states[position] = State::Appended;
        Ok(())
    }
}

/// Returns the variable of the bundle that has a module's exports: `$dom` for `dom.js`.
fn variable(name: &str) -> String {
    format!("${}", name.trim_end_matches(".js"))
}

/// Parses `{ a, b } from "./dom.js";` or `* as api from "./api.js";`: the pattern of the imported names, and the file.
fn read_import(text: &str) -> Option<(&str, &str)> {
    let (names, file) = text.split_once(" from \"./")?;
    let file = file.strip_suffix("\";")?;
    let is_plain = file
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte == b'.');
    let binding = match names.strip_prefix("* as ") {
        Some(name) => name,
        None if names.starts_with("{ ") && names.ends_with(" }") && !names.contains(" as ") => {
            names
        }
        None => return None,
    };
    is_plain.then_some((binding, file))
}

/// Parses the declaration behind `export`, and returns its name. Variables that change are refused: importers would
/// keep their first value.
fn read_export(text: &str) -> Option<&str> {
    let kinds = ["async function ", "function ", "class ", "const "];
    let name = kinds.iter().find_map(|kind| text.strip_prefix(kind))?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let (name, _) = name.split_at_checked(end?)?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn module(name: &'static str, text: &'static str) -> Module {
        Module { name, text }
    }

    #[test]
    fn modules_follow_their_imports_and_appear_once() {
        let modules = [
            module(
                "app.js",
                "import * as api from \"./api.js\";\nimport { h } from \"./dom.js\";\nh(api.get());\n",
            ),
            module(
                "api.js",
                "// Requests.\nimport { h } from \"./dom.js\";\n/** Returns\n * all. */\n\
                 export const get = () => h;\n\nconst own = 1;\n",
            ),
            module(
                "dom.js",
                "export function h() {}\nexport class Refused {}\nexport async function wait() {}\n",
            ),
            module("unused.js", "never();\n"),
        ];
        let text = bundle(&modules, "app.js").expect("a bundle");
        assert_eq!(
            text,
            "// dom.js\nconst $dom = (() => {\nfunction h() {}\nclass Refused {}\nasync function wait() {}\n\
             return { h, Refused, wait };\n})();\n\
             // api.js\nconst $api = (() => {\nconst { h } = $dom;\nconst get = () => h;\nconst own = 1;\n\
             return { get };\n})();\n\
             // app.js\nconst $app = (() => {\nconst api = $api;\nconst { h } = $dom;\nh(api.get());\n\
             return {  };\n})();\n"
        );
    }

    #[test]
    fn missing_modules_circles_and_other_forms_are_refused() {
        let missing = [module("a.js", "import { b } from \"./b.js\";\n")];
        let error = bundle(&missing, "a.js").expect_err("missing");
        assert_eq!(error.to_string(), "a.js imports b.js, which is no module");
        let circle = [
            module("a.js", "import { b } from \"./b.js\";\n"),
            module("b.js", "import { a } from \"./a.js\";\n"),
        ];
        let error = bundle(&circle, "a.js").expect_err("a circle");
        assert_eq!(error, BundleError::Circle("a.js".to_owned()));
        for line in [
            "const text = `first",
            "import b from \"./b.js\";",
            "import { a as b } from \"./b.js\";",
            "import { a,",
            "import \"./b.js\";",
            "import { a } from \"./vendor/b.js\";",
            "export default 1;",
            "export let changes = 1;",
            "export { a };",
            "export * from \"./b.js\";",
        ] {
            let error = bundle(&[module("a.js", line)], "a.js").expect_err(line);
            assert!(error.to_string().ends_with(line), "{error}");
        }
    }
}
