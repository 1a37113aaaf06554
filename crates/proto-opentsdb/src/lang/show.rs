//! A question as JSON again, for clients that ask to see it.

use super::rate::RateOptions;
use super::rollup::Values;
use super::tsuid::id_bytes;
use super::{Question, Source};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
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
        let options = self.rate.filter(|rate| *rate != RateOptions::default());
        let rate_options = options.map_or("null".to_owned(), |rate| {
            format!(
                "{{\"counter\":{},\"counterMax\":{},\"resetValue\":{},\"dropResets\":{}}}",
                rate.is_counter, rate.counter_max, rate.reset_value, rate.drops_resets
            )
        });
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
             \"index\":{index},\"showHistogramBuckets\":{},\"useMultiGets\":true,\
             \"rateOptions\":{rate_options},\"filterTagKs\":{},\"explicitTags\":{},\
             \"useFuzzyFilter\":true,\"preAggregate\":{},\"rollupUsage\":{usage},\
             \"rollupTable\":{table},\"tags\":{},\"histogramQuery\":{}}}",
            self.aggregator.name,
            self.rate.is_some(),
            filters.join(","),
            percentiles,
            self.shows_buckets,
            self.show_filtered_uids(),
            self.has_explicit_tags,
            self.is_pre_aggregated,
            self.show_grouping_tags(),
            self.is_about_histograms()
        );
        out
    }

    /// The filters that group, by tag; the last one of a tag stands for all of them.
    fn show_grouping_tags(&self) -> Value {
        let grouping = self.filters.iter().filter(|filter| filter.groups);
        grouping
            .map(|filter| {
                let value = format!("{}({})", filter.kind, filter.expression);
                (filter.tag.clone(), Value::from(value))
            })
            .collect::<Map<_, _>>()
            .into()
    }

    /// The numbers of the tags that filters are about, as bytes; nothing without filters.
    fn show_filtered_uids(&self) -> Value {
        let uids: BTreeSet<u32> = self.filters.iter().filter_map(|f| f.tag_uid).collect();
        match self.filters.is_empty() {
            true => Value::Null,
            false => uids.into_iter().map(|uid| BASE64_STANDARD.encode(id_bytes(uid))).collect(),
        }
    }
}
