//! What a Prometheus does by itself: it finds targets, relabels and scrapes them, and follows
//! recording and alerting rules.
//!
//! The room reads Prometheus' own files ([`Config`], [`RuleGroup`]) and holds the logic
//! that follows them: labels of targets ([`Targets`]), what a scraped text comes to ([`Cache`]),
//! and the states of alerts ([`Alerts`]). It knows no socket, no clock, no file and no store:
//! texts, times and the answers to expressions come in, samples and notifications go out.

mod alert;
mod config;
mod length;
mod reading;
mod relabel;
mod rules;
mod schedule;
mod scrape;
mod target;
mod template;
mod yaml;

pub use alert::{Alert, Alerts, FOR_STATE, Settings, Stage, Step};
pub use config::{
    Alertmanagers, Authorization, Basic, Client, Confidential, Config, Discovery, Dns, Files,
    Global, Group, Http, Job, Limits, Protocol, Tls, read_groups,
};
pub use length::{read_length, show_length};
pub use reading::Finding;
pub use relabel::{LabelSet, Relabel, read_relabel, relabel};
pub use rules::{Alerting, Kind, Rule, RuleGroup, read_rules};
pub use schedule::Schedule;
pub use scrape::{
    AHEAD_MS_MAX, Cache, Counts, HELP_BYTES_MAX, MEMORY_MAX, Metadata, Most, Report, SAMPLES_MAX,
};
pub use target::{Target, Targets, alertmanager_urls, escaped, fnv, series_labels};
pub use template::{Data, Row, Template, exponential};
