//! A client of HTTP/1.1: what targets expose is fetched by it, and alerts are sent.
//!
//! A connection is kept for the next request to the same server. One that the server closed in the
//! meantime is replaced by a new one, once.

use super::secret;
use crate::aside::aside;
use crate::budget::{Budget, Held};
use crate::tls;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::read::MultiGzDecoder;
use foliot_monitor::{Client, Tls};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{Builder, SendRequest};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Redirections that are followed, as many as Go's client follows.
const REDIRECTS_MAX: usize = 10;

/// Bytes that are unpacked before the account of memory is asked again.
const CHUNK_BYTES: usize = 64 << 10;

/// Bytes of an answer that are read at once. What a connection reads into it keeps until the next
/// scrape, and each target has one: hyper's own measure, 400 KiB, is as much as its series take.
const READ_BYTES_MAX: usize = 32 << 10;

const AGENT: &str = concat!("Foliot/", env!("CARGO_PKG_VERSION"));

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// Something is wrong there, or between.
    Other(String),
    /// The body is longer than allowed.
    TooLong(u64),
    /// There is no memory for it.
    NoMemory,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(reason) => f.write_str(reason),
            Self::TooLong(max) => write!(
                f,
                "the body is longer than {max} bytes (body_size_limit or limits.scrape_body_bytes)"
            ),
            Self::NoMemory => f.write_str("there is no memory for the body (limits.scrape_bytes)"),
        }
    }
}

fn other(what: impl fmt::Display) -> Failed {
    Failed::Other(what.to_string())
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) content_type: Option<String>,
    pub(super) body: Vec<u8>,
    /// The body's share of the memory for bodies.
    _held: Held,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: Vec<(HeaderName, String)>,
    pub(super) body: Bytes,
}

/// Where bodies may grow, and how far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room<'a> {
    pub(super) budget: &'a Budget,
    pub(super) bytes_max: u64,
}

/// Speaks to servers in one way.
#[derive(Debug)]
pub(super) struct Caller {
    client: Client,
    tls: Arc<TlsSetup>,
    kept: Option<(String, SendRequest<Full<Bytes>>)>,
}

/// What TLS needs, read when it is needed first.
#[derive(Debug, Default)]
pub(super) struct TlsSetup(OnceLock<Arc<rustls::ClientConfig>>);

impl TlsSetup {
    fn config(&self, tls: &Tls) -> Result<Arc<rustls::ClientConfig>, String> {
        if let Some(config) = self.0.get() {
            return Ok(config.clone());
        }
        let identity = tls.identity.as_ref();
        let identity = identity.map(|(certificate, key)| (Path::new(certificate), Path::new(key)));
        let config =
            tls::client_as(tls.ca_file.as_deref().map(Path::new), identity, tls.is_insecure)?;
        Ok(self.0.get_or_init(|| config).clone())
    }
}

impl Caller {
    /// One that speaks as `client` says; those that do so alike share `tls`.
    pub(super) fn new(client: Client, tls: Arc<TlsSetup>) -> Self {
        Self { client, tls, kept: None }
    }

    /// Asks, and reads the whole answer. How long that may take is the caller's to say.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn ask(&mut self, wanted: &Wanted, room: Room<'_>) -> Result<Answer, Failed> {
        let first = authority_of(&wanted.url);
        let mut wanted = wanted.clone();
        for _ in 0..=REDIRECTS_MAX {
            // What is meant for one server is not shown to another to which it sends.
            let is_meant = authority_of(&wanted.url) == first;
            let response = self.send(&wanted, is_meant).await?;
            let status = response.status();
            let elsewhere = response.headers().get(header::LOCATION).filter(|_| {
                let is_read = wanted.method == Method::GET;
                status.is_redirection() && is_read && !self.client.stays
            });
            let Some(elsewhere) = elsewhere else { return read(response, room).await };
            let elsewhere = elsewhere.to_str().map_err(other)?;
            wanted.url = joined(&wanted.url, elsewhere)?;
            self.kept = None;
        }
        Err(other(format!("more than {REDIRECTS_MAX} redirections")))
    }

    async fn send(
        &mut self,
        wanted: &Wanted,
        has_credentials: bool,
    ) -> Result<Response<Incoming>, Failed> {
        let uri: Uri = wanted.url.parse().map_err(|_| other(format!("bad URL {}", wanted.url)))?;
        let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
        let server = format!("{}://{authority}", uri.scheme_str().unwrap_or("http"));
        let mut request = self.request(wanted, &uri, &authority)?;
        if has_credentials {
            self.add_credentials(request.headers_mut())?;
        }
        let kept = self.kept.take().filter(|(to, sender)| *to == server && !sender.is_closed());
        if let Some((_, mut sender)) = kept
            && sender.ready().await.is_ok()
            && let Ok(response) = sender.send_request(request.clone()).await
        {
            self.kept = Some((server, sender));
            return Ok(response);
        }
        let mut sender = self.connect(&uri).await?;
        let response = sender.send_request(request).await.map_err(other)?;
        self.kept = Some((server, sender));
        Ok(response)
    }

    fn request(
        &self,
        wanted: &Wanted,
        uri: &Uri,
        authority: &str,
    ) -> Result<Request<Full<Bytes>>, Failed> {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let builder = Request::builder().method(&wanted.method).uri(path);
        let mut request = builder.body(Full::new(wanted.body.clone())).map_err(other)?;
        let headers = request.headers_mut();
        let value = |text: &str| HeaderValue::from_str(text).map_err(other);
        headers.insert(header::HOST, value(authority)?);
        headers.insert(header::USER_AGENT, HeaderValue::from_static(AGENT));
        for (name, text) in &wanted.headers {
            headers.insert(name, value(text)?);
        }
        Ok(request)
    }

    fn add_credentials(&self, headers: &mut HeaderMap) -> Result<(), Failed> {
        let sensitive = |text: &str| {
            let mut value = HeaderValue::from_str(text).map_err(other)?;
            value.set_sensitive(true);
            Ok::<_, Failed>(value)
        };
        for (name, value) in &self.client.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(other)?;
            headers.append(name, sensitive(&secret(value).map_err(Failed::Other)?)?);
        }
        if let Some(basic) = &self.client.basic {
            let user = secret(&basic.user).map_err(Failed::Other)?;
            let password = secret(&basic.password).map_err(Failed::Other)?;
            let text = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")));
            headers.insert(header::AUTHORIZATION, sensitive(&text)?);
        }
        if let Some(authorization) = &self.client.authorization {
            let credentials = secret(&authorization.credentials).map_err(Failed::Other)?;
            let text = format!("{} {credentials}", authorization.scheme);
            headers.insert(header::AUTHORIZATION, sensitive(&text)?);
        }
        Ok(())
    }

    async fn connect(&self, uri: &Uri) -> Result<SendRequest<Full<Bytes>>, Failed> {
        let is_tls = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let socket = TcpStream::connect((host.as_str(), port)).await.map_err(other)?;
        socket.set_nodelay(true).map_err(other)?;
        if !is_tls {
            let opened = asking().handshake(TokioIo::new(socket)).await;
            let (sender, connection) = opened.map_err(other)?;
            tokio::spawn(connection);
            return Ok(sender);
        }
        let config = self.tls.config(&self.client.tls).map_err(Failed::Other)?;
        let name = self.client.tls.server_name.clone().unwrap_or(host);
        let name = rustls::pki_types::ServerName::try_from(name).map_err(other)?;
        let socket = TlsConnector::from(config).connect(name, socket).await.map_err(other)?;
        let opened = asking().handshake(TokioIo::new(socket)).await;
        let (sender, connection) = opened.map_err(other)?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// How connections are opened.
fn asking() -> Builder {
    let mut builder = Builder::new();
    builder.max_buf_size(READ_BYTES_MAX);
    builder
}

/// Host and port of a URL, as they stand.
fn authority_of(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    uri.authority().map(ToString::to_string)
}

/// A URL that is said relative to another one.
fn joined(from: &str, to: &str) -> Result<String, Failed> {
    if to.starts_with("http://") || to.starts_with("https://") {
        return Ok(to.to_owned());
    }
    let uri: Uri = from.parse().map_err(other)?;
    let scheme = uri.scheme_str().unwrap_or("http");
    let authority = uri.authority().map(ToString::to_string).unwrap_or_default();
    match to.strip_prefix("//") {
        Some(rest) => Ok(format!("{scheme}://{rest}")),
        None if to.starts_with('/') => Ok(format!("{scheme}://{authority}{to}")),
        None => {
            let folder = uri.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            Ok(format!("{scheme}://{authority}{folder}/{to}"))
        }
    }
}

/// Reads a body as it arrives, and unpacks it.
async fn read(response: Response<Incoming>, room: Room<'_>) -> Result<Answer, Failed> {
    let (head, mut incoming) = response.into_parts();
    let text = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
    let content_type = text(header::CONTENT_TYPE).map(str::to_owned);
    let encoding = text(header::CONTENT_ENCODING).unwrap_or("identity").to_ascii_lowercase();
    let (mut body, mut held) = (Vec::new(), Held::default());
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(other)?;
        let Some(data) = frame.data_ref() else { continue };
        grow(&mut body, &mut held, data, room)?;
    }
    let (body, held) = match encoding.as_str() {
        "" | "identity" => (body, held),
        "gzip" | "x-gzip" => aside(|| unpack(&body, room))?,
        _ => return Err(other(format!("Content-Encoding {encoding:?} was not asked for"))),
    };
    Ok(Answer { status: head.status, content_type, body, _held: held })
}

fn grow(body: &mut Vec<u8>, held: &mut Held, data: &[u8], room: Room<'_>) -> Result<(), Failed> {
    let bytes = body.len() + data.len();
    if bytes as u64 > room.bytes_max {
        return Err(Failed::TooLong(room.bytes_max));
    }
    // Growing doubles what a vector has, and the old half lives until it is copied.
    room.budget.hold(held, bytes.saturating_mul(2)).ok_or(Failed::NoMemory)?;
    body.extend_from_slice(data);
    Ok(())
}

fn unpack(packed: &[u8], room: Room<'_>) -> Result<(Vec<u8>, Held), Failed> {
    let (mut body, mut held) = (Vec::new(), Held::default());
    let (mut decoder, mut chunk) = (MultiGzDecoder::new(packed), vec![0; CHUNK_BYTES]);
    loop {
        let read = decoder.read(&mut chunk).map_err(|error| other(format!("gzip: {error}")))?;
        match chunk.get(..read) {
            None | Some([]) => return Ok((body, held)),
            Some(data) => grow(&mut body, &mut held, data, room)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_may_be_relative() {
        let to = |to| joined("http://a:1/b/c?d", to).unwrap();
        assert_eq!(to("https://e/f"), "https://e/f");
        assert_eq!(to("//e/f"), "http://e/f");
        assert_eq!(to("/f"), "http://a:1/f");
        assert_eq!(to("f"), "http://a:1/b/f");
    }
}
