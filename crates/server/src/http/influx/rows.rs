//! Small tables: answers of statements about databases, users and the like.

use foliot_model::{Item, Table, TableHead};
use std::sync::Arc;

/// A table with a name (possibly empty), names of columns, and rows as wide as these.
pub(super) fn table(name: &str, columns: &[&str], rows: Vec<Vec<Item>>) -> Table {
    let columns = columns.iter().map(|name| Arc::from(*name)).collect();
    let head = TableHead { name: name.into(), labels: Vec::new(), columns };
    Table::of_rows(Arc::new(head), rows.into_iter().flatten(), true)
}

/// A text as an item.
pub(super) fn text(text: &str) -> Item {
    Item::String(text.into())
}

/// A duration as Go spells it: hours, minutes and seconds, or a fraction of a second.
pub(super) fn go_duration(duration_ns: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    let fraction = |value: i64, unit: i64, name: &str| {
        let digits = format!("{:09}", value % unit * (SECOND / unit));
        let digits = digits.trim_end_matches('0');
        match digits {
            "" => format!("{}{name}", value / unit),
            digits => format!("{}.{digits}{name}", value / unit),
        }
    };
    match duration_ns {
        0 => "0s".to_owned(),
        1..1_000 => format!("{duration_ns}ns"),
        1_000..1_000_000 => fraction(duration_ns, 1_000, "µs"),
        1_000_000..SECOND => fraction(duration_ns, 1_000_000, "ms"),
        _ => {
            let seconds = fraction(duration_ns % (60 * SECOND), SECOND, "s");
            let minutes = duration_ns / (60 * SECOND);
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spelt_as_go_spells_them() {
        for (duration_ns, expected) in [
            (0, "0s"),
            (7, "7ns"),
            (33_000, "33µs"),
            (1_500_000, "1.5ms"),
            (60_000_000_000, "1m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (604_800_000_000_000, "168h0m0s"),
            (90_500_000_000, "1m30.5s"),
        ] {
            assert_eq!(go_duration(duration_ns), expected);
        }
    }
}
