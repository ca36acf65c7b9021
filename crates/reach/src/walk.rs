//! Walk of classes through chains: each rule takes the packets that it matches out of the classes that reach it.

use menu::{Id, Item};

use crate::matcher::Names;
use crate::ranges::{Class, Field, Ranges};

/// Maximum number of classes, and maximum depth of jumps.
pub const MAX_CLASSES: usize = 20_000;
pub(crate) const MAX_DEPTH: usize = 8;

/// What rules decide about packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A rule accepts the packets, or they pass the end of the chain.
    Accept,
    /// A rule drops or rejects the packets.
    Drop,
}

/// A menu and a rule in it.
pub type RuleId = (&'static str, Id);

/// Packets on their way through a chain.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The packets.
    pub class: Class,
    /// Rules that take some of these packets, with the matchers that a class does not decide.
    pub unsure: Vec<(RuleId, &'static str)>,
    /// Rule that translated the destination.
    pub translation: Option<RuleId>,
}

/// Packets with their verdict.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The packets, with undecided rules.
    pub flow: Flow,
    /// The verdict.
    pub verdict: Verdict,
    /// Rule that decides; `None` at the end of the chain.
    pub rule: Option<RuleId>,
}

/// A walk through the chains of a table.
pub(crate) struct Walk<'n, 'a> {
    names: &'n Names<'a>,
    menu: &'static str,
    pub(crate) outcomes: Vec<Outcome>,
    classes: usize,
}

/// The walk has more classes than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyClasses;

/// Effect of a rule on matching packets.
enum Effect {
    Decide(Verdict),
    Return,
    Jump,
    Untrack,
    Nothing,
}

fn effect(rule: &Item) -> Effect {
    match rule.text("action") {
        "" | "accept" => Effect::Decide(Verdict::Accept),
        "drop" | "reject" | "tarpit" => Effect::Decide(Verdict::Drop),
        "return" => Effect::Return,
        "jump" => Effect::Jump,
        "notrack" => Effect::Untrack,
        _ => Effect::Nothing,
    }
}

impl<'n, 'a> Walk<'n, 'a> {
    pub(crate) fn new(names: &'n Names<'a>, menu: &'static str) -> Self {
        Self {
            names,
            menu,
            outcomes: Vec::new(),
            classes: 0,
        }
    }

    /// Walks flows through a chain; returns those that pass its end.
    pub(crate) fn chain(
        &mut self,
        chain: &str,
        flows: Vec<Flow>,
    ) -> Result<Vec<Flow>, TooManyClasses> {
        self.descend(chain, flows, 0)
    }

    fn descend(
        &mut self,
        chain: &str,
        mut flows: Vec<Flow>,
        depth: usize,
    ) -> Result<Vec<Flow>, TooManyClasses> {
        let mut returned = Vec::new();
        for rule in rules(self.names, self.menu, chain) {
            if flows.is_empty() {
                break;
            }
            let matched = self.names.matched(rule);
            let id = (rule.menu.path, rule.id);
            let undecided = matched.undecided.first().copied();
            let (mut taken, mut rest) = (Vec::new(), flows);
            for class in &matched.classes {
                let (own, others) = split(rest, class);
                taken.extend(own);
                rest = others;
            }
            if let Some(matcher) = undecided {
                // Packets that the matcher rejects go on; those that it takes get the rule's verdict.
                let on = taken.iter().cloned().map(|mut flow| {
                    flow.unsure.push((id, matcher));
                    flow
                });
                match effect(rule) {
                    Effect::Nothing => rest.append(&mut taken),
                    _ => rest.extend(on),
                }
                taken
                    .iter_mut()
                    .for_each(|flow| flow.unsure.push((id, matcher)));
            }
            match effect(rule) {
                Effect::Decide(verdict) => {
                    self.outcomes.extend(taken.into_iter().map(|flow| Outcome {
                        flow,
                        verdict,
                        rule: Some(id),
                    }))
                }
                Effect::Return => returned.extend(taken),
                Effect::Jump if depth < MAX_DEPTH => {
                    rest.extend(self.descend(rule.text("jump-target"), taken, depth + 1)?);
                }
                Effect::Untrack => {
                    let untracked = Ranges::single(4);
                    rest.extend(taken.into_iter().map(|mut flow| {
                        flow.class = flow.class.with(Field::State, untracked.clone());
                        flow
                    }));
                }
                Effect::Jump | Effect::Nothing => rest.extend(taken),
            }
            flows = rest;
            self.classes += flows.len();
            if flows.len() + self.outcomes.len() > MAX_CLASSES || self.classes > 50 * MAX_CLASSES {
                return Err(TooManyClasses);
            }
        }
        flows.extend(returned);
        Ok(flows)
    }
}

/// Returns the enabled rules of a chain.
pub(crate) fn rules<'a>(names: &Names<'a>, menu: &str, chain: &str) -> Vec<&'a Item> {
    let mut rules = names.config.enabled(menu);
    rules.retain(|rule| rule.text("chain") == chain);
    rules
}

/// Splits flows into packets of a class, and others.
pub(crate) fn split(flows: Vec<Flow>, class: &Class) -> (Vec<Flow>, Vec<Flow>) {
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for flow in flows {
        match flow.class.intersect(class) {
            Some(both) => {
                let rest = flow.class.subtract(class).into_iter();
                outside.extend(rest.map(|class| Flow {
                    class,
                    ..flow.clone()
                }));
                inside.push(Flow {
                    class: both,
                    ..flow
                });
            }
            None => outside.push(flow),
        }
    }
    (inside, outside)
}
