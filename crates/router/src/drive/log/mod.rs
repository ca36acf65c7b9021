//! The log: passes entries to the actions that the rules of `/system/logging` select.
//!
//! ```text
//! add ─▶ rules ─┬▶ memory: the last entries of each action, which `/log` shows
//!               ├▶ disk:   lines for files, which control appends periodically
//!               ├▶ remote: datagrams of syslog, which the binary sends
//!               ├▶ email:  lines, which the feature for mail makes a mail of
//!               └▶ echo:   entries for consoles
//!     └▶ the program's own log, whatever the rules are
//! ```
//!
//! No call blocks, and all queues are bounded.

mod disk;
mod remote;
mod rule;

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use menu::{Clock, Id, Store};

pub use remote::{Carrier, Datagram};

use disk::Disk;
use remote::Remote;
use rule::{Action, Rule, Target};

use crate::clock::DayClock;

/// Maximum number of entries in a queue.
const WAITING: usize = 1_000;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Sequence number, from 1.
    pub number: u64,
    /// Time of the entry.
    pub at: Clock,
    /// Topics, separated by commas, with RouterOS's names.
    pub topics: Cow<'static, str>,
    /// Text of the entry.
    pub message: String,
}

/// Entries to send by mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogMail {
    pub(crate) to: Vec<String>,
    pub(crate) copies: Vec<String>,
    pub(crate) starttls: bool,
    pub(crate) lines: VecDeque<String>,
}

/// The log.
#[derive(Debug)]
pub struct Log {
    rules: Vec<Rule>,
    actions: BTreeMap<Id, Action>,
    memory: BTreeMap<Id, VecDeque<Entry>>,
    disks: BTreeMap<Id, Disk>,
    datagrams: VecDeque<Datagram>,
    /// Entries to send by mail, by action.
    mails: BTreeMap<Id, LogMail>,
    /// Addresses of log servers that are configured by name.
    servers: BTreeMap<Arc<str>, Option<IpAddr>>,
    /// Entries for the program's own log.
    fresh: VecDeque<Entry>,
    /// The latest entries for consoles.
    echoes: VecDeque<Entry>,
    last: u64,
    /// Entries from before the configuration was read; `None` afterwards.
    early: Option<Vec<Entry>>,
    name: String,
    /// Time of day of the entries.
    clock: DayClock,
}

impl Log {
    /// Creates a log that queues entries until the first configuration.
    pub fn new(clock: DayClock) -> Self {
        Self {
            rules: Vec::new(),
            actions: BTreeMap::new(),
            memory: BTreeMap::new(),
            disks: BTreeMap::new(),
            datagrams: VecDeque::new(),
            mails: BTreeMap::new(),
            servers: BTreeMap::new(),
            fresh: VecDeque::new(),
            echoes: VecDeque::new(),
            last: 0,
            early: Some(Vec::new()),
            name: String::new(),
            clock,
        }
    }

    /// Applies the logging configuration. Actions that still exist keep their entries.
    pub(crate) fn follow(&mut self, store: &Store) {
        self.actions = rule::actions(store);
        self.rules = rule::rules(store, &self.actions);
        let identity = store.settings("/system/identity");
        self.name = identity.map_or_else(String::new, |item| item.text("name").to_owned());
        let actions = &self.actions;
        self.memory.retain(|id, _| actions.contains_key(id));
        self.disks.retain(|id, _| actions.contains_key(id));
        self.mails.retain(|id, _| actions.contains_key(id));
        for entry in self.early.take().unwrap_or_default() {
            self.deliver(&entry);
        }
    }

    /// Returns changes in the set of servers that are configured by name: true for a name to resolve, false for a name
    /// that is no longer needed.
    pub(crate) fn follow_names(&mut self) -> Vec<(Arc<str>, bool)> {
        let wanted = rule::server_names(&self.actions);
        let gone = { self.servers.keys() }.filter(|name| !wanted.contains(*name));
        let new = wanted
            .iter()
            .filter(|name| !self.servers.contains_key(*name));
        let gone = gone.map(|name| (Arc::clone(name), false));
        let new = new.map(|name| (Arc::clone(name), true));
        let others: Vec<_> = gone.chain(new).collect();
        for (name, on) in &others {
            match on {
                true => drop(self.servers.insert(Arc::clone(name), None)),
                false => drop(self.servers.remove(name)),
            }
        }
        others
    }

    /// Sets the resolved address of a server.
    pub(crate) fn resolved(&mut self, name: &str, address: Option<IpAddr>) {
        if let Some(known) = self.servers.get_mut(name) {
            *known = address;
        }
    }

    /// Adds an entry.
    pub fn add(&mut self, topics: impl Into<Cow<'static, str>>, message: impl Into<String>) {
        let entry = Entry {
            number: self.next(),
            at: self.clock.now(),
            topics: topics.into(),
            message: menu::without_error_numbers(message),
        };
        push(&mut self.fresh, entry.clone());
        match &mut self.early {
            Some(early) if early.len() < WAITING => early.push(entry),
            Some(_) => {}
            None => self.deliver(&entry),
        }
    }

    /// Adds several entries.
    pub fn add_all(&mut self, lines: Vec<(&'static str, String)>) {
        for (topics, message) in lines {
            self.add(topics, message);
        }
    }

    /// All entries in memory, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        let mut all: Vec<_> = self.memory.values().flatten().collect();
        // The entries of one action are in order.
        if self.memory.len() > 1 {
            all.sort_by_key(|entry| entry.number);
        }
        all.into_iter()
    }

    /// Returns the entries since the last call.
    pub fn take_new(&mut self) -> Vec<Entry> {
        self.fresh.drain(..).collect()
    }

    /// The number of the last entry.
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Returns the entries for consoles after this number.
    pub fn echoes(&self, after: u64) -> impl Iterator<Item = &Entry> {
        self.echoes.iter().filter(move |entry| entry.number > after)
    }

    /// Returns the datagrams for servers since the last call.
    pub fn take_datagrams(&mut self) -> Vec<Datagram> {
        self.datagrams.drain(..).collect()
    }

    /// Returns the entries to send by mail: one mail per action.
    pub(crate) fn take_mails(&mut self) -> Vec<LogMail> {
        core::mem::take(&mut self.mails).into_values().collect()
    }

    /// Removes the entries of an action from memory.
    pub(crate) fn clear(&mut self, action: &str) {
        let named = self.actions.iter().filter(|(_, a)| a.name == action);
        for (id, _) in named {
            self.memory.remove(id);
        }
    }

    /// Appends queued lines to the files of disk actions.
    pub(crate) fn write(&mut self, files: &mut crate::files::Files) {
        for disk in self.disks.values_mut() {
            disk.write(files);
        }
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Passes an entry to the actions of all matching rules.
    fn deliver(&mut self, entry: &Entry) {
        let rules = std::mem::take(&mut self.rules);
        for rule in rules.iter().filter(|rule| rule.takes(entry)) {
            let entry = Entry {
                number: self.next(),
                message: rule.prefixed(&entry.message),
                ..entry.clone()
            };
            self.carry_out(rule.action, entry);
        }
        self.rules = rules;
    }

    fn carry_out(&mut self, id: Id, entry: Entry) {
        let Some(action) = self.actions.get(&id) else {
            return;
        };
        match &action.target {
            Target::Memory { lines, stop } => {
                let kept = self.memory.entry(id).or_default();
                if *stop && kept.len() >= *lines {
                    return;
                }
                kept.push_back(entry);
                let over = kept.len().saturating_sub(*lines);
                kept.drain(..over);
            }
            Target::Disk(config) => {
                let disk = self.disks.entry(id).or_default();
                disk.add(config, &entry);
            }
            Target::Remote(remote) => {
                let bytes = remote.message(&entry, &self.name);
                let Remote {
                    port,
                    source,
                    carrier,
                    ..
                } = *remote;
                let known = |name: &Arc<str>| self.servers.get(name).copied().flatten();
                let to = remote.to.as_ref().map_or_else(known, |to| Some(*to));
                // Entries are lost until the server's name is resolved.
                let Some(to) = to else { return };
                let datagram = Datagram {
                    to,
                    name: Arc::clone(&remote.name),
                    port,
                    source,
                    carrier,
                    bytes,
                };
                push(&mut self.datagrams, datagram);
            }
            Target::Mail {
                to,
                copies,
                starttls,
            } => {
                // An entry about mails would trigger the next mail.
                if entry.topics.split(',').any(|topic| topic == "e-mail") {
                    return;
                }
                let mail = self.mails.entry(id).or_insert_with(|| LogMail {
                    to: to.clone(),
                    copies: copies.clone(),
                    starttls: *starttls,
                    lines: VecDeque::new(),
                });
                let (time, topics) = (entry.at.date_time(), menu::visible(&entry.topics));
                let line = format!("{time} {topics} {}", menu::visible(&entry.message));
                push(&mut mail.lines, line);
            }
            Target::Echo => push(&mut self.echoes, entry),
            Target::Other => {}
        }
    }
}

fn push<T>(queue: &mut VecDeque<T>, one: T) {
    if queue.len() >= WAITING {
        queue.pop_front();
    }
    queue.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;
    use script::Session;

    fn log(configuration: &str) -> Log {
        let mut store = schema::store();
        let (mut session, mut out) = (Session::new("admin"), String::new());
        let live = &mut menu::Offline;
        script::run(&mut store, live, &mut session, configuration, &mut out)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        let mut log = Log::new(DayClock::new(Clock::utc(0)));
        log.add("system,info", "early");
        log.follow(&store);
        log
    }

    fn messages(log: &Log) -> Vec<&str> {
        log.entries().map(|entry| &*entry.message).collect()
    }

    #[test]
    fn the_log_keeps_the_last_entries_and_returns_new_ones_once() {
        let mut log = log("");
        assert_eq!(messages(&log), ["early"]);
        (0..1_005).for_each(|n| log.add("system,info", format!("entry {n}")));

        assert_eq!(log.entries().count(), 1_000);
        assert_eq!(log.take_new().len(), WAITING);
        log.add("system,error", "one more");
        let new = log.take_new();
        assert_eq!((new.len(), &*new[0].topics), (1, "system,error"));
    }

    #[test]
    fn rules_select_entries_their_action_and_their_prefix() {
        let mut log = log(
            "/system logging action add name=few target=memory memory-lines=2\n\
             /system logging add topics=script,!debug action=few prefix=S regex=\"^[a-y]\"\n\
             /system logging set [find topics=info] disabled=yes",
        );

        log.add("system,info", "nobody wants it");
        log.add("system,warning", "kept as it is");
        for word in ["first", "second", "third", "zebra"] {
            log.add("script,info", word);
        }
        log.add("script,debug", "not this");

        assert_eq!(messages(&log), ["kept as it is", "S: second", "S: third"]);
        log.clear("few");
        assert_eq!(messages(&log), ["kept as it is"]);
    }

    #[test]
    fn each_console_shows_critical_entries_once() {
        let mut log = log("");
        log.add("system,info", "not for them");
        log.add("system,error,critical", "first");
        let heard = log.last();
        log.add("system,error,critical", "second");

        let all: Vec<_> = log.echoes(0).map(|entry| &*entry.message).collect();
        assert_eq!(all, ["first", "second"]);
        assert_eq!(log.echoes(heard).count(), 1);
        assert_eq!(log.echoes(log.last()).count(), 0);
    }

    #[test]
    fn a_full_memory_with_stop_on_full_keeps_the_oldest_entries() {
        let mut log =
            log("/system logging action set memory memory-lines=2 memory-stop-on-full=yes");
        log.add("system,info", "second");
        log.add("system,info", "third");

        assert_eq!(messages(&log), ["early", "second"]);
    }
}
