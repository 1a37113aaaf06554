//! How much the data themselves hold, so that bytes per value on a disk can be judged: the smaller
//! of two upper bounds. One is gzip -9 over the columns of 64-bit numbers, the other the entropy
//! of the differences from step to step (C. Shannon, "A Mathematical Theory of Communication",
//! 1948), field by field. Times and labels are not in it.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use serde::Serialize;

use crate::cursor::is_present;
use crate::fleet::Fleet;

/// Sources and steps that are looked at: enough for two digits.
const SOURCES: u64 = 20;
const STEPS: u64 = 500;

/// Bytes that a value cannot be expected to stay below.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Entropy {
    pub(crate) gzip_bytes_per_value: f64,
    pub(crate) difference_bytes_per_value: f64,
}

impl Entropy {
    /// Of the first steps of a fleet, however few a load writes.
    pub(crate) fn of(fleet: &Fleet) -> Entropy {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        let (mut values, mut bits) = (0u64, 0.0);
        for columns in columns(fleet) {
            let mut seen: BTreeMap<i64, u64> = BTreeMap::new();
            for column in &columns {
                for pair in column.windows(2) {
                    let [before, after] = pair else { continue };
                    *seen.entry(after.wrapping_sub(*before)).or_default() += 1;
                }
                values += column.len() as u64;
                let bytes: Vec<u8> = column.iter().flat_map(|value| value.to_le_bytes()).collect();
                // A vector takes everything.
                let _ = packed.write_all(&bytes);
            }
            let count = columns.iter().map(Vec::len).sum::<usize>() as f64;
            bits += bits_each(&seen) * count;
        }
        let gzip_bytes = packed.finish().map_or(0, |bytes| bytes.len());
        let values = (values as f64).max(1.0);
        Entropy {
            gzip_bytes_per_value: gzip_bytes as f64 / values,
            difference_bytes_per_value: bits / 8.0 / values,
        }
    }

    /// The smaller of the two bounds.
    pub(crate) fn bytes_per_value(&self) -> f64 {
        self.gzip_bytes_per_value.min(self.difference_bytes_per_value)
    }
}

/// For each field, the values of some sources in the order of time.
fn columns(fleet: &Fleet) -> Vec<Vec<Vec<i64>>> {
    let mut fields = Vec::new();
    let mut states = vec![0.0; fleet.states];
    let mut values = Vec::new();
    for (at, table) in fleet.tables.iter().enumerate() {
        let mut columns = vec![Vec::new(); table.fields.len()];
        for source in 0..SOURCES.min(fleet.shape.sources) {
            fleet.begin(source, &mut states);
            let mut rows = vec![Vec::with_capacity(STEPS as usize); table.fields.len()];
            for step in 0..STEPS {
                let own = table.state_at..table.state_at + table.fields.len();
                let Some(own) = states.get_mut(own) else { break };
                fleet.values(source, step, at, own, &mut values);
                if fleet.reports(source, step) {
                    for (row, value) in rows.iter_mut().zip(&values) {
                        row.extend(Some(*value).filter(|value| is_present(*value)));
                    }
                }
            }
            columns.iter_mut().zip(rows).for_each(|(column, row)| column.push(row));
        }
        fields.extend(columns);
    }
    fields
}

/// Entropy of a distribution, bits for each draw.
fn bits_each(seen: &BTreeMap<i64, u64>) -> f64 {
    let all = seen.values().sum::<u64>() as f64;
    let part = |count: &u64| {
        let share = *count as f64 / all;
        -share * share.log2()
    };
    seen.values().map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::testing::fleet;

    #[test]
    fn a_fair_die_and_a_constant() {
        let die: BTreeMap<i64, u64> = (1..=8).map(|face| (face, 5)).collect();
        assert!((bits_each(&die) - 3.0).abs() < 1e-12);
        assert_eq!(bits_each(&BTreeMap::from([(7, 100)])), 0.0);
        assert_eq!(bits_each(&BTreeMap::new()), 0.0);
    }

    /// TSBS walks by a normal step that is cut to a whole number. The entropy of a normal of unit
    /// deviation in whole numbers is log2(sqrt(2 pi e)) = 2.05 bits, 0.26 bytes.
    #[test]
    fn walks_hold_what_their_steps_hold_and_repeated_rows_next_to_nothing() {
        let walk = Entropy::of(&fleet(Profile::tsbs_cpu(), 20));
        assert!((0.22..0.30).contains(&walk.difference_bytes_per_value), "{walk:?}");
        assert!(walk.gzip_bytes_per_value > walk.difference_bytes_per_value, "{walk:?}");
        let repeated = Entropy::of(&fleet(Profile::parse("iotdb-repeating").unwrap(), 20));
        assert!(repeated.gzip_bytes_per_value < 0.25, "{repeated:?}");
        assert_eq!(walk.bytes_per_value(), walk.difference_bytes_per_value);
    }
}
