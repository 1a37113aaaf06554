//! A connection to a server, plain or under TLS.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the server may stay silent.
const SILENT_SECONDS_MAX: Duration = Duration::from_secs(120);

/// Who must vouch for a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nobody: TLS is not spoken.
    Plain,
    /// A certificate that the system trusts.
    System,
    /// A certificate in this file, as PEM.
    File(PathBuf),
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Connection {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Connection {
    /// Connects to `host`, which is `NAME:PORT`.
    pub(crate) fn open(host: &str, trust: &Trust) -> io::Result<Self> {
        // What is wrong with the certificates is told before anybody is bothered.
        let config = match trust {
            Trust::Plain => None,
            Trust::System => Some(config(None)?),
            Trust::File(path) => Some(config(Some(path))?),
        };
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENT_SECONDS_MAX))?;
        stream.set_write_timeout(Some(SILENT_SECONDS_MAX))?;
        let Some(config) = config else { return Ok(Self::Plain(stream)) };
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        Ok(Self::Tls(Box::new(StreamOwned::new(session, stream))))
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

fn config(file: Option<&Path>) -> io::Result<Arc<ClientConfig>> {
    let certificates = match file {
        None => rustls_native_certs::load_native_certs().certs,
        Some(path) => {
            let cannot = |error: rustls::pki_types::pem::Error| {
                let path = path.display();
                io::Error::other(format!("cannot read the certificates in {path}: {error}"))
            };
            let found: Result<Vec<_>, _> =
                CertificateDer::pem_file_iter(path).map_err(cannot)?.collect();
            found.map_err(cannot)?
        }
    };
    let mut roots = RootCertStore::empty();
    if roots.add_parsable_certificates(certificates).0 == 0 {
        let whose = file.map_or_else(|| "the system".to_owned(), |path| path.display().to_string());
        return Err(io::Error::other(format!(
            "{whose} has no certificate to trust: name a file that has, with --ca"
        )));
    }
    let builder =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .map_err(io::Error::other)?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
