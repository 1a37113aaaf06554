//! What a request says of its metrics: kind, help and unit. Version 1.0 says it of families beside
//! the series, version 2.0 of each series, by the table of symbols.

use super::{Version, WriteRequest};
use crate::key::{LABEL, NAME};
use crate::scraped::Exposed;
use crate::wire::{Field, Fields, Value};

/// Field of a request of version 1.0 that describes a metric.
pub(super) const DESCRIPTION: u64 = 3;
/// Field of a series of version 2.0 that describes its metric.
pub(super) const SERIES_DESCRIPTION: u64 = 5;

/// Kinds by their numbers, which are the same in both versions.
const KINDS: [&str; 8] =
    ["unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset"];

/// What the name of a series has beside that of the histogram or summary that it is a part of.
const PARTS: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Where what is said goes.
type Take<'t> = dyn FnMut(Exposed<'_>) + 't;

/// What describes a metric: positions in the table of symbols, and a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Description {
    name: u64,
    kind: u64,
    help: u64,
    unit: u64,
}

impl WriteRequest<'_> {
    /// Calls `take` with all that the request says of metrics. What cannot be read is passed over:
    /// it costs no sample.
    pub fn describe(&self, take: &mut Take<'_>) {
        if self.counts.descriptions == 0 {
            return;
        }
        let mut fields = Fields::new(self.bytes, 0, self.bytes.len());
        let mut last = None;
        while let Ok(Some(field)) = fields.next() {
            match self.version {
                Version::V1 if field.number == DESCRIPTION => self.describe_family(&field, take),
                Version::V2 if field.number == self.version.series() => {
                    // Series of one metric mostly stand together and say the same.
                    let said = self.description(&field).filter(|said| last != Some(*said));
                    if let Some(said) = said {
                        self.describe_series(said, take);
                        last = Some(said);
                    }
                }
                _ => {}
            }
        }
    }

    fn describe_family(&self, field: &Field, take: &mut Take<'_>) {
        let Ok((start, end)) = field.range() else { return };
        let (mut kind, mut name, mut help, mut unit) = (0, "", "", "");
        let mut fields = Fields::new(self.bytes, start, end);
        while let Ok(Some(field)) = fields.next() {
            match (field.number, field.value) {
                (1, Value::Varint(number)) => kind = number,
                (2, Value::Bytes(start, end)) => name = self.text(start, end),
                (4, Value::Bytes(start, end)) => help = self.text(start, end),
                (5, Value::Bytes(start, end)) => unit = self.text(start, end),
                _ => {}
            }
        }
        say(name, (kind, help, unit), take);
    }

    /// What a series of version 2.0 says of its metric, if it does.
    fn description(&self, series: &Field) -> Option<Description> {
        let (start, end) = series.range().ok()?;
        let mut fields = Fields::new(self.bytes, start, end);
        let (mut said, mut is_named, mut is_described) = (Description::default(), false, false);
        while let Ok(Some(field)) = fields.next() {
            match (field.number, field.value) {
                (LABEL, Value::Bytes(start, end)) if !is_named => {
                    let mut labels = Fields::new(self.bytes, start, end);
                    while let (Ok(name), Ok(value)) = (labels.varint(), labels.varint()) {
                        if self.symbol(name).is_ok_and(|name| name == NAME) {
                            (said.name, is_named) = (value, true);
                            break;
                        }
                    }
                }
                (SERIES_DESCRIPTION, Value::Bytes(start, end)) => {
                    is_described = true;
                    let mut fields = Fields::new(self.bytes, start, end);
                    while let Ok(Some(field)) = fields.next() {
                        match (field.number, field.value) {
                            (1, Value::Varint(kind)) => said.kind = kind,
                            (3, Value::Varint(help)) => said.help = help,
                            (4, Value::Varint(unit)) => said.unit = unit,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        (is_named && is_described).then_some(said)
    }

    fn describe_series(&self, said: Description, take: &mut Take<'_>) {
        let text = |reference| {
            let bytes = self.symbol(reference).unwrap_or_default();
            std::str::from_utf8(bytes).unwrap_or_default()
        };
        let name = text(said.name);
        let family = match said.kind {
            3..=5 => PARTS.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name),
            _ => name,
        };
        say(family, (said.kind, text(said.help), text(said.unit)), take);
    }

    fn text(&self, start: usize, end: usize) -> &str {
        let bytes = self.bytes.get(start..end).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// Says what there is to say of a metric.
fn say(name: &str, (kind, help, unit): (u64, &str, &str), take: &mut Take<'_>) {
    let kind = usize::try_from(kind).ok().and_then(|kind| KINDS.get(kind).copied());
    let kind = kind.unwrap_or_default();
    // Senders of version 2.0 say of all series that they know nothing.
    if name.is_empty() || matches!(kind, "" | "unknown") && help.is_empty() && unit.is_empty() {
        return;
    }
    take(Exposed::Kind(name, kind));
    if !help.is_empty() {
        take(Exposed::Help(name, help.into()));
    }
    if !unit.is_empty() {
        take(Exposed::Unit(name, unit));
    }
}
