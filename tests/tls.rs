//! TLS through the real binary: every protocol on the one port, client certificates, reload, and
//! what an end without farewell means.

use crate::harness;
use crate::harness::{PATIENCE, Scratch, Server, foliot};
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A certificate that signs itself, and its key.
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

fn pair(dir: &Path, name: &str) -> Pair {
    let into = dir.join(name);
    let made = foliot().arg("cert").arg(&into).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Pair { certificate: into.join("cert.pem"), key: into.join("key.pem") }
}

fn start(dir: &Path, pair: &Pair, more: &[&str]) -> Server {
    let (certificate, key) = (pair.certificate.to_str().unwrap(), pair.key.to_str().unwrap());
    let flags = ["--tls-certificate", certificate, "--tls-key", key];
    Server::start(dir, &[&flags, more].concat())
}

type Session = StreamOwned<ClientConnection, TcpStream>;

/// A session with a server that shows `pair`; `own` is shown to it.
fn connect(server: &Server, pair: &Pair, own: Option<&Pair>) -> Session {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&pair.certificate).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .unwrap()
        .with_root_certificates(roots);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let certificate = CertificateDer::from_pem_file(&own.certificate).unwrap();
            let key = PrivateKeyDer::from_pem_file(&own.key).unwrap();
            builder.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let client = ClientConnection::new(Arc::new(config), name).unwrap();
    StreamOwned::new(client, server.connect())
}

/// Sends bytes, says that these are all, and returns everything that comes back.
fn talk(mut session: Session, bytes: &[u8]) -> String {
    session.write_all(bytes).unwrap();
    session.conn.send_close_notify();
    session.flush().unwrap();
    let mut out = Vec::new();
    session.read_to_end(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_protocol_is_spoken_under_tls_beside_plain_connections() {
    let dir = Scratch::new();
    let pair = pair(dir.path(), "pair");
    let server = start(&dir.path().join("store"), &pair, &[]);
    let mut session = connect(&server, &pair, None);
    let body: String = (0..20_000).map(|n| format!("big,h=a v={n} {n}\n")).collect();
    let request = harness::request("POST", "/write?db=default", &[], body.as_bytes());
    session.write_all(&request).unwrap();
    let mut session = BufReader::new(session);
    assert_eq!(harness::read_response(&mut session).unwrap().status, 204);
    let path = "/query?db=default&q=SELECT+v+FROM+big&epoch=ns";
    session.get_mut().write_all(&harness::request("GET", path, &[], b"")).unwrap();
    let answer = harness::read_response(&mut session).unwrap();
    assert!(answer.body.len() > 200_000 && answer.text().contains("[19999,19999]"));
    assert_eq!(talk(connect(&server, &pair, None), b"put m 1 5 h=a\n"), "");
    assert_eq!(talk(connect(&server, &pair, None), b"m,h=a value=6 2\n"), "");
    let told = talk(connect(&server, &pair, None), b"version\nexit\n");
    assert!(told.contains("foliot"), "{told}");
    assert_eq!(server.talk(b"put m 3 7 h=a\n"), "");
    assert_eq!(server.samples("none:m").len(), 3);
    assert!(server.metric("foliot_connections_tls_total") >= 4.0);
    drop(session);
    server.stop();
}

#[test]
fn a_line_that_tls_did_not_end_is_not_stored() {
    let dir = Scratch::new();
    let pair = pair(dir.path(), "pair");
    let server = start(&dir.path().join("store"), &pair, &[]);
    let mut session = connect(&server, &pair, None);
    session.write_all(b"put m 1 5 h=a\nput m 2 12").unwrap();
    session.flush().unwrap();
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 1.0);
    session.sock.shutdown(std::net::Shutdown::Both).unwrap();
    drop(session);
    let began = std::time::Instant::now();
    while server.metric("foliot_connections") > 1.0 {
        assert!(began.elapsed() < PATIENCE, "the connection does not end");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(server.samples("none:m").len(), 1);
    server.stop();
}

#[test]
fn clients_show_certificates_where_they_must() {
    let dir = Scratch::new();
    let (own, other) = (pair(dir.path(), "own"), pair(dir.path(), "other"));
    let ca = own.certificate.to_str().unwrap();
    let server = start(&dir.path().join("store"), &own, &["--tls-client-ca", ca]);
    let status = |shown: Option<&Pair>| {
        let mut session = connect(&server, &own, shown);
        session.write_all(&harness::request("GET", "/-/ready", &[], b"")).ok()?;
        harness::read_response(&mut BufReader::new(session)).map(|response| response.status)
    };
    assert_eq!(status(Some(&own)), Some(200));
    assert_eq!(status(Some(&other)), None);
    assert_eq!(status(None), None);
    server.stop();
}

#[test]
fn a_certificate_is_read_again_on_sighup_and_a_bad_one_is_not_used() {
    let dir = Scratch::new();
    let (pair, next) = (pair(dir.path(), "pair"), pair(dir.path(), "next"));
    let server = start(&dir.path().join("store"), &pair, &[]);
    let is_shown = |pair: &Pair| {
        let mut session = connect(&server, pair, None);
        session.write_all(&harness::request("GET", "/-/ready", &[], b"")).is_ok()
            && harness::read_response(&mut BufReader::new(session)).is_some()
    };
    assert!(is_shown(&pair) && !is_shown(&next));
    std::fs::write(&pair.certificate, "rubbish").unwrap();
    server.signal(Signal::HUP);
    std::fs::copy(&next.certificate, dir.path().join("next.pem")).unwrap();
    std::fs::copy(&next.key, &pair.key).unwrap();
    std::fs::copy(&next.certificate, &pair.certificate).unwrap();
    server.signal(Signal::HUP);
    let began = std::time::Instant::now();
    while !is_shown(&next) {
        assert!(began.elapsed() < PATIENCE, "the new certificate is not shown");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    server.stop();
}

#[test]
fn a_start_without_a_good_pair_says_what_is_wrong() {
    let dir = Scratch::new();
    let (one, other) = (pair(dir.path(), "one"), pair(dir.path(), "other"));
    let refused = |flags: &[&str]| {
        let mut command = foliot();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path());
        let output = command.args(flags).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let [one_certificate, one_key, other_key] =
        [&one.certificate, &one.key, &other.key].map(|path| path.to_str().unwrap());
    let said = refused(&["--tls-certificate", one_certificate]);
    assert!(
        said.contains("tls.certificate and tls.key are needed together: tls.key is missing"),
        "{said}"
    );
    let said = refused(&["--tls-certificate", one_certificate, "--tls-key", other_key]);
    assert!(said.contains("do not fit"), "{said}");
    let said = refused(&["--tls-certificate", "/nowhere.pem", "--tls-key", one_key]);
    assert!(said.contains("/nowhere.pem"), "{said}");
    let mode = std::fs::metadata(&one.key).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
}
