//! Settings: spelling, precedence, mistakes.

use super::*;
use std::path::Path;

fn pairs(list: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    let list: Vec<_> = list.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    list.into_iter()
}

#[test]
fn what_is_shown_can_be_read_back() {
    let mut config = Config::default();
    for key in KEYS {
        let shown = (key.show)(&Config::default());
        (key.set)(&mut config, &shown).unwrap();
        assert_eq!((key.show)(&config), shown, "{}", key.name);
    }
    assert_eq!(config, Config::default());
}

#[test]
fn the_sample_shows_every_default_and_sets_none() {
    let mut layers = Layers::default();
    layers.add_file(Path::new("foliot.toml"), &sample()).unwrap();
    assert!(layers.show(None).all(|(_, _, origin)| origin == "default"));
    let is_key = |line: &str| KEYS.iter().any(|key| line.starts_with(&format!("#{} = ", key.name)));
    let all: Vec<_> =
        sample().lines().filter(|line| is_key(line)).map(|line| line[1..].to_owned()).collect();
    assert_eq!(all.len(), KEYS.len());
    layers.add_file(Path::new("foliot.toml"), &all.join("\n")).unwrap();
    assert_eq!(layers.config(), &Config::default());
}

#[test]
fn names_flags_and_variables_are_unique() {
    let unique = |names: Vec<String>| {
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len());
    };
    unique(KEYS.iter().map(|key| key.name.to_owned()).collect());
    unique(KEYS.iter().map(|key| key.flag.to_owned()).collect());
    unique(KEYS.iter().map(Key::variable).collect());
}

#[test]
fn values_are_read_as_people_write_them() {
    let bytes = |text| ByteSize::read(text).map(|size| size.0);
    assert_eq!(bytes("64MiB"), Ok(64 << 20));
    assert_eq!(bytes("2 gb"), Ok(2_000_000_000));
    assert_eq!(bytes("123"), Ok(123));
    assert_eq!(bytes("10B"), Ok(10));
    assert!(bytes("64 megs").is_err() && bytes("-1").is_err() && bytes("").is_err());
    assert!(bytes("99999999999TiB").is_err());
    assert_eq!(ByteSize(64 << 20).show(), "64MiB");
    assert_eq!(ByteSize(2_000_000_000).show(), "2GB");
    assert_eq!(Duration::read("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(Duration::read("90"), Ok(Duration::from_secs(90)));
    assert_eq!(Duration::from_secs(120).show(), "2m");
    assert!(Duration::read("soon").is_err() && Duration::read("1y").is_err());
    assert_eq!(SocketAddr::read("4243"), SocketAddr::read("127.0.0.1:4243"));
    assert_eq!(SocketAddr::read("localhost:1"), SocketAddr::read("127.0.0.1:1"));
    assert!(SocketAddr::read("example.org:1").is_err());
    assert_eq!(Listen::read("off"), Ok(Listen(None)));
    assert!(u64::read("1_000_000") == Ok(1_000_000) && u64::read("1.5").is_err());
    assert!(bool::read("on") == Ok(true) && bool::read("maybe").is_err());
}

#[test]
fn flags_win_over_environment_over_file_over_default() {
    let mut layers = Layers::default();
    let text = "data_dir = 'f'\n[wal]\nack = 'os'\nsync_interval = 3\n[limits]\nseries = 5\n";
    layers.add_file(Path::new("foliot.toml"), text).unwrap();
    let variables = [("FOLIOT_WAL_ACK", "memory"), ("FOLIOT_LIMITS_SERIES", "6"), ("HOME", "/")];
    layers.add_environment(pairs(&variables)).unwrap();
    layers.add_pair("limits.series=7").unwrap();
    let config = layers.config();
    assert_eq!(config.data_dir, Path::new("f"));
    assert_eq!(config.wal_ack, Ack::Memory);
    assert_eq!(config.wal_sync_interval, Duration::from_secs(3));
    assert_eq!(config.limits_series, 7);
    let origin = |name| layers.show(None).find(|(key, ..)| *key == name).unwrap().2;
    assert_eq!(origin("data_dir"), "foliot.toml");
    assert_eq!(origin("wal.ack"), "FOLIOT_WAL_ACK");
    assert_eq!(origin("limits.series"), "--set");
    assert_eq!(origin("listen.address"), "default");
}

#[test]
fn mistakes_are_named_with_a_suggestion() {
    let file = |text| Layers::default().add_file(Path::new("f.toml"), text).unwrap_err();
    assert_eq!(
        file("[limits]\nseris = 5"),
        "f.toml: unknown key limits.seris; did you mean limits.series?"
    );
    // What resembles nothing is not guessed at, also where a name is as short as it.
    let none = "f.toml: unknown key nope; `foliot config show` lists all keys";
    assert_eq!(file("nope = 1"), none);
    assert_eq!(
        file("[wal]\nack = 'maybe'"),
        "f.toml: wal.ack (from f.toml): 'maybe' is none of durable, os and memory"
    );
    assert_eq!(file("[listen]\naddress = [1]"), "f.toml: listen.address cannot be a list");
    assert!(file("a = \n").starts_with("f.toml, line 1: "));
    assert!(file("completely.other = 1").ends_with("`foliot config show` lists all keys"));
    let variables = [("FOLIOT_WALL_ACK", "os")];
    let error = Layers::default().add_environment(pairs(&variables)).unwrap_err();
    assert_eq!(error, "unknown environment variable FOLIOT_WALL_ACK; did you mean FOLIOT_WAL_ACK?");
    for (variable, value) in [
        ("FOLIOT_SERVICE_HOST", "10.0.0.1"),
        ("FOLIOT_SERVICE_PORT_HTTP", "4242"),
        ("FOLIOT_PORT", "tcp://10.0.0.1:4242"),
        ("FOLIOT_PORT_4242_TCP_ADDR", "10.0.0.1"),
        ("FOLIOT_EDGE_PORT_53_UDP", "udp://10.0.0.1:53"),
    ] {
        assert_eq!(Layers::default().add_environment(pairs(&[(variable, value)])), Ok(()));
    }
    let mistaken = [("FOLIOT_PORT", "4242")];
    assert!(Layers::default().add_environment(pairs(&mistaken)).is_err());
    assert!(Layers::default().add_pair("wal.ack").unwrap_err().contains("key=value"));
}

#[test]
fn only_loopback_unless_told_otherwise() {
    let mut config = Config::default();
    assert_eq!(config.check(), Ok(()));
    config.listen_influx = Listen::read("0.0.0.0:8086").unwrap();
    assert!(config.check().unwrap_err().contains("listen.influx is 0.0.0.0:8086"));
    config.listen_insecure = true;
    assert_eq!(config.check(), Ok(()));
    config.limits_queries = 0;
    assert!(config.check().unwrap_err().starts_with("limits.queries is 0"));
}

#[test]
fn the_committed_reference_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == reference(),
        "docs/config.md is old: run `cargo run -p foliot -- config docs > docs/config.md`"
    );
}

#[test]
fn a_small_machine_gets_small_shares() {
    let config = Config::default().fit(Some(512 << 20));
    let shares = [
        4 * config.head_bytes.0,
        config.cache_bytes.0,
        config.merge_bytes.0,
        config.limits_pending_body_bytes.0,
        config.limits_scrape_bytes.0,
        config.limits_query_memory_bytes.0 * config.limits_queries,
    ];
    assert!(shares.iter().all(|share| *share >= 30 << 20), "{shares:?}");
    let names = config.limits_registry_bytes.0.unwrap();
    let (exemplars, statsd) = (config.limits_exemplar_bytes.0, config.limits_statsd_bytes.0);
    let texts = config.limits_pending_query_bytes.0;
    let all = shares.iter().sum::<u64>() + names + exemplars + statsd + texts;
    assert!(all <= (512 - 24) << 20, "the program itself takes the rest: {all}");
    let large = Config::default().fit(Some(64 << 30));
    assert_eq!(large.limits_registry_bytes, Memory(Some(((64 << 30) - (24 << 20)) / 8 * 3)));
    assert_eq!(Config { limits_registry_bytes: Memory(None), ..large }, Config::default());
    assert_eq!(Config::default().fit(None), Config::default());
    let limits_memory_bytes = Memory::read("512MiB").unwrap();
    let config = Config { limits_memory_bytes, ..Config::default() };
    assert_eq!(config.fit(Some(64 << 30)).head_bytes, ByteSize(((512 - 24) << 20) / 32));
}
