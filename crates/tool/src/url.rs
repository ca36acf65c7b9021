//! Parts of a URL (RFC 3986, 3).

/// URL scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP (RFC 9110).
    Http,
    /// HTTPS.
    Https,
}

impl Scheme {
    /// Finds a scheme by name, in any case.
    pub fn of(name: &str) -> Option<Self> {
        match &*name.to_ascii_lowercase() {
            "http" => Some(Self::Http),
            "https" => Some(Self::Https),
            _ => None,
        }
    }

    /// Default port.
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// Parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Scheme.
    pub scheme: Scheme,
    /// User and password.
    pub user: Option<(String, String)>,
    /// Host name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path and query.
    pub target: String,
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// Returns a message for users if the URL is invalid.
    pub fn of(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("not a URL")?;
        let known = Scheme::of(scheme).ok_or_else(|| unknown(scheme))?;
        Self::with(known, rest)
    }

    /// Parses the part of a URL after the scheme.
    ///
    /// # Errors
    /// Returns a message for users if the URL is invalid.
    pub fn with(scheme: Scheme, rest: &str) -> Result<Self, String> {
        if rest
            .chars()
            .any(|letter| letter.is_control() || letter == ' ')
        {
            return Err("the URL has a space or a control character".to_owned());
        }
        let (authority, target) = match rest.find(['/', '?', '#']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let target = target.split('#').next().unwrap_or_default();
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (authority, ""),
        };
        let port = match port {
            "" => scheme.port(),
            port => port.parse().map_err(|_| format!("{port} is not a port"))?,
        };
        let target = match target {
            target if target.starts_with('/') => target.to_owned(),
            query => format!("/{query}"),
        };
        let user = user.map(|user| {
            let (user, password) = user.split_once(':').unwrap_or((user, ""));
            (user.to_owned(), password.to_owned())
        });
        Ok(Self {
            scheme,
            user,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            target,
        })
    }

    /// Resolves the target of a redirect (RFC 9110, 10.2.2).
    ///
    /// # Errors
    /// Returns a message for users if the target is invalid.
    pub fn lead(&self, to: &str) -> Result<Self, String> {
        if to.contains("://") {
            return Self::of(to);
        }
        if let Some(rest) = to.strip_prefix("//") {
            return Self::with(self.scheme, rest);
        }
        let target = match to.strip_prefix('/') {
            Some(_) => to.to_owned(),
            None => {
                let path = self.target.split('?').next().unwrap_or("/");
                let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
                format!("{folder}{to}")
            }
        };
        let read = Self::with(self.scheme, &target)?;
        Ok(Self {
            target: read.target,
            ..self.clone()
        })
    }

    /// True if both URLs have the same scheme, host and port.
    pub fn is_beside(&self, other: &Self) -> bool {
        let own = (self.scheme, self.port);
        own == (other.scheme, other.port) && self.host.eq_ignore_ascii_case(&other.host)
    }
}

fn unknown(scheme: &str) -> String {
    format!("{scheme} is not supported here")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(place: &Url) -> String {
        let Url {
            host, port, target, ..
        } = place;
        format!("{host} {port} {target}")
    }

    #[test]
    fn a_url_is_split_into_parts() {
        for (url, parts) in [
            ("http://a.example", "a.example 80 /"),
            ("HTTPS://a.example?x=1#part", "a.example 443 /?x=1"),
            (
                "https://a.example:8443/b/c?d=/e",
                "a.example 8443 /b/c?d=/e",
            ),
            ("http://[2001:db8::1]:81/", "2001:db8::1 81 /"),
            ("http://[2001:db8::1]/x", "2001:db8::1 80 /x"),
        ] {
            let place = Url::of(url).expect(url);
            assert_eq!(text(&place), parts, "{url}");
        }
        let place = Url::of("http://joe:a@b@c.example/").expect("a user");
        assert_eq!(place.user, Some(("joe".to_owned(), "a@b".to_owned())));
        for url in [
            "a.example",
            "gopher://a/",
            "http://a:b/",
            "http://a/b c",
            "http://a/\r\nX: y",
        ] {
            assert!(Url::of(url).is_err(), "{url:?}");
        }
    }

    #[test]
    fn relative_urls_are_resolved() {
        let page = Url::of("https://a.example/b/c?d").expect("a page");
        for (to, parts) in [
            ("/x", "a.example 443 /x"),
            ("x?y", "a.example 443 /b/x?y"),
            ("//other.example/x", "other.example 443 /x"),
            ("http://other.example:8080", "other.example 8080 /"),
        ] {
            assert_eq!(text(&page.lead(to).expect(to)), parts, "{to}");
        }
        assert!(page.lead("file:///etc/passwd").is_err());
        assert!(page.lead("/x\r\ny").is_err());
        let beside = |url: &str| page.is_beside(&Url::of(url).expect(url));
        assert!(
            beside("https://A.example/") && !beside("http://a.example/") && !beside("https://b/")
        );
    }
}
