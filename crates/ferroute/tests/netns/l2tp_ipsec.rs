//! L2TP in IPsec transport mode (RFC 3193) between two ferroutes: `use-ipsec` and `ipsec-secret` make peers and
//! policies.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use lab::Lab;

use crate::ipsec::SITES;
use crate::l2tp::{CLIENT, SERVER};
use crate::pppoe::start;
use crate::world::{Folder, Router, have, lab, until, works};

fn server_config() -> String {
    let protected = "/interface l2tp-server server set use-ipsec=required ipsec-secret=shared\n";
    [SERVER, protected].concat()
}

fn client_config() -> String {
    CLIENT.replace(
        "name=l2tp-out1",
        "name=l2tp-out1 use-ipsec=yes ipsec-secret=shared",
    )
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1{more} 10.2.0.2"))
}

fn drops(router: &Router) -> String {
    router.exec("/tool/drop/print without-paging")
}

#[test]
fn a_client_with_a_secret_is_protected_and_comes_back_after_a_kill_of_either_end() {
    let test = "a_client_with_a_secret_is_protected_and_comes_back_after_a_kill_of_either_end";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folders = [Folder::new(), Folder::new()];
    let states = folders.each_ref().map(|folder| folder.file("state"));
    let server = start(&lab, "right", &server_config(), Some(&states[1]));
    let client = start(&lab, "left", &client_config(), Some(&states[0]));
    until("a packet gets through", || reaches(&lab, ""));
    for router in [&server, &client] {
        let pairs = router.rows("/ip/ipsec/installed-sa/print");
        assert!(pairs.len() >= 2, "{pairs:?}");
        let peers = router.rows("/ip/ipsec/peer/print");
        let made = peers.iter().filter(|peer| peer["dynamic"] == "true");
        let names: Vec<_> = made.map(|peer| peer["name"].clone()).collect();
        let expected = match std::ptr::eq(router, &raw const server) {
            true => "l2tp-in-server",
            false => "l2tp-out1",
        };
        assert_eq!(names, [expected], "{peers:?}");
    }
    assert!(reaches(&lab, " -s 1422 -M do"), "{}", client.log());
    let before = drops(&server);
    assert!(!before.contains("l2tp-unprotected"), "{before}");

    client.kill();
    let client = start(&lab, "left", "", Some(&states[0]));
    until("the session is back after the client was killed", || {
        reaches(&lab, "")
    });
    server.kill();
    let server = start(&lab, "right", "", Some(&states[1]));
    until("the session is back after the server was killed", || {
        reaches(&lab, "")
    });

    // Without its policy the client's session carries nothing in clear, and the server accepts nothing in clear.
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=no");
    until("the server refuses unprotected requests", || {
        drops(&server).contains("l2tp-unprotected")
    });
    assert!(!reaches(&lab, ""));
    until("the keepalive of the server ends the session", || {
        server.rows("/ppp/active/print").is_empty()
    });
    let failures = || client.log().matches("peer is not responding").count();
    let before = failures();
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=yes ipsec-secret=other");
    until("another secret opens nothing", || failures() > before);
    assert!(server.rows("/ppp/active/print").is_empty());
    server.exec("/interface/l2tp-server/server/set use-ipsec=yes");
    client.exec("/interface/l2tp-client/set l2tp-out1 use-ipsec=no");
    until("use-ipsec=yes accepts both", || reaches(&lab, ""));
}

#[test]
fn a_client_without_its_secret_stays_down_and_says_why() {
    let test = "a_client_without_its_secret_stays_down_and_says_why";
    let Some(lab) = lab(test, &SITES) else {
        return;
    };
    let config = CLIENT.replace("name=l2tp-out1", "name=l2tp-out1 use-ipsec=yes");
    let client = start(&lab, "left", &config, None);
    let said = "l2tp-out1: use-ipsec=yes needs ipsec-secret";
    until("the client says what is missing", || {
        client.log().contains(said)
    });
}
