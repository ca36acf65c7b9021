//! Comparison of two configurations: packets that only the rules of one configuration accept.

use crate::ranges::{Class, difference};
use crate::walk::{MAX_CLASSES, Outcome, TooManyClasses, Verdict};

/// Packets that get through.
#[derive(Clone, Debug, Default)]
pub struct Acceptance {
    /// Packets that get through whatever the undecided matchers say.
    pub sure: Vec<Class>,
    /// All packets that get through with some result of the undecided matchers.
    pub possible: Vec<Class>,
}

/// Returns the packets that outcomes of one question accept.
///
/// # Errors
/// [`TooManyClasses`] if the packets make too many classes.
pub fn acceptance(outcomes: &[Outcome]) -> Result<Acceptance, TooManyClasses> {
    let mut acceptance = Acceptance::default();
    let drops = drops(outcomes);
    for outcome in accepting(outcomes) {
        acceptance.sure.extend(sure(outcome, &drops)?);
        acceptance.possible.push(outcome.flow.class.clone());
    }
    Ok(acceptance)
}

/// Returns the packets that `own` outcomes accept and those of another configuration do not, with the outcome. Packets
/// that surely get through are compared with those that surely get through there, others with those that possibly do.
///
/// # Errors
/// [`TooManyClasses`] if the packets make too many classes.
pub fn gained<'o>(
    own: &'o [Outcome],
    other: &[Outcome],
) -> Result<Vec<(&'o Outcome, Class)>, TooManyClasses> {
    let other = acceptance(other)?;
    let drops = drops(own);
    let mut gained = Vec::new();
    for outcome in accepting(own) {
        let sure = sure(outcome, &drops)?;
        let unsure = without(std::slice::from_ref(&outcome.flow.class), &sure)?;
        let sure = without(&sure, &other.sure)?.into_iter();
        let unsure = without(&unsure, &other.possible)?.into_iter();
        gained.extend(sure.chain(unsure).map(|class| (outcome, class)));
    }
    Ok(gained)
}

fn accepting(outcomes: &[Outcome]) -> impl Iterator<Item = &Outcome> {
    outcomes
        .iter()
        .filter(|outcome| outcome.verdict == Verdict::Accept)
}

/// Returns the classes of packets that are possibly dropped.
fn drops(outcomes: &[Outcome]) -> Vec<Class> {
    let dropped = outcomes
        .iter()
        .filter(|outcome| outcome.verdict == Verdict::Drop);
    dropped.map(|outcome| outcome.flow.class.clone()).collect()
}

/// Returns the packets of an accepting outcome that get through whatever the undecided matchers say. Packets that no
/// rule of the filter drops get through, also if several rules accept some of them each; undecided rules of other
/// tables give packets other destinations or drop them before translation.
fn sure(outcome: &Outcome, drops: &[Class]) -> Result<Vec<Class>, TooManyClasses> {
    let class = std::slice::from_ref(&outcome.flow.class);
    let unsure = &outcome.flow.unsure;
    if unsure.is_empty() {
        return Ok(class.to_vec());
    }
    let is_filter = unsure
        .iter()
        .all(|((menu, _), _)| menu.ends_with("/filter"));
    match is_filter {
        true => without(class, drops),
        false => Ok(Vec::new()),
    }
}

fn without(classes: &[Class], others: &[Class]) -> Result<Vec<Class>, TooManyClasses> {
    difference(classes, others, MAX_CLASSES).ok_or(TooManyClasses)
}
