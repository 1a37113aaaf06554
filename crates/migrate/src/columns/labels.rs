//! The labels of series as columns.

use crate::error::Error;
use crate::export::Wanted;
use foliot_engine::Identity;
use std::collections::BTreeSet;

/// Names of labels that the series have, in order.
///
/// # Errors
/// When a part cannot be read, or there are more than `labels_max`.
pub(crate) fn label_names(wanted: &Wanted<'_>, labels_max: usize) -> Result<Vec<String>, Error> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for sid in wanted.snapshot.select(wanted.selector, wanted.range)? {
        let Some(identity) = wanted.snapshot.identity(sid)? else { continue };
        for label in &identity.labels {
            if !names.contains(&*label.name) {
                names.insert(label.name.to_string());
            }
        }
        if names.len() > labels_max {
            return Err(Error::Format(format!(
                "the series have more than {labels_max} names of labels (limits.parquet_labels), \
                 each of which would be a column; a shorter time or another --db may have fewer, \
                 and `--format line` takes any number"
            )));
        }
    }
    Ok(names.into_iter().collect())
}

/// The labels of a series, with the places of their columns.
pub(crate) fn labels_at<'a>(identity: &'a Identity, names: &[String]) -> Vec<(usize, &'a str)> {
    let at = |name: &str| names.binary_search_by(|known| known.as_str().cmp(name)).ok();
    let labels = identity.labels.iter();
    labels.filter_map(|label| Some((at(&label.name)?, &*label.value))).collect()
}
