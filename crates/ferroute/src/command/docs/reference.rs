//! Menu reference: a Markdown page per top-level menu, and an index.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use menu::{Effect, Menu, MenuShape, Property};

use super::at;

/// Writes the pages.
pub(super) fn write(dir: &Path) -> Result<(), String> {
    for (name, text) in pages() {
        let path = dir.join(name);
        fs::write(&path, text).map_err(at(&path))?;
    }
    Ok(())
}

/// Returns the pages by file name.
fn pages() -> BTreeMap<String, String> {
    let mut menus: Vec<_> = schema::ALL.iter().filter(|menu| !menu.hidden).collect();
    menus.sort_by_key(|menu| menu.path);
    let mut pages = BTreeMap::new();
    let mut index = String::from("# Reference\n\nEvery menu, with what it does here.\n\n");
    for menu in menus {
        let top = menu.path.split('/').nth(1).unwrap_or_default();
        let page = pages
            .entry(format!("{top}.md"))
            .or_insert_with(|| format!("# /{top}\n"));
        page.push_str(&section(menu));
        let anchor: String = menu.path.chars().filter(|c| *c != '/').collect();
        let effect = note(menu.effect);
        index.push_str(&format!(
            "- [`{}`]({top}.md#{anchor}): {}{effect}\n",
            menu.path, menu.help
        ));
    }
    pages.insert("README.md".to_owned(), index);
    pages
}

/// Formats a menu: help, flags, properties, commands.
fn section(menu: &'static Menu) -> String {
    let mut text = format!(
        "\n## `{}`\n\n{}. {}",
        menu.path,
        menu.help,
        shape(menu.shape)
    );
    if menu.effect == Effect::None {
        text.push_str(" It is stored and exported, but has no effect here.");
    }
    if !menu.old_paths.is_empty() {
        text.push_str(&format!(
            " Older versions: `{}`.",
            menu.old_paths.join("`, `")
        ));
    }
    text.push('\n');
    if !menu.flags.is_empty() {
        let flags = menu
            .flags
            .iter()
            .map(|f| format!("`{}` {}", f.letter, f.name));
        text.push_str(&format!(
            "\nFlags: {}.\n",
            flags.collect::<Vec<_>>().join(", ")
        ));
    }
    let (set, read): (Vec<_>, Vec<_>) = menu.properties().partition(|p| !p.read_only);
    if !set.is_empty() {
        text.push_str("\n| property | type | default | |\n|---|---|---|---|\n");
        set.iter()
            .for_each(|property| text.push_str(&row(property)));
    }
    if !read.is_empty() {
        text.push_str("\n| read-only | type | |\n|---|---|---|\n");
        for property in read {
            let kind = cell(&property.kind.describe());
            text.push_str(&format!(
                "| `{}` | {kind} | {} |\n",
                property.name,
                cell(property.help)
            ));
        }
    }
    text.push_str(&commands(menu));
    text
}

/// Formats a settable property as a table row.
fn row(property: &Property) -> String {
    let default = match property.default {
        _ if property.required => "required".to_owned(),
        Some("") => "empty".to_owned(),
        Some(value) => format!("`{}`", cell(value)),
        None => String::new(),
    };
    let mut help = cell(property.help);
    if property.sensitive {
        help.push_str("; shown on request only");
    }
    help.push_str(note(property.effect));
    let kind = cell(&property.kind.describe());
    format!("| `{}` | {kind} | {default} | {help} |\n", property.name)
}

/// Formats the commands: standard ones in one line, the menu's own with their arguments.
fn commands(menu: &Menu) -> String {
    let own = |name: &str| menu.commands.iter().any(|command| command.name == name);
    let all = menu.all_commands();
    let standard: Vec<_> = all.iter().filter(|(name, _)| !own(name)).collect();
    let names: Vec<_> = standard
        .iter()
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    let mut text = format!("\nCommands: {}.\n", names.join(", "));
    for command in menu.commands {
        let note = note(command.effect);
        text.push_str(&format!("\n- `{}`: {}{note}\n", command.name, command.help));
        for argument in command.arguments {
            let required = if argument.required { ", required" } else { "" };
            let kind = argument.kind.describe();
            let help = argument.help;
            text.push_str(&format!(
                "  - `{}` ({kind}{required}): {help}\n",
                argument.name
            ));
        }
    }
    text
}

/// Returns the note for an entry without effect.
const fn note(effect: Effect) -> &'static str {
    match effect {
        Effect::Full => "",
        Effect::None => " *(no effect)*",
    }
}

/// Escapes a text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

const fn shape(shape: MenuShape) -> &'static str {
    match shape {
        MenuShape::List => "A list.",
        MenuShape::Ordered => "A list whose order matters.",
        MenuShape::Fixed => "Items that the router itself provides.",
        MenuShape::Settings => "Settings.",
        MenuShape::Status => "Read-only values.",
        MenuShape::Rows => "A read-only table.",
        MenuShape::View => "All items of the menus below, with their common properties.",
        MenuShape::Folder => "A menu of commands.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_menu_and_property_is_in_the_reference() {
        let pages = pages();

        for menu in schema::ALL.iter().filter(|menu| !menu.hidden) {
            let top = menu.path.split('/').nth(1).unwrap_or_default();
            let page = &pages[&format!("{top}.md")];
            let (_, section) = page
                .split_once(&format!("\n## `{}`\n", menu.path))
                .unwrap_or_else(|| panic!("{menu:?} has no section"));
            let section = section.split("\n## ").next().unwrap_or_default();
            for property in menu.properties() {
                let line = format!("\n| `{}` |", property.name);
                assert!(section.contains(&line), "{menu:?} {}", property.name);
            }
            assert!(pages["README.md"].contains(&format!("[`{}`]", menu.path)));
        }
    }

    #[test]
    fn a_table_row_has_as_many_cells_as_its_heading() {
        for line in pages().values().flat_map(|page| page.lines()) {
            let bars = line.replace("\\|", "").matches('|').count();
            assert!(!line.starts_with('|') || bars == 4 || bars == 5, "{line}");
        }
    }
}
