//! Table of switch chips: features that a bridge may need, in MikroTik's talk of 2018 and today.

use std::fmt::Write as _;

use crate::boards::BOARDS;
use crate::chip::{Chip, Needs};

/// Columns of the table.
const FEATURES: [(&str, Needs); 5] = [
    ("STP/RSTP", Needs::STP),
    ("MSTP", Needs::MSTP),
    ("IGMP", Needs::IGMP_SNOOPING),
    ("VLAN", Needs::VLAN_FILTERING),
    ("bonding", Needs::BONDING),
];

/// A row of the talk: family, beginnings of the names of its chips, and the support of [`FEATURES`].
struct TalkRow {
    family: &'static str,
    chips: &'static [&'static str],
    supports: [bool; 5],
}

const fn row(family: &'static str, chips: &'static [&'static str], supports: [bool; 5]) -> TalkRow {
    TalkRow {
        family,
        chips,
        supports,
    }
}

const TALK: [TalkRow; 10] = [
    row("CRS3xx", &["Marvell-98DX"], [true; 5]),
    row(
        "CRS1xx/CRS2xx",
        &["QCA-8519"],
        [true, false, true, false, false],
    ),
    row("QCA8337", &["QCA-8337"], STP_ONLY),
    row("AR8327", &["Atheros-8327"], STP_ONLY),
    row("AR8227", &["Atheros-8227"], STP_ONLY),
    row("AR8316", &["Atheros-8316"], STP_ONLY),
    row("AR7240", &["Atheros-7240"], STP_ONLY),
    row("MT7621", &["MediaTek-MT7621"], [false; 5]),
    row("RTL8367", &["Realtek-RTL8367"], [false; 5]),
    row("ICPlus175D", &["ICPlus"], [false; 5]),
];
const STP_ONLY: [bool; 5] = [true, false, false, false, false];

/// Returns the table as text: for each feature the talk's sign, and today's where it is known.
pub fn chips() -> String {
    let mut text = format!("{:<22}", "chip (2018 → today)");
    for (name, _) in FEATURES {
        let _ = write!(text, "{name:<10}");
    }
    text.push_str("boards\n");
    let mut known: Vec<&Chip> = Vec::new();
    for on in BOARDS.iter().flat_map(|board| board.chips) {
        if !known.iter().any(|chip| chip.name == on.chip.name) {
            known.push(on.chip);
        }
    }
    for row in &TALK {
        let of_row = |chip: &&&Chip| row.chips.iter().any(|name| chip.name.starts_with(name));
        let today: Vec<&Chip> = known.iter().filter(of_row).copied().collect();
        line(&mut text, row.family, Some(&row.supports), &today);
    }
    let in_talk = |chip: &Chip| {
        let mut names = TALK.iter().flat_map(|row| row.chips);
        names.any(|name| chip.name.starts_with(name))
    };
    for chip in known.iter().filter(|chip| !in_talk(chip)) {
        line(&mut text, chip.name, None, &[chip]);
    }
    text.push_str("+ supported, - not supported, ? not known here, · not in the talk\n");
    text
}

fn line(text: &mut String, family: &str, talk: Option<&[bool; 5]>, today: &[&Chip]) {
    let _ = write!(text, "{family:<22}");
    for (at, (_, needs)) in FEATURES.into_iter().enumerate() {
        let before = talk.map_or('·', |talk| sign(talk[at]));
        let supports = |chip: &&Chip| chip.switches && needs.beyond(chip.does).is_none();
        let now = match today {
            [] => '?',
            chips => sign(chips.iter().any(supports)),
        };
        let _ = write!(text, "{:<10}", format!("{before} → {now}"));
    }
    let has = |chips: &[crate::model::OnBoard]| {
        let mut on = chips.iter();
        on.any(|on| today.iter().any(|chip| chip.name == on.chip.name))
    };
    let boards = BOARDS.iter().filter(|board| has(board.chips));
    let boards: Vec<_> = boards.map(|board| board.name).collect();
    let _ = writeln!(text, "{}", boards.join(", "));
}

const fn sign(supported: bool) -> char {
    if supported { '+' } else { '-' }
}
