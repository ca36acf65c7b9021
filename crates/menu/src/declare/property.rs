//! What a declaration says of one property: the type of its values, its default, how it is kept and shown.

use super::Effect;
use crate::{Kind, Value};

/// One property of a menu. Build it with [`Property::new`] and the modifiers below.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The name, as typed.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// What it is for, in a sentence: console help, reference and API description.
    pub help: &'static str,
    /// The value of an item that does not say otherwise.
    pub default: Option<&'static str>,
    /// Whether `add` refuses an item without it.
    pub required: bool,
    /// Whether it is shown but cannot be set.
    pub read_only: bool,
    /// Whether `!name` and `unset` take its value away.
    pub unset: bool,
    /// Whether export and print hide it unless asked.
    pub sensitive: bool,
    /// Whether only a seal of the value is kept, which nobody is shown: the value of a password.
    pub sealed: bool,
    /// Whether print shows its text without quotes, as the name that it is.
    pub bare: bool,
    /// Whether the value shows in `print stats` only.
    pub stats: bool,
    /// Whether it is shown only while it has another value than its default.
    pub quiet: bool,
    /// Whether its value is the time that is left, which shrinks while nothing happens.
    pub runs_down: bool,
    /// Whether its text is a script, which can be written as code in braces.
    pub script: bool,
    /// Whether an item may name itself with it, before it is there.
    pub itself: bool,
    /// What its number counts, as printed after it: `%`, `MHz`; `B` prints as KiB, MiB or GiB.
    pub unit: &'static str,
    /// Whether it does anything.
    pub effect: Effect,
    /// Which of its values, as text, do nothing though others do.
    pub inert_for: Option<fn(&str) -> bool>,
    /// Whether what it names says nothing about whether the item does anything.
    pub apart: bool,
    /// Where the names come from that it is likely to have.
    pub shared: Option<&'static Shared>,
}

/// Names that items share by using them, and that nothing declares: chains, marks, lists of
/// addresses. Any other name is as good; these are offered.
#[derive(Debug)]
pub struct Shared {
    /// Those that always are.
    pub words: &'static [&'static str],
    /// Properties whose values are such names, each with the last part of the path of its menu,
    /// which is beside the menu of who asks; empty if it is that menu itself.
    pub used: &'static [(&'static str, &'static str)],
}

impl Property {
    /// A property that has neither default nor duty.
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            name,
            kind,
            help,
            default: None,
            required: false,
            read_only: false,
            unset: false,
            sensitive: false,
            sealed: false,
            bare: false,
            stats: false,
            quiet: false,
            runs_down: false,
            script: false,
            itself: false,
            unit: "",
            effect: Effect::Full,
            inert_for: None,
            apart: false,
            shared: None,
        }
    }

    /// With a default, spelled as in the manual.
    #[must_use]
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    /// Must be given to `add`.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Shown, never set.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// A counter: read-only, shown by `print stats`.
    #[must_use]
    pub const fn stats(mut self) -> Self {
        self.read_only = true;
        self.stats = true;
        self
    }

    /// Can be unset.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.unset = true;
        self
    }

    /// Hidden unless asked for.
    #[must_use]
    pub const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Kept as a seal by which a value can be recognised, and never shown.
    #[must_use]
    pub const fn sealed(mut self) -> Self {
        self.sensitive = true;
        self.sealed = true;
        self
    }

    /// Written by the router alone, and shown to nobody.
    #[must_use]
    pub const fn kept(mut self) -> Self {
        self.read_only = true;
        self.sensitive = true;
        self.sealed = true;
        self
    }

    /// A name that print shows without quotes.
    #[must_use]
    pub const fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Not shown while it has its default, as if nothing were said.
    #[must_use]
    pub const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// The time that is left: rows show less of it every second.
    #[must_use]
    pub const fn runs_down(mut self) -> Self {
        self.runs_down = true;
        self
    }

    /// A script, or the name of one.
    #[must_use]
    pub const fn script(mut self) -> Self {
        self.script = true;
        self
    }

    /// A name that may be that of the item itself.
    #[must_use]
    pub const fn or_itself(mut self) -> Self {
        self.itself = true;
        self
    }

    /// Whether this value goes without saying.
    pub fn is_quiet(&self, value: &Value) -> bool {
        self.quiet && self.default.is_some_and(|usual| value.to_string() == usual)
    }

    /// A name that items share.
    #[must_use]
    pub const fn shared(mut self, shared: &'static Shared) -> Self {
        self.shared = Some(shared);
        self
    }

    /// A number of something.
    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Whether this value says something that does not happen: one that is not the default of a
    /// property without effect, nor that there is none.
    pub fn is_idle(&self, value: &Value) -> bool {
        let says = || !value.is_empty() && value.to_string() != "none";
        let differs = || {
            self.default
                .map_or_else(says, |text| value.to_string() != text)
        };
        let idle = self.inert_for;
        self.effect == Effect::None && !self.read_only && differs()
            || idle.is_some_and(|idle| idle(&value.to_string()))
    }

    /// Does something, but for these values.
    #[must_use]
    pub const fn inert_for(mut self, idle: fn(&str) -> bool) -> Self {
        self.inert_for = Some(idle);
        self
    }

    /// Typed, checked, kept, exported; nothing else happens.
    #[must_use]
    pub const fn inert(mut self) -> Self {
        self.effect = Effect::None;
        self
    }
}
