//! L2TP with xl2tpd and pppd in a guest with a kernel of its own, as LAC and as LNS.

use crate::carriers::{L2TP, encoding, no_drops, only};
use crate::guest::Guest;
use crate::ipsec::SITES;
use crate::l2tp::SERVER;
use crate::pppoe::start;
use crate::world::{have, lab, until, works};

const MODULES: &str = "l2tp_ppp ppp_mppe";
/// Configuration of xl2tpd as client and as server.
const LAC: &str = "[global]\nport = 1701\n[lac ours]\nlns = 192.0.2.2\nchallenge = CHALLENGE\nautodial = yes\n\
    redial = yes\nredial timeout = 1\nrequire authentication = no\npppoptfile = /run/options\n";
const LNS: &str = "[global]\nport = 1701\n[lns default]\nip range = 10.67.15.100-10.67.15.110\nlocal ip = 10.67.15.1\n\
    challenge = CHALLENGE\nrequire authentication = yes\nname = foreign\npppoptfile = /run/options\n";

/// Starts xl2tpd with a configuration and options of pppd.
fn serve(guest: &mut Guest, config: &str, options: &str) {
    guest.run(&format!(
        "printf '%s\\n' {options} 'logfile /mnt/pppd.log' > /run/options
cat > /run/xl2tpd.conf <<'end'
{config}end
echo '* * tunnel' > /run/l2tp-secrets
setsid /usr/sbin/xl2tpd -D -c /run/xl2tpd.conf -s /run/l2tp-secrets -p /run/xl2tpd.pid -C /run/xl2tpd.control \
>/mnt/xl2tpd.log 2>&1 </dev/null & echo $! > /run/daemon.pid"
    ));
}

#[test]
fn xl2tpd_dials_in_with_each_method_and_with_a_secret_of_the_tunnel() {
    let test = "xl2tpd_dials_in_with_each_method_and_with_a_secret_of_the_tunnel";
    let Some(lab) = have(test, &["ping", "xl2tpd", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = L2TP.guest(test, &lab, "left", MODULES) else {
        return;
    };
    let server = start(&lab, "right", SERVER, None);
    let methods = ["pap", "chap", "mschap", "mschap-v2"];
    for (number, method) in methods.into_iter().enumerate() {
        let challenge = if number % 2 == 1 { "yes" } else { "no" };
        match challenge {
            "yes" => server.exec("/ppp/l2tp-secret/add secret=tunnel"),
            _ => server.exec("/ppp/l2tp-secret/remove [find]"),
        };
        let config = LAC.replace("CHALLENGE", challenge);
        let options = format!(
            "'user anna' 'password geheim' {} noauth noccp defaultroute 'mtu 1450' 'mru 1450'",
            only(method)
        );
        serve(&mut guest, &config, &options);
        let up = "ip address show dev ppp0 | grep -q 'peer 10.64.0.1'";
        until(
            &format!("{method} opens a session: {}", server.log()),
            || guest.works(up),
        );
        until(&format!("{method}: a packet gets through"), || {
            guest.works("ping -q -c 1 -W 2 10.2.0.2")
        });
        assert!(
            guest.works("ping -q -c 1 -W 2 -s 1422 -M do 10.2.0.2"),
            "{method}"
        );
        guest.run("kill $(cat /run/daemon.pid)");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        guest.wait_for_end("xl2tpd pppd");
    }
}

#[test]
fn the_client_dials_into_xl2tpd() {
    let test = "the_client_dials_into_xl2tpd";
    let Some(lab) = have(test, &["ping", "xl2tpd", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = L2TP.guest(test, &lab, "right", MODULES) else {
        return;
    };
    let client = L2TP.dial(&lab, "");
    let monitor = |cell: &str| L2TP.monitor(&client, cell);
    for (method, challenge) in [("pap", "no"), ("chap", "yes"), ("mschap-v2", "no")] {
        match challenge {
            "yes" => client.exec("/ppp/l2tp-secret/add secret=tunnel"),
            _ => client.exec("/ppp/l2tp-secret/remove [find]"),
        };
        let config = LNS.replace("CHALLENGE", challenge);
        let options = format!("require-{method} 'ms-dns 10.67.15.53' noccp 'mtu 1450' 'mru 1450'");
        serve(&mut guest, &config, &options);
        until(&format!("{method}: a packet gets through"), || {
            works(&lab, "one", "ping -q -c 1 -W 1 10.67.15.1")
        });
        assert_eq!(monitor("remote-address"), "10.67.15.1");
        assert_eq!(monitor("mtu"), "1450");
        assert!(works(
            &lab,
            "one",
            "ping -q -c 1 -W 2 -s 1422 -M do 10.67.15.1"
        ));
        guest.run("kill $(cat /run/daemon.pid)");
        until("the session has ended", || monitor("status") != "connected");
        guest.wait_for_end("xl2tpd pppd");
    }
}

#[test]
fn pppd_under_xl2tpd_encrypts_as_client_and_as_server() {
    let test = "pppd_under_xl2tpd_encrypts_as_client_and_as_server";
    let Some(lab) = have(test, &["ping", "xl2tpd", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let options = "require-mppe-128 noauth defaultroute 'mtu 1446' 'mru 1446'";
    {
        let Some(mut guest) = L2TP.guest(test, &lab, "left", MODULES) else {
            return;
        };
        let server = L2TP.serve(&lab, "/ppp profile set home use-encryption=required\n");
        let own = format!(
            "'user anna' 'password geheim' {} {options}",
            only("mschap-v2")
        );
        serve(&mut guest, &LAC.replace("CHALLENGE", "no"), &own);
        until(&format!("a packet gets through: {}", server.log()), || {
            guest.works("ping -q -c 1 -W 2 10.2.0.2")
        });
        assert_eq!(encoding(&server), "MPPE128 stateless");
        assert!(guest.works("ping -q -c 300 -i 0.004 -W 2 10.2.0.2"));
        assert!(guest.works("ping -q -c 1 -W 2 -s 1400 -M do 10.2.0.2"));
        no_drops(&server, &["mppe"]);
    }
    let Some(mut guest) = L2TP.guest(test, &lab, "right", MODULES) else {
        return;
    };
    let client = L2TP.dial(&lab, "profile=default-encryption");
    let own = "require-mschap-v2 require-mppe-128 'mtu 1446' 'mru 1446'";
    serve(&mut guest, &LNS.replace("CHALLENGE", "no"), own);
    until(&format!("a packet gets through: {}", client.log()), || {
        works(&lab, "one", "ping -q -c 1 -W 1 10.67.15.1")
    });
    assert_eq!(L2TP.monitor(&client, "encoding"), "MPPE128 stateless");
    assert!(works(
        &lab,
        "one",
        "ping -q -c 300 -i 0.004 -W 2 10.67.15.1"
    ));
    no_drops(&client, &["mppe"]);
}
