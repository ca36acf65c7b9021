//! `/ip/dns/adlist`: lists of unwanted names. The owner reads and fetches them; only hashes come back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machine::{Duration, Instant};
use menu::{Changes, Item, Row};
use service::dns::{Event, HashKey, List, NAMES_MAX};

use super::{ADLIST, Dns};
use crate::feature::{Effects, View, each_item};
use crate::intent::ItemId;
use crate::live::number;

/// RouterOS: how often lists are looked at.
const EVERY: Duration = Duration::from_secs(4 * 3600);
/// What a name costs, in bytes: lists have no more than a quarter of the memory that may be for all of them.
const NAMES: usize = NAMES_MAX / 4;

/// Where a list is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdSource {
    /// In a file of the router.
    File(Arc<str>),
    /// Elsewhere, and whether the server's certificate is checked.
    Url(Arc<str>, bool),
}

/// A list that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdList {
    /// Its item.
    pub id: u64,
    /// Which of its readings this is.
    pub round: u64,
    /// Where it is.
    pub source: AdSource,
    /// The key of its hashes.
    pub key: HashKey,
    /// Most names of it.
    pub most: usize,
}

/// The lists of the configuration.
#[derive(Debug, Default)]
pub(super) struct AdLists {
    lists: BTreeMap<ItemId, (AdSource, u64)>,
    pub(super) wanted: VecDeque<AdList>,
    /// When they are read anew.
    pub(super) next: Option<Instant>,
    rounds: u64,
}

fn source(item: &Item) -> Option<AdSource> {
    let text = |name: &str| Some(item.text(name)).filter(|text| !text.is_empty());
    let url = text("url").map(|url| AdSource::Url(url.into(), item.is("ssl-verify")));
    let source = url.or_else(|| Some(AdSource::File(text("file")?.into())));
    source.filter(|_| !item.is("disabled"))
}

impl Dns {
    /// Takes over the lists of the configuration.
    pub(super) fn follow_lists(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut Effects,
    ) {
        if changes.is_none() {
            let known: Vec<_> = self.adlists.lists.keys().copied().collect();
            for id in known {
                self.take_list(id, None, view.now, out);
            }
        }
        let mut all = Vec::new();
        each_item(view, ADLIST, changes, |id, item| {
            all.push((id, item.and_then(source)))
        });
        for (id, source) in all {
            self.take_list(id, source, view.now, out);
        }
    }

    fn take_list(&mut self, id: ItemId, source: Option<AdSource>, now: Instant, out: &mut Effects) {
        let known = self.adlists.lists.get(&id).map(|(source, _)| source);
        if known == source.as_ref() {
            return;
        }
        self.adlists.lists.remove(&id);
        self.feed(Event::Unwanted(id, None), now, out);
        if let Some(source) = source {
            self.adlists.lists.insert(id, (source, 0));
            self.want_list(id, now);
        }
    }

    fn want_list(&mut self, id: ItemId, now: Instant) {
        let key = self.forwarder.hash_key();
        let lists = &mut self.adlists;
        lists.rounds += 1;
        let round = lists.rounds;
        if let Some((source, own)) = lists.lists.get_mut(&id) {
            *own = round;
            lists.wanted.retain(|wanted| wanted.id != id);
            lists.wanted.push_back(AdList {
                id,
                round,
                source: source.clone(),
                key,
                most: NAMES,
            });
            lists.next.get_or_insert(now + EVERY);
        }
    }

    /// Has all lists read anew.
    pub(super) fn reload_lists(&mut self, now: Instant) {
        self.adlists.next = None;
        let ids: Vec<_> = self.adlists.lists.keys().copied().collect();
        for id in ids {
            self.want_list(id, now);
        }
    }

    /// Takes a list that was read, if it is still wanted.
    pub(crate) fn told_list(
        &mut self,
        (id, round): (u64, u64),
        list: Result<List, String>,
        now: Instant,
        out: &mut Effects,
    ) {
        let known = self.adlists.lists.get(&id);
        let Some((source, _)) = known.filter(|(_, own)| *own == round) else {
            return;
        };
        let (AdSource::File(name) | AdSource::Url(name, _)) = source;
        let name = Arc::clone(name);
        match list {
            Ok(list) => {
                if list.len() >= NAMES {
                    out.log(
                        "dns,warning",
                        format!("adlist {name}: it has more names than there is room for"),
                    );
                }
                out.log("dns,info", format!("adlist {name}: {} names", list.len()));
                self.feed(Event::Unwanted(id, Some(list)), now, out);
            }
            // What was known of it stays.
            Err(error) => out.log("dns,error", format!("adlist {name}: {error}")),
        }
    }

    /// The lists that are to be read, each once.
    pub(crate) fn take_lists(&mut self) -> Vec<AdList> {
        self.adlists.wanted.drain(..).collect()
    }

    pub(super) fn annotate_list(&self, id: ItemId, row: &mut Row) {
        if let Some((names, met)) = self.forwarder.unwanted(id) {
            row.set("name-count", number(names as u64));
            row.set("match-count", number(met));
        }
    }
}
