//! `ferroute lab …`: labs in network namespaces, and a router in one of them.

mod lanes;
mod measure;
mod sites;

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;

use board::Board;
use lab::{Holding, Lab, Layout, Life, Options, Story, program, traffic};

use crate::cli::location;
use crate::cli::output;
use crate::cli::{self, Reach, Run};
use crate::run::Running;

/// Runs `ferroute lab`.
pub(crate) fn run(command: &cli::Lab) -> Result<u8, String> {
    let mut out = Vec::new();
    let text = |error: lab::Error| error.to_string();
    match command {
        cli::Lab::List => lab::cli::list(&mut out).map_err(text)?,
        cli::Lab::Up { name } => lab::cli::up(name, &mut out).map_err(text)?,
        cli::Lab::Down { name } => lab::cli::down(name).map_err(text)?,
        cli::Lab::Exec {
            name,
            host,
            command,
        } => {
            return Err(lab::cli::exec(name, host, command).to_string());
        }
        cli::Lab::Run {
            name,
            config,
            workers,
            driver,
        } => {
            return live(name, config.clone(), *workers, driver.as_deref());
        }
        cli::Lab::Measure { name, json } => return measured(name, *json),
        cli::Lab::Receive { at } => {
            let ready = || _ = output::line("ready");
            traffic::receive(at, ready).map_err(|error| format!("{at}: {error}"))?;
        }
        cli::Lab::Send {
            to,
            datagrams,
            mbps,
            tries,
        } => {
            let sent = traffic::send(to, *datagrams, *mbps, *tries);
            let sent = sent.map_err(|error| format!("{to}: {error}"))?;
            output::line(format_args!(
                "{} {} {}",
                sent.sent, sent.received, sent.micros
            ))?;
        }
    }
    output::bytes(&out)?;
    Ok(0)
}

/// A lab with a running router.
struct Live {
    lab: Lab,
    router: Running,
    control: PathBuf,
    /// Daemons in hosts; they end with the lab.
    daemons: Vec<Child>,
}

/// Runs a lab with router and console until the console closes.
fn live(
    name: &str,
    config: Option<PathBuf>,
    workers: u8,
    driver: Option<&str>,
) -> Result<u8, String> {
    let layout =
        lab::layout(name).ok_or_else(|| lab::Error::UnknownLayout(name.to_owned()).to_string())?;
    // With another configuration the story does not apply.
    let story = lab::story(name).filter(|_| config.is_none());
    let live = Live::start(layout, config.clone(), workers, driver)?;
    let ports = live.router.ports_in_words();
    banner(&live.lab, layout, config.as_deref(), &ports, &live.control);
    if let Some(story) = story {
        let _ = output::text(told(story));
    }
    let code = crate::command::client::console_until_signal(&live.control);
    live.end()?;
    code
}

/// Measures the router of a running lab, or else the lab's faulty and corrected configuration.
fn measured(name: &str, json: bool) -> Result<u8, String> {
    let names = || {
        let names = lab::STORIES.iter().map(|story| story.layout.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let story = lab::story(name)
        .ok_or_else(|| format!("lab `{name}` has no story; labs with a story: {}", names()))?;
    let control = location::of_lab(name);
    let runs = std::os::unix::net::UnixStream::connect(&control).is_ok();
    if runs {
        let lab = Lab::open(name).map_err(|error| error.to_string())?;
        let now = measure::measure(&lab, story, &control, "now")?;
        output::text(measure::shown(&[now], json))?;
        return Ok(0);
    }
    let live = Live::start(story.layout, None, 1, None)?;
    let both = || -> Result<_, String> {
        let wrong = measure::measure(&live.lab, story, &live.control, "wrong")?;
        measure::put_right(story, &live.control)?;
        let right = measure::measure(&live.lab, story, &live.control, "right")?;
        Ok([wrong, right])
    };
    let both = both();
    live.end()?;
    if !json {
        output::text(format_args!(
            "{}\nSource: {}.{}\nCorrected by\n{}\n",
            story.tale,
            story.source,
            finding(story),
            right(story)
        ))?;
    }
    output::text(measure::shown(&both?, json))?;
    Ok(0)
}

impl Live {
    fn start(
        layout: &'static Layout,
        config: Option<PathBuf>,
        workers: u8,
        driver: Option<&str>,
    ) -> Result<Self, String> {
        let reach = Reach {
            state: Some(String::from(":memory:")),
            control: Some(location::of_lab(layout.name)),
        };
        let place = location::Location::of(&reach);
        let control = place.control.clone();
        let options = Options {
            name: None,
            life: Life::Owned,
            holding: None,
            belongings: vec![control.clone(), place.devices(), furniture(&control)],
        };
        let lab = Lab::up(layout, &options).map_err(|error| error.to_string())?;
        let mut daemons = begin(&lab, layout, &furniture(&control))?;
        let sites = sites::prepare(&lab, layout, &furniture(&control))?;
        let story = lab::story(layout.name);
        let board = story.and_then(|story| story.board);
        let mut run = Run {
            config,
            replace: false,
            store_key: None,
            store_passphrase_file: None,
            token_module: None,
            token_label: None,
            token_folder: None,
            recover: false,
            ports: ports(layout, driver.or_else(|| suits(&lab, layout))),
            take: false,
            workers,
            packet_memory: None,
            board: board.and_then(|board| Board::named(board).ok()),
            no_host: false,
            listen: None,
            log: cli::LogLevel::Warn,
            reach,
        };
        lab.enter_router().map_err(|error| error.to_string())?;
        let default = run.config.is_none().then_some(layout.config);
        let router = match start(&run, default) {
            // The lab's preferred driver may not work on the machine; a driver named by the user is kept.
            Err(_) if driver.is_none() && run.ports != ports(layout, None) => {
                run.ports = ports(layout, None);
                start(&run, default)?
            }
            router => router?,
        };
        // The commands belong to the lab's own configuration.
        if run.config.is_none() {
            sites::complete(layout, &control)?;
        }
        // The other routers find the one in the host `router` running.
        daemons.extend(sites::begin(layout, sites)?);
        Ok(Self {
            lab,
            router,
            control,
            daemons,
        })
    }

    fn end(self) -> Result<(), String> {
        drop(self.router);
        let down = self.lab.down().map_err(|error| error.to_string());
        for mut daemon in self.daemons {
            // They have ended with the lab.
            let _ = daemon.wait();
        }
        down
    }
}

/// Returns the folder of the daemons' files.
fn furniture(control: &Path) -> PathBuf {
    control.with_extension("lab")
}

/// Starts the daemons of a layout; their files are in `folder`.
fn begin(lab: &Lab, layout: &Layout, folder: &Path) -> Result<Vec<Child>, String> {
    let daemons = lab::daemons(layout);
    if daemons.is_empty() {
        return Ok(Vec::new());
    }
    let broken = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(broken)?;
    lab::furnish(layout, folder).map_err(broken)?;
    let start = |daemon: &lab::Daemon| {
        if !installed(daemon.needs) {
            return Err(format!(
                "`{}` is not installed, and the lab `{}` needs it: `make deps` installs it",
                daemon.needs, layout.name
            ));
        }
        let argv = daemon.words(folder);
        let mut command =
            { lab.command_line(daemon.host, &argv) }.map_err(|error| error.to_string())?;
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        quiet
            .spawn()
            .map_err(|error| format!("{}: {error}", daemon.argv[0]))
    };
    daemons.iter().map(start).collect()
}

/// Returns true if the program is installed.
fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.any(|folder| folder.join(program).exists())
}

/// Starts a router in its own thread, which drops the rights that this thread needs to remove the lab.
fn start(run: &Run, default: Option<&str>) -> Result<Running, String> {
    let started = thread::scope(|scope| scope.spawn(|| crate::run::start(run, default)).join());
    started.unwrap_or_else(|_| Err(String::from("the router ended during its start")))
}

/// Returns the best driver for a lab: XDP if the hosts complete their packets themselves.
fn suits(lab: &Lab, layout: &Layout) -> Option<&'static str> {
    let finished = layout
        .links
        .iter()
        .all(|link| link.offloads == lab::Offloads::Off);
    let small = layout.links.iter().all(|link| link.mtu <= 1500);
    (lab.holding() == Holding::Named && finished && small).then_some("xdp")
}

fn ports(layout: &Layout, driver: Option<&str>) -> Vec<String> {
    let device = |device: &str| match driver {
        Some(driver) => format!("{device}={driver}:{device}"),
        None => format!("{device}={device}"),
    };
    layout.ports().into_iter().map(device).collect()
}

/// Prints the hosts and how to use them. `config` is the user's configuration, if any.
fn banner(lab: &Lab, layout: &Layout, config: Option<&Path>, ports: &[String], control: &Path) {
    let name = lab.name();
    let held = match lab.holding() {
        Holding::Named => "namespaces",
        Holding::Held => "namespaces of an unprivileged user",
    };
    let what = match config {
        None => layout.summary.to_owned(),
        Some(file) => format!("its hosts and links, and a router with {}", file.display()),
    };
    let mut text = format!(
        "\nferroute {} runs in the lab `{name}`: {what}\n",
        env!("CARGO_PKG_VERSION"),
    );
    text.push_str(&format!(
        "(the hosts are in {held}; this machine's own network is unchanged)\n"
    ));
    for port in ports {
        text.push_str(&format!("  {port}\n"));
    }
    if config.is_some() {
        text.push_str(&needs(layout));
    }
    text.push_str(&hints(layout, name, control, config.is_none()));
    let _ = output::text(text);
}

/// Returns the story, and the commands to see and to correct the fault.
fn told(story: &Story) -> String {
    let (program, name) = (program::word(), story.layout.name);
    let wide = { story.looks.iter() }
        .map(|(look, _)| look.len())
        .max()
        .unwrap_or(0);
    let looks = { story.looks.iter() }
        .map(|(look, shows)| format!("  {look:<wide$}  {shows}\n"))
        .collect::<String>();
    format!(
        "{}\nSource: {}.{}\nMeasure it, from another shell:\n  {program} lab measure {name}\nFind the cause, here:\n{looks}\
         Correct it, here, and measure again:\n{}\n",
        story.tale,
        story.source,
        finding(story),
        right(story),
    )
}

/// Returns the rule of the doctor that finds the fault.
fn finding(story: &Story) -> String {
    let rule = story
        .finding
        .map(|rule| format!(" The doctor's finding: {rule}."));
    rule.unwrap_or_default()
}

/// Returns the correcting commands of a story.
fn right(story: &Story) -> String {
    let lines = story.right.lines();
    lines.map(|line| format!("  {line}\n")).collect()
}

/// Returns the requirements of the lab's hosts for a configuration.
fn needs(layout: &Layout) -> String {
    let mut text = String::from("\nThe hosts are those of the lab, whatever the configuration:\n");
    for link in layout.links {
        let [one, other] = &link.ends;
        let (port, end) = match (one.addresses.is_empty(), other.addresses.is_empty()) {
            (true, false) => (one, other),
            (false, true) => (other, one),
            _ => {
                let (port, end) = (one, other);
                let mut daemons = lab::daemons(layout).iter();
                if daemons.any(|daemon| daemon.host == end.host && daemon.is_dhcp_client()) {
                    text.push_str(&format!(
                        "  at {}: {}, which asks for an address by DHCP\n",
                        port.device, end.host
                    ));
                }
                continue;
            }
        };
        let ways = layout.host(end.host).map_or(&[][..], |host| host.routes);
        let ways = ways.iter().map(|route| route.via);
        text.push_str(&format!(
            "  at {}: {} with {}, whose gateway is {}\n",
            port.device,
            end.host,
            end.addresses.join(" and "),
            ways.collect::<Vec<_>>().join(" and "),
        ));
    }
    text
}

/// Returns example commands. Reachability is certain only with the layout's own configuration.
fn hints(layout: &Layout, name: &str, control: &Path, own: bool) -> String {
    let program = program::word();
    let client = layout.hosts.first().map_or("client", |host| host.name);
    let ends = layout.links.iter().flat_map(|link| &link.ends);
    let mut others = ends.filter(|end| end.host != client && !end.addresses.is_empty());
    let server = others
        .next()
        .and_then(|end| end.addresses.first()?.split('/').next());
    let mut daemons = lab::daemons(layout).iter();
    let first = match daemons.any(lab::Daemon::is_dhcp_client) {
        true => "/ip/dhcp-server/lease/print",
        false if layout.config.contains("/interface pppoe-server") => "/ppp/active/print",
        false => "/interface/print stats",
    };
    let from_client = match server.filter(|_| own) {
        Some(server) => format!("ping {server}"),
        None => String::from("ip address"),
    };
    format!(
        "\nThree things to try here, and two from another shell:\n  \
         {first}\n  \
         /ip/route/print\n  \
         /log/print\n  \
         {program} lab exec {name} {client} -- {from_client}\n  \
         {program} console --control {}\n\
         Tab completes, ? or F1 helps, Ctrl-D leaves and removes the lab.\n\n",
        program::shell(control),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_can_be_typed_and_fit_what_runs() {
        let home = lab::layout("home").expect("it comes with the program");
        let asks = "  at ether3: laptop, which asks for an address by DHCP";
        assert_eq!(needs(home).lines().nth(4), Some(asks));
        let fixed = lab::layout("static").expect("it comes with the program");
        let control = Path::new("/run/user/0/a b.sock");

        let own = hints(home, "home", control, true);
        let program = std::env::current_exe().expect("there is a file of this program");
        let ping = format!(
            "{} lab exec home client -- ping 203.0.113.1\n",
            program.display()
        );
        assert!(own.contains(&ping), "{own}");
        assert!(
            own.contains(" console --control '/run/user/0/a b.sock'\n"),
            "{own}"
        );

        let other = hints(home, "home", control, false);
        assert!(!other.contains("203.0.113.1"), "{other}");
        assert_eq!(
            needs(fixed).lines().nth(3),
            Some(
                "  at ether2: client with 192.168.88.10/24 and 2001:2:0:88::10/64, whose gateway \
                 is 192.168.88.1 and 2001:2:0:88::1"
            )
        );
    }
}
