//! Ethernet over L2TPv3 (`/interface/l2tp-ether`) between two ferroutes, in a bridge at each end.
//!
//! ```text
//! one ── left ═══ right ── two
//! ```

use lab::Lab;

use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Folder, Router, have, lab, until, works};

/// Returns the configuration of a site: its session is a port of a bridge, which has an address and leads to the other
/// site.
fn site(site: u8, other: u8, session: &str, cookies: [&str; 2]) -> String {
    let [own, far] = cookies;
    format!(
        "/ip address add address=10.{site}.0.1/24 interface=ether1\n\
         /ip address add address=192.0.2.{site}/24 interface=ether2\n\
         /interface l2tp-ether add name=ether-out1 connect-to=192.0.2.{other} unmanaged-mode=yes \
         local-session-id={site} remote-session-id={other} local-tunnel-id={site} remote-tunnel-id={other} \
         peer-cookie={own} send-cookie={far} {session}\n\
         /interface bridge add name=joined\n\
         /interface bridge port add bridge=joined interface=ether-out1\n\
         /ip address add address=10.9.0.{site}/24 interface=joined\n\
         /ip route add dst-address=10.{other}.0.0/24 gateway=10.9.0.{other}\n"
    )
}

fn reaches(lab: &Lab, more: &str) -> bool {
    works(lab, "one", &format!("ping -q -c 1 -W 1 {more} 10.2.0.2"))
}

fn drops(router: &Router) -> String {
    router.exec("/tool/drop/print without-paging")
}

/// Tests a transport, with a kill of one end.
fn carries_frames(test: &str, session: &str) {
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let state = folder.file("state");
    let cookies = ["0011223344556677", "8899aabb"];
    let left = start(&lab, "left", &site(1, 2, session, cookies), None);
    let [own, far] = cookies;
    let right = site(2, 1, session, [far, own]);
    let right = start(&lab, "right", &right, Some(&state));
    until("a packet gets through", || reaches(&lab, ""));
    assert!(reaches(&lab, "-s 1472 -M do"), "{}", left.log());
    assert!(reaches(&lab, "-s 3000 -M dont"), "{}", left.log());
    let rows = left.rows("/interface/bridge/port/print");
    assert_eq!(rows[0]["interface"], "ether-out1", "{rows:?}");

    right.kill();
    let right = start(&lab, "right", "", Some(&state));
    until("a packet gets through after a kill", || reaches(&lab, ""));

    left.exec("/interface/l2tp-ether/set ether-out1 send-cookie=8899aabc");
    until("packets with another cookie are dropped", || {
        assert!(!reaches(&lab, ""));
        drops(&right).contains("l2tp-wrong-cookie")
    });
    left.exec("/interface/l2tp-ether/set ether-out1 send-cookie=8899aabb");
    until("the right cookie opens the session", || reaches(&lab, ""));
}

#[test]
fn static_sessions_in_ip_carry_frames() {
    let test = "static_sessions_in_ip_carry_frames";
    carries_frames(test, "l2tp-proto-version=l2tpv3-ip");
}

#[test]
fn static_sessions_in_udp_carry_frames_behind_a_sublayer() {
    let test = "static_sessions_in_udp_carry_frames_behind_a_sublayer";
    let session = "l2tp-proto-version=l2tpv3-udp use-l2-specific-sublayer=yes";
    carries_frames(test, session);
}
