//! What a request says of its metrics: kind, description and unit.

use super::names::{self, Naming};
use super::point::Shape;
use super::{CUMULATIVE, Metric, OtlpRequest, inside};
use crate::scraped::Exposed;
use crate::wire::Fields;
use crate::write::Malformed;

impl OtlpRequest<'_> {
    /// Calls `take` with all that the request says of metrics that are stored.
    pub fn describe(&self, take: &mut dyn FnMut(Exposed<'_>)) {
        // What was checked reads well again.
        let _ = self.each_metric(&mut |metric| describe(self.naming, metric, take));
    }

    fn each_metric(&self, each: &mut dyn FnMut(&Metric<'_>)) -> Result<(), Malformed> {
        let mut resources = Fields::new(self.bytes, 0, self.bytes.len());
        while let Some(resource) = resources.next()? {
            if resource.number != 1 {
                continue;
            }
            let mut scopes = inside(self.bytes, &resource)?;
            while let Some(scope) = scopes.next()? {
                if scope.number != 2 {
                    continue;
                }
                let mut metrics = inside(self.bytes, &scope)?;
                while let Some(field) = metrics.next()? {
                    if field.number == 2
                        && let Some(metric) = Metric::open(self.bytes, &field)?
                    {
                        each(&metric);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Says what there is to say of a metric.
fn describe(naming: Naming, metric: &Metric<'_>, take: &mut dyn FnMut(Exposed<'_>)) {
    let texts = [metric.name, metric.unit, metric.help].map(std::str::from_utf8);
    let [Ok(name), Ok(unit), Ok(help)] = texts else { return };
    let is_counted = !matches!(metric.shape, Shape::Gauge | Shape::Summary);
    let stored = names::metric(naming, name, unit, metric.told());
    if stored.is_empty() || is_counted && metric.temporality != CUMULATIVE {
        return;
    }
    let kind = match metric.shape {
        Shape::Sum if metric.is_monotonic => "counter",
        Shape::Gauge | Shape::Sum => "gauge",
        Shape::Histogram | Shape::Exponential => "histogram",
        Shape::Summary => "summary",
    };
    take(Exposed::Kind(&stored, kind));
    if !help.is_empty() {
        take(Exposed::Help(&stored, help.into()));
    }
    let unit = names::unit(naming, unit);
    if !unit.is_empty() {
        take(Exposed::Unit(&stored, &unit));
    }
}
