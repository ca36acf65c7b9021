//! The web interface: static files, and a description of the menus.
//!
//! The files are embedded in the program and load nothing from elsewhere. The page uses the REST API; its
//! tables and forms follow from [`describe`]. The server implements:
//!
//! | request | answer |
//! |---|---|
//! | `GET /`, `GET /app.js` … | [`asset`], with [`POLICY`] |
//! | `POST /session` `{"user", "password"}` with `X-Ferroute: page` | 200 `{"user", "policies"}` and a cookie, or 401 |
//! | `GET /session`, `DELETE /session` with the cookie | 200 as above; 204, and the session ends |
//! | `GET /schema.json` with the cookie or by HTTP Basic | [`describe`] |
//! | `/rest/…` with the cookie and `X-Ferroute: page` | REST |
//!
//! Pages of other origins cannot send the header `X-Ferroute` without the router's CORS permission, which it
//! never grants. This prevents cross-site request forgery with the cookie.

mod describe;

pub use describe::describe;

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
    "/app.js" JS, "app.js";
    "/api.js" JS, "api.js";
    "/dom.js" JS, "dom.js";
    "/nav.js" JS, "nav.js";
    "/table.js" JS, "table.js";
    "/form.js" JS, "form.js";
    "/plot.js" JS, "plot.js";
    "/dashboard.js" JS, "dashboard.js";
    "/walk.js" JS, "walk.js";
    "/doctor.js" JS, "doctor.js";
    "/terminal.js" JS, "terminal.js";
    "/calculators.js" JS, "calculators.js";
};

/// Returns the file at a path.
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for name in named {
                assert!(
                    asset(&format!("/{name}")).is_some(),
                    "{}: {name}",
                    file.path
                );
            }
        }
        let bytes: usize = ASSETS.iter().map(|file| file.text.len()).sum();
        assert!(bytes < 200_000, "{bytes}");
    }

    #[test]
    fn no_external_resources_and_no_inline_code() {
        for file in ASSETS {
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
        assert!(
            !html
                .replace("<script type=\"module\" src=", "")
                .contains("<script")
        );
        assert!(!html.contains("<style"));
    }

    #[test]
    fn menus_are_described_with_properties_and_arguments() {
        let text = describe(schema::ALL);
        let all: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let menus = all["menus"].as_array().expect("menus");
        let menu = |path: &str| menus.iter().find(|menu| menu["path"] == path).expect(path);
        let filter = menu("/ip/firewall/filter");
        assert_eq!(filter["shape"], "ordered");
        let properties = filter["properties"].as_array().expect("properties");
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
        assert!(text.len() < 1_500_000, "{}", text.len());
    }
}
