//! Printing to files, exports, imports and dry runs.

use script::Session;

use super::{LISTS, once, read, router, run, write};
use crate::Instance;

#[test]
fn print_to_a_file_replaces_it_or_appends_to_it() {
    let mut router = router();
    once(&mut router, "/interface list add name=LAN");
    let print = "/interface list print terse proplist=name file=lists";

    once(&mut router, print);
    let one = read(&mut router, "lists.txt");
    once(&mut router, &format!("{print} append"));
    assert_eq!(read(&mut router, "lists.txt"), one.repeat(2));
    once(&mut router, print);
    assert_eq!(read(&mut router, "lists.txt"), one);
}

#[test]
fn an_imported_export_file_gives_the_same_configuration() {
    let mut router = router();
    once(&mut router, "/interface list add name=LAN comment=\"a b\"");
    once(
        &mut router,
        "/ip firewall filter add chain=input action=drop",
    );
    once(&mut router, "/system identity set name=core");
    once(&mut router, "/export file=all");
    once(
        &mut router,
        "/interface list export file=lists where name=LAN",
    );

    assert_eq!(
        read(&mut router, "lists.rsc"),
        "# 2026-11-21 18:57:57 by RouterOS 7.22.1\n# software id = \n#\n\
         /interface list\nadd comment=\"a b\" name=LAN\n"
    );
    let mut other = super::router();
    let text = read(&mut router, "all.rsc");
    write(&mut other, "all.rsc", &text);
    assert_eq!(
        once(&mut other, "/import file-name=all.rsc"),
        "\nScript file loaded and executed successfully\n"
    );
    let second = once(&mut other, "/export");
    assert_eq!(second, text);
    assert_eq!(once(&mut other, "/system history print count-only"), "1\n");
}

#[test]
fn an_import_says_where_it_failed_and_leaves_nothing() {
    let mut router = router();
    let bad = "/interface list\nadd name=A\nadd name=A\n";
    write(&mut router, "bad.rsc", bad);
    write(
        &mut router,
        "waits.rsc",
        ":delay 1s\n/interface list add name=A\n",
    );
    write(&mut router, "good.rsc", "/interface list\nadd name=A\n");
    write(&mut router, "syntax.rsc", "/interface list\nadd name=A )\n");

    let failed = once(&mut router, "/import bad");
    assert_eq!(
        failed,
        "failure: already have interface list with such name (line 3 column 1); \
         nothing of the file was applied"
    );
    assert_eq!(once(&mut router, LISTS), "0\n");
    let syntax = once(&mut router, "/import syntax.rsc");
    let nothing = "(line 2 column 12); nothing of the file was applied";
    assert!(syntax.ends_with(nothing), "{syntax}");
    assert_eq!(
        once(&mut router, "/import none"),
        "Cannot open import file, file does not exist"
    );
    let dry = once(&mut router, "/import good.rsc verbose=yes dry-run");
    assert!(
        dry.starts_with("#line 1\n/interface list\n#line 2\nadd name=A\n"),
        "{dry}"
    );
    assert_eq!(once(&mut router, LISTS), "0\n");
    write(
        &mut router,
        "wrong.rsc",
        "/interface list\nadd name=A )\nadd name=A\nadd name=A\n/nowhere\n",
    );
    let wrong = once(&mut router, "/import wrong.rsc verbose=yes dry-run");
    let errors: Vec<_> = wrong
        .lines()
        .filter(|line| line.contains("(line"))
        .collect();
    assert_eq!(errors.len(), 3, "{wrong}");
    assert!(errors[1].ends_with("(line 4 column 1)"), "{wrong}");
    assert!(
        wrong.ends_with("found 3 error(s) in import file"),
        "{wrong}"
    );
    assert_eq!(once(&mut router, LISTS), "0\n");
    let atomic = once(&mut router, "/import waits.rsc atomic=yes");
    assert!(atomic.starts_with("failure: the file waits"), "{atomic}");
    write(
        &mut router,
        "stops.rsc",
        ":delay 1ms\n/interface list add name=B\nadd name=B\n",
    );
    let stopped = once(&mut router, "/import stops.rsc");
    assert!(
        stopped.ends_with(
            "the commands before it were applied, because the file waits or queries other hosts"
        ),
        "{stopped}"
    );
    once(&mut router, "/interface list remove B");
    once(&mut router, "/import good.rsc verbose=yes from-line=3");
    assert_eq!(once(&mut router, LISTS), "0\n");
    once(&mut router, "/import good.rsc verbose=yes from-line=2");
    assert_eq!(once(&mut router, LISTS), "1\n", "the menu is still known");
}

/// Imports an exported configuration as a dry run into the router that exported it.
#[test]
fn the_dry_run_of_a_whole_configuration_checks_against_what_the_file_makes() {
    let mut router = router();
    let body = "/interface bridge add name=lan\n/interface list add name=LAN\n\
                /interface list member add list=LAN interface=lan\n";
    once(&mut router, body);
    let whole = format!("# 2026-11-29 02:00:00 by RouterOS 7.22.1\n# software id = \n#\n{body}");
    write(&mut router, "whole.rsc", &whole);
    write(&mut router, "part.rsc", body);
    let dry = |router: &mut Instance, file: &str| {
        once(router, &format!("/import {file} verbose=yes dry-run"))
    };
    let said = dry(&mut router, "whole.rsc");
    assert!(!said.contains("error(s)"), "{said}");
    assert!(dry(&mut router, "part.rsc").ends_with("found 3 error(s) in import file"));
    // Errors in the file itself are still found.
    write(
        &mut router,
        "wrong.rsc",
        &format!("{whole}/interface list add name=LAN\n"),
    );
    assert!(dry(&mut router, "wrong.rsc").ends_with("found 1 error(s) in import file"));
}

/// A dry run converts an older configuration like an import, and reports refused conversions.
#[test]
fn a_dry_run_judges_what_the_conversion_of_an_older_file_makes() {
    let mut router = router();
    let joined = "/interface ethernet set ether2 master-port=ether1\n";
    write(&mut router, "good.rsc", joined);
    let clash = "/interface bridge add name=lan\n/interface ethernet set ether2 master-port=lan\n";
    write(&mut router, "clash.rsc", clash);
    let imported = once(&mut router, "/import clash.rsc");
    let (reason, _) = imported.split_once(';').expect("nothing is applied");
    let dry = once(&mut router, "/import clash.rsc verbose=yes dry-run");
    assert!(dry.contains(reason), "{imported}: {dry}");
    assert!(dry.ends_with("found 1 error(s) in import file"), "{dry}");
    let dry = once(&mut router, "/import good.rsc verbose=yes dry-run");
    assert!(!dry.contains("error(s)"), "{dry}");
    let bridges = ":put [:len [/interface bridge find]]";
    assert_eq!(once(&mut router, bridges), "0\n", "nothing remains of it");
}

#[test]
fn an_api_client_gets_a_limited_list_of_dry_run_errors() {
    let mut router = router();
    let long = "x".repeat(1000);
    let line = format!("/{long}\n");
    write(&mut router, "wrong.rsc", &line.repeat(30));
    let mut program = Session::new("admin");
    program.via = "api";

    let told = run(
        &mut router,
        &mut program,
        "/import wrong.rsc verbose=yes dry-run",
    );

    let (_, told) = told.rsplit_once("found ").expect("errors are found");
    assert!(told.starts_with("30 error(s) in import file\n"), "{told}");
    let errors: Vec<_> = told.lines().skip(1).collect();
    assert_eq!(errors.len(), 20, "{told}");
    assert!(
        errors.iter().all(|error| error.chars().count() <= 201),
        "{told}"
    );
    let mut user = Session::new("admin");
    let shown = run(
        &mut router,
        &mut user,
        "/import wrong.rsc verbose=yes dry-run",
    );
    assert!(
        shown.ends_with("found 30 error(s) in import file"),
        "{shown}"
    );
}

#[test]
fn a_verbose_export_can_be_run() {
    let (mut router, mut session) = (router(), Session::new("admin"));
    let text = run(&mut router, &mut session, "/export verbose");
    assert_eq!(run(&mut super::router(), &mut session, &text), "");
}
