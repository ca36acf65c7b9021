//! Commands that create a layout. Pure: nothing here runs anything.
//!
//! Order matters. Kernel settings precede devices, because a new device copies the defaults; all devices come
//! up before any route, because a route needs its link.

use std::fmt::Write;
use std::path::Path;

use crate::layout::{End, Host, Layout, Link, Offloads, Route, SWITCH};
use crate::stories::story;
use crate::story::joined;

/// A program to run once in a host's namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name of the host.
    pub host: &'static str,
    /// Program with its arguments.
    pub argv: Vec<String>,
    /// Complete standard input.
    pub input: String,
}

/// Returns the steps that create `layout`, in order; `namespace` returns the path of a host's namespace.
pub fn steps(layout: &Layout, namespace: impl Fn(&str) -> Box<Path>) -> Vec<Step> {
    let mut steps = Vec::new();
    for host in layout.hosts {
        steps.push(shell(host.name, settings(host)));
    }
    for host in layout.hosts {
        let links = (0u8..)
            .zip(layout.links)
            .filter(|(_, link)| link.ends[0].host == host.name);
        let lines: String = links
            .map(|(index, link)| pair(index, link, &namespace))
            .collect();
        steps.push(ip(host.name, lines));
    }
    if let Some(story) = story(layout.name)
        && let Some(chip) = story.chip
    {
        steps.push(shell(chip, joined(story)));
    }
    if layout.host(SWITCH).is_some() {
        steps.push(shell(SWITCH, joined_by_bridge(layout)));
    }
    for host in layout.hosts {
        steps.push(ip(host.name, addresses(layout, host)));
    }
    for host in layout.hosts {
        steps.push(ip(host.name, routes(host)));
    }
    steps.extend(layout.links.iter().flat_map(without_offloads));
    steps.retain(|step| step.argv[0] == "ethtool" || !step.input.is_empty());
    steps
}

/// Returns the script that joins the devices of the switch. They put VLAN tags into the frames: beside a frame, where a
/// bridge leaves them by default, generic XDP does not see them.
fn joined_by_bridge(layout: &Layout) -> String {
    let ports = layout.ports_of(SWITCH).into_iter();
    let join = ports.map(|port| {
        format!("ip link set dev {port} master bridge\nethtool -K {port} txvlan off rxvlan off\n")
    });
    let join: String = join.collect();
    format!(
        "ip link add name bridge type bridge mcast_snooping 0\n{join}ip link set dev bridge up\n"
    )
}

/// Returns the MAC address of one end of a link: locally administered, derived from its position in the layout.
pub fn mac(link: u8, end: u8) -> String {
    format!("02:00:00:00:{link:02x}:{end:02x}")
}

fn ip(host: &'static str, input: String) -> Step {
    Step {
        host,
        argv: vec!["ip".into(), "-batch".into(), "-".into()],
        input,
    }
}

fn shell(host: &'static str, input: String) -> Step {
    Step {
        host,
        argv: vec!["sh".into(), "-e".into()],
        input,
    }
}

/// Returns a script of kernel settings. Duplicate address detection (RFC 4862, 5.4) would cost a second per lab
/// and cannot find anything here.
fn settings(host: &Host) -> String {
    let mut script = String::from("echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad\n");
    if host.forwards {
        script += "echo 1 > /proc/sys/net/ipv4/ip_forward\n";
        script += "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding\n";
    }
    script
}

fn pair(index: u8, link: &Link, namespace: &impl Fn(&str) -> Box<Path>) -> String {
    let [near, far] = &link.ends;
    let half = |end: &End, number: u8| {
        let (queues, mtu) = (link.queues, link.mtu);
        let address = mac(index + 1, number);
        format!(
            "name {} address {address} mtu {mtu} numtxqueues {queues} numrxqueues {queues}",
            end.device
        )
    };
    let (here, there) = (half(near, 1), half(far, 2));
    let far_namespace = namespace(far.host);
    format!(
        "link add {here} type veth peer {there} netns {}\n",
        far_namespace.display()
    )
}

fn addresses(layout: &Layout, host: &Host) -> String {
    let mut lines = String::from("link set dev lo up\n");
    let mut add = |address: &str, device: &str| {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        let written = writeln!(lines, "address add {address} dev {device}{nodad}");
        written.expect("writing to a string does not fail");
    };
    for address in host.loopback {
        add(address, "lo");
    }
    let own = || {
        layout
            .links
            .iter()
            .flat_map(|link| &link.ends)
            .filter(|e| e.host == host.name)
    };
    for end in own() {
        for address in end.addresses {
            add(address, end.device);
        }
    }
    for end in own() {
        lines += &format!("link set dev {} up\n", end.device);
    }
    lines
}

/// Adds routes; `ip` derives the family from the gateway.
fn routes(host: &Host) -> String {
    let line = |route: &Route| format!("route add {} via {}\n", route.destination, route.via);
    host.routes.iter().map(line).collect()
}

fn without_offloads(link: &Link) -> Vec<Step> {
    if link.offloads == Offloads::On {
        return Vec::new();
    }
    let turn_off = |end: &End| {
        let command = format!(
            "ethtool -K {} tx off rx off tso off gso off gro off",
            end.device
        );
        let argv = command.split(' ').map(str::to_owned).collect();
        Step {
            host: end.host,
            argv,
            input: String::new(),
        }
    };
    link.ends.iter().map(turn_off).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::layout;

    #[test]
    fn static_is_made_by_these_commands() {
        let layout = layout("static").expect("built in");

        let steps = steps(layout, |host| PathBuf::from(format!("/ns/{host}")).into());

        let text: String = steps
            .iter()
            .map(|s| format!("{}\n{}\n", s.argv.join(" "), s.input))
            .collect();
        for line in [
            "link add name ether1 address 02:00:00:00:01:01 mtu 1500 numtxqueues 1 numrxqueues 1 \
             type veth peer name eth0 address 02:00:00:00:01:02 mtu 1500 numtxqueues 1 \
             numrxqueues 1 netns /ns/server",
            "address add 192.168.88.10/24 dev eth0",
            "address add 2001:2:0:88::10/64 dev eth0 nodad",
            "route add default via 192.168.88.1",
            "ethtool -K eth0 tx off rx off tso off gso off gro off",
        ] {
            assert!(
                text.contains(&format!("{line}\n")),
                "{line}\n-- in --\n{text}"
            );
        }
    }

    #[test]
    fn settings_precede_links_which_precede_addresses_and_routes() {
        for layout in crate::LAYOUTS {
            let steps = steps(layout, |_| PathBuf::new().into());
            let first = |what: &str| steps.iter().position(|step| step.input.contains(what));
            let last = |what: &str| steps.iter().rposition(|step| step.input.contains(what));

            assert!(last("accept_dad") < first("link add"), "{}", layout.name);
            assert!(last("link add") < first("address add"), "{}", layout.name);
            let routes = first("route add");
            assert!(
                routes.is_none() || last("link set") < routes,
                "{}",
                layout.name
            );
        }
    }

    #[test]
    fn only_links_without_offloads_switch_them_off() {
        let count = |name: &str| {
            let steps = steps(layout(name).expect("built in"), |_| PathBuf::new().into());
            steps
                .iter()
                .filter(|step| step.argv[0] == "ethtool")
                .count()
        };

        assert_eq!((count("home"), count("segments")), (6, 0));
    }

    #[test]
    fn only_forwarding_hosts_enable_forwarding() {
        let steps = steps(layout("pmtu").expect("built in"), |_| PathBuf::new().into());

        let told: Vec<_> = steps
            .iter()
            .filter(|s| s.input.contains("ip_forward"))
            .map(|s| s.host)
            .collect();

        assert_eq!(told, ["far"]);
    }

    #[test]
    fn a_switch_joins_its_devices_and_puts_vlan_tags_into_frames() {
        let script = joined_by_bridge(layout("isp").expect("built in"));
        for port in ["p1", "p2", "p3"] {
            let lines = format!(
                "ip link set dev {port} master bridge\nethtool -K {port} txvlan off rxvlan off\n"
            );
            assert!(script.contains(&lines), "{script}");
        }
    }
}
