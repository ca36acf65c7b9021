//! What a router begins with: its own configuration, or the file that it was given.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use menu::{Offline, Store};
use router::store::Durable;
use script::Session;

use crate::cli::{Check, Run};

/// Fills the store from the state folder, or from `--config` (or `default`) when nothing is there
/// yet, and makes it durable from then on. With an error nothing has changed.
pub(crate) fn load(
    store: &mut Store,
    state: Option<&Path>,
    run: &Run,
    default: Option<&str>,
) -> Result<(), String> {
    let mut durable = state.map(Durable::open).transpose()?;
    let saved = durable.as_ref().map(Durable::load).transpose()?.flatten();
    let text = match &run.config {
        Some(path) => Some((path.display().to_string(), read(path)?)),
        None => default.map(|text| (String::from("the lab's configuration"), text.to_owned())),
    };
    match saved {
        Some(saved) if !run.replace => {
            for lost in store.load(&saved) {
                tracing::warn!("this version cannot take what was configured: {lost}");
            }
            if let Some((name, text)) = text {
                tell_difference(store, &name, &text)?;
            }
        }
        _ => {
            if let Some((name, text)) = text {
                import(store, &name, &text)?;
            }
        }
    }
    if let Some(durable) = &mut durable {
        durable.replace(&store.save())?;
    }
    if let Some(durable) = durable {
        store.set_journal(Box::new(durable));
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(menu::bytes::from_bytes(&bytes))
}

fn import(store: &mut Store, name: &str, text: &str) -> Result<(), String> {
    let mut out = String::new();
    let mut session = Session::new("admin");
    script::import(store, &mut Offline, &mut session, text, &mut out)
        .map_err(|refusal| format!("{name}: {refusal}"))
}

/// Says in which lines the router's own configuration differs from the file.
fn tell_difference(store: &Store, name: &str, text: &str) -> Result<(), String> {
    let mut wanted = schema::store();
    import(&mut wanted, name, text)?;
    let (own, file) = (lines(store), lines(&wanted));
    let missing: Vec<_> = file.iter().filter(|line| !own.contains(*line)).collect();
    let extra: Vec<_> = own.iter().filter(|line| !file.contains(*line)).collect();
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    tracing::warn!(
        "the router keeps its own configuration, which differs from {name} (--replace takes the file)"
    );
    missing
        .iter()
        .for_each(|line| tracing::warn!("  only in the file:   {line}"));
    extra
        .iter()
        .for_each(|line| tracing::warn!("  only in the router: {line}"));
    Ok(())
}

/// The configuration, a command a line, each with its menu.
fn lines(store: &Store) -> std::collections::BTreeSet<String> {
    let mut text = String::new();
    let _ = script::export_all(store, menu::Clock::default(), &mut text);
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(String::from)
        .collect()
}

/// `ferroute check`: what would become of a file.
pub(crate) fn check(check: &Check) -> Result<u8, String> {
    let text = read(&check.file)?;
    let report = script::check(&mut schema::store(), &text);
    if check.json {
        println!("{}", report.to_json());
    } else {
        for refused in &report.refused {
            println!("{}", refused.reason);
            println!("    {}", refused.command);
        }
        for item in &report.no_effect {
            println!("line {}: no effect: {}", item.line, item.what);
        }
        println!(
            "{} commands: {} applied, {} without effect, {} refused",
            report.commands,
            report.applied,
            report.no_effect.len(),
            report.refused.len()
        );
    }
    Ok(u8::from(!report.refused.is_empty()))
}
