//! `/api/uid/rename`: which series go on under which names.

use super::ask::{Scope, refused};
use super::facts::failed;
use super::names::Names;
use crate::store::Store;
use foliot_engine::{Commit, Error, Identity, Renamed, Renaming};
use foliot_model::{DEFAULT_FIELD, Label, Labels, Matcher, NamespaceId, Selector, Test};
use foliot_proto_opentsdb::{HttpError, Rename, Request, UidKind, any_series, metric_names};

/// A new name for the series that a selector wants.
type NameOf<'a> = Box<dyn Fn(&Identity) -> Identity + 'a>;

/// Renames series, those of rollups too; returns the last thing that was written.
///
/// # Errors
/// 503 when there was no time for all of them, else what the store says. What was renamed by then
/// stays so, and asking again goes on.
pub(super) fn rename(
    store: &Store,
    names: &Names<'_>,
    scope: &Scope,
    rename: &Rename,
) -> Result<Option<Commit>, HttpError> {
    let meter = &names.query.meter;
    let goes_on = || meter.check(0).is_ok() && !scope.shared.is_stopping();
    let mut commit = None;
    let mut all = Renamed::default();
    for &namespace in std::iter::once(&scope.namespace).chain(&scope.tables) {
        let is_table = namespace != scope.namespace;
        let (selectors, name) = what(names, namespace, is_table, rename).map_err(refused)?;
        let renaming = Renaming { to: &rename.new, name: &name, goes_on: &goes_on };
        for selector in &selectors {
            let done = store.engine().rename_series(selector, &renaming, &scope.caller());
            let done = done.map_err(fail)?;
            commit = done.commit.or(commit);
            all.series += done.series;
            all.samples += done.samples;
            if !done.is_done {
                let text = match scope.shared.is_stopping() {
                    true => {
                        "The rename is not done, for the server is stopping; ask again when it runs and it goes on"
                    }
                    false => {
                        "The rename is not done; ask again and it goes on (limits.query_seconds)"
                    }
                };
                return Err(HttpError::new(503, text));
            }
        }
    }
    let Rename { kind, old, new } = rename;
    if *kind == UidKind::Metric {
        let limit = store.engine().rename_series_limit(scope.namespace, old, new);
        commit = limit.map_err(fail)?.or(commit);
        for [measurement, field] in readings(old) {
            let named = (measurement.as_str(), field.as_str());
            let kinds = store.kinds();
            kinds.rename(store.engine(), scope.namespace, named, new).map_err(fail)?;
        }
    }
    log::info!("{old:?} is now {new:?}: {} series, {} samples", all.series, all.samples);
    Ok(commit)
}

fn fail(error: Error) -> HttpError {
    failed(&error)
}

/// Which series of a namespace get which names.
fn what<'a>(
    names: &Names<'_>,
    namespace: NamespaceId,
    is_table: bool,
    rename: &'a Rename,
) -> Result<(Vec<Selector>, NameOf<'a>), foliot_exec::Error> {
    let Rename { kind, old, new } = rename;
    let having = |name: &str, test| {
        let name = name.to_owned();
        let matcher = Matcher { name, test, negated: false, accepts_absent: false };
        Selector { matchers: vec![matcher], ..any_series(namespace) }
    };
    Ok(match kind {
        // Of rollups the field is the aggregator.
        UidKind::Metric if is_table => {
            let selector = Request::table_selector(namespace, old);
            let name = |from: &Identity| Identity { measurement: (&**new).into(), ..from.clone() };
            (vec![selector], Box::new(name))
        }
        UidKind::Metric => {
            let name = |from: &Identity| Identity {
                measurement: (&**new).into(),
                field: DEFAULT_FIELD.into(),
                ..from.clone()
            };
            (vec![Request::metric_selector(namespace, old)], Box::new(name))
        }
        UidKind::TagKey => {
            let name = |label: &Label| Label {
                name: if *label.name == **old { (&**new).into() } else { label.name.clone() },
                ..label.clone()
            };
            (vec![having(old, Test::Any)], Box::new(move |from| relabelled(from, name)))
        }
        UidKind::TagValue => {
            let all = any_series(namespace);
            let keys = names.label_names(&all)?;
            let name = |label: &Label| Label {
                value: if *label.value == **old { (&**new).into() } else { label.value.clone() },
                ..label.clone()
            };
            let selectors = keys.iter().map(|key| having(key, Test::equal(old.as_str())));
            (selectors.collect(), Box::new(move |from| relabelled(from, name)))
        }
    })
}

fn relabelled(from: &Identity, name: impl Fn(&Label) -> Label) -> Identity {
    Identity { labels: Labels::new(from.labels.iter().map(name).collect()), ..from.clone() }
}

/// What a metric's name can mean: measurements with their fields.
fn readings(metric: &str) -> Vec<[String; 2]> {
    let literal = |test: &Test| test.literals().and_then(|texts| texts.first().cloned());
    let names = metric_names(metric).into_iter();
    names.filter_map(|name| Some([literal(&name.measurement)?, literal(&name.field)?])).collect()
}
