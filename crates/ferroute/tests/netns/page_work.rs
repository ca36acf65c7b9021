//! Tests the terminal, the tools and the changes of the web page in a browser of a client on the LAN.

use crate::page::{CONFIG, ROUTER, browse, page_answers};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, output, text};

/// A user who may only look at the configuration.
const VIEWER: &str = "/user group add name=viewer policy=web,read\n\
    /user add name=viewer group=viewer password=Viewerviewer1\n";

#[test]
fn a_browser_uses_the_terminal_and_the_tools() {
    let test = "a_browser_uses_the_terminal_and_the_tools";
    let programs = ["chromium", "chromedriver", "python3", "curl"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n{CONFIG}{VIEWER}", layout("plain").config);
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let folder = Folder::new();
    page_answers(&lab);
    let ping = Server::start(&lab, "client", "ping -i 0.2 203.0.113.1", "bytes from");
    browse(&lab, &folder, &router, include_str!("page_work.py"));
    drop(ping);

    stop_with_the_client(&lab);

    assert!(router.stop().success());
}

/// Tests that commands of clients that vanish end: more are started than may run at once.
fn stop_with_the_client(lab: &lab::Lab) {
    let run = format!(
        "curl -s -i --max-time 2 -u other:Otherother1 -H Content-Type:application/json \
         -d {{\"address\":\"203.0.113.1\",\"interval\":\"100ms\"}} http://{ROUTER}/run/tool/ping"
    );
    for turn in 0..20 {
        let told = text(&output(lab, "client", &run).stdout);
        assert!(told.contains("data: [{"), "{turn}: {told}");
    }
    let refused = run.replace("/run/tool/ping", "/run/tool/none");
    let told = text(&output(lab, "client", &refused).stdout);
    assert!(told.contains("404"), "{told}");
}
