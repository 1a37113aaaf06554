//! How targets and others are spoken to over HTTP.

use crate::reading::{Keys, Reader};
use std::fmt;

/// What is not shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Confidential {
    /// It stands in the file.
    Text(String),
    /// It stands in a file of its own, which is read each time it is needed.
    File(String),
}

impl fmt::Debug for Confidential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(..)"),
            Self::File(path) => write!(f, "File({path:?})"),
        }
    }
}

/// User and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basic {
    /// User.
    pub user: Confidential,
    /// Password.
    pub password: Confidential,
}

/// The header `Authorization` of another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// Such as `Bearer`.
    pub scheme: String,
    /// What follows it.
    pub credentials: Confidential,
}

/// Files and rules for TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// File of certificates that vouch for the server's; otherwise those that the system trusts.
    pub ca_file: Option<String>,
    /// Files of the certificate to show and its key.
    pub identity: Option<(String, String)>,
    /// Name that the server's certificate must have, if not that of its address.
    pub server_name: Option<String>,
    /// Whether any certificate will do.
    pub is_insecure: bool,
}

/// How a server is spoken to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    /// User and password.
    pub basic: Option<Basic>,
    /// Another header `Authorization`.
    pub authorization: Option<Authorization>,
    /// For `https`.
    pub tls: Tls,
    /// Whether it may send elsewhere. By default it may.
    pub stays: bool,
    /// Further headers.
    pub headers: Vec<(String, Confidential)>,
}

/// Keys whose values are not shown.
pub(crate) fn is_secret(key: &str) -> bool {
    const SECRETS: [&str; 6] =
        ["password", "credentials", "bearer_token", "client_secret", "secrets", "secret_key"];
    SECRETS.contains(&key)
}

impl Client {
    pub(crate) fn read(keys: &mut Keys<'_>) -> Self {
        let mut client = Self {
            basic: keys.take("basic_auth").and_then(|reader| read_basic(&reader)),
            authorization: keys.take("authorization").and_then(|it| read_authorization(&it)),
            tls: keys.take("tls_config").map(|reader| read_tls(&reader)).unwrap_or_default(),
            ..Self::default()
        };
        if let Some(credentials) = confidential(keys, "bearer_token") {
            let scheme = "Bearer".to_owned();
            client.authorization = Some(Authorization { scheme, credentials });
        }
        if client.basic.is_some() && client.authorization.is_some() {
            keys.whole().error("basic_auth and authorization exclude each other");
        }
        let follows = keys.take("follow_redirects").and_then(|reader| reader.truth());
        client.stays = follows == Some(false);
        if let Some(reader) = keys.take("http_headers") {
            client.headers = read_headers(&reader);
        }
        keys.refuse(&["oauth2", "sigv4", "azuread", "google_iam"], "use authorization");
        let proxies = ["proxy_url", "no_proxy", "proxy_from_environment", "proxy_connect_header"];
        keys.refuse(&proxies, "proxies are not asked");
        keys.ignore(&["enable_http2"], "HTTP/1.1 is spoken");
        client
    }
}

impl Client {
    pub(crate) fn resolve(&mut self, resolve: &dyn Fn(&str) -> String) {
        let basic = self.basic.iter_mut().flat_map(|basic| [&mut basic.user, &mut basic.password]);
        let credentials = self.authorization.iter_mut().map(|it| &mut it.credentials);
        let headers = self.headers.iter_mut().map(|(_, value)| value);
        for secret in basic.chain(credentials).chain(headers) {
            if let Confidential::File(path) = secret {
                *path = resolve(path);
            }
        }
        let identity = self.tls.identity.iter_mut().flat_map(|(one, other)| [one, other]);
        self.tls.ca_file.iter_mut().chain(identity).for_each(|path| *path = resolve(path));
    }
}

/// A text that may stand in the file or in one of its own.
fn confidential(keys: &mut Keys<'_>, name: &str) -> Option<Confidential> {
    let (text, file) = (keys.take(name), keys.take(&format!("{name}_file")));
    match (text, file) {
        (Some(reader), Some(_)) => {
            reader.error(format!("{name} and {name}_file exclude each other"));
            None
        }
        (Some(reader), None) => Some(Confidential::Text(reader.text())),
        (None, Some(reader)) => Some(Confidential::File(reader.text())),
        (None, None) => None,
    }
}

fn read_basic(reader: &Reader<'_>) -> Option<Basic> {
    let mut keys = reader.keys();
    let user = confidential(&mut keys, "username");
    let password = confidential(&mut keys, "password");
    keys.end();
    let none = Confidential::Text(String::new());
    Some(Basic { user: user?, password: password.unwrap_or(none) })
}

fn read_authorization(reader: &Reader<'_>) -> Option<Authorization> {
    let mut keys = reader.keys();
    let scheme = keys.take("type").map_or_else(|| "Bearer".to_owned(), |it| it.text());
    let credentials = confidential(&mut keys, "credentials");
    keys.refuse(&["credentials_ref"], "use credentials_file");
    keys.end();
    if scheme.eq_ignore_ascii_case("basic") {
        reader.error("use basic_auth for this type");
    }
    Some(Authorization { scheme: scheme.trim().to_owned(), credentials: credentials? })
}

fn read_tls(reader: &Reader<'_>) -> Tls {
    let mut keys = reader.keys();
    let text = |reader: Option<Reader<'_>>| reader.map(|reader| reader.text());
    let (certificate, key) = (text(keys.take("cert_file")), text(keys.take("key_file")));
    if certificate.is_some() != key.is_some() {
        reader.error("cert_file and key_file are needed together");
    }
    let tls = Tls {
        ca_file: text(keys.take("ca_file")),
        identity: certificate.zip(key),
        server_name: text(keys.take("server_name")),
        is_insecure: keys.take("insecure_skip_verify").and_then(|it| it.truth()) == Some(true),
    };
    keys.refuse(&["ca", "cert", "key", "ca_ref", "cert_ref", "key_ref"], "name a file instead");
    keys.ignore(&["min_version", "max_version"], "TLS 1.2 and 1.3 are spoken");
    keys.end();
    tls
}

/// Headers that Prometheus does not let anyone set, because it or another key sets them.
const RESERVED_HEADERS: [&str; 18] = [
    "Accept-Encoding",
    "Authorization",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Host",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "User-Agent",
    "Www-Authenticate",
    "X-Amz-Content-Sha256",
    "X-Amz-Date",
    "X-Amz-Security-Token",
    "X-Prometheus-Remote-Read-Version",
    "X-Prometheus-Remote-Write-Version",
    "X-Prometheus-Scrape-Timeout-Seconds",
];

fn read_headers(reader: &Reader<'_>) -> Vec<(String, Confidential)> {
    let mut headers = Vec::new();
    for (name, reader) in reader.entries() {
        if RESERVED_HEADERS.iter().any(|reserved| reserved.eq_ignore_ascii_case(&name)) {
            reader.error("this header cannot be set here, as it is set by itself");
        }
        let mut keys = reader.keys();
        let mut values = Vec::new();
        for (list, is_file) in [("values", false), ("secrets", false), ("files", true)] {
            let texts = keys.take(list).map(|reader| reader.texts()).unwrap_or_default();
            values.extend(texts.into_iter().map(|text| match is_file {
                true => Confidential::File(text),
                false => Confidential::Text(text),
            }));
        }
        keys.end();
        headers.extend(values.into_iter().map(|value| (name.clone(), value)));
    }
    headers
}
