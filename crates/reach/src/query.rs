//! Questions: packets from somewhere to somewhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use doctor::config::shown;
use doctor::routes::own_networks;
use menu::{Item, Store};

use crate::matcher::{Names, ProtocolNumber, addresses, menu_of};
use crate::ranges::{Class, Field, Ranges, STATES};
use crate::walk::{Flow, Outcome, TooManyClasses, Verdict, Walk, rules};

/// Packets that a question is about.
#[derive(Clone, Debug)]
pub struct Query {
    /// `wan`, an interface, an interface list, or an address, prefix or range behind an interface.
    pub from: String,
    /// `router`, an interface, or an address, prefix or range.
    pub to: String,
    /// State of the connection, one of [`STATES`].
    pub state: String,
    /// True for IPv6.
    pub is_ipv6: bool,
}

/// Part of the walk that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Packets for the router: chain `input`.
    Router,
    /// Packets through the router: chain `forward`.
    Beyond,
}

/// A question that has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// Neither an address, nor an interface or list of the configuration.
    Unknown(String),
    /// The rules make more classes than are allowed.
    TooManyClasses,
}

impl From<TooManyClasses> for Mistake {
    fn from(_: TooManyClasses) -> Self {
        Self::TooManyClasses
    }
}

/// A configuration to ask.
#[derive(Debug)]
pub struct Router<'a> {
    pub(crate) names: Names<'a>,
}

impl<'a> Router<'a> {
    /// Indexes a configuration. `interfaces` are all interfaces of the configurations to compare, from [`interfaces`].
    pub fn new(
        store: &'a Store,
        interfaces: &'a [String],
        is_ipv6: bool,
        protocols: ProtocolNumber,
    ) -> Self {
        Self {
            names: Names::new(store, interfaces, is_ipv6, protocols),
        }
    }

    /// Returns the names of the interfaces of some configurations.
    pub fn interfaces(stores: &[&Store]) -> Vec<String> {
        let names = stores.iter().flat_map(|store| store.names("interface"));
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the verdicts about the packets of a question, with disjoint classes, apart from undecided rules.
    ///
    /// # Errors
    /// [`Mistake`] if the question has no answer.
    pub fn ask(&self, query: &Query) -> Result<Vec<Outcome>, Mistake> {
        let (class, target, to) = self.begin(query)?;
        let start = Flow {
            class,
            unsure: Vec::new(),
            translation: None,
        };
        let names = &self.names;
        let mut raw = Walk::new(names, menu_of(names.is_ipv6, "raw"));
        let flows = raw.chain("prerouting", vec![start])?;
        let accepted = raw
            .outcomes
            .iter()
            .filter(|outcome| outcome.verdict == Verdict::Accept);
        let flows: Vec<_> = accepted
            .map(|outcome| outcome.flow.clone())
            .chain(flows)
            .collect();
        let mut outcomes = raw.outcomes;
        outcomes.retain(|outcome| outcome.verdict == Verdict::Drop);
        let flows = self.translate(flows);
        let flows = flows.into_iter().filter_map(|mut flow| {
            flow.class = flow.class.limited(Field::Destination, &to);
            (!flow.class.is_empty()).then_some(flow)
        });
        let chain = match target {
            Target::Router => "input",
            Target::Beyond => "forward",
        };
        let mut filter = Walk::new(names, menu_of(names.is_ipv6, "filter"));
        let passed = filter.chain(chain, flows.collect())?;
        outcomes.extend(filter.outcomes);
        outcomes.extend(passed.into_iter().map(|flow| Outcome {
            flow,
            verdict: Verdict::Accept,
            rule: None,
        }));
        Ok(outcomes)
    }

    /// Returns the packets of a question before translation, where they go, and the destinations after it.
    fn begin(&self, query: &Query) -> Result<(Class, Target, Ranges), Mistake> {
        let names = &self.names;
        let all = names.all();
        let state = STATES.iter().position(|state| *state == query.state);
        let state = state.ok_or_else(|| Mistake::Unknown(query.state.clone()))?;
        let class = all
            .clone()
            .limited(Field::State, &Ranges::single(state as u128));
        let class = self.source(class, &query.from)?;
        let translated = class.limited(Field::Translated, &Ranges::single(0));
        if query.to == "router" {
            let local = match names.local().is_empty() {
                true => all.values(Field::Destination).clone(),
                false => names.local().clone(),
            };
            return Ok((translated, Target::Router, local));
        }
        let (to, egress) = match addresses(&query.to) {
            Some(range) => (Ranges::new([range]), self.interfaces_towards(range)),
            None => {
                let number = names.interfaces_that(|name| name == query.to);
                if number.is_empty() {
                    return Err(Mistake::Unknown(query.to.clone()));
                }
                (all.values(Field::Destination).clone(), number)
            }
        };
        let to = to.subtract(names.local());
        Ok((
            translated.limited(Field::Egress, &egress),
            Target::Beyond,
            to,
        ))
    }

    /// Limits a class to packets from an interface, list or network.
    fn source(&self, class: Class, from: &str) -> Result<Class, Mistake> {
        let names = &self.names;
        if let Some(range) = addresses(from) {
            let behind = self.interfaces_towards(range);
            let class = class.limited(Field::Source, &Ranges::new([range]));
            return Ok(class.limited(Field::Ingress, &behind));
        }
        let wan = names.config.wan();
        let numbers = match from {
            "wan" if wan.is_empty() => self.default_route(),
            "wan" => names.interfaces_that(|name| wan.contains(name)),
            from => names.interfaces_that(|name| name == from || names.config.is_in(name, from)),
        };
        match numbers.is_empty() {
            true => Err(Mistake::Unknown(from.to_owned())),
            false => Ok(class.limited(Field::Ingress, &numbers)),
        }
    }

    /// Returns the interfaces towards the gateways of default routes.
    fn default_route(&self) -> Ranges {
        let names = &self.names;
        let menu = if names.is_ipv6 {
            "/ipv6/route"
        } else {
            "/ip/route"
        };
        let routes = names.config.enabled(menu).into_iter();
        let routes = routes.filter(|route| shown(route, "dst-address").ends_with("/0"));
        let interfaces = routes.flat_map(|route| {
            let gateway = shown(route, "gateway");
            let numbers = match addresses(&gateway) {
                Some(range) => self.interfaces_towards(range),
                None => names.interfaces_that(|name| name == gateway),
            };
            numbers.iter().collect::<Vec<_>>()
        });
        Ranges::new(interfaces)
    }

    /// Returns the interfaces whose own networks overlap a range of addresses. If there are none: the interfaces of the
    /// outside, or all.
    fn interfaces_towards(&self, range: (u128, u128)) -> Ranges {
        let names = &self.names;
        let asked = Ranges::new([range]);
        let networks = own_networks(&names.config).into_iter();
        let fitting = networks.filter(|(_, net)| {
            let own = addresses(&net.to_string());
            own.is_some_and(|own| !Ranges::new([own]).intersect(&asked).is_empty())
        });
        let fitting: Vec<_> = fitting.map(|(item, _)| item.text("interface")).collect();
        if !fitting.is_empty() {
            return names.interfaces_that(|name| fitting.contains(&name));
        }
        let wan = names.config.wan();
        match wan.is_empty() {
            true => names.interfaces_that(|_| true),
            false => names.interfaces_that(|name| wan.contains(name)),
        }
    }

    /// Applies the rules of `dstnat` with fixed targets; connections that are not new keep their addresses.
    fn translate(&self, mut flows: Vec<Flow>) -> Vec<Flow> {
        let names = &self.names;
        let new = Ranges::single(0);
        let mut done = Vec::new();
        for rule in rules(names, menu_of(names.is_ipv6, "nat"), "dstnat") {
            let matched = names.matched(rule);
            for class in &matched.classes {
                let class = class.clone().limited(Field::State, &new);
                let mut rest = Vec::new();
                for flow in std::mem::take(&mut flows) {
                    let Some(both) = flow.class.intersect(&class) else {
                        rest.push(flow);
                        continue;
                    };
                    let others = flow.class.subtract(&class).into_iter();
                    rest.extend(others.map(|class| Flow {
                        class,
                        ..flow.clone()
                    }));
                    let mut taken = Flow {
                        class: both,
                        ..flow
                    };
                    if let Some(matcher) = matched.undecided.first() {
                        rest.push(taken.clone());
                        taken.unsure.push(((rule.menu.path, rule.id), matcher));
                    }
                    done.push(self.rewritten(taken, rule));
                }
                flows = rest;
            }
        }
        done.extend(flows);
        done
    }

    /// Returns a flow with the destination that a rule of NAT gives it.
    fn rewritten(&self, mut flow: Flow, rule: &Item) -> Flow {
        let target = match rule.text("action") {
            "dst-nat" | "netmap" => Some(addresses(&shown(rule, "to-addresses"))),
            "redirect" => None,
            _ => return flow,
        };
        let all = self.names.all();
        let addresses = match target {
            Some(Some(range)) => Ranges::new([range]),
            Some(None) => flow.class.values(Field::Destination).clone(),
            None => self.names.local().clone(),
        };
        flow.class = flow.class.with(Field::Destination, addresses);
        if let Ok(port) = shown(rule, "to-ports").parse::<u16>() {
            flow.class = flow
                .class
                .with(Field::DestinationPort, Ranges::single(port.into()));
        }
        // The route follows the new destination.
        flow.class = flow.class.with(Field::Translated, Ranges::single(1));
        let egress = self.egress(&flow.class, &all);
        flow.class = flow.class.with(Field::Egress, egress);
        flow.translation = Some((rule.menu.path, rule.id));
        flow
    }

    fn egress(&self, class: &Class, all: &Class) -> Ranges {
        match class.values(Field::Destination).iter().next() {
            Some(range) => self.interfaces_towards(range),
            None => all.values(Field::Egress).clone(),
        }
    }

    /// Describes a class by the fields that are limited, such as `in=ether1 protocol=tcp dst-port=80`.
    pub fn describe(&self, class: &Class, protocol_name: fn(u8) -> Option<&'static str>) -> String {
        let all = self.names.all();
        let is_limited = |field| class.values(field) != all.values(field);
        let mut words = Vec::new();
        let name = |number: u128| {
            let name = usize::try_from(number)
                .ok()
                .and_then(|at| self.names.interfaces.get(at));
            name.cloned().unwrap_or_default()
        };
        let address = |number: u128| self.address(number);
        let protocol = |number: u128| {
            let number = u8::try_from(number).unwrap_or_default();
            protocol_name(number).map_or_else(|| number.to_string(), str::to_owned)
        };
        let state = |number: u128| {
            let state = usize::try_from(number).ok().and_then(|at| STATES.get(at));
            state.map(|state| (*state).to_owned()).unwrap_or_default()
        };
        let number = |number: u128| number.to_string();
        let fields: [(&str, Field, Show<'_>, bool); 8] = [
            ("in", Field::Ingress, &name, true),
            ("out", Field::Egress, &name, true),
            ("src", Field::Source, &address, false),
            ("dst", Field::Destination, &address, false),
            ("protocol", Field::Protocol, &protocol, false),
            ("src-port", Field::SourcePort, &number, false),
            ("dst-port", Field::DestinationPort, &number, false),
            ("state", Field::State, &state, true),
        ];
        for (word, field, show, is_listed) in fields {
            if is_limited(field) {
                words.push(format!(
                    "{word}={}",
                    list(class.values(field), show, is_listed)
                ));
            }
        }
        if words.is_empty() {
            words.push("all packets".to_owned());
        }
        words.join(" ")
    }

    fn address(&self, number: u128) -> String {
        let address = match self.names.is_ipv6 {
            true => IpAddr::V6(Ipv6Addr::from(number)),
            false => IpAddr::V4(Ipv4Addr::from(number as u32)),
        };
        address.to_string()
    }

    /// Returns the number of an interface.
    pub fn interface(&self, number: u128) -> Option<&str> {
        let at = usize::try_from(number).ok()?;
        self.names.interfaces.get(at).map(String::as_str)
    }
}

/// Converts a number of a field to text.
type Show<'a> = &'a dyn Fn(u128) -> String;

/// Shows a set of values: each number, or ranges.
fn list(values: &Ranges, show: Show<'_>, is_listed: bool) -> String {
    let ranges = values.iter().map(|(from, to)| match from == to {
        true => show(from),
        false if is_listed => (from..=to).map(show).collect::<Vec<_>>().join(","),
        false => format!("{}-{}", show(from), show(to)),
    });
    ranges.collect::<Vec<_>>().join(",")
}
