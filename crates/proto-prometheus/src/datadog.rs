//! DataDog's series, as its agents and libraries send them: JSON of versions 1 and 2 of its API.
//!
//! Names and tags become what VictoriaMetrics makes of them: the name keeps its dots, a tag
//! `name:value` is a label, and one without a value has `no_label_value`.
//!
//! Source: DataDog's API reference, "Submit metrics", and VictoriaMetrics' documents.

use crate::Samples;
use crate::samples::pack_labels;
use crate::write::Malformed;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// What a tag without a value has.
const NO_VALUE: &str = "no_label_value";

/// The label of the host that is said beside the tags, and of a tag of that name.
const HOST: &str = "host";
const OTHER_HOST: &str = "exported_host";

/// Labels of a series that are read: more than any may have, so that the store refuses it.
const LABELS_MAX: usize = 2000;

/// Memory that a byte of a request takes at most: `[1,2],` is a sample.
pub const DATADOG_BYTES_MAX: usize = 12;

/// A version of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatadogVersion {
    /// `/api/v1/series`: points are pairs, the host is said by itself.
    V1,
    /// `/api/v2/series`: points are objects, the host is one of the resources.
    V2,
}

/// The samples of a request.
///
/// # Errors
/// When it is none, with line and column.
pub fn datadog_samples(version: DatadogVersion, json: &[u8]) -> Result<Samples, Malformed> {
    let mut samples = Samples::default();
    let bad = |error: serde_json::Error| Malformed(error.to_string());
    let mut reader = serde_json::Deserializer::from_slice(json);
    Request { version, out: &mut samples }.deserialize(&mut reader).map_err(bad)?;
    reader.end().map_err(bad)?;
    Ok(samples)
}

/// A series of version 1.
#[derive(Deserialize)]
struct First {
    metric: String,
    #[serde(default)]
    points: Vec<(f64, f64)>,
    host: Option<String>,
    device: Option<String>,
    source_type_name: Option<String>,
    tags: Option<Vec<String>>,
}

/// A series of version 2.
#[derive(Deserialize)]
struct Second {
    metric: String,
    #[serde(default)]
    points: Vec<Point>,
    resources: Option<Vec<Resource>>,
    source_type_name: Option<String>,
    tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Point {
    timestamp: f64,
    value: f64,
}

#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    name: String,
    #[serde(default, rename = "type")]
    kind: String,
}

/// A request, of which the series become samples while they are read.
struct Request<'o> {
    version: DatadogVersion,
    out: &'o mut Samples,
}

impl<'de> DeserializeSeed<'de> for Request<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Request<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a list of series")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { version, out } = self;
        while let Some(name) = map.next_key::<String>()? {
            if name == "series" {
                map.next_value_seed(List { version, out: &mut *out })?;
            } else {
                let _: IgnoredAny = map.next_value()?;
            }
        }
        Ok(())
    }
}

/// The list of series.
struct List<'o> {
    version: DatadogVersion,
    out: &'o mut Samples,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        match self.version {
            DatadogVersion::V1 => {
                while let Some(series) = list.next_element::<First>()? {
                    series.store(self.out);
                }
            }
            DatadogVersion::V2 => {
                while let Some(series) = list.next_element::<Second>()? {
                    series.store(self.out);
                }
            }
        }
        Ok(())
    }
}

impl First {
    fn store(self, out: &mut Samples) {
        let own = [(HOST, self.host), ("device", self.device)];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let points = self.points.iter().map(|(seconds, value)| (*seconds, *value));
        store(&self.metric, (own, self.source_type_name, self.tags), points, out);
    }
}

impl Second {
    fn store(self, out: &mut Samples) {
        let resources = self.resources.unwrap_or_default().into_iter();
        let own = resources.map(|Resource { name, kind }| (kind, name));
        let points = self.points.iter().map(|point| (point.timestamp, point.value));
        store(&self.metric, (own, self.source_type_name, self.tags), points, out);
    }
}

/// Stores the samples of a series, by seconds and value.
fn store(
    metric: &str,
    (own, source, tags): (
        impl Iterator<Item = (String, String)>,
        Option<String>,
        Option<Vec<String>>,
    ),
    points: impl Iterator<Item = (f64, f64)>,
    out: &mut Samples,
) {
    let source = source.map(|source| ("source_type_name".to_owned(), source));
    let tags = tags.unwrap_or_default().into_iter().map(|tag| match tag.split_once(':') {
        Some((HOST, value)) => (OTHER_HOST.to_owned(), value.to_owned()),
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (tag, NO_VALUE.to_owned()),
    });
    let mut labels: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in own.chain(source).chain(tags).take(LABELS_MAX) {
        if name.is_empty() || value.is_empty() {
            continue;
        }
        match labels.get_mut(&name) {
            // A tag may be said several times, with a value each.
            Some(before) => {
                before.push(';');
                before.push_str(&value);
            }
            None => drop(labels.insert(name, value)),
        }
    }
    labels.insert("__name__".to_owned(), clean(metric));
    let key = pack_labels(labels.iter().map(|(name, value)| (&**name, &**value)));
    // What is too large stays so, and is refused.
    let points = points.map(|(seconds, value)| (value, (seconds * 1000.0) as i64));
    out.push_all(&key, points);
}

/// A name as DataDog stores it: letters, digits and dots stay, and all else is one underscore, of
/// which none stands beside a dot.
fn clean(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '.' => {
                if out.ends_with('_') {
                    out.pop();
                }
                out.push('.');
            }
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.ends_with('_') || out.ends_with('.') => {}
            _ => out.push('_'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown_key;

    fn read(version: DatadogVersion, json: &str) -> Result<Vec<String>, String> {
        let samples = datadog_samples(version, json.as_bytes()).map_err(|bad| bad.to_string())?;
        let shown = samples
            .iter()
            .map(|(key, value, time_ms)| format!("{} {value} {time_ms}", shown_key(&key)));
        Ok(shown.collect())
    }

    #[test]
    fn both_versions_become_the_same_series() {
        let second = r#"{"series":[{"metric":"system.load.1","type":0,"interval":10,"unit":"x",
            "points":[{"timestamp":1636629071,"value":0.7},{"timestamp":1636629081,"value":1}],
            "resources":[{"name":"h","type":"host"},{"type":"x"}],"metadata":{"origin":{}},
            "tags":["env:test","host:i","solo","role:a","role:b"]},{"metric":"none"}],"more":1}"#;
        let first = r#"{"series":[{"metric":"system.load.1","host":"h","type":"gauge",
            "points":[[1636629071,0.7],[1636629081,1]],"device":null,
            "tags":["env:test","host:i","solo","role:a","role:b"]}]}"#;
        let labels = r#"{env="test",exported_host="i",host="h",role="a;b",solo="no_label_value"}"#;
        let wanted = [
            format!("system.load.1{labels} 0.7 1636629071000"),
            format!("system.load.1{labels} 1 1636629081000"),
        ];
        assert_eq!(read(DatadogVersion::V2, second).unwrap(), wanted);
        assert_eq!(read(DatadogVersion::V1, first).unwrap(), wanted);
        let more = r#"{"series":[{"metric":"m","points":[[1,2]],"device":"d",
            "source_type_name":"s","tags":null}]}"#;
        assert_eq!(
            read(DatadogVersion::V1, more).unwrap(),
            [r#"m{device="d",source_type_name="s"} 2 1000"#]
        );
        assert_eq!(read(DatadogVersion::V2, "{}").unwrap(), [""; 0]);
    }

    #[test]
    fn names_are_cleaned_as_there() {
        for (name, clean_name) in [
            ("system.load.1", "system.load.1"),
            ("a-b c__d", "a_b_c_d"),
            ("a_.b", "a.b"),
            ("a._b", "a.b"),
            ("é.x", ".x"),
            ("_x_", "_x_"),
        ] {
            assert_eq!(clean(name), clean_name, "{name}");
        }
    }

    #[test]
    fn requests_that_are_none_say_where() {
        for (json, word) in [
            ("[]", "an object with a list of series"),
            ("{", "line 1"),
            (r#"{"series":{}}"#, "a list of series"),
            (r#"{"series":[{}]}"#, "missing field `metric`"),
            (r#"{"series":[{"metric":"m","points":[1]}]}"#, "line 1"),
            (r#"{"series":[{"metric":"m","points":[{"timestamp":1,"value":"x"}]}]}"#, "line 1"),
            (r#"{"series":[]} x"#, "trailing characters"),
        ] {
            let error = read(DatadogVersion::V2, json).unwrap_err();
            assert!(error.contains(word), "{json}: {error}");
        }
    }
}
