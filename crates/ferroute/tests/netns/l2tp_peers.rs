//! L2TP with xl2tpd and pppd in a guest with a kernel of its own, as LAC and as LNS.

use crate::guest::{Guest, guest};
use crate::ipsec::SITES;
use crate::l2tp::SERVER;
use crate::pppoe::start;
use crate::pppoe_peers::DEVICES;
use crate::world::{Folder, have, lab, shell, until, works};

/// A client that routes the LAN into its session.
const CLIENT: &str = "/ip address add address=10.1.0.1/24 interface=ether1\n\
    /ip address add address=192.0.2.1/24 interface=ether2\n\
    /interface l2tp-client add name=l2tp-out1 connect-to=192.0.2.2 user=anna password=geheim add-default-route=yes \
    use-peer-dns=yes disabled=no\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=l2tp-out1\n";

/// Prepares a guest: its address, device nodes, modules, and a writable folder for pppd's secrets.
fn prepare(guest: &mut Guest, address: &str) {
    guest.load("ppp_generic ppp_async l2tp_ppp");
    guest.run(DEVICES);
    guest.run(&format!(
        "ip link set vec0 up; ip address add {address}/24 dev vec0
mount -t tmpfs ppp /etc/ppp; touch /etc/ppp/options
echo 'anna * geheim *' > /etc/ppp/chap-secrets; cp /etc/ppp/chap-secrets /etc/ppp/pap-secrets"
    ));
}

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
    shell(
        &lab,
        "left",
        "echo 1 > /proc/sys/net/ipv6/conf/ether2/disable_ipv6; ip link set ether2 promisc on",
    );
    let Some(mut guest) = guest(test, &lab, ("left", "ether2"), Folder::new()) else {
        return;
    };
    prepare(&mut guest, "192.0.2.1");
    let server = start(&lab, "right", SERVER, None);
    let all = ["pap", "chap", "mschap", "mschap-v2"];
    for (number, method) in all.into_iter().enumerate() {
        let challenge = if number % 2 == 1 { "yes" } else { "no" };
        match challenge {
            "yes" => server.exec("/ppp/l2tp-secret/add secret=tunnel"),
            _ => server.exec("/ppp/l2tp-secret/remove [find]"),
        };
        let others = all.iter().filter(|other| **other != method);
        let others: Vec<_> = others.map(|other| format!("refuse-{other}")).collect();
        let config = format!(
            "[global]\nport = 1701\n[lac ours]\nlns = 192.0.2.2\nchallenge = {challenge}\nautodial = yes\n\
             redial = yes\nredial timeout = 1\nrequire authentication = no\npppoptfile = /run/options\n"
        );
        let options = format!(
            "'user anna' 'password geheim' {} refuse-eap noauth noccp defaultroute 'mtu 1450' 'mru 1450'",
            others.join(" ")
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
        until("xl2tpd ends", || !guest.works("pidof xl2tpd pppd"));
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
    shell(
        &lab,
        "right",
        "echo 1 > /proc/sys/net/ipv6/conf/ether2/disable_ipv6; ip link set ether2 promisc on",
    );
    let Some(mut guest) = guest(test, &lab, ("right", "ether2"), Folder::new()) else {
        return;
    };
    prepare(&mut guest, "192.0.2.2");
    let client = start(&lab, "left", CLIENT, None);
    let monitor = |cell: &str| {
        let command = "/interface/l2tp-client/monitor l2tp-out1 once as-value";
        let value = client.exec(&format!(":put ([{command}]->\"{cell}\")"));
        value.trim().to_owned()
    };
    for (method, challenge) in [("pap", "no"), ("chap", "yes"), ("mschap-v2", "no")] {
        match challenge {
            "yes" => client.exec("/ppp/l2tp-secret/add secret=tunnel"),
            _ => client.exec("/ppp/l2tp-secret/remove [find]"),
        };
        let config = format!(
            "[global]\nport = 1701\n[lns default]\nip range = 10.67.15.100-10.67.15.110\nlocal ip = 10.67.15.1\n\
             challenge = {challenge}\nrequire authentication = yes\nname = foreign\npppoptfile = /run/options\n"
        );
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
        until("xl2tpd has ended", || !guest.works("pidof xl2tpd pppd"));
    }
}
