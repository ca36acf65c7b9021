//! The labs with a story: the doctor finds the fault, and is silent about it after the correction.

use std::collections::BTreeSet;

use board::Board;
use lab::STORIES;
use menu::Store;

use crate::{examine, examine_board};

fn names(store: &Store, board: Option<&str>) -> BTreeSet<&'static str> {
    let mut findings = examine(store);
    if let Some(name) = board {
        // The chip of a hEX switches all ports of a bridge with hw=yes.
        let ports = store.items("/interface/bridge/port");
        let switched = ports.filter(|port| port.is("hw"));
        let switched = switched.map(|port| port.text("interface")).collect();
        let board = Board::named(name).expect(name);
        findings.extend(examine_board(store, board, &switched));
    }
    findings.iter().map(|finding| finding.rule.name).collect()
}

#[test]
fn the_fault_of_each_story_is_found_and_its_correction_is_not() {
    let mut complaints = Vec::new();
    for story in STORIES {
        let lab = story.layout.name;
        let mut store = schema::store();
        let wrong = script::check(&mut store, story.layout.config);
        assert!(wrong.refused.is_empty(), "{lab}: {:?}", wrong.refused);
        let Some(rule) = story.finding else { continue };
        let found = names(&store, story.board);
        if !found.contains(rule) {
            complaints.push(format!("{lab}: {rule} is not among {found:?}"));
        }
        let right = script::check(&mut store, story.right);
        assert!(right.refused.is_empty(), "{lab}: {:?}", right.refused);
        if names(&store, story.board).contains(rule) {
            complaints.push(format!("{lab}: {rule} remains"));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
}
