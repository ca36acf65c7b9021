//! The web interface: static files, and a description of the menus.
//!
//! The files are embedded in the program and load nothing from elsewhere. The page uses the REST API; its
//! tables and forms follow from [`describe`] and [`properties`]. The server implements:
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `GET /app.js` … | [`asset`], with [`POLICY`] |
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

mod describe;
mod tools;

pub use describe::{describe, menu, properties, searched};
pub use tools::describe_tools;

/// Content Security Policy (level 3): allows the page to load its own files and to send requests to its own
/// router only.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

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

/// All files.
pub const ASSETS: &[Asset] = assets! {
    "/" "text/html; charset=utf-8", "index.html";
    "/style.css" "text/css; charset=utf-8", "style.css";
    "/icon.svg" "image/svg+xml", "icon.svg";
    "/load.js" JS, "load.js";
    "/app.js" JS, "app.js";
    "/api.js" JS, "api.js";
    "/dom.js" JS, "dom.js";
    "/nav.js" JS, "nav.js";
    "/tasks.js" JS, "tasks.js";
    "/live.js" JS, "live.js";
    "/format.js" JS, "format.js";
    "/table.js" JS, "table.js";
    "/rows.js" JS, "rows.js";
    "/cell.js" JS, "cell.js";
    "/columns.js" JS, "columns.js";
    "/chooser.js" JS, "chooser.js";
    "/drag.js" JS, "drag.js";
    "/full.js" JS, "full.js";
    "/widths.js" JS, "widths.js";
    "/form.js" JS, "form.js";
    "/fits.js" JS, "fits.js";
    "/dashboard.js" JS, "dashboard.js";
    "/cards.js" JS, "cards.js";
    "/chart.js" JS, "chart.js";
    "/topology.js" JS, "topology.js";
    "/walk.js" JS, "walk.js";
    "/doctor.js" JS, "doctor.js";
    "/terminal.js" JS, "terminal.js";
    "/command.js" JS, "command.js";
    "/running.js" JS, "running.js";
    "/tools.js" JS, "tools.js";
    "/changes.js" JS, "changes.js";
    "/why.js" JS, "why.js";
    "/displays.js" JS, "displays.js";
    "/pcap.js" JS, "pcap.js";
    "/calculators.js" JS, "calculators.js";
    "/vendor/xterm.js" JS, "vendor/xterm.js";
    "/vendor/xterm.css" "text/css; charset=utf-8", "vendor/xterm.css";
    "/quickset.js" JS, "quickset.js";
};

/// Returns the file at a path.
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true for a file of a library, which is loaded only when a view needs it.
    fn is_foreign(file: &Asset) -> bool {
        file.path.starts_with("/vendor/")
    }

    #[test]
    fn named_files_exist_and_are_small() {
        let names = |text: &str, before: &str| -> Vec<String> {
            let parts = text.split(before).skip(1);
            let parts = parts.filter_map(|rest| rest.split(['"', '\'']).next());
            parts.map(str::to_owned).collect()
        };
        for file in ASSETS {
            let mut named = names(file.text, "from \"./");
            named.extend(
                names(file.text, "href=\"/")
                    .into_iter()
                    .filter(|name| name.contains('.')),
            );
            named.extend(names(file.text, "src=\"/"));
            named.extend(names(file.text, "import(\"./"));
            for name in named {
                assert!(
                    asset(&format!("/{name}")).is_some(),
                    "{}: {name}",
                    file.path
                );
            }
        }
        let own = ASSETS.iter().filter(|file| !is_foreign(file));
        let bytes: usize = own.map(|file| file.text.len()).sum();
        assert!(bytes < 300_000, "{bytes}");
    }

    #[test]
    fn no_external_resources_and_no_inline_code() {
        for file in ASSETS.iter().filter(|file| !is_foreign(file)) {
            let text = file.text.replace("http://www.w3.org/", "");
            for word in [
                "http://",
                "https://",
                "innerHTML",
                "eval(",
                "style=\"",
                "onclick=",
                "new Function",
            ] {
                assert!(!text.contains(word), "{}: {word}", file.path);
            }
        }
        let html = asset("/").expect("the page").text;
        let scripts = html.matches("<script").count();
        assert_eq!(scripts, html.matches(" src=\"/").count(), "none is inline");
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
