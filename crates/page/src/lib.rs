//! The web interface: static files, and a description of the menus.
//!
//! The files are embedded in the program and load nothing from elsewhere. The page uses the REST API; its
//! tables and forms follow from [`describe`] and [`properties`]. The server implements:
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `GET /app.js` … | [`asset`], with [`policy`] |
//! | `POST /session` `{"user", "password"}` with `X-Ferroute: page` | 200 `{"user", "policies"}` and a cookie, or 401 |
//! | `GET /session`, `DELETE /session` with the cookie | 200 as above; 204, and the session ends |
//! | `GET /schema.json` with the cookie or by HTTP Basic | [`describe`] |
//! | `GET /tools.json` with the cookie or by HTTP Basic | [`describe_tools`] |
//! | `POST /run/…` with the cookie and `X-Ferroute: page` | rows of a command that goes on |
//! | `POST /terminal` with the cookie and `X-Ferroute: page` | output of a console |
//! | `GET /properties/ip/address` and so on, likewise | [`properties`] |
//! | `GET /properties.json`, likewise | [`searched`] |
//! | `GET /history`, likewise | `router::history` |
//! | `/rest/…` with the cookie and `X-Ferroute: page` | REST |
//!
//! Pages of other origins cannot send the header `X-Ferroute` without the router's CORS permission, which it
//! never grants. This prevents cross-site request forgery with the cookie.

mod bundle;
mod describe;
mod graphs;
mod tools;

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use sha2::{Digest as _, Sha256};

pub use bundle::{BundleError, Module, bundle};
pub use describe::{describe, menu, properties, searched};
pub use graphs::{Chart, GraphUnit, chart_section, chart_svg, graph_links, graph_page};
pub use tools::describe_tools;

/// The script within the page, which loads the page again if a file did not arrive. A separate file could be missing,
/// too.
const LOADER: &str = include_str!("../assets/load.js");

/// The page, with [`LOADER`].
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let before = "<script src=\"/load.js\"></script>";
    include_str!("../assets/index.html").replace(before, &format!("<script>{LOADER}</script>"))
});

/// The policy that [`policy`] returns.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let loader = BASE64_STANDARD.encode(Sha256::digest(LOADER));
    format!(
        "default-src 'none'; script-src 'self' 'sha256-{loader}'; style-src 'self'; img-src 'self' data:; \
         connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
});

/// Returns the Content Security Policy (level 3): it allows the page to run the script within it, to load its own
/// files, and to send requests to its own router only.
pub fn policy() -> &'static str {
    &POLICY
}

/// A static file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// URL path with a leading slash.
    pub path: &'static str,
    /// Media type.
    pub kind: &'static str,
    /// Content.
    pub text: &'static str,
}

const JS: &str = "text/javascript; charset=utf-8";

/// Declares the embedded files of `assets/`.
macro_rules! assets {
    ($($path:literal $kind:expr, $file:literal;)*) => {
        &[$(Asset {
            path: $path,
            kind: $kind,
            text: include_str!(concat!("../assets/", $file)),
        }),*]
    };
}

/// All files except the page itself and the bundle of [`MODULES`].
const ASSETS: &[Asset] = assets! {
    "/style.css" "text/css; charset=utf-8", "style.css";
    "/icon.svg" "image/svg+xml", "icon.svg";
    "/vendor/xterm.js" JS, "vendor/xterm.js";
    "/vendor/xterm.css" "text/css; charset=utf-8", "vendor/xterm.css";
};

/// Declares the modules of the page by their names.
macro_rules! modules {
    ($($name:literal)*) => {
        &[$(Module {
            name: $name,
            text: include_str!(concat!("../assets/", $name)),
        }),*]
    };
}

/// The page's own modules, which are served as one script.
pub const MODULES: &[Module] = modules! {
    "app.js"
    "api.js"
    "dom.js"
    "nav.js"
    "tasks.js"
    "live.js"
    "format.js"
    "table.js"
    "rows.js"
    "cell.js"
    "columns.js"
    "chooser.js"
    "drag.js"
    "full.js"
    "widths.js"
    "form.js"
    "fits.js"
    "dashboard.js"
    "cards.js"
    "chart.js"
    "topology.js"
    "walk.js"
    "doctor.js"
    "terminal.js"
    "command.js"
    "running.js"
    "tools.js"
    "changes.js"
    "why.js"
    "displays.js"
    "pcap.js"
    "calculators.js"
    "quickset.js"
    "recipes.js"
    "qr.js"
    "shortcuts.js"
    "activities.js"
    "profile.js"
    "watch.js"
};

/// URL path of the bundle.
const BUNDLE_PATH: &str = "/app.js";

/// The bundle, or the error of [`bundle`].
static BUNDLE: LazyLock<Result<String, BundleError>> = LazyLock::new(|| bundle(MODULES, "app.js"));

/// Returns the file at a path: `/` is the page, `/app.js` the bundle of [`MODULES`].
pub fn asset(path: &str) -> Option<Asset> {
    match path {
        "/" => Some(Asset {
            path: "/",
            kind: "text/html; charset=utf-8",
            text: &PAGE,
        }),
        BUNDLE_PATH => Some(Asset {
            path: BUNDLE_PATH,
            kind: JS,
            text: BUNDLE.as_ref().ok()?,
        }),
        path => ASSETS.iter().find(|asset| asset.path == path).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names and texts of the page's own sources.
    fn sources() -> impl Iterator<Item = (&'static str, &'static str)> {
        let files = ASSETS
            .iter()
            .filter(|file| !file.path.starts_with("/vendor/"));
        let page = asset("/").into_iter();
        let files = files
            .copied()
            .chain(page)
            .map(|file| (file.path, file.text));
        files.chain(MODULES.iter().map(|module| (module.name, module.text)))
    }

    #[test]
    fn the_bundle_has_all_modules_and_is_small() {
        let text = bundle(MODULES, "app.js").expect("a bundle");
        for module in MODULES {
            let head = format!("\n// {}\nconst $", module.name);
            assert_eq!(
                text.matches(&head).count() + usize::from(text.starts_with(&head[1..])),
                1,
                "{head}"
            );
        }
        assert!(!text.contains("\nimport ") && !text.contains("\nexport "));
        assert!(text.len() < 300_000, "{}", text.len());
    }

    #[test]
    fn named_files_exist() {
        let names = |text: &str, before: &str| -> Vec<String> {
            let parts = text.split(before).skip(1);
            let parts = parts.filter_map(|rest| rest.split(['"', '\'']).next());
            parts.map(str::to_owned).collect()
        };
        for (source, text) in sources() {
            let mut named = names(text, "href: \"/");
            named.extend(
                names(text, "href=\"/")
                    .into_iter()
                    .filter(|name| name.contains('.')),
            );
            named.extend(names(text, "src=\"/"));
            named.extend(names(text, "import(\"./"));
            for name in named {
                assert!(asset(&format!("/{name}")).is_some(), "{source}: {name}");
            }
        }
    }

    #[test]
    fn no_external_resources_and_no_inline_code() {
        for (source, text) in sources() {
            let text = text.replace("http://www.w3.org/", "");
            for word in [
                "http://",
                "https://",
                "innerHTML",
                "eval(",
                "style=\"",
                "onclick=",
                "new Function",
            ] {
                assert!(!text.contains(word), "{source}: {word}");
            }
        }
        let html = asset("/").expect("the page").text;
        let scripts = html.matches("<script").count();
        let files = html.matches(" src=\"/").count();
        assert_eq!(scripts, files + 1, "only the loader is within the page");
        assert!(html.contains(&format!("<script>{LOADER}</script>")));
        assert!(!html.contains("<style"));
    }

    #[test]
    fn tools_are_described_with_their_form_and_policies() {
        let all: serde_json::Value =
            serde_json::from_str(&describe_tools(schema::ALL)).expect("JSON");
        let all = all.as_array().expect("tools");
        let tool = |path: &str| all.iter().find(|tool| tool["path"] == path).expect(path);
        let ping = tool("/tool/ping");
        assert_eq!(ping["form"], "lines");
        assert_eq!(ping["needs"], serde_json::json!(["test"]));
        assert_eq!(ping["arguments"][0]["name"], "address");
        assert_eq!(ping["arguments"][0]["required"], true);
        assert_eq!(ping["columns"][1], "host");
        assert_eq!(tool("/tool/torch")["form"], "table");
        assert_eq!(
            tool("/interface/ethernet/monitor")["rows"],
            "/interface/ethernet"
        );
        assert!(
            all.iter().all(|tool| tool["path"] != "/tool/mac-scan"),
            "without effect"
        );
    }

    #[test]
    fn menus_are_described_with_properties_and_arguments() {
        let text = describe(schema::ALL);
        let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let menus = all["menus"].as_array().expect("menus");
        let menu = |path: &str| menus.iter().find(|menu| menu["path"] == path).expect(path);
        let filter = menu("/ip/firewall/filter");
        assert_eq!(filter["shape"], "ordered");
        let own = super::menu(schema::ALL, "/ip/firewall/filter").expect("the menu");
        let own: serde_json::Value = serde_json::from_str(&properties(own)).expect("JSON");
        let properties = own.as_array().expect("properties");
        let property = |name: &str| {
            properties
                .iter()
                .find(|own| own["name"] == name)
                .expect(name)
        };
        assert!(
            property("action")["words"]
                .as_array()
                .is_some_and(|words| words.len() > 5)
        );
        assert_eq!(property("chain")["required"], true);
        assert_eq!(property("in-interface")["space"], "interface");
        assert_eq!(menu("/system/identity")["shape"], "settings");
        let tools = menu("/tool")["commands"].as_array().expect("commands");
        let trace = tools.iter().find(|own| own["name"] == "trace");
        assert_eq!(trace.expect("trace")["needs"], serde_json::json!(["test"]));
        assert!(
            all["spaces"]["interface"]
                .as_array()
                .is_some_and(|paths| !paths.is_empty())
        );
        let found: serde_json::Value = serde_json::from_str(&searched(schema::ALL)).expect("JSON");
        assert_eq!(found["/ip/address"][0][0], "address");
        assert!(text.len() < 300_000, "{}", text.len());
    }
}
