//! The server's certificate: read at the start, and again when its files change.

use crate::config::Config;
use foliot_lock::{Rank, RwLock};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What is spoken under TLS, for clients that ask (RFC 7301).
const HTTP: &[u8] = b"http/1.1";

/// Certificate and key, as they are used now.
#[derive(Debug)]
pub(crate) struct Tls {
    files: Files,
    now: RwLock<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    config: Arc<ServerConfig>,
    /// When each of the files was written.
    written: Vec<Option<SystemTime>>,
}

/// Where they are.
#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// Who signs the certificates that clients must show; nothing: they need none.
    clients: Option<PathBuf>,
}

impl Files {
    fn written(&self) -> Vec<Option<SystemTime>> {
        let written = |path: &PathBuf| std::fs::metadata(path).ok()?.modified().ok();
        let files = [&self.certificate, &self.key].into_iter().chain(&self.clients);
        files.map(written).collect()
    }
}

impl Tls {
    /// Reads what the settings name; nothing when they name nothing.
    ///
    /// # Errors
    /// One sentence that names the file.
    pub(crate) fn open(config: &Config) -> Result<Option<Self>, String> {
        let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        let files = path(&config.tls_certificate.0).zip(path(&config.tls_key.0));
        let Some((certificate, key)) = files else { return Ok(None) };
        let files = Files { certificate, key, clients: path(&config.tls_client_ca.0) };
        let loaded = Loaded { written: files.written(), config: load(&files)? };
        Ok(Some(Self { files, now: RwLock::new(Rank::Table, loaded) }))
    }

    /// What a new connection uses.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.now.read().config.clone()
    }

    /// Reads the files again if one of them has changed, or if `is_asked_for`. Connections that are
    /// open keep what they have; when a file is no good, everything stays.
    pub(crate) fn reload(&self, is_asked_for: bool) {
        let written = self.files.written();
        if !is_asked_for && self.now.read().written == written {
            return;
        }
        match load(&self.files) {
            Ok(config) => {
                *self.now.write() = Loaded { config, written };
                log::info!("the certificate was read again");
            }
            Err(error) => {
                // Said once for each change.
                self.now.write().written = written;
                log::error!("{error}; the certificate before stays in use");
            }
        }
    }
}

fn load(files: &Files) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificates = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| format!("cannot read the key in {}: {error}", files.key.display()))?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let builder = match &files.clients {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            let cannot = |error: &dyn std::fmt::Display| {
                format!("cannot use the certificates in {}: {error}", path.display())
            };
            for certificate in self::certificates(path)? {
                roots.add(certificate).map_err(|error| cannot(&error))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().map_err(|error| cannot(&error))?)
        }
    };
    let mut config = builder.with_single_cert(certificates, key).map_err(|error| {
        let (certificate, key) = (files.certificate.display(), files.key.display());
        format!("the certificate in {certificate} and the key in {key} do not fit: {error}")
    })?;
    config.alpn_protocols = vec![HTTP.to_vec()];
    Ok(Arc::new(config))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let cannot = |error: &dyn std::fmt::Display| {
        format!("cannot read the certificates in {}: {error}", path.display())
    };
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|error| cannot(&error))?.collect();
    match found {
        Ok(found) if found.is_empty() => {
            Err(cannot(&"there are none, as PEM; `foliot cert DIR` makes one"))
        }
        Ok(found) => Ok(found),
        Err(error) => Err(cannot(&error)),
    }
}

/// What a client of ours trusts: the certificates in a file, or those that the system trusts.
///
/// # Errors
/// One sentence that names the file.
pub(crate) fn client(ca: Option<&Path>) -> Result<Arc<rustls::ClientConfig>, String> {
    client_as(ca, None, false)
}

/// The same for a client that shows a certificate, by the files of it and its key, or that takes
/// any certificate.
///
/// # Errors
/// One sentence that names the file.
pub(crate) fn client_as(
    ca: Option<&Path>,
    identity: Option<(&Path, &Path)>,
    is_insecure: bool,
) -> Result<Arc<rustls::ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let builder = match is_insecure {
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anyone(provider))),
        false => builder.with_root_certificates(roots(ca)?),
    };
    let Some((certificate, key)) = identity else {
        return Ok(Arc::new(builder.with_no_client_auth()));
    };
    let shown = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("cannot read the key in {}: {error}", key.display()))?;
    let built = builder.with_client_auth_cert(certificates(certificate)?, shown);
    let cannot =
        |error| format!("cannot use the certificate in {}: {error}", certificate.display());
    built.map(Arc::new).map_err(cannot)
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| {
                    format!("cannot use the certificates in {}: {error}", path.display())
                })?;
            }
        }
        None => {
            let (usable, _) =
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if usable == 0 {
                let text = "the system trusts no certificates: name some (mqtt.ca, ca_file)";
                return Err(text.to_owned());
            }
        }
    }
    Ok(roots)
}

/// Takes any certificate, as who configured it wanted; what is signed with it must still be so.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
