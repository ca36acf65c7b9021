//! Circles of imports: files of a crate that name each other's items, directly or by way of further files.
//!
//! A file imports another if a `use` declaration or an inline path in it leads to an item that the other file
//! defines. Re-exports are followed to the file of the definition. A `mod` declaration is no import, and neither is
//! a re-export whose name its own file does not use. Tests are left out: files named `tests.rs`, folders named
//! `tests`, and items under `#[cfg(test)]`.

mod reader;
mod tests;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Sources by their path.
pub(crate) type Sources<'a> = BTreeMap<&'a str, &'a str>;

/// The names by which a file imports another.
pub(crate) type Names = BTreeSet<String>;

/// Maximum number of declarations that a path is followed through, which ends cycles.
const STEPS: usize = 16;

/// A module: a file, or a block within one.
#[derive(Debug, Default)]
struct Module {
    /// Index in [`Crate::files`] of the file that contains the module.
    file: usize,
    parent: Option<usize>,
    children: HashMap<String, usize>,
    /// Names of the items that the module defines, except modules.
    items: HashSet<String>,
    uses: Vec<Use>,
    /// Inline paths of two and more segments.
    paths: Vec<Vec<String>>,
    /// All words outside of `use` declarations.
    words: HashSet<String>,
}

/// A name that a `use` declaration binds; `*` if it binds all names of a module.
#[derive(Debug)]
struct Use {
    name: String,
    path: Vec<String>,
    is_public: bool,
}

/// The target of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// An item of this file.
    Item(usize),
    /// An item of another crate.
    Foreign,
}

/// The modules of a crate. The first one is the root.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub files: Vec<String>,
    modules: Vec<Module>,
    /// Macros by name, and the files that define them.
    macros: HashMap<String, usize>,
}

impl Crate {
    /// Reads the crate with this root file, module by module.
    pub(crate) fn read(sources: &Sources<'_>, root: &str) -> Self {
        let mut read = Self::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        reader::read(&mut read, sources, root, folder, None);
        read
    }

    /// Returns the target of a path from a module. `is_prefix`: more names follow, so if a module and an item have the
    /// last name, the path means the module.
    fn resolve(&self, from: usize, path: &[String], is_prefix: bool, steps: usize) -> Target {
        let mut target = Target::Module(from);
        for (at, name) in path.iter().enumerate() {
            let Target::Module(module) = target else {
                return target;
            };
            let is_prefix = is_prefix || at + 1 < path.len();
            target = match name.as_str() {
                "crate" => Target::Module(0),
                "self" => target,
                "super" => Target::Module(self.modules[module].parent.unwrap_or_default()),
                name => match self.lookup(module, name, is_prefix, steps) {
                    Some(found) => found,
                    None if at == 0 => Target::Foreign,
                    // An item that a macro of this module defines.
                    None => Target::Item(self.modules[module].file),
                },
            };
        }
        target
    }

    /// Returns the target of a name in a module.
    fn lookup(&self, at: usize, name: &str, is_prefix: bool, steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let module = &self.modules[at];
        let child = || module.children.get(name).copied().map(Target::Module);
        let item = || { module.items.contains(name) }.then_some(Target::Item(module.file));
        let bound = || {
            let bound = module.uses.iter().find(|bound| bound.name == name)?;
            Some(self.resolve(at, &bound.path, is_prefix, steps))
        };
        let found = match is_prefix {
            true => child().or_else(bound).or_else(item),
            false => item().or_else(bound).or_else(child),
        };
        let exported = || {
            { self.macros.get(name) }
                .filter(|_| at == 0)
                .copied()
                .map(Target::Item)
        };
        found.or_else(exported).or_else(|| {
            let mut all = module.uses.iter().filter(|bound| bound.name == "*");
            all.find_map(|all| match self.resolve(at, &all.path, true, steps) {
                Target::Module(other) if other != at => self.lookup(other, name, is_prefix, steps),
                _ => None,
            })
        })
    }

    /// Returns the imports of each file, in the order of [`Self::files`]: the indices of the imported files, with the
    /// names that the import uses.
    pub(crate) fn imports(&self) -> Vec<BTreeMap<usize, Names>> {
        let mut imports = vec![BTreeMap::<_, Names>::new(); self.files.len()];
        for (at, module) in self.modules.iter().enumerate() {
            let used = |bound: &&Use| !bound.is_public || module.words.contains(&bound.name);
            let bound = module.uses.iter().filter(used);
            let bound = bound.map(|bound| bound.path.clone());
            // A word may be a name that a glob binds.
            let has_glob = module.uses.iter().any(|bound| bound.name == "*");
            let words = module.words.iter().filter(|_| has_glob);
            let words = words.map(|word| vec![word.clone()]);
            for path in bound.chain(module.paths.iter().cloned()).chain(words) {
                if let Target::Item(file) = self.resolve(at, &path, false, STEPS)
                    && file != module.file
                {
                    let names = imports[module.file].entry(file).or_default();
                    names.insert(path.join("::"));
                }
            }
        }
        imports
    }

    /// Returns the indices of the files of the largest circle; empty if no two files import each other.
    pub(crate) fn largest_circle(&self) -> Vec<usize> {
        let imports = self.imports();
        let reached: Vec<_> = (0..imports.len())
            .map(|file| reach(&imports, file))
            .collect();
        let circle = |file: usize| {
            let mutual = reached[file]
                .iter()
                .filter(|other| reached[**other].contains(&file));
            mutual.copied().collect::<Vec<_>>()
        };
        let circles = (0..imports.len()).map(circle);
        circles.max_by_key(Vec::len).unwrap_or_default()
    }

    /// Returns the imports among these files, one line for each.
    pub(crate) fn within(&self, files: &[usize]) -> Vec<String> {
        let imports = self.imports();
        let mut lines = Vec::new();
        for file in files {
            for (target, names) in imports[*file]
                .iter()
                .filter(|(target, _)| files.contains(target))
            {
                let names = names
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ");
                let (from, to) = (&self.files[*file], &self.files[*target]);
                lines.push(format!("{from} imports {to}: {names}"));
            }
        }
        lines
    }
}

/// Returns the indices of the files that a file imports, directly or indirectly.
fn reach(imports: &[BTreeMap<usize, Names>], from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut left = vec![from];
    while let Some(file) = left.pop() {
        left.extend(imports[file].keys().filter(|next| reached.insert(**next)));
    }
    reached
}
