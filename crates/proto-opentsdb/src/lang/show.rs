//! A question as JSON again, for clients that ask to see it.

use super::rollup::Values;
use super::{Question, Source};
use serde_json::Value;
use std::fmt::Write as _;

impl Question {
    /// The question as an object, as the `index`th of its request. Keys stand in OpenTSDB's order;
    /// those that mean nothing here carry its defaults.
    pub(crate) fn show(&self, index: usize) -> String {
        let quote = |text: &str| Value::from(text).to_string();
        let (metric, tsuids) = match &self.source {
            Source::Metric(metric) => (quote(metric), "null".to_owned()),
            Source::Tsuids(list) => {
                let words: Vec<_> = list.iter().map(|tsuid| format!("\"{tsuid}\"")).collect();
                ("null".to_owned(), format!("[{}]", words.join(",")))
            }
        };
        let downsample = self.downsample.as_ref().map_or("null".to_owned(), |d| quote(&d.text));
        let filter = |filter: &super::Filter| {
            format!(
                "{{\"tagk\":{},\"filter\":{},\"group_by\":{},\"type\":\"{}\"}}",
                quote(&filter.tag),
                quote(&filter.expression),
                filter.groups,
                filter.kind
            )
        };
        let filters: Vec<String> = self.filters.iter().map(filter).collect();
        let rate_options = self.rate.map_or("null".to_owned(), |rate| {
            format!(
                "{{\"counter\":{},\"counterMax\":{},\"resetValue\":{},\"dropResets\":{}}}",
                rate.is_counter, rate.counter_max, rate.reset_value, rate.drops_resets
            )
        });
        let tag = |filter: &super::Filter| {
            let value = format!("{}({})", filter.kind, filter.expression);
            format!("{}:{}", quote(&filter.tag), quote(&value))
        };
        let tags: Vec<String> =
            self.filters.iter().filter(|filter| filter.groups).map(tag).collect();
        let percentiles = match self.percentiles.is_empty() {
            true => "null".to_owned(),
            false => format!("{:?}", self.percentiles),
        };
        let usage = self.usage.map_or("null".to_owned(), |usage| quote(usage.name()));
        let table = match self.table.as_ref().map(|table| &table.values) {
            Some(Values::Rolled { interval, .. }) => quote(&interval.name),
            _ => quote("raw"),
        };
        let mut out = String::new();
        let _ = write!(
            out,
            "{{\"aggregator\":\"{}\",\"metric\":{metric},\"tsuids\":{tsuids},\
             \"downsample\":{downsample},\"rate\":{},\"filters\":[{}],\"percentiles\":{},\
             \"index\":{index},\"rateOptions\":{rate_options},\"filterTagKs\":[],\
             \"explicitTags\":{},\"useFuzzyFilter\":false,\"preAggregate\":{},\
             \"rollupUsage\":{usage},\"rollupTable\":{table},\"showHistogramBuckets\":{},\
             \"useMultiGets\":true,\"tags\":{{{}}}}}",
            self.aggregator.name,
            self.rate.is_some(),
            filters.join(","),
            percentiles,
            self.has_explicit_tags,
            self.is_pre_aggregated,
            self.shows_buckets,
            tags.join(",")
        );
        out
    }
}
