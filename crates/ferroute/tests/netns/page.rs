//! Tests the web page in a browser of a client on the LAN.

use std::fs;

use crate::world::{
    Folder, PACKET, Router, Server, Start, have, lab, layout, output, run, text, until,
};

const ROUTER: &str = "192.168.88.1";
const CONFIG: &str = "/user set admin password=Sesamesesame1\n\
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
    let config = format!("{}\n{CONFIG}", layout("plain").config);
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let folder = Folder::new();
    until("www answers", || {
        let page = output(&lab, "client", &format!("curl -s http://{ROUTER}/")).stdout;
        text(&page).contains("<title>ferroute</title>")
    });
    // Creates a connection that FastTrack does not support.
    let ping = Server::start(&lab, "client", "ping -i 0.2 203.0.113.1", "bytes from");
    let script = folder.file("page.py");
    fs::write(&script, include_str!("page.py")).expect("a folder of our own");
    // FERROUTE_PICTURES names the folder for screenshots.
    let pictures = std::env::var("FERROUTE_PICTURES").unwrap_or_else(|_| "-".to_owned());
    let line = format!(
        "env HOME={0} python3 {1} http://{ROUTER}/ Sesamesesame1 {pictures}",
        folder.file("").display(),
        script.display()
    );
    let told = output(&lab, "client", &line);
    drop(ping);
    let said = format!("{}{}", text(&told.stdout), text(&told.stderr));
    assert!(told.status.success() && said.ends_with("done\n"), "{said}");

    // A cookie without the page's header is refused, and logging out ends its session.
    let jar = folder.file("jar");
    let curl = |arguments: &str| {
        let jar = jar.display();
        run(
            &lab,
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
    curl(&format!("{own} -X DELETE {session}"));
    assert!(curl(&format!("{own} {identity}")).contains("401"));
    assert!(router.stop().success());
}
