//! The lab `everyday`: a household's router with most features at once, checked after its start, after `kill -9`, and
//! after an orderly stop, with one worker and with two.
//!
//! A feature gets a check: a function in one of the files here (or in the feature's own file), and a line in
//! [`CHECKS`]. A check takes seconds at most and leaves the router as it was.

mod admin;
mod home;
mod scripts;
mod traces;
mod tunnels;
mod values;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use lab::{Holding, Lab};

use crate::clients::{self, USERS};
use crate::daemons::{Daemons, given};
use crate::home::hits;
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, run, until, works};

/// A named check of the running lab.
type Check = (&'static str, fn(&Everyday));

/// All checks, in the order of execution. Each runs after every start of the router.
pub(crate) const CHECKS: &[Check] = &[
    ("lan surfs by FastTrack", home::lan_surfs_by_fasttrack),
    (
        "bandwidth test",
        home::lan_and_router_test_the_bandwidth_to_the_far_router,
    ),
    ("lan uses the prefix", home::lan_uses_the_delegated_prefix),
    ("name servers", home::hosts_learn_the_providers_name_server),
    ("dns", home::router_answers_dns),
    ("guests", home::guests_reach_only_the_internet),
    ("simple queue", home::simple_queue_limits_guests),
    ("queue tree", home::queue_tree_counts_marked_packets),
    ("firewall", home::firewall_drops_what_comes_from_the_wan),
    ("eoip", tunnels::eoip_carries_whole_frames_encrypted),
    (
        "pppoe",
        crate::pppoe::sessions_run_over_eoip_to_the_far_router,
    ),
    ("ikev2", tunnels::ikev2_carries_between_lan_and_branch),
    (
        "tunnels",
        tunnels::tunnels_and_ipsec_show_what_routeros_shows,
    ),
    ("wireguard", tunnels::wireguard_carries_to_the_far_router),
    (
        "quiet start",
        tunnels::a_start_logs_no_errors_of_tunnels_and_leases,
    ),
    ("scheduler and netwatch", admin::scheduler_and_netwatch_ran),
    ("script library", scripts::a_script_library_loads_and_runs),
    ("traces", traces::traces_match_the_results_of_pings),
    (
        "values",
        values::values_are_numbers_for_programs_and_have_units_at_the_console,
    ),
    ("services", admin::console_api_rest_and_page_answer),
    ("programs", admin::rest_filters_finds_and_transfers_files),
    (
        "rights",
        admin::readers_change_nothing_and_foreign_pages_are_refused,
    ),
    ("export", admin::export_is_accepted_again),
];

/// Programs that the lab needs.
const PROGRAMS: [&str; 7] = [
    "dnsmasq", "dhcpd", "udhcpc", "dig", "curl", "python3", "ping",
];

/// The hosts that have a DHCP client; `office` gets its lease through EoIP.
const CLIENTS: [&str; 4] = ["client", "laptop", "guest", "office"];

/// A server on the internet.
const INTERNET6: &str = "2001:2:0:80::80";

/// Length of the page `/long`, in bytes.
pub(crate) const LONG: u64 = 2_000_000;

/// The running lab.
pub(crate) struct Everyday {
    /// The hosts: client, laptop, guest, router, server (the provider), far, office, branch.
    pub(crate) lab: Lab,
    /// The router at the far end of the tunnels.
    pub(crate) far: Router,
    /// `None` between a kill and the next start.
    router: Option<Router>,
    workers: &'static str,
    /// Holds the state folder of the router.
    folder: Folder,
    _daemons: Daemons,
    _pages: Server,
}

impl Everyday {
    /// Starts the lab and waits until all services work; skips the test and returns `None` if this machine cannot run
    /// it.
    pub(crate) fn start(test: &str, workers: &'static str) -> Option<Self> {
        let everyday = layout("everyday");
        let lab = have(test, &PROGRAMS).then(|| lab(test, everyday))??;
        if lab.holding() != Holding::Named {
            lab::testing::skip(test, "dnsmasq, dhcpd and udhcpc need root");
            return None;
        }
        let folder = Folder::new();
        let pages = serve_pages(&lab, &folder);
        let daemons = Daemons::start(&lab, everyday);
        let far = start_far(&lab);
        let mut started = Self {
            lab,
            far,
            router: None,
            workers,
            folder,
            _daemons: daemons,
            _pages: pages,
        };
        started.start_router();
        for command in lab::setup(everyday, "router") {
            started.router().exec(&command);
        }
        started.await_home();
        Some(started)
    }

    /// The router of the home.
    pub(crate) fn router(&self) -> &Router {
        self.router.as_ref().expect("it runs outside of restarts")
    }

    /// Runs a command line in a host; it must succeed. Returns its output.
    pub(crate) fn run(&self, host: &str, line: &str) -> String {
        run(&self.lab, host, line)
    }

    /// Runs a command line in a host. Returns whether it succeeded.
    pub(crate) fn works(&self, host: &str, line: &str) -> bool {
        works(&self.lab, host, line)
    }

    /// Returns the packets that the firewall rule with this comment has matched.
    pub(crate) fn hits(&self, menu: &str, comment: &str) -> u64 {
        hits(self.router(), menu, comment)
    }

    /// Returns the IPv4 address that a host's DHCP client has taken.
    pub(crate) fn address_of(&self, host: &str) -> String {
        given(&self.lab, host).expect("the lab waits for it at each start")
    }

    /// Kills the router, starts it from the stored state, and waits until the home works again.
    pub(crate) fn kill_and_start(&mut self) {
        let router = self.router.take().expect("it runs outside of restarts");
        router.kill();
        self.start_router();
        self.await_home();
    }

    /// Stops the router in order, starts it from the stored state, and waits until the home works again.
    pub(crate) fn stop_and_start(&mut self) {
        let router = self.router.take().expect("it runs outside of restarts");
        assert!(router.stop().success());
        self.start_router();
        self.await_home();
    }

    fn start_router(&mut self) {
        let config = format!("{}{USERS}", layout("everyday").config);
        let state = self.folder.file("state");
        let start = Start {
            ports: ports("router"),
            state: Some(&state),
            arguments: &["--workers", self.workers],
            ..Start::with(PACKET, &config)
        };
        self.router = Some(Router::start(&self.lab, &start));
    }

    /// Waits until all services work that need time after a start.
    fn await_home(&self) {
        let router = self.router();
        let first = |print: &str, property: &str| {
            let rows = router.rows(print);
            let value = rows.first().and_then(|row| row[property].as_str());
            value.unwrap_or_default().to_owned()
        };
        until("the provider gives the router its address", || {
            first("/ip/dhcp-client/print", "address") == "203.0.113.100/24"
        });
        until("the provider delegates its prefix", || {
            first("/ipv6/dhcp-client/print", "prefix").starts_with("2001:2:0:100::/56")
        });
        for host in CLIENTS {
            until(&format!("{host} has a lease"), || {
                given(&self.lab, host).is_some_and(|address| address.starts_with("192.168."))
            });
        }
        until("the client has an address of the prefix", || {
            self.run("client", "ip -6 -o address show dev eth0 scope global")
                .contains("2001:2:0:1")
        });
        for (what, host, address) in [
            ("EoIP carries", "client", self.address_of("office")),
            ("IKEv2 carries", "client", String::from("10.20.0.10")),
            ("WireGuard carries", "client", String::from("10.9.0.2")),
            // After an orderly stop hosts have no IPv6 router until they hear the next advertisement.
            ("the LAN has IPv6", "client", String::from(INTERNET6)),
            ("guests have IPv6", "guest", String::from(INTERNET6)),
            (
                "guests reach the internet",
                "guest",
                String::from("198.51.100.80"),
            ),
        ] {
            let line = format!("ping -q -c 1 -W 1 {address}");
            until(what, || self.works(host, &line));
        }
    }

    /// Runs all checks, and fails with the names of those that failed.
    fn check(&self, when: &str) {
        let mut failed = Vec::new();
        for (name, check) in CHECKS {
            let began = Instant::now();
            if catch_unwind(AssertUnwindSafe(|| check(self))).is_err() {
                failed.push(*name);
            }
            eprintln!("everyday: {when}: {name}: {:?}", began.elapsed());
        }
        assert!(failed.is_empty(), "{when}: these checks failed: {failed:?}");
    }
}

/// Returns port arguments for the devices of a host, each under its own name.
fn ports(host: &str) -> Vec<String> {
    let ports = layout("everyday").ports_of(host).into_iter();
    ports
        .map(|port| format!("{port}={PACKET}:{port}"))
        .collect()
}

/// Starts the web server of the internet, over IPv4 and IPv6.
fn serve_pages(lab: &Lab, folder: &Folder) -> Server {
    let pages = folder.file("pages");
    fs::create_dir(&pages).expect("a folder of our own");
    fs::write(pages.join("index.html"), "a page of the internet\n").expect("our own folder");
    fs::write(pages.join("long"), vec![b'x'; LONG as usize]).expect("our own folder");
    let script = format!(
        "exec python3 -u -m http.server 80 --bind :: --directory {} 2>/dev/null",
        pages.display()
    );
    let argv = ["sh", "-c", &script].map(str::to_owned);
    let command = lab.command_line("server", &argv);
    Server::begin(command.expect("a host of the layout"), "Serving HTTP")
}

fn start_far(lab: &Lab) -> Router {
    let everyday = layout("everyday");
    let site = &lab::sites(everyday)[0];
    let start = Start {
        host: site.host,
        ports: ports(site.host),
        ..Start::with(PACKET, site.config)
    };
    let far = Router::start(lab, &start);
    for command in lab::setup(everyday, site.host) {
        far.exec(&command);
    }
    far
}

#[test]
fn everyday_with_one_worker() {
    let test = "everyday_with_one_worker";
    let Some(mut everyday) = Everyday::start(test, "1") else {
        return;
    };
    everyday.check("after the first start");
    everyday.kill_and_start();
    everyday.check("after kill -9");
    for client in clients::ALL {
        client.run(test, &everyday.lab);
    }
}

#[test]
fn everyday_with_two_workers() {
    let Some(mut everyday) = Everyday::start("everyday_with_two_workers", "2") else {
        return;
    };
    everyday.check("after the first start");
    everyday.stop_and_start();
    everyday.kill_and_start();
    everyday.check("after a stop and kill -9");
}
