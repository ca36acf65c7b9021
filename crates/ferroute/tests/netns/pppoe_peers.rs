//! PPPoE with foreign peers in a guest with a kernel of its own: pppd with the kernel's PPPoE as client,
//! pppoe-discovery, and rp-pppoe's server.
//!
//! Scenarios of accel-ppp's tests, by their names there:
//!
//! | scenario | test |
//! |---|---|
//! | `test_pppoe_discovery`, `test_pppoe_vlan_mon`, `test_pppoe_pado_delay` | `pppoe_discovery_finds_the_server_…` |
//! | `test_pppoe_session_chap_secrets` | `pppd_of_linux_dials_in_with_each_method` |
//! | `test_pppoe_session_wo_auth` | none: RouterOS lets nobody in without a secret |
//! | `test_pppoe_ccp_ipcp_race` | `ppp_encryption::pppd_of_linux_encrypts_as_client` |

use crate::carriers::{PPPOE, only};
use crate::guest::Guest;
use crate::ipsec::SITES;
use crate::pppoe::{SERVER, start};
use crate::world::{have, lab, until, works};

#[test]
fn the_client_dials_into_the_server_of_rp_pppoe() {
    let test = "the_client_dials_into_the_server_of_rp_pppoe";
    let programs = ["ping", "pppd", "pppoe-server"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let Some(mut guest) = PPPOE.guest(test, &lab, "right", "") else {
        return;
    };
    let client = PPPOE.dial(&lab, "");
    for method in ["pap", "chap", "mschap-v2"] {
        serve(&mut guest, method);
        until(&format!("{method}: a packet gets through"), || {
            works(&lab, "one", "ping -q -c 1 -W 1 10.67.15.1")
        });
        let monitor = |cell: &str| PPPOE.monitor(&client, cell);
        assert_eq!(monitor("ac-name"), "foreign");
        assert_eq!(monitor("remote-address"), "10.67.15.1");
        assert_eq!(monitor("mtu"), "1492");
        let dns = client.exec(":put [/ip/dns/get dynamic-servers]");
        assert_eq!(dns.trim(), "10.67.15.53");
        assert!(works(
            &lab,
            "one",
            "ping -q -c 1 -W 2 -s 1464 -M do 10.67.15.1"
        ));
        // pppd ends the session by a Terminate-Request, and pppoe by a PADT.
        guest.run("kill $(pidof pppoe-server) $(pidof pppd)");
        until("the session has ended", || monitor("status") != "connected");
        guest.wait_for_end("pppd");
    }
}

#[test]
fn pppoe_discovery_finds_the_server_on_the_link_on_a_vlan_and_not_before_its_delay() {
    let test = "pppoe_discovery_finds_the_server_on_the_link_on_a_vlan_and_not_before_its_delay";
    let Some(lab) = have(test, &["pppoe-discovery"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = PPPOE.guest(test, &lab, "left", "8021q") else {
        return;
    };
    guest.run(
        "for vlan in 15 25; do ip link add link vec0 name vec0.$vlan type vlan id $vlan; ip link set vec0.$vlan up; done",
    );
    let vlans = "/interface pppoe-server server set [find] pppoe-over-vlan-range=10-20\n";
    let server = start(&lab, "right", &[SERVER, vlans].concat(), None);
    let finds = |guest: &mut Guest, device: &str| {
        let line = format!("/usr/sbin/pppoe-discovery -a 1 -t 1 -I {device}");
        guest.tell(&line).0.contains("bras")
    };
    until("the server offers", || finds(&mut guest, "vec0"));
    // The guest's device loses the tags of received frames: what the server did shows that it serves the VLAN.
    let vlans = || {
        let rows = server.rows("/interface/vlan/print");
        let names = rows.iter().map(|row| row["name"].to_string());
        names.collect::<Vec<_>>()
    };
    finds(&mut guest, "vec0.25");
    until("the server serves the VLAN", || {
        finds(&mut guest, "vec0.15");
        !vlans().is_empty()
    });
    assert_eq!(vlans(), ["\"<ether2.15>\""], "25 is not in the range");
    let set = "/interface/pppoe-server/server/set [find] pado-delay=";
    server.exec(&format!("{set}65000"));
    assert!(!finds(&mut guest, "vec0"), "the offer waits");
    server.exec(&format!("{set}0"));
    until("the server offers at once", || finds(&mut guest, "vec0"));
}

/// Starts rp-pppoe's server with a method of authentication.
fn serve(guest: &mut Guest, method: &str) {
    guest.run(&format!(
        "printf '%s\\n' require-{method} 'ms-dns 10.67.15.53' 'mtu 1492' 'mru 1492' noccp \
         'logfile /mnt/pppd.log' > /run/options
setsid /usr/sbin/pppoe-server -I vec0 -C foreign -L 10.67.15.1 -R 10.67.15.100 -N 10 -O /run/options \
>/dev/null 2>&1 </dev/null"
    ));
}

#[test]
fn pppd_of_linux_dials_in_with_each_method() {
    let test = "pppd_of_linux_dials_in_with_each_method";
    let Some(lab) = have(test, &["ping", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = PPPOE.guest(test, &lab, "left", "pppoe") else {
        return;
    };
    let server = start(&lab, "right", SERVER, None);
    for method in ["pap", "chap", "mschap", "mschap-v2"] {
        let script = format!(
            "setsid /usr/sbin/pppd plugin rp-pppoe.so nic-vec0 user anna password geheim {} noauth nodetach \
             defaultroute nopersist logfile /mnt/pppd.log >/dev/null 2>&1 </dev/null & echo $! > /run/pppd.pid",
            only(method)
        );
        guest.run(&script);
        let up = "ip address show dev ppp0 | grep -q 'peer 10.64.0.1'";
        until(&format!("{method} opens a session"), || guest.works(up));
        // pppd sets the route after the address.
        until(&format!("{method}: a packet gets through"), || {
            guest.works("ping -q -c 1 -W 2 10.2.0.2")
        });
        assert!(
            guest.works("ping -q -c 1 -W 2 -s 1464 -M do 10.2.0.2"),
            "{method}"
        );
        guest.run("kill $(cat /run/pppd.pid)");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        until("pppd ends", || !guest.works("kill -0 $(cat /run/pppd.pid)"));
    }
}

#[test]
fn multilink_framing_with_pppd_carries_packets_beyond_the_links_mtu() {
    let test = "multilink_framing_with_pppd_carries_packets_beyond_the_links_mtu";
    let Some(lab) = have(test, &["ping", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = PPPOE.guest(test, &lab, "left", "pppoe") else {
        return;
    };
    let mrru = "/interface pppoe-server server set [find] mrru=1600\n";
    let server = start(&lab, "right", &[SERVER, mrru].concat(), None);
    guest.run(
        "setsid /usr/sbin/pppd plugin rp-pppoe.so nic-vec0 user anna password geheim refuse-eap noauth nodetach \
         mp mrru 1600 defaultroute nopersist debug logfile /mnt/pppd.log >/dev/null 2>&1 </dev/null & \
         echo $! > /run/pppd.pid",
    );
    let up = "ip address show dev ppp0 | grep -q 'peer 10.64.0.1'";
    until("a session opens", || guest.works(up));
    until(&format!("a packet gets through: {}", server.log()), || {
        guest.works("ping -q -c 1 -W 2 10.2.0.2")
    });
    // pppd leaves the MTU of its link to the interface of a bundle.
    guest.run("ip link set ppp0 mtu 1600");
    // 1600 bytes pass as one IP packet, in two fragments each way; the server's end answers itself.
    for bytes in [1_000, 1_464, 1_465, 1_572] {
        let ping = format!("ping -q -c 2 -W 2 -s {bytes} -M do 10.64.0.1");
        assert!(guest.works(&ping), "{bytes}: {}", server.log());
    }
    assert!(!guest.works("ping -q -c 1 -W 1 -s 1573 -M do 10.64.0.1"));
    let drops = server.exec("/tool/drop/print without-paging");
    assert!(!drops.contains("ppp-fragment"), "{drops}");
    guest.run("kill $(cat /run/pppd.pid)");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
}
