mod assembly;
mod invalid;
mod link;
mod lists;

use std::collections::BTreeMap;

use dataplane::nat;
use dataplane::packet::Fields;
use dataplane::rule::{
    self, Action, Chain, List, Match, Matcher, Nothing, State, Subject, Table, Verdict, Watch,
    Worker,
};
use machine::Instant;
use menu::{Offline, Store};
use script::Session;

use super::*;
use crate::compile::{Layout, LayoutInputs, Numbers};
use crate::object::DYNAMIC;

/// A configuration on the ports `ether1` and `ether2`, and its firewall.
struct Bench {
    store: Store,
    intent: Intent,
    layout: Layout,
    numbers: Numbers,
    tables: BTreeMap<Name, u16>,
    firewall: Firewall,
    counters: Arc<RuleCounters>,
}

impl Bench {
    fn new(configuration: &str) -> Self {
        let mut store = schema::store();
        let mark = store.begin();
        for name in ["ether1", "ether2"] {
            store.ensure_port(name, None).expect("a port's name");
        }
        store.commit(mark).expect("no journal");
        let counters = Arc::new(RuleCounters::default());
        let mut bench = Self {
            store,
            intent: Intent::default(),
            layout: Layout::default(),
            numbers: Numbers::default(),
            tables: BTreeMap::from([(Name::from("main"), 0)]),
            firewall: Firewall::new(vec![Arc::clone(&counters)]),
            counters,
        };
        bench.import(configuration);
        bench.lay_out();
        let around = bench.around();
        let mut firewall = Firewall::new(vec![Arc::clone(&bench.counters)]);
        firewall.load(&bench.store, &around);
        bench.firewall = firewall;
        bench
    }

    fn import(&mut self, text: &str) {
        let (mut session, mut out) = (Session::new("admin"), String::new());
        script::import(&mut self.store, &mut Offline, &mut session, text, &mut out)
            .expect("a configuration that imports");
    }

    fn lay_out(&mut self) {
        self.intent = crate::features::intent(&self.store);
        let ports = BTreeMap::new();
        let ground = LayoutInputs::without_host_plane(&self.intent, &ports);
        self.layout = Layout::new(&ground, &mut self.numbers);
        for (item, table) in &self.intent.tables {
            let number = self.numbers.table(*item).expect("room for a table");
            self.tables.insert(table.name.clone(), number);
        }
    }

    fn around(&self) -> Around<'_> {
        Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: Instant::ZERO,
        }
    }

    /// Runs a command as a transaction, and applies its changes to the firewall.
    fn change(&mut self, text: &str) -> bool {
        let mut follower = Follower::default();
        let (session, out) = (&mut Session::new("admin"), &mut String::new());
        let imported = script::import(&mut self.store, &mut follower, session, text, out);
        imported.expect("a configuration that imports");
        self.lay_out();
        let around = Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: Instant::ZERO,
        };
        let all = self.firewall.everything(&around);
        self.firewall.lay_out(&around, all, false);
        let each = { follower.0.iter() }
            .map(|changes| self.firewall.follow(&self.store, changes, &around));
        each.fold(false, |before, one| before | one)
    }

    /// Applies rules of features; returns whether workers must be told.
    fn follow_made(&mut self) -> bool {
        let around = Around {
            intent: &self.intent,
            layout: &self.layout,
            tables: &self.tables,
            now: Instant::ZERO,
        };
        self.firewall.follow_made(&around)
    }

    fn item(&self, path: &str, place: usize) -> u64 {
        self.store.items(path).nth(place).expect("an item").id.0
    }

    fn class(&self, name: &str) -> Class {
        self.firewall.class(self.layout.by_name[name])
    }

    /// Returns the verdict on a TCP packet from port 5000 to this port in a chain.
    fn verdict(&self, table: &Table, chain: &str, asked: &Asked<'_>) -> Verdict {
        let bytes = asked.packet();
        let fields = Fields::of(&bytes);
        let mut subject = Subject::new(&fields, &bytes, self.class(asked.ingress));
        subject.state = asked.state;
        let mut worker = Worker::new(Arc::clone(&self.counters), 1);
        let id = table.find(chain).expect("a chain");
        rule::run(table, id, &mut subject, &Nothing, &mut worker, &mut Quiet)
    }
}

/// Collects the changes of transactions.
#[derive(Default)]
struct Follower(Vec<Changes>);

impl tool::Router for Follower {}

impl menu::Live for Follower {
    fn clock(&self) -> menu::Clock {
        menu::Clock::utc(0)
    }

    fn changed(&mut self, _store: &Store, changes: &Changes) {
        self.0.push(changes.clone());
    }
}

struct Asked<'a> {
    ingress: &'a str,
    source: [u8; 4],
    port: u16,
    state: State,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            ingress: "ether1",
            source: [192, 0, 2, 1],
            port: 80,
            state: State::New,
        }
    }
}

impl Asked<'_> {
    fn packet(&self) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
        packet.extend(self.source);
        packet.extend([10, 0, 0, 1]);
        packet.extend(5000_u16.to_be_bytes());
        packet.extend(self.port.to_be_bytes());
        packet.extend([0; 16]);
        packet[33] = 2;
        packet
    }
}

struct Quiet;

impl Watch for Quiet {
    const COMMITS: bool = true;

    fn tried(&mut self, _: &Chain, _: &rule::Rule, _: Option<&Matcher>, _: &Subject<'_>) {}
    fn log(&mut self, _: &Chain, _: &rule::Rule, _: &Subject<'_>) {}
    fn sniff(&mut self, _: &rule::Rule, _: &Subject<'_>) {}
    fn keep(&mut self, _: &List, _: u128, _: bool) {}
}

const FILTER: &str = "/ip/firewall/filter";

fn is_drop(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Drop(_))
}

#[test]
fn the_lists_and_chains_of_a_configuration_decide_about_packets() {
    let bench = Bench::new(
        "/interface list add name=LAN\n\
         /interface list member add list=LAN interface=ether2\n\
         /ip firewall address-list add list=bad address=192.0.2.0/24\n\
         /ip firewall filter\n\
         add chain=input action=jump jump-target=outside in-interface-list=!LAN\n\
         add chain=outside action=accept protocol=tcp dst-port=22,80-90 src-address-list=!bad\n\
         add chain=outside action=drop\n",
    );
    let filter = &bench.firewall.compiled().ipv4.filter;
    let verdict = |asked: Asked<'_>| bench.verdict(filter, "input", &asked);

    assert!(is_drop(verdict(Asked::default())));
    let good = [198, 51, 100, 1];
    let from = |source| Asked {
        source,
        ..Asked::default()
    };
    // The data plane itself searches the configured entries of the list.
    let _ = verdict(from(good));
    let inside = Asked {
        ingress: "ether2",
        ..Asked::default()
    };
    assert_eq!(verdict(inside), Verdict::Accept);
}

#[test]
fn a_change_compiles_only_what_it_touches() {
    let mut bench = Bench::new(
        "/ip firewall filter\n\
         add chain=input action=accept dst-port=22 protocol=tcp\n\
         add chain=input action=drop dst-port=80 protocol=tcp\n\
         add chain=forward action=accept limit=1,5:packet\n",
    );
    let rules = |bench: &Bench, chain: &str| {
        let table = &bench.firewall.compiled().ipv4.filter;
        let id = table.find(chain).expect("a chain");
        table
            .chain(id)
            .expect("it is there")
            .rules()
            .cloned()
            .collect::<Vec<_>>()
    };
    let (input, forward) = (rules(&bench, "input"), rules(&bench, "forward"));

    assert!(bench.change("/ip firewall filter set 1 action=accept"));
    let after = rules(&bench, "input");
    assert!(Arc::ptr_eq(&input[0], &after[0]) && !Arc::ptr_eq(&input[1], &after[1]));
    assert!(matches!(after[1].action, Action::Accept));
    // The rule keeps its number, and with it its counters.
    assert_eq!(input[1].id, after[1].id);
    assert!(Arc::ptr_eq(&forward[0], &rules(&bench, "forward")[0]));

    assert!(bench.change("/ip firewall filter move 1 0"));
    let moved = rules(&bench, "input");
    assert!(Arc::ptr_eq(&moved[0], &after[1]) && Arc::ptr_eq(&moved[1], &after[0]));
    bench.change("/ip firewall filter set 2 comment=other");
    assert!(Arc::ptr_eq(&forward[0], &rules(&bench, "forward")[0]));
    assert!(!bench.change("/ip firewall layer7-protocol add name=unused regexp=x"));
}

#[test]
fn patterns_work_at_once_and_are_joined_later_by_the_owner() {
    let mut bench = Bench::new(
        "/ip firewall layer7-protocol\nadd name=a regexp=a.*b\nadd name=b regexp=c.*d\n\
         /ip firewall filter add chain=forward action=drop layer7-protocol=a",
    );
    let first = bench.firewall.take_joining().expect("a pattern is new");
    assert!(bench.firewall.take_joining().is_none(), "it is taken");

    // Other changes leave the compiled result valid; changes of patterns do not.
    assert!(bench.change("/ip firewall filter add chain=forward action=accept"));
    assert!(bench.firewall.take_joining().is_none());
    let before = Arc::clone(bench.firewall.compiled());
    assert!(bench.firewall.hear_joined(&first.clone().run()));
    let after = bench.firewall.compiled();
    assert!(!Arc::ptr_eq(&before, after) && Arc::ptr_eq(&before.ipv4.filter, &after.ipv4.filter));

    assert!(bench.change("/ip firewall filter add chain=forward action=drop layer7-protocol=b"));
    let second = bench.firewall.take_joining().expect("another is new");
    assert!(
        !bench.firewall.hear_joined(&first.run()),
        "it is out of date"
    );
    assert!(bench.firewall.hear_joined(&second.run()));
}

#[test]
fn members_of_lists_come_and_go_while_limits_remember() {
    let mut bench = Bench::new(
        "/interface list add name=LAN\n\
         /ip firewall filter add chain=input action=drop in-interface-list=LAN limit=1,5:packet\n",
    );
    let memory = |bench: &Bench| {
        let table = &bench.firewall.compiled().ipv4.filter;
        let chain = table.chain(table.find("input").expect("a chain")).cloned();
        let rule = chain.expect("it is there").rules().next().cloned();
        let rule = rule.expect("a rule");
        let limit = rule
            .matchers
            .iter()
            .find_map(|matcher| match &matcher.what {
                Match::Limit(limit) => Some(Arc::clone(limit)),
                _ => None,
            });
        let has = rule.matchers.iter().any(|matcher| match &matcher.what {
            Match::InInterfaceList(set) => set.has(bench.class("ether1")),
            _ => false,
        });
        (limit.expect("a limit"), has)
    };
    let (limit, has) = memory(&bench);
    assert!(!has);

    bench.change("/interface list member add list=LAN interface=ether1");

    let (after, has) = memory(&bench);
    assert!(has && Arc::ptr_eq(&limit, &after));
}

#[test]
fn interfaces_that_are_like_one_before_need_no_rule_compiled_anew() {
    let mut bench = Bench::new(
        "/interface list add name=LAN\n\
         /ip firewall filter add chain=input action=drop in-interface-list=LAN\n\
         /interface vlan add name=v7 interface=ether1 vlan-id=7\n\
         /ip firewall filter add chain=input action=accept in-interface=v7\n\
         /interface vlan add name=v1 interface=ether1 vlan-id=1\n\
         /interface vlan add name=w1 interface=ether2 vlan-id=1\n\
         /interface list member add list=LAN interface=v1\n",
    );
    let drops = |bench: &Bench, ingress| {
        let table = &bench.firewall.compiled().ipv4.filter;
        let asked = Asked {
            ingress,
            ..Asked::default()
        };
        matches!(bench.verdict(table, "input", &asked), Verdict::Drop(_))
    };
    assert!(drops(&bench, "v1"));
    assert!(!drops(&bench, "w1"));
    let compiled = Arc::clone(bench.firewall.compiled());

    bench.change(
        ":for i from=100 to=1099 do={
            /interface vlan add name=\"s$i\" interface=ether1 vlan-id=$i
            /interface list member add list=LAN interface=\"s$i\"
        }
        /interface vlan add name=w2 interface=ether2 vlan-id=2
        /interface vlan remove v1",
    );

    assert!(Arc::ptr_eq(&compiled, bench.firewall.compiled()));
    assert!(drops(&bench, "s100"));
    assert!(drops(&bench, "s1099"));
    assert!(!drops(&bench, "w2"));

    // An interface that a rule names directly is a class of its own, and changes its class as a member.
    assert!(!drops(&bench, "v7"));
    bench.change("/interface list member add list=LAN interface=v7");
    assert!(drops(&bench, "v7"));
    bench.change("/ip firewall filter remove [find in-interface=v7]");
    assert!(drops(&bench, "v7"));
    assert_eq!(bench.class("v7"), bench.class("s100"));
}

#[test]
fn lists_include_and_exclude_lists() {
    let bench = Bench::new(
        "/interface list add name=a\n\
         /interface list add name=b include=all exclude=a\n\
         /interface list add name=c include=b exclude=all\n\
         /interface list member add list=a interface=ether1\n\
         /interface list member add list=c interface=ether2\n",
    );
    let members = |name: &str| -> Vec<_> {
        let set = bench.firewall.sets.list(name).expect("a list");
        set.iter().collect()
    };

    let sorted = |mut these: Vec<_>| {
        these.sort_unstable();
        these
    };
    let (ether1, ether2) = (bench.class("ether1"), bench.class("ether2"));
    let lo = bench.class("lo");
    assert_eq!(members("all"), sorted(vec![ether1, ether2, lo]));
    assert_eq!(members("a"), [ether1]);
    assert_eq!(members("b"), sorted(vec![ether2, lo]));
    assert_eq!(members("c"), [ether2]);
    assert_eq!(members("none"), []);
    let ports = bench.firewall.sets.kind("all-ethernet").expect("a kind");
    assert_eq!(ports.iter().count(), 2);
}

#[test]
fn an_endpoint_independent_rule_of_dstnat_is_for_endpoints_that_stand_for_somebody() {
    let bench = Bench::new(
        "/ip firewall nat\n\
         add chain=srcnat action=endpoint-independent-nat protocol=udp randomise-ports=yes\n\
         add chain=dstnat action=endpoint-independent-nat protocol=udp\n",
    );

    let compiled = bench.firewall.compiled();
    let rule = |chain: &str| {
        let table = &compiled.ipv4.nat;
        let chain = table.chain(table.find(chain).expect("a chain"));
        let rules = chain.expect("it is there").rules();
        rules.into_iter().next().expect("a rule")
    };
    let is_to_mapped = |rule: &rule::Rule| {
        rule.matchers
            .iter()
            .any(|it| matches!(it.what, Match::Mapped))
    };
    assert!(!is_to_mapped(rule("srcnat")) && is_to_mapped(rule("dstnat")));
    let target = |rule: &rule::Rule| match rule.action {
        Action::Translate(place) => compiled.targets[place as usize],
        _ => panic!("{:?}", rule.action),
    };
    let [source, destination] = ["srcnat", "dstnat"].map(|chain| target(rule(chain)));
    for (target, side, randomise) in [
        (source, nat::Side::Source, true),
        (destination, nat::Side::Destination, false),
    ] {
        assert_eq!(target.action, nat::Action::EndpointIndependent);
        assert_eq!((target.side, target.randomise), (side, randomise));
    }
}

#[test]
fn connections_are_tracked_from_the_first_rule_on() {
    let mut bench = Bench::new("");
    let tracked = |bench: &Bench| {
        let compiled = bench.firewall.compiled();
        (compiled.tracks4, compiled.tracks6)
    };
    assert_eq!(tracked(&bench), (false, false));

    // Raw rules do not need connection tracking.
    bench.change("/ip firewall raw add chain=prerouting action=notrack");
    assert_eq!(tracked(&bench), (false, false));
    bench.change("/ip firewall filter add chain=input action=accept disabled=yes");
    assert_eq!(tracked(&bench), (false, false));
    bench.change("/ip firewall filter enable 0");
    assert_eq!(tracked(&bench), (true, false));
    bench.change("/ip firewall connection tracking set enabled=no");
    assert_eq!(tracked(&bench), (false, false));
    bench.change("/ip firewall connection tracking set enabled=yes udp-timeout=7s");
    assert_eq!(tracked(&bench), (true, true));
    assert_eq!(bench.firewall.compiled().settings.udp.as_secs(), 7);
}

#[test]
fn translations_keep_their_places_and_know_their_side() {
    let mut bench = Bench::new(
        "/ip firewall nat\n\
         add chain=srcnat action=masquerade out-interface=ether1\n\
         add chain=dstnat action=jump jump-target=in\n\
         add chain=in action=netmap to-addresses=10.0.0.0/24 dst-address=198.51.100.0/24\n\
         add chain=srcnat action=netmap to-addresses=198.51.100.0/24 src-address=10.0.0.0/24\n\
         add chain=dstnat action=dst-nat to-addresses=10.0.0.9 to-ports=80-81 protocol=tcp\n\
         add chain=dstnat action=masquerade\n",
    );
    let targets = |bench: &Bench| -> Vec<nat::Target> {
        let compiled = bench.firewall.compiled();
        let tables = &compiled.ipv4;
        let chains = ["srcnat", "dstnat", "in"];
        let chains = chains.iter().filter_map(|name| tables.nat.find(name));
        let chains = chains.filter_map(|id| tables.nat.chain(id));
        let rules = chains.flat_map(Chain::rules);
        let targets = rules.filter_map(|rule| match rule.action {
            Action::Translate(place) => Some(compiled.targets[place as usize]),
            _ => None,
        });
        targets.collect()
    };
    let found = targets(&bench);

    assert_eq!(found.len(), 4);
    assert_eq!(
        (found[0].side, found[0].action),
        (nat::Side::Source, nat::Action::Own)
    );
    let range = |first: u128| nat::Addresses::new(first, first + 255);
    let outside = range(0xc633_6400);
    assert_eq!(
        (found[1].side, found[1].action),
        (
            nat::Side::Source,
            nat::Action::Netmap {
                from: range(0x0a00_0000)
            }
        )
    );
    assert_eq!(
        (found[2].side, found[2].ports),
        (nat::Side::Destination, nat::Ports::new(80, 81))
    );
    assert_eq!(
        (found[3].side, found[3].action),
        (
            nat::Side::Destination,
            nat::Action::Netmap { from: outside }
        )
    );
    let desk = bench.firewall.desk("/ip/firewall/nat").expect("a table");
    // The source cannot be translated before routing.
    assert!(desk.invalid(bench.item("/ip/firewall/nat", 5)).is_some());

    let before = bench.firewall.compiled().targets.clone();
    bench.change(
        "/ip firewall nat add chain=srcnat action=src-nat to-addresses=192.0.2.7 place-before=0",
    );
    let after = &bench.firewall.compiled().targets;
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(
        targets(&bench)[0].addresses,
        Some(nat::Addresses::one(0xc000_0207))
    );
}

#[test]
fn every_property_of_a_rule_is_understood() {
    let bench = Bench::new(
        "/routing table add name=t fib\n\
         /ip firewall layer7-protocol add name=l7 regexp=x\n\
         /ip firewall mangle\n\
         add chain=forward action=mark-packet new-packet-mark=p passthrough=no \
           src-address=10.0.0.1-10.0.0.9 dst-address=!10.0.0.0/8 protocol=tcp src-port=!1-2 \
           dst-port=80,90-99 tcp-flags=syn,!ack tcp-mss=!0-100 ttl=less-than:5 dscp=!7 tos=4/0xfc \
           packet-size=40-1500 ipv4-options=any fragment=no src-mac-address=!02:00:00:00:00:01 \
           in-interface=ether1 out-interface=!ether2 in-interface-list=all \
           out-interface-list=!none packet-mark=no-mark connection-mark=!c routing-mark=t\n\
         add chain=forward action=mark-connection new-connection-mark=c \
           connection-state=!invalid,new connection-nat-state=!dstnat connection-type=ftp \
           connection-bytes=10000-0 connection-rate=0-10M connection-limit=!100,32 \
           limit=!10/1m,5:packet dst-limit=10/1s,5,src-and-dst-addresses/1m nth=2,1 random=50 \
           psd=21,3s,3,1 per-connection-classifier=both-addresses:2/1 \
           time=8h-17h,mon,fri content=!abc layer7-protocol=l7 tls-host=*.example \
           ipsec-policy=in,none src-address-type=!local dst-address-type=unicast,multicast \
           src-address-list=a dst-address-list=!b ingress-priority=3 priority=!4 realm=7 \
           hotspot=auth,!http\n\
         add chain=prerouting action=mark-routing new-routing-mark=t protocol=icmp icmp-options=8:0-3\n\
         add chain=forward action=change-mss new-mss=clamp-to-pmtu protocol=tcp\n\
         add chain=forward action=change-ttl new-ttl=decrement:2\n\
         add chain=forward action=change-dscp new-dscp=10\n\
         add chain=forward action=set-priority new-priority=from-dscp\n\
         add chain=forward action=sniff-tzsp sniff-target=10.0.0.1\n\
         add chain=prerouting action=route route-dst=10.0.0.1\n\
         /ipv6 firewall mangle\n\
         add chain=forward action=snpt src-prefix=fd00::/48 dst-prefix=2001:db8::/48 \
           hop-limit=equal:1 headers=hop,frag:exact icmp-options=128 protocol=icmpv6 \
           dst-address=!2001:db8::/32\n",
    );
    for tables in [
        &bench.firewall.compiled().ipv4,
        &bench.firewall.compiled().ipv6,
    ] {
        let table = &tables.mangle;
        for name in ["forward", "prerouting"] {
            let chain = table.find(name).and_then(|id| table.chain(id));
            for rule in chain.into_iter().flat_map(Chain::rules) {
                let never = |matcher: &Matcher| matches!(matcher.what, Match::Never);
                assert!(!rule.matchers.iter().any(never), "{rule:#?}");
            }
        }
    }
    let table = &bench.firewall.compiled().ipv4.mangle;
    let chain = table
        .find("forward")
        .and_then(|id| table.chain(id))
        .expect("a chain");
    let counts: Vec<_> = chain.rules().map(|rule| rule.matchers.len()).collect();
    assert_eq!(counts[..3], [21, 25, 1]);
    let mut passthrough = chain.rules().map(|rule| rule.passthrough);
    assert!(passthrough.next() == Some(false) && passthrough.next() == Some(true));
}

#[test]
fn a_change_of_one_rule_of_ten_thousand_reads_no_other() {
    let mut text = String::from("/ip firewall filter\n");
    for n in 0..10_000 {
        text.push_str(&format!(
            "add chain=forward action=drop src-address=10.{}.{}.0/24 protocol=tcp dst-port={}\n",
            n / 256,
            n % 256,
            n + 1
        ));
    }
    let mut bench = Bench::new(&text);
    let rules = |bench: &Bench| {
        let table = &bench.firewall.compiled().ipv4.filter;
        let chain = table.find("forward").and_then(|id| table.chain(id));
        chain.expect("a chain").rules().cloned().collect::<Vec<_>>()
    };
    let before = rules(&bench);

    bench.change("/ip firewall filter set 5000 dst-port=7");

    let after = rules(&bench);
    let other = before
        .iter()
        .zip(&after)
        .filter(|(a, b)| !Arc::ptr_eq(a, b));
    assert_eq!((before.len(), other.count()), (10_000, 1));
}

#[test]
fn removed_chains_leave_room_for_new_ones() {
    let mut bench = Bench::new("/ip firewall filter add chain=input action=jump jump-target=c0");

    for n in 1..3_000 {
        bench.change(&format!("/ip firewall filter set 0 jump-target=c{n}"));
    }

    let desk = bench.firewall.desk(FILTER).expect("a table");
    assert!(desk.invalid(bench.item(FILTER, 0)).is_none());
    let table = &bench.firewall.compiled().ipv4.filter;
    assert!(table.find("c2999").is_some() && table.find("c0").is_none());
}

#[test]
fn helpers_listen_at_the_ports_that_are_listed_while_they_are_enabled() {
    use dataplane::packet::protocol::{TCP, UDP};
    use dataplane::rule::Helper;
    let mut bench = Bench::new("/ip firewall service-port set tftp disabled=yes\n");
    let at = |bench: &Bench, protocol, port| {
        let services = &bench.firewall.compiled().services;
        services.find(protocol, port, false)
    };
    let usual = [(TCP, 21), (UDP, 69), (TCP, 6667), (UDP, 5061), (TCP, 1723)];
    let expected = [
        Helper::Ftp,
        Helper::None,
        Helper::None,
        Helper::Sip,
        Helper::Pptp,
    ];
    assert_eq!(
        usual.map(|(number, port)| at(&bench, number, port)),
        expected
    );

    let changed = bench.change(
        "/ip firewall service-port\n\
         set ftp ports=21,2121\nset irc disabled=no\nset rtsp disabled=no\n\
         set sip sip-direct-media=no sip-timeout=2m\n",
    );

    assert!(changed);
    assert_eq!(at(&bench, TCP, 2121), Helper::Ftp);
    assert_eq!(at(&bench, TCP, 6667), Helper::Irc);
    assert_eq!(at(&bench, TCP, 554), Helper::Rtsp);
    let services = &bench.firewall.compiled().services;
    assert!(!services.sip_direct_media);
    assert_eq!(services.sip_timeout_secs, 120);
    assert!(!bench.change("/ip firewall service-port set h323 disabled=yes\n"));
}
