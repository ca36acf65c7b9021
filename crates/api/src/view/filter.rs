//! Filters of views: words, `property=value` and comparisons, separated by spaces; a row passes all of them.

use super::order::SortKey;

/// A filter. The default passes every row.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Filter(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Term {
    /// Some value contains the text, in any case of letters.
    Word(String),
    /// The value of a property compares to a value.
    Property {
        name: String,
        relation: Relation,
        value: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    Equal,
    NotEqual,
    Contains,
    Less,
    Greater,
}

/// Operators; the longer ones first.
const OPERATORS: [(&str, Relation); 5] = [
    ("!=", Relation::NotEqual),
    ("=", Relation::Equal),
    ("~", Relation::Contains),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl Filter {
    /// Parses a filter. Every text is a filter; quotation marks keep spaces together.
    pub(super) fn parse(text: &str) -> Self {
        Self(words(text).iter().map(|word| Term::parse(word)).collect())
    }

    /// Returns the names of the properties that terms compare.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|term| match term {
            Term::Property { name, .. } => Some(name.as_str()),
            Term::Word(_) => None,
        })
    }

    /// Returns true if a row passes.
    pub(super) fn matches(&self, fields: &[(&str, String)]) -> bool {
        self.0.iter().all(|term| term.matches(fields))
    }
}

/// Splits a text at spaces outside of quotation marks, in lower case.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

impl Term {
    fn parse(word: &str) -> Self {
        let split = OPERATORS.iter().find_map(|(operator, relation)| {
            let (name, value) = word.split_once(operator)?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
            let is_property = !name.is_empty() && name.chars().all(is_name);
            is_property.then_some((name, *relation, value))
        });
        match split {
            Some((name, relation, value)) => Self::Property {
                name: name.to_owned(),
                relation,
                value: value.to_owned(),
            },
            None => Self::Word(word.to_owned()),
        }
    }

    fn matches(&self, fields: &[(&str, String)]) -> bool {
        match self {
            Self::Word(word) => fields
                .iter()
                .any(|(name, value)| *name != ".id" && value.to_lowercase().contains(word)),
            Self::Property {
                name,
                relation,
                value,
            } => {
                let own = fields.iter().find(|(own, _)| own == name);
                let own = own.map_or(String::new(), |(_, own)| own.to_lowercase());
                relation.holds(&own, value)
            }
        }
    }
}

impl Relation {
    /// Compares two values in lower case. `yes` and `no` equal the values of flags.
    fn holds(self, own: &str, value: &str) -> bool {
        let is_equal = || match value {
            "yes" => own == "yes" || own == "true",
            "no" => own.is_empty() || own == "no" || own == "false",
            value => own == value,
        };
        match self {
            Self::Equal => is_equal(),
            Self::NotEqual => !is_equal(),
            Self::Contains => own.contains(value),
            Self::Less => !own.is_empty() && SortKey::parse(own) < SortKey::parse(value),
            Self::Greater => !own.is_empty() && SortKey::parse(own) > SortKey::parse(value),
        }
    }
}
