//! Logins against a store with users.

use menu::Value;

use super::*;

const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
const AWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== somebody@somewhere";

fn store() -> Store {
    let mut store = schema::store();
    store.set_seal(
        |_, owner, text| {
            let seal = password::seal(text, [3; password::SALT_BYTES]);
            let bound = owner.map(|owner| Sealed::bound(&seal, "0a0b", owner).to_string());
            Ok(bound.unwrap_or(seal))
        },
        |seal, text| password::opens(seal, text.as_bytes()),
    );
    store
}

fn add(store: &mut Store, path: &'static str, given: &[(&'static str, &str)]) {
    let menu = store.menu(path).expect("a menu");
    let mark = store.begin();
    let given: Vec<_> = given
        .iter()
        .map(|(name, text)| {
            let property = menu.property(name).expect("a property");
            (*name, store.parse(property, text).expect("a value"))
        })
        .collect();
    store.add(menu, &given, None).expect("an item");
    store.commit(mark).expect("nothing is journaled");
}

struct Door {
    store: Store,
    access: Access,
    now: Instant,
    log: Vec<Line>,
}

impl Door {
    fn new() -> Self {
        let mut store = store();
        let users = [
            [
                ("name", "eve"),
                ("group", "read"),
                ("password", "secret"),
                ("address", ""),
            ],
            [
                ("name", "adam"),
                ("group", "full"),
                ("password", "apple"),
                ("address", "10.0.0.0/8"),
            ],
        ];
        for user in &users {
            add(&mut store, "/user", user);
        }
        Self {
            store,
            access: Access::default(),
            now: Instant::from_secs(100),
            log: Vec::new(),
        }
    }

    fn knock(&mut self, name: &str, secret: &str, from: IpAddr) -> Result<Login, Refused> {
        let attempt = self.access.attempt(&self.store, name, from, Service::Ssh);
        self.access.turn(&attempt, self.now)?;
        let answer = attempt.password(secret.as_bytes());
        self.admit(answer)
    }

    fn admit(&mut self, answer: Answer) -> Result<Login, Refused> {
        let (clock, log) = (Clock::utc(0), &mut self.log);
        self.access.admit(&self.store, answer, clock, log)
    }

    /// Time at which the password may be checked, if at all.
    fn turn(&mut self, name: &str, from: IpAddr) -> Option<Instant> {
        let attempt = self.access.attempt(&self.store, name, from, Service::Ssh);
        self.access.turn(&attempt, self.now).ok()
    }

    fn change(&mut self, user: &str, name: &'static str, value: Option<Value>) {
        let menu = self.store.menu("/user").expect("the menu");
        let id = self.store.named("user", user).expect("the user").id;
        let mark = self.store.begin();
        self.store.set(menu, id, &[(name, value)]).expect("a value");
        self.store.commit(mark).expect("nothing is journaled");
    }
}

#[test]
fn a_user_logs_in_and_out_with_the_policies_of_the_group() {
    let mut door = Door::new();

    let login = door.knock("eve", "secret", AWAY).expect("the password");
    let active: Vec<_> = door
        .access
        .sessions()
        .map(|(_, s)| s.user.clone())
        .collect();
    door.access.leave(login.id, &mut door.log);

    assert!(login.rights.now().contains(Policies::READ));
    assert!(!login.rights.now().contains(Policies::WRITE));
    assert_eq!(active, ["eve"]);
    assert_eq!(door.access.sessions().count(), 0);
    let lines: Vec<_> = door.log.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "user eve logged in from 203.0.113.9 via ssh",
            "user eve logged out from 203.0.113.9 via ssh"
        ]
    );
}

#[test]
fn wrong_passwords_and_wrong_addresses_are_refused_alike() {
    let mut door = Door::new();

    for (name, secret, from) in [
        ("eve", "Secret", HOME),
        ("eve", "", HOME),
        ("nobody", "secret", HOME),
        ("admin", "", HOME),
        ("adam", "apple", AWAY),
    ] {
        let refused = door.knock(name, secret, from).expect_err(name);
        assert_eq!(refused.to_string(), "invalid user name or password (6)");
    }
    assert!(door.knock("adam", "apple", HOME).is_ok());
    assert_eq!(
        door.log.first(),
        Some(&(
            "system,error,critical",
            "login failure for user eve from 10.0.0.2 via ssh".to_owned()
        ))
    );
}

#[test]
fn a_guessing_address_is_delayed_and_others_are_not() {
    let mut door = Door::new();
    let start = door.now;

    let turns: Vec<_> = (0..20).map(|_| door.turn("eve", AWAY)).collect();

    assert!(turns[..10].iter().all(|turn| *turn == Some(start)));
    let later = [6, 12, 18].map(|seconds| Some(start + Duration::from_secs(seconds)));
    assert_eq!(turns[10..13], later);
    assert!(turns[13..].iter().all(Option::is_none));
    assert!(door.knock("eve", "secret", HOME).is_ok());
    door.now += Duration::from_secs(24);
    assert!(door.knock("eve", "secret", AWAY).is_ok());
}

#[test]
fn many_strangers_do_not_lock_a_user_out() {
    let mut door = Door::new();
    let start = door.now;
    add(
        &mut door.store,
        "/user/ssh-keys",
        &[("user", "adam"), ("key", KEY)],
    );
    assert!(door.knock("eve", "secret", HOME).is_ok());
    for number in 0..60 {
        let stranger = IpAddr::from([198, 51, 100, number]);
        while door.turn("eve", stranger).is_some() {}
        while door.turn("adam", stranger).is_some() {}
    }

    for _ in 0..10 {
        assert_eq!(door.turn("eve", HOME), Some(start), "a known address");
    }
    let strange = IpAddr::from([192, 0, 2, 1]);
    assert_eq!(door.turn("eve", strange), Some(start), "a new address");
    assert_eq!(door.turn("eve", strange), Some(start));
    let third = door.turn("eve", strange).expect("it waits");
    assert_eq!(third, start + Duration::from_secs(6), "there is a crowd");
    let address = IpAddr::from([10, 0, 0, 9]);
    let answer = door
        .access
        .attempt(&door.store, "adam", address, Service::Ssh)
        .key(KEY);
    assert!(door.admit(answer).is_ok(), "a key");
}

#[test]
fn a_change_of_credentials_invalidates_earlier_proofs() {
    let mut door = Door::new();
    let attempt = door.access.attempt(&door.store, "eve", HOME, Service::Ssh);
    let answer = attempt.password(b"secret");

    let menu = door.store.menu("/user").expect("the menu");
    let property = menu.property("password").expect("a property");
    let changed = door.store.parse(property, "another").expect("a value");
    door.change("eve", "password", changed);

    assert_eq!(door.admit(answer).err(), Some(Refused::Credentials));
    assert!(door.knock("eve", "another", HOME).is_ok());
}

#[test]
fn known_addresses_are_bounded_and_networks_of_ipv6() {
    let mut access = Access::default();
    for number in 0..2 * KNOWN as u16 {
        for host in 1..3 {
            let address = Ipv6Addr::new(0x2001, 0xdb8, 0, number, 0, 0, 0, host);
            access.remember(Id(7), address.into());
        }
    }

    let known: Vec<_> = access.known(Id(7)).collect();

    let newest = Ipv6Addr::new(0x2001, 0xdb8, 0, 2 * KNOWN as u16 - 1, 0, 0, 0, 0);
    assert_eq!((known.len(), known.first()), (KNOWN, Some(&newest.into())));
    assert_eq!(access.known(Id(8)).count(), 0);
}

#[test]
fn a_user_with_a_key_logs_in_by_key_and_not_by_password() {
    let mut door = Door::new();
    add(
        &mut door.store,
        "/user/ssh-keys",
        &[("user", "eve"), ("key", KEY)],
    );
    let attempt = |door: &Door| door.access.attempt(&door.store, "eve", HOME, Service::Ssh);

    let good = attempt(&door).key("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==");
    let bad = attempt(&door).key("ssh-ed25519 AAAA");

    assert!(door.admit(good).is_ok());
    assert!(door.admit(bad).is_err());
    assert!(door.knock("eve", "secret", HOME).is_err());
    assert!(Access::is_key(&door.store, "eve", KEY));
    assert!(!Access::is_key(&door.store, "adam", KEY));
}

#[test]
fn a_disabled_user_is_logged_out_at_once() {
    let mut door = Door::new();
    let login = door.knock("eve", "secret", HOME).expect("the password");
    door.change("eve", "disabled", Some(Value::Bool(true)));

    door.access.follow(&door.store, 0);

    assert!(login.is_ended());
    assert!(door.knock("eve", "secret", HOME).is_err());
}

#[test]
fn sessions_are_bounded_with_a_reserve_for_administrators() {
    let mut door = Door::new();
    let user = User::find(&door.store, "eve").expect("the user");
    let login = |door: &mut Door| {
        let (name, from) = (String::from("eve"), Some(HOME));
        let clock = Clock::utc(0);
        door.access.enter(name, &user, from, Service::Api, clock)
    };

    let users: Vec<_> = (0..SESSIONS).map(|_| login(&mut door)).collect();

    assert!(users.iter().all(Result::is_ok));
    assert_eq!(login(&mut door).err(), Some(Refused::Full));
    let (access, store, log) = (&mut door.access, &door.store, &mut door.log);
    let local: Vec<_> = (0..=FOR_ADMINISTRATORS)
        .map(|_| access.local(store, "admin", true, Clock::utc(0), log))
        .collect();
    assert!(local[..FOR_ADMINISTRATORS].iter().all(Result::is_ok));
    let last = local.into_iter().next_back().and_then(Result::err);
    assert_eq!(last, Some(Refused::Full));
}

#[test]
fn logged_user_names_are_truncated_and_stay_on_one_line() {
    assert_eq!(short("a\r\nb\x1b[31m"), "a??b?[31m");
    assert_eq!(short(&"ä".repeat(100)).len(), NAME);
}

#[test]
fn admin_needs_a_password_until_another_user_can_manage_users() {
    let mut store = store();
    let admin = store.named("user", "admin").map(|item| item.id);

    assert_eq!(crate::without_password(&store), admin);
    add(
        &mut store,
        "/user",
        &[("name", "r"), ("group", "read"), ("password", "x")],
    );
    assert_eq!(crate::without_password(&store), admin);
    add(
        &mut store,
        "/user",
        &[("name", "f"), ("group", "full"), ("password", "x")],
    );
    assert_eq!(crate::without_password(&store), None);
}

/// Changes a property of the item with this name.
fn set(door: &mut Door, (path, space): (&'static str, &str), name: &str, given: (&str, &str)) {
    let menu = door.store.menu(path).expect("a menu");
    let property = menu.property(given.0).expect("a property");
    let value = door.store.parse(property, given.1).expect("a value");
    let id = door.store.named(space, name).expect("an item").id;
    let mark = door.store.begin();
    let set = door.store.set(menu, id, &[(property.name, value)]);
    set.expect("a good value");
    door.store.commit(mark).expect("nothing is journaled");
}

const USER: (&str, &str) = ("/user", "user");

#[test]
fn a_users_rights_are_the_current_policies_of_the_group() {
    let mut door = Door::new();
    let login = door.knock("adam", "apple", HOME).expect("the password");
    assert!(login.rights.now().contains(Policies::POLICY));

    set(&mut door, USER, "adam", ("group", "read"));
    door.access.follow(&door.store, 0);

    assert!(!login.is_ended());
    assert!(!login.rights.now().contains(Policies::WRITE));
    let group = ("/user/group", "user-group");
    set(&mut door, group, "read", ("policy", "read,ssh,write"));
    door.access.follow(&door.store, 0);
    assert_eq!(
        login.rights.now(),
        Policies::READ | Policies::SSH | Policies::WRITE
    );
    set(&mut door, group, "read", ("policy", "read,write"));
    door.access.follow(&door.store, 0);
    assert!(login.is_ended(), "nobody of it may come in by SSH");
}

#[test]
fn a_password_change_ends_all_other_sessions() {
    let mut door = Door::new();
    let [own, other] = [(); 2].map(|()| door.knock("eve", "secret", HOME).expect("the password"));
    let adam = door.knock("adam", "apple", HOME).expect("the password");
    let attempt = door.access.attempt(&door.store, "eve", HOME, Service::Ssh);
    let late = attempt.password(b"secret");

    set(&mut door, USER, "eve", ("password", "other"));
    door.access.follow(&door.store, own.id);

    assert!(!own.is_ended());
    assert!(other.is_ended());
    assert!(!adam.is_ended());
    let late = door
        .access
        .admit(&door.store, late, Clock::utc(0), &mut door.log);
    assert_eq!(late.err(), Some(Refused::Credentials));
    set(&mut door, USER, "eve", ("comment", "still herself"));
    door.access.follow(&door.store, adam.id);
    assert!(!own.is_ended());
}

#[test]
fn radius_users_get_the_rights_of_a_group() {
    let mut store = store();
    let mut access = Access::default();
    access.follow(&store, 0);
    let vouched = |group: &str| Vouched {
        group: group.to_owned(),
        idle: Some(Duration::from_secs(60)),
    };
    let admit = |access: &mut Access, store: &Store, name: &str, group: &str| {
        let answer = access
            .attempt(store, name, HOME, Service::Ssh)
            .password(b"x");
        let may = answer.may_be_asked_elsewhere();
        let mut lines = Vec::new();
        let admitted = access.admit(
            store,
            answer.vouched(vouched(group)),
            Clock::utc(0),
            &mut lines,
        );
        (may, admitted)
    };

    let (may, known) = admit(&mut access, &store, "admin", "full");
    assert!(!may && known.is_err(), "who is known here is asked here");
    let (may, nobody) = admit(&mut access, &store, "carol", "nobody");
    assert!(may && nobody.is_err(), "there is no such group");
    let (_, carol) = admit(&mut access, &store, "carol", "read");
    let carol = carol.expect("the group has the policy");
    assert!(carol.by_server && carol.idle == Some(Duration::from_secs(60)));
    assert!(carol.rights.now().contains(Policies::READ));
    assert!(!carol.rights.now().contains(Policies::WRITE));

    add(&mut store, "/user", &[("name", "carol"), ("group", "read")]);
    access.follow(&store, 0);
    assert!(carol.is_ended(), "the name is somebody else's now");
}

#[test]
fn a_verifier_is_forgotten_with_a_rename_and_with_a_password_of_no_single_owner() {
    let mut door = Door::new();
    let verifier = |door: &Door, name: &str| {
        let attempt = door
            .access
            .attempt(&door.store, name, HOME, Service::BandwidthTest);
        attempt.verifier().map(str::to_owned)
    };
    let change = |door: &mut Door, name: &str, property: &'static str, value: Value| {
        let user = door.store.named("user", name).expect("the user").clone();
        let mark = door.store.begin();
        let given = [(property, Some(value))];
        door.store
            .set(user.menu, user.id, &given)
            .expect("a change");
        door.store.commit(mark).expect("nothing is journaled");
    };
    let sealed = |door: &Door, owner| door.store.seal(owner, "secret").expect("a seal");
    assert_eq!(verifier(&door, "eve"), None, "she had none before");

    let value = sealed(&door, Some("eve"));
    change(&mut door, "eve", "password", value);
    assert_eq!(verifier(&door, "eve").as_deref(), Some("0a0b"));
    change(&mut door, "eve", "comment", Value::text("x"));
    assert_eq!(verifier(&door, "eve").as_deref(), Some("0a0b"));

    change(&mut door, "eve", "name", Value::text("eva"));
    change(&mut door, "eva", "name", Value::text("eve"));
    assert_eq!(verifier(&door, "eve"), None, "her name was another");

    let value = sealed(&door, Some("eve"));
    change(&mut door, "eve", "password", value);
    let value = sealed(&door, None);
    change(&mut door, "eve", "password", value);
    assert_eq!(verifier(&door, "eve"), None, "the password is another");
}

#[test]
fn a_key_exchange_needs_the_policy_test_and_its_failure_is_logged() {
    let mut door = Door::new();
    let value = door.store.seal(Some("eve"), "secret").expect("a seal");
    let eve = door.store.named("user", "eve").expect("the user").clone();
    let mark = door.store.begin();
    door.store
        .set(eve.menu, eve.id, &[("password", Some(value))])
        .expect("a change");
    door.store.commit(mark).expect("nothing is journaled");
    let mut admit = |is_proved| {
        let attempt = door
            .access
            .attempt(&door.store, "eve", HOME, Service::BandwidthTest);
        let answer = attempt.exchange(is_proved);
        let clock = Clock::utc(0);
        let admitted = door.access.admit(&door.store, answer, clock, &mut door.log);
        admitted.map(|login| login.user)
    };

    assert_eq!(
        admit(true),
        Ok("eve".to_owned()),
        "the group read has the policy"
    );
    assert_eq!(admit(false), Err(Refused::Credentials));
    let last = door.log.last().map(|(_, line)| &**line);
    assert_eq!(
        last,
        Some("login failure for user eve from 10.0.0.2 via bandwidth-test")
    );
}
