//! The command line, declared once: parsing, `--help`, the man page and shell completion.

mod bench;
pub(crate) mod location;
pub(crate) mod output;
mod trace;

use std::path::PathBuf;

use board::Board;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::bench::{
    Attack, AttackKind, Bench, BenchPart, Compare, Pppoe, QueueKind, Queues, Table, Through,
    Tunnel, Tunnels, Via, Vpn,
};
pub(crate) use self::location::Reach;
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
    /// Subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a router in the foreground; it logs to standard error.
    Run(Run),
    /// Open the console of a running router.
    Console(Reach),
    /// Run one console command on a running router.
    Exec(Exec),
    /// Check a configuration without running anything: what is applied, ignored or refused.
    Check(Check),
    /// Trace a packet: stage by stage, rule by rule, and why.
    Trace(Box<Trace>),
    /// Compare a configuration with expectations about packets.
    Test(Test),
    /// List the packets that a configuration lets through, by classes that its rules do not tell apart.
    Reach(Reachability),
    /// Advise.
    #[command(subcommand)]
    Advise(Advise),
    /// Find the bottleneck of a board for expected traffic, and suggest improvements.
    Plan(Plan),
    /// Calculate: rates by layer, TCP windows, token buckets, tunnel overhead, wireless rates, networks.
    Calc(Calc),
    /// Show a script as the language parses it, without running anything.
    Parse(Parse),
    /// Create labs of hosts in network namespaces, and work in them.
    #[command(subcommand)]
    Lab(Lab),
    /// Work in the network namespace of the router's own services.
    #[command(subcommand)]
    Host(Host),
    /// Measure the data plane.
    Bench(Bench),
    /// Write man pages, shell completions or the menu reference.
    Docs(Docs),
}

/// Options of a router.
#[derive(Clone, Debug, Args)]
pub(crate) struct Run {
    /// Initial configuration (.rsc). A router with a stored configuration keeps that and prints the difference;
    /// see --replace.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Change the stored configuration to --config, by the smallest set of commands.
    #[arg(long, requires = "config")]
    pub(crate) replace: bool,
    /// A port: its name in the configuration and its device, such as ether1=eth1. The device may have a driver
    /// prefix: xdp:, xdp-native:, xdp-generic:, packet:, tap:, or pcap:in.pcap,out.pcap. Without prefix the
    /// best working driver is used and printed.
    #[arg(long = "port", value_name = "NAME=[DRIVER:]DEVICE")]
    pub(crate) ports: Vec<String>,
    /// Take devices even if the machine's default route uses them, if they are ports of a bridge or bond of the
    /// machine, if another program uses XDP on them, or if their previous settings were lost with the state
    /// folder of a killed router.
    #[arg(long)]
    pub(crate) take: bool,
    /// Number of forwarding threads, each on its own core.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) workers: u8,
    /// Memory for packets per worker, in MiB. Default: depends on the number of ports and the machine's memory.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..=16_384))]
    pub(crate) packet_memory: Option<u32>,
    /// Imitate this RouterBOARD model, such as hAP-ac2: its switch chips decide which bridge ports are switched
    /// in hardware. Without it the kernel decides.
    #[arg(long, value_name = "NAME", value_parser = board)]
    pub(crate) board: Option<&'static Board>,
    /// Run without the network namespace for the router's own TCP and UDP services.
    #[arg(long)]
    pub(crate) no_host: bool,
    /// An additional address of this machine for the services of /ip/service, such as 127.0.0.1:20000: the port
    /// is added to the port of each service.
    #[arg(long, value_name = "ADDRESS[:BASEPORT]")]
    pub(crate) listen: Option<Listen>,
    /// File with the key that encrypts the configuration, created if missing. Default: the credential store-key
    /// of the service manager, or ferroute/store.key in the user's configuration folder (~/.config).
    #[arg(long, value_name = "FILE", conflicts_with = "store_passphrase_file")]
    pub(crate) store_key: Option<PathBuf>,
    /// File with a passphrase that encrypts the configuration, in place of a key.
    #[arg(long, value_name = "FILE")]
    pub(crate) store_passphrase_file: Option<PathBuf>,
    /// PKCS #11 module (a shared library) of a smart card or another token that keeps private keys of certificates.
    /// /certificate/card-reinstall pin=... stores its PIN.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_module: Option<PathBuf>,
    /// Label of the token, if the module has several. Default: the first one.
    #[arg(long, value_name = "LABEL", requires = "token_module")]
    pub(crate) token_label: Option<String>,
    /// Folder that the module writes to, such as that of SoftHSM's tokens: the router may write to no others.
    #[arg(long, value_name = "FOLDER", requires = "token_module")]
    pub(crate) token_folder: Option<PathBuf>,
    /// If files of the stored configuration are damaged, accept the last good state: rewrite it, log what is
    /// lost, and set the damaged files aside. Without this option the router runs that state and refuses
    /// changes.
    #[arg(long)]
    pub(crate) recover: bool,
    /// Log level.
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log: LogLevel,
    /// Location of the router.
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// Log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Failures of a function.
    Error,
    /// Problems to examine later.
    Warn,
    /// Events that users notice.
    Info,
    /// Decisions of the program.
    Debug,
    /// Every packet that control processes.
    Trace,
}

/// A console command.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// Print JSON, in the format of RouterOS's REST API.
    #[arg(long)]
    pub(crate) json: bool,
    /// Location of the router.
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// The command, such as '/ip/route/print'.
    #[arg(required = true)]
    pub(crate) command: Vec<String>,
}

/// Check of a configuration. The exit code is 0 if all of it is applied, 3 if some of it has no effect yet, 1
/// if some of it is refused, 4 if it has mistakes that --deny selects.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Report which bridge ports this RouterBOARD model switches, such as hAP-ac2, why others are not switched,
    /// and which ports share a lane to its processor.
    #[arg(long, value_name = "NAME", value_parser = board)]
    pub(crate) board: Option<&'static Board>,
    /// Print SARIF, which forges display beside the lines.
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
    /// Print commands that correct mistakes, where no decision is needed.
    #[arg(long, conflicts_with_all = ["json", "sarif"])]
    pub(crate) fix: bool,
    /// Mistakes that give exit code 4: error, warning (and errors), or advice (all).
    #[arg(long, value_name = "LEVEL")]
    pub(crate) deny: Option<Level>,
    /// Name what today's RouterOS does better: old forms in the file, and old ways of doing things.
    #[arg(long, conflicts_with_all = ["joined", "sarif"])]
    pub(crate) modern: bool,
    /// Compare both ends of the tunnels between the routers of several files: algorithms, secrets, selectors, keys,
    /// MTU, addresses, ports, users.
    #[arg(long, conflicts_with_all = ["board", "sarif"])]
    pub(crate) joined: bool,
    /// The configuration (.rsc); - is standard input. Several with --joined.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Minimum severity of mistakes that fail a check.
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

/// Returns the board of a name.
fn board(name: &str) -> Result<&'static Board, String> {
    Board::named(name).map_err(|boards| format!("there are {}", boards.join(", ")))
}

/// Subjects of advice.
#[derive(Debug, Subcommand)]
pub(crate) enum Advise {
    /// Two VPNs for a need: figures, weaknesses, commands for both ends, and files of clients.
    Vpn(AdviseVpn),
}

/// A need for a VPN.
#[derive(Debug, Args)]
pub(crate) struct AdviseVpn {
    /// Who uses the VPN.
    #[arg(long, value_enum, default_value_t = VpnUser::RoadWarrior)]
    pub(crate) who: VpnUser,
    /// Systems of the users, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SYSTEMS")]
    pub(crate) clients: Vec<VpnClient>,
    /// System of the other site.
    #[arg(long, value_enum, default_value_t = VpnFarEnd::Routeros)]
    pub(crate) far: VpnFarEnd,
    /// NAT is between the ends: only the client can begin.
    #[arg(long)]
    pub(crate) nat: bool,
    /// A firewall at the client lets only web traffic out.
    #[arg(long)]
    pub(crate) only_https: bool,
    /// Public address or name of the server, or of the first site.
    #[arg(long, value_name = "ADDRESS", default_value = "203.0.113.1")]
    pub(crate) server: String,
    /// Public address of the second site.
    #[arg(long, value_name = "ADDRESS", default_value = "198.51.100.1")]
    pub(crate) client: String,
    /// Network behind the server.
    #[arg(long, value_name = "NETWORK", default_value = "192.168.88.0/24")]
    pub(crate) server_network: ipnet::IpNet,
    /// Network behind the second site.
    #[arg(long, value_name = "NETWORK", default_value = "192.168.89.0/24")]
    pub(crate) client_network: ipnet::IpNet,
    /// Print the table of characteristics of all VPNs.
    #[arg(long)]
    pub(crate) table: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Users of a VPN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VpnUser {
    /// Single users on the way.
    RoadWarrior,
    /// A network of another site.
    Branch,
    /// A site with secrets.
    Secret,
}

/// Systems of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VpnClient {
    /// Windows.
    Windows,
    /// macOS or iOS.
    Apple,
    /// Android.
    Android,
    /// Linux.
    Linux,
    /// RouterOS.
    Routeros,
}

/// Systems of the other site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VpnFarEnd {
    /// RouterOS.
    Routeros,
    /// Azure.
    Azure,
    /// AWS.
    Aws,
    /// Cisco IOS.
    Cisco,
}

/// A question about the packets that pass. The exit code is 4 if --shadow finds rules, or --against opened classes.
#[derive(Debug, Args)]
pub(crate) struct Reachability {
    /// The configuration (.rsc); - is standard input.
    pub(crate) file: PathBuf,
    /// Where packets come from: wan (interfaces to the Internet), an interface, a list, an address or a network.
    #[arg(long, value_name = "WHERE", default_value = "wan")]
    pub(crate) from: String,
    /// Where packets go: router (chain input), an interface, an address or a network.
    #[arg(long, value_name = "WHERE", default_value = "router")]
    pub(crate) to: String,
    /// State of the packets' connections: new, established, related, invalid or untracked.
    #[arg(long, value_name = "STATE", default_value = "new")]
    pub(crate) connection_state: String,
    /// Ask the rules of IPv6.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// List the dropped packets too.
    #[arg(long)]
    pub(crate) dropped: bool,
    /// List the rules that no packet reaches, and the rules that take their packets together.
    #[arg(long, conflicts_with_all = ["from", "to", "against"])]
    pub(crate) shadow: bool,
    /// List the packets that only one of the two files lets through.
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
}

/// Traffic between ports of a board. The exit code is 4 if a part of the board is overloaded.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// RouterBOARD model, such as hEX or RB3011UiAS-RM.
    #[arg(long, value_name = "NAME", value_parser = board, conflicts_with = "machine")]
    pub(crate) board: Option<&'static Board>,
    /// Plan for this machine, with the results of `ferroute bench table --json` in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Traffic between two ports in bit/s, such as ether2-ether4=700M; with return traffic, =700M/300M; with frames of
    /// 512 bytes, =700M,512; with encryption at the second port, =700M,512,ipsec.
    #[arg(
        long = "flow",
        value_name = "PORT-PORT=RATE[/BACK][,BYTES][,ipsec[:SUITE]]"
    )]
    pub(crate) flows: Vec<String>,
    /// Configuration (.rsc) whose bridges, rules, queues and IPsec proposals count.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Ports that the board's chips switch, separated by commas: traffic between two ports of one chip uses no
    /// lane.
    #[arg(long, value_delimiter = ',', value_name = "PORTS")]
    pub(crate) switched: Vec<String>,
    /// Write the block diagram with the loads to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the features of switch chips, in 2018 and today, and the boards that have them.
    #[arg(long)]
    pub(crate) chips: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A calculator; without a name all are listed.
#[derive(Debug, Args)]
pub(crate) struct Calc {
    /// Name of the calculator.
    pub(crate) name: Option<String>,
    /// Arguments, such as frame=1518 or --frame 1518; missing ones have defaults.
    #[arg(
        value_name = "NAME=VALUE",
        allow_hyphen_values = true,
        trailing_var_arg = true
    )]
    pub(crate) values: Vec<String>,
}

/// A script to parse.
#[derive(Debug, Args)]
pub(crate) struct Parse {
    /// The script (.rsc); - is standard input.
    pub(crate) file: PathBuf,
}

/// Lab subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// List all labs, and which of them are running.
    List,
    /// Create a lab.
    Up {
        /// Name of the lab.
        name: String,
    },
    /// Run a command on one of a lab's hosts.
    Exec {
        /// Name of the lab.
        name: String,
        /// Name of the host.
        host: String,
        /// The command and its arguments, after --.
        #[arg(required = true, last = true)]
        command: Vec<String>,
    },
    /// Remove a lab.
    Down {
        /// Name of the lab.
        name: String,
    },
    /// Create a lab, run a router in it with its console here, and remove the lab at the end.
    Run {
        /// Name of the lab.
        #[arg(default_value = "home")]
        name: String,
        /// Configuration in place of the lab's own.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Number of forwarding threads.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
        workers: u8,
        /// Driver of the lab's ports: xdp or packet.
        #[arg(long, value_name = "DRIVER")]
        driver: Option<String>,
    },
    /// Send the traffic of a lab with a story, and print results and costs: of the running lab as configured,
    /// or of the faulty and corrected configuration side by side.
    Measure {
        /// Name of the lab.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Count datagrams that arrive at this address, until killed.
    #[command(hide = true)]
    Receive {
        /// Address and port.
        at: String,
    },
    /// Send datagrams, and print the numbers sent and received, and the duration in microseconds.
    #[command(hide = true)]
    Send {
        /// Address and port.
        to: String,
        /// Number of datagrams.
        datagrams: u32,
        /// Frame rate in Mbit/s.
        mbps: u32,
        /// Number of attempts to reach a receiver, at intervals of 100 ms.
        tries: u32,
    },
}

/// Host plane subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Host {
    /// Run a command in the network namespace of the router's own services.
    Exec {
        /// Location of the router.
        #[command(flatten)]
        reach: Reach,
        /// The command and its arguments, after --.
        #[arg(required = true, last = true)]
        command: Vec<String>,
    },
}

/// Documents to write.
#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// Kind of documents.
    #[arg(
        value_enum,
        required_unless_present = "coverage",
        conflicts_with = "coverage"
    )]
    pub(crate) kind: Option<DocsKind>,
    /// Output folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Report which menus, commands and properties of another router's tree are supported, accepted without
    /// effect, or unknown.
    #[arg(long, requires = "tree")]
    pub(crate) coverage: bool,
    /// The tree: JSON, nested objects with a `_type` of dir, path, cmd or arg.
    #[arg(long, value_name = "FILE", requires = "coverage")]
    pub(crate) tree: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, requires = "coverage")]
    pub(crate) json: bool,
}

/// Kind of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DocsKind {
    /// Man pages, section 1.
    Man,
    /// Completions for bash, zsh and fish.
    Completions,
    /// Menu reference with properties and commands, in Markdown.
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
