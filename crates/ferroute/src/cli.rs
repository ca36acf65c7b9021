//! The command line, declared once: parsing, `--help`, the man page and shell completion.

mod bench;
mod trace;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use router::board::Board;

pub(crate) use self::bench::{
    Attack, AttackKind, Bench, BenchPart, Compare, QueueKind, Queues, Table, Via,
};
pub(crate) use self::trace::{Test, Trace};
use crate::services::Listen;

/// An open router that runs RouterOS configuration on any Linux machine.
#[derive(Debug, Parser)]
#[command(
    name = "ferroute",
    version,
    about,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What ferroute can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a router in the foreground; it logs to the standard error.
    Run(Run),
    /// Open the console of a running router.
    Console(Reach),
    /// Run one console command on a running router.
    Exec(Exec),
    /// Check a configuration without running anything: what of it is applied, has no effect, is refused.
    Check(Check),
    /// Show which way a packet would take, and why: stage by stage, rule by rule.
    Trace(Box<Trace>),
    /// Ask a configuration what becomes of packets, and compare that with what is expected of it.
    Test(Test),
    /// Say where the bottleneck of a board lies for the traffic that is expected of it, and what would be better.
    Plan(Plan),
    /// Calculate: rates of layers, windows of TCP, token buckets, overhead of tunnels, wireless rates, networks.
    Calc(Calc),
    /// Show a script as the language understands it, without running anything.
    Parse(Parse),
    /// Make labs of hosts in network namespaces, and work in them.
    #[command(subcommand)]
    Lab(Lab),
    /// Work in the namespace of the router's own services.
    #[command(subcommand)]
    Host(Host),
    /// Measure the data plane.
    Bench(Bench),
    /// Write the man pages or the shell completions.
    Docs(Docs),
}

/// How a router is started.
#[derive(Clone, Debug, Args)]
pub(crate) struct Run {
    /// The configuration (.rsc) to begin with. A router that has a configuration of its own keeps
    /// it and prints the difference; see --replace.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Make the smallest change that brings the router's own configuration to --config.
    #[arg(long, requires = "config")]
    pub(crate) replace: bool,
    /// A port: its name in the configuration and the device behind it, such as ether1=eth1. The
    /// device may begin with its driver: xdp:, xdp-native:, xdp-generic:, packet:, tap:, or
    /// pcap:in.pcap,out.pcap. Without one, the best that works is taken, and named.
    #[arg(long = "port", value_name = "NAME=[DRIVER:]DEVICE")]
    pub(crate) ports: Vec<String>,
    /// Take devices over even if the machine's default route uses them, if they are ports of its bridge or bond, if
    /// another program gets their frames by XDP, or if what was on them is lost with the state folder of a router
    /// that was killed.
    #[arg(long)]
    pub(crate) take: bool,
    /// Threads that forward packets, each on a core of its own.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) workers: u8,
    /// Memory for the packets of each worker, in MiB. Default: by the number of ports and the machine's memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..=16_384))]
    pub(crate) packet_memory: Option<u32>,
    /// Be this board of RouterOS's maker, such as hAP-ac2: its switch chips decide which ports of bridges are
    /// switched below the router. Without it that is whatever the kernel can switch.
    #[arg(long, value_name = "NAME", value_parser = board)]
    pub(crate) board: Option<&'static Board>,
    /// Do without the namespace for the router's own TCP and UDP services.
    #[arg(long)]
    pub(crate) no_host: bool,
    /// An address of this machine at which the services of /ip/service are reached too, such as
    /// 127.0.0.1:20000: a base port is added to the port of each service.
    #[arg(long, value_name = "ADDRESS[:BASEPORT]")]
    pub(crate) listen: Option<Listen>,
    /// The key that the configuration is encrypted with, made where it is not there. Default: the credential
    /// store-key of the service manager, or ferroute/store.key in the user's settings (~/.config).
    #[arg(long, value_name = "FILE", conflicts_with = "store_passphrase_file")]
    pub(crate) store_key: Option<PathBuf>,
    /// A file with a passphrase that the configuration is encrypted with, in place of a key.
    #[arg(long, value_name = "FILE")]
    pub(crate) store_passphrase_file: Option<PathBuf>,
    /// Where the configuration's files are damaged, accept the last good state: it is written anew, the log says
    /// what is lost, and the damaged files are put aside. Without it the router runs that state and refuses changes.
    #[arg(long)]
    pub(crate) recover: bool,
    /// How much is logged.
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,
    /// Where it can be reached.
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// What stops a function.
    Error,
    /// What is worth a look tomorrow.
    Warn,
    /// What a user notices.
    Info,
    /// Decisions.
    Debug,
    /// Every packet that control sees.
    Trace,
}

/// Which running router is meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Reach {
    /// The folder of the router's state, or :memory: to keep nothing. Default: /var/lib/ferroute,
    /// or the user's state folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<String>,
    /// The socket of the local console. Default: control.sock in the state folder.
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
}

/// One console command.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Answer in JSON, in the shape of RouterOS's REST.
    #[arg(long)]
    pub(crate) json: bool,
    /// Which router.
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// The command, such as '/ip/route/print'.
    #[arg(required = true)]
    pub(crate) command: Vec<String>,
}

/// A configuration to be checked, and its mistakes. The exit code is 0 if all of it is applied, 3 if some of it has no
/// effect yet, 1 if some of it is refused, 4 if it has mistakes that --deny names.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say which ports of bridges this board of RouterOS's maker switches, such as hAP-ac2, why not the others, and
    /// which share a way to its processor.
    #[arg(long, value_name = "NAME", value_parser = board)]
    pub(crate) board: Option<&'static Board>,
    /// Answer in SARIF, as forges show it beside the lines.
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
    /// Print commands that mend mistakes, where nobody has to decide.
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    pub(crate) fix: bool,
    /// Which mistakes make the exit code 4: errors, warnings as well, or all.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) deny: Option<Level>,
    /// The configuration (.rsc); - is the standard input.
    pub(crate) file: PathBuf,
}

/// From how bad a mistake on a check fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Level {
    /// Any mistake.
    Advice,
    /// Warnings and errors.
    Warning,
    /// Errors.
    Error,
}

impl From<Level> for doctor::Severity {
    fn from(level: Level) -> Self {
        match level {
            Level::Advice => Self::Advice,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
        }
    }
}

/// The board of this name.
fn board(name: &str) -> Result<&'static Board, String> {
    Board::named(name).map_err(|boards| format!("there are {}", boards.join(", ")))
}

/// Traffic between ports of a board. The exit code is 4 if some lane to the processor is overloaded.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// The board of RouterOS's maker, such as hEX or RB3011.
    #[arg(long, value_name = "NAME", value_parser = board)]
    pub(crate) board: &'static Board,
    /// Traffic from a port to another in bits a second, such as ether2-ether4=700M; with what goes back, =700M/300M.
    #[arg(long = "flow", value_name = "PORT-PORT=RATE[/BACK]", required = true)]
    pub(crate) flows: Vec<String>,
    /// Ports that the board's chips switch, separated by commas: what goes between two of a chip takes no lane.
    #[arg(long, value_delimiter = ',', value_name = "PORTS")]
    pub(crate) switched: Vec<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A calculator; without a name all are listed.
#[derive(Debug, Args)]
pub(crate) struct Calc {
    /// Its name.
    pub(crate) name: Option<String>,
    /// What it takes, such as frame=1518; what is left out has a usual value.
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) values: Vec<String>,
}

/// A script to be read.
#[derive(Debug, Args)]
pub(crate) struct Parse {
    /// The script (.rsc); - is the standard input.
    pub(crate) file: PathBuf,
}

/// What can be done with labs.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// List the labs there are, and which of them are up.
    List,
    /// Make a lab.
    Up {
        /// Its name.
        name: String,
    },
    /// Run a command on one of a lab's hosts.
    Exec {
        /// The lab.
        name: String,
        /// The host.
        host: String,
        /// The command and its arguments, after --.
        #[arg(required = true, last = true)]
        command: Vec<String>,
    },
    /// Remove a lab.
    Down {
        /// Its name.
        name: String,
    },
    /// Make a lab, run a router in it with its console here, and remove it at the end.
    Run {
        /// Its name.
        #[arg(default_value = "home")]
        name: String,
        /// Another configuration than the lab's own.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Threads that forward packets.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
        workers: u8,
        /// The driver of the lab's ports: xdp, packet.
        #[arg(long, value_name = "DRIVER")]
        driver: Option<String>,
    },
    /// Send the traffic of a lab that tells a story, and show what it costs: as the lab that runs is configured, or,
    /// where none runs, wrong and right side by side.
    Measure {
        /// Its name.
        name: String,
        /// Answer in JSON.
        #[arg(long)]
        json: bool,
    },
    /// Count the datagrams that senders send to this address, until it is ended.
    #[command(hide = true)]
    Receive {
        /// Address and port.
        at: String,
    },
    /// Send datagrams, and print how many were sent and arrived, and in how many microseconds.
    #[command(hide = true)]
    Send {
        /// Address and port.
        to: String,
        /// How many.
        datagrams: u32,
        /// Megabits of frames a second.
        mbps: u32,
        /// How often to ask whether there is somebody, a tenth of a second each.
        tries: u32,
    },
}

/// What can be done in the host plane.
#[derive(Debug, Subcommand)]
pub(crate) enum Host {
    /// Run a command in the namespace of the router's own services.
    Exec {
        /// Which router.
        #[command(flatten)]
        reach: Reach,
        /// The command and its arguments, after --.
        #[arg(required = true, last = true)]
        command: Vec<String>,
    },
}

/// What is to be written.
#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// The kind.
    #[arg(
        value_enum,
        required_unless_present = "coverage",
        conflicts_with = "coverage"
    )]
    pub(crate) kind: Option<DocsKind>,
    /// The folder to write to.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Say which menus, commands and properties of another router's tree are supported here, kept
    /// without effect, or unknown.
    #[arg(long, requires = "tree")]
    pub(crate) coverage: bool,
    /// The tree: JSON, objects by name with a `_type` of dir, path, cmd or arg.
    #[arg(long, value_name = "FILE", requires = "coverage")]
    pub(crate) tree: Option<PathBuf>,
    /// Answer in JSON.
    #[arg(long, requires = "coverage")]
    pub(crate) json: bool,
}

/// A kind of documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocsKind {
    /// Man pages, section 1.
    Man,
    /// Completions for bash, zsh and fish.
    Completions,
    /// Every menu with its properties and commands, as Markdown.
    Reference,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_declaration_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn documentation_is_written_where_the_installer_wants_it() {
        let cli = Cli::parse_from(["ferroute", "docs", "man", "target/docs"]);

        let Command::Docs(docs) = cli.command else {
            panic!("docs was parsed as {cli:?}")
        };
        assert_eq!(docs.out, PathBuf::from("target/docs"));
    }

    #[test]
    fn coverage_takes_a_tree_and_no_kind() {
        let parse = |args: &[&str]| Cli::try_parse_from([&["ferroute", "docs"], args].concat());

        assert!(parse(&["--coverage", "--tree", "tree.json", "--json"]).is_ok());
        assert!(parse(&["--coverage"]).is_err());
        assert!(parse(&["man", "--coverage", "--tree", "tree.json"]).is_err());
        assert!(parse(&[]).is_err());
    }

    #[test]
    fn options_stand_before_a_console_command_or_behind_it() {
        let exec = |words: &[&str]| {
            let cli = Cli::parse_from([&["ferroute", "exec"], words].concat());
            let Command::Exec(exec) = cli.command else {
                panic!("exec was parsed as {cli:?}")
            };
            (exec.json, exec.command.join(" "))
        };

        let print = (true, "/ip route print".to_owned());
        assert_eq!(exec(&["--json", "/ip", "route", "print"]), print);
        assert_eq!(exec(&["/ip", "route", "print", "--json"]), print);
        let negative = (false, ":put -5".to_owned());
        assert_eq!(exec(&[":put -5"]), negative);
        assert_eq!(exec(&["--", ":put", "-5"]), negative);
    }
}
