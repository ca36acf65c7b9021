//! User policies, and the policies that commands require.

use std::fmt;
use std::ops::BitOr;

use crate::{Menu, Value};

/// A set of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Policies(u32);

impl Policies {
    /// The policy names in the order in which groups show them.
    pub const WORDS: &'static [&'static str] = &[
        "local",
        "telnet",
        "ssh",
        "ftp",
        "reboot",
        "read",
        "write",
        "policy",
        "test",
        "winbox",
        "password",
        "web",
        "sniff",
        "sensitive",
        "api",
        "romon",
        "rest-api",
        "dude",
        "tikapp",
    ];

    /// No policies.
    pub const NONE: Self = Self(0);
    /// All policies.
    pub const ALL: Self = Self((1 << Self::WORDS.len()) - 1);
    /// Login at the local console.
    pub const LOCAL: Self = Self::of("local");
    /// Login by telnet.
    pub const TELNET: Self = Self::of("telnet");
    /// Login by SSH.
    pub const SSH: Self = Self::of("ssh");
    /// Login by FTP, and file transfer.
    pub const FTP: Self = Self::of("ftp");
    /// Restart of the router.
    pub const REBOOT: Self = Self::of("reboot");
    /// Reading the configuration.
    pub const READ: Self = Self::of("read");
    /// Changing the configuration.
    pub const WRITE: Self = Self::of("write");
    /// User management.
    pub const POLICY: Self = Self::of("policy");
    /// Network test tools.
    pub const TEST: Self = Self::of("test");
    /// Login by WinBox.
    pub const WINBOX: Self = Self::of("winbox");
    /// Changing the own password.
    pub const PASSWORD: Self = Self::of("password");
    /// Login by web pages.
    pub const WEB: Self = Self::of("web");
    /// Packet capture.
    pub const SNIFF: Self = Self::of("sniff");
    /// Access to secrets.
    pub const SENSITIVE: Self = Self::of("sensitive");
    /// Login by the API.
    pub const API: Self = Self::of("api");
    /// Login by RoMON.
    pub const ROMON: Self = Self::of("romon");
    /// Login by the REST API.
    pub const REST_API: Self = Self::of("rest-api");

    /// Returns the policy with a name from [`Self::WORDS`].
    ///
    /// # Panics
    /// There is no such policy.
    pub const fn of(word: &str) -> Self {
        let mut index = 0;
        while index < Self::WORDS.len() {
            if equal(Self::WORDS[index].as_bytes(), word.as_bytes()) {
                return Self(1 << index);
            }
            index += 1;
        }
        panic!("a policy that is not listed");
    }

    /// Returns the set as bits in the order of [`Self::WORDS`].
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Creates a set from [`Self::bits`].
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// True if the set contains all policies of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the intersection.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the union.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the policies named in a value; `!name` and unknown names are ignored.
    pub fn from_value(value: &Value) -> Self {
        let named = |value: &Value| {
            let word = value.as_str()?;
            let index = Self::WORDS.iter().position(|other| *other == word)?;
            Some(Self(1 << index))
        };
        let named = value.as_list().iter().filter_map(named);
        named.fold(Self::NONE, BitOr::bitor)
    }

    /// Returns the policies that a menu command requires: the menu's entry in `command_policies`, otherwise
    /// `read` for commands that show, `test` and `reboot` for the commands of that name, and `write` for all
    /// others.
    pub fn needed(menu: &Menu, command: &str) -> Self {
        let mut own = menu.command_policies.iter();
        if let Some((_, needed)) = own.find(|(name, _)| *name == command) {
            return *needed;
        }
        match command {
            "print" | "get" | "find" | "export" | "monitor" | "monitor-slaves"
            | "monitor-traffic" | "check" => Self::READ,
            "scan" | "snooper" | "bandwidth-test" | "speed-test" => Self::TEST,
            "reboot" | "shutdown" => Self::REBOOT,
            _ => Self::WRITE | menu.policies,
        }
    }
}

impl BitOr for Policies {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl fmt::Display for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |index: &usize| self.0 >> index & 1 == 1;
        let held = (0..Self::WORDS.len()).filter(has);
        let names: Vec<_> = held.map(|index| Self::WORDS[index]).collect();
        f.write_str(&names.join(","))
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut index = 0;
    while index < a.len() {
        if a[index] != b[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, MenuShape};

    #[test]
    fn a_group_has_the_named_policies() {
        let kind = Kind::Marked(Policies::WORDS);
        let value = kind.parse("policy", "read,!write,ssh").expect("policies");

        let policies = Policies::from_value(&value);

        assert_eq!(policies, Policies::READ | Policies::SSH);
        assert_eq!(policies.to_string(), "ssh,read");
        assert!(!policies.contains(Policies::WRITE));
    }

    #[test]
    fn required_policies_follow_from_the_command() {
        let menu = Menu {
            policies: Policies::POLICY,
            command_policies: &[("renew", Policies::TEST)],
            ..Menu::new("/x", MenuShape::List, "")
        };

        assert_eq!(Policies::needed(&menu, "print"), Policies::READ);
        assert_eq!(Policies::needed(&menu, "scan"), Policies::TEST);
        assert_eq!(Policies::needed(&menu, "renew"), Policies::TEST);
        assert_eq!(
            Policies::needed(&menu, "remove"),
            Policies::WRITE | Policies::POLICY
        );
    }
}
