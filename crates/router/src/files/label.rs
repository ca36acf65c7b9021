//! Labels of files: owner and secrecy of each file that a user wrote.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use menu::{Caller, Policies, Reason};

use super::Entry;

/// Owner of files that the router writes by itself. RouterOS: the user who runs scripts of netwatch and similar
/// triggers.
pub(crate) const SYSTEM: &str = "*sys";

/// Maximum bytes and files of a user without the policy to manage users.
const USER_BYTES: u64 = 64 << 20;
const USER_COUNT: usize = 250;

/// User of the current command.
#[derive(Clone, Debug)]
pub(super) struct Actor {
    user: String,
    policies: Policies,
}

impl Actor {
    pub(super) fn new(caller: &Caller<'_>) -> Self {
        Self {
            user: caller.user.to_owned(),
            policies: caller.policies,
        }
    }

    /// Returns the label of a file that this user writes. The files of users with policy `sensitive` count as secret,
    /// except `plain` ones.
    pub(super) fn label(&self, plain: bool) -> Label {
        Label {
            owner: self.user.replace(char::is_control, "?"),
            secret: !plain && self.policies.contains(Policies::SENSITIVE),
        }
    }

    /// Whether the user may read a file with this label.
    pub(super) fn may_read(&self, label: Option<&Label>, entry: &Entry) -> bool {
        let secret = match label {
            Some(label) => label.secret,
            // Files without a label may be scripts or backups that contain secrets.
            None => ["script", "backup"].contains(&entry.kind().as_str()),
        };
        !secret || self.policies.contains(Policies::SENSITIVE)
    }

    /// Whether the user may replace, rename or remove a file with this label.
    pub(super) fn may_change(&self, label: Option<&Label>) -> bool {
        match label {
            Some(label) if label.owner == self.label(true).owner => true,
            Some(label) if label.owner == SYSTEM => self.policies.contains(Policies::WRITE),
            Some(_) => self.policies.contains(Policies::POLICY),
            None => self.policies.contains(Policies::WRITE),
        }
    }

    /// Whether another file of this size fits into the user's share, beside the given files.
    pub(super) fn share<'a>(
        &self,
        labels: &Labels,
        others: impl Iterator<Item = &'a Entry>,
        bytes: u64,
    ) -> Result<(), Reason> {
        if self.policies.contains(Policies::POLICY) {
            return Ok(());
        }
        let owner = self.label(true).owner;
        let own = others.filter(|e| labels.get(&e.name).is_some_and(|l| l.owner == owner));
        let (count, sum) = own.fold((1, bytes), |(count, sum), e| (count + 1, sum + e.bytes));
        match count > USER_COUNT || sum > USER_BYTES {
            true => Err(Reason::failure("not enough space: your share is used up")),
            false => Ok(()),
        }
    }
}

/// Label of a file that a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) owner: String,
    /// Whether the file may contain secrets.
    pub(super) secret: bool,
}

impl Label {
    /// Label of files that the router writes by itself: logs and captured packets.
    pub(super) fn of_system() -> Self {
        Self {
            owner: SYSTEM.to_owned(),
            secret: false,
        }
    }
}

/// Labels by file name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Labels(BTreeMap<String, Label>);

impl Labels {
    /// Parses the output of [`Self::to_text`]; skips invalid lines.
    pub(super) fn read(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| {
            let mut words = line.splitn(3, '\t');
            let secret = words.next()? != "open";
            let owner = words.next()?.to_owned();
            Some((words.next()?.to_owned(), Label { owner, secret }))
        });
        Self(lines.collect())
    }

    /// Formats one line per file: secrecy, owner, name.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, Label { owner, secret }) in &self.0 {
            let kind = if *secret { "secret" } else { "open" };
            // Writing to a string does not fail.
            let _ = writeln!(text, "{kind}\t{owner}\t{name}");
        }
        text
    }

    pub(super) fn get(&self, name: &str) -> Option<&Label> {
        self.0.get(name)
    }

    /// Sets the label of a file; returns true if the label changed.
    pub(super) fn set(&mut self, name: &str, label: Label) -> bool {
        self.0.get(name) != Some(&label) && {
            self.0.insert(name.to_owned(), label);
            true
        }
    }

    /// Copies the labels of a file or folder to another name; returns whether there are any.
    pub(super) fn copy(&mut self, from: &str, to: &str) -> bool {
        let copies = self.at(from).map(|(name, label)| {
            let rest = name.strip_prefix(from).unwrap_or_default();
            (format!("{to}{rest}"), label.clone())
        });
        let copies: Vec<_> = copies.collect();
        let any = !copies.is_empty();
        self.0.extend(copies);
        any
    }

    /// Removes the labels of a file or folder; returns whether there were any.
    pub(super) fn forget(&mut self, name: &str) -> bool {
        let names: Vec<_> = self.at(name).map(|(name, _)| name.clone()).collect();
        names.iter().for_each(|name| _ = self.0.remove(name));
        !names.is_empty()
    }

    /// Removes labels of files that no longer exist.
    pub(super) fn retain(&mut self, list: &[Entry]) {
        let there = |name: &String| list.binary_search_by(|e| e.name.cmp(name)).is_ok();
        self.0.retain(|name, _| there(name));
    }

    fn at<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a String, &'a Label)> {
        let inside =
            move |other: &str| other.strip_prefix(name).is_some_and(|r| r.starts_with('/'));
        let all = self.0.range(name.to_owned()..);
        all.take_while(move |(other, _)| other.starts_with(name))
            .filter(move |(other, _)| *other == name || inside(other))
    }
}
