//! Tests that the history of minutes survives a kill of the router, and that an unreadable file is put aside.

use std::fs;

use crate::page::{ROUTER, page_answers};
use crate::world::{Folder, PACKET, Router, Start, have, lab, layout, output, text, until};

const CONFIG: &str = "/user set admin password=Sesamesesame1\n/ip service set www disabled=no\n";

#[test]
fn minutes_of_traffic_survive_a_kill() {
    let test = "minutes_of_traffic_survive_a_kill";
    let Some(lab) = have(test, &["curl", "ping"])
        .then(|| lab(test, layout("plain")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n{CONFIG}", layout("plain").config);
    let folder = Folder::new();
    let state = folder.file("state");
    let start = Start {
        state: Some(&state),
        ..Start::with(PACKET, &config)
    };
    let minutes = || {
        let line = format!(
            "curl -s -u admin:Sesamesesame1 http://{ROUTER}/history?span=minutes&interface=ether2"
        );
        let said = text(&output(&lab, "client", &line).stdout);
        let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        said["interfaces"]["ether2"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    let file = state.join("traffic");
    let size = || fs::metadata(&file).map_or(0, |file| file.len());
    let router = Router::start(&lab, &start);
    page_answers(&lab);
    let empty = size();
    until("a minute is stored", || size() > empty);
    let before = minutes();
    assert!(
        before.iter().any(|rates| rates[0].as_u64() > Some(0)),
        "{before:?}"
    );
    router.kill();

    let router = Router::start(&lab, &start);
    page_answers(&lab);
    let after = minutes();
    assert_eq!(after[..before.len()], before[..], "{after:?}");
    router.kill();

    fs::write(&file, "no log at all").expect("our file");
    let router = Router::start(&lab, &start);
    page_answers(&lab);
    assert!(minutes().is_empty());
    assert!(file.with_extension("unreadable").exists());
    assert!(router.stop().success());
}
