//! Datagrams of `put` lines or Influx lines. Nothing is answered; what cannot be stored is counted
//! and dropped.

use crate::http::Dialect;
use crate::ingest::{self, Terms};
use crate::login;
use crate::metrics::{Way, now_ns};
use crate::senders;
use crate::shared::Shared;
use crate::store::Store;
use crate::telnet::options;
use crate::ticktock;
use foliot_access::Measurements;
use foliot_engine::{Ack, Commit};
use foliot_model::Batch;
use foliot_proto_influx::{LINE_SYNTAX, Precision, Settings};
use foliot_proto_opentsdb::{KEY_SYNTAX, Options, decode_datagram};
use foliot_schema::Manner;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;

/// The largest datagram there is.
pub(crate) const DATAGRAM_BYTES_MAX: usize = 65_535;

/// Datagrams taken from the socket before other tasks get their turn.
pub(crate) const BURST: usize = 64;

/// Serves the socket until the server stops.
pub(crate) async fn serve(shared: Arc<Shared>, socket: UdpSocket, dialect: Dialect) {
    let Some(store) = shared.wait_for_store().await else { return };
    let options = options(&shared);
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        let ready = tokio::select! {
            ready = socket.readable() => ready,
            () = shared.stopping() => return,
        };
        if let Err(error) = ready {
            log::error!("UDP socket failed: {error}; no more datagrams are taken");
            return;
        }
        let mut last = None;
        for _ in 0..BURST {
            match socket.try_recv_from(&mut buffer) {
                Ok((_, peer)) if login::by_address(&shared, Some(peer)).is_err() => {
                    shared.metrics.udp_refused.add(1);
                }
                Ok((length, peer)) => {
                    shared.metrics.udp_datagrams.add(1);
                    let bytes = buffer.get(..length).unwrap_or_default();
                    let commit = senders::taken_from(peer.ip(), || match dialect {
                        Dialect::Everyone | Dialect::Prometheus | Dialect::VictoriaMetrics => {
                            take(&shared, store, &options, bytes)
                        }
                        Dialect::TickTock => take_ticktock(&shared, store, bytes),
                    });
                    last = commit.or(last);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // An earlier answer to this port was refused somewhere: of no interest here.
                Err(_) => {}
            }
        }
        if let Some(commit) = last {
            // A slow disk fills the socket's buffer, not this process's memory.
            let _ = store.wait(commit, Ack::Os).await;
        }
        tokio::task::yield_now().await;
    }
}

/// A datagram in TickTock's dialect, where the word `put` may be missing.
fn take_ticktock(shared: &Shared, store: &Store, bytes: &[u8]) -> Option<Commit> {
    let namespace = ingest::place(shared, store, Way::Udp).ok()?;
    let (mut done, mut commit) = (0, None);
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let how = ticktock::Text {
            way: Way::Udp,
            is_whole: true,
            is_bare: true,
            patience: Duration::ZERO,
            scope: &Measurements::All,
        };
        let taken = ticktock::take(shared, store, namespace, rest, how);
        commit = taken.commit.or(commit);
        done += taken.bytes;
        if taken.bytes == 0 {
            break;
        }
    }
    commit
}

fn take(shared: &Shared, store: &Store, options: &Options, bytes: &[u8]) -> Option<Commit> {
    let namespace = ingest::place(shared, store, Way::Udp).ok()?;
    let mut decoding = shared.batches.take();
    let mut rejects = Vec::new();
    let secret = store.engine().key_secret();
    let holds_lines = holds_lines(bytes);
    let syntax = if holds_lines { &LINE_SYNTAX } else { &KEY_SYNTAX };
    let mut batch = Batch::new(bytes, namespace, syntax, secret, decoding.buffers);
    let terms = match holds_lines {
        false => {
            decode_datagram(&mut batch, options, &mut rejects);
            Terms::of_samples(Duration::ZERO)
        }
        true => {
            let settings =
                Settings { precision: Precision::Auto, now_ns: now_ns(), ..Settings::default() };
            let decoded = decoding.lines.decode(&mut batch, settings, &mut rejects);
            let unworded = decoded.refused.saturating_sub(rejects.len()) as u64;
            shared.metrics.way(Way::Udp).count_unworded(unworded);
            Terms::of_fields(Manner::Strict, Duration::ZERO)
        }
    };
    // Errors are counted and logged where they happen; there is nobody to answer.
    let (way, scope) = (Way::Udp, &Measurements::All);
    let stored = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding);
    stored.ok().flatten()
}

/// Whether a datagram holds Influx lines: their second word is a field, that of a `put` line a
/// metric or a time.
fn holds_lines(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    let is_blank =
        |(at, byte): (usize, &u8)| *byte == b' ' && line.get(at.wrapping_sub(1)) != Some(&b'\\');
    let blank = line.iter().enumerate().position(is_blank).unwrap_or(line.len());
    let rest = line.get(blank + 1..).unwrap_or_default();
    rest.split(|byte| *byte == b' ').next().is_some_and(|word| word.contains(&b'='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_from_puts_by_their_second_word() {
        for lines in ["m v=1", "m,h=a v=1i 5\nm v=2", "\nmy\\ m v=1"] {
            assert!(holds_lines(lines.as_bytes()), "{lines}");
        }
        for puts in ["put m 1000 1 h=a", "m 1000 1 h=a", "put m 1000 1 h=a\nput n 1 1 h=b", ""] {
            assert!(!holds_lines(puts.as_bytes()), "{puts}");
        }
    }
}
