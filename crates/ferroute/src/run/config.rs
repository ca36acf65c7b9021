//! Initial configuration of a router: its stored one, or a file; also `ferroute check` and `ferroute parse`.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use menu::{By, Clock, Live, Position, Store};
use router::store::leases::Leases;
use router::store::{Durable, KeyFrom, OnDamage, StateFolder};
use script::{Refused, Report, Session};

use crate::cli::output;
use crate::cli::{Check, Parse, Run};
use crate::command::board::BoardReport;
use crate::command::findings::Findings;
use crate::command::joined;
use crate::run::shared::clock;

/// Maximum wait at startup for the kernel to remove the devices of a killed router: some 20 ms each, and
/// thousands of them at most.
const MAX_CLEANUP_WAIT: Duration = Duration::from_secs(300);

/// A log of leases or records, with its contents.
type StoredLog = (Leases, BTreeMap<u64, Vec<u8>>);

/// Fills the store from the state folder, or from `--config` (or `default`) if the folder is empty, and makes
/// it durable. Returns stored notes and messages to print. On error nothing has changed.
pub(crate) fn load(
    store: &mut Store,
    state: Option<&StateFolder>,
    run: &Run,
    default: Option<&str>,
) -> Result<(BTreeMap<String, String>, Vec<String>), String> {
    let mut durable = state.map(|folder| open(folder, run)).transpose()?;
    let kept = match &durable {
        Some(open) => open.load()?,
        None => None,
    };
    let text = match &run.config {
        Some(path) => Some((path.display().to_string(), read(path)?)),
        None => default.map(|text| (String::from("the lab's configuration"), text.to_owned())),
    };
    let (Some(kept), Some(durable)) = (&kept, durable.take_if(|_| kept.is_some())) else {
        if let Some((name, text)) = text {
            import(store, &name, &text)?;
            // `/undo` must not revert the initial configuration.
            store.close_history();
        }
        if let Some(mut durable) = durable {
            durable.replace(&store.save())?;
            durable.keep_state();
            store.set_journal(Box::new(durable));
        }
        return Ok((BTreeMap::new(), Vec::new()));
    };
    let said = router::store::take_up(store, durable, kept, clock())?;
    let notes = kept.notes.clone();
    let Some((name, text)) = text else {
        return Ok((notes, said));
    };
    let mut wanted = schema::store();
    import(&mut wanted, &name, &text)?;
    if run.replace
        && let Some(fault) = store.fault()
    {
        tracing::error!("{name} is not taken: {fault}");
    } else if run.replace {
        let by = By::user("", clock()).doing(format!("{name} taken"));
        router::reach(store, &wanted, by).map_err(|reason| format!("{name}: {reason}"))?;
    } else {
        tell_difference(store, &name, &wanted);
    }
    Ok((notes, said))
}

/// Opens the log of leases in a state folder.
pub(crate) fn leases(state: &StateFolder) -> Result<StoredLog, String> {
    Leases::open(&state.path, &state.key)
}

/// Opens the log of feature records in a state folder.
pub(crate) fn records(state: &StateFolder) -> Result<StoredLog, String> {
    Leases::open_named(&state.path, router::records::FILE, &state.key)
}

/// Opens the log of the history of traffic in a state folder.
pub(crate) fn traffic(state: &StateFolder) -> Result<StoredLog, String> {
    Leases::open_named(&state.path, router::history::FILE, &state.key)
}

/// Opens a state folder with the key of the command line, or the default key.
pub(crate) fn state_folder(folder: &Path, run: &Run) -> Result<StateFolder, String> {
    let from = KeyFrom {
        file: run.store_key.clone(),
        passphrase: run.store_passphrase_file.clone(),
    };
    Ok(StateFolder {
        path: folder.to_owned(),
        key: from.key(folder)?,
    })
}

/// Opens the store in a state folder with the options of the command line.
fn open(state: &StateFolder, run: &Run) -> Result<Durable, String> {
    let on_damage = match run.recover {
        true => OnDamage::Recover,
        false => OnDamage::Refuse,
    };
    let (folder, key) = (&*state.path, &state.key);
    let mut opened = Durable::open(folder, key, on_damage);
    let until = Instant::now() + MAX_CLEANUP_WAIT;
    while opened.is_err()
        && crate::system::lock_holder::is_held_by_ending(folder)
        && Instant::now() < until
    {
        tracing::info!(
            "{}: waiting until the kernel has closed the devices of a killed router",
            folder.display()
        );
        opened = Durable::open(folder, key, on_damage);
    }
    opened
}

/// Reads a file, or standard input if the path is `-`.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(menu::bytes::from_bytes(&bytes))
}

/// A router before its start: knows the time, for the history, and nothing else.
struct StartingRouter;

impl tool::Router for StartingRouter {}

impl Live for StartingRouter {
    fn clock(&self) -> Clock {
        clock()
    }
}

/// Imports a file.
///
/// # Errors
/// All mistakes with their positions.
pub(crate) fn import_file(store: &mut Store, path: &Path) -> Result<(), String> {
    import(store, &path.display().to_string(), &read(path)?)
}

fn import(store: &mut Store, name: &str, text: &str) -> Result<(), String> {
    let mut out = String::new();
    let mut session = Session::new("admin");
    let imported = script::import(store, &mut StartingRouter, &mut session, text, &mut out);
    imported.map_err(|refusal| {
        mistakes(name, text).unwrap_or_else(|| match refusal.at {
            Some(at) => format!("{name}: {}", placed(&refusal.reason.to_string(), at)),
            None => format!("{name}: {refusal}"),
        })
    })
}

/// Returns all mistakes of a file with their positions, one per line.
fn mistakes(name: &str, text: &str) -> Option<String> {
    let report = script::check(&mut schema::store(), text);
    let line = |refused| format!("{name}: {}", with_place(refused));
    let lines: Vec<_> = report.refused.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Adds the position to a reason; single lines omit it, like the console.
fn placed(reason: &str, at: Position) -> String {
    let place = at.to_string();
    match reason.ends_with(&place) {
        true => reason.to_owned(),
        false => format!("{reason} {place}"),
    }
}

fn with_place(refused: &Refused) -> String {
    let (line, column) = (refused.line, refused.column);
    placed(&refused.reason, Position { line, column })
}

/// Prints the lines in which the stored configuration differs from the file.
fn tell_difference(store: &Store, name: &str, wanted: &Store) {
    let (own, file) = (lines(store), lines(wanted));
    let missing: Vec<_> = file.iter().filter(|line| !own.contains(*line)).collect();
    let extra: Vec<_> = own.iter().filter(|line| !file.contains(*line)).collect();
    if missing.is_empty() && extra.is_empty() {
        return;
    }
    tracing::warn!(
        "the router uses its stored configuration, which differs from {name} (--replace applies the file)"
    );
    missing
        .iter()
        .for_each(|line| tracing::warn!("  only in the file:   {line}"));
    extra
        .iter()
        .for_each(|line| tracing::warn!("  only in the router: {line}"));
}

/// Returns the configuration as a set of commands with their menus.
fn lines(store: &Store) -> std::collections::BTreeSet<String> {
    let mut text = String::new();
    let options = menu::export::Options {
        style: menu::export::Style::Terse,
        ..Default::default()
    };
    let _ = menu::export::export(store, &options, &mut text);
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(String::from)
        .collect()
}

/// `ferroute parse`: prints a script like `:put [:parse …]`, or its error with line and column.
pub(crate) fn parse(parse: &Parse) -> Result<u8, String> {
    let text = read(&parse.file)?;
    let (shown, code) = match script::parse_text(schema::store().menus(), &text) {
        Ok(form) => (form, 0),
        Err(refusal) => (refusal.to_string(), 1),
    };
    let mut bytes = menu::bytes::to_bytes(&shown);
    bytes.push(b'\n');
    output::bytes(&bytes)?;
    Ok(code)
}

/// Escapes a command for a terminal: a binary file could contain control sequences.
fn harmless(command: &str) -> String {
    let mut text = String::new();
    for letter in command.chars() {
        match letter.is_control() {
            // RouterOS: bytes in texts are written as two hexadecimal digits.
            true => text.push_str(&format!("\\{:02X}", u32::from(letter))),
            false => text.push(letter),
        }
    }
    text
}

/// `ferroute check`: reports the effect of a file and its mistakes.
pub(crate) fn check(check: &Check) -> Result<u8, String> {
    if check.joined {
        return joined(check);
    }
    let [file] = &check.files[..] else {
        return Err(String::from("several files need --joined"));
    };
    let text = read(file)?;
    let file = file.display().to_string();
    let mut store = schema::store();
    let report = script::check(&mut store, &text);
    let judged = check.board.map(|board| BoardReport::of(&store, board));
    let mut findings = match check.modern {
        true => Findings::by(&store, &report, doctor::MODERN),
        false => Findings::of(&store, &report),
    };
    if let Some(board) = check.board {
        findings.add_board(board);
    }
    if check.json {
        let begun = report.to_json(&file);
        // All results are members of one object.
        let begun = begun.strip_suffix('}').unwrap_or(&begun);
        let judged = judged.map(|judged| format!(",{}", judged.to_json()));
        let judged = judged.unwrap_or_default();
        output::line(format_args!("{begun}{judged},{}}}", findings.to_json()))?;
    } else if check.sarif {
        output::line(findings.to_sarif(&file))?;
    } else if check.fix {
        findings.script().into_iter().try_for_each(output::line)?;
    } else {
        say_report(&file, &report)?;
        for line in judged.iter().flat_map(BoardReport::in_words) {
            output::line(line)?;
        }
        if check.modern {
            say_old_forms(&file, &text)?;
        }
        let found = findings.in_words(&file);
        found.into_iter().try_for_each(output::line)?;
        output::line(format_args!(
            "{} commands: {} applied, {} without effect, {} refused; {}",
            report.commands,
            report.applied,
            report.no_effect.len(),
            report.refused.len(),
            findings.summary()
        ))?;
    }
    let denied = check.deny.map(doctor::Severity::from);
    let fails = denied.is_some_and(|from| findings.worst() >= Some(from));
    Ok(
        match (report.refused.is_empty(), report.no_effect.is_empty()) {
            (false, _) => 1,
            (true, _) if fails => EXIT_MISTAKES,
            (true, false) => EXIT_PARTIAL,
            (true, true) => 0,
        },
    )
}

/// `ferroute check --joined`: compares both ends of the tunnels between routers.
fn joined(check: &Check) -> Result<u8, String> {
    let mut routers = Vec::new();
    for file in &check.files {
        let text = read(file)?;
        let file = file.display().to_string();
        routers.push(joined::Router::new(file, &text));
    }
    if routers.len() < 2 {
        return Err(String::from(
            "--joined needs the files of two or more routers",
        ));
    }
    let comparison = joined::Comparisons::of(&routers);
    let lines = match (check.json, check.fix) {
        (true, _) => vec![comparison.to_json()],
        (_, true) => comparison.script(),
        _ => comparison.in_words(),
    };
    lines.into_iter().try_for_each(output::line)?;
    let denied = check.deny.map(doctor::Severity::from);
    let fails = denied.is_some_and(|from| comparison.worst() >= Some(from));
    Ok(if fails { EXIT_MISTAKES } else { 0 })
}

/// Prints refused commands, ineffective settings and implied items.
fn say_report(file: &str, report: &Report) -> Result<(), String> {
    for refused in &report.refused {
        output::line(format_args!("{file}: {}", with_place(refused)))?;
        output::line(format_args!("    {}", harmless(&refused.command)))?;
    }
    for item in &report.no_effect {
        output::line(format_args!(
            "{file}: line {}: no effect: {}: {}",
            item.line,
            menu::visible(&item.item),
            menu::visible(&item.missing)
        ))?;
    }
    for item in &report.made {
        output::line(format_args!(
            "{file}: line {}: adds {}, which version 6 created automatically",
            item.line, item.what
        ))?;
    }
    Ok(())
}

/// Prints old forms of commands, and what today's version has in their place.
fn say_old_forms(file: &str, text: &str) -> Result<(), String> {
    for old in doctor::old_forms(text) {
        let (menu, word) = (old.form.menu, old.form.word);
        let form = match word {
            "" => menu.to_owned(),
            word => format!("{menu} {word}="),
        };
        let today = old.form.today;
        output::line(format_args!(
            "{file}: line {}: old form: {form}: today {today}",
            old.line
        ))?;
    }
    Ok(())
}

/// Exit code of `ferroute check` if denied mistakes exist.
const EXIT_MISTAKES: u8 = 4;
/// Exit code of `ferroute check` if parts of the file have no effect.
const EXIT_PARTIAL: u8 = 3;
