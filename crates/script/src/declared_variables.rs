//! The variables that a text declares. `:set` of an undeclared variable is an error.

use std::collections::BTreeSet;

/// Declared variable names by scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    scopes: Vec<BTreeSet<String>>,
    /// True if undeclared variables are accepted, because they may be declared elsewhere.
    pub(crate) any: bool,
}

impl Names {
    /// Opens a scope.
    pub(crate) fn open(&mut self) {
        self.scopes.push(BTreeSet::new());
    }

    /// Closes the innermost scope and returns its names.
    pub(crate) fn close(&mut self) -> BTreeSet<String> {
        self.scopes.pop().unwrap_or_default()
    }

    /// Closes all scopes but the outermost.
    pub(crate) fn close_all(&mut self) {
        self.scopes.truncate(1);
    }

    /// Adds a name to the innermost scope.
    pub(crate) fn declare(&mut self, name: &str) {
        if self.scopes.is_empty() {
            self.open();
        }
        if let Some(scope) = self.scopes.last_mut()
            && !scope.contains(name)
        {
            scope.insert(name.to_owned());
        }
    }

    /// True if the variable may be set here.
    pub(crate) fn is_declared(&self, name: &str) -> bool {
        self.any || self.scopes.iter().any(|scope| scope.contains(name))
    }
}
