//! Continuous commands that repeat an action of the router, such as monitors.

use std::time::Duration;

use menu::{Call, Id, Menu, Reason, Value};

use crate::{Column, Form, Invocation, Look, Next, RunningTool, Tool, Turn};

/// Default tool of continuous commands.
pub(crate) struct Sample;

/// `/interface/pppoe-client/scan`: a table of the servers and services on an interface.
pub(crate) struct Services;

static SERVICES: [Column; 3] = [
    Column::new("service", "SERVICE"),
    Column::new("mac-address", "MAC-ADDRESS"),
    Column::new("ac-name", "AC-NAME"),
];

impl Tool for Services {
    fn form(&self) -> Form {
        Form::Table(&SERVICES)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Sample.start(given)
    }
}

struct Sampling {
    menu: &'static Menu,
    command: &'static str,
    items: Vec<Id>,
    arguments: Vec<(&'static str, Value)>,
    interval: Duration,
    /// At least one of the items has existed.
    had: bool,
}

impl Tool for Sample {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(Sampling {
            menu: given.menu,
            command: given.command,
            items: std::mem::take(&mut given.items),
            arguments: std::mem::take(&mut given.arguments),
            interval: given.interval,
            had: false,
        }))
    }
}

impl RunningTool for Sampling {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let call = Call {
            menu: self.menu,
            command: self.command,
            items: &self.items,
            arguments: &self.arguments,
            made: None,
        };
        let rows = turn.router.action(turn.store, &call)?.rows;
        let mut items = self.items.iter();
        let has = items.any(|id| turn.store.item(self.menu.path, *id).is_some());
        if self.had && !has {
            return Err(Reason::NoItem);
        }
        self.had = has;
        Ok(Look {
            rows: Some(rows),
            next: Next::At(turn.now.saturating_add(self.interval)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use menu::{Offline, Row, Store};

    use super::*;
    use crate::Router;

    /// A router without any rows.
    struct Blank;

    impl menu::Live for Blank {
        fn clock(&self) -> menu::Clock {
            menu::Clock::utc(0)
        }

        fn action(&mut self, _: &Store, _: &Call<'_>) -> Result<menu::Reply, Reason> {
            Ok(menu::Reply::default())
        }
    }

    impl Router for Blank {}

    #[test]
    fn a_monitor_ends_with_the_last_item() {
        let mut store = schema::store();
        let mark = store.begin();
        let made = store.ensure_port("ether1", Some([2, 0, 0, 0, 0, 1]));
        made.expect("is a port's name");
        store.commit(mark).expect("nothing is journaled");
        let menu = store.menu("/interface/ethernet").expect("a menu");
        let item = store.items(menu.path).next().expect("the port").id;
        let mut run = Sampling {
            menu,
            command: "monitor",
            items: vec![item],
            arguments: Vec::new(),
            interval: Duration::from_secs(1),
            had: false,
        };
        let mut look = |store: &Store, router: &mut dyn Router| {
            let mut turn = Turn {
                store,
                router,
                now: Duration::from_secs(7),
                news: Waker::noop(),
            };
            run.look(&mut turn).map(|look| (look.rows, look.next))
        };

        let blank = Ok((Some(Vec::<Row>::new()), Next::At(Duration::from_secs(8))));
        assert_eq!(look(&store, &mut Blank), blank);
        assert_eq!(
            look(&store, &mut Blank),
            blank,
            "it is there, and shows nothing"
        );
        assert!(look(&store, &mut Offline).is_err(), "a router refuses");
        assert_eq!(look(&schema::store(), &mut Blank), Err(Reason::NoItem));
    }
}
