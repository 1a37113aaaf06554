//! `status`: what runs, what came in, and what it takes. Counters count since the start, so that
//! two answers make a rate.

use crate::http::Reply;
use crate::machine;
use crate::metrics::now_ns;
use crate::opening;
use crate::rejects::Refused;
use crate::shared::Shared;
use foliot_engine::Stats;
use foliot_model::NANOS_PER_MILLI;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) fn answer(shared: &Shared) -> Reply {
    let build = &shared.build;
    let figures = Figures::of(shared);
    let config = &shared.config;
    let limit = config.limits_memory_bytes.0.or_else(machine::memory_bytes);
    let memory = json!({
        "resident_bytes": figures.number("process_resident_memory_bytes"),
        "limit_bytes": limit,
        "parts": memory_parts(shared),
    });
    let queries = json!({
        "running": figures.number("foliot_queries_running"),
        "total": figures.number("foliot_queries_total"),
        "refused": figures.number("foliot_queries_refused_total"),
        "failed": figures.number("foliot_queries_failed_total"),
        "cancelled": figures.number("foliot_queries_cancelled_total"),
        "samples_read": figures.number("foliot_query_samples_total"),
    });
    let mut answer = json!({
        "version": build.version,
        "revision": build.revision,
        "host": build.host,
        "now_ms": now_ns() / NANOS_PER_MILLI,
        "uptime_ms": shared.began.elapsed().as_millis() as u64,
        "database": config.listen_database.database,
        "is_ready": shared.store().is_some(),
        "collects_host": config.agent_host,
        "connections": figures.number("foliot_connections"),
        "ingest": figures.ingest,
        "rejects": rejects(shared),
        "memory": memory,
        "queries": queries,
    });
    if let (None, Some(answer)) = (shared.store(), answer.as_object_mut()) {
        answer.insert("opening".to_owned(), opening::told(shared));
    }
    if let (Some(store), Some(answer)) = (shared.store(), answer.as_object_mut()) {
        let stats = store.engine().stats();
        let troubles = store.engine().troubles();
        let of_store = troubles.iter().map(ToString::to_string);
        let of_broker = shared.broker_trouble.lock().clone();
        let troubles: Vec<String> = of_store.chain(of_broker).collect();
        answer.insert("troubles".to_owned(), json!(troubles));
        let left = |free: u64| shared.history.seconds_left(free);
        let described = describe(&stats, stats.disk_free_bytes.and_then(left));
        answer.insert("store".to_owned(), described);
    }
    Reply::json(StatusCode::OK, answer.to_string())
}

/// Rows that were refused lately, newest first.
fn rejects(shared: &Shared) -> Vec<Value> {
    let row = |(protocol, reason, row): (&str, &str, Refused)| {
        json!({
            "at_ms": row.time_ns / NANOS_PER_MILLI,
            "protocol": protocol,
            "address": row.address,
            "reason": reason,
            "line": row.line,
            "message": row.message,
            "text": row.text,
        })
    };
    shared.rejects.list().into_iter().map(row).collect()
}

/// What bounds the memory of all queries together.
const QUERIES_MEMORY: &str = "limits.queries \u{d7} limits.query_memory_bytes";

/// What memory goes to, part by part, each with the setting that bounds it.
fn memory_parts(shared: &Shared) -> Vec<Value> {
    let config = &shared.config;
    let stats = shared.store().map(|store| store.engine().stats()).unwrap_or_default();
    let (bodies, bodies_max) = shared.body_budget.used();
    let (texts, texts_max) = shared.query_budget.used();
    let (scraped, scraped_max) = shared.scrape_budget.used();
    let of_queries = shared.queries.memory_bytes();
    let queries_max = config.limits_queries.saturating_mul(config.limits_query_memory_bytes.0);
    let part = |name: &str, bytes: u64, limit: Option<u64>, setting: &str| json!({"name": name, "bytes": bytes, "limit_bytes": limit, "setting": setting});
    let names_max = config.limits_registry_bytes.0;
    vec![
        part("names of series", stats.lasting_bytes, names_max, "limits.registry_bytes"),
        part("recent samples", stats.head_bytes, Some(config.head_bytes.0), "head.bytes"),
        part("pages of files", stats.cache_bytes, Some(config.cache_bytes.0), "cache.bytes"),
        part("queries", of_queries, Some(queries_max), QUERIES_MEMORY),
        part("texts of queries", texts, Some(texts_max), "limits.pending_query_bytes"),
        part("request bodies", bodies, Some(bodies_max), "limits.pending_body_bytes"),
        part("scraped targets", scraped, Some(scraped_max), "limits.scrape_bytes"),
    ]
}

fn describe(stats: &Stats, disk_seconds_left: Option<u64>) -> Value {
    json!({
        "series": stats.series,
        "series_created": stats.series_created,
        "samples": stats.samples_written,
        "rows_rejected": stats.rows_rejected,
        "registry_bytes": stats.registry_bytes,
        "catalog_bytes": stats.catalog_bytes,
        "head_bytes": stats.head_bytes,
        "wal_bytes": stats.wal_bytes,
        "wal_unsynced_bytes": stats.wal_unsynced_bytes,
        "wal_syncs": stats.wal_syncs,
        "wal_sync_us": stats.wal_sync_ns / 1_000,
        "wal_sync_max_us": stats.wal_sync_max_ns / 1_000,
        "is_poisoned": stats.is_poisoned,
        "parts": stats.parts,
        "parts_absent": stats.parts_absent,
        "part_bytes": stats.part_bytes,
        "part_samples": stats.part_samples,
        "merge_debt_parts": stats.merge_debt_parts,
        "merge_debt_bytes": stats.merge_debt_bytes,
        "flushes": stats.flushes,
        "flushes_failed": stats.flushes_failed,
        "merges": stats.merges,
        "merges_failed": stats.merges_failed,
        "write_amplification": stats.write_amplification(),
        "deletes": stats.deletes,
        "samples_deleted": stats.samples_deleted,
        "samples_expired": stats.samples_expired,
        "cache_hits": stats.cache_hits,
        "cache_misses": stats.cache_misses,
        "disk_free_bytes": stats.disk_free_bytes,
        "disk_seconds_left": disk_seconds_left,
        "disk_reserve_bytes": stats.wal_reserve_bytes,
        "lacks_space": stats.lacks_space,
    })
}

/// The server's figures: plain ones by name, and those of each protocol.
#[derive(Default)]
struct Figures {
    plain: BTreeMap<String, f64>,
    ingest: BTreeMap<String, Map<String, Value>>,
}

impl Figures {
    fn of(shared: &Shared) -> Self {
        let mut found = Self::default();
        shared.visit_figures(&mut |figure| match figure.labels {
            [] => {
                found.plain.insert(figure.name.to_owned(), figure.value);
            }
            // A way that nothing came by is not worth a line.
            [("protocol", protocol), rest @ ..] if figure.value > 0.0 => {
                let way = found.ingest.entry((*protocol).to_owned()).or_default();
                note(way, figure.name, rest, figure.value as u64);
            }
            _ => {}
        });
        found
    }

    fn number(&self, name: &str) -> u64 {
        self.plain.get(name).map_or(0, |value| *value as u64)
    }
}

/// Keeps a figure of one protocol.
fn note(way: &mut Map<String, Value>, name: &str, labels: &[(&str, &str)], value: u64) {
    let name = match name {
        "foliot_bytes_received_total" => "bytes",
        "foliot_rows_total" => "rows",
        "foliot_samples_total" => "samples",
        "foliot_rows_rejected_total" => "rejected",
        _ => return,
    };
    match labels {
        [] => drop(way.insert(name.to_owned(), json!(value))),
        [(_, reason), ..] => {
            let reasons = way.entry(name).or_insert_with(|| json!({}));
            if let Some(reasons) = reasons.as_object_mut() {
                reasons.insert((*reason).to_owned(), json!(value));
            }
        }
    }
}
