//! What is said where something has no effect here.

use menu::{Effect, Menu};

use crate::machine::{self, Machine};
use crate::ready::Ready;

/// What a command answers that nothing here carries out.
pub(super) fn refusal(menu: &Menu, name: &str) -> String {
    let path = menu.path.trim_end_matches('/');
    format!("{path}/{name} has no effect here yet")
}

/// Whether a command puts something into use, as far as the command says.
fn enables(name: &str, ready: &Ready<'_>) -> bool {
    let says = |name: &str, value: &str| ready.text(name).is_some_and(|text| text == value);
    match name {
        "add" => !says("disabled", "yes") && !says("enabled", "no"),
        "enable" => true,
        "set" => says("disabled", "no") || says("enabled", "yes"),
        _ => false,
    }
}

impl Machine<'_> {
    /// Tells who sits at the console that what was put into use has no effect. It is said once for
    /// each menu, however often a line does it; scripts and programs read no such line.
    pub(super) fn note_lack(
        &mut self,
        menu: &'static Menu,
        name: &str,
        ready: &Ready<'_>,
    ) -> machine::Result<()> {
        let told = menu.effect == Effect::Full || self.lacking.contains(&menu.path);
        if told || !enables(name, ready) || self.session.imports > 0 {
            return Ok(());
        }
        if self.out.terminal().is_none() {
            return Ok(());
        }
        self.lacking.push(menu.path);
        let path = menu.export_path();
        self.print(&format!(
            "{} has no effect here yet\n",
            path.trim_start_matches('/')
        ))
    }
}
