//! Tests: rights of files that events and scripts import or apply.

use super::rights::{DENIED, by, router, wait_a_day};
use crate::Instance;

/// Returns whether a file with these lines has added the user `new` or renamed the router after this event, and the
/// last log line.
fn after(event: &str, owner: &str, lines: &str) -> (bool, bool, String) {
    let mut router = router();
    let add = format!("/file add name=job.rsc contents=\"{lines}\"");
    assert_eq!(by(&mut router, owner, &add), "");
    let add = format!(
        "/system scheduler add name=e interval=1h policy=read,write,policy,test,sensitive on-event=\"{event}\""
    );
    assert_eq!(by(&mut router, "admin", &add), "");

    let said = wait_a_day(&mut router);

    (has_user(&mut router), is_renamed(&mut router), said)
}

fn has_user(router: &mut Instance) -> bool {
    by(router, "admin", ":put [:len [/user find name=new]]") == "1\n"
}

fn is_renamed(router: &mut Instance) -> bool {
    by(router, "admin", ":put [/system identity get name]") == "renamed\n"
}

const MAKES_A_USER: &str = "/user add name=new group=full password=x";
const RENAMES: &str = "/system identity set name=renamed";

#[test]
fn a_file_imported_by_an_event_has_only_the_rights_of_its_owner() {
    let import = "/import job.rsc";
    for event in [
        import,
        ":execute {/import job}",
        ":if (true) do={ /import job.rsc }",
    ] {
        let (made, _, said) = after(event, "wanda", MAKES_A_USER);
        assert!(!made, "{event}: {said}");
        if !event.starts_with(":execute") {
            assert!(said.contains(DENIED), "{event}: {said}");
        }
    }

    let (made, _, said) = after(import, "admin", MAKES_A_USER);
    assert!(made, "{said}");
    let (_, renamed, said) = after(import, "wanda", RENAMES);
    assert!(renamed, "she may do that: {said}");
}

#[test]
fn a_file_that_a_script_imports_has_no_more_rights_than_its_owner_whoever_lends_to_the_script() {
    let mut router = router();
    let add = format!("/file add name=job.rsc contents=\"{MAKES_A_USER}\"");
    assert_eq!(by(&mut router, "wanda", &add), "");
    let add =
        "/system script add name=lends dont-require-permissions=yes source=\"/import job.rsc\"";
    assert_eq!(by(&mut router, "admin", add), "");

    let said = by(&mut router, "wanda", "/system script run lends");

    assert!(!has_user(&mut router), "{said}");
    assert!(said.contains(DENIED), "{said}");
    // A line that a user types runs with the rights of the user.
    by(&mut router, "admin", "/import job.rsc");
    assert!(has_user(&mut router));
}

#[test]
fn events_do_not_import_files_of_removed_users() {
    let mut router = router();
    let add = format!("/file add name=job.rsc contents=\"{RENAMES}\"");
    assert_eq!(by(&mut router, "wanda", &add), "");
    by(&mut router, "admin", "/user remove wanda");
    let add = "/system scheduler add name=e interval=1h policy=read,write,sensitive on-event=\"/import job\"";
    assert_eq!(by(&mut router, "admin", add), "");

    let said = wait_a_day(&mut router);

    assert!(!is_renamed(&mut router), "{said}");
    let wanted = "the owner wanda of the file job.rsc does not exist or has no rights";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn other_commands_that_make_configuration_of_a_file_ask_for_its_owners_rights_too() {
    for event in [
        "/system configuration apply file=job",
        "/system reset-configuration skip-backup=yes run-after-reset=job.rsc",
        "/user ssh-keys import user=admin public-key-file=job.rsc",
    ] {
        let (made, _, said) = after(event, "wanda", MAKES_A_USER);
        assert!(!made, "{event}: {said}");
        assert!(said.contains("not enough permissions"), "{event}: {said}");
    }
    let reset = "/system reset-configuration skip-backup=yes run-after-reset=job.rsc";
    let (made, _, said) = after(reset, "admin", MAKES_A_USER);
    assert!(made, "{said}");
}
