//! PPP sessions of users through control: machines of the crate `ppp` dial by a bare carrier, in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{Duration, Instant, Machine, Rng};
use ppp::{
    Action, Credentials, DownReason, Event, Ipv4Link, Ipv6Link, Method, Methods, Password, Role,
    Settings,
};

use super::newcomer::Newcomer;
use super::rig::{MAC, Rig};

/// EtherType of the bare carrier.
const BARE: u16 = 0x88b7;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Frames that arrive together, within the pool of the worker.
const AT_ONCE: usize = 64;

/// A client, with the results of its session.
pub(super) struct Customer {
    machine: ppp::Session,
    pub(super) ipv4: Option<Ipv4Link>,
    ipv6: Option<Ipv6Link>,
    pub(super) ended: Option<DownReason>,
}

/// A server beside the clients: returns its answers to a frame of the router.
pub(super) type Server = Box<dyn FnMut(&[u8]) -> Vec<Vec<u8>>>;

/// A router with users, and their clients.
pub(super) struct World {
    pub(super) rig: Rig,
    pub(super) customers: BTreeMap<u32, Customer>,
    pub(super) server: Option<Server>,
    now: Instant,
}

impl World {
    pub(super) fn new(configuration: &str) -> Self {
        let mut rig = Rig::new(Newcomer);
        rig.run("/ipv6/settings/set disable-ipv6=no");
        rig.run(configuration);
        Self {
            rig,
            customers: BTreeMap::new(),
            server: None,
            now: Instant::from_secs(1),
        }
    }

    /// Lets clients dial, and waits until nothing is sent any longer.
    fn dial(&mut self, users: impl IntoIterator<Item = (u32, String, &'static str)>) {
        self.dial_by(Methods::ALL, users);
    }

    fn dial_by(
        &mut self,
        methods: Methods,
        users: impl IntoIterator<Item = (u32, String, &'static str)>,
    ) {
        let mut frames = Vec::new();
        for (number, user, password) in users {
            let settings = Settings {
                credentials: Some(Arc::new(Credentials {
                    user: user.into(),
                    password: Password::new(password),
                })),
                methods,
                keepalive: None,
                ipv6: true,
                request_dns: true,
                ..Settings::pppoe(Role::Client)
            };
            let rng = Rng::seeded(number.into());
            let customer = Customer {
                machine: ppp::Session::new(Arc::new(settings), 1500, rng),
                ipv4: None,
                ipv6: None,
                ended: None,
            };
            self.customers.insert(number, customer);
            frames.extend(self.feed(number, Event::LowerUp));
        }
        self.exchange(frames);
    }

    pub(super) fn dial_one(&mut self, number: u32, user: &str, password: &'static str) {
        self.dial([(number, user.to_owned(), password)]);
    }

    pub(super) fn dial_by_pap(&mut self, number: u32, user: &str, password: &'static str) {
        let pap = Methods::NONE.with(Method::Pap);
        self.dial_by(pap, [(number, user.to_owned(), password)]);
    }

    fn feed(&mut self, number: u32, event: Event<'_>) -> Vec<Vec<u8>> {
        let customer = self.customers.get_mut(&number).expect("it dialled");
        let mut actions = Vec::new();
        customer.machine.handle(event, self.now, &mut actions);
        let mut frames = Vec::new();
        for action in actions {
            match action {
                Action::Send(packet) => frames.push(frame_of(number, &packet)),
                Action::Ipv4Up(ipv4) => customer.ipv4 = Some(ipv4),
                Action::Ipv4Down => customer.ipv4 = None,
                Action::Ipv6Up(ipv6) => customer.ipv6 = Some(ipv6),
                Action::Ipv6Down => customer.ipv6 = None,
                Action::Down(reason) => customer.ended = Some(reason),
                _ => {}
            }
        }
        frames
    }

    /// Passes frames to the router and its answers to the clients, until all are silent.
    pub(super) fn exchange(&mut self, mut frames: Vec<Vec<u8>>) {
        while !frames.is_empty() {
            let arriving = core::mem::take(&mut frames);
            for some in arriving.chunks(AT_ONCE) {
                let sent = self.rig.pass_all(some.to_vec());
                frames.extend(self.deliver(sent));
            }
        }
    }

    /// Delivers the frames of the router to the clients; returns their answers.
    fn deliver(&mut self, sent: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        for frame in sent {
            if let Some((header, packet)) = frame.split_first_chunk::<ETHERNET>()
                && header[12..] == BARE.to_be_bytes()
            {
                let number = u32::from_be_bytes([header[2], header[3], header[4], header[5]]);
                answers.extend(self.feed(number, Event::Packet(packet)));
            } else if let Some(server) = &mut self.server {
                answers.extend(server(&frame));
            }
        }
        answers
    }

    /// Lets time pass for the router.
    pub(super) fn pass_time(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        let second = self.now.saturating_since(Instant::ZERO).as_secs();
        let mut sent = self.rig.go_on_until(second);
        sent.extend(self.rig.sent());
        let frames = self.deliver(sent);
        self.exchange(frames);
    }

    /// Ends a session from the client's side.
    pub(super) fn hang_up(&mut self, number: u32) {
        let frames = self.feed(number, Event::Close(ppp::CloseReason::Administrator));
        self.exchange(frames);
    }

    pub(super) fn count(&mut self, menu: &str, test: &str) -> usize {
        let counted = self
            .rig
            .run(&format!("{menu}/print count-only where {test}"));
        counted.trim().parse().expect("a number")
    }

    fn get(&mut self, expression: &str) -> String {
        self.rig
            .run(&format!(":put [{expression}]"))
            .trim()
            .to_owned()
    }

    pub(super) fn log(&mut self) -> String {
        let each =
            ":foreach line in=[/log/find where topics~\"ppp\"] do={:put [/log/get $line message]}";
        self.rig.run(each)
    }
}

/// Returns a PPP packet in a frame of a client.
fn frame_of(number: u32, packet: &[u8]) -> Vec<u8> {
    let mut bytes = MAC.to_vec();
    bytes.extend([2, 0]);
    bytes.extend(number.to_be_bytes());
    bytes.extend(BARE.to_be_bytes());
    bytes.extend(packet);
    bytes
}

const USERS: &str = "\
    /ip/pool/add name=customers ranges=10.9.0.2-10.9.0.9\n\
    /ppp/profile/add name=home local-address=10.9.0.1 remote-address=customers dns-server=10.9.0.1\n\
    /ppp/secret/add name=anna password=geheim profile=home\n\
    /ppp/secret/add name=bert password=hush profile=home remote-address=10.9.1.1 service=async\n";

#[test]
fn a_user_gets_an_interface_an_address_and_a_row_and_all_goes_with_the_session() {
    let mut world = World::new(USERS);
    world.dial_one(1, "anna", "geheim");

    let ipv4 = world.customers[&1].ipv4.expect("IPCP is open");
    assert_eq!(ipv4.local.to_string(), "10.9.0.9");
    assert_eq!(ipv4.remote.expect("it says").to_string(), "10.9.0.1");
    assert_eq!(ipv4.dns[0].expect("it says").to_string(), "10.9.0.1");
    assert!(world.customers[&1].ipv6.is_some());
    let active = "name=anna service=async address=10.9.0.9 caller-id=\"02:00:00:00:00:01\"";
    assert_eq!(world.count("/ppp/active", active), 1);
    let interface = "name=\"<async-anna>\" dynamic running";
    assert_eq!(world.count("/interface", interface), 1);
    let address = "dynamic interface=\"<async-anna>\" address=10.9.0.1/32 network=10.9.0.9";
    assert_eq!(world.count("/ip/address", address), 1);
    assert_eq!(
        world.count("/ip/route", "dst-address=10.9.0.9/32 connect active"),
        1
    );
    let link_local = "dynamic interface=\"<async-anna>\" address~\"fe80\"";
    assert_eq!(world.count("/ipv6/address", link_local), 1);
    assert_eq!(world.get("/ip/pool/get customers used"), "1");

    world.hang_up(1);
    assert_eq!(world.count("/ppp/active", "name=anna"), 0);
    assert_eq!(world.count("/interface", "name=\"<async-anna>\""), 0);
    assert_eq!(world.count("/ip/address", "dynamic"), 0);
    assert_eq!(world.count("/ip/route", "dynamic"), 0);
    assert_eq!(world.get("/ip/pool/get customers used"), "0");
    let ended =
        "name=anna last-disconnect-reason=peer-request last-caller-id=\"02:00:00:00:00:01\"";
    assert_eq!(world.count("/ppp/secret", ended), 1);
    let log = world.log();
    let lines: Vec<_> = log.lines().collect();
    let (account, traffic) = ("anna logged out, 0 ", " from 02:00:00:00:00:01");
    assert_eq!(
        [&lines[..4], &lines[5..]].concat(),
        [
            "<async-anna>: authenticated",
            "<async-anna>: connected",
            "anna logged in, 10.9.0.9 from 02:00:00:00:00:01",
            "<async-anna>: terminating... - peer request",
            "<async-anna>: disconnected",
        ]
    );
    assert!(
        lines[4].starts_with(account) && lines[4].ends_with(traffic),
        "{log}"
    );
    assert_eq!(world.count("/log", "topics=async,ppp,info,account"), 2);
}

#[test]
fn a_user_with_a_wrong_password_or_of_another_service_is_refused() {
    let mut world = World::new(USERS);
    world
        .rig
        .run("/ppp/secret/add name=carl password=three service=l2tp profile=home");
    let wrong = [
        (1, "anna", "wrong"),
        (2, "carl", "three"),
        (3, "dora", "four"),
    ];
    for (number, user, password) in wrong {
        world.dial_one(number, user, password);
        let ended = &world.customers[&number].ended;
        assert!(
            matches!(ended, Some(DownReason::CredentialsRefused(_))),
            "{ended:?}"
        );
        let message = format!("user {user} authentication failed");
        assert!(world.log().contains(&message), "{}", world.log());
    }
    assert_eq!(world.count("/ppp/active", "name!=\"\""), 0);
    assert_eq!(world.get("/ip/pool/get customers used"), "0");
}

#[test]
fn a_user_without_addresses_is_let_in_and_the_log_says_what_is_missing() {
    let mut world =
        World::new("/ppp/secret/add name=anna password=geheim remote-address=10.9.0.9\n");
    world.dial_one(1, "anna", "geheim");
    assert!(world.customers[&1].ipv4.is_none() && world.customers[&1].ipv6.is_some());
    let log = world.log();
    let missing = "user anna gets no IPv4: secret and profile have no local-address";
    assert!(log.contains(missing), "{log}");
}

#[test]
fn a_malformed_rate_limit_is_refused_with_what_would_be_right() {
    let mut world = World::new("");
    for menu in [
        "/ppp/profile/add name=home",
        "/ip/dhcp-server/lease/add address=10.0.0.9",
    ] {
        let refused = world
            .rig
            .refusal(&format!("{menu} rate-limit=\"5M/10M fast\""));
        let expected = "\"fast\" in rate limit: expected a rate such as 512k or 10M";
        assert!(refused.contains(expected), "{refused}");
    }
    world
        .rig
        .run("/ppp/profile/add name=home rate-limit=\"5M/10M 6M/12M\"");
}

#[test]
fn sessions_of_one_user_have_suffixes_unless_only_one_is_allowed() {
    let mut world = World::new(USERS);
    world
        .rig
        .run("/ppp/profile/add name=single local-address=10.9.0.1 only-one=yes");
    world
        .rig
        .run("/ppp/secret/add name=carl password=three profile=single remote-address=10.9.2.2");
    for number in 1..=3 {
        world.dial_one(number, "anna", "geheim");
    }
    assert_eq!(
        world.count("/interface", "name~\"<async-anna(-[12])?>\" running"),
        3
    );
    world.hang_up(2);
    assert_eq!(world.count("/interface", "name=\"<async-anna-1>\""), 0);
    world.dial_one(4, "anna", "geheim");
    assert_eq!(world.count("/interface", "name=\"<async-anna-1>\""), 1);

    world.dial_one(5, "carl", "three");
    world.dial_one(6, "carl", "three");
    assert_eq!(world.count("/ppp/active", "name=carl"), 1);
    assert!(world.log().contains("user carl is already active"));
}

#[test]
fn a_pool_without_addresses_refuses_and_serves_again() {
    let mut world = World::new(USERS);
    world.rig.run("/ip/pool/set customers ranges=10.9.0.2");
    world.dial_one(1, "anna", "geheim");
    world.dial_one(2, "anna", "geheim");
    assert!(world.customers[&2].ended.is_some());
    assert!(world.log().contains("no address is left in pool customers"));
    world.hang_up(1);
    world.dial_one(3, "anna", "geheim");
    assert!(world.customers[&3].ipv4.is_some());
    // A fixed address of the secret comes before the pool of the profile.
    world.dial_one(4, "bert", "hush");
    let ipv4 = world.customers[&4].ipv4.expect("IPCP is open");
    assert_eq!(ipv4.local.to_string(), "10.9.1.1");
}

#[test]
fn a_session_takes_its_lists_queue_routes_and_rules_with_it() {
    let mut world = World::new(USERS);
    world.rig.run(
        "/interface/list/add name=users\n\
         /queue/simple/add name=all target=10.9.0.0/16 max-limit=100M/100M\n\
         /ppp/profile/set home address-list=paid interface-list=users rate-limit=\"1M/4M 2M/8M\" \
             parent-queue=all incoming-filter=from-users outgoing-filter=to-users change-tcp-mss=yes\n\
         /ppp/secret/set anna routes=\"10.20.0.0/24,10.21.0.0/24 10.9.0.77 3\"\n",
    );
    world.dial_one(1, "anna", "geheim");
    world.dial_one(2, "bert", "hush");

    let name = "\"<async-anna>\"";
    assert_eq!(
        world.count(
            "/ip/firewall/address-list",
            "dynamic list=paid address=10.9.0.9"
        ),
        1
    );
    let member = format!("dynamic list=users interface={name}");
    assert_eq!(world.count("/interface/list/member", &member), 1);
    let queue = format!("dynamic name={name} target={name} parent=all");
    let shown = world
        .rig
        .run("/queue/simple/print detail without-paging where dynamic");
    for cell in [
        "max-limit=1M/4M",
        "burst-limit=2M/8M",
        "burst-threshold=1M/4M",
    ] {
        assert!(shown.contains(cell), "{cell}: {shown}");
    }
    assert_eq!(world.count("/queue/simple", &queue), 1);
    let route = format!("dynamic dst-address=10.20.0.0/24 gateway={name} active");
    assert_eq!(world.count("/ip/route", &route), 1);
    assert_eq!(
        world.count("/ip/route", "dynamic dst-address=10.21.0.0/24 distance=3"),
        1
    );
    // Both sessions share their rules.
    let jumps = "dynamic chain=ppp action=jump";
    assert_eq!(world.count("/ip/firewall/filter", jumps), 2);
    let clamps = "dynamic chain=forward action=change-mss new-mss=1440 tcp-mss=1441-65535";
    assert_eq!(world.count("/ip/firewall/mangle", clamps), 2);

    world.hang_up(1);
    assert_eq!(world.count("/ip/firewall/filter", jumps), 2);
    world.hang_up(2);
    let menus = [
        "/ip/firewall/filter",
        "/ip/firewall/mangle",
        "/queue/simple",
        "/ip/route",
    ];
    for menu in menus
        .into_iter()
        .chain(["/interface/list/member", "/ip/firewall/address-list"])
    {
        assert_eq!(world.count(menu, "dynamic"), 0, "{menu}");
    }
}

#[test]
fn timeouts_and_administrators_end_sessions() {
    let mut world = World::new(USERS);
    world.rig.run("/ppp/profile/set home session-timeout=1m");
    world.dial_one(1, "anna", "geheim");
    world.pass_time(59);
    assert_eq!(world.count("/ppp/active", "name=anna uptime=59s"), 1);
    world.pass_time(2);
    assert_eq!(world.count("/ppp/active", "name=anna"), 0);
    assert_eq!(world.customers[&1].ended, Some(DownReason::PeerRequest));
    let reason = "last-disconnect-reason=session-timeout";
    assert_eq!(world.count("/ppp/secret", reason), 1);

    world
        .rig
        .run("/ppp/profile/set home !session-timeout idle-timeout=30s");
    world.dial_one(2, "anna", "geheim");
    world.pass_time(90);
    assert_eq!(world.count("/ppp/active", "name=anna"), 0);
    assert_eq!(
        world.count("/ppp/secret", "last-disconnect-reason=idle-timeout"),
        1
    );

    world.rig.run("/ppp/profile/set home !idle-timeout");
    world.dial_one(3, "anna", "geheim");
    world.rig.run("/ppp/active/remove [find name=anna]");
    world.pass_time(1);
    assert_eq!(world.count("/ppp/active", "name=anna"), 0);
    assert_eq!(
        world.count("/ppp/secret", "last-disconnect-reason=reset"),
        1
    );
}

/// Number of users whose sessions come up together.
const MANY: u32 = 1_000;

#[test]
fn a_thousand_sessions_come_up_and_their_memory_returns() {
    let mut world = World::new(
        "/ppp/profile/add name=home local-address=10.9.0.1 change-tcp-mss=yes address-list=paid\n\
         /ppp/secret/add name=all password=secret profile=home\n\
         /ip/pool/add name=customers ranges=10.10.0.1-10.10.255.254\n\
         /ppp/profile/set home remote-address=customers\n",
    );
    let objects = world.rig.control().object_count();
    let epoch = world.rig.control().snapshot().epoch;
    for round in 0..2 {
        world.dial((1..=MANY).map(|number| (number, "all".to_owned(), "secret")));
        assert_eq!(
            world.count("/ppp/active", "name=all"),
            MANY as usize,
            "round {round}"
        );
        let open = world
            .customers
            .values()
            .filter(|of| of.ipv4.is_some() && of.ipv6.is_some());
        assert_eq!(open.count(), MANY as usize);
        assert_eq!(world.count("/interface", "dynamic running"), MANY as usize);
        for number in 1..=MANY {
            world.hang_up(number);
        }
        assert_eq!(world.count("/interface", "dynamic"), 0);
        assert_eq!(world.rig.control().object_count(), objects);
        assert_eq!(world.get("/ip/pool/get customers used"), "0");
    }
    // A snapshot is published when the shared rules come and go, not with each session.
    let snapshots = world.rig.control().snapshot().epoch - epoch;
    assert!(snapshots < 20, "{snapshots}");
}
