//! `ferroute lab …`: labs of namespaces, and a router in one of them.

use std::path::{Path, PathBuf};

use lab::{Holding, Lab, Layout, Life, Options};

use crate::cli::{self, Reach, Run};
use crate::reach;
use crate::say;

/// Does what `ferroute lab` was asked to.
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
    }
    say::bytes(&out)?;
    Ok(0)
}

/// A lab with a router and its console, as long as the console is open.
fn live(
    name: &str,
    config: Option<PathBuf>,
    workers: u8,
    driver: Option<&str>,
) -> Result<u8, String> {
    let layout =
        lab::layout(name).ok_or_else(|| lab::Error::UnknownLayout(name.to_owned()).to_string())?;
    let reach = Reach {
        state: Some(String::from(":memory:")),
        control: Some(reach::of_lab(name)),
    };
    let place = reach::Place::of(&reach);
    let control = place.control.clone();
    let options = Options {
        name: None,
        life: Life::Owned,
        holding: None,
        belongings: vec![control.clone(), place.devices()],
    };
    let lab = Lab::up(layout, &options).map_err(|error| error.to_string())?;
    let mut run = Run {
        config,
        replace: false,
        ports: ports(layout, driver.or_else(|| suits(&lab, layout))),
        take: false,
        workers,
        no_host: false,
        listen: None,
        log: cli::LogLevel::Warn,
        reach,
    };
    lab.enter_router().map_err(|error| error.to_string())?;
    let default = run.config.is_none().then_some(layout.config);
    let router = match crate::run::start(&run, default) {
        // What suits the lab may not suit the machine; what the user named is not changed.
        Err(_) if driver.is_none() && run.ports != ports(layout, None) => {
            run.ports = ports(layout, None);
            crate::run::start(&run, default)?
        }
        router => router?,
    };
    let ports = router.ports_in_words();
    banner(&lab, layout, run.config.as_deref(), &ports, &control);
    let code = crate::client::console_until_signal(&control);
    drop(router);
    lab.down().map_err(|error| error.to_string())?;
    code
}

/// The driver that suits a lab best: XDP where the hosts finish their packets themselves.
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

/// Says what is there. `config` is what the user brought in place of the layout's.
fn banner(lab: &Lab, layout: &Layout, config: Option<&Path>, ports: &[String], control: &Path) {
    let name = lab.name();
    let control = control.display();
    let client = layout.hosts.first().map_or("client", |host| host.name);
    let held = match lab.holding() {
        Holding::Named => "namespaces",
        Holding::Held => "namespaces of an unprivileged user",
    };
    let what = match config {
        None => layout.summary.to_owned(),
        Some(file) => format!("its hosts and wires, and a router with {}", file.display()),
    };
    let mut text = format!(
        "\nferroute {} runs in the lab `{name}`: {what}\n",
        env!("CARGO_PKG_VERSION"),
    );
    text.push_str(&format!(
        "(the hosts live in {held}; nothing of this machine's own network is touched)\n"
    ));
    for port in ports {
        text.push_str(&format!("  {port}\n"));
    }
    text.push_str(&format!(
        "\nThree things to try, the first from another shell (where --control {control} reaches this \
         router):\n  \
         ferroute lab exec {name} {client} -- ping 203.0.113.1\n  \
         /interface/print stats\n  \
         /ip/settings/print\n\
         Tab completes, ? or F1 helps, Ctrl-D leaves and removes the lab.\n\n"
    ));
    let _ = say::text(text);
}
