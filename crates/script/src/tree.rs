//! The tree of menus, indexed by the words of their paths.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use menu::{Effect, Menu, MenuShape};

use crate::edit;

/// The target of a word in a node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A child node.
    Node(usize),
    /// A command.
    Command(&'static str),
}

/// A node of the tree.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) path: &'static str,
    pub(crate) menu: Option<&'static Menu>,
    pub(crate) children: BTreeMap<&'static str, usize>,
    pub(crate) parent: usize,
    /// True for paths of older versions, which are accepted but not offered.
    pub(crate) older: bool,
    commands: Vec<(&'static str, &'static str)>,
}

/// The tree of menus. Node 0 is the root.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
}

/// Cache of trees by address and length of the menu list.
type TreeCache = Mutex<BTreeMap<(usize, usize), Arc<Tree>>>;

/// Trees for consoles.
static TREES: TreeCache = Mutex::new(BTreeMap::new());

/// Trees for programs.
static FOR_PROGRAMS: TreeCache = Mutex::new(BTreeMap::new());

impl Tree {
    /// Returns the cached tree of these menus. Caching matters because completion parses the line at each key.
    pub(crate) fn of(menus: &'static [&'static Menu]) -> Arc<Self> {
        once(&TREES, menus, Self::new)
    }

    /// Returns the cached tree for programs: without paths of older versions, because programs detect the
    /// version by testing whether a menu exists.
    pub(crate) fn for_programs(menus: &'static [&'static Menu]) -> Arc<Self> {
        once(&FOR_PROGRAMS, menus, |menus| {
            Self::of_this_version(menus, |_| true)
        })
    }

    /// Builds the tree of all menus that are not hidden, with their older paths.
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

    /// Builds the tree of a RouterOS virtual machine with the main package only, without paths of older
    /// versions.
    pub(crate) fn of_main_package(menus: &'static [&'static Menu]) -> Self {
        Self::of_this_version(menus, |menu| !is_extra(menu.path))
    }

    /// Builds the tree of the current menus that pass the filter.
    fn of_this_version(menus: &'static [&'static Menu], wanted: fn(&Menu) -> bool) -> Self {
        let mut tree = Self::root();
        for menu in menus
            .iter()
            .filter(|menu| !menu.hidden && !menu.older && wanted(menu))
        {
            tree.insert(menu.path, menu, false);
        }
        for (parent, old, path) in OLD_PATHS {
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
        // Only consoles have `edit`; programs use `set`.
        if let Some(set) = commands.iter().position(|(name, _)| *name == "set") {
            commands.insert(set, (edit::NAME, "Edit value of item property"));
        }
        self.nodes[at].commands = commands;
    }

    /// The children of a node that completion offers: name and node.
    pub(crate) fn offered(&self, node: usize) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        let all = self.nodes[node].children.iter();
        let offered = all.filter(|(_, child)| !self.nodes[**child].older);
        offered.map(|(name, child)| (*name, *child))
    }

    /// The help of a node.
    pub(crate) fn help(&self, node: usize) -> &'static str {
        self.nodes[node].menu.map_or("", |menu| menu.help)
    }

    /// True if the menu of a node has no effect; for a folder, if no child has an effect.
    pub(crate) fn is_idle(&self, node: usize) -> bool {
        let Node { menu, children, .. } = &self.nodes[node];
        match menu {
            Some(menu) if menu.shape != MenuShape::Folder => menu.effect == Effect::None,
            _ => !children.is_empty() && children.values().all(|child| self.is_idle(*child)),
        }
    }

    /// The menu of a node.
    pub(crate) fn menu(&self, node: usize) -> Option<&'static Menu> {
        self.nodes[node].menu
    }

    /// The commands of a node with their help.
    pub(crate) fn commands(&self, node: usize) -> &[(&'static str, &'static str)] {
        &self.nodes[node].commands
    }

    /// Returns the node of a path whose words are separated by `/`.
    pub(crate) fn find(&self, path: &str) -> Option<usize> {
        let mut words = path.split('/').filter(|word| !word.is_empty());
        words.try_fold(0, |at, word| self.nodes[at].children.get(word).copied())
    }

    /// True if a word is the full name of a child or command of a node.
    pub(crate) fn is_exact(&self, node: usize, word: &str) -> bool {
        let node = &self.nodes[node];
        node.children.contains_key(word) || node.commands.iter().any(|(name, _)| *name == word)
    }

    /// True if the name of any child or command of a node begins with the word.
    pub(crate) fn begins(&self, node: usize, word: &str) -> bool {
        let node = &self.nodes[node];
        node.children.keys().any(|name| name.starts_with(word))
            || node.commands.iter().any(|(name, _)| name.starts_with(word))
    }

    /// Resolves a word or a unique prefix in a node.
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

    /// Returns the menu that has a command of a node: the node's menu, or the folder that declares the command.
    pub(crate) fn has(&self, node: usize, command: &str) -> Option<&'static Menu> {
        let declares = |menu: &&Menu| menu.commands.iter().any(|own| own.name == command);
        self.nodes[node]
            .menu
            .filter(|menu| menu.shape != MenuShape::Folder || declares(menu))
    }
}

/// Returns the cached tree, or builds it.
fn once(
    made: &TreeCache,
    menus: &'static [&'static Menu],
    make: fn(&'static [&'static Menu]) -> Tree,
) -> Arc<Tree> {
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (menus.as_ptr().addr(), menus.len());
    Arc::clone(made.entry(place).or_insert_with(|| Arc::new(make(menus))))
}

/// Menus of additional packages, and of hardware that a virtual machine lacks.
const PACKAGE_MENUS: &[&str] = &[
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

/// Older paths that RouterOS still accepts: parent folder, old name, new path.
const OLD_PATHS: &[(&str, &str, &str)] = &[
    ("/interface", "wifiwave2", "/interface/wifi"),
    ("/", "lora", "/iot/lora"),
];

fn is_extra(path: &str) -> bool {
    PACKAGE_MENUS.iter().any(|extra| {
        path.strip_prefix(extra)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The commands of a folder.
fn folder_commands() -> Vec<(&'static str, &'static str)> {
    vec![(
        "export",
        "Print or save an export script that can be used to restore configuration",
    )]
}
