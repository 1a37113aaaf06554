//! Datagrams of statsd: what they say is gathered, and stored every `statsd.interval`. Nothing is
//! answered; what cannot be taken is counted and dropped.

use crate::ingest;
use crate::listen::Alive;
use crate::login;
use crate::metrics::{Way, now_ns};
use crate::senders::{self, Sent};
use crate::shared::Shared;
use crate::udp::{BURST, DATAGRAM_BYTES_MAX};
use foliot_model::NANOS_PER_MILLI;
use foliot_proto_prometheus::{Samples, Statsd};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::UdpSocket;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Serves the socket until the server stops, and then stores what came last.
pub(crate) async fn serve(shared: Arc<Shared>, socket: UdpSocket, alive: Alive) {
    if shared.wait_for_store().await.is_none() {
        return;
    }
    let bytes_max = usize::try_from(shared.config.limits_statsd_bytes.0).unwrap_or(usize::MAX);
    let mut statsd = Statsd::new(bytes_max);
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    let period = shared.config.statsd_interval;
    let mut flushes = interval_at(Instant::now() + period, period);
    flushes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            ready = socket.readable() => {
                if let Err(error) = ready {
                    log::error!("UDP socket failed: {error}; no more datagrams are taken");
                    break;
                }
                receive(&shared, &socket, &mut buffer, &mut statsd);
                tokio::task::yield_now().await;
            }
            _ = flushes.tick() => flush(&shared, &mut statsd).await,
            () = shared.stopping() => break,
        }
    }
    receive(&shared, &socket, &mut buffer, &mut statsd);
    flush(&shared, &mut statsd).await;
    drop(alive);
}

fn receive(shared: &Shared, socket: &UdpSocket, buffer: &mut [u8], statsd: &mut Statsd) {
    for _ in 0..BURST {
        match socket.try_recv_from(buffer) {
            Ok((length, peer)) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                senders::taken_from(peer.ip(), || take(shared, peer, bytes, statsd));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            // An earlier answer to this port was refused somewhere: of no interest here.
            Err(_) => {}
        }
    }
}

fn take(shared: &Shared, peer: SocketAddr, bytes: &[u8], statsd: &mut Statsd) {
    if login::by_address(shared, Some(peer)).is_err() {
        return shared.metrics.udp_refused.add(1);
    }
    shared.metrics.udp_datagrams.add(1);
    let mut rejects = Vec::new();
    statsd.take(bytes, &mut rejects);
    shared.metrics.way(Way::Statsd).count_rejects(&rejects);
    // What is stored is this server's: it is made of what many sent.
    let refused = rejects.len() as u64;
    if refused > 0 {
        let sent = Sent { refused, last_ns: now_ns(), ..Sent::default() };
        shared.senders.count(Way::Statsd, &sent);
    }
    let line = |number: u32| {
        let index = usize::try_from(number).unwrap_or_default().saturating_sub(1);
        bytes.split(|byte| *byte == b'\n').nth(index)
    };
    ingest::log_rejects(shared, Way::Statsd, &rejects, &line);
}

async fn flush(shared: &Shared, statsd: &mut Statsd) {
    let mut samples = Samples::default();
    statsd.flush(now_ns() / NANOS_PER_MILLI, &mut samples);
    if samples.is_empty() {
        return;
    }
    // What becomes of them is counted and logged where that happens.
    let work = || drop(ingest::samples(shared, Way::Statsd, &samples));
    ingest::heavy(shared, samples.bytes().len(), work).await;
}
