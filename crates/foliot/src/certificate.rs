//! `foliot cert`: a certificate that signs itself, and its key, to begin with.

use crate::output::make_directory;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How long the certificate is good: as long as browsers allow for such.
const DAYS: i32 = 825;

/// Names of every server: what it prints at its start is typed on its own machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Writes `cert.pem` and `key.pem` for these names, and those of the loopback, into a directory.
/// Files that are there are not touched.
///
/// # Errors
/// One sentence.
pub(crate) fn write(names: &[String], into: &Path) -> Result<String, String> {
    let loopback = LOOPBACK.into_iter().filter(|name| !names.iter().any(|given| given == name));
    let names: Vec<String> = names.iter().cloned().chain(loopback.map(str::to_owned)).collect();
    let (certificate, key) = make(&names).map_err(|error| format!("no certificate: {error}"))?;
    make_directory(into)?;
    let (certificate_path, key_path) = (into.join("cert.pem"), into.join("key.pem"));
    create(&key_path, &key, 0o600)?;
    create(&certificate_path, &certificate, 0o644)?;
    let (certificate, key) = (certificate_path.display(), key_path.display());
    Ok(format!(
        "wrote {certificate} and {key}, for {} and {DAYS} days\n\
         use them with: foliot serve --tls-certificate {certificate} --tls-key {key}\n\
         clients trust {certificate}, for example: curl --cacert {certificate} https://…\n",
        names.join(", ")
    ))
}

fn make(names: &[String]) -> Result<(String, String), rcgen::Error> {
    let mut parameters = CertificateParams::new(names.to_vec())?;
    let today = jiff::Zoned::now().date();
    let day = |days: i32| {
        let at = today.saturating_add(jiff::Span::new().days(days));
        date_time_ymd(i32::from(at.year()), at.month() as u8, at.day() as u8)
    };
    (parameters.not_before, parameters.not_after) = (day(-1), day(DAYS));
    let key = KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn create(path: &Path, text: &str, mode: u32) -> Result<(), String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => format!(
                "{} is there already and clients may trust it: name another directory, or remove \
                 it first",
                path.display()
            ),
            _ => format!("cannot write {}: {error}", path.display()),
        })
}
