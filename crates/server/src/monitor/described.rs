//! What senders say of the metrics that they push: kind, help and unit, as targets say of theirs.
//! It is in memory, and bounded: what was said longest ago is forgotten.

use foliot_access::Measurements;
use foliot_lock::{Mutex, Rank};
use foliot_model::NamespaceId;
use foliot_monitor::{HELP_BYTES_MAX, Metadata};
use foliot_proto_prometheus::Exposed;
use std::collections::BTreeMap;

/// Memory for all of it: some ten thousand metrics, more than senders of one kind have.
const BYTES_MAX: usize = 2 << 20;

/// What a metric takes beside its texts.
const METRIC_BYTES: usize = 160;

/// What the names of a metric's series have beside its own.
const PARTS: [&str; 4] = ["_bucket", "_sum", "_count", "_total"];

/// What was said of the metrics of all databases.
#[derive(Debug)]
pub(crate) struct Described(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    metrics: BTreeMap<NamespaceId, BTreeMap<String, Said>>,
    bytes: usize,
    /// How often something was said.
    times: u64,
}

#[derive(Debug, Default)]
struct Said {
    about: Metadata,
    /// When it was said last, as a number of [`Kept::times`].
    last: u64,
}

impl Said {
    fn bytes(&self, name: &str) -> usize {
        let Metadata { kind, help, unit } = &self.about;
        METRIC_BYTES + name.len() + kind.len() + help.len() + unit.len()
    }
}

impl Default for Described {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, Kept::default()))
    }
}

impl Described {
    /// Takes what a sender says of a metric of a database that it may write.
    pub(crate) fn hear(&self, (namespace, scope): (NamespaceId, &Measurements), said: Exposed<'_>) {
        let (Exposed::Kind(name, _) | Exposed::Help(name, _) | Exposed::Unit(name, _)) = said
        else {
            return;
        };
        if covers(scope, name) {
            self.0.lock().hear(namespace, name, &said);
        }
    }

    /// What was said of a metric of a database, by the first of these names that something was said
    /// of.
    pub(crate) fn of<'n>(
        &self,
        namespace: NamespaceId,
        mut names: impl Iterator<Item = &'n str>,
    ) -> Option<Metadata> {
        let kept = self.0.lock();
        let metrics = kept.metrics.get(&namespace)?;
        names.find_map(|name| metrics.get(name)).map(|said| said.about.clone())
    }

    /// Calls `each` with what was said of those metrics of a database that are in a scope.
    pub(crate) fn each(
        &self,
        (namespace, scope): (NamespaceId, &Measurements),
        each: &mut dyn FnMut(&str, &Metadata),
    ) {
        let kept = self.0.lock();
        let metrics = kept.metrics.get(&namespace).into_iter().flatten();
        metrics
            .filter(|(name, _)| covers(scope, name))
            .for_each(|(name, said)| each(name, &said.about));
    }
}

impl Kept {
    fn hear(&mut self, namespace: NamespaceId, name: &str, exposed: &Exposed<'_>) {
        self.times += 1;
        let metrics = self.metrics.entry(namespace).or_default();
        if !metrics.contains_key(name) {
            metrics.insert(name.to_owned(), Said::default());
            self.bytes += METRIC_BYTES + name.len();
        }
        let Some(said) = metrics.get_mut(name) else { return };
        let before = said.bytes(name);
        let (place, text) = match exposed {
            Exposed::Kind(_, kind) => (&mut said.about.kind, *kind),
            Exposed::Unit(_, unit) => (&mut said.about.unit, *unit),
            Exposed::Help(_, help) => (&mut said.about.help, &**help),
            Exposed::Sample { .. } => return,
        };
        let text = text.get(..text.floor_char_boundary(HELP_BYTES_MAX)).unwrap_or_default();
        if place != text {
            text.clone_into(place);
        }
        said.last = self.times;
        self.bytes = self.bytes + said.bytes(name) - before;
        if self.bytes > BYTES_MAX {
            self.forget_half();
        }
    }

    /// Forgets what was said longest ago, half of all.
    fn forget_half(&mut self) {
        let mut times: Vec<u64> =
            self.metrics.values().flatten().map(|(_, said)| said.last).collect();
        let middle = times.len() / 2;
        let (_, &mut middle, _) = times.select_nth_unstable(middle);
        let mut bytes = 0;
        for metrics in self.metrics.values_mut() {
            metrics.retain(|_, said| said.last >= middle);
            bytes += metrics.iter().map(|(name, said)| said.bytes(name)).sum::<usize>();
        }
        self.metrics.retain(|_, metrics| !metrics.is_empty());
        self.bytes = bytes;
    }
}

/// Whether a scope has a metric, by its own name or by that of one of its series.
fn covers(scope: &Measurements, name: &str) -> bool {
    scope.include(name) || PARTS.iter().any(|part| scope.include(&format!("{name}{part}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(described: &Described, namespace: NamespaceId) -> Vec<String> {
        let mut names = Vec::new();
        described.each((namespace, &Measurements::All), &mut |name, _| names.push(name.to_owned()));
        names
    }

    #[test]
    fn what_was_said_longest_ago_is_forgotten() {
        let described = Described::default();
        let all = (1, &Measurements::All);
        described.hear(all, Exposed::Kind("old", "gauge"));
        described.hear((2, &Measurements::All), Exposed::Kind("other", "gauge"));
        let help = "é".repeat(HELP_BYTES_MAX);
        for number in 0..2_000 {
            let name = format!("m{number:04}");
            described.hear(all, Exposed::Help(&name, help.as_str().into()));
            described.hear(all, Exposed::Unit("steady", "seconds"));
            assert!(described.0.lock().bytes <= BYTES_MAX);
        }
        let known = names(&described, 1);
        assert!(!known.contains(&"old".to_owned()) && known.contains(&"steady".to_owned()));
        assert!(known.contains(&"m1999".to_owned()) && known.len() > 200, "{}", known.len());
        assert!(names(&described, 2).is_empty());
        let about = described.of(1, ["none", "m1999"].into_iter()).unwrap();
        assert_eq!(about.help.len(), HELP_BYTES_MAX);
        let kept = described.0.lock();
        let bytes = |(name, said): (&String, &Said)| said.bytes(name);
        assert_eq!(kept.bytes, kept.metrics.values().flatten().map(bytes).sum::<usize>());
    }

    #[test]
    fn who_may_not_write_a_metric_says_nothing_of_it() {
        let described = Described::default();
        let scope = Measurements::Passing(vec![foliot_model::Test::equal("a_total")]);
        for name in ["a", "a_total", "b"] {
            described.hear((1, &scope), Exposed::Kind(name, "counter"));
        }
        assert_eq!(names(&described, 1), ["a", "a_total"]);
    }
}
