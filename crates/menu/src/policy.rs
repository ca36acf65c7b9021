//! What a user may do: the policies of groups, and which of them a command needs.

use std::fmt;
use std::ops::BitOr;

use crate::{Menu, Value};

/// A set of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Policies(u32);

impl Policies {
    /// The names, in the order in which groups show them.
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

    /// Nothing is allowed.
    pub const NONE: Self = Self(0);
    /// Everything is allowed: the owner of the router.
    pub const ALL: Self = Self((1 << Self::WORDS.len()) - 1);
    /// To log in at the local console.
    pub const LOCAL: Self = Self::of("local");
    /// To log in by telnet.
    pub const TELNET: Self = Self::of("telnet");
    /// To log in by SSH.
    pub const SSH: Self = Self::of("ssh");
    /// To log in by FTP, and to move files.
    pub const FTP: Self = Self::of("ftp");
    /// To restart the router.
    pub const REBOOT: Self = Self::of("reboot");
    /// To read the configuration.
    pub const READ: Self = Self::of("read");
    /// To change the configuration.
    pub const WRITE: Self = Self::of("write");
    /// To manage users.
    pub const POLICY: Self = Self::of("policy");
    /// To run tools that test a network.
    pub const TEST: Self = Self::of("test");
    /// To log in by WinBox.
    pub const WINBOX: Self = Self::of("winbox");
    /// To change the own password.
    pub const PASSWORD: Self = Self::of("password");
    /// To log in by the web pages.
    pub const WEB: Self = Self::of("web");
    /// To see packets.
    pub const SNIFF: Self = Self::of("sniff");
    /// To see secrets.
    pub const SENSITIVE: Self = Self::of("sensitive");
    /// To log in by the API.
    pub const API: Self = Self::of("api");
    /// To connect by RoMON.
    pub const ROMON: Self = Self::of("romon");
    /// To log in by REST.
    pub const REST_API: Self = Self::of("rest-api");

    /// The policy of one of [`Self::WORDS`].
    ///
    /// # Panics
    /// The word is another one.
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

    /// As a number: a bit for each of [`Self::WORDS`].
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// What [`Self::bits`] gave.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether all of the other set are in this one.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those that are in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are in one set or the other.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that a value names; `!name` and what is no policy names none.
    pub fn from_value(value: &Value) -> Self {
        let named = |value: &Value| {
            let word = value.as_str()?;
            let index = Self::WORDS.iter().position(|other| *other == word)?;
            Some(Self(1 << index))
        };
        let named = value.as_list().iter().filter_map(named);
        named.fold(Self::NONE, BitOr::bitor)
    }

    /// The policies that a command of a menu needs: the menu's own entry in `command_policies`, else `read` for
    /// commands that show, `test` and `reboot` for the commands of that name, and `write` for all others.
    pub fn needed(menu: &Menu, command: &str) -> Self {
        let mut own = menu.command_policies.iter();
        if let Some((_, needed)) = own.find(|(name, _)| *name == command) {
            return *needed;
        }
        match command {
            "print" | "get" | "find" | "export" | "monitor" | "monitor-slaves"
            | "monitor-traffic" | "check" => Self::READ,
            "scan" | "snooper" | "bandwidth-test" => Self::TEST,
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
    use crate::{Kind, Shape};

    #[test]
    fn a_group_has_the_policies_that_it_names() {
        let kind = Kind::Marked(Policies::WORDS);
        let value = kind.parse("policy", "read,!write,ssh").expect("policies");

        let policies = Policies::from_value(&value);

        assert_eq!(policies, Policies::READ | Policies::SSH);
        assert_eq!(policies.to_string(), "ssh,read");
        assert!(!policies.contains(Policies::WRITE));
    }

    #[test]
    fn what_a_command_needs_follows_from_what_it_does() {
        let menu = Menu {
            policies: Policies::POLICY,
            command_policies: &[("renew", Policies::TEST)],
            ..Menu::new("/x", Shape::List, "")
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
