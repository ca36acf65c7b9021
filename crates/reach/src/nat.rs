//! Walk of classes through the chain `dstnat`.

use doctor::config::shown;
use menu::Item;

use crate::matcher::{Names, menu_of, ports};
use crate::ranges::{Class, Field, Ranges};
use crate::target::Target;
use crate::walk::{Flow, MAX_CLASSES, MAX_DEPTH, TooManyClasses, rules, split};

/// Maximum effort: each visited rule costs [`RULE_COST`], and 1 for each flow.
const MAX_EFFORT: usize = 50_000_000;
const RULE_COST: usize = 2_500;

/// Effect of a rule on the packets that it matches.
enum Effect {
    /// Ends the walk; translates the packets or not.
    End,
    Return,
    Jump,
    /// Packets go on, as they are.
    Nothing,
}

fn effect(rule: &Item) -> Effect {
    match rule.text("action") {
        "" | "accept" | "dst-nat" | "netmap" | "redirect" => Effect::End,
        "return" => Effect::Return,
        "jump" => Effect::Jump,
        _ => Effect::Nothing,
    }
}

/// Destination translation of the packets of a question.
pub(crate) struct Translation<'n, 'a> {
    names: &'n Names<'a>,
    target: Target,
    done: Vec<Flow>,
    /// Effort that is left: chains may jump to each other many times.
    left: usize,
}

impl<'n, 'a> Translation<'n, 'a> {
    /// Applies the rules of `dstnat`. Leaves out packets that translation sends elsewhere than to `target`. Connections
    /// that are not new keep their addresses.
    pub(crate) fn of(
        names: &'n Names<'a>,
        target: Target,
        flows: Vec<Flow>,
    ) -> Result<Vec<Flow>, TooManyClasses> {
        let mut translation = Self {
            names,
            target,
            done: Vec::new(),
            left: MAX_EFFORT,
        };
        let rest = translation.chain("dstnat", flows, 0)?;
        translation.done.extend(rest);
        Ok(translation.done)
    }

    /// Walks flows through a chain; returns the flows that leave it at its end or by action `return`.
    fn chain(
        &mut self,
        chain: &str,
        mut flows: Vec<Flow>,
        depth: usize,
    ) -> Result<Vec<Flow>, TooManyClasses> {
        let new = Ranges::single(0);
        let mut returned = Vec::new();
        for rule in rules(self.names, menu_of(self.names.is_ipv6, "nat"), chain) {
            let effect = effect(rule);
            if flows.is_empty() {
                break;
            }
            let left = self.left.checked_sub(RULE_COST + flows.len());
            self.left = left.ok_or(TooManyClasses)?;
            if matches!(effect, Effect::Nothing) {
                continue;
            }
            let matched = self.names.matched(rule);
            let (mut taken, mut rest) = (Vec::new(), flows);
            for class in &matched.classes {
                let class = class.clone().limited(Field::State, &new);
                let (own, others) = split(rest, &class);
                taken.extend(own);
                rest = others;
            }
            if let Some(matcher) = matched.undecided.first() {
                // Packets that the matcher rejects go on.
                let depends = ((rule.menu.path, rule.id), *matcher);
                taken.iter_mut().for_each(|flow| flow.unsure.push(depends));
                rest.extend(taken.iter().cloned());
            }
            match effect {
                Effect::End => {
                    let translated = taken
                        .into_iter()
                        .filter_map(|flow| self.rewritten(flow, rule));
                    let translated: Vec<_> = translated.collect();
                    self.done.extend(translated);
                }
                Effect::Return => returned.extend(taken),
                Effect::Jump if depth < MAX_DEPTH => {
                    rest.extend(self.chain(rule.text("jump-target"), taken, depth + 1)?);
                }
                Effect::Jump | Effect::Nothing => rest.extend(taken),
            }
            if rest.len() + returned.len() + self.done.len() > MAX_CLASSES {
                return Err(TooManyClasses);
            }
            flows = rest;
        }
        flows.extend(returned);
        Ok(flows)
    }

    /// Returns a flow with the destination that a rule gives it; `None` if its packets do not get to the target.
    fn rewritten(&self, mut flow: Flow, rule: &Item) -> Option<Flow> {
        let addressing = &self.names.addressing;
        let destination = match (rule.text("action"), self.target) {
            ("dst-nat" | "netmap", target) => {
                let property = if self.names.is_ipv6 {
                    "to-address"
                } else {
                    "to-addresses"
                };
                let fixed = self.names.addresses(&shown(rule, property));
                match (fixed.map(|range| Ranges::new([range])), target) {
                    // Other addresses are those of other hosts, also where the router gets addresses at run time.
                    (Some(fixed), Target::Router) => fixed.intersect(addressing.local()),
                    (Some(fixed), Target::Beyond) => fixed,
                    (None, _) => flow.class.values(Field::Destination).clone(),
                }
            }
            ("redirect", Target::Router) => addressing.router().clone(),
            ("redirect", Target::Beyond) => return None,
            _ => return Some(flow),
        };
        let is_router = self.target == Target::Router;
        // The route follows the new destination.
        if !is_router {
            let egress = addressing.interfaces_towards(&destination);
            flow.class = flow.class.with(Field::Egress, egress);
        }
        flow.class = with_port(flow.class.with(Field::Destination, destination), rule);
        flow.class = flow.class.with(Field::Translated, Ranges::single(1));
        flow.translation = Some((rule.menu.path, rule.id));
        (!flow.class.is_empty()).then_some(flow)
    }
}

/// Returns a class with the destination ports of a rule, if it translates ports.
fn with_port(class: Class, rule: &Item) -> Class {
    match ports(&shown(rule, "to-ports")) {
        Some(ports) => class.with(Field::DestinationPort, ports),
        None => class,
    }
}
