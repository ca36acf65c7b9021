//! `/ip/dns/adlist`: lists of blocked names. The owner reads and fetches the lists and returns
//! hashes of their names.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machine::{Duration, Instant};
use menu::{Changes, Item, Row};
use service::dns::{Event, HashKey, List, NAMES_MAX};

use super::{ADLIST, Dns};
use crate::feature::{Effects, View, each_item};
use crate::intent::ItemId;
use crate::live::number;

/// Interval of list updates (RouterOS).
const EVERY: Duration = Duration::from_secs(4 * 3600);
/// Maximum number of names per list: a quarter of the limit for all lists.
const NAMES: usize = NAMES_MAX / 4;

/// Location of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdSource {
    /// Name of a file of the router.
    File(Arc<str>),
    /// URL, and whether the server's certificate is verified.
    Url(Arc<str>, bool),
}

/// A list that the owner must read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdList {
    /// Id of its item.
    pub id: u64,
    /// Number of this update.
    pub round: u64,
    /// Location of the list.
    pub source: AdSource,
    /// Key of the name hashes.
    pub key: HashKey,
    /// Maximum number of names.
    pub most: usize,
}

/// The configured lists.
#[derive(Debug, Default)]
pub(super) struct AdLists {
    lists: BTreeMap<ItemId, (AdSource, u64)>,
    pub(super) wanted: VecDeque<AdList>,
    /// Time of the next update of all lists.
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
    /// Applies changes of the configured lists.
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

    /// Requests an update of all lists.
    pub(super) fn reload_lists(&mut self, now: Instant) {
        self.adlists.next = None;
        let ids: Vec<_> = self.adlists.lists.keys().copied().collect();
        for id in ids {
            self.want_list(id, now);
        }
    }

    /// Stores a list that was read, unless a newer update was requested.
    pub(crate) fn told_list(
        &mut self,
        id: u64,
        round: u64,
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
                        format!("adlist {name}: it has more names than supported"),
                    );
                }
                out.log("dns,info", format!("adlist {name}: {} names", list.len()));
                self.feed(Event::Unwanted(id, Some(list)), now, out);
            }
            // A failed update keeps the present names.
            Err(error) => out.log("dns,error", format!("adlist {name}: {error}")),
        }
    }

    /// Returns the requested list updates, each once.
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
