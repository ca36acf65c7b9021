//! `ferroute reach`: packets that a configuration lets through, rules that no packet reaches, and what changed between
//! two files.

use std::path::Path;

use doctor::config::title;
use menu::{Store, visible};
use reach::{MAX_CLASSES, Mistake, Outcome, Query, Router, RuleId, Verdict};
use router::firewall::{protocol_name, protocol_number};
use script::Report;

use crate::cli::Reachability;
use crate::cli::output;

/// Exit code if packets get through that did not before, or rules are shadowed.
const EXIT_FOUND: u8 = 4;

/// A configuration file.
struct File {
    name: String,
    store: Store,
    report: Report,
}

impl File {
    fn read(path: &Path) -> Result<Self, String> {
        let text = crate::run::config::read(path)?;
        let mut store = schema::store();
        let report = script::check(&mut store, &text);
        let name = path.display().to_string();
        Ok(Self {
            name,
            store,
            report,
        })
    }

    /// Describes a rule by line, action, chain and comment.
    fn rule(&self, rule: RuleId) -> String {
        let (menu, id) = rule;
        let line = self.report.lines.get(&(menu, id));
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        let Some(item) = self.store.item(menu, id) else {
            return line;
        };
        match item.text("comment") {
            "" => format!("{line}{}", visible(&title(item))),
            comment => format!(
                "{line}{} \u{201c}{}\u{201d}",
                visible(&title(item)),
                visible(comment)
            ),
        }
    }

    /// Describes why packets have their verdict.
    fn reason(&self, outcome: &Outcome) -> String {
        let rule = outcome.rule.map(|rule| self.rule(rule));
        let mut reason = rule.unwrap_or_else(|| "the end of the chain accepts".to_owned());
        if let Some(rule) = outcome.flow.translation {
            reason += &format!("; translated by {}", self.rule(rule));
        }
        for (rule, matcher) in &outcome.flow.unsure {
            reason += &format!("; depends on {matcher}= of {}", self.rule(*rule));
        }
        reason
    }
}

/// Runs `ferroute reach`; returns the exit code.
pub(crate) fn reach(asked: &Reachability) -> Result<u8, String> {
    let first = File::read(&asked.file)?;
    if asked.shadow {
        return shadow(&first, asked.ipv6);
    }
    let query = Query {
        from: asked.from.clone(),
        to: asked.to.clone(),
        state: asked.connection_state.clone(),
        is_ipv6: asked.ipv6,
    };
    let lines = match &asked.against {
        Some(other) => return compare(&first, &File::read(other)?, &query),
        None => answer(&first, &query, asked.dropped)?,
    };
    lines.into_iter().try_for_each(output::line)?;
    Ok(0)
}

fn mistake(mistake: Mistake) -> String {
    match mistake {
        Mistake::Unknown(name) => format!(
            "{name} is no address, and no interface, list or connection state of the configuration"
        ),
        Mistake::TooManyClasses => {
            format!(
                "the rules distinguish more than {MAX_CLASSES} classes of these packets: ask about fewer"
            )
        }
    }
}

/// Returns the packets that get through, each class with the rule that lets it.
fn answer(file: &File, query: &Query, dropped: bool) -> Result<Vec<String>, String> {
    let interfaces = Router::interfaces(&[&file.store]);
    let router = Router::new(&file.store, &interfaces, query.is_ipv6, protocol_number);
    let outcomes = router.ask(query).map_err(mistake)?;
    let mut lines = Vec::new();
    let mut counts = [0, 0];
    for outcome in &outcomes {
        let is_dropped = outcome.verdict == Verdict::Drop;
        counts[usize::from(is_dropped)] += 1;
        if is_dropped && !dropped {
            continue;
        }
        let verdict = if is_dropped { "dropped" } else { "passes" };
        let class = router.describe(&outcome.flow.class, protocol_name);
        lines.push(format!("{}: {verdict}: {}", file.name, visible(&class)));
        lines.push(format!("    by {}", file.reason(outcome)));
    }
    let [passed, refused] = counts;
    lines.push(format!(
        "{passed} classes of packets get through, {refused} are dropped"
    ));
    Ok(lines)
}

/// Prints the rules that no packet reaches.
fn shadow(file: &File, is_ipv6: bool) -> Result<u8, String> {
    let interfaces = Router::interfaces(&[&file.store]);
    let router = Router::new(&file.store, &interfaces, is_ipv6, protocol_number);
    let family = if is_ipv6 { "/ipv6" } else { "/ip" };
    let mut count = 0;
    for table in ["raw", "filter", "nat"] {
        let menu = format!("{family}/firewall/{table}");
        for shadowed in reach::shadowed(&router, &menu) {
            count += 1;
            let rule = file.rule(shadowed.rule);
            output::line(format_args!("{}: {rule} gets no packets", file.name))?;
            for by in shadowed.by {
                output::line(format_args!("    taken by {}", file.rule(by)))?;
            }
        }
    }
    output::line(format_args!("{count} rules get no packets"))?;
    Ok(if count == 0 { 0 } else { EXIT_FOUND })
}

/// Prints the packets that only one of two files lets through.
fn compare(first: &File, second: &File, query: &Query) -> Result<u8, String> {
    let interfaces = Router::interfaces(&[&first.store, &second.store]);
    let routers = [first, second]
        .map(|file| Router::new(&file.store, &interfaces, query.is_ipv6, protocol_number));
    let [old, new] = [&routers[0], &routers[1]].map(|router| router.ask(query).map_err(mistake));
    let (old, new) = (old?, new?);
    let mut opened = 0;
    for (word, own, other, file, router) in [
        ("no more", &old, &new, first, &routers[0]),
        ("now", &new, &old, second, &routers[1]),
    ] {
        let gained = reach::gained(own, other).map_err(|error| mistake(error.into()))?;
        for (outcome, class) in gained {
            opened += usize::from(word == "now");
            let shown = router.describe(&class, protocol_name);
            output::line(format_args!("{word}: {}", visible(&shown)))?;
            output::line(format_args!(
                "    by {}: {}",
                file.name,
                file.reason(outcome)
            ))?;
        }
    }
    output::line(format_args!(
        "{opened} classes of packets get through now that did not before"
    ))?;
    Ok(if opened == 0 { 0 } else { EXIT_FOUND })
}

#[cfg(test)]
mod tests {
    use reach::{Class, Field, Ranges};

    use super::*;
    use crate::command::trace::{OfflineRouter, question, text, verdict};

    /// A router with three networks, without rules.
    const ROUTER: &str = "/ip/address/add address=203.0.113.2/24 interface=ether1
/ip/address/add address=192.168.88.1/24 interface=ether2
/ip/address/add address=10.0.0.1/16 interface=ether3
/ip/route/add gateway=203.0.113.1
/interface/list/add name=inside
/interface/list/member/add list=inside interface=ether2
/ip/firewall/address-list/add list=good address=203.0.113.64/26
";

    /// Returns a packet of a class as arguments of `/tool/trace`, with the first or last values of the fields.
    /// `None` if the class lacks TCP, UDP and ICMP.
    fn sample(
        router: &Router<'_>,
        class: &Class,
        is_last: bool,
    ) -> Option<Vec<(&'static str, String)>> {
        let pick = |field| {
            let mut ranges = class.values(field).iter();
            match is_last {
                true => ranges.last().map(|(_, to)| to),
                false => ranges.next().map(|(from, _)| from),
            }
        };
        let address =
            |number: u128| std::net::Ipv4Addr::from(u32::try_from(number).unwrap_or_default());
        let protocols = [(6, "tcp"), (17, "udp"), (1, "icmp")];
        let mut protocols = protocols.into_iter();
        let (number, protocol) =
            protocols.find(|(number, _)| class.values(Field::Protocol).contains(*number))?;
        let mut packet = vec![
            (
                "in-interface",
                router.interface(pick(Field::Ingress)?)?.to_owned(),
            ),
            ("src-address", address(pick(Field::Source)?).to_string()),
            (
                "dst-address",
                address(pick(Field::Destination)?).to_string(),
            ),
            ("protocol", protocol.to_owned()),
        ];
        if number != 1 {
            packet.push(("src-port", pick(Field::SourcePort)?.to_string()));
            packet.push(("dst-port", pick(Field::DestinationPort)?.to_string()));
        }
        Some(packet)
    }

    /// Returns a random rule of a chain.
    fn rule(next: &mut impl FnMut(usize) -> usize) -> String {
        let mut any = |words: &[&str]| words[next(words.len())].to_owned();
        let chain = any(&["forward", "forward", "forward", "input", "extra"]);
        let action = any(&[
            "accept",
            "drop",
            "drop",
            "accept",
            "return",
            "jump jump-target=extra",
            "log",
        ]);
        let action = match chain.as_str() {
            "extra" => action.replace("jump jump-target=extra", "accept"),
            _ => action,
        };
        let matchers = [
            any(&[
                "",
                "protocol=tcp",
                "protocol=udp dst-port=53",
                "protocol=tcp dst-port=!80",
                "protocol=tcp port=22",
            ]),
            any(&[
                "",
                "",
                "src-address=203.0.113.64/26",
                "src-address-list=good",
                "src-address-list=!good",
            ]),
            any(&[
                "",
                "",
                "in-interface=ether1",
                "in-interface-list=!inside",
                "out-interface=ether2",
            ]),
            any(&[
                "",
                "",
                "dst-address=192.168.88.0/25",
                "dst-address=!192.168.88.128-192.168.88.200",
            ]),
            any(&[
                "",
                "",
                "connection-state=new",
                "connection-state=established,related",
            ]),
        ];
        let out = if chain == "input" {
            matchers.join(" ").replace("out-interface=ether2", "")
        } else {
            matchers.join(" ")
        };
        format!("/ip/firewall/filter/add chain={chain} action={action} {out}\n")
    }

    /// Limits a class to addresses of hosts and of the router: network addresses and the router's own addresses as
    /// sources are martians, which the router drops before any rule.
    fn of_hosts(class: &Class) -> Class {
        let hosts = [(0x0a00_0102, 0x0a00_fffe), (0xcb00_7103, 0xcb00_71fe)];
        let targets = [(0xc0a8_5801, 0xc0a8_58fe), (0xcb00_7102, 0xcb00_7102)];
        let ports = Ranges::new([(1, 65535)]);
        let class = class.clone().limited(Field::Source, &Ranges::new(hosts));
        let class = class.limited(Field::Destination, &Ranges::new(targets));
        let class = class.limited(Field::SourcePort, &ports);
        class.limited(Field::DestinationPort, &ports)
    }

    #[test]
    fn the_router_decides_about_sampled_packets_as_their_class_says() {
        let mut seed = 5_u64;
        let mut next = |count: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % count
        };
        let mut sampled = [0, 0];
        for round in 0..12 {
            let rules: String = (0..8).map(|_| rule(&mut next)).collect();
            let text_of = [ROUTER, &rules].concat();
            let mut store = schema::store();
            let report = script::check(&mut store, &text_of);
            assert!(report.refused.is_empty(), "{rules}: {:?}", report.refused);
            let mut copy = schema::store();
            script::check(&mut copy, &text_of);
            let mut traced = OfflineRouter::new(copy, &[]).expect("a router");
            let interfaces = Router::interfaces(&[&store]);
            let router = Router::new(&store, &interfaces, false, protocol_number);
            for (from, to) in [
                ("203.0.113.0/24", "192.168.88.0/24"),
                ("203.0.113.0/24", "router"),
                ("ether3", "192.168.88.0/24"),
            ] {
                let query = Query {
                    from: from.to_owned(),
                    to: to.to_owned(),
                    state: "new".to_owned(),
                    is_ipv6: false,
                };
                let outcomes = router.ask(&query).expect("an answer");
                for (outcome, is_last) in outcomes
                    .iter()
                    .flat_map(|outcome| [(outcome, false), (outcome, true)])
                {
                    let class = of_hosts(&outcome.flow.class);
                    if class.is_empty() {
                        continue;
                    }
                    let Some(packet) = sample(&router, &class, is_last) else {
                        continue;
                    };
                    let command =
                        question(packet.iter().map(|(name, value)| (*name, value.as_str())));
                    let steps = traced.trace(&command).expect("a trace");
                    let decision = verdict(&steps)
                        .map(|step| text(step, "decision").to_owned())
                        .unwrap_or_default();
                    let is_dropped = decision.contains("firewall-filter");
                    assert_eq!(
                        is_dropped,
                        outcome.verdict == Verdict::Drop,
                        "{round}: {rules}{packet:?}: {decision}"
                    );
                    sampled[usize::from(is_dropped)] += 1;
                }
            }
        }
        assert!(sampled[0] > 50 && sampled[1] > 50, "{sampled:?}");
    }
}
