//! Accounting of PPP sessions over restarts and crashes of the router, with FreeRADIUS.
//!
//! ```text
//! one ── left (PPPoE client) ── right (PPPoE server) ── two (FreeRADIUS)
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ::lab::Lab;

use crate::identity;
use crate::ipsec::SITES;
use crate::pppoe::{CLIENT, SERVER, start};
use crate::world::{Folder, Router, Server, have, lab, until};

/// Settings of the router that concern the RADIUS server.
pub(crate) const RADIUS: &str = "/ppp aaa set use-radius=yes accounting=yes\n\
    /radius add service=ppp address=10.2.0.2 secret=testing123 timeout=300ms\n";

/// Starts FreeRADIUS in the host `two`; its reports are in the file `detail` of the folder.
pub(crate) fn free_radius(lab: &Lab, folder: &Folder, users: &str) -> Server {
    let place = folder.file("").display().to_string();
    let place = place.trim_end_matches('/');
    let config = identity::SERVER.replace("FOLDER", place);
    fs::write(folder.file("radiusd.conf"), config).expect("a folder of our own");
    fs::write(folder.file("users"), users).expect("a folder of our own");
    let line = format!("freeradius -f -l stdout -xx -d {place}");
    Server::start(lab, "two", &line, "Ready to process requests")
}

/// Returns the reports that contain all texts.
fn reports(folder: &Folder, texts: &[&str]) -> Vec<String> {
    let detail = fs::read_to_string(folder.file("detail")).unwrap_or_default();
    let all = detail.split("\n\n").map(str::to_owned);
    let fits = |report: &String| texts.iter().all(|text| report.contains(text));
    all.filter(fits).collect()
}

pub(crate) fn wait_for(folder: &Folder, what: &str, texts: &[&str], router: &Router) -> String {
    let mut found = Vec::new();
    until(&format!("{what}: {}", router.log()), || {
        found = reports(folder, texts);
        !found.is_empty()
    });
    found.remove(0)
}

/// Returns the value of an attribute in a report.
pub(crate) fn attribute<'a>(report: &'a str, name: &str) -> &'a str {
    let lines = report.lines().map(str::trim);
    let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
    values.next().unwrap_or_else(|| panic!("{name}: {report}"))
}

const ON: [&str; 1] = ["Acct-Status-Type = Accounting-On"];
const OFF: [&str; 1] = ["Acct-Status-Type = Accounting-Off"];
pub(crate) const START: [&str; 2] = ["Acct-Status-Type = Start", "User-Name = \"anna\""];
const STOP: [&str; 2] = ["Acct-Status-Type = Stop", "User-Name = \"anna\""];

#[test]
fn accounting_survives_a_kill_of_the_router_and_ends_with_an_orderly_stop() {
    let test = "accounting_survives_a_kill_of_the_router_and_ends_with_an_orderly_stop";
    let programs = ["freeradius"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let (radius, folder) = (Folder::new(), Folder::new());
    let state = folder.file("state");
    let free = free_radius(&lab, &radius, "");
    let server = start(&lab, "right", &[SERVER, RADIUS].concat(), Some(&state));
    let on = wait_for(&radius, "On", &ON, &server);
    assert_eq!(attribute(&on, "NAS-Identifier"), "\"bras\"");
    assert!(!on.contains("User-Name"), "{on}");
    let client = start(&lab, "left", CLIENT, None);
    let begun = wait_for(&radius, "Start", &START, &server);

    // No server acknowledges the end of the session before the router is killed.
    drop(free);
    let records = state.join("records");
    let length = || fs::metadata(&records).map_or(0, |file| file.len());
    let before = length();
    client.exec("/interface/pppoe-client/disable pppoe-out1");
    until("the report is stored", || length() > before);
    until("the report waits", || {
        server.log().contains("reports of ended sessions wait")
    });
    server.kill();
    fs::remove_file(radius.file("detail")).expect("it has reports");
    let _free = free_radius(&lab, &radius, "");
    let server = start(&lab, "right", "", Some(&state));
    let ended = wait_for(&radius, "Stop", &STOP, &server);
    for name in ["Acct-Session-Id", "NAS-Port-Id", "Framed-IP-Address"] {
        assert_eq!(attribute(&ended, name), attribute(&begun, name));
    }
    assert_eq!(attribute(&ended, "Acct-Terminate-Cause"), "User-Request");
    assert_ne!(attribute(&ended, "Acct-Delay-Time"), "0");
    wait_for(&radius, "On", &ON, &server);
    until("all reports are answered", || {
        let log = server.log();
        log.contains("all reports of ended sessions were answered")
    });
    client.exec("/interface/pppoe-client/enable pppoe-out1");
    wait_for(&radius, "Start", &START, &server);
    it_ends_in_order(&lab, server, &radius, &state);
}

/// An orderly stop ends open sessions, and all accounting; the next start has nothing to repeat.
fn it_ends_in_order(lab: &Lab, server: Router, radius: &Folder, state: &Path) {
    assert!(server.stop().success());
    let stops = reports(radius, &STOP);
    let causes = { stops.iter() }.map(|of| attribute(of, "Acct-Terminate-Cause"));
    let causes: Vec<_> = causes.collect();
    assert_eq!(causes, ["User-Request", "Admin-Reboot"]);
    assert_eq!(reports(radius, &OFF).len(), 1);

    let before = reports(radius, &ON).len();
    let server = start(lab, "right", "", Some(state));
    until("a further Accounting-On", || {
        reports(radius, &ON).len() > before
    });
    assert!(server.stop().success());
    let stops = reports(radius, &STOP);
    let sessions = { stops.iter() }.map(|of| attribute(of, "Acct-Session-Id"));
    let sessions: BTreeSet<_> = sessions.collect();
    assert!(
        stops.len() <= 3 && stops.len() == sessions.len(),
        "no session ends twice: {stops:#?}"
    );
}
