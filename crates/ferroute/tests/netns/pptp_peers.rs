//! PPTP with pptp-linux and pptpd, each with pppd in a guest with a kernel of its own.

use crate::carriers::{PPTP, encoding, no_drops, only};
use crate::ipsec::SITES;
use crate::world::{have, lab, until, works};

const MODULES: &str = "ppp_mppe";
/// Drops that show a lost packet. Packets behind the end of a call are of an unknown call.
const LOSSES: [&str; 3] = ["mppe", "pptp-sequence", "pptp-malformed"];

#[test]
fn pptp_of_linux_dials_in_with_and_without_encryption() {
    let test = "pptp_of_linux_dials_in_with_and_without_encryption";
    let Some(lab) = have(test, &["ping", "pptp", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = PPTP.guest(test, &lab, "left", MODULES) else {
        return;
    };
    let server = PPTP.serve(&lab, "");
    let cases = [
        ("mschap", "nomppe", ""),
        ("mschap-v2", "require-mppe-128", "MPPE128 stateless"),
        (
            "mschap-v2",
            "require-mppe-40 nomppe-128",
            "MPPE40 stateless",
        ),
    ];
    for (method, options, expected) in cases {
        let policy = if expected.is_empty() {
            "no"
        } else {
            "required"
        };
        server.exec(&format!("/ppp/profile/set home use-encryption={policy}"));
        guest.run(&format!(
            "setsid /usr/sbin/pppd pty '/usr/sbin/pptp 192.0.2.2 --nolaunchpppd' user anna password geheim {} {options} \
             noauth nodetach defaultroute nopersist mtu 1446 mru 1446 debug logfile /mnt/pppd.log \
             >/mnt/pptp.log 2>&1 </dev/null & echo $! > /run/pppd.pid",
            only(method)
        ));
        until(&format!("{method} {options}: {}", server.log()), || {
            guest.works("ping -q -c 1 -W 2 10.2.0.2")
        });
        assert_eq!(encoding(&server), expected);
        assert!(guest.works("ping -q -c 300 -i 0.004 -W 2 10.2.0.2"));
        assert!(guest.works("ping -q -c 1 -W 2 -s 1400 -M do 10.2.0.2"));
        no_drops(&server, &LOSSES);
        guest.run("kill $(cat /run/pppd.pid)");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        guest.wait_for_end("pppd");
        // The call manager of pptp leaves its handler of SIGTERM by a jump. If the signal comes while it logs, the lock
        // of syslog stays taken, and it waits for this lock for ever.
        guest.run("kill -9 $(pidof pptp) 2>/dev/null || true; rm -f /run/pptp/*");
        guest.wait_for_end("pptp");
    }
}

#[test]
fn the_client_dials_into_pptpd_with_and_without_encryption() {
    let test = "the_client_dials_into_pptpd_with_and_without_encryption";
    let Some(lab) = have(test, &["ping", "pptpd", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = PPTP.guest(test, &lab, "right", MODULES) else {
        return;
    };
    let client = PPTP.dial(&lab, "profile=default");
    for (options, expected) in [
        ("require-chap nomppe", ""),
        ("require-mschap-v2 require-mppe-128", "MPPE128 stateless"),
        (
            "require-mschap-v2 require-mppe-40 nomppe-128",
            "MPPE40 stateless",
        ),
    ] {
        let profile = match expected {
            "" => "default",
            _ => "default-encryption",
        };
        PPTP.set_client(&client, &format!("profile={profile}"));
        guest.run(&format!(
            "printf '%s\\n' {options} 'ms-dns 10.67.15.53' 'name foreign' 'mtu 1446' 'mru 1446' debug \
             'logfile /mnt/pppd.log' > /run/options
printf '%s\\n' 'ppp /usr/sbin/pppd' 'localip 10.67.15.1' 'remoteip 10.67.15.100-110' > /run/pptpd.conf
setsid /usr/sbin/pptpd --fg -c /run/pptpd.conf -o /run/options -p /run/pptpd.pid >/mnt/pptpd.log 2>&1 </dev/null &
echo $! > /run/daemon.pid"
        ));
        until(&format!("{options}: {}", client.log()), || {
            works(&lab, "one", "ping -q -c 1 -W 1 10.67.15.1")
        });
        assert_eq!(PPTP.monitor(&client, "encoding"), expected);
        assert_eq!(PPTP.monitor(&client, "remote-address"), "10.67.15.1");
        assert!(works(
            &lab,
            "one",
            "ping -q -c 300 -i 0.004 -W 2 10.67.15.1"
        ));
        assert!(works(
            &lab,
            "one",
            "ping -q -c 1 -W 2 -s 1400 -M do 10.67.15.1"
        ));
        no_drops(&client, &LOSSES);
        guest.run("kill $(cat /run/daemon.pid) $(pidof pppd)");
        until("the session has ended", || {
            PPTP.monitor(&client, "status") != "connected"
        });
        guest.wait_for_end("pptpd pptpctrl pppd");
    }
}
