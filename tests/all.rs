//! Tests through the real binary and real sockets: one program, so that what they share is compiled
//! and linked once. `cargo test -p foliot --test all influx::` takes those of one file.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod access;
mod answers;
mod asks;
mod audit;
mod bench;
mod bench_lies;
mod bench_stalls;
mod bench_suite;
mod csv;
mod csv_files;
mod databases;
mod datadog;
mod deletes;
mod doors;
mod exemplars;
mod families;
mod foliot_api;
mod foliot_explain;
mod foliot_monitor;
mod foliot_operations;
mod foliot_page;
mod graphite;
mod halves;
mod harness;
mod histograms;
mod hostile;
mod http;
mod influx;
mod influx2;
mod influx3;
mod influx_conditions;
mod influx_kinds;
mod life;
mod limits;
mod manners;
mod messages;
mod messages_http;
mod metricsql;
mod migrate;
mod migrate_prometheus;
mod mqtt;
mod naive_influxql;
mod naive_promql;
mod opentsdb;
mod opentsdb_clients;
mod opentsdb_facts;
mod opentsdb_formulas;
mod opentsdb_generated;
mod opentsdb_histograms;
mod opentsdb_recorded;
mod opentsdb_refusals;
mod opentsdb_rename;
mod opentsdb_rollups;
mod opentsdb_rows;
mod opentsdb_rules;
mod opentsdb_web;
mod operations;
mod otlp;
mod parquet;
mod paths;
mod previews;
mod prometheus;
mod prometheus_api;
mod prometheus_asks;
mod prometheus_refusals;
mod promql;
mod published;
mod pushgateway;
mod queries;
mod rules;
mod scrape;
mod secrets;
mod slices;
mod sql;
mod statsd;
mod stops;
mod ticktock;
mod tls;
mod twice;
