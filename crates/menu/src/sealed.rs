//! Stored passwords: the seal, and optionally a verifier of the password that is bound to the name of its owner.
//!
//! ```text
//! SEAL                    a hash from which the password can only be guessed
//! SEAL VERIFIER OWNER     as well, with a verifier for a key exchange, which is valid for this name alone
//! ```

/// Parts of a stored password. Seal and verifier have no spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sealed<'a> {
    /// Seal of the password.
    pub seal: &'a str,
    /// Verifier and the name to which it is bound.
    bound: Option<(&'a str, &'a str)>,
}

impl<'a> Sealed<'a> {
    /// Creates a stored password with a verifier for this owner.
    pub const fn bound(seal: &'a str, verifier: &'a str, owner: &'a str) -> Self {
        Self {
            seal,
            bound: Some((verifier, owner)),
        }
    }

    /// Splits a stored password.
    pub fn parse(text: &'a str) -> Self {
        let Some((seal, rest)) = text.split_once(' ') else {
            return Self {
                seal: text,
                bound: None,
            };
        };
        Self {
            seal,
            bound: rest.split_once(' '),
        }
    }

    /// Returns the verifier, unless it is bound to another name.
    pub fn verifier(&self, owner: &str) -> Option<&'a str> {
        let bound = self.bound.filter(|(_, own)| *own == owner);
        bound.map(|(verifier, _)| verifier)
    }

    /// Returns true if there is a verifier that is bound to another name.
    pub fn is_of_another(&self, owner: Option<&str>) -> bool {
        self.bound.is_some_and(|(_, own)| Some(own) != owner)
    }
}

impl core::fmt::Display for Sealed<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.seal)?;
        match self.bound {
            Some((verifier, owner)) => write!(f, " {verifier} {owner}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_is_valid_for_its_owner_alone() {
        let text = Sealed::bound("$hash$", "0a0b", "the admin").to_string();
        let sealed = Sealed::parse(&text);

        assert_eq!(sealed.seal, "$hash$");
        assert_eq!(sealed.verifier("the admin"), Some("0a0b"));
        assert_eq!(sealed.verifier("admin"), None);
        assert!(sealed.is_of_another(Some("admin")) && sealed.is_of_another(None));
        assert!(!sealed.is_of_another(Some("the admin")));
        assert_eq!(sealed.to_string(), text);
        let bare = Sealed::parse("$hash$");
        assert_eq!((bare.seal, bare.verifier("")), ("$hash$", None));
    }
}
