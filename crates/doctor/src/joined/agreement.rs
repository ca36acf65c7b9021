//! Terms: properties of both ends of a tunnel, and the comparison of their values.

use ipnet::IpNet;
use menu::{Item, MenuShape, quote};

use super::difference::{Difference, Value};
use super::end::{End, Pair, Role};
use crate::config::{shown, words};
use crate::rule::Severity;

/// A property of an item of an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PropertyPath {
    pub(super) role: Role,
    pub(super) property: &'static str,
}

/// How values of both ends agree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agreement {
    /// Equal values.
    Equal,
    /// Equal values, unless one of them is empty or one of these words.
    EqualUnless(&'static [&'static str]),
    /// Lists with a common word.
    Overlap,
    /// As `Overlap`, unless both lists of ciphers share a cipher that authenticates by itself.
    OverlapUnlessAead,
    /// Any values but these pairs.
    NoneOf(&'static [(&'static str, &'static str)]),
    /// A function of both ends.
    By(fn(&End<'_>, &End<'_>) -> bool),
}

/// Something that must agree between the ends of a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) first: PropertyPath,
    pub(super) second: PropertyPath,
    pub(super) agreement: Agreement,
    /// True if the term also holds with the ends exchanged: what one end expects the other end has.
    pub(super) is_mirrored: bool,
    pub(super) severity: Severity,
    pub(super) cause: &'static str,
}

impl Term {
    /// Compares one property of the items with equal roles.
    pub(super) const fn same(role: Role, property: &'static str, cause: &'static str) -> Self {
        let place = PropertyPath { role, property };
        Self::between(place, place, Agreement::Equal, cause)
    }

    /// Values at two places must agree.
    pub(super) const fn between(
        first: PropertyPath,
        second: PropertyPath,
        agreement: Agreement,
        cause: &'static str,
    ) -> Self {
        Self {
            first,
            second,
            agreement,
            is_mirrored: false,
            severity: Severity::Error,
            cause,
        }
    }

    pub(super) const fn agreeing(self, agreement: Agreement) -> Self {
        Self { agreement, ..self }
    }

    pub(super) const fn mirrored(self) -> Self {
        Self {
            is_mirrored: true,
            ..self
        }
    }

    pub(super) const fn warns(self) -> Self {
        Self {
            severity: Severity::Warning,
            ..self
        }
    }

    /// Returns the disagreements of a pair; a mirrored term compares both directions.
    pub(super) fn check(&self, pair: &Pair<'_>) -> Vec<Disagreement> {
        let directions = [(pair.first(), pair.second()), (pair.second(), pair.first())];
        let count = 1 + usize::from(self.is_mirrored);
        let directions = directions.into_iter().take(count);
        directions
            .filter_map(|(first, second)| self.compare(first, second))
            .collect()
    }

    fn compare(&self, first: &End<'_>, second: &End<'_>) -> Option<Disagreement> {
        let items = (first.item(self.first.role)?, second.item(self.second.role)?);
        let (own, other) = (
            shown(items.0, self.first.property),
            shown(items.1, self.second.property),
        );
        let agrees = match self.agreement {
            Agreement::Equal => own == other,
            Agreement::EqualUnless(except) => {
                let is_free = |value: &str| value.is_empty() || except.contains(&value);
                is_free(&own) || is_free(&other) || own == other
            }
            Agreement::Overlap => {
                overlap(items.0, self.first.property, items.1, self.second.property)
            }
            Agreement::OverlapUnlessAead => {
                shares_aead(items.0, items.1)
                    || overlap(items.0, self.first.property, items.1, self.second.property)
            }
            Agreement::NoneOf(conflicts) => !conflicts.contains(&(own.as_str(), other.as_str())),
            Agreement::By(agree) => agree(first, second),
        };
        (!agrees).then(|| self.disagreement(first, second, items))
    }

    fn disagreement(
        &self,
        first: &End<'_>,
        second: &End<'_>,
        items: (&Item, &Item),
    ) -> Disagreement {
        let value = |item: &Item, place: PropertyPath| Value {
            item: (item.menu.path, item.id),
            shown: show(item, place.property),
        };
        let mut values = [
            Some(value(items.0, self.first)),
            Some(value(items.1, self.second)),
        ];
        if first.router == 1 {
            values.reverse();
        }
        Disagreement {
            severity: self.severity,
            cause: self.cause,
            values,
            fix: self.fix(first, second, items),
        }
    }

    /// Returns the command that gives one end the value of the other: never a weak algorithm, and never a secret.
    fn fix(
        &self,
        first: &End<'_>,
        second: &End<'_>,
        items: (&Item, &Item),
    ) -> Option<(usize, String)> {
        let is_copied = matches!(
            self.agreement,
            Agreement::Equal | Agreement::EqualUnless(_) | Agreement::Overlap
        );
        let from_first = !has_weak(items.0, self.first.property);
        let (end, item, place, source, property) = match from_first {
            true => (second, items.1, self.second, items.0, self.first.property),
            false => (first, items.0, self.first, items.1, self.second.property),
        };
        // Both ends have a weak value: the user has to decide.
        if has_weak(source, property) {
            return None;
        }
        let value = shown(source, property);
        let is_secret = item.menu.property(place.property)?.sensitive;
        if !is_copied || is_secret || value.is_empty() {
            return None;
        }
        let id = match item.menu.shape {
            MenuShape::Settings => String::new(),
            _ => format!("{} ", item.id),
        };
        let (menu, value) = (item.menu.path, quote(&value));
        let command = format!("{menu}/set {id}{}={value}", place.property);
        Some((end.router, command))
    }
}

/// A term that does not hold.
#[derive(Clone, Debug)]
pub(super) struct Disagreement {
    severity: Severity,
    cause: &'static str,
    values: [Option<Value>; 2],
    fix: Option<(usize, String)>,
}

impl Disagreement {
    pub(super) fn named(self, kind: &str, pair: &Pair<'_>) -> Difference {
        Difference {
            tunnel: format!(
                "{kind} {} and {}",
                pair.ends[0].title(),
                pair.ends[1].title()
            ),
            severity: self.severity,
            cause: self.cause,
            values: self.values,
            fix: self.fix,
        }
    }
}

/// Shows a property with its value; secrets are hidden.
fn show(item: &Item, property: &'static str) -> String {
    let is_secret = { item.menu.property(property) }.is_some_and(|property| property.sensitive);
    match shown(item, property) {
        value if value.is_empty() => format!("no {property}"),
        _ if is_secret => format!("{property}=(hidden)"),
        value => format!("{property}={value}"),
    }
}

fn overlap(first: &Item, own: &str, second: &Item, other: &str) -> bool {
    let (own, other) = (words(first.get(own)), words(second.get(other)));
    own.is_empty() || other.is_empty() || own.iter().any(|word| other.contains(word))
}

/// Returns true if two proposals share a cipher that needs no authentication algorithm.
fn shares_aead(first: &Item, second: &Item) -> bool {
    let own = words(first.get("enc-algorithms"));
    let other = words(second.get("enc-algorithms"));
    let is_aead = |word: &str| word.ends_with("gcm") || word.starts_with("chacha20");
    own.iter().any(|word| is_aead(word) && other.contains(word))
}

/// Returns true if a list of algorithms contains one that is broken, or a property has a mode of IKEv1.
fn has_weak(item: &Item, property: &str) -> bool {
    const WEAK: [&str; 11] = [
        "md5",
        "des",
        "3des",
        "null",
        "modp768",
        "modp1024",
        "none",
        "pap",
        "main",
        "base",
        "aggressive",
    ];
    let mut algorithms = words(item.get(property)).into_iter();
    algorithms.any(|word| WEAK.contains(&word))
}

/// Returns true unless both ends have addresses on the tunnel and no network in common, or the same address.
pub(super) fn addresses_meet(first: &End<'_>, second: &End<'_>) -> bool {
    let (own, other) = (&first.networks, &second.networks);
    let meets = |a: &IpNet| {
        let mut others = other.iter();
        others.any(|b| a.addr() != b.addr() && a.contains(&b.addr()) && b.contains(&a.addr()))
    };
    let is_point_to_point = own
        .iter()
        .chain(other)
        .any(|net| net.prefix_len() == net.max_prefix_len());
    own.is_empty() || other.is_empty() || is_point_to_point || own.iter().any(meets)
}
