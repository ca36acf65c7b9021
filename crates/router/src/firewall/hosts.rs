//! Host names in address lists: their current addresses are entries of the list.
//!
//! ```text
//! items ─▶ names ─▶ service::resolver ─▶ Ask ─▶ the forwarder (`feature/dns/`)
//!            └──── addresses ◀── Add, Remove ◀── Heard ◀──┘
//! ```
//! Each name is resolved once, however many entries contain it. An address of several names stays in a list until the
//! last name loses it.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use machine::{Duration, Instant, Machine as _};
use menu::{Change, Item, Store, Value};
use service::resolver::{Action, AddressTimes, Ask, Config, Event, Key, Resolution, Resolver};
use wire::dns::{Code, Kind, Question};

use super::value::bits;
use crate::feature::{Effect, Effects};
use crate::intent::{ItemId, Name};

/// Menu of DNS servers.
pub(crate) const DNS: &str = "/ip/dns";

/// Host names of both families.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    resolver: Resolver,
    families: [Family; 2],
    config: Config,
    /// Queries to send, and queries in progress.
    asks: VecDeque<Ask>,
    asked: BTreeMap<u64, Key>,
}

/// Host names in the lists of one family.
#[derive(Debug, Default)]
struct Family {
    items: BTreeMap<ItemId, Entry>,
    by_key: BTreeMap<Key, BTreeSet<ItemId>>,
    /// Number of entries that added an address to a list.
    put: BTreeMap<(Name, u128), u32>,
}

/// A list entry with a host name.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The list.
    pub(crate) list: Name,
    /// Host name, as configured.
    pub(crate) host: Box<str>,
    key: Key,
}

/// An address of an entry's host name.
#[derive(Debug)]
pub(crate) struct HostRow<'a> {
    /// The entry.
    pub(crate) item: ItemId,
    /// Contents of the entry.
    pub(crate) entry: &'a Entry,
    /// The address.
    pub(crate) address: IpAddr,
    /// When the name gained the address, when its TTL ends, and when it is removed.
    pub(crate) known: AddressTimes,
}

impl Hosts {
    /// Reads all entries of a family.
    pub(crate) fn load(
        &mut self,
        store: &Store,
        path: &str,
        ipv6: usize,
        now: Instant,
        out: &mut Effects,
    ) {
        let old: Vec<_> = self.families[ipv6].items.keys().copied().collect();
        for item in old {
            let left = self.leave(item, ipv6, out);
            self.unwatch(left, ipv6, now, out);
        }
        for item in store.items(path) {
            self.take(item, ipv6, now, out);
        }
    }

    /// Applies the change of an entry.
    pub(crate) fn follow(&mut self, change: &Change, ipv6: usize, now: Instant, out: &mut Effects) {
        let of = |item: &Item| entry(item, ipv6).map(|entry| (entry.list, entry.host));
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        if before.and_then(of) == after.and_then(of) {
            return;
        }
        // Known addresses of a name are kept while its entry changes.
        let left = self.leave(change.id.0, ipv6, out);
        if let Some(after) = after {
            self.take(after, ipv6, now, out);
        }
        self.unwatch(left, ipv6, now, out);
    }

    /// Applies the settings of the lifetime of answers.
    pub(crate) fn configure(&mut self, config: Config, now: Instant, out: &mut Effects) {
        self.config = config.clone();
        self.feed(Event::Configure(config), now, out);
    }

    /// Returns the additional time that addresses stay beyond the lifetime of their answers.
    pub(crate) fn extra(&self) -> Duration {
        self.config.extra
    }

    /// Handles changed DNS servers.
    pub(crate) fn retry(&mut self, now: Instant, out: &mut Effects) {
        self.feed(Event::OtherServers, now, out);
    }

    /// Handles the answer to a query.
    pub(crate) fn hear(&mut self, ticket: u64, message: &[u8], now: Instant, out: &mut Effects) {
        let Some(key) = self.asked.remove(&ticket) else {
            return;
        };
        let heard = heard(&key, message);
        self.feed(Event::Heard { ticket, heard }, now, out);
    }

    /// Handles due timers.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.resolver.tick(now, &mut actions);
        self.carry_out(actions, out);
    }

    /// Returns when `tick` is due next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.resolver.deadline().map(|(at, ())| at)
    }

    /// Returns the next query to send, with its ticket.
    pub(crate) fn take_ask(&mut self) -> Option<(u64, Question)> {
        while let Some(Ask { ticket, key }) = self.asks.pop_front() {
            if let Some(question) = question(&key) {
                self.asked.insert(ticket, key);
                return Some((ticket, question));
            }
        }
        None
    }

    /// Returns the addresses of all entries of a family.
    pub(crate) fn rows(&self, ipv6: bool) -> impl Iterator<Item = HostRow<'_>> {
        let items = self.families[usize::from(ipv6)].items.iter();
        items.flat_map(|(item, entry)| {
            let known = self.resolver.known(&entry.key);
            known.map(|(address, known)| HostRow {
                item: *item,
                entry,
                address,
                known,
            })
        })
    }

    fn take(&mut self, item: &Item, ipv6: usize, now: Instant, out: &mut Effects) {
        let Some(entry) = entry(item, ipv6) else {
            return;
        };
        let (id, key) = (item.id.0, entry.key.clone());
        let family = &mut self.families[ipv6];
        for (address, _) in self.resolver.known(&key) {
            family.enter(&entry.list, address, out);
        }
        family.by_key.entry(key.clone()).or_default().insert(id);
        family.items.insert(id, entry);
        self.feed(Event::Watch(key), now, out);
    }

    /// Removes the addresses of an entry from its list; returns the name.
    fn leave(&mut self, item: ItemId, ipv6: usize, out: &mut Effects) -> Option<Key> {
        let family = &mut self.families[ipv6];
        let Entry { key, list, .. } = family.items.remove(&item)?;
        for (address, _) in self.resolver.known(&key) {
            family.leave(&list, address, out);
        }
        if let Some(items) = family.by_key.get_mut(&key) {
            items.remove(&item);
        }
        Some(key)
    }

    /// Stops resolving a name without entries.
    fn unwatch(&mut self, key: Option<Key>, ipv6: usize, now: Instant, out: &mut Effects) {
        let by_key = &mut self.families[ipv6].by_key;
        if let Some(key) = key.filter(|key| by_key.get(key).is_some_and(BTreeSet::is_empty)) {
            by_key.remove(&key);
            self.feed(Event::Forget(key), now, out);
        }
    }

    fn feed(&mut self, event: Event, now: Instant, out: &mut Effects) {
        let mut actions = Vec::new();
        self.resolver.handle(event, now, &mut actions);
        self.carry_out(actions, out);
    }

    fn carry_out(&mut self, actions: Vec<Action>, out: &mut Effects) {
        for action in actions {
            match action {
                Action::Ask(ask) => self.asks.push_back(ask),
                Action::Add(key, address) => {
                    let ipv6 = usize::from(address.is_ipv6());
                    let family = &mut self.families[ipv6];
                    for list in family.lists_of(&key) {
                        family.enter(&list, address, out);
                    }
                }
                Action::Remove(key, address) => {
                    let ipv6 = usize::from(address.is_ipv6());
                    let family = &mut self.families[ipv6];
                    for list in family.lists_of(&key) {
                        family.leave(&list, address, out);
                    }
                }
            }
        }
    }
}

impl Family {
    /// Returns the lists of a name, once for each entry.
    fn lists_of(&self, key: &Key) -> Vec<Name> {
        let items = self.by_key.get(key).into_iter().flatten();
        let entries = items.filter_map(|item| self.items.get(item));
        entries.map(|entry| entry.list.clone()).collect()
    }

    fn enter(&mut self, list: &Name, address: IpAddr, out: &mut Effects) {
        let count = self.put.entry((list.clone(), bits(address))).or_default();
        *count += 1;
        if *count == 1 {
            out.push(entry_of(list, address, true));
        }
    }

    fn leave(&mut self, list: &Name, address: IpAddr, out: &mut Effects) {
        let key = (list.clone(), bits(address));
        let Some(count) = self.put.get_mut(&key) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.put.remove(&key);
            out.push(entry_of(list, address, false));
        }
    }
}

/// Returns the effect that adds an address to a list or removes it.
fn entry_of(list: &Name, address: IpAddr, comes: bool) -> Effect {
    Effect::ListEntry {
        ipv6: address.is_ipv6(),
        list: list.clone(),
        address: bits(address),
        comes,
    }
}

/// Reads the host name of an entry; `None` if the entry contains an address or is disabled.
fn entry(item: &Item, ipv6: usize) -> Option<Entry> {
    let Some(Value::Text(host)) = item.get("address") else {
        return None;
    };
    let kind = if ipv6 == 0 { Kind::A } else { Kind::Aaaa };
    let key = Key::new(host, kind).filter(|_| !item.is("disabled"))?;
    Some(Entry {
        list: Name::from(item.text("list")),
        host: host.clone(),
        key,
    })
}

/// Parses the answer for a name.
pub(crate) fn heard(key: &Key, message: &[u8]) -> Resolution {
    let question = question(key);
    let answer = { question.as_ref() }.and_then(|question| question.answer(message).ok());
    match answer.map(|answer| (answer.code, answer.addresses)) {
        Some((Code::NoError, addresses)) => Resolution::Addresses(addresses.collect()),
        Some((Code::NoName, _)) => Resolution::NoName,
        Some((Code::Other(_), _)) | None => Resolution::Silent,
    }
}

/// Returns the query for the addresses of a name. The router itself answers it.
pub(crate) fn question(key: &Key) -> Option<Question> {
    Some(Question {
        id: 0,
        name: key.name()?,
        kind: key.kind(),
    })
}

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;
    use dataplane::rule::List;

    use script::Session;
    use service::dns::{QueryResult, Transport};

    use super::*;
    use crate::Instance;
    use crate::drive::Setup;

    /// A router after these commands, and its queries.
    struct Bench {
        router: Instance,
        now: Instant,
    }

    impl Bench {
        fn new(configuration: &str) -> Self {
            let (router, _) = Instance::new(&Setup::offline(menu::Clock::utc(0)), schema::store())
                .expect("a small pool");
            let mut bench = Self {
                router,
                now: Instant::ZERO,
            };
            let server = SocketAddr::from(([192, 0, 2, 53], 53));
            bench.router.set_machine_servers(vec![server]);
            bench.run(configuration);
            bench
        }

        fn run(&mut self, line: &str) -> String {
            let mut out = String::new();
            let done = self.router.run(&mut Session::new("admin"), line, &mut out);
            done.unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
            out
        }

        fn pass(&mut self, seconds: u64) {
            let end = self.now + Duration::from_secs(seconds);
            while let Some(at) = self.router.deadline().filter(|at| *at <= end) {
                self.now = self.now.max(at);
                self.router.poll(self.now);
            }
            self.now = end;
            self.router.poll(end);
        }

        /// Answers all queries: IPv4 with these addresses, IPv6 with `2001:db8::` and the last bytes.
        fn answer(&mut self, addresses: &[(&str, u8)]) -> usize {
            let asks = self.router.control().take_asks();
            for ask in &asks {
                assert!(
                    matches!(ask.way, Transport::Datagram(server) if server.address.port() == 53)
                );
                let end = ask.message.len() - 11;
                let asked = &ask.message[12..end - 4];
                let mut message = ask.message[..end].to_vec();
                message[2..4].copy_from_slice(&[0x81, 0x80]);
                message[11] = 0;
                for (host, last) in addresses {
                    let host = wire::dns::Name::new(host).expect("a name");
                    if !host.as_bytes().eq_ignore_ascii_case(asked) {
                        continue;
                    }
                    message[7] += 1;
                    let data = match message[end - 3] {
                        1 => vec![10, 0, 0, *last],
                        _ => (0x2001_0db8_u128 << 96 | u128::from(*last))
                            .to_be_bytes()
                            .to_vec(),
                    };
                    let kind = message[end - 3];
                    message.extend([0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
                    message.extend(data);
                }
                let told = QueryResult::Message(message);
                self.router.control().told_name(ask.ticket, told);
            }
            asks.len()
        }

        fn list(&mut self, name: &str, ipv6: bool) -> std::sync::Arc<List> {
            let firewall = &self.router.control().firewall;
            let mut lists = firewall.address_lists(ipv6);
            let list = lists.find(|(own, _)| &***own == name).expect("a list").1;
            list.clone()
        }

        /// Returns the last bytes of the addresses in a list.
        fn has(&mut self, name: &str) -> Vec<u8> {
            let (list, now) = (self.list(name, false), self.now);
            let base = u128::from(u32::from_be_bytes([10, 0, 0, 0]));
            let has = (0..=255_u8).filter(|last| list.has(base + u128::from(*last), now));
            has.collect()
        }
    }

    #[test]
    fn addresses_of_names_stay_in_lists_while_an_entry_has_them() {
        let mut bench = Bench::new(
            "/ip firewall address-list\n\
             add list=x address=a.example\nadd list=x address=b.example\n\
             add list=y address=A.Example\nadd list=x address=10.0.0.9\n\
             add list=x address=off.example disabled=yes\n\
             /ipv6 firewall address-list add list=x address=a.example",
        );
        // One query for each name and record type.
        assert_eq!(
            bench.answer(&[("a.example", 1), ("a.example", 2), ("b.example", 2)]),
            3
        );

        assert_eq!(
            (bench.has("x"), bench.has("y")),
            (vec![1, 2, 9], vec![1, 2])
        );
        let six = 0x2001_0db8_u128 << 96 | 2;
        assert!(bench.list("x", true).has(six, bench.now));
        let shown = ":foreach e in=[/ip firewall address-list find where dynamic list=x] do={\
                     :put ([/ip firewall address-list get $e address].\" \".\
                     [/ip firewall address-list get $e comment])}";
        assert_eq!(
            bench.run(shown),
            "10.0.0.1 a.example\n10.0.0.2 a.example\n10.0.0.2 b.example\n"
        );
        // The 60 seconds of the answer, and the time that the next query may take.
        let lasts = |bench: &mut Bench, time: &str| {
            let which = format!("address=10.0.0.1 list=y timeout={time}");
            bench.run(&format!(
                ":put [:len [/ip firewall address-list find where {which}]]"
            ))
        };
        assert_eq!(lasts(&mut bench, "1m10s"), "1\n");
        bench.pass(7);
        assert_eq!(lasts(&mut bench, "1m3s"), "1\n");

        bench
            .run("/ip firewall address-list remove [find where address=a.example list=x !dynamic]");
        assert_eq!((bench.has("x"), bench.has("y")), (vec![2, 9], vec![1, 2]));
        // Another list gets the known addresses at once.
        bench.run("/ip firewall address-list set [find where address=b.example] list=z");
        assert_eq!((bench.has("x"), bench.has("z")), (vec![9], vec![2]));
        bench.run("/ip firewall address-list set [find where list=y !dynamic] disabled=yes");
        assert_eq!(bench.has("y"), []);
        let export = bench.run("/ip firewall address-list export terse");
        assert!(
            !export.contains("address=10.0.0.2") && export.contains("b.example"),
            "{export}"
        );
    }

    #[test]
    fn a_list_follows_the_answers_of_its_names() {
        let mut bench = Bench::new(
            "/ip dns set address-list-extra-time=20s\n\
             /ip firewall address-list add list=x address=a.example",
        );
        assert_eq!(bench.answer(&[("a.example", 1)]), 1);
        bench.pass(59);
        assert_eq!(bench.answer(&[]), 0, "it is not time");
        bench.pass(1);
        assert_eq!(bench.answer(&[("a.example", 2)]), 1);

        assert_eq!(bench.has("x"), [1, 2]);
        bench.pass(20);
        assert_eq!(bench.has("x"), [2]);

        let mut out = String::new();
        let remove = "/ip firewall address-list remove [find where dynamic]";
        let refused = bench
            .router
            .run(&mut Session::new("admin"), remove, &mut out);
        let refusal = refused
            .expect_err("the name would bring it back")
            .to_string();
        assert!(
            refusal.contains("is removed with the name's entry"),
            "{refusal}"
        );
        assert_eq!(bench.has("x"), [2]);
    }
}
