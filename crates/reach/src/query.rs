//! Questions: packets from somewhere to somewhere.

use doctor::config::shown;
use menu::Store;

use crate::addressing::address;
use crate::matcher::{Names, ProtocolNumber, menu_of};
use crate::nat::Translation;
use crate::ranges::{Class, Field, Ranges, STATES};
use crate::target::Target;
use crate::walk::{Flow, Outcome, TooManyClasses, Verdict, Walk};

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

/// A question with resolved names.
struct Question {
    /// Packets before translation.
    class: Class,
    target: Target,
    /// Destinations after translation.
    to: Ranges,
    /// Interfaces by which the packets leave after translation.
    egress: Ranges,
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
        let question = self.begin(query)?;
        let (target, to, egress) = (question.target, question.to, question.egress);
        let start = Flow {
            class: question.class,
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
        let flows = Translation::of(names, target, flows)?;
        let flows = flows.into_iter().filter_map(|mut flow| {
            flow.class = flow.class.limited(Field::Destination, &to);
            flow.class = flow.class.limited(Field::Egress, &egress);
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

    /// Resolves the names of a question.
    fn begin(&self, query: &Query) -> Result<Question, Mistake> {
        let names = &self.names;
        let all = names.all();
        let state = STATES.iter().position(|state| *state == query.state);
        let state = state.ok_or_else(|| Mistake::Unknown(query.state.clone()))?;
        let class = all
            .clone()
            .limited(Field::State, &Ranges::single(state as u128));
        let class = self.source(class, &query.from)?;
        let class = class.limited(Field::Translated, &Ranges::single(0));
        if query.to == "router" {
            return Ok(Question {
                class,
                target: Target::Router,
                to: names.addressing.router().clone(),
                egress: all.values(Field::Egress).clone(),
            });
        }
        let (to, egress) = match names.addresses(&query.to) {
            Some(range) => {
                let to = Ranges::new([range]);
                let egress = names.addressing.interfaces_towards(&to);
                (to, egress)
            }
            None => {
                let number = names.interfaces_that(|name| name == query.to);
                if number.is_empty() {
                    return Err(Mistake::Unknown(query.to.clone()));
                }
                (all.values(Field::Destination).clone(), number)
            }
        };
        Ok(Question {
            class: class.limited(Field::Egress, &egress),
            target: Target::Beyond,
            to: to.subtract(names.addressing.local()),
            egress,
        })
    }

    /// Limits a class to packets from an interface, list or network.
    fn source(&self, class: Class, from: &str) -> Result<Class, Mistake> {
        let names = &self.names;
        if let Some(range) = names.addresses(from) {
            let range = Ranges::new([range]);
            let behind = names.addressing.interfaces_towards(&range);
            let class = class.limited(Field::Source, &range);
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
            let on = gateway.split_once('%').map_or(&*gateway, |(_, on)| on);
            let numbers = match names.addresses(on) {
                Some(range) => names.addressing.interfaces_towards(&Ranges::new([range])),
                None => names.interfaces_that(|name| name == on),
            };
            numbers.iter().collect::<Vec<_>>()
        });
        Ranges::new(interfaces)
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
        let address = |number: u128| address(number, self.names.is_ipv6).to_string();
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
                // Names of protocols have no order that a reader knows.
                let end: Show<'_> = if word == "protocol" { &number } else { show };
                let shown = list(class.values(field), show, end, is_listed);
                words.push(format!("{word}={shown}"));
            }
        }
        if words.is_empty() {
            words.push("all packets".to_owned());
        }
        words.join(" ")
    }

    /// Returns the number of an interface.
    pub fn interface(&self, number: u128) -> Option<&str> {
        let at = usize::try_from(number).ok()?;
        self.names.interfaces.get(at).map(String::as_str)
    }
}

/// Converts a number of a field to text.
type Show<'a> = &'a dyn Fn(u128) -> String;

/// Shows a set of values: single ones by `show`, the ends of ranges by `end`; if `is_listed`, each value by `show`.
fn list(values: &Ranges, show: Show<'_>, end: Show<'_>, is_listed: bool) -> String {
    let ranges = values.iter().map(|(from, to)| match from == to {
        true => show(from),
        false if is_listed => (from..=to).map(show).collect::<Vec<_>>().join(","),
        false => format!("{}-{}", end(from), end(to)),
    });
    ranges.collect::<Vec<_>>().join(",")
}
