//! `/routing/stats/process`: routing processes.

use menu::{Kind, Menu};

use crate::declare::shown;
use crate::fragment::idle_rows;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        shown("id", Kind::Text, "Process identifier"),
        shown("tasks", Kind::Text, "Tasks of the process"),
        shown("private-mem-blocks", Kind::Text, "Private memory"),
        shown("shared-mem-blocks", Kind::Text, "Shared memory"),
        shown("rss", Kind::Text, "Memory in use"),
        shown("cpu", Kind::Text, "Processor in use"),
        shown("pid", Kind::COUNTER, "Process number"),
    ]],
    columns: &["id", "tasks", "private-mem-blocks"],
    commands: &[crate::interface::idle_command("kill", "End processes")],
    ..idle_rows("/routing/stats/process", "Routing processes")
};
