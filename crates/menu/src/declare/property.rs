//! Declaration of a property: the type of its values, its default, how it is stored and shown.

use super::Effect;
use crate::{Kind, Value};

/// One property of a menu. Build it with [`Property::new`] and the modifiers below.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// The name as typed.
    pub name: &'static str,
    /// The type of the value.
    pub kind: Kind,
    /// One-sentence help for the console, the reference and the API description.
    pub help: &'static str,
    /// The default value.
    pub default: Option<&'static str>,
    /// True if `add` requires the property.
    pub required: bool,
    /// True if the property is read-only.
    pub read_only: bool,
    /// True if `!name` and `unset` may unset the property.
    pub unset: bool,
    /// True if export and print hide the value by default.
    pub sensitive: bool,
    /// True if only a sealed form of the value is stored, which is never shown, as for passwords.
    pub sealed: bool,
    /// True if print shows the text without quotes, as a name.
    pub bare: bool,
    /// True if only `print stats` shows the value.
    pub stats: bool,
    /// True if the default value is not shown.
    pub quiet: bool,
    /// True if the value is a remaining time, which decreases without any event.
    pub runs_down: bool,
    /// True if the text is a script, which may be written as code in braces.
    pub script: bool,
    /// True if an item may refer to itself before it exists.
    pub itself: bool,
    /// The unit printed after a number: `%`, `MHz`; `B` prints as KiB, MiB or GiB.
    pub unit: &'static str,
    /// Whether the property has an effect.
    pub effect: Effect,
    /// Returns true for values without effect, given as text.
    pub inert_for: Option<fn(&str) -> bool>,
    /// True if the item's effect does not depend on the items that the property names.
    pub apart: bool,
    /// Source of likely names, for completion.
    pub shared: Option<&'static Shared>,
}

/// Names that exist by being used, without a declaration: chains, marks, address lists. Any name is valid;
/// completion offers these.
#[derive(Debug)]
pub struct Shared {
    /// Predefined names.
    pub words: &'static [&'static str],
    /// Properties whose values are such names: the property, and the last word of the path of its menu, a
    /// sibling of the current menu; an empty word stands for the current menu.
    pub used: &'static [(&'static str, &'static str)],
}

impl Property {
    /// Declares an optional property without a default.
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

    /// Sets the default, spelled as in RouterOS's manual.
    #[must_use]
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    /// Makes the property required for `add`.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Makes the property read-only.
    #[must_use]
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Declares a counter: read-only, shown by `print stats`.
    #[must_use]
    pub const fn stats(mut self) -> Self {
        self.read_only = true;
        self.stats = true;
        self
    }

    /// Allows to unset the property.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.unset = true;
        self
    }

    /// Hides the value by default.
    #[must_use]
    pub const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// Stores the value in a sealed form, which can be verified but never shown.
    #[must_use]
    pub const fn sealed(mut self) -> Self {
        self.sensitive = true;
        self.sealed = true;
        self
    }

    /// Returns true for a password: a sealed value that users set. Internal values are sealed too, but not parsed.
    pub const fn is_password(&self) -> bool {
        self.sealed && !self.read_only
    }

    /// Declares an internal value: written by the router only, and never shown.
    #[must_use]
    pub const fn kept(mut self) -> Self {
        self.read_only = true;
        self.sensitive = true;
        self.sealed = true;
        self
    }

    /// Shows the value without quotes.
    #[must_use]
    pub const fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Hides the default value.
    #[must_use]
    pub const fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Declares a remaining time, which decreases every second.
    #[must_use]
    pub const fn runs_down(mut self) -> Self {
        self.runs_down = true;
        self
    }

    /// Declares a script, or the name of one.
    #[must_use]
    pub const fn script(mut self) -> Self {
        self.script = true;
        self
    }

    /// Allows an item to refer to itself.
    #[must_use]
    pub const fn or_itself(mut self) -> Self {
        self.itself = true;
        self
    }

    /// True if the value is a hidden default.
    pub fn is_quiet(&self, value: &Value) -> bool {
        self.quiet && self.default.is_some_and(|usual| value.to_string() == usual)
    }

    /// Sets the source of likely names.
    #[must_use]
    pub const fn shared(mut self, shared: &'static Shared) -> Self {
        self.shared = Some(shared);
        self
    }

    /// Sets the unit of a number.
    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// True if the value requests something that has no effect: a value that differs from the default, or from
    /// `none` if the property has no default.
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

    /// Declares that some values have no effect.
    #[must_use]
    pub const fn inert_for(mut self, idle: fn(&str) -> bool) -> Self {
        self.inert_for = Some(idle);
        self
    }

    /// Declares that the property has no effect: it is accepted, checked, stored and exported only.
    #[must_use]
    pub const fn inert(mut self) -> Self {
        self.effect = Effect::None;
        self
    }
}
