//! `/routing/stats/process`: routing processes.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("id", Kind::Text, "The process"),
        shown("tasks", Kind::Text, "What it does"),
        shown("private-mem-blocks", Kind::Text, "Its own memory"),
        shown("shared-mem-blocks", Kind::Text, "Memory that it shares"),
        shown("rss", Kind::Text, "Memory that it has"),
        shown("cpu", Kind::Text, "Processor that it uses"),
        shown("pid", Kind::COUNTER, "Its number"),
    ]],
    columns: &["id", "tasks", "private-mem-blocks"],
    commands: &[crate::interface::idle_command("kill", "End processes")],
    ..idle_rows("/routing/stats/process", "Processes of routing")
};
