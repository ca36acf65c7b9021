//! Reasons why a rule is invalid, and therefore never matches.

use menu::Store;

use crate::compile::Missing;
use crate::intent::Intent;

/// Reason why a rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The rule names something that does not exist or cannot be used.
    Missing(Missing),
    /// The conditions can never match.
    Senseless,
    /// The action lacks this argument.
    Incomplete(&'static str),
    /// The jump closes a circle, or exceeds the maximum depth.
    Endless,
    /// The chain cannot translate this side of the connection.
    Side,
    /// The router has no room for another mark, address list or chain.
    Full,
}

impl Invalid {
    /// Returns the present reason as text for users.
    pub fn why(&self, intent: &Intent, store: &Store) -> String {
        let why = match self {
            Self::Missing(missing) => return missing.why(intent, store),
            Self::Senseless => "its matchers exclude each other",
            Self::Incomplete(name) => return format!("its action needs {name}"),
            Self::Endless => "the jump forms a loop or nests too deep",
            Self::Side => "its chain can not translate that side",
            Self::Full => "there is no room for another mark, list or chain",
        };
        why.to_owned()
    }
}

impl From<Missing> for Invalid {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}
