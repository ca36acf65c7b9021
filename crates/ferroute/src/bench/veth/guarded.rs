//! The row `stateful-25`: 25 rules and connection tracking, compared with the same rules and conntrack in the kernel's
//! nftables.
//!
//! Both drop invalid packets, which makes the kernel track connections, and then accept packets that one of the 25
//! rules matches; all other packets pass by the chain's policy. Half of the flows match a rule. Packets in both
//! directions establish all flows before the measurement, which uses packets in the original direction. The kernel's
//! rules have no counters; the router's rules always count.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use bench::{Family, Peer, Row, Ruleset, answer};
use lab::Lab;

use super::generator::Generator;
use super::pair::Pair;
use super::{KERNEL, NOBODY, ROWS};
use crate::cli::Bench;

/// Numbers of concurrent connections.
const FLOWS: [u32; 2] = [1_000, 64_000];
/// Size of the kernel's connection table: flows of both families, and flows of earlier rows.
const ENTRIES: u32 = 1 << 18;

/// Names of a family in both configuration languages.
struct Words {
    family: Family,
    /// `/ip` or `/ipv6`, and the menu of static neighbours.
    menu: &'static str,
    neighbours: &'static str,
    /// Option of `ip`, and family of nftables.
    option: &'static str,
    table: &'static str,
    default: &'static str,
    /// Generators at the near and the far side.
    near: &'static str,
    far: &'static str,
}

const FAMILIES: [Words; 2] = [
    Words {
        family: Family::Ipv4,
        menu: "/ip",
        neighbours: "arp",
        option: "-4",
        table: "ip",
        default: "0.0.0.0/0",
        near: "10.0.1.2",
        far: "10.0.2.2",
    },
    Words {
        family: Family::Ipv6,
        menu: "/ipv6",
        neighbours: "neighbor",
        option: "-6",
        table: "ip6",
        default: "::/0",
        near: "2001:db8:1::2",
        far: "2001:db8:2::2",
    },
];

/// Configures rules and routes of both sides.
///
/// # Errors
/// Why the kernel of this machine cannot be measured.
pub(super) fn prepare(lab: &Lab, pair: &Pair) -> Result<(), String> {
    let (mut routes, mut rules, mut ours) = (String::new(), String::new(), String::new());
    for words in &FAMILIES {
        words.say_routes(&mut routes);
        words.say_rules(&mut rules);
        words.say_commands(&mut ours);
    }
    let room = format!("echo {ENTRIES} > /proc/sys/net/netfilter/nf_conntrack_max || true");
    in_kernel(lab, &["nft", "-f", "-"], &rules)?;
    in_kernel(lab, &["sh", "-e"], &format!("{routes}{room}"))?;
    let room = in_kernel(
        lab,
        &["cat", "/proc/sys/net/netfilter/nf_conntrack_max"],
        "",
    )?;
    if room.trim().parse().unwrap_or(0) < ENTRIES {
        return Err(format!(
            "the kernel tracks {} connections at most",
            room.trim()
        ));
    }
    pair.router.exec(&ours).map(|_| ())
}

impl Words {
    fn say_routes(&self, text: &mut String) {
        let Self {
            option, near, far, ..
        } = self;
        let _ = writeln!(
            text,
            "ip neighbour replace {near} lladdr {NOBODY} nud permanent dev k1
             ip {option} route replace default via {far}"
        );
        for source in Ruleset::new(self.family).sources() {
            let _ = writeln!(text, "ip {option} route replace {source} via {near}");
        }
    }

    fn say_rules(&self, text: &mut String) {
        let table = self.table;
        let _ = writeln!(
            text,
            "table {table} bench {{ chain forward {{ type filter hook forward priority 0; policy accept;
             ct state invalid drop"
        );
        for rule in Ruleset::new(self.family).nftables() {
            let _ = writeln!(text, "{rule} accept");
        }
        text.push_str("}\n}\n");
    }

    fn say_commands(&self, text: &mut String) {
        let Self {
            menu,
            neighbours,
            default,
            near,
            far,
            ..
        } = self;
        let ruleset = Ruleset::new(self.family);
        let neighbour = format!("address={near} interface=ether1 mac-address={NOBODY}");
        let _ = writeln!(text, "{menu}/{neighbours}/add {neighbour}");
        let _ = writeln!(text, "{menu}/route/add dst-address={default} gateway={far}");
        for source in ruleset.sources() {
            let _ = writeln!(text, "{menu}/route/add dst-address={source} gateway={near}");
        }
        let add = format!("{menu}/firewall/filter/add chain=forward");
        let _ = writeln!(text, "{add} action=drop connection-state=invalid");
        for rule in ruleset.routeros() {
            let _ = writeln!(text, "{add} action=accept {rule}");
        }
    }
}

/// Runs a command in the forwarding host; returns its output.
fn in_kernel(lab: &Lab, argv: &[&str], input: &str) -> Result<String, String> {
    let program = argv.first().copied().unwrap_or_default();
    let failed = |error: std::io::Error| format!("{program}: {error}");
    let mut command = lab
        .command(KERNEL, program)
        .map_err(|error| error.to_string())?;
    command.args(argv.get(1..).unwrap_or_default());
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input reports its own error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(match complaint.contains("failed to execute") {
        true => format!("`{program}` is not installed"),
        false => format!("{program}: {complaint}"),
    })
}

/// Measures both families.
///
/// # Errors
/// A run failed; completed rows are printed.
pub(super) fn measure(
    bench: &Bench,
    via: &'static str,
    pair: &mut Pair,
    print: &mut dyn FnMut(&Row),
) -> Result<(), String> {
    let (tsc_hz, core_hz) = kernels::measure_hz();
    let mut back = [
        Generator::new("gb1", lab::plan::mac(2, 1), "ga1", pair.cores)?,
        Generator::new("gb2", lab::plan::mac(4, 1), "ga2", pair.cores)?,
    ];
    for words in &FAMILIES {
        let ruleset = Ruleset::new(words.family);
        for flows in FLOWS {
            let packets = ruleset.packets(flows);
            let answers: Vec<_> = packets.iter().cloned().map(answer).collect();
            pair.load(&packets)?;
            for (there, back) in [&mut pair.ours, &mut pair.theirs]
                .into_iter()
                .zip(&mut back)
            {
                back.load(&answers)?;
                there.sweep()?;
                back.sweep()?;
            }
            established(words, pair, flows)?;
            let mut measured = pair.measure(bench.runs)?;
            let row = measured.row(words.family, tsc_hz, core_hz);
            print(&Row {
                row: ROWS[1],
                frame: ruleset.frame_len(),
                flows,
                routes: ruleset.sources().len() as u32 + 1,
                via,
                peer: row.peer.map(|peer| Peer {
                    name: "nftables",
                    ..peer
                }),
                ..row
            });
        }
    }
    Ok(())
}

/// Checks that the router has seen answers on as many connections as there are flows.
fn established(words: &Words, pair: &Pair, flows: u32) -> Result<(), String> {
    let count = format!(
        "{}/firewall/connection/print count-only where seen-reply",
        words.menu
    );
    let said = pair.router.exec(&count)?;
    match said.trim().parse::<u32>() {
        Ok(answered) if answered >= flows => Ok(()),
        _ => Err(format!(
            "of {flows} connections {} were answered",
            said.trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_the_same_rules() {
        let (mut ours, mut theirs) = (String::new(), String::new());

        FAMILIES[0].say_commands(&mut ours);
        FAMILIES[0].say_rules(&mut theirs);

        let accepting = |text: &str| text.lines().filter(|line| line.contains("accept")).count();
        assert_eq!(accepting(&ours), 25);
        // The policy of the chain is on a separate line.
        assert_eq!(accepting(&theirs), 26);
        assert!(ours.contains(
            "/ip/firewall/filter/add chain=forward action=drop connection-state=invalid"
        ));
        assert!(theirs.contains("ct state invalid drop"));
    }
}
