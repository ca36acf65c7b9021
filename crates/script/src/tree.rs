//! The tree of menus, by the words of their paths.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use menu::{Effect, Menu, Shape};

use crate::edit;

/// What a word leads to at some place of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A place below.
    Node(usize),
    /// A command.
    Command(&'static str),
}

/// A place in the tree.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) path: &'static str,
    pub(crate) menu: Option<&'static Menu>,
    pub(crate) children: BTreeMap<&'static str, usize>,
    pub(crate) parent: usize,
    /// Only older versions had it: it is understood and not offered.
    pub(crate) older: bool,
    commands: Vec<(&'static str, &'static str)>,
}

/// The tree of menus. Place 0 is the root.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
}

/// Trees that were made, by where their menus are. A program has one list of menus, or a few.
type Made = Mutex<BTreeMap<(usize, usize), Arc<Tree>>>;

/// The trees of the console.
static MADE: Made = Mutex::new(BTreeMap::new());

/// The trees of programs.
static FOR_PROGRAMS: Made = Mutex::new(BTreeMap::new());

impl Tree {
    /// The tree of these menus, made once: lines are completed and run key by key.
    pub(crate) fn of(menus: &'static [&'static Menu]) -> Arc<Self> {
        once(&MADE, menus, Self::new)
    }

    /// The tree as programs see it, made once: that of this version. A program that asks whether a
    /// menu is there learns from it which version it speaks to.
    pub(crate) fn for_programs(menus: &'static [&'static Menu]) -> Arc<Self> {
        once(&FOR_PROGRAMS, menus, |menus| {
            Self::of_this_version(menus, |_| true)
        })
    }

    /// The tree of these menus; hidden ones are left out.
    pub(crate) fn new(menus: &'static [&'static Menu]) -> Self {
        let mut tree = Self::root();
        for menu in menus.iter().filter(|menu| !menu.hidden) {
            tree.insert(menu.path, menu, menu.older);
            for path in menu.old_paths {
                tree.insert(path, menu, true);
            }
        }
        tree
    }

    /// The tree as a virtual router has it that is installed without further packages, and without
    /// the paths of older versions.
    pub(crate) fn of_main_package(menus: &'static [&'static Menu]) -> Self {
        Self::of_this_version(menus, |menu| !is_extra(menu.path))
    }

    /// The tree of those menus that this version has, if they are wanted.
    fn of_this_version(menus: &'static [&'static Menu], wanted: fn(&Menu) -> bool) -> Self {
        let mut tree = Self::root();
        for menu in menus
            .iter()
            .filter(|menu| !menu.hidden && !menu.older && wanted(menu))
        {
            tree.insert(menu.path, menu, false);
        }
        for (parent, old, path) in RENAMED {
            if let (Some(parent), Some(node)) = (tree.find(parent), tree.find(path)) {
                tree.nodes[parent].children.insert(old, node);
            }
        }
        tree
    }

    fn root() -> Self {
        let root = Node {
            path: "/",
            commands: folder_commands(),
            ..Node::default()
        };
        Self { nodes: vec![root] }
    }

    fn insert(&mut self, path: &'static str, menu: &'static Menu, older: bool) {
        let mut at = 0;
        let mut end = 0;
        for word in path.split('/').filter(|word| !word.is_empty()) {
            end += word.len() + 1;
            at = match self.nodes[at].children.get(word) {
                Some(child) => *child,
                None => {
                    let child = self.nodes.len();
                    self.nodes[at].children.insert(word, child);
                    let commands = folder_commands();
                    let path = &path[..end];
                    self.nodes.push(Node {
                        path,
                        parent: at,
                        older,
                        commands,
                        ..Node::default()
                    });
                    child
                }
            };
            self.nodes[at].older &= older;
        }
        self.nodes[at].menu = Some(menu);
        let mut commands = menu.all_commands();
        // A console's own: programs have `set`.
        if let Some(set) = commands.iter().position(|(name, _)| *name == "set") {
            commands.insert(set, (edit::NAME, "Edit value of item property"));
        }
        self.nodes[at].commands = commands;
    }

    /// The places below a place that are offered, with their names.
    pub(crate) fn offered(&self, node: usize) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let all = self.nodes[node].children.iter();
        let offered = all.filter(|(_, child)| !self.nodes[**child].older);
        offered.map(|(name, child)| (*name, *child))
    }

    /// What a place is for.
    pub(crate) fn help(&self, node: usize) -> &'static str {
        self.nodes[node].menu.map_or("", |menu| menu.help)
    }

    /// Whether a place has no effect: its menu, or where it has none, all that is below it.
    pub(crate) fn is_idle(&self, node: usize) -> bool {
        let Node { menu, children, .. } = &self.nodes[node];
        match menu {
            Some(menu) if menu.shape != Shape::Folder => menu.effect == Effect::None,
            _ => !children.is_empty() && children.values().all(|child| self.is_idle(*child)),
        }
    }

    /// The menu of a place.
    pub(crate) fn menu(&self, node: usize) -> Option<&'static Menu> {
        self.nodes[node].menu
    }

    /// The commands of a place with their help.
    pub(crate) fn commands(&self, node: usize) -> &[(&'static str, &'static str)] {
        &self.nodes[node].commands
    }

    /// The place of a path, words separated by `/`.
    pub(crate) fn find(&self, path: &str) -> Option<usize> {
        let mut words = path.split('/').filter(|word| !word.is_empty());
        words.try_fold(0, |at, word| self.nodes[at].children.get(word).copied())
    }

    /// Whether a word is the whole name of something at a place.
    pub(crate) fn is_exact(&self, node: usize, word: &str) -> bool {
        let node = &self.nodes[node];
        node.children.contains_key(word) || node.commands.iter().any(|(name, _)| *name == word)
    }

    /// Whether the name of anything at a place begins so.
    pub(crate) fn begins(&self, node: usize, word: &str) -> bool {
        let node = &self.nodes[node];
        node.children.keys().any(|name| name.starts_with(word))
            || node.commands.iter().any(|(name, _)| name.starts_with(word))
    }

    /// Where a word, or its unique beginning, leads from a place.
    pub(crate) fn step(&self, from: usize, word: &str) -> Option<Step> {
        let node = &self.nodes[from];
        if let Some(child) = node.children.get(word) {
            return Some(Step::Node(*child));
        }
        if let Some((name, _)) = node.commands.iter().find(|(name, _)| *name == word) {
            return Some(Step::Command(name));
        }
        let children = node
            .children
            .iter()
            .filter(|(name, child)| !self.nodes[**child].older && name.starts_with(word));
        let commands = node
            .commands
            .iter()
            .filter(|(name, _)| name.starts_with(word));
        let children = children.map(|(_, child)| Step::Node(*child));
        let mut all = children.chain(commands.map(|(name, _)| Step::Command(name)));
        match (all.next(), all.next()) {
            (Some(step), None) if !word.is_empty() => Some(step),
            _ => None,
        }
    }

    /// What a command of a place is a command of: the menu, or the folder that declares it.
    pub(crate) fn has(&self, node: usize, command: &str) -> Option<&'static Menu> {
        let declares = |menu: &&Menu| menu.commands.iter().any(|own| own.name == command);
        self.nodes[node]
            .menu
            .filter(|menu| menu.shape != Shape::Folder || declares(menu))
    }
}

/// The tree of these menus from among those that were made, or a new one.
fn once(
    made: &Made,
    menus: &'static [&'static Menu],
    make: fn(&'static [&'static Menu]) -> Tree,
) -> Arc<Tree> {
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (menus.as_ptr().addr(), menus.len());
    Arc::clone(made.entry(place).or_insert_with(|| Arc::new(make(menus))))
}

/// The menus of packages that are installed apart, and of hardware that a virtual router has not.
const EXTRA: &[&str] = &[
    "/app",
    "/caps-man",
    "/container",
    "/dude",
    "/interface/bridge/port-controller",
    "/interface/bridge/port-extender",
    "/interface/ethernet/poe",
    "/interface/ethernet/switch",
    "/interface/pwr-line",
    "/interface/veth",
    "/interface/w60g",
    "/interface/wireless",
    "/iot",
    "/ip/cloud/back-to-home-file",
    "/ip/cloud/file-share",
    "/lcd",
    "/openflow",
    "/partitions",
    "/port/firmware",
    "/system/gps",
    "/system/health/settings",
    "/system/ptp",
    "/system/routerboard",
    "/system/swos",
    "/tr069-client",
    "/user-manager",
    "/zerotier",
];

/// Menus that RouterOS takes by an old path as well: the folder and the name of the old path, the path.
const RENAMED: &[(&str, &str, &str)] = &[
    ("/interface", "wifiwave2", "/interface/wifi"),
    ("/", "lora", "/iot/lora"),
];

fn is_extra(path: &str) -> bool {
    EXTRA.iter().any(|extra| {
        path.strip_prefix(extra)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// What can be done where there is no menu but menus below.
fn folder_commands() -> Vec<(&'static str, &'static str)> {
    vec![(
        "export",
        "Print or save an export script that can be used to restore configuration",
    )]
}
