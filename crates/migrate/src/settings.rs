//! Settings of OpenTSDB and TickTock: what becomes of each of them here.
//!
//! Both write `key = value`, one a line, with `#` or `;` before what does not count. The known keys
//! are those of OpenTSDB 2.5 (`utils/Config`) and TickTock 1.1 (`config.h`).

mod opentsdb;
mod ticktock;

use foliot_model::edits;

/// What became of foreign settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which server's they are.
    pub peer: &'static str,
    /// Settings here: key, value, and the foreign keys they come from.
    pub pairs: Vec<(&'static str, String, String)>,
    /// Foreign settings that need nothing here, and why.
    pub needless: Vec<(String, &'static str)>,
    /// Foreign settings that have no counterpart here, and what that means.
    pub missing: Vec<(String, String)>,
    /// Keys that the foreign server does not know either, and what may have been meant.
    pub unknown: Vec<String>,
}

/// Sections that InfluxDB's file of settings has, and neither of the others.
const INFLUX_SECTIONS: [&str; 4] = ["[meta]", "[data]", "[http]", "[coordinator]"];

/// What there is instead for those.
const OF_INFLUX: &str = "is not translated: take what you need from `foliot config docs`, and \
                         bring the data over with `foliot import influx --from URL`";

/// Letters of a key that may be wrong.
const SLIPS_MAX: usize = 2;

/// Settings here, by key.
type Pairs = Vec<(&'static str, String)>;

/// What a foreign setting becomes.
#[derive(Clone, Copy)]
enum Fate {
    /// Settings here, from the value and all others.
    Becomes(fn(&str, &Given<'_>) -> Result<Pairs, String>),
    /// Nothing: it is so, or what it adjusts does not exist here.
    Needless(&'static str),
    /// Nothing here does this, unless the value is one of these.
    Missing(&'static [&'static str], &'static str),
}

/// All foreign settings of a file, in its order.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    fn read(text: &'a str) -> Self {
        let pair = |line: &'a str| {
            let line = line.trim();
            let (key, value) = line.split_once('=')?;
            let is_note = line.starts_with(['#', ';', '!']);
            (!is_note).then(|| (key.trim(), value.trim().trim_matches('"')))
        };
        Self(text.lines().filter_map(pair).collect())
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }
}

/// What a file of settings is told that is another server's, and that was given as Foliot's own.
pub fn foreign(text: &str) -> Option<String> {
    if is_influx(text) {
        return Some(format!("this is a configuration of InfluxDB, which {OF_INFLUX}"));
    }
    let Given(pairs) = Given::read(text);
    let known = |table| pairs.iter().filter(|(key, _)| is_known(table, key)).count();
    // A key or two have the same names here as there.
    let peer = match (known(opentsdb::TABLE), known(ticktock::TABLE)) {
        (of_opentsdb, _) if of_opentsdb * 2 > pairs.len() => "OpenTSDB",
        (_, of_ticktock) if of_ticktock * 2 > pairs.len() => "TickTock",
        _ => return None,
    };
    Some(format!(
        "this is a configuration of {peer}: `foliot config check --from FILE` prints what becomes of it"
    ))
}

fn is_influx(text: &str) -> bool {
    let begins = |section: &str| text.lines().any(|line| line.trim().starts_with(section));
    INFLUX_SECTIONS.into_iter().any(begins)
}

fn is_known(table: &[(&'static str, Fate)], key: &str) -> bool {
    table.iter().any(|(name, _)| *name == key || name.ends_with('.') && key.starts_with(name))
}

/// Reads foreign settings; which server's they are is told by their keys.
///
/// # Errors
/// When the file has no setting, or a value cannot be understood.
pub fn read(text: &str) -> Result<Settings, String> {
    let given = Given::read(text);
    let Some((first, _)) = given.0.first() else {
        return Err("there is no `key = value` in it".to_owned());
    };
    let (peer, table) = match first.starts_with("tsd.") {
        true => ("OpenTSDB", opentsdb::TABLE),
        false => ("TickTock", ticktock::TABLE),
    };
    if is_influx(text) {
        return Err(format!("this is a configuration of InfluxDB, which {OF_INFLUX}"));
    }
    if !given.0.iter().any(|(key, _)| is_known(table, key)) {
        return Err("this is neither an opentsdb.conf nor TickTock's tt.conf: neither knows any \
                    key of it"
            .to_owned());
    }
    let mut settings = Settings { peer, ..Settings::default() };
    for &(key, value) in &given.0 {
        // Families of keys end in a dot in the table.
        let fits = |name: &str| name == key || name.ends_with('.') && key.starts_with(name);
        match table.iter().find(|(name, _)| fits(name)).map(|(_, fate)| fate) {
            None => settings.unknown.push(key.to_owned()),
            Some(_) if let Some(meant) = meant(table, key) => {
                settings.unknown.push(format!("{key}: did you mean {meant}?"));
            }
            Some(Fate::Needless(why)) => settings.needless.push((key.to_owned(), why)),
            Some(Fate::Missing(harmless, _)) if is_among(harmless, value) => {
                settings.needless.push((key.to_owned(), "it is so here too"));
            }
            Some(Fate::Missing(_, what)) => {
                settings.missing.push((key.to_owned(), (*what).to_owned()));
            }
            Some(Fate::Becomes(become_)) => {
                let pairs = become_(value, &given).map_err(|why| format!("{key}: {why}"))?;
                let own = pairs.into_iter().map(|(name, value)| (name, value, key.to_owned()));
                settings.pairs.extend(own);
            }
        }
    }
    Ok(settings)
}

/// The key that somebody may have meant who wrote one that only a family has: it is a slip of the
/// fingers away from one that matters.
fn meant(table: &[(&'static str, Fate)], key: &str) -> Option<&'static str> {
    if table.iter().any(|(name, _)| *name == key) {
        return None;
    }
    let matters = |fate: &Fate| !matches!(fate, Fate::Needless(_));
    let near = |name: &str| edits(name, key) <= SLIPS_MAX;
    let names = table.iter().filter(|(name, fate)| matters(fate) && !name.ends_with('.'));
    names.map(|(name, _)| *name).find(|name| near(name))
}

/// Whether a value is one of these. OpenTSDB takes `1` and `yes` for `true`, in any case.
fn is_among(values: &[&str], value: &str) -> bool {
    let is_yes = ["true", "1", "yes"].iter().any(|yes| value.eq_ignore_ascii_case(yes));
    values.contains(&value) || values.contains(&"true") && is_yes
}

impl Settings {
    /// The settings as a TOML file, with the rest as notes.
    pub fn to_toml(&self) -> String {
        let mut out = format!("# Settings of {}, as Foliot has them.\n", self.peer);
        for (key, value, from) in &self.pairs {
            out += &format!("{key} = {value:?} # {from}\n");
        }
        let mut list = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                out += &format!("\n# {title}\n{}", lines.concat());
            }
        };
        let missing = self.missing.iter().map(|(key, what)| format!("#   {key}: {what}\n"));
        list("Without a counterpart:", missing.collect());
        let unknown = self.unknown.iter().map(|key| format!("#   {key}\n"));
        list(&format!("Unknown, also to {}:", self.peer), unknown.collect());
        let needless = self.needless.iter().map(|(key, why)| format!("#   {key}: {why}\n"));
        list("Needless here:", needless.collect());
        out
    }
}

/// A port with the address it is bound to.
fn address(bind: Option<&str>, port: &str) -> Result<String, String> {
    let port: u16 = port.trim().parse().map_err(|_| format!("'{port}' is no port"))?;
    let host = bind.filter(|host| !host.is_empty()).unwrap_or("0.0.0.0");
    Ok(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
}

/// A number that means no limit when it is 0; then nothing becomes of it.
fn limit(key: &'static str, value: &str) -> Result<Pairs, String> {
    match value.parse::<u64>() {
        Ok(0) => Ok(Vec::new()),
        Ok(number) => Ok(vec![(key, number.to_string())]),
        Err(_) => Err(format!("'{value}' is no number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opentsdbs_settings() {
        let text = "# a note\n\
            tsd.network.port = 4242\n\
            #tsd.network.bind = 1.2.3.4\n\
            tsd.network.bind = 127.0.0.1\n\
            tsd.core.connections.limit=500\n\
            tsd.query.timeout = 30000\n\
            tsd.storage.hbase.zk_quorum = a,b\n\
            tsd.http.request.cors_domains = *\n\
            tsd.rtpublisher.enable = true\n\
            tsd.search.enable = false\n\
            tsd.core.auto_create_metrics = true\n\
            tsd.typo = 1\n\
            tsd.query.timeuot = 5\n\
            tsd.core.auto_create_metrcs = false\n";
        let settings = read(text).unwrap();
        let pair =
            |key: &'static str, value: &str, from: &str| (key, value.to_owned(), from.to_owned());
        let expected = [
            pair("listen.address", "127.0.0.1:4242", "tsd.network.port"),
            pair("limits.connections", "500", "tsd.core.connections.limit"),
            pair("limits.query_seconds", "30000ms", "tsd.query.timeout"),
            pair("http.cors_domains", "*", "tsd.http.request.cors_domains"),
        ];
        assert_eq!(settings.pairs, expected);
        let expected = [
            "tsd.typo",
            "tsd.query.timeuot: did you mean tsd.query.timeout?",
            "tsd.core.auto_create_metrcs: did you mean tsd.core.auto_create_metrics?",
        ];
        assert_eq!(settings.unknown, expected);
        assert_eq!(settings.missing.len(), 1, "{:?}", settings.missing);
        let needless: Vec<&str> = settings.needless.iter().map(|(key, _)| key.as_str()).collect();
        let expected = [
            "tsd.network.bind",
            "tsd.storage.hbase.zk_quorum",
            "tsd.search.enable",
            "tsd.core.auto_create_metrics",
        ];
        assert_eq!(needless, expected);
        let toml = settings.to_toml();
        assert!(
            toml.contains("listen.address = \"127.0.0.1:4242\" # tsd.network.port\n"),
            "{toml}"
        );
        assert!(toml.contains("#   tsd.typo\n"), "{toml}");
    }

    #[test]
    fn strangers_are_not_taken_for_others() {
        let influx = "reporting-disabled = true\n[meta]\n  dir = \"/var/lib/influxdb/meta\"\n";
        assert!(read(influx).unwrap_err().contains("InfluxDB"));
        assert!(read("colour = red\n").unwrap_err().contains("neither"));
        assert!(read("# Welcome\nx = 1\n  [http] # where\n").unwrap_err().contains("InfluxDB"));
        for yes in ["true", "True", "1", "yes"] {
            let settings = read(&format!("tsd.core.auto_create_metrics = {yes}\n")).unwrap();
            assert_eq!(settings.needless[0].1, "it is so here too", "{yes}");
        }
        let settings = read("tsd.core.auto_create_metrics = false\n").unwrap();
        assert_eq!(settings.missing[0].1, "metrics are always created");
    }

    #[test]
    fn ticktocks_settings() {
        let text = "; a note\n\
            ticktock.home = /var/lib/tt\n\
            http.server.port = 6182,6183\n\
            tcp.server.port = 6181,\n\
            udp.server.enabled = true\n\
            log.level = TCP\n\
            tsdb.timestamp.resolution = second\n\
            tcp.buffer.size = 1mb\n\
            tsdb.retention.threshold = 90min\n\
            mqtt.settings = [{\"broker\":\"dock\",\"port\":1883,\"topics\":[{\"topic\":\"t/a\",\
            \"format\":\"line\"},{\"topic\":\"t/b\",\"format\":\"json\"}]}]\n\
            cluster.servers = x\n";
        let settings = read(text).unwrap();
        let pairs: Vec<(&str, &str)> =
            settings.pairs.iter().map(|(key, value, _)| (*key, value.as_str())).collect();
        let expected = [
            ("data_dir", "/var/lib/tt/foliot"),
            ("listen.ticktock", "0.0.0.0:6182,0.0.0.0:6183,0.0.0.0:6181"),
            ("listen.udp", "true"),
            ("log.level", "debug"),
            ("limits.body_bytes", "1MiB"),
            ("retention.time", "90m"),
            ("mqtt.broker", "dock:1883"),
            ("mqtt.topics", "t/a,t/b"),
        ];
        assert_eq!(pairs, expected);
        assert_eq!(settings.missing.len(), 1, "{:?}", settings.missing);
        assert!(read("# nothing\n").is_err());
        assert!(read("tsd.network.port = x\n").unwrap_err().starts_with("tsd.network.port: "));
    }
}
