//! `/interface/pppoe-client/scan`: a table of the servers and services on an interface.

use menu::Reason;

use crate::sample::Sample;
use crate::{Column, Form, Invocation, RunningTool, Tool};

static COLUMNS: [Column; 3] = [
    Column::new("service", "SERVICE"),
    Column::new("mac-address", "MAC-ADDRESS"),
    Column::new("ac-name", "AC-NAME"),
];

pub(crate) struct PppoeScan;

impl Tool for PppoeScan {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Sample.start(given)
    }
}
