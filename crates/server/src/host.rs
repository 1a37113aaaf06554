//! The collector of this host, and Foliot's own figures, written as `put` lines like anyone's.

use crate::aside::aside;
use crate::ingest::{self, Terms};
use crate::metrics::{Way, now_s};
use crate::shared::Shared;
use crate::store::Store;
use crate::telnet::options;
use foliot_access::Measurements;
use foliot_agent::{Host, Number, Sample, put_line};
use foliot_model::Batch;
use foliot_proto_opentsdb::{KEY_SYNTAX, decode_lines};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// Collects every `agent.interval` until the server stops.
pub(crate) async fn serve(shared: Arc<Shared>) {
    let Some(store) = shared.wait_for_store().await else { return };
    let mut host = Host::new();
    let mut ticks = tokio::time::interval(shared.config.agent_interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = shared.stopping() => return,
        }
        // Reading `/proc` of a machine with many processes takes milliseconds.
        aside(|| collect(&shared, store, &mut host));
    }
}

/// What a figure of this server is called in the store.
pub(crate) fn metric(figure: &str) -> String {
    figure.replacen('_', ".", 1)
}

fn collect(shared: &Shared, store: &Store, host: &mut Host) {
    let mut lines = shared.bytes.take();
    let now = now_s();
    let name = host.name().to_owned();
    host.collect(&mut |sample| put_line(&mut lines, sample, now, &name));
    shared.visit_figures(&mut |figure| {
        let metric = metric(figure.name);
        // Counts stay integers in the store, which packs them better and prints them plainly.
        let value = match figure.value.fract() == 0.0 && figure.value.abs() < 9e15 {
            true => Number::Integer(figure.value as i64),
            false => Number::Float(figure.value),
        };
        let sample = Sample { metric: &metric, tags: figure.labels, value };
        put_line(&mut lines, &sample, now, &name);
    });
    let Ok(namespace) = ingest::place(shared, store, Way::Host) else { return };
    let mut decoding = shared.batches.take();
    let mut rejects = Vec::new();
    let secret = store.engine().key_secret();
    let mut batch = Batch::new(&lines, namespace, &KEY_SYNTAX, secret, decoding.buffers);
    decode_lines(&mut batch, &options(shared), &mut rejects);
    // Errors are counted and logged where they happen; the next round tries again.
    let (way, scope) = (Way::Host, &Measurements::All);
    let terms = Terms::of_samples(Duration::ZERO);
    let _ = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, terms);
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding);
    shared.bytes.give(lines);
}
