//! SSTP with sstp-client, whose pppd is in a guest with a kernel of its own.

use crate::carriers::{SSTP, no_drops, only};
use crate::ipsec::SITES;
use crate::world::{have, lab, until};

#[test]
fn sstp_client_of_linux_dials_in() {
    let test = "sstp_client_of_linux_dials_in";
    let Some(lab) = have(test, &["ping", "sstpc", "pppd"])
        .then(|| lab(test, &SITES))
        .flatten()
    else {
        return;
    };
    let Some(mut guest) = SSTP.guest(test, &lab, "left", "") else {
        return;
    };
    let server = SSTP.serve(&lab, "");
    for method in ["mschap-v2", "pap"] {
        guest.run(&format!(
            "mkdir -p /run/sstpc; setsid /usr/sbin/sstpc --cert-warn --user anna --password geheim --log-level 4 \
             --log-stderr 192.0.2.2 {} nomppe noauth nodetach defaultroute nopersist debug logfile /mnt/pppd.log \
             >/mnt/sstpc.log 2>&1 </dev/null & echo $! > /run/sstpc.pid",
            only(method)
        ));
        let log = guest.folder.file("sstpc.log");
        until(&format!("{method}: {}", log.display()), || {
            let reaches = guest.works("ping -q -c 1 -W 2 10.2.0.2");
            if !reaches {
                eprintln!("{}", std::fs::read_to_string(&log).unwrap_or_default());
            }
            reaches
        });
        assert!(guest.works("ping -q -c 300 -i 0.004 -W 2 10.2.0.2"));
        assert!(guest.works("ping -q -c 1 -W 2 -s 1372 -M do 10.2.0.2"));
        no_drops(&server, &["sstp-malformed", "sstp-binding", "stream-full"]);
        guest.run("kill $(cat /run/sstpc.pid)");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
        guest.wait_for_end("pppd sstpc");
    }
}
