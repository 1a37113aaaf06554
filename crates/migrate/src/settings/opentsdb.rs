//! Keys of OpenTSDB.

use super::Fate::{self, Becomes, Missing, Needless};
use super::{address, limit};

const NO_HBASE: &str = "there is no HBase";
const NO_JVM: &str = "there is no JVM and no plug-in";
const ALWAYS: &str = "it is always so";
const INDEX: &str = "names are always indexed";
const BOUNDED: &str = "memory is bounded by settings of its own";

pub(super) const TABLE: &[(&str, Fate)] = &[
    (
        "tsd.network.port",
        Becomes(|port, all| {
            Ok(vec![("listen.address", address(all.get("tsd.network.bind"), port)?)])
        }),
    ),
    ("tsd.network.bind", Needless("it is part of listen.address")),
    ("tsd.network.", Needless("sockets are set up as is best for them")),
    ("tsd.core.connections.limit", Becomes(|value, _| limit("limits.connections", value))),
    ("tsd.storage.max_tags", Becomes(|value, _| limit("limits.labels", value))),
    (
        "tsd.query.timeout",
        Becomes(|value, _| {
            let pairs = limit("limits.query_seconds", value)?;
            Ok(pairs.into_iter().map(|(key, millis)| (key, millis + "ms")).collect())
        }),
    ),
    (
        "tsd.query.limits.bytes.default",
        Becomes(|value, _| limit("limits.query_memory_bytes", value)),
    ),
    (
        "tsd.query.limits.data_points.default",
        Becomes(|value, _| limit("limits.query_samples", value)),
    ),
    ("tsd.http.request.max_chunk", Needless("bodies may have limits.body_bytes, 64 MiB")),
    ("tsd.http.request.enable_chunked", Needless(ALWAYS)),
    (
        "tsd.http.request.cors_domains",
        Becomes(|domains, _| Ok(vec![("http.cors_domains", domains.to_owned())])),
    ),
    (
        "tsd.http.request.cors_headers",
        Becomes(|names, _| Ok(vec![("http.cors_headers", names.to_owned())])),
    ),
    ("tsd.http.show_stack_trace", Needless("an error is a sentence")),
    (
        "tsd.http.query.allow_delete",
        Becomes(|flag, _| Ok(vec![("opentsdb.allow_delete", flag.to_owned())])),
    ),
    ("tsd.http.header_tag", Missing(&[""], "no header becomes a tag")),
    ("tsd.http.cachedir", Needless("nothing is cached in files")),
    ("tsd.http.staticroot", Needless("the pages are in the binary")),
    ("tsd.http.rpc.plugins", Missing(&[""], NO_JVM)),
    ("tsd.http.", Needless(ALWAYS)),
    ("tsd.mode", Missing(&["rw"], "every server reads and writes")),
    ("tsd.no_diediedie", Needless("diediedie ends no server at this door")),
    ("tsd.core.auto_create_metrics", Missing(&["true"], "metrics are always created")),
    ("tsd.core.auto_create_tagks", Missing(&["true"], "tag names are always created")),
    ("tsd.core.auto_create_tagvs", Missing(&["true"], "tag values are always created")),
    ("tsd.core.authentication.enable", Missing(&["false"], "its plug-in cannot be loaded")),
    ("tsd.core.authentication.plugin", Missing(&[""], NO_JVM)),
    ("tsd.core.enable_api", Missing(&["true"], "the API is always there")),
    ("tsd.core.enable_ui", Missing(&["true"], "the page is always there")),
    ("tsd.core.meta.cache.", Missing(&["false", ""], NO_JVM)),
    ("tsd.core.meta.", Needless(INDEX)),
    ("tsd.core.tree.enable_processing", Missing(&["false"], "trees are not built")),
    ("tsd.core.timezone", Missing(&["UTC"], "times without a zone are in UTC")),
    ("tsd.core.tag.allow_specialchars", Missing(&[""], "put takes letters, digits and -_./")),
    ("tsd.core.histograms.config", Missing(&[""], "its plug-ins cannot be loaded")),
    ("tsd.core.socket.timeout", Needless("idle connections are kept, dead ones are noticed")),
    ("tsd.core.plugin_path", Needless(NO_JVM)),
    ("tsd.core.preload_uid_cache", Needless(INDEX)),
    ("tsd.core.preload_uid_cache.", Needless(INDEX)),
    ("tsd.core.bulk.", Needless("samples may come in any order")),
    ("tsd.core.uid.random_metrics", Needless(NO_HBASE)),
    ("tsd.core.", Needless(ALWAYS)),
    ("tsd.query.skip_unresolved_tagvs", Missing(&["false"], "unknown tag values are an error")),
    (
        "tsd.query.allow_simultaneous_duplicates",
        Missing(&["true"], "equal queries may run at once"),
    ),
    ("tsd.query.limits.overrides.config", Missing(&[""], "limits hold for all metrics")),
    ("tsd.query.", Needless(BOUNDED)),
    (
        "tsd.rollups.config",
        Becomes(|config, _| {
            let text = match config.ends_with(".json") {
                true => {
                    std::fs::read_to_string(config).map_err(|error| format!("{config}: {error}"))?
                }
                false => config.to_owned(),
            };
            Ok(vec![("opentsdb.rollups", text.split_whitespace().collect::<Vec<_>>().join(" "))])
        }),
    ),
    ("tsd.rollups.enable", Needless("they are on where opentsdb.rollups is set")),
    ("tsd.rollups.tag_raw", Missing(&["false"], "raw points get no tag of their own")),
    ("tsd.rollups.agg_tag_key", Missing(&["_aggregate"], "the tag is called _aggregate")),
    ("tsd.rollups.block_derived", Missing(&["true"], "averages of averages are refused")),
    ("tsd.rollups.split_query.enable", Missing(&["false"], "one table answers a question")),
    ("tsd.rollups.", Needless("they belong to opentsdb.rollups")),
    ("tsd.rtpublisher.enable", Missing(&["false"], "nothing is published")),
    ("tsd.rtpublisher.plugin", Needless(NO_JVM)),
    ("tsd.search.enable", Missing(&["false"], "its plug-in cannot be loaded")),
    ("tsd.search.plugin", Needless(NO_JVM)),
    ("tsd.startup.enable", Missing(&["false"], NO_JVM)),
    ("tsd.startup.plugin", Needless(NO_JVM)),
    ("tsd.rpc.telnet.return_errors", Missing(&["true"], "errors are always written back")),
    ("tsd.rpc.plugins", Missing(&[""], NO_JVM)),
    ("tsd.addins.", Missing(&[""], NO_JVM)),
    ("tsd.stats.canonical", Needless("stats name this host")),
    ("tsd.storage.fix_duplicates", Needless("the newest write always wins")),
    ("tsd.storage.", Needless(NO_HBASE)),
    ("tsd.timeseriesfilter.enable", Missing(&["false"], NO_JVM)),
    ("tsd.timeseriesfilter.plugin", Needless(NO_JVM)),
    ("tsd.uidfilter.enable", Missing(&["false"], NO_JVM)),
    ("tsd.uidfilter.", Needless("it belongs to tsd.uidfilter.enable")),
    ("tsd.uid.", Needless(NO_HBASE)),
    ("tsd.gnuplot.", Needless("pictures are not drawn by another program")),
    ("tsd.logback.", Needless("the log goes to standard error; see log.level")),
    ("tsd.process.", Needless("the data directory is locked by the process that uses it")),
    ("tsd.client.", Needless("the page has its own looks")),
    ("tsd.ui.", Needless("the page has its own looks")),
];
