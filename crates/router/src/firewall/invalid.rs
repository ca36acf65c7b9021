//! Why a rule is invalid, and so never matches.

use menu::Store;

use crate::compile::Missing;
use crate::intent::Intent;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// It names what cannot be used.
    Missing(Missing),
    /// It asks for what no packet can be.
    Senseless,
    /// Its action was not told what it needs: this argument.
    Incomplete(&'static str),
    /// It jumps in a circle, or too deep.
    Endless,
    /// It translates a side that its chain does not.
    Side,
    /// There are too many of what it names by itself: marks, lists of addresses, chains.
    Full,
}

impl Invalid {
    /// What users are told, as things are now.
    pub fn why(&self, intent: &Intent, store: &Store) -> String {
        let why = match self {
            Self::Missing(missing) => return missing.why(intent, store),
            Self::Senseless => "no packet is as it asks",
            Self::Incomplete(name) => return format!("its action needs {name}"),
            Self::Endless => "the jump leads in a circle, or too deep",
            Self::Side => "its chain can not translate that side",
            Self::Full => "there is no room for the mark, list or chain that it names",
        };
        why.to_owned()
    }
}

impl From<Missing> for Invalid {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}
