//! Tests of files whose owner is another user.

use menu::{Files as _, Policies, Rights};
use script::Session;

use crate::Instance;
use crate::drive::Setup;
use crate::files::Files;

const DENIED: &str = "not enough permissions (9)";
const READER: Policies = Policies::READ;
const WRITER: Policies = Policies::READ.or(Policies::WRITE);
const MANAGER: Policies = WRITER.or(Policies::POLICY);

fn router() -> Instance {
    let (mut router, _) =
        Instance::new(&Setup::offline(menu::Clock::utc(0)), schema::store()).expect("a small pool");
    by(
        &mut router,
        User("admin", Policies::ALL),
        "/interface list add name=LAN",
    );
    router
}

/// A user's name and policies.
#[derive(Clone, Copy)]
struct User(&'static str, Policies);

/// Runs a line with the policies of a user. Returns its output and error.
fn by(router: &mut Instance, user: User, line: &str) -> String {
    let mut session = Session::new(user.0);
    session.rights = Rights::fixed(user.1);
    let mut out = String::new();
    match router.run(&mut session, line, &mut out) {
        Ok(()) => out,
        Err(refusal) => out + &refusal.to_string(),
    }
}

const ADMIN: User = User("admin", Policies::ALL);

#[test]
fn only_user_managers_change_files_of_others() {
    let mut router = router();
    by(&mut router, ADMIN, "/export file=kept");
    let before = by(&mut router, ADMIN, ":put [/file get kept.rsc contents]");

    let refused = by(&mut router, User("rita", READER), "/export file=kept");
    assert_eq!(refused, DENIED);
    for line in [
        "/export file=kept",
        ":serialize to=json value=1 file-name=kept.rsc",
        "/file set kept.rsc contents=x",
        "/file set kept.rsc name=mine.rsc",
        "/file remove kept.rsc",
    ] {
        assert_eq!(
            by(&mut router, User("wanda", WRITER), line),
            DENIED,
            "{line}"
        );
    }

    let after = by(&mut router, ADMIN, ":put [/file get kept.rsc contents]");
    assert_eq!(before, after);
    assert_eq!(
        by(&mut router, User("rita", READER), "/export file=hers"),
        ""
    );
    assert_eq!(
        by(&mut router, User("rita", READER), "/export file=hers"),
        ""
    );
    let managed = by(
        &mut router,
        User("maud", MANAGER),
        "/file remove hers.rsc,kept.rsc",
    );
    assert_eq!(managed, "");
}

#[test]
fn what_may_hold_secrets_is_read_by_who_sees_secrets() {
    let mut router = router();
    by(&mut router, ADMIN, "/export file=plain");
    by(&mut router, ADMIN, "/export file=secret show-sensitive");
    by(
        &mut router,
        ADMIN,
        "/system backup save name=b dont-encrypt=yes",
    );

    for line in [
        ":put [/file read file=secret.rsc chunk-size=10]",
        "/file copy secret.rsc name=mine.rsc",
        "/import secret.rsc",
        ":put [/file read file=b.backup chunk-size=10]",
    ] {
        assert_eq!(
            by(&mut router, User("wanda", WRITER), line),
            DENIED,
            "{line}"
        );
    }
    let shown = ":put [:len [/file get [find name=secret.rsc] contents]]";
    assert_eq!(by(&mut router, User("rita", READER), shown), "0\n");
    let plain = ":put ([:len [/file get [find name=plain.rsc] contents]] > 0)";
    assert_eq!(by(&mut router, User("rita", READER), plain), "true\n");
    assert_eq!(
        by(&mut router, ADMIN, "/file set secret.rsc name=other.rsc"),
        ""
    );
    let read = ":put [/file read file=other.rsc chunk-size=10]";
    assert_eq!(by(&mut router, User("wanda", WRITER), read), DENIED);
}

#[test]
fn a_user_may_fill_only_a_share_of_the_space() {
    let mut router = router();
    let many = ":for i from=1 to=300 do={ /export file=\"f$i\" }";

    let full = by(&mut router, User("rita", READER), many);

    assert_eq!(full, "failure: not enough space: your share is used up");
    assert_eq!(by(&mut router, User("rita", READER), "/export file=f1"), "");
    assert_eq!(
        by(&mut router, User("anna", READER), "/export file=hers"),
        ""
    );
    assert_eq!(
        by(&mut router, ADMIN, many.replace("\"f", "\"a").as_str()),
        ""
    );
}

#[test]
fn who_owns_a_file_is_known_after_a_restart() {
    let folder = std::env::temp_dir().join(format!("ferroute-owners-{}", std::process::id()));
    let open = || Files::open(&folder).expect("a folder");
    let mut router = router();
    router.control().set_files(open());
    by(&mut router, ADMIN, "/export file=secret show-sensitive");
    by(&mut router, ADMIN, "/file add name=d type=directory");
    by(&mut router, ADMIN, "/file add name=d/notes.txt contents=x");
    by(&mut router, ADMIN, "/file set d name=e");

    router.control().set_files(open());

    let read = ":put [/file read file=secret.rsc chunk-size=10]";
    assert_eq!(by(&mut router, User("wanda", WRITER), read), DENIED);
    for line in [
        "/file remove secret.rsc",
        "/file set e/notes.txt contents=y",
    ] {
        assert_eq!(
            by(&mut router, User("wanda", WRITER), line),
            DENIED,
            "{line}"
        );
    }
    let list = by(&mut router, ADMIN, ":put [:len [/file find]]");
    assert_eq!(list, "3\n", "the labels are no file");
    let contents = router.control().manage.files.read("e/notes.txt");
    assert_eq!(contents.as_deref(), Ok(&b"x"[..]));
    std::fs::remove_dir_all(&folder).expect("it was made here");
}

#[test]
fn adding_a_file_returns_its_id() {
    let mut router = router();
    let line = ":local id [/file add name=a.txt contents=x]; :put [/file get $id name]";
    assert_eq!(by(&mut router, ADMIN, line), "a.txt\n");
    let line = "/file remove [/file add name=b.txt]";
    assert_eq!(by(&mut router, ADMIN, line), "");
    let list = by(&mut router, ADMIN, ":put [:len [/file find]]");
    assert_eq!(list, "1\n");
}

#[test]
fn the_stored_mail_password_goes_to_another_server_only_with_sensitive() {
    let mut router = router();
    by(
        &mut router,
        ADMIN,
        "/tool e-mail set server=192.0.2.25 tls=yes from=r@example.org user=r password=hidden",
    );
    let tester = Policies::READ.or(Policies::TEST).or(Policies::WRITE);
    let send = "/tool e-mail send to=noc@example.org subject=s";
    assert_eq!(by(&mut router, User("tess", tester), send), "");
    for redirect in [
        "server=198.51.100.9",
        "port=2525",
        "tls=no",
        "certificate-verification=no",
    ] {
        let refused = by(
            &mut router,
            User("tess", tester),
            &format!("{send} {redirect}"),
        );
        assert!(
            refused.contains("needs the policy sensitive"),
            "{redirect}: {refused}"
        );
        let own = format!("{send} {redirect} user=tess password=hers");
        assert_eq!(
            by(&mut router, User("tess", tester), &own),
            "",
            "{redirect}"
        );
        assert_eq!(
            by(&mut router, ADMIN, &format!("{send} {redirect}")),
            "",
            "{redirect}"
        );
    }
}

#[test]
fn captured_packets_are_read_by_who_may_capture() {
    let mut router = router();
    for command in ["print", "find", "print count-only"] {
        let line = format!("/tool sniffer packet {command}");
        assert_eq!(
            by(&mut router, User("rita", READER), &line),
            DENIED,
            "{line}"
        );
        let sniffer = READER.or(Policies::SNIFF);
        assert_ne!(
            by(&mut router, User("sam", sniffer), &line),
            DENIED,
            "{line}"
        );
    }
}
