//! Labs on this machine: created, used and removed by each mechanism that works.
//!
//! Where none works, the tests report it and check that the error is clear.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lab::{Error, Holding, LAYOUTS, Lab, Layout, Life, Options, layout};
use rustix::process::{Signal, getpid, kill_process};

/// Returns the mechanisms that work here; a chroot or container may allow one, or none.
fn holdings() -> Vec<Holding> {
    let works = |holding: &Holding| {
        let refusal = match holding.refusal() {
            Ok(refusal) => refusal,
            Err(error) => Some(error.to_string()),
        };
        if let Some(refusal) = &refusal {
            let thread = std::thread::current();
            let test = format!("{} ({holding:?})", thread.name().unwrap_or("labs"));
            lab::testing::skip(&test, refusal);
        }
        refusal.is_none()
    };
    let wanted = match rustix::process::geteuid().is_root() {
        true => vec![Holding::Named, Holding::Held],
        false => vec![Holding::Held],
    };
    wanted.into_iter().filter(works).collect()
}

fn up(layout: &Layout, test: &str, holding: Holding, life: Life) -> Lab {
    let name = format!("t{}-{test}", std::process::id());
    let options = Options {
        name: Some(name),
        life,
        holding: Some(holding),
        belongings: Vec::new(),
    };
    Lab::up(layout, &options).unwrap_or_else(|error| panic!("{holding:?}: {error}"))
}

fn says(lab: &Lab, host: &str, line: &str) -> String {
    let argv: Vec<_> = line.split(' ').map(str::to_owned).collect();
    let mut command = lab.command_line(host, &argv).expect("the host exists");
    let output = command.output().expect("nsenter is part of every system");
    assert!(output.status.success(), "{host}: {line}: {output:?}");
    String::from_utf8(output.stdout).expect("ip and ping write ASCII")
}

#[test]
fn every_layout_starts_as_described_and_is_removed_completely() {
    for holding in holdings() {
        for layout in LAYOUTS {
            let lab = up(layout, layout.name, holding, Life::Owned);

            for link in layout.links {
                for end in &link.ends {
                    let shown = says(
                        &lab,
                        end.host,
                        &format!("ip -d address show {}", end.device),
                    );
                    assert!(shown.contains(&format!("mtu {} ", link.mtu)), "{shown}");
                    assert!(shown.contains("state UP"), "{shown}");
                    assert!(
                        shown.contains(&format!("numrxqueues {} ", link.queues)),
                        "{shown}"
                    );
                    for address in end.addresses {
                        assert!(shown.contains(&format!(" {address} ")), "{shown}");
                    }
                }
            }

            let name = lab.name().to_owned();
            lab.down().unwrap();
            assert!(matches!(Lab::open(&name), Err(Error::NotUp(_))));
            assert!(!Path::new(&format!("/run/netns/ferroute-{name}-client")).exists());
        }
    }
}

#[test]
fn hosts_on_one_link_reach_each_other_over_both_protocols() {
    for holding in holdings() {
        let lab = up(layout("pmtu").unwrap(), "reach", holding, Life::Owned);

        says(&lab, "server", "ping -c 2 -i 0.01 -W 5 198.51.100.1");
        says(&lab, "server", "ping -c 2 -i 0.01 -W 5 2001:db8:80::1");
        says(&lab, "server", "ping -c 2 -i 0.01 -W 5 203.0.113.1");
    }
}

#[test]
fn a_second_lab_of_the_same_name_is_refused() {
    for holding in holdings() {
        let lab = up(layout("home").unwrap(), "twice", holding, Life::Owned);

        let options = Options {
            name: Some(lab.name().into()),
            life: Life::Owned,
            holding: Some(holding),
            belongings: Vec::new(),
        };
        let second = Lab::up(layout("home").unwrap(), &options);

        let owner = Some(std::process::id());
        assert!(matches!(second, Err(Error::AlreadyUp { owner: found, .. }) if found == owner));
        assert!(
            Lab::open(lab.name()).is_ok(),
            "the refusal left the first alone"
        );
    }
}

#[test]
fn a_kept_lab_is_removed_by_name_with_its_processes() {
    for holding in holdings() {
        let name = up(layout("home").unwrap(), "kept", holding, Life::Kept)
            .name()
            .to_owned();
        let lab = Lab::open(&name).unwrap();
        let mut busy = lab.command("client", "sleep").unwrap();
        let mut busy = busy.arg("600").stdin(Stdio::null()).spawn().unwrap();
        assert!(
            Lab::list()
                .unwrap()
                .iter()
                .any(|listed| listed.name == name && !listed.stale)
        );

        lab.down().unwrap();

        assert!(!busy.wait().unwrap().success());
        assert!(
            Lab::list()
                .unwrap()
                .iter()
                .all(|listed| listed.name != name)
        );
    }
}

/// Helper of the next test: the process that is killed.
#[test]
#[expect(
    clippy::zombie_processes,
    reason = "to leave one behind is the purpose"
)]
fn crashing_part() {
    if let Ok(holding) = std::env::var("FERROUTE_CRASH") {
        let holding = if holding == "Named" {
            Holding::Named
        } else {
            Holding::Held
        };
        let belongings = ["SOCKET", "FOLDER"].map(|name| std::env::var(name).unwrap().into());
        let options = Options {
            name: Some(format!("t{}-crash", std::process::id())),
            life: Life::Owned,
            holding: Some(holding),
            belongings: belongings.to_vec(),
        };
        let lab = Lab::up(layout("home").unwrap(), &options).unwrap();
        let mut left = lab.command("server", "sleep").unwrap();
        // Not with this process's pipes, which would keep the other process waiting for their end.
        left.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let left = left.arg("600").spawn().unwrap();
        println!("\nup {} {}", lab.name(), left.id());
        kill_process(getpid(), Signal::KILL).unwrap();
        unreachable!("killed");
    }
}

/// Remains of a killed process: the lab's name, a process in it, a file and a folder.
struct Left {
    name: String,
    process: String,
    own: [PathBuf; 2],
}

impl Left {
    fn by_a_crash(test: &str, holding: Holding) -> Self {
        let folder = std::env::temp_dir();
        let own = ["sock", "devices"].map(|ending| {
            folder.join(format!(
                "ferroute-{}-{test}-{holding:?}.{ending}",
                std::process::id()
            ))
        });
        drop(UnixListener::bind(&own[0]).expect("a socket"));
        std::fs::create_dir(&own[1]).expect("a folder of our own");
        std::fs::write(own[1].join("ether1.taken"), "x").expect("the folder is ours");
        let mut victim = Command::new(std::env::current_exe().expect("this test runs"));
        victim.args(["--exact", "crashing_part", "--nocapture"]);
        victim.env("FERROUTE_CRASH", format!("{holding:?}"));
        victim.env("SOCKET", &own[0]).env("FOLDER", &own[1]);
        let said =
            String::from_utf8(victim.output().expect("it starts").stdout).expect("it says ASCII");
        let words = said.lines().find_map(|line| line.strip_prefix("up "));
        let (name, process) = words.expect(&said).split_once(' ').expect("two words");
        Self {
            name: name.to_owned(),
            process: process.to_owned(),
            own,
        }
    }

    fn assert_gone(&self) {
        let listed = Lab::list().expect("the records are ours");
        assert!(listed.iter().all(|listed| listed.name != self.name));
        assert!(!Path::new(&format!("/run/netns/ferroute-{}-server", self.name)).exists());
        let remains = std::fs::read_to_string(format!("/proc/{}/cmdline", self.process));
        assert!(!remains.is_ok_and(|line| line.contains("sleep")));
        assert!(self.own.iter().all(|path| !path.exists()), "{:?}", self.own);
    }
}

#[test]
fn the_next_start_removes_the_lab_of_a_killed_process() {
    for holding in holdings() {
        let left = Left::by_a_crash("next", holding);

        // Another test may have been the next to start; this one certainly is.
        let lab = up(layout("home").unwrap(), "after", holding, Life::Owned);

        left.assert_gone();
        lab.down().unwrap();
    }
}

#[test]
fn the_lab_of_a_killed_process_can_be_removed_by_name() {
    for holding in holdings() {
        let left = Left::by_a_crash("down", holding);

        match lab::cli::down(&left.name) {
            // Another test has removed it already.
            Ok(()) | Err(Error::NotUp(_)) => {}
            Err(error) => panic!("{error}"),
        }

        left.assert_gone();
    }
}

#[test]
fn errors_name_missing_programs_and_hosts() {
    for holding in holdings() {
        let lab = up(layout("home").unwrap(), "names", holding, Life::Owned);

        let output = lab
            .command("client", "no-such-program")
            .unwrap()
            .output()
            .unwrap();

        assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-program"));
        assert!(matches!(
            lab.command("nowhere", "true"),
            Err(Error::UnknownHost { .. })
        ));
    }
}

#[test]
fn a_name_that_would_leave_the_folder_is_refused() {
    let options = Options {
        name: Some("../x".into()),
        life: Life::Owned,
        holding: Some(Holding::Held),
        belongings: Vec::new(),
    };

    let made = Lab::up(layout("home").unwrap(), &options);

    assert!(matches!(made, Err(Error::BadName(name)) if name == "../x"));
}
