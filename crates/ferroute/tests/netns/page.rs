//! Tests the web page in a browser of a client on the LAN.

use std::fs;

use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, layout, output, run, text, until,
};

pub(crate) const ROUTER: &str = "192.168.88.1";
pub(crate) const CONFIG: &str = "/user set admin password=Sesamesesame1\n\
    /user add name=guest group=read password=Guestguest1\n\
    /user add name=other group=full password=Otherother1\n\
    /ip service set www disabled=no\n\
    /ip firewall filter\n\
    add chain=forward action=accept connection-state=established,related comment=known\n\
    add chain=forward action=drop connection-state=invalid\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=ether1\n";

#[test]
fn a_browser_changes_and_moves_rules_and_traces_packets() {
    let test = "a_browser_changes_and_moves_rules_and_traces_packets";
    let programs = ["chromium", "chromedriver", "python3", "curl"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let addresses: String = (0..2_000)
        .map(|number| {
            format!(
                "add list=many address=10.{}.{}.1\n",
                number >> 8,
                number & 255
            )
        })
        .collect();
    let config = format!(
        "{}\n{CONFIG}/ip firewall address-list\n{addresses}",
        layout("plain").config
    );
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let folder = Folder::new();
    page_answers(&lab);
    // Creates a connection that FastTrack does not support.
    let ping = Server::start(&lab, "client", "ping -i 0.2 203.0.113.1", "bytes from");
    browse(&lab, &folder, &router, include_str!("page.py"));
    drop(ping);

    follow_a_view(&lab);

    end_a_session(&lab, &folder);
    assert!(router.stop().success());
}

/// Waits until the router serves the page.
pub(crate) fn page_answers(lab: &lab::Lab) {
    until("www answers", || {
        let page = output(lab, "client", &format!("curl -s http://{ROUTER}/")).stdout;
        text(&page).contains("<title>ferroute</title>")
    });
}

/// Runs a script that drives a browser on the client, and prints what it tells.
pub(crate) fn browse(lab: &lab::Lab, folder: &Folder, router: &Router, script: &str) {
    let path = folder.file("script.py");
    fs::write(&path, script).expect("a folder of our own");
    fs::write(folder.file("browser.py"), include_str!("browser.py")).expect("a folder of our own");
    // Chromium cancels all requests when an address of its host is added or becomes usable.
    until("the client's addresses are usable", || {
        output(lab, "client", "ip address show tentative")
            .stdout
            .is_empty()
    });
    // FERROUTE_PICTURES names the folder for screenshots.
    let pictures = std::env::var("FERROUTE_PICTURES").unwrap_or_else(|_| "-".to_owned());
    let line = format!(
        "env HOME={} python3 {} http://{ROUTER}/ Sesamesesame1 {pictures} {}",
        folder.file("").display(),
        path.display(),
        router.process()
    );
    let told = output(lab, "client", &line);
    let said = format!("{}{}", text(&told.stdout), text(&told.stderr));
    assert!(told.status.success() && said.ends_with("done\n"), "{said}");
    println!("{said}");
}

/// Tests the stream of a view by HTTP Basic: users without a login and unknown menus are refused, and the stream has
/// only the window and the columns that were asked for.
fn follow_a_view(lab: &lab::Lab) {
    let curl = |user: &str, query: &str| {
        let line = format!("curl -s --max-time 3 {user} http://{ROUTER}/events?{query}");
        text(&output(lab, "client", &line).stdout)
    };
    let admin = "-u admin:Sesamesesame1";
    assert!(curl("", "menu=/interface").contains("401"));
    assert!(curl(admin, "menu=/none").contains("no menu with rows"));
    assert!(curl(admin, "menu=/interface&size=1").contains("unknown parameter size"));
    let many = "menu=/ip/firewall/address-list&columns=address&first=1990&count=5";
    let stream = curl(admin, many);
    assert!(
        stream.contains("\"total\":2000") && stream.contains("10.7.202.1"),
        "{stream}"
    );
    assert!(!stream.contains("many") && stream.len() < 1_000, "{stream}");
}

/// Tests that a cookie without the page's header is refused, and that logging out ends a session and its streams.
fn end_a_session(lab: &lab::Lab, folder: &Folder) {
    let jar = folder.file("jar");
    let curl = |arguments: &str| {
        let jar = jar.display();
        run(
            lab,
            "client",
            &format!("curl -s -b {jar} -c {jar} {arguments}"),
        )
    };
    let session = format!("http://{ROUTER}/session");
    let own = "-H X-Ferroute:page";
    let claim = r#"{"user":"admin","password":"Sesamesesame1"}"#;
    assert!(curl(&format!("{own} -d {claim} {session}")).contains("\"write\""));
    let identity = format!("http://{ROUTER}/rest/system/identity");
    assert!(curl(&format!("{own} {identity}")).contains("\"name\""));
    assert!(curl(&identity).contains("401"));
    let events = format!(
        "curl -sN -b {} {own} http://{ROUTER}/events?menu=/interface",
        jar.display()
    );
    let mut stream = Server::start(lab, "client", &events, "data:");
    curl(&format!("{own} -X DELETE {session}"));
    until("the stream ends with its session", || stream.has_ended());
    assert!(curl(&format!("{own} {identity}")).contains("401"));
}
