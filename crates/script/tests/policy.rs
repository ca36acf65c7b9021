//! The policies of a session and the commands that they permit.

use menu::{Offline, Policies, Store};
use script::Session;

/// A session with policies, on a store with a user.
struct Console {
    store: Store,
    session: Session,
}

impl Console {
    fn with(policies: Policies) -> Self {
        let mut console = Self {
            store: schema::store(),
            session: Session::new("admin"),
        };
        console
            .store
            .set_seal(seal, |seal, text| seal.chars().rev().eq(text.chars()));
        console.run("/user add name=eve group=read password=secret comment=c");
        console.session.policies = policies;
        console
    }

    fn run(&mut self, line: &str) -> String {
        let mut out = String::new();
        let (store, session) = (&mut self.store, &mut self.session);
        match script::run(store, &mut Offline, session, line, &mut out) {
            Ok(()) => out,
            Err(refusal) => out + &refusal.to_string(),
        }
    }
}

/// Reverses the text, so that a sealed text differs from the original.
fn seal(_: &Store, _: Option<&str>, text: &str) -> Result<String, menu::Reason> {
    Ok(text.chars().rev().collect())
}

const DENIED: &str = "not enough permissions (9)";

#[test]
fn a_read_only_user_cannot_change_items() {
    let mut console = Console::with(Policies::READ | Policies::SENSITIVE);

    for line in [
        "/system identity set name=x",
        "/interface list add name=x",
        "/interface list remove [find name=x]",
        "/interface list set [find name=all] comment=x",
        ":if (true) do={ /interface list add name=x }",
        ":put [/interface list add name=x]",
        "/user add name=x group=full password=x",
    ] {
        assert_eq!(console.run(line), DENIED, "{line}");
    }
    assert!(console.run("/system identity print").contains("ferroute"));
    assert!(console.run("/export").contains("/user"));
    assert_eq!(console.run(":put (1 + 1)"), "2\n");
}

#[test]
fn a_user_without_read_sees_nothing() {
    let mut console = Console::with(Policies::WRITE | Policies::TEST);

    for line in [
        "/system identity print",
        "/system identity get name",
        ":put [/interface list find]",
        "/export",
        "/system identity export",
    ] {
        assert_eq!(console.run(line), DENIED, "{line}");
    }
    assert_eq!(console.run("/system identity set name=x"), "");
}

#[test]
fn a_user_without_read_runs_no_jobs() {
    let mut console = Console::with(Policies::NONE);

    for line in [
        ":execute {:delay 1h}",
        ":execute script=\":delay 1h\"",
        ":execute as-string script={:put 1}",
        ":if (true) do={ :execute {:delay 1h} }",
    ] {
        assert_eq!(console.run(line), DENIED, "{line}");
    }
    assert!(console.session.scripting.jobs().is_empty());

    console.session.policies = Policies::READ;

    let inside = ":put [:execute as-string script={:put 1}]";
    assert_eq!(console.run(inside).trim(), "1");
    let beside = console.run(":execute {:delay 1h}");
    assert!(
        beside.contains("can not run in the background here"),
        "{beside}"
    );
}

#[test]
fn managing_users_requires_the_policy_right() {
    let mut console = Console::with(Policies::READ | Policies::WRITE);
    for line in [
        "/user add name=x group=full password=x",
        "/user set eve group=full",
        "/user remove eve",
        "/user group set read policy=read,policy",
        "/user settings set minimum-password-length=3",
    ] {
        assert_eq!(console.run(line), DENIED, "{line}");
    }

    console.session.policies = Policies::ALL;

    assert_eq!(console.run("/user set eve group=full"), "");
    assert_eq!(console.run("/user group add name=x policy=read,test"), "");
    let policy = console.run(":put [/user group get x policy]");
    assert!(policy.starts_with("read;test;!local;"), "{policy}");
}

#[test]
fn an_error_of_permissions_can_be_handled() {
    let mut console = Console::with(Policies::READ);

    let line = ":onerror e in={ /interface list add name=x } do={ :put $e }";

    assert!(console.run(line).starts_with(DENIED));
}

#[test]
fn passwords_and_their_hashes_are_never_shown() {
    let mut console = Console::with(Policies::ALL);

    for line in [
        "/user print detail",
        "/user print as-value",
        ":put [/user print as-value]",
        ":put [/user get eve]",
        ":put [/user get eve password]",
        "/user print proplist=name,password",
        "/user export show-sensitive",
        "/user export verbose show-sensitive",
    ] {
        let shown = console.run(line);
        assert!(
            !shown.contains("secret") && !shown.contains("terces"),
            "{line}: {shown}"
        );
    }
    for line in [
        ":put [:len [/user find password=secret]]",
        ":put [:len [/user find password~\"e\"]]",
    ] {
        assert_eq!(console.run(line), "0\n", "{line}");
    }
    assert!(console.run("/user export").contains("name=eve"));
    let seal = console
        .store
        .named("user", "eve")
        .map(|item| item.text("password").to_owned());
    assert_eq!(seal.as_deref(), Some("terces"));
}

#[test]
fn the_first_user_can_be_removed_when_there_is_another() {
    let mut console = Console::with(Policies::ALL);

    let last = "failure: at least one user with full rights must be left";
    for line in [
        "/user remove admin",
        "/user disable admin",
        "/user set admin group=write",
        "/user group set full policy=read,write",
    ] {
        assert_eq!(console.run(line), last, "{line}");
    }
    assert_eq!(console.run("/user set eve group=full"), "");
    assert_eq!(console.run("/user remove admin"), "");
    assert_eq!(console.run(":put [:len [/user find]]"), "1\n");
    assert_eq!(
        console.run("/user add name=eve group=full"),
        "failure: user with the same name already exists"
    );
}

#[test]
fn users_can_change_only_their_own_password() {
    let mut console = Console::with(Policies::READ | Policies::PASSWORD);
    console.session.user = "eve".into();
    let change = |old: &str, again: &str| {
        format!("/password old-password={old} new-password=new confirm-new-password={again}")
    };

    assert_eq!(
        console.run(&change("wrong", "new")),
        "failure: invalid old password"
    );
    assert_eq!(
        console.run(&change("secret", "newer")),
        "failure: new passwords do not match"
    );
    assert_eq!(console.run(&change("secret", "new")), "");
    assert_eq!(console.run(&change("new", "new")), "");
    assert_eq!(console.run("/undo"), DENIED);
    console.session.policies = Policies::READ;
    assert_eq!(console.run(&change("new", "new")), DENIED);
}

/// The policies of a user who may write but not manage users.
const WRITER: Policies = Policies::READ.or(Policies::WRITE);

impl Console {
    fn run_as(&mut self, user: &str, policies: Policies, line: &str) -> String {
        self.session.user = user.into();
        self.session.policies = policies;
        self.run(line)
    }

    fn state(&mut self) -> String {
        self.run_as("admin", Policies::ALL, "/export show-sensitive")
    }
}

#[test]
fn a_user_can_undo_only_their_own_last_change() {
    let mut console = Console::with(Policies::ALL);
    console.run("/interface list add name=LAN");
    let before = console.state();

    let refused = console.run_as("eve", WRITER, "/undo");

    let words = "failure: the last change was made by admin; undo requires policy";
    assert_eq!(refused, words);
    assert_eq!(console.state(), before);
    console.run_as("eve", WRITER, "/interface list add name=HERS");
    assert_eq!(console.run_as("eve", WRITER, "/undo"), "");
    assert_eq!(console.state(), before);
    assert_eq!(console.run_as("eve", WRITER, "/undo"), words);
    let other = console.run_as("bob", WRITER, "/redo");
    assert_eq!(
        other,
        "failure: the last change was made by eve; redo requires policy"
    );
    assert_eq!(console.state(), before);
    assert_eq!(console.run_as("eve", WRITER, "/redo"), "");
    assert!(console.state().contains("HERS"));
    let manager = WRITER | Policies::POLICY;
    assert_eq!(console.run_as("bob", manager, "/undo"), "");
    assert_eq!(console.state(), before);
}

#[test]
fn undoing_a_change_of_users_requires_the_right_to_manage_users() {
    let mut console = Console::with(Policies::ALL);
    let manager = WRITER | Policies::POLICY;
    for change in ["/user remove eve", "/user group add name=few policy=read"] {
        let before = console.state();
        assert_eq!(console.run_as("bob", manager, change), "", "{change}");
        let after = console.state();

        let refused = console.run_as("bob", WRITER, "/undo");

        assert!(
            refused.starts_with("failure: the last change is in /user"),
            "{refused}"
        );
        assert!(
            refused.ends_with("; undo requires write,policy"),
            "{refused}"
        );
        assert_eq!(console.state(), after);
        assert_eq!(console.run_as("bob", manager, "/undo"), "");
        assert_eq!(console.state(), before);
        let refused = console.run_as("bob", WRITER, "/redo");
        assert!(
            refused.ends_with("; redo requires write,policy"),
            "{refused}"
        );
        assert_eq!(console.state(), before);
    }
}

#[test]
fn a_backup_loads_routeros_scheduler_entries() {
    let scheduled = "ftp,reboot,read,write,policy,test";
    let kind = menu::Kind::Marked(Policies::WORDS);
    let value = kind.parse("policy", scheduled).expect("policies");
    let mut console = Console::with(Policies::from_value(&value));

    let loaded = console.run("/system backup load name=x password=y");
    let saved = console.run("/system backup save name=x password=y");

    assert_ne!(loaded, DENIED);
    assert_eq!(saved, DENIED, "it holds all secrets");
    console.session.policies = WRITER;
    assert_eq!(console.run("/system backup load name=x password=y"), DENIED);
}
