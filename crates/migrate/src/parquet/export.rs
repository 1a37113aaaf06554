//! Writes the series of a snapshot, a row for each sample.

use super::{Column, FIELD, Kind, MEASUREMENT, TIME, VALUES, Writer};
use crate::columns::{label_names, labels_at};
use crate::error::Error;
use crate::export::{Exported, Wanted, export};
use foliot_model::{Kind as ValueKind, Value};
use std::io::Write;

/// The columns before those of labels.
const FIRST: [(&str, Kind); 3] =
    [(TIME, Kind::Time), (MEASUREMENT, Kind::Text), (FIELD, Kind::Text)];

/// Writes the wanted series with all their samples. Each name of a label is a column, of which
/// readers and the writer hold a group of rows.
///
/// # Errors
/// When a part cannot be read, `out` fails, or the series have more than `labels_max` label names.
pub fn export_to(
    out: impl Write + Send,
    wanted: &Wanted<'_>,
    labels_max: usize,
) -> Result<Exported, Error> {
    let names = label_names(wanted, labels_max)?;
    let plain = |(name, kind): (&str, Kind)| column(name, kind, false);
    let labels = names.iter().map(|name| column(name, Kind::Text, true));
    let columns: Vec<Column> =
        FIRST.into_iter().map(plain).chain(labels).chain(VALUES.into_iter().map(plain)).collect();
    let mut writer = Writer::new(out, &columns)?;
    let values_at = FIRST.len() + names.len();
    let mut exported = Exported::default();
    let mut last = None;
    export(wanted, &mut |identity, samples| {
        let name = Some((identity.source, identity.measurement.clone(), identity.field.clone()));
        exported.series += u64::from(last != name);
        last = name;
        let labels = labels_at(identity, &names);
        for (time_ns, value) in samples.iter() {
            let Some(kind_at) = value_at(value.kind()) else {
                exported.unspelled.samples += 1;
                continue;
            };
            writer.set(0, Value::Integer(time_ns));
            writer.set(1, Value::String(&identity.measurement));
            writer.set(2, Value::String(&identity.field));
            for (at, text) in &labels {
                writer.set(FIRST.len() + at, Value::String(text));
            }
            writer.set(values_at + kind_at, value);
            writer.end_row()?;
            exported.samples += 1;
        }
        Ok(())
    })?;
    writer.finish()?;
    Ok(exported)
}

fn column(name: &str, kind: Kind, is_label: bool) -> Column {
    Column { name: name.to_owned(), kind, is_label }
}

/// Which of the columns of values is for a kind; none is for histograms.
fn value_at(kind: ValueKind) -> Option<usize> {
    let wanted = match kind {
        ValueKind::Float => Kind::Float,
        ValueKind::Integer => Kind::Integer,
        ValueKind::Unsigned => Kind::Unsigned,
        ValueKind::Boolean => Kind::Boolean,
        ValueKind::String => Kind::Text,
        ValueKind::Histogram => return None,
    };
    VALUES.iter().position(|(_, kind)| *kind == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_but_histograms_has_a_column() {
        let kinds = [
            ValueKind::Float,
            ValueKind::Integer,
            ValueKind::Unsigned,
            ValueKind::Boolean,
            ValueKind::String,
        ];
        let places: Vec<_> = kinds.into_iter().filter_map(value_at).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
        assert_eq!(value_at(ValueKind::Histogram), None);
    }
}
