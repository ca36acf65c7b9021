//! `/tool/graphing`: the settings of graphs. Samples are in `history/`, pictures in the web service.

use std::sync::Arc;

use menu::{Changes, Item, Value};

use super::{Effects, Feature, View, concerns};
use crate::history::graphing::{GraphRule, Graphing};

const SETTINGS: &str = "/tool/graphing";
const INTERFACES: &str = "/tool/graphing/interface";
const QUEUES: &str = "/tool/graphing/queue";
const RESOURCES: &str = "/tool/graphing/resource";

/// The settings of graphs.
#[derive(Debug, Default)]
pub(crate) struct Graphs {
    /// Settings and enabled items.
    pub(crate) graphing: Arc<Graphing>,
}

/// Returns the enabled items of a menu; `property` names their interface or queue.
fn rules(view: &View<'_>, menu: &'static str, property: &str) -> Vec<GraphRule> {
    let is_enabled = |item: &&Item| item.get("disabled").and_then(Value::as_bool) != Some(true);
    let items = view.store.items(menu).map(|item| &**item);
    let enabled = items.filter(is_enabled);
    enabled.map(|item| GraphRule::of(item, property)).collect()
}

impl Feature for Graphs {
    fn menus(&self) -> &'static [&'static str] {
        &[SETTINGS, INTERFACES, QUEUES, RESOURCES]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        if !concerns(self.menus(), changes) {
            return;
        }
        let settings = view.store.settings(SETTINGS);
        let text = |name: &str| {
            let value = settings.and_then(|item| item.get(name));
            value.map(ToString::to_string).unwrap_or_default()
        };
        self.graphing = Arc::new(Graphing {
            interfaces: rules(view, INTERFACES, "interface"),
            queues: rules(view, QUEUES, "simple-queue"),
            resources: rules(view, RESOURCES, ""),
            store_minutes: match text("store-every").as_str() {
                "hour" => 60,
                "24hours" => 1_440,
                _ => 5,
            },
            refresh_seconds: text("page-refresh").parse().ok(),
        });
    }
}
