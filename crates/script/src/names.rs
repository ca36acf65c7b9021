//! The variables that a text has declared at some place: `:set` of any other is an error.

/// Declared names, by scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    scopes: Vec<Vec<String>>,
}

impl Names {
    /// Opens a scope.
    pub(crate) fn open(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Closes the innermost scope; gives what was declared in it.
    pub(crate) fn close(&mut self) -> Vec<String> {
        self.scopes.pop().unwrap_or_default()
    }

    /// Closes all scopes but the outermost.
    pub(crate) fn close_all(&mut self) {
        self.scopes.truncate(1);
    }

    /// Declares a name in the innermost scope.
    pub(crate) fn declare(&mut self, name: &str) {
        if self.scopes.is_empty() {
            self.open();
        }
        if let Some(scope) = self.scopes.last_mut()
            && !scope.iter().any(|known| known == name)
        {
            scope.push(name.to_owned());
        }
    }

    /// Declares names in the innermost scope.
    pub(crate) fn declare_all(&mut self, names: Vec<String>) {
        names.iter().for_each(|name| self.declare(name));
    }

    /// Whether a name is declared here or further out.
    pub(crate) fn is_declared(&self, name: &str) -> bool {
        self.scopes.iter().flatten().any(|known| known == name)
    }
}
